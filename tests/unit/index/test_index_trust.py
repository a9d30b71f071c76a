"""What an index file says is believed only where it is about what it is asked for."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from tests.support.commits import files_of
from tests.support.indexed import (
    SIDECARS_ALWAYS,
    assert_same_plan,
    index_files_of,
    is_same,
    make_table,
    rows,
    small_blocks,
)

import skipstone
from skipstone.commit import indexing
from skipstone.commit.append import Append
from skipstone.index import rollup_bytes
from skipstone.index.loading import forget_opened
from skipstone.metadata.values import serialize_bound

pa: Any = pyarrow


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))


@pytest.fixture
def ordered(lake: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One manifest of eight files in four blocks, sorted by id, and a snapshot after it."""
    small_blocks(monkeypatch, 2)
    properties = {**SIDECARS_ALWAYS, "commit.manifest.min-count-to-merge": "2"}
    table = lake.create_table("db.o", [("id", "long"), ("v", "long")], sort_by=["id"], properties=properties)
    for i in [5, 1, 8, 3, 7, 2, 6, 4]:
        table.append(pa.table({"id": [i], "v": [10 * i]}))
    table.create_branch("then")
    table.set_properties({"commit.manifest-merge.enabled": "false"})
    table.append(pa.table({"id": [50], "v": [500]}))
    return table


def test_blocks_of_a_sidecar_that_was_cut_anew_are_not_those_of_an_older_rollup(ordered: Any) -> None:
    ordered.sort_by("id desc")
    ordered.set_properties({"skipstone.index.columns": "v"})  # without the sort column, files are not sorted
    ordered.index.tighten()
    for value in range(10, 90, 10):
        assert len(assert_same_plan(ordered, f"v = {value}", ref="then")) == 1
        assert len(assert_same_plan(ordered, f"v = {value}")) == 1
    # What the blocks of the older roll-up prove holds for these only, not for all files of the sidecar.
    assert len(assert_same_plan(ordered, "v >= 50", ref="then")) == 4


@pytest.mark.parametrize("sidecar_min_files", ["1", "1000"])
def test_files_with_counts_that_cannot_be_right_do_not_hide_their_neighbours(lake: Any, sidecar_min_files: str) -> None:
    properties = {"skipstone.index.sidecar-min-files": sidecar_min_files}
    table = lake.create_table("db.odd", [("x", "double"), ("s", "struct<n: long>")], properties=properties)
    x, n = table.schema.field("x"), table.schema.field("s.n")
    nulls, nans = [{x.id: 2, n.id: 3}, {x.id: 0, n.id: 0}], [{x.id: 2}, {x.id: 0}]
    files = [
        {
            "file_path": f"{table.location}/data/{i}.parquet",
            "record_count": 2,
            "file_size_in_bytes": 10,
            "value_counts": [(x.id, 2), (n.id, 1 + i)],
            "null_value_counts": list(nulls[i].items()),
            "nan_value_counts": list(nans[i].items()),
            "lower_bounds": [(x.id, serialize_bound(x.type, 1.0)), (n.id, serialize_bound(n.type, 7))],
            "upper_bounds": [(x.id, serialize_bound(x.type, 2.0)), (n.id, serialize_bound(n.type, 8))],
        }
        for i in range(2)
    ]
    table.apply(Append(files=files_of(files, 0, {})))
    for predicate in ("x = 1.0", "s.n = 7", "x > 0 AND s.n > 0"):
        assert len(table.scan(predicate, use_index=False).plan()) == 2
        assert len(table.scan(predicate).plan()) == 2


@pytest.mark.parametrize("sidecar_min_files", ["1", "1000"])
def test_a_count_of_nan_of_a_column_that_has_none_takes_no_bound_away(lake: Any, sidecar_min_files: str) -> None:
    properties = {"skipstone.index.sidecar-min-files": sidecar_min_files}
    table = lake.create_table("db.odd", [("s", "string"), ("m", "decimal(9, 2)")], properties=properties)
    s, m = table.schema.field("s"), table.schema.field("m")
    values = [("a", Decimal("1.00")), ("z", Decimal("9.00"))]
    files = [
        {
            "file_path": f"{table.location}/data/{i}.parquet",
            "record_count": 2,
            "file_size_in_bytes": 10,
            "value_counts": [(s.id, 2), (m.id, 2)],
            "null_value_counts": [(s.id, 0), (m.id, 0)],
            "nan_value_counts": [(s.id, 2 * i), (m.id, 2 * i)],
            "lower_bounds": [(s.id, serialize_bound(s.type, text)), (m.id, serialize_bound(m.type, number))],
            "upper_bounds": [(s.id, serialize_bound(s.type, text)), (m.id, serialize_bound(m.type, number))],
        }
        for i, (text, number) in enumerate(values)
    ]
    table.apply(Append(files=files_of(files, 0, {})))
    for predicate in ("s = 'z'", "m > 5", "s > 'b' AND m = 9"):
        assert len(table.scan(predicate, use_index=False).plan()) == 1
        assert len(table.scan(predicate).plan()) == 1


def test_a_sidecar_of_more_or_fewer_blocks_is_read_whole(ordered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch, 8)
    ordered.index.tighten()
    assert len(assert_same_plan(ordered, "v = 80", ref="then")) == 1


def test_a_rollup_that_numbers_other_blocks_is_made_anew(ordered: Any) -> None:
    branch = ordered.refs["then"].snapshot_id
    ordered.set_properties({"skipstone.index.columns": "v"})
    ordered.index.tighten()
    report = ordered.build_index(snapshot_id=branch)
    assert (report.indexed, report.known) == (1, 0)
    assert ordered.build_index(snapshot_id=branch).indexed == 0
    assert_same_plan(ordered, "v = 30", ref="then")


def test_a_sidecar_that_another_process_made_anew_is_opened_anew(ordered: Any) -> None:
    scan = {"predicate": "v = 30", "ref": "then"}

    def plan() -> Any:
        return ordered.scan(scan["predicate"], ref=scan["ref"]).plan()

    forget_opened()
    assert len(plan()) == 1
    sidecars = [p for p in index_files_of(ordered) if p.name.endswith(".zones.parquet")]
    old = {p: p.read_bytes() for p in sidecars}
    ordered.set_properties({"skipstone.index.columns": "v"})
    ordered.index.tighten()
    new = {p: p.read_bytes() for p in sidecars}
    for path, data in old.items():
        path.write_bytes(data)
    forget_opened()
    ordered.scan("v >= 0").plan()  # opens the old ones
    for path, data in new.items():
        path.write_bytes(data)
    first, second = plan(), plan()
    assert "checksum" in first.notes[0] and not second.notes
    assert first.files.equals(second.files)


MARKS = [
    "skipstone-seal:abcdefghij",
    "skipstone-header:",
    "skipstone-header:00000009abcdefghiskipstone-chunks:AAAA",
    "skipstone-chunks:",
    "PAR1",
]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("few_rows", [2048, 1])
def test_values_and_paths_may_hold_the_marks_of_index_files(
    lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, few_rows: int
) -> None:
    monkeypatch.setattr(rollup_bytes, "_FEW_ROWS", few_rows)
    table = lake.create_table(
        "db.m",
        [("id", "long"), ("s", "string")],
        partition_by=["s"],
        location=str(tmp_path / mark / "t"),
        properties={**SIDECARS_ALWAYS, "write.metadata.metrics.default": "full"},
    )
    table.append(pa.table({"id": [1, 2], "s": [mark + "zz"] * 2}))
    table.append(pa.table({"id": [3, 4], "s": [mark + "zz", mark + "0"]}))
    for predicate in (None, f"s = '{mark}zz'", "id = 3", f"s < '{mark}1'"):
        assert not assert_same_plan(table, predicate).notes
    assert table.scan(f"s = '{mark}zz'").count() == 3


def test_a_told_directory_is_shared_with_other_tables_and_other_files(lake: Any, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    properties = {**SIDECARS_ALWAYS, "skipstone.index.path": str(shared)}
    one, two = (lake.create_table(f"db.{name}", [("id", "long")], properties=properties) for name in ("one", "two"))
    for table in (one, two):
        table.append(pa.table({"id": [1, 2]}))
    precious = [shared / "precious.parquet", Path(one.index.status().directory) / "precious.txt"]
    for path in precious:
        path.write_bytes(b"somebody else's")
    assert one.remove_orphan_files(older_than="2999-01-01T00:00:00+00:00") == []
    assert one.index.drop() == 2
    assert two.index.status().manifests_indexed == 1
    lake.drop_table("db.two", purge=True)
    assert all(path.exists() for path in precious)
    assert not any(path.name.endswith((".rollup", ".zones.parquet")) for path in shared.rglob("*"))


@pytest.mark.parametrize("format_version", [2, 3])
def test_delete_files_are_read_from_the_index_too(tmp_path: Path, format_version: int) -> None:
    table = make_table(tmp_path, format_version=format_version, write__delete__mode="merge-on-read")
    for first in (0, 6, 12):
        table.append(rows(first))
    table.delete("n = 1")
    expected = assert_same_plan(table, "id > 2")
    assert expected.deletes.num_rows
    for manifest in table.inspect.manifests().column("path").to_pylist():
        Path(manifest).unlink()
    forget_opened()
    found = table.scan("id > 2").plan()
    assert is_same(found.files, expected.files) and is_same(found.deletes, expected.deletes)


@pytest.mark.parametrize("step", ["index_entries", "grown_rollup"])
@pytest.mark.parametrize("failure", [ValueError, KeyError, OverflowError, OSError])
def test_a_commit_goes_on_without_an_index_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, failure: type[Exception]
) -> None:
    def fails(*_: Any) -> Any:
        raise failure("odd")

    table = make_table(tmp_path)
    table.append(rows(0))
    monkeypatch.setattr(indexing, step, fails)
    table.append(rows(6))
    assert assert_same_plan(table, "id >= 0").files.num_rows == 6
