"""A plan without a filter asks the skip index nothing where it could have nothing to say."""

from __future__ import annotations

from pathlib import Path

import pytest

import skipstone
from skipstone.index.opened import forget_opened
from skipstone.plan.scan import plan_scan
from skipstone.predicate.bind import bind
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.predicate.sql import parse_sql
from skipstone.storage import LocalStorage
from skipstone.storage.faulty import FaultyStorage


def index_files_read(table: skipstone.Table, predicate: Predicate) -> tuple[int, int]:
    """How many files of the index a plan reads, and how many data files it keeps."""
    storage = FaultyStorage(LocalStorage())
    forget_opened()
    plan = plan_scan(table.metadata, storage, snapshot=table.current_snapshot, schema=table.schema, predicate=predicate)
    return sum("skipstone-index" in call.path for call in storage.calls), len(plan)


@pytest.mark.parametrize(("sidecar_min_files", "reads"), [("512", False), ("1", True)])
def test_the_roll_up_is_read_for_a_filter_or_to_find_sidecars(
    tmp_path: Path, sidecar_min_files: str, reads: bool
) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    properties = {"skipstone.index.sidecar-min-files": sidecar_min_files}
    table = lake.create_table("db.t", [("id", "long")], partition_by=["id"], properties=properties)
    table.append([{"id": i} for i in range(3)])
    found, kept = index_files_read(table, TRUE)
    assert (found > 0, kept) == (reads, 3)
    found, kept = index_files_read(table, bind(parse_sql("id = 1"), table.schema))
    assert found > 0 and kept == 1
