"""Plans with the skip index: the same as without, and exactly as much skipped as the zones prove."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from tests.support.indexed import SIDECARS_ALWAYS, assert_same_plan, index_files_of, make_table, rows, small_blocks

import skipstone
from skipstone.commit import Append
from skipstone.index import growth
from skipstone.index.loading import forget_opened
from skipstone.index.opened import opened
from skipstone.index.sidecar_read import Sidecar
from skipstone.write import write_rows

pa: Any = pyarrow


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    small_blocks(monkeypatch)
    made = make_table(tmp_path)
    for first in range(0, 60, 6):
        made.append(rows(first))
    return made


def levels(plan: Any) -> dict[str, tuple[int, int]]:
    return {level.name: (level.zones_in, level.skipped) for level in plan.levels}


def test_manifests_without_a_match_are_skipped_by_the_facts_of_their_columns(table: Any) -> None:
    plan = assert_same_plan(table, "id = 13")
    assert levels(plan) == {"manifests": (10, 9), "partitions": (3, 1), "files": (20, 18)}
    assert levels(table.scan("id = 13", use_index=False).plan())["manifests"] == (10, 0)


def test_partition_values_and_column_facts_are_intersected(table: Any) -> None:
    plan = assert_same_plan(table, "state = 'a' AND id >= 54")
    assert levels(plan)["manifests"] == (10, 9)
    assert levels(plan)["partitions"] == (3, 2)
    assert len(plan) == 1


@pytest.mark.parametrize(
    "predicate", [None, "id = 13", "state = 'b'", "x IS NULL", "x > 20", "n IN (1, 2)", "id < 0", "NOT (id < 30)"]
)
@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_plans_are_those_without_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_version: int, predicate: str | None
) -> None:
    small_blocks(monkeypatch)
    table = make_table(tmp_path, format_version=format_version, write__delete__mode="merge-on-read")
    table.append(rows(0, 40))
    table.append(rows(40, 3))
    if format_version > 1:
        table.delete("id = 7 OR id = 41")
    assert_same_plan(table, predicate)


def test_what_zones_prove_of_all_that_is_left_is_not_asked_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make_table(tmp_path)
    for first in range(0, 36, 6):
        table.append(rows(first, states="a"))
        table.append(rows(first, states="b"))
    asked: set[str] = set()
    fetch = Sidecar.fetch

    def seen(sidecar: Sidecar, storage: Any, names: Any, blocks: Any) -> Any:
        asked.update(names)
        return fetch(sidecar, storage, names, blocks)

    monkeypatch.setattr(Sidecar, "fetch", seen)
    plan = assert_same_plan(table, "state = 'a' AND id >= 0 AND x > 12")
    assert 0 < len(plan) < 6
    ids = {name.partition(".")[0] for name in asked if name.endswith((".lower", ".upper", ".null_count"))}
    assert ids == {str(table.schema.field("x").id)}


def test_one_large_manifest_is_read_by_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch, 2)
    table = make_table(tmp_path)
    table.set_properties({"commit.manifest.min-count-to-merge": "2"})
    for first in range(0, 48, 6):
        table.append(rows(first))
    plan = assert_same_plan(table, "id = 13")
    assert len(table.inspect.manifests()) == 1
    assert table.index.status().zones == 1 + 3 + 3 * 4  # itself, its partitions, their blocks of two files
    assert levels(plan) == {"manifests": (1, 0), "partitions": (3, 0), "files": (24, 22)}


def test_a_filter_on_a_column_that_is_not_indexed_reads_the_manifests(tmp_path: Path) -> None:
    table = make_table(tmp_path, skipstone__index__columns="id")
    table.append(rows(0))
    plan = assert_same_plan(table, "n = 3")
    assert plan.notes and "does not cover" in plan.notes[0]
    assert len(plan) == len(table.scan("n = 3", use_index=False).plan())


def test_the_index_is_not_written_when_it_is_switched_off(tmp_path: Path) -> None:
    table = make_table(tmp_path, skipstone__index__enabled="false")
    table.append(rows(0))
    assert index_files_of(table) == []
    assert_same_plan(table, "id = 1")


def test_small_manifests_have_zones_and_no_sidecar(tmp_path: Path) -> None:
    table = make_table(tmp_path, **{"skipstone.index.sidecar-min-files": "50"})
    table.append(rows(0))
    table.append(rows(6))
    status = table.index.status()
    assert (status.sidecars, status.manifests_indexed) == (0, 2)
    assert levels(assert_same_plan(table, "id = 7"))["manifests"] == (2, 1)


@pytest.mark.parametrize("which", ["zones", "rollup"])
def test_lost_index_files_change_nothing(table: Any, which: str) -> None:
    for path in index_files_of(table):
        if which in path.name:
            path.unlink()
    assert_same_plan(table, "id = 13")
    assert_same_plan(table, "state = 'a'")


def test_a_damaged_index_file_is_noted_and_passed_over(table: Any) -> None:
    for path in index_files_of(table):
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    plan = assert_same_plan(table, "id = 13")
    assert any("checksum does not hold" in note for note in plan.notes)


def test_an_index_file_of_another_manifest_is_passed_over(table: Any) -> None:
    first, second, *_ = [p for p in index_files_of(table) if p.name.endswith(".zones.parquet")]
    for path in index_files_of(table):
        if "rollup" in path.name:
            path.unlink()
    first.write_bytes(second.read_bytes())
    plan = assert_same_plan(table, "id >= 0")
    assert any("it is about a manifest with path" in note for note in plan.notes)


def test_commits_without_the_index_leave_the_rest_of_it_useful(table: Any) -> None:
    table.set_properties({"skipstone.index.enabled": "false"})
    table.append(rows(100))
    table.set_properties({"skipstone.index.enabled": "true"})
    plan = assert_same_plan(table, "id = 13")
    # Nine are skipped by the ancestor's roll-up; the new one is read.
    assert levels(plan)["manifests"] == (11, 9)
    table.append(rows(200))
    assert levels(assert_same_plan(table, "id = 13"))["manifests"] == (12, 10)


def test_time_travel_and_branches_use_their_own_zones(table: Any) -> None:
    old = table.snapshots[3].snapshot_id
    table.create_branch("b", snapshot_id=old)
    table.append(rows(300), branch="b")
    assert levels(assert_same_plan(table, "id = 13", snapshot_id=old))["manifests"] == (4, 3)
    assert levels(assert_same_plan(table, "id = 301", ref="b"))["manifests"] == (5, 4)


def test_promoted_columns_keep_their_zones(table: Any) -> None:
    with table.update_schema() as update:
        update.update_column("n", type="long")
    table.append(rows(100).set_column(3, "n", [[2**40 + i for i in range(6)]]))
    plan = assert_same_plan(table, f"n > {2**39}")
    assert levels(plan)["manifests"] == (11, 10)


@pytest.mark.parametrize(
    ("before", "after", "value", "literal"),
    [
        ("int", "long", lambda i: 10 * i, "{c} > 15 AND {c} < 25"),
        ("float", "double", lambda i: 0.1 + i, "{c} > 1.5 AND {c} < 2.5"),
        ("decimal(9,2)", "decimal(18,2)", lambda i: Decimal(i), "{c} = 2.00"),
        ("date", "timestamp", lambda i: date(2024, 1, 1 + i), "{c} = DATE '2024-01-03'"),
    ],
)
@pytest.mark.parametrize("builds_again", [False, True])
def test_a_snapshot_from_before_a_promotion_is_planned_by_the_types_of_its_time(
    tmp_path: Path, before: str, after: str, value: Any, literal: str, builds_again: bool
) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    table: Any = lake.create_table("db.t", [("c", before)], format_version=3, properties=SIDECARS_ALWAYS)
    for i in range(4):
        table.append([{"c": value(i)}])
    old = table.current_snapshot.snapshot_id
    with table.update_schema() as update:
        update.update_column("c", type=after)
    table.append([{"c": None}])
    if builds_again:
        table.index.build(rebuild=True)
    plan = assert_same_plan(table, literal.format(c="c"), snapshot_id=old)
    assert len(plan) == 1
    assert levels(assert_same_plan(table, "c IS NOT NULL", snapshot_id=old))["files"] == (4, 0)


def test_a_bound_that_fits_only_what_its_column_is_promoted_to_is_found_in_the_manifest(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    table: Any = lake.create_table("db.t", [("n", "int")], properties=SIDECARS_ALWAYS)
    files = write_rows(pa.table({"n": pa.array([5], pa.int32())}), metadata=table.metadata, storage=table.storage)
    for name in ("lower_bounds", "upper_bounds"):
        at = files.schema.get_field_index(name)
        bounds = pa.array([[(1, (5).to_bytes(8, "little"))]], files.schema.field(at).type)
        files = files.set_column(at, files.schema.field(at), bounds)
    table.apply(Append(files=files))
    assert len(assert_same_plan(table, "n > 7")) == 1
    with table.update_schema() as update:
        update.update_column("n", type="long")
    assert len(assert_same_plan(table, "n > 7")) == 0


def test_columns_added_later_need_no_manifest(table: Any) -> None:
    with table.update_schema() as update:
        update.add_column("later", "int")
    plan = assert_same_plan(table, "later = 3")
    assert not plan.notes


def test_a_new_partition_spec_has_zones_of_its_own(table: Any) -> None:
    with table.update_spec() as update:
        update.add_field("id", "bucket[4]")
    table.append(rows(100))
    for predicate in ("id = 101", "state = 'a'", "id = 13 AND state = 'b'"):
        assert_same_plan(table, predicate)


def test_many_small_commits_share_one_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_SMALL_ROWS", 6)
    table = make_table(tmp_path)
    seen = set()
    for first in range(0, 60, 3):
        table.append(rows(first, 3))
        forget_opened()
        seen.add(table.index.status().zones > 6)
        assert table.index.status().manifests_indexed == len(table.inspect.manifests())
    assert_same_plan(table, "id = 13")
    assert seen == {True, False}


def test_columns_in_memory_are_not_taken_for_those_of_a_sidecar_made_anew(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.set_properties({"commit.manifest.min-count-to-merge": "2"})
    for first in (0, 30, 12, 48):
        table.append(rows(first))
    predicate = "id < 12"
    assert_same_plan(table, predicate)
    columns = {
        key: value for key, value in opened._kept.items() if isinstance(key[1], tuple) and "file_path" not in key[1][0]
    }
    table.sort_by("id DESC")
    table.index.tighten()
    # As in another process: the files are opened anew, some columns of the old ones are still there.
    opened._kept.update(columns)
    ours, plain = (table.scan(predicate, use_index=use).plan() for use in (True, False))
    assert columns
    assert ours.files.equals(plain.files)
