"""Inspection of small tables: what each metadata table says, and what is refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import skipstone
from skipstone import Table
from skipstone.errors import InvalidInput, NotFound

METADATA_TABLES = (
    "snapshots", "history", "refs", "metadata_log_entries", "manifests", "entries", "files", "data_files",
    "delete_files", "partitions", "position_deletes", "all_manifests", "all_entries", "all_files", "all_data_files",
    "all_delete_files",
)  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Table:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    columns = [("id", "long not null"), ("state", "string"), ("at", "struct<when: timestamptz>"), ("key", "uuid")]
    properties = {"write.delete.mode": "merge-on-read"}
    return lake.create_table("db.t", columns, partition_by=["state"], format_version=3, properties=properties)


def rows(*ids: int, state: str | None = "NY") -> list[dict[str, Any]]:
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return [{"id": i, "state": state, "at": {"when": moment}, "key": UUID(int=i)} for i in ids]


@pytest.mark.parametrize("name", METADATA_TABLES)
def test_an_empty_table_has_the_same_columns_as_a_full_one(table: Table, name: str) -> None:
    empty = getattr(table.inspect, name)()
    assert empty.num_rows == (1 if name == "metadata_log_entries" else 0)
    table.append(rows(1, 2))
    table.delete("id = 1")
    full = getattr(table.inspect, name)()
    assert full.num_rows > 0
    assert full.schema.equals(empty.schema), f"{full.schema}\n{empty.schema}"


def test_readable_metrics_are_typed_and_nested_columns_have_their_full_name(table: Table) -> None:
    table.append(rows(7, 3))
    (metrics,) = table.inspect.files().column("readable_metrics").to_pylist()
    assert list(metrics) == ["at.when", "id", "key", "state"]
    assert (metrics["id"]["lower_bound"], metrics["id"]["upper_bound"]) == (3, 7)
    assert metrics["at.when"]["lower_bound"] == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    assert metrics["at.when"]["null_value_count"] == 0
    assert metrics["key"]["upper_bound"] == UUID(int=7)


def test_a_rolled_back_snapshot_stays_in_the_history_but_is_no_ancestor(table: Table) -> None:
    table.append(rows(1))
    first = table.metadata.current_snapshot_id
    table.append(rows(2))
    assert first is not None
    table.rollback_to(first)
    history = table.inspect.history()
    assert history.column("snapshot_id").to_pylist()[0] == history.column("snapshot_id").to_pylist()[2] == first
    assert history.column("is_current_ancestor").to_pylist() == [True, False, True]


def test_partitions_count_files_and_deletes_by_tuple_and_spec(table: Table) -> None:
    table.append(rows(1, 2, 3))
    table.append([*rows(4), *rows(5, state=None)])
    table.delete("id = 1")
    with table.update_spec() as spec:
        spec.add_term("bucket(4, id)")
    table.append(rows(6))
    found = {
        (p["partition"]["state"], p["spec_id"]): (p["record_count"], p["file_count"], p["position_delete_file_count"])
        for p in table.inspect.partitions().to_pylist()
    }
    assert found == {("NY", 0): (4, 2, 1), (None, 0): (1, 1, 0), ("NY", 1): (1, 1, 0)}
    newest = [p for p in table.inspect.partitions().to_pylist() if p["spec_id"] == 1]
    assert newest[0]["last_updated_snapshot_id"] == table.metadata.current_snapshot_id


def test_position_deletes_list_every_deleted_position(table: Table) -> None:
    table.append(rows(1, 2, 3))
    table.delete("id >= 2")
    (data,) = table.inspect.data_files().column("file_path").to_pylist()
    found = table.inspect.position_deletes()
    assert set(found.column("file_path").to_pylist()) == {data}
    assert sorted(found.column("pos").to_pylist()) == [1, 2]
    assert found.column("content_offset").null_count == 0


def test_a_snapshot_or_a_ref_can_be_inspected_but_not_both(table: Table) -> None:
    table.append(rows(1))
    table.create_tag("first")
    table.append(rows(2))
    assert table.inspect.files(ref="first").num_rows == 1
    assert table.inspect.files(snapshot_id=table.refs["first"].snapshot_id).num_rows == 1
    assert table.inspect.files().num_rows == 2
    with pytest.raises(InvalidInput, match="expected one of them"):
        table.inspect.files(ref="first", snapshot_id=1)
    with pytest.raises(NotFound, match="Snapshots"):
        table.inspect.files(snapshot_id=1)


def test_a_deleted_file_is_an_entry_but_no_file(table: Table) -> None:
    table.append(rows(1))
    table.append(rows(2, state="CA"))
    table.delete("state = 'CA'")
    assert sorted(table.inspect.entries().column("status").to_pylist()) == [1, 2]
    assert table.inspect.files().num_rows == 1
    assert table.inspect.all_data_files().num_rows == 2
