"""Laws of statistics: equal to a brute-force count over the rows, whatever was committed; built upon or anew."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skipstone
from skipstone.analysis.analyze import analysed_ids, plan_analysis
from skipstone.analysis.collect import Wishes
from skipstone.analysis.partition_files import serialize_partition_statistics
from skipstone.analysis.partition_statistics import compute_partition_statistics, update_partition_statistics
from skipstone.errors import AlreadyExists
from skipstone.metadata import types as t
from skipstone.predicate import FloatOrder, as_predicate, bind
from skipstone.stats.partition_layout import COUNTS
from skipstone.stats.theta import ThetaBuilder, union
from skipstone.stats.theta_hash import hash_value

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("p", pa.string()), ("q", pa.int32()), ("x", pa.float64()), ("f", pa.float32()),
        ("b", pa.bool_()), ("n", pa.decimal128(9, 2)), ("d", pa.date32()), ("ts", pa.timestamp("us")),
        ("raw", pa.binary()), ("u", pa.uuid()), ("s", pa.struct([("a", pa.string())])),
    ]
)  # fmt: skip
floats = st.sampled_from([0.0, -0.0, 1.5, -2.5, math.nan, math.inf])
row = st.fixed_dictionaries(
    {},
    optional={
        "id": st.integers(-5, 20), "p": st.sampled_from(["a", "b", "", "é🌊"]), "q": st.integers(0, 2), "x": floats,
        "f": floats, "b": st.booleans(), "n": st.decimals(-9, 9, places=2), "d": st.integers(-3, 3),
        "ts": st.integers(-9, 9), "raw": st.sampled_from([b"", b"\x00", b"\xff\xff"]),
        "u": st.sampled_from([b"u" * 16, b"v" * 16]),
        "s": st.one_of(st.none(), st.fixed_dictionaries({"a": st.text(max_size=2)})),
    },
)  # fmt: skip
rows = st.lists(row, min_size=1, max_size=12)
step = st.one_of(
    st.tuples(st.just("append"), rows),
    st.tuples(st.just("delete"), st.sampled_from(["id > 10", "p = 'a'", "q = 1 and id < 5", "x is null", "b"])),
    st.tuples(st.just("evolve"), st.sampled_from(["q", "bucket(2, id)", "truncate(1, p)"])),
    st.tuples(st.just("drop"), st.just(None)),
)
modes = st.sampled_from(["merge-on-read", "copy-on-write"])


def build(path: Path, steps: list[Any], version: int, mode: str) -> Any:
    """A table after some commits, with partition statistics of the snapshot in the middle."""
    catalog = skipstone.catalog(f"sqlite:///{path}/c.db", warehouse=str(path))
    catalog.create_namespace("db")
    properties = {"write.delete.mode": mode, "skipstone.index.sidecar-min-files": "1"}
    table = catalog.create_table("db.t", SCHEMA, partition_by=["p"], format_version=version, properties=properties)
    table.append(pa.Table.from_pylist([{"id": 1, "p": "a"}], SCHEMA))
    base = compute_partition_statistics(table.metadata, table.storage, table.current_snapshot)
    for what, argument in steps:
        _step(table, what, argument)
    return table, base


def _step(table: Any, what: str, argument: Any) -> None:
    match what:
        case "append":
            table.append(pa.Table.from_pylist(argument, SCHEMA))
        case "delete":
            table.delete(argument)
        case "evolve":
            with suppress(AlreadyExists), table.update_spec() as spec:
                spec.add_term(argument)
        case "drop" if any(f.name == "p" and not f.is_void for f in table.spec.fields):
            with table.update_spec() as spec:
                spec.remove_field("p")
        case "overwrite":
            table.overwrite(pa.Table.from_pylist([{"id": 1, "p": "a"}], SCHEMA), filter=argument)
        case "rollback":
            line, known = [table.current_snapshot], table.metadata.snapshots_by_id
            while (parent := known.get(line[-1].parent_snapshot_id)) is not None:
                line.append(parent)
            table.rollback_to(line[argument % len(line)].snapshot_id)
        case "branch":
            if "side" not in table.refs:
                table.create_branch("side")
            table.append(pa.Table.from_pylist(argument, SCHEMA), branch="side")
        case "rewrite manifests":
            table.rewrite_manifests()
        case "expire":
            table.expire_snapshots(older_than=datetime.now(UTC) + timedelta(days=1), retain_last=argument)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(step, max_size=5), st.sampled_from([2, 3]), modes)
def test_partition_statistics_are_a_brute_force_count_and_built_upon_alike(
    steps: list[Any], version: int, mode: str
) -> None:
    with tempfile.TemporaryDirectory() as place:
        table, base = build(Path(place), steps, version, mode)
        whole = compute_partition_statistics(table.metadata, table.storage, table.current_snapshot)
        assert _counts(whole) == _brute_force(table)
        bare = compute_partition_statistics(table.metadata, table.storage, table.current_snapshot, use_index=False)
        stored, alike = (serialize_partition_statistics(s, table.metadata, "parquet") for s in (whole, bare))
        assert stored == alike
        built = update_partition_statistics(base, table.metadata, table.storage, table.current_snapshot)
        if built is not None:
            assert _counts(built) == _counts(whole)
            assert (
                built.rows.column("total_record_count").to_pylist()
                == whole.rows.column("total_record_count").to_pylist()
            )
        live = Counter(_key(s, p) for s, p in _live(table))
        for found in whole.rows.to_pylist():
            if found["total_record_count"] is not None:
                assert found["total_record_count"] == live[_key(found["spec_id"], found["partition"])]
        for text in ("id > 3", "p = 'a'", "x > 1.0", "q is null", "id between 2 and 4 and p <> 'b'"):
            kept = built or whole
            chosen = {_key(r["spec_id"], r["partition"]) for r in _filtered(table, kept, text)}
            assert {_key(s, p) for s, p in _live(table, text)} <= chosen


later = st.one_of(
    step,
    st.tuples(st.just("overwrite"), st.sampled_from(["p = 'a'", "id > 5"])),
    st.tuples(st.just("rollback"), st.integers(0, 100)),
    st.tuples(st.just("branch"), rows),
    st.tuples(st.just("rewrite manifests"), st.none()),
    st.tuples(st.just("expire"), st.integers(1, 2)),
)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(later, min_size=1, max_size=7), st.sampled_from([1, 2, 3]), modes, st.booleans())
def test_statistics_built_upon_any_others_are_those_computed_in_full(
    steps: list[Any], version: int, mode: str, merges: bool
) -> None:
    """Every field, also when a partition was last changed; upon a snapshot of any branch, before or after."""
    with tempfile.TemporaryDirectory() as place:
        table, first = build(Path(place), [], version, mode)
        if merges:
            table.set_properties({"commit.manifest.min-count-to-merge": "2"})
        known = {first.snapshot_id: first}
        for what, argument in steps:
            _step(table, what, argument)
            there = {s.snapshot_id for s in table.snapshots}
            known = {i: s for i, s in known.items() if i in there}
            for snapshot in table.snapshots:
                whole = compute_partition_statistics(table.metadata, table.storage, snapshot)
                for base in known.values():
                    built = update_partition_statistics(base, table.metadata, table.storage, snapshot)
                    assert built is None or repr(built.rows.to_pylist()) == repr(whole.rows.to_pylist())
                known.setdefault(snapshot.snapshot_id, whole)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(rows, min_size=1, max_size=3),
    st.sampled_from(["parquet", "orc", "avro"]),
    st.sampled_from([None, "id > 10", "x is null"]),
    st.sets(st.sampled_from(["id", "q", "x", "f", "n", "d", "ts", "b"]), min_size=1),
)
def test_what_manifests_prove_is_what_the_rows_say(
    batches: list[Any], file_format: str, deleted: str | None, columns: set[str]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        catalog = skipstone.catalog(f"sqlite:///{place}/c.db", warehouse=place)
        properties = {"write.delete.mode": "merge-on-read", "write.format.default": file_format}
        table = catalog.create_table("db.t", SCHEMA, partition_by=["q"], format_version=3, properties=properties)
        for batch in batches:
            # ORC cannot hold fractions of a second before 1970.
            kept = [{k: v for k, v in r.items() if k != "ts" or file_format != "orc"} for r in batch]
            table.append(pa.Table.from_pylist(kept, SCHEMA))
        if deleted is not None:
            table.delete(deleted)
        table.analyze(sorted(columns), sketches=False)
        told = table.statistics()
        table.analyze(sorted(columns), sketches=False, full=True)
        read = table.statistics()
        assert repr(told.columns) == repr(read.columns)


def _filtered(table: Any, statistics: Any, text: str) -> list[dict[str, Any]]:
    predicate = bind(as_predicate(text), table.schema, table="t", float_order=FloatOrder.IEEE)
    found = statistics.filter(predicate, table.metadata, table.schema, FloatOrder.IEEE)
    return found.rows.to_pylist()  # type: ignore[no-any-return]


def _key(spec_id: int, partition: dict[str, Any]) -> str:
    return f"{spec_id} {sorted((k, repr(v)) for k, v in partition.items())}"


def _counts(statistics: Any) -> dict[str, list[int]]:
    return {_key(r["spec_id"], r["partition"]): [r[n] for n in COUNTS] for r in statistics.rows.to_pylist()}


def _brute_force(table: Any) -> dict[str, list[int]]:
    found: dict[str, Counter[str]] = {}
    for file in table.inspect.files().to_pylist():
        counts = found.setdefault(_key(file["spec_id"], file["partition"]), Counter())
        kind = ("data", "position_delete", "equality_delete")[file["content"]]
        is_vector = file["content"] == 1 and file["content_offset"] is not None
        counts[f"{kind}_record_count"] += file["record_count"]
        counts["dv_count" if is_vector else f"{kind}_file_count"] += 1
        if file["content"] == 0:
            counts["total_data_file_size_in_bytes"] += file["file_size_in_bytes"]
    return {k: [c[n] for n in COUNTS] for k, c in found.items()}


def _live(table: Any, text: str | None = None) -> list[tuple[int, dict[str, Any]]]:
    found = table.scan(text, columns=["_spec_id", "_partition"]).to_arrow().to_pylist()
    return [(r["_spec_id"], r["_partition"]) for r in found]


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(step, min_size=1, max_size=4), st.sampled_from([2, 3]), modes, st.booleans())
def test_analyses_say_what_a_scan_of_the_rows_says(steps: list[Any], version: int, mode: str, twice: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        table, _ = build(Path(place), [], version, mode)
        if twice:
            table.analyze()
        _change(table, steps)
        table.analyze()
        found = table.statistics()
        everything = table.scan().to_arrow()
        if not everything.num_rows:
            return
        for column in found.columns.values():
            _check_column(column, _values(everything, column.name))


def _change(table: Any, steps: list[Any]) -> None:
    for what, argument in steps:
        if what == "append":
            table.append(pa.Table.from_pylist(argument, SCHEMA))
        elif what == "delete":
            table.delete(argument)


def _values(rows_: pa.Table, name: str) -> list[Any]:
    top, _, below = name.partition(".")
    values = rows_.column(top).to_pylist()
    return [None if v is None else v[below] for v in values] if below else values


def _check_column(column: Any, values: list[Any]) -> None:
    there = [v for v in values if v is not None]
    ordinary = [v for v in there if v == v]
    exact = not column.is_after_deletes
    assert column.null_count.is_exact == exact
    if exact:
        assert column.value_count.value == len(values)
        assert column.null_count.value == len(values) - len(there)
        assert column.nan_count.value == len(there) - len(ordinary)
        distinct = {repr(v) for v in there}
        assert column.ndv.value == len(distinct), column.name
    else:
        assert column.null_count.value >= len(values) - len(there)
        assert column.ndv.value >= len({repr(v) for v in there})
    if ordinary and isinstance(ordinary[0], int | str | bytes) and not isinstance(column.type, t.UuidType):
        assert column.low.value <= min(ordinary) and column.high.value >= max(ordinary)
        assert not exact or (column.low.value, column.high.value) == (min(ordinary), max(ordinary))
    if column.average_length is not None and exact:
        assert column.max_length.value == max(map(len, there))
        assert math.isclose(column.average_length.value, sum(map(len, there)) / len(there))
    if column.true_count is not None and exact:
        assert (column.true_count.value, column.false_count.value) == (there.count(True), there.count(False))


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), max_size=5))
def test_the_union_of_sketches_is_the_sketch_of_the_union(parts: list[list[int]]) -> None:
    def sketch(values: list[int]) -> Any:
        builder = ThetaBuilder()
        builder.add(t.LONG, pa.array(values, pa.int64()))
        return builder.finish()

    joined = union([sketch(p) for p in parts])
    assert joined == sketch([v for p in parts for v in p])
    assert sorted(joined.hashes.tolist()) == sorted({hash_value(t.LONG, v) for p in parts for v in p})


WHOLE_TYPES = {
    "i": pa.int32(),
    "l": pa.int64(),
    "d": pa.date32(),
    "time": pa.time64("us"),
    "ts": pa.timestamp("us"),
    "tz": pa.timestamp("us", "UTC"),
    "dec": pa.decimal128(9, 2),
    "dec18": pa.decimal128(18, 0),
    "dec30": pa.decimal128(30, 3),
    "f": pa.float64(),
    "b": pa.bool_(),
    "s": pa.string(),
}
numbers = st.one_of(st.none(), st.integers(0, 100), st.integers(0, 2**31 - 1))


def _whole(number: int | None, type_: pa.DataType) -> Any:
    if number is None or pa.types.is_integer(type_) or pa.types.is_temporal(type_):
        return number
    if pa.types.is_decimal(type_):
        return Decimal(number % 10**6 - 500_000).scaleb(-type_.scale)
    return {"double": float, "bool": lambda n: n % 2 == 0, "string": str}[str(type_)](number)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(*(numbers for _ in WHOLE_TYPES)), min_size=1, max_size=40), st.booleans(), st.booleans())
def test_what_footers_prove_is_what_the_rows_say(rows: list[Any], has_sketches: bool, has_deletes: bool) -> None:
    columns = {
        name: pa.array([_whole(row[place], type_) for row in rows], type_)
        for place, (name, type_) in enumerate(WHOLE_TYPES.items())
    }
    flags = dict.fromkeys(("ndv", "quantiles", "heavy_values"), has_sketches)
    with tempfile.TemporaryDirectory() as place:
        catalog = skipstone.catalog(place)
        catalog.create_namespace("db")
        properties = {"write.parquet.row-group-size-bytes": "64", "write.parquet.row-group-check-min-record-count": "1"}
        table = catalog.create_table("db.t", pa.table(columns).schema, format_version=3, properties=properties)
        table.append(pa.table(columns))
        if has_deletes:
            table.delete("l <= 50")
        if not len(table.scan().plan()):
            return
        ids = analysed_ids(table.schema, None, table="t")
        work = plan_analysis(
            table.metadata, table.storage, table.current_snapshot, field_ids=ids, full=True, wishes=Wishes(**flags)
        ).work()
        assert _exact(work.analyse(0)) == _exact(replace(work, trusts_footers=False).analyse(0))


def _exact(summary: Any) -> list[Any]:
    """All but quantiles, which draw lots."""
    return [(summary.row_count, replace(column, quantiles=None)) for column in summary.columns]
