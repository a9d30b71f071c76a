"""Calls that cannot be meant: one clear error each, and nothing done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone import Lake, Table
from skipstone.errors import InvalidInput


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def table(lake: Lake) -> Table:
    made = lake.create_table("db.t", [("id", "long"), ("s", "string")])
    made.append([{"id": i, "s": "x"} for i in range(5)])
    return made


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "limit of text": (lambda t: t.scan(limit="5"), "limit '5': expected an integer"),
    "half a row": (lambda t: t.scan(limit=1.5), r"limit 1\.5: expected an integer"),
    "one column as text": (lambda t: t.scan(columns="id"), "columns as a list of names, got 'id'"),
    "no moment": (lambda t: t.scan(as_of="yesterday").count(), "Invalid point in time: got 'yesterday'"),
    "version as text": (lambda t: t.upgrade("3"), "version '3': expected an integer"),
    "no key": (lambda t: t.upsert([{"id": 1}], on=[]), "list of one or more columns"),
    "key as text": (lambda t: t.upsert([{"id": 1}], on="id"), "list of one or more columns, got 'id'"),
    "no filter to delete by": (lambda t: t.delete(None), "Cannot delete from db.t: expected a filter, got None"),
    "no filter to update by": (lambda t: t.update(None, {"s": "y"}), "Cannot update db.t: expected a filter, got None"),
    "no main": (lambda t: t.drop_ref("main"), "Cannot drop branch 'main' of db.t"),
    "a name for two columns": (lambda t: add(t, "a.b", "a"), r"every full name once, got 'a\.b'"),
}


def add(table: Table, dotted: str, name: str) -> None:
    with table.update_schema() as schema:
        schema.add_column((dotted,), "long")
        schema.add_column(name, "struct<b: long>")


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_cannot_be_meant_is_refused(table: Table, name: str) -> None:
    call, message = CALLS[name]
    before = table.metadata_location
    with pytest.raises(InvalidInput, match=message):
        call(table)
    assert table.refresh().metadata_location == before
    assert table.scan().count() == 5


CREATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "version 0": ({"format_version": 0}, "format version 0: expected 1 or more"),
    "version of text": ({"properties": {"format-version": "x"}}, "format-version: expected 1 to 3, got 'x'"),
    "partition as text": ({"partition_by": "id"}, "partition_by as a list, got 'id'"),
    "order as text": ({"sort_by": "id"}, "sort_by as a list, got 'id'"),
    "a name for two columns": ({"schema": [("a.b", "long"), ("a", "struct<b: long>")]}, "every full name once"),
}


@pytest.mark.parametrize("name", CREATIONS)
def test_a_table_that_cannot_be_meant_is_not_made(lake: Lake, name: str) -> None:
    given, message = CREATIONS[name]
    with pytest.raises(InvalidInput, match=message):
        lake.create_table("db.t", **{"schema": [("id", "long")], **given})
    assert not lake.table_exists("db.t")


def test_a_mistake_in_a_schema_makes_no_namespace(lake: Lake) -> None:
    with pytest.raises(InvalidInput):
        lake.create_table("db.t", [("id", "lng")])
    assert lake.list_namespaces() == []


def test_rows_that_name_no_column_are_rows_of_nulls(table: Table) -> None:
    table.append([{}, {}])
    assert table.scan("id IS NULL AND s IS NULL").count() == 2
