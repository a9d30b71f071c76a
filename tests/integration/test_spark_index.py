"""The skip index built by Spark's tasks is the one that is built without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.indexed import assert_same_plan, index_files_of, make_table, rows

from skipstone.index.loading import forget_opened
from skipstone.spark import file_tasks

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]


def contents(table: Any) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in index_files_of(table)}


def test_tasks_write_the_index_that_is_built_without_spark(
    tmp_path: Path, iceberg_java: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path)
    for first in range(0, 18, 6):
        table.append(rows(first))
    table.index.drop()
    here = table.build_index()
    expected = contents(table)
    assert len(expected) == 4  # a sidecar for each manifest and one roll-up
    table.index.drop()
    forget_opened()
    monkeypatch.setattr(file_tasks, "_BYTES_HERE_MAX", -1)
    by_tasks = table.build_index(spark=iceberg_java)
    assert by_tasks == here
    assert contents(table) == expected
    assert_same_plan(table, "id = 13")
