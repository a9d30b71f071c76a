"""Files as zones: metrics of manifests, with what writers leave out or get wrong."""

from __future__ import annotations

import pyarrow as pa
import pytest

from skipstone.metadata.manifests.manifest import DataFile, EntryStatus, ManifestEntry
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.manifests.manifest_write import write_manifest
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import INT, LONG, STRING, TIMESTAMP, Field, ListType, StructType
from skipstone.metadata.values import serialize_bound
from skipstone.predicate import as_predicate, bind
from skipstone.zones import ZoneMap, judge
from skipstone.zones.build import from_manifest_table

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG),
        Field(id=2, name="name", type=STRING),
        Field(id=3, name="s", type=StructType((Field(id=4, name="x", type=INT),))),
        Field(id=5, name="l", type=ListType(element_id=6, element=INT)),
        Field(id=7, name="ts", type=TIMESTAMP),
    )
)


def verdicts(zones: ZoneMap, text: str) -> list[int]:
    return [int(v) for v in judge(bind(as_predicate(text), SCHEMA), zones)]


def test_metrics_of_a_written_manifest_come_back_as_facts() -> None:
    files = [
        DataFile(
            file_path=f"f{n}",
            file_format="PARQUET",
            record_count=10,
            file_size_in_bytes=1,
            value_counts={1: 10, 4: 8},
            null_value_counts={1: 0, 4: 1},
            lower_bounds={1: serialize_bound(LONG, n * 10), 4: serialize_bound(INT, n)},
            # An int bound under a long column: written before a promotion.
            upper_bounds={1: serialize_bound(INT, n * 10 + 9), 4: serialize_bound(INT, n)},
        )
        for n in range(3)
    ]
    entries = [ManifestEntry(status=EntryStatus.ADDED, data_file=f) for f in files]
    written = write_manifest(entries, format_version=2, schema=SCHEMA, spec=PartitionSpec(), snapshot_id=1)
    table = read_manifest(written.data, source="m", schema=SCHEMA, metrics=[1, 2, 4])
    zones = from_manifest_table(table, SCHEMA)
    assert zones.row_count.to_pylist() == [10, 10, 10]
    assert zones.columns[1].lower.to_pylist() == [0, 10, 20]
    assert zones.columns[1].upper.to_pylist() == [9, 19, 29]
    assert zones.columns[4].value_count.to_pylist() == [8, 8, 8]
    assert verdicts(zones, "id = 15") == [0, 1, 0]
    assert verdicts(zones, "id >= 10") == [0, 2, 2]
    # Rows under a null struct are not counted, so no file is proven to match whole.
    assert verdicts(zones, "s.x = 1") == [0, 1, 0]
    assert verdicts(zones, "name IS NULL") == [1, 1, 1]


def test_unknown_record_count_and_negative_counts_are_unknown() -> None:
    table = pa.table({"record_count": [-1, 5, 5], "1.null_count": [-1, 0, None], "1.value_count": [5, -3, None]})
    zones = from_manifest_table(table, SCHEMA)
    assert zones.row_count.to_pylist() == [None, 5, 5]
    assert zones.columns[1].null_count.to_pylist() == [None, 0, None]
    # A column outside structs has one value a row, told or not.
    assert zones.columns[1].value_count.to_pylist() == [5, 5, 5]


def test_counts_that_contradict_the_row_count_are_unknown() -> None:
    table = pa.table({"record_count": [5, 5], "1.value_count": [4, 5], "4.value_count": [9, 3]})
    zones = from_manifest_table(table, SCHEMA)
    assert zones.columns[1].value_count.to_pylist() == [None, 5]
    assert zones.columns[4].value_count.to_pylist() == [None, 3]


def test_a_file_of_nulls_is_skipped_without_a_value_count() -> None:
    table = pa.table({"record_count": [5, 5], "1.null_count": [5, 4]})
    zones = from_manifest_table(table, SCHEMA)
    assert verdicts(zones, "id = 1") == [0, 1]
    assert verdicts(zones, "id IS NULL") == [2, 1]


def test_columns_in_lists_and_dropped_columns_have_no_facts() -> None:
    table = pa.table({"record_count": [5], "6.null_count": [0], "99.null_count": [0]})
    assert dict(from_manifest_table(table, SCHEMA).columns) == {}


def test_without_a_record_count_nothing_is_said_about_rows() -> None:
    zones = from_manifest_table(pa.table({"1.null_count": [0]}), SCHEMA)
    assert zones.row_count is None and zones.columns[1].value_count is None


@pytest.mark.parametrize(("file_format", "verdict"), [("ORC", 1), ("orc", 1), ("PARQUET", 0)])
def test_the_last_second_before_1970_in_an_orc_file_may_be_read_a_second_late(file_format: str, verdict: int) -> None:
    bounds = pa.array([-1], pa.int64()).view(pa.timestamp("us"))
    table = pa.table({"record_count": [1], "file_format": [file_format], "7.lower": bounds, "7.upper": bounds})
    zones = from_manifest_table(table, SCHEMA)
    assert verdicts(zones, "ts = TIMESTAMP_NTZ '1970-01-01 00:00:00.999999'") == [verdict]


def test_whole_structs_and_lists_are_judged_by_their_own_counts() -> None:
    """ORC files have such counts; a leaf's counts would not do, for it may be null where its struct is not."""
    counts = {
        "record_count": [10, 10, 10, 10, 10],
        "3.null_count": [0, 10, 4, None, 11],
        "3.value_count": [10, 10, 10, None, 10],
        "5.null_count": [0, 10, 4, -1, 11],
        "5.value_count": [10, 10, 10, 10, 10],
    }
    zones = from_manifest_table(pa.table({n: pa.array(v, pa.int64()) for n, v in counts.items()}), SCHEMA)
    assert verdicts(zones, "s IS NULL") == [0, 2, 1, 1, 1]
    assert verdicts(zones, "s IS NOT NULL") == [2, 0, 1, 1, 1]
    assert verdicts(zones, "l IS NULL") == [0, 2, 1, 1, 1]
    assert verdicts(zones, "l IS NOT NULL") == [2, 0, 1, 1, 1]
