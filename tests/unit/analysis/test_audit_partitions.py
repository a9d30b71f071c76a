"""Partition tuples against rows: a wrong one is found at its place, and what cannot be repaired is said plainly."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skipstone
from skipstone.maintenance.metrics_repair import with_facts
from skipstone.write import write_rows

MOMENT = dt.datetime(1969, 12, 30, 5, tzinfo=dt.UTC)
NAN, ZERO = float("nan"), 0.0
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "state": ["CA", "NY", None],
        "x": [NAN, -ZERO, ZERO],
        "price": pa.array([Decimal("1.25"), Decimal("-9.99"), None], pa.decimal128(9, 2)),
        "day": pa.array([dt.date(1969, 12, 30), dt.date(2024, 2, 29), None]),
        "at": pa.array([MOMENT, MOMENT.replace(year=2024), None], pa.timestamp("us", tz="UTC")),
        "key": pa.array([uuid.UUID(int=i).bytes for i in (1, 2, 3)], pa.uuid()),
        "raw": pa.array([b"abc", b"", None], pa.binary()),
        "inside": pa.array([{"y": 1}, {"y": None}, None], pa.struct([("y", pa.int32())])),
    }
)
TRANSFORMS = [
    "id", "state", "x", "price", "day", "at", "key", "raw", "inside.y", "bucket(64, id)", "bucket(64, state)",
    "bucket(64, key)", "truncate(2, id)", "truncate(1, state)", "truncate(100, price)", "truncate(1, raw)",
    "year(day)", "month(at)", "day(at)", "hour(at)", "bucket(3, inside.y)",
]  # fmt: skip


def make_table(home: Path, *partition_by: str, **options: Any) -> Any:
    return skipstone.catalog(str(home / "lake")).create_table(
        "db.t", ROWS.schema, partition_by=list(partition_by), **options
    )


def add_with_tuple_of(table: Any, rows: Any, others: Any) -> str:
    """Append rows in a file that is said to be of the partition of others; the file's path."""
    entries, told = (write_rows(r, metadata=table.metadata, storage=table.storage) for r in (rows, others))
    assert entries.num_rows == told.num_rows == 1
    place = entries.schema.get_field_index("partition")
    table.add_files(entries.set_column(place, entries.schema.field(place), told.column("partition")))
    path: str = entries.column("file_path")[0].as_py()
    return path


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_right_tuples_of_every_transform_are_clean(tmp_path: Path, transform: str, file_format: str) -> None:
    table = make_table(tmp_path, transform, properties={"write.format.default": file_format})
    table.append(ROWS)
    assert [str(f) for f in table.audit().findings] == []


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_tuple_of_other_rows_is_found(tmp_path: Path, transform: str) -> None:
    table = make_table(tmp_path, transform, format_version=2)
    # Two rows whose values differ under every transform that is tried here.
    path = add_with_tuple_of(table, ROWS.slice(0, 1), ROWS.slice(1, 1))
    report = table.audit()
    (finding,) = report.findings
    assert finding.fact == "partition value"
    assert finding.file_path == path and path in finding.about
    assert repr(finding.stored) != repr(finding.actual)
    ((beyond, reason),) = report.beyond_repair
    assert beyond == finding and "another partition" in reason


def test_a_repair_leaves_rows_of_another_partition_and_says_so(tmp_path: Path) -> None:
    table = make_table(tmp_path, "state")
    add_with_tuple_of(table, ROWS.slice(0, 1), ROWS.slice(1, 1))
    before = table.current_snapshot
    report = table.audit(repair=True)
    assert [(f.stored, f.actual) for f in report.findings] == [("NY", "CA")]
    assert [f.fact for f, _ in report.beyond_repair] == ["partition value"]
    assert table.current_snapshot == before


def test_rows_of_several_partitions_in_one_file_are_all_found(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    entries = write_rows(ROWS, metadata=table.metadata, storage=table.storage)
    with table.update_spec() as update:
        update.add_field("state")
    told = write_rows(ROWS.slice(0, 1), metadata=table.metadata, storage=table.storage)
    place = entries.schema.get_field_index("partition")
    entries = entries.set_column(place, told.schema.field("partition"), told.column("partition"))
    if "spec_id" in told.column_names:
        at = entries.schema.get_field_index("spec_id")
        entries = entries.set_column(at, "spec_id", told.column("spec_id"))
    table.add_files(entries)
    (finding,) = table.audit().findings
    assert (finding.stored, finding.actual) == ("CA", ("NY", None))


@pytest.mark.parametrize(
    ("transform", "right", "tolerated", "wrong"),
    [
        ("month(at)", -1, 0, 1),
        ("day(at)", dt.date(1969, 12, 30), dt.date(1969, 12, 31), dt.date(1970, 1, 1)),
    ],
)
def test_early_writers_rounded_moments_before_1970_up(
    tmp_path: Path, transform: str, right: Any, tolerated: Any, wrong: Any
) -> None:
    table = make_table(tmp_path, transform)
    for told, facts in ((right, set()), (tolerated, set()), (wrong, {"partition value"})):
        entries = write_rows(ROWS.slice(0, 1), metadata=table.metadata, storage=table.storage)
        place = entries.schema.get_field_index("partition")
        type_ = entries.schema.field(place).type
        tuples = pa.array([{type_.field(0).name: told}], type_)
        table.add_files(entries.set_column(place, entries.schema.field(place), tuples))
        assert {f.fact for f in table.audit().findings} == facts


def test_a_column_that_is_not_in_the_file_is_told_by_the_tuple(tmp_path: Path) -> None:
    table = make_table(tmp_path, "state", "bucket(64, state)")
    entries = write_rows(ROWS.slice(0, 1), metadata=table.metadata, storage=table.storage)
    path = entries.column("file_path")[0].as_py()
    file = Path(path.removeprefix("file:"))
    pq.write_table(pq.read_table(file).drop_columns(["state"]), file)
    table.add_files(with_facts(entries, {path: {"file_size_in_bytes": file.stat().st_size}}))
    assert table.scan().to_arrow().column("state").to_pylist() == ["CA"]
    assert "partition value" not in {f.fact for f in table.audit().findings}
