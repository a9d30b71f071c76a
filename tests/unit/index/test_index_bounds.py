"""How large the index may become, how far back it is found, and what it can count beside deletes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.commits import files_of
from tests.support.indexed import assert_same_plan, index_files_of, make_table, rows, small_blocks

import skipstone
from skipstone.commit.append import Append
from skipstone.metadata.types import LongType
from skipstone.metadata.values import serialize_bound
from skipstone.plan.scan import count_by_index

MB = 1 << 20
COLUMNS = 10


def _files(first: int, count: int) -> Any:
    """Files of 1 MB that exist in metadata only, with facts about ten columns."""
    found = []
    for n in range(first, first + count):
        low, high = ([(i, serialize_bound(LongType(), n * 7919 + i + d)) for i in range(1, 11)] for d in (0, 999))
        counts = [(i, 1000) for i in range(1, COLUMNS + 1)]
        found.append(
            {
                "file_path": f"s3://bucket/warehouse/shop.db/orders/data/{n:08d}-0-4f7a9f1c-0d5e-{n * 31:012x}.parquet",
                "record_count": 1000,
                "file_size_in_bytes": MB,
                "value_counts": counts,
                "null_value_counts": [(i, (n * i) % 13) for i in range(1, COLUMNS + 1)],
                "lower_bounds": low,
                "upper_bounds": high,
            }
        )
    return files_of(found, 0, {})


@pytest.mark.parametrize(("commits", "files"), [(1, 2500), (60, 1), (4, 40)])
def test_the_index_of_a_table_of_small_files_is_at_most_three_percent(tmp_path: Path, commits: int, files: int) -> None:
    lake = skipstone.catalog(str(tmp_path))
    table = lake.create_table("shop.orders", [(f"c{i}", "long") for i in range(COLUMNS)])
    for number in range(commits):
        table.apply(Append(files=_files(number * files, files), is_fast=True))
    assert table.index.status().manifests_indexed == commits
    size = sum(path.stat().st_size for path in index_files_of(table))
    assert 0 < size <= 0.03 * commits * files * MB


def test_a_rollup_is_found_behind_many_foreign_commits(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    for first in range(0, 18, 6):
        table.append(rows(first))
    table.set_properties({"skipstone.index.enabled": "false"})
    for first in range(100, 106):
        table.append(rows(first, 1))
    table.set_properties({"skipstone.index.enabled": "true"})
    assert table.index.status().manifests_indexed == 3
    assert assert_same_plan(table, "id = 13").levels[0].skipped == 2


@pytest.mark.parametrize("format_version", [2, 3])
def test_deletes_elsewhere_do_not_keep_the_zones_from_counting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_version: int
) -> None:
    small_blocks(monkeypatch)
    table = make_table(tmp_path, format_version=format_version, write__delete__mode="merge-on-read")
    table.append(rows(0, 30))
    table.delete("id = 1")  # in state b
    for predicate, is_counted in (("state = 'a'", True), ("state = 'b'", False), (None, False)):
        scan = table.scan(predicate)
        counted = count_by_index(
            table.metadata,
            table.storage,
            snapshot=table.current_snapshot,
            schema=scan.schema,
            predicate=scan.predicate,
        )
        assert (counted is not None) == is_counted
        assert scan.count() == scan.to_arrow().num_rows


def test_deletes_of_rows_that_were_rewritten_do_not_keep_the_zones_from_counting(tmp_path: Path) -> None:
    table = make_table(tmp_path, write__delete__mode="merge-on-read")
    table.append(rows(0, 6))
    table.delete("id = 1")
    table.set_properties({"write.delete.mode": "copy-on-write"})
    table.delete("id >= 0")
    table.append(rows(10, 6))
    assert table.scan().count() == 6
    assert len(table.scan().plan().deletes) == 0
