"""Wrong facts in manifests, found by the audit and put right; rows, row ids and sequence numbers stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
from skipstone.errors import InvalidInput
from skipstone.maintenance.metrics_repair import with_facts
from skipstone.metadata.tables.snapshots import Operation
from skipstone.metadata.values import serialize_bound
from skipstone.write import write_rows

ROWS = pa.table(
    {
        "id": pa.array(range(100), pa.int64()),
        "state": ["CA", "NY"] * 50,
        "name": [f"a rather long name of number {i:03d}" for i in range(100)],
        "inside": pa.array([None if i % 10 == 0 else {"x": float(i)} for i in range(100)]),
    }
)
ID, STATE, NAME, X = 1, 2, 3, 5


def make_table(home: Path, *, format_version: int = 3, **options: Any) -> Any:
    lake = skipstone.catalog(str(home / "lake"))
    lake.create_namespace("shop")
    table = lake.create_table("shop.orders", ROWS.schema, format_version=format_version, **options)
    table.append(ROWS)
    return table


def add_with(table: Any, facts: dict[str, Any], rows: Any = ROWS) -> str:
    """Append rows whose entry has wrong facts; the data file's path."""
    entries = write_rows(rows, metadata=table.metadata, storage=table.storage)
    path: str = entries.column("file_path")[0].as_py()
    table.add_files(with_facts(entries, {path: facts}))
    return path


def bound(table: Any, field_id: int, value: Any) -> bytes:
    type_: Any = table.schema.field(field_id).type
    return serialize_bound(type_, value)


def lineage(table: Any) -> Any:
    rows = table.scan(columns=["id", "_row_id", "_last_updated_sequence_number"]).to_arrow()
    return rows.sort_by([("_row_id", "ascending")])


@pytest.mark.parametrize("with_index", [True, False])
def test_a_filter_that_lost_rows_finds_them_again(tmp_path: Path, with_index: bool) -> None:
    table = make_table(tmp_path)
    later = ROWS.set_column(0, "id", pa.array(range(1000, 1100), pa.int64()))
    path = add_with(table, {"upper_bounds": {ID: bound(table, ID, 1010)}}, later)
    table.append(ROWS)
    if not with_index:
        table.index.drop()
    assert table.scan("id = 1050").count() == 0  # what a wrong bound does
    before = lineage(table)
    report = table.audit(repair=True)
    (finding,) = report.findings
    assert (finding.file_path, finding.field_id, finding.fact) == (path, ID, "upper_bound")
    assert (finding.stored, finding.actual) == (1010, 1099)
    assert table.scan("id = 1050").count() == 1
    assert table.audit().is_clean
    assert table.current_snapshot.operation == Operation.REPLACE
    assert lineage(table).equals(before)


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_every_kind_of_fact_is_put_right_and_others_stay(tmp_path: Path, format_version: int) -> None:
    table = make_table(tmp_path, format_version=format_version)
    sound = table.inspect.files().to_pylist()[0]
    add_with(
        table,
        {
            "file_size_in_bytes": 7,
            "value_counts": {ID: 3, X: 3},
            "null_value_counts": {STATE: 50},
            "nan_value_counts": {X: 2},
            "lower_bounds": {NAME: bound(table, NAME, "b")},
            "upper_bounds": {STATE: bound(table, STATE, "CZ")},
        },
    )
    found = table.audit(repair=True).findings
    assert {(f.field_id, f.fact) for f in found} == {
        (None, "file_size_in_bytes"),
        (ID, "value_count"),
        (STATE, "null_count"),
        (X, "value_count - null_count"),
        (X, "nan_count"),
        (NAME, "lower_bound"),
        (STATE, "upper_bound"),
    }
    assert table.audit().is_clean
    repaired = next(f for f in table.inspect.files().to_pylist() if f["file_path"] != sound["file_path"])
    for name in ("record_count", "lower_bounds", "upper_bounds", "nan_value_counts"):
        assert repaired[name] == sound[name], name
    # Writers do not agree on what the count of a struct's field is, so it is gone, and nothing is concluded from it.
    assert dict(repaired["value_counts"]) == {k: v for k, v in dict(sound["value_counts"]).items() if k != X}


def test_a_repair_of_nothing_is_no_snapshot(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    snapshot = table.current_snapshot
    assert table.audit(repair=True).is_clean
    assert table.current_snapshot == snapshot


def test_files_that_have_gone_since_the_snapshot_need_no_repair(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    add_with(table, {"upper_bounds": {ID: bound(table, ID, 3)}})
    wrong = table.current_snapshot.snapshot_id
    table.overwrite(ROWS)
    last = table.current_snapshot
    assert len(table.audit(snapshot_id=wrong, repair=True).findings) == 1
    assert table.current_snapshot == last


def test_a_greater_record_count_would_share_row_ids_and_stays_a_finding(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    add_with(table, {"record_count": 90})
    assert "record_count" in {f.fact for f in table.audit(repair=True).findings}
    assert {f.fact for f in table.audit().findings} == {"record_count"}
    other = make_table(tmp_path / "v2", format_version=2)
    add_with(other, {"record_count": 90})
    other.audit(repair=True)
    assert other.audit().is_clean


def test_bounds_of_partitions_are_computed_anew(tmp_path: Path) -> None:
    table = make_table(tmp_path, partition_by=["state"])
    texas = ROWS.set_column(0, "id", pa.array(range(1000, 1100), pa.int64()))
    texas = texas.set_column(1, "state", pa.array(["TX"] * 100))
    add_with(table, {"upper_bounds": {ID: bound(table, ID, 1003)}}, texas)
    table.compute_partition_statistics()
    assert len(table.partition_statistics("id = 1050")) == 0
    table.audit(repair=True)
    assert len(table.partition_statistics("id = 1050")) == 1


def test_a_table_that_is_read_only_is_not_repaired(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    add_with(table, {"file_size_in_bytes": 7})
    opened = skipstone.open_table(table.metadata_location)
    assert not opened.audit().is_clean
    with pytest.raises(InvalidInput, match="read only"):
        opened.audit(repair=True)
