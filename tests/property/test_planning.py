"""Matching deletes to data files, all at once, equals the scope rules one pair at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.metadata.manifests.manifest import FileContent
from skipstone.plan.deletes import match_deletes
from skipstone.plan.entries import partition_codes, tuple_runs

PATHS = [f"f{i}" for i in range(6)]
UNPARTITIONED = 0
partitions = st.sampled_from([None, "a", "b"])


@st.composite
def data_files(draw: st.DrawFn) -> list[dict[str, Any]]:
    paths = draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=6))
    return [
        {"file_path": p, "sequence_number": draw(st.integers(1, 4)), "spec_id": 1, "part": draw(partitions)}
        for p in paths
    ]


@st.composite
def delete_files(draw: st.DrawFn) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    vectored: set[str] = set()
    for i in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["vector", "position", "equality"]))
        named = draw(st.sampled_from(PATHS)) if kind == "vector" or draw(st.booleans()) else None
        if kind == "vector":
            if named in vectored:
                continue  # a snapshot has at most one vector a data file
            vectored.add(str(named))
        spec_id = draw(st.sampled_from([UNPARTITIONED, 1]))
        found.append(
            {
                "file_path": f"d{i}",
                "content": int(FileContent.EQUALITY_DELETES if kind == "equality" else FileContent.POSITION_DELETES),
                "content_offset": 4 if kind == "vector" else None,
                "referenced_data_file": None if kind == "equality" else named,
                "equality_ids": [1] if kind == "equality" else None,
                "sequence_number": draw(st.integers(1, 5)),
                "spec_id": spec_id,
                "part": None if spec_id == UNPARTITIONED else draw(partitions),
            }
        )
    return found


def as_table(rows: list[dict[str, Any]], columns: dict[str, Any]) -> pa.Table:
    arrays = {name: pa.array([r.get(name) for r in rows], type_) for name, type_ in columns.items()}
    part = pa.array([r["part"] for r in rows], pa.string())
    arrays["partition"] = pa.StructArray.from_arrays([part], ["part"])
    return pa.table(arrays)


DATA = {"file_path": pa.string(), "sequence_number": pa.int64(), "spec_id": pa.int32()}
DELETES = {
    **DATA,
    "content": pa.int32(),
    "content_offset": pa.int64(),
    "referenced_data_file": pa.string(),
    "equality_ids": pa.list_(pa.int32()),
}


def applies(delete: dict[str, Any], data: dict[str, Any], *, has_vector: bool) -> bool:
    """The spec's scope rules, read aloud."""
    same_partition = (delete["spec_id"], delete["part"]) == (data["spec_id"], data["part"])
    if delete["content"] == FileContent.EQUALITY_DELETES:
        return data["sequence_number"] < delete["sequence_number"] and (
            same_partition or delete["spec_id"] == UNPARTITIONED
        )
    if data["sequence_number"] > delete["sequence_number"]:
        return False
    if delete["content_offset"] is not None:
        # The vector names its file; that it is in the same partition is the writer's business.
        return bool(delete["referenced_data_file"] == data["file_path"])
    named = delete["referenced_data_file"]
    return same_partition and (named is None or named == data["file_path"]) and not has_vector


@settings(max_examples=300, deadline=None)
@given(data=data_files(), deletes=delete_files())
def test_matching_equals_the_scope_rules(data: list[dict[str, Any]], deletes: list[dict[str, Any]]) -> None:
    data_table, delete_table = as_table(data, DATA), as_table(deletes, DELETES)
    joined = pa.concat_arrays(
        [t.column("partition").combine_chunks() for t in (data_table, delete_table) if t.num_rows]
        or [data_table.column("partition").combine_chunks()]
    )
    spec_ids = pa.array([r["spec_id"] for r in (*data, *deletes)], pa.int32())
    codes = partition_codes(spec_ids, joined)
    lists = match_deletes(
        data_table,
        delete_table,
        data_codes=codes[: len(data)],
        delete_codes=codes[len(data) :],
        unpartitioned_specs=[UNPARTITIONED],
        schemas=(),
    )
    for row, file in enumerate(data):
        vectors = [d for d in deletes if d["content_offset"] is not None]
        has_vector = any(applies(d, file, has_vector=False) for d in vectors)
        wanted = [i for i, d in enumerate(deletes) if applies(d, file, has_vector=has_vector)]
        assert lists[row].as_py() == wanted


@settings(max_examples=200, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([None, "a", "b"]),
            st.sampled_from([None, 0.0, -0.0, 1.5, float("nan"), float("-nan")]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_partition_codes_tell_tuples_apart_by_their_bits(rows: list[tuple[int, str | None, float | None]]) -> None:
    specs = pa.array([r[0] for r in rows], pa.int32())
    tuples = pa.StructArray.from_arrays(
        [pa.array([r[1] for r in rows], pa.string()), pa.array([r[2] for r in rows], pa.float64())], ["a", "b"]
    )
    codes = partition_codes(specs, tuples)

    def key(r: tuple[int, str | None, float | None]) -> Any:
        value = r[2]
        bits = value if value is None else "nan" if value != value else np.float64(value).tobytes()
        return (r[0], r[1], bits)

    for i, left in enumerate(rows):
        for j, right in enumerate(rows):
            assert (codes[i] == codes[j]) == (key(left) == key(right))


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([None, "a", "b"]),
            st.sampled_from([None, 0.0, -0.0, 1.5, float("nan"), float("-nan")]),
            st.sampled_from([None, b"\0" * 16, b"\1" * 16]),
        ),
        max_size=12,
    )
)
def test_runs_hold_nothing_but_equal_tuples(rows: list[tuple[str | None, float | None, bytes | None]]) -> None:
    identifiers = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([r[2] for r in rows], pa.binary(16)))
    tuples: Any = pa.StructArray.from_arrays(
        [
            pa.array([r[0] for r in rows], pa.string()),
            pa.array([r[1] for r in rows], pa.float64()),
            identifiers,
            pa.nulls(len(rows)),
        ],
        ["a", "b", "c", "gone"],
    )
    firsts, lengths = tuple_runs(tuples)
    assert repr(np.repeat(np.array(firsts.to_pylist(), object), lengths).tolist()) == repr(tuples.to_pylist())
    # As the index sorts them, a tuple without nulls is one run.
    ordered = sorted(range(len(rows)), key=lambda i: repr(rows[i]))
    known = [i for i in ordered if None not in rows[i]]
    assert len(tuple_runs(tuples.take(pa.array(known, pa.int64())))[0]) == len({repr(rows[i]) for i in known})
