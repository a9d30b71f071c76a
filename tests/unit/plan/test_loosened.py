"""Zones whose bounds enclose deleted rows are marked, hold as bounds, and are exact again once files are rewritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.support.indexed import assert_same_plan, compact, make_table, rows

from skipstone.commit import RowDelta
from skipstone.errors import InvalidInput
from skipstone.plan.loosened import LEVELS
from skipstone.write import write_equality_deletes


def marks(table: Any, level: str, name: str, **of: Any) -> dict[Any, tuple[int, int, bool]]:
    """Files, loosened files and the mark of each zone, by what names it."""
    return {
        str(r[name]): (r["files"], r["loosened_files"], r["is_loosened"])
        for r in table.index.zones(level, **of).to_pylist()
    }


@pytest.fixture(params=[2, 3], ids=["position deletes", "deletion vectors"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Two manifests of a file in each of three partitions; the greatest id of 'c' is deleted."""
    made = make_table(tmp_path, format_version=request.param, write__delete__mode="merge-on-read")
    made.append(rows(0))
    made.append(rows(6))
    made.delete("id = 11")
    return made


def test_only_zones_with_deletes_are_marked(table: Any) -> None:
    assert marks(table, "partitions", "partition") == {
        "{'state': 'a'}": (2, 0, False),
        "{'state': 'b'}": (2, 0, False),
        "{'state': 'c'}": (2, 1, True),
    }
    assert sorted(marks(table, "manifests", "manifest_path").values()) == [(3, 0, False), (3, 1, True)]
    files = table.index.zones("files").to_pylist()
    assert [f["delete_files"] for f in files if f["is_loosened"]] == [1] and len(files) == 6
    assert table.index.status().loosened == dict.fromkeys(LEVELS, 1)


def test_a_snapshot_before_the_deletes_is_exact(table: Any) -> None:
    before = table.snapshots[-2].snapshot_id
    assert not any(
        is_loosened for *_, is_loosened in marks(table, "partitions", "partition", snapshot_id=before).values()
    )
    assert table.index.status(snapshot_id=before).loosened == dict.fromkeys(LEVELS, 0)


def test_a_loosened_zone_skips_by_its_bounds_and_its_ends_are_no_values(table: Any) -> None:
    assert len(assert_same_plan(table, "id > 11")) == 0
    assert len(assert_same_plan(table, "id = 11")) == 1  # within the bounds still
    assert table.scan().aggregate("max(id)", "count(*)").to_pylist() == [{"max(id)": 10, "count(*)": 11}]


def test_an_explanation_counts_the_loosened_zones_that_are_kept(table: Any) -> None:
    explained = table.scan("state = 'c'").explanation()
    assert {level.report.name: level.loosened for level in explained.levels} == dict.fromkeys(LEVELS, 1)
    assert "1 of them loosened by deletes" in str(explained)
    assert all(level["loosened"] == 0 for level in table.scan("state = 'a'").explanation().to_json()["levels"])


def test_rewriting_the_files_makes_zones_exact(table: Any) -> None:
    compact(table)
    assert table.index.status().loosened == dict.fromkeys(LEVELS, 0)
    assert len(assert_same_plan(table, "id = 11")) == 0


def test_equality_deletes_loosen_only_files_that_can_hold_their_keys(table: Any) -> None:
    keys = pa.table({"id": pa.array([0], pa.int64()), "state": ["a"]})
    files = write_equality_deletes(keys, metadata=table.metadata, storage=table.storage, equality_ids=[1])
    table.apply(RowDelta(files=files))
    assert marks(table, "partitions", "partition")["{'state': 'a'}"] == (2, 1, True)


def test_an_empty_table_has_no_zones_and_levels_are_named(tmp_path: Path) -> None:
    empty = make_table(tmp_path)
    assert [empty.index.zones(level).num_rows for level in LEVELS] == [0, 0, 0]
    with pytest.raises(InvalidInput, match="expected one of manifests, partitions, files"):
        empty.index.zones("rows")
