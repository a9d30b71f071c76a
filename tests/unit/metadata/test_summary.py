"""Snapshot summaries: counted from files, complete or silent."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.support.metadata_builder import SCHEMA, SPEC

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.partitioning import UNPARTITIONED
from skipstone.metadata.tables.snapshots import Operation
from skipstone.metadata.tables.summary import SummaryCollector, totals_of

DATA, POSITION, EQUALITY = 0, 1, 2
TOTALS = {
    "total-records": "100", "total-files-size": "1000", "total-data-files": "10", "total-delete-files": "5",
    "total-position-deletes": "50", "total-equality-deletes": "5",
}  # fmt: skip


def _files(*rows: tuple[Any, ...]) -> pa.Table:
    """Rows of (state, content, records, size[, blob offset, blob size])."""
    padded = [(*row, *([None] * (6 - len(row)))) for row in rows]
    states, contents, records, sizes, offsets, blob_sizes = zip(*padded) if padded else ([],) * 6
    return pa.table(
        {
            "partition": pa.array([{"state": s} for s in states], pa.struct([("state", pa.string())])),
            "content": pa.array(contents, pa.int32()),
            "record_count": pa.array(records, pa.int64()),
            "file_size_in_bytes": pa.array(sizes, pa.int64()),
            "content_offset": pa.array(offsets, pa.int64()),
            "content_size_in_bytes": pa.array(blob_sizes, pa.int64()),
        }
    )


def _add(collector: SummaryCollector, *rows: tuple[Any, ...]) -> None:
    collector.add(_files(*rows), spec=SPEC, schema=SCHEMA)


def _remove(collector: SummaryCollector, *rows: tuple[Any, ...]) -> None:
    collector.remove(_files(*rows), spec=SPEC, schema=SCHEMA)


def test_the_first_append_counts_from_zero() -> None:
    collector = SummaryCollector()
    _add(collector, ("CA", DATA, 10, 100), ("CA", DATA, 5, 50), ("NY", DATA, 1, 10), (None, DATA, 1, 1))
    assert collector.summary(Operation.APPEND, None) == {
        "operation": "append",
        "added-data-files": "4",
        "added-records": "17",
        "added-files-size": "161",
        "changed-partition-count": "3",
        "total-records": "17",
        "total-files-size": "161",
        "total-data-files": "4",
        "total-delete-files": "0",
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
    }


def test_every_kind_of_file_has_its_own_metrics_and_a_vector_counts_by_its_blob() -> None:
    collector = SummaryCollector()
    _add(
        collector,
        ("CA", DATA, 7, 70),
        ("CA", POSITION, 3, 30),
        ("CA", EQUALITY, 2, 20),
        ("CA", POSITION, 4, 5000, 4, 44),
        ("CA", POSITION, 1, 5000, 48, 45),
    )
    _remove(
        collector, ("CA", DATA, 6, 60), ("NY", POSITION, 2, 4000, 4, 40), ("NY", EQUALITY, 1, 9), ("NY", POSITION, 1, 8)
    )
    built = collector.summary(Operation.OVERWRITE, TOTALS)
    assert built == {
        "operation": "overwrite",
        "added-data-files": "1", "deleted-data-files": "1",
        "added-equality-delete-files": "1", "removed-equality-delete-files": "1",
        "added-position-delete-files": "1", "removed-position-delete-files": "1",
        "added-delete-files": "4", "removed-delete-files": "3",
        "added-dvs": "2", "removed-dvs": "1",
        "added-records": "7", "deleted-records": "6",
        "added-files-size": "209", "removed-files-size": "117",
        "added-position-deletes": "8", "removed-position-deletes": "3",
        "added-equality-deletes": "2", "removed-equality-deletes": "1",
        "changed-partition-count": "2",
        "total-records": "101", "total-files-size": "1092", "total-data-files": "10", "total-delete-files": "6",
        "total-position-deletes": "55", "total-equality-deletes": "6",
    }  # fmt: skip


def test_an_empty_commit_repeats_the_totals() -> None:
    assert SummaryCollector().summary(Operation.APPEND, TOTALS) == {
        "operation": "append",
        "changed-partition-count": "0",
        **TOTALS,
    }


def test_an_unknown_previous_total_stays_unknown() -> None:
    collector = SummaryCollector()
    _add(collector, ("CA", DATA, 10, 100))
    known = {k: v for k, v in TOTALS.items() if k != "total-records"}
    built = collector.summary(Operation.APPEND, known)
    assert "total-records" not in built
    assert built["total-data-files"] == "11"
    assert not any(k.startswith("total-") for k in collector.summary(Operation.APPEND, {}))


@pytest.mark.parametrize("damaged", ["", "x", "-1", "1.5", "9" * 30, "٣"])
def test_a_damaged_previous_total_is_unknown(damaged: str) -> None:
    built = SummaryCollector().summary(Operation.APPEND, {**TOTALS, "total-records": damaged})
    assert "total-records" not in built


def test_a_total_that_would_fall_below_zero_is_left_out() -> None:
    collector = SummaryCollector()
    _remove(collector, ("CA", DATA, 101, 1))
    built = collector.summary(Operation.DELETE, TOTALS)
    assert "total-records" not in built
    assert built["total-data-files"] == "9"


def test_totals_counted_from_the_live_files_replace_the_previous_ones() -> None:
    live = _files(("CA", DATA, 7, 70), ("CA", POSITION, 4, 5000, 4, 44), ("NY", EQUALITY, 2, 20))
    totals = totals_of(live)
    assert totals == {
        "total-records": "7", "total-files-size": "134", "total-data-files": "1", "total-delete-files": "2",
        "total-position-deletes": "4", "total-equality-deletes": "2",
    }  # fmt: skip
    assert SummaryCollector().summary(Operation.REPLACE, {}, totals=totals).items() >= totals.items()
    assert set(totals_of(_files()).values()) == {"0"}


def test_an_unpartitioned_table_has_one_partition_and_no_partition_summary() -> None:
    collector = SummaryCollector(partition_limit=10)
    collector.add(_files((None, DATA, 1, 1)), spec=UNPARTITIONED, schema=SCHEMA)
    built = collector.summary(Operation.APPEND, None)
    assert built["changed-partition-count"] == "1"
    assert not any(k.startswith("partition") for k in built)


def test_partition_summaries_are_included_up_to_the_limit() -> None:
    rows = [("a b", DATA, 1, 655), ("c/d", DATA, 2, 654), (None, DATA, 3, 621)]
    within, beyond = SummaryCollector(partition_limit=3), SummaryCollector(partition_limit=2)
    for collector in (within, beyond):
        _add(collector, *rows)
        _remove(collector, ("c/d", DATA, 1, 5))
    included = {k: v for k, v in within.summary(Operation.OVERWRITE, None).items() if k.startswith("partition")}
    assert included == {
        "partition-summaries-included": "true",
        "partitions.state=a+b": "added-data-files=1,added-records=1,added-files-size=655",
        "partitions.state=c%2Fd": (
            "added-data-files=1,deleted-data-files=1,added-records=2,deleted-records=1,"
            "added-files-size=654,removed-files-size=5"
        ),
        "partitions.state=null": "added-data-files=1,added-records=3,added-files-size=621",
    }
    assert not any(k.startswith("partition") for k in beyond.summary(Operation.OVERWRITE, None))


def test_a_manifest_taken_over_whole_leaves_sizes_and_partitions_unknown() -> None:
    collector = SummaryCollector(partition_limit=9)
    _add(collector, ("CA", DATA, 1, 10))
    collector.add_manifest(
        is_delete_manifest=False, added_files_count=2, added_rows_count=20, deleted_files_count=1, deleted_rows_count=5
    )
    built = collector.summary(Operation.APPEND, TOTALS)
    assert built == {
        "operation": "append",
        "added-data-files": "3", "deleted-data-files": "1", "added-records": "21", "deleted-records": "5",
        **{k: v for k, v in TOTALS.items() if k != "total-files-size"},
        "total-records": "116", "total-data-files": "12",
    }  # fmt: skip


def test_a_delete_manifest_taken_over_whole_leaves_the_kinds_of_deletes_unknown() -> None:
    collector = SummaryCollector()
    collector.add_manifest(
        is_delete_manifest=True, added_files_count=2, added_rows_count=20, deleted_files_count=0, deleted_rows_count=0
    )
    built = collector.summary(Operation.DELETE, TOTALS)
    assert built == {
        "operation": "delete",
        "added-delete-files": "2",
        "total-records": "100",
        "total-data-files": "10",
        "total-delete-files": "7",
    }


def test_operational_details_are_included() -> None:
    collector = SummaryCollector()
    collector.set_manifests(created=1, kept=2, replaced=0, entries_processed=7)
    collector.count_duplicates(2)
    built = collector.summary(Operation.REPLACE, TOTALS, properties={"engine-name": "skipstone", "operation": "x"})
    assert built.items() >= {
        "manifests-created": "1", "manifests-kept": "2", "manifests-replaced": "0", "entries-processed": "7",
        "deleted-duplicate-files": "2", "engine-name": "skipstone", "operation": "replace",
    }.items()  # fmt: skip


def test_an_unknown_content_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected content 0, 1 or 2, got 0 to 3"):
        totals_of(_files(("CA", DATA, 1, 1), ("CA", 3, 1, 1)))
