"""Rows deleted by the value of fields inside structs: null parents, several fields of one struct, fields that went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

import skipstone
from skipstone import Table
from skipstone.commit import RowDelta
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.write import write_equality_deletes

pa: Any = pyarrow

COLUMNS = [("id", "long not null"), ("st", "struct<x:int,y:string,in:struct<z:int>>")]
# Of rows 0 and 3 no y is there, because the struct or the field is null.
ROWS = [
    {"id": 0, "st": None},
    {"id": 1, "st": {"x": 1, "y": "a", "in": {"z": 1}}},
    {"id": 2, "st": {"x": 2, "y": "a", "in": {"z": None}}},
    {"id": 3, "st": {"x": 2, "y": None, "in": None}},
    {"id": 4, "st": {"x": None, "y": "b", "in": {"z": 4}}},
]
FORMATS = ["parquet", "orc", "avro"]


def made(tmp_path: Path, file_format: str = "parquet") -> Table:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    table = lake.create_table("db.t", COLUMNS, format_version=3, properties={"write.format.default": file_format})
    table.append(ROWS)
    return table


def delete(table: Table, names: list[str], *keys: Any) -> None:
    """Delete the rows whose struct has the values of one of the keys in the named fields."""
    schema = table.schema.select(names)
    rows = pa.Table.from_pylist([{"st": key} for key in keys], schema=to_arrow_schema(schema))
    ids = [table.schema.field(name).id for name in names]
    files = write_equality_deletes(rows, metadata=table.metadata, storage=table.storage, equality_ids=ids)
    table.apply(RowDelta(files=files))


def ids(table: Table, filter_: Any = None, **options: Any) -> list[int]:
    found: list[int] = sorted(table.scan(filter_, columns=["id"], **options).to_arrow().column("id").to_pylist())
    return found


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("key", [None, {"y": None}], ids=["null-struct", "null-field"])
def test_a_null_key_deletes_rows_without_the_struct_too(tmp_path: Path, file_format: str, key: Any) -> None:
    table = made(tmp_path, file_format)
    delete(table, ["st.y"], key)
    assert ids(table) == [1, 2, 4]
    assert ids(table, "st.y IS NULL") == []
    table.convert_equality_deletes()
    assert ids(table) == [1, 2, 4]


def test_a_null_key_deletes_rows_older_than_the_column(tmp_path: Path) -> None:
    table = made(tmp_path)
    with table.update_schema() as schema:
        schema.add_column("later", "struct<v:int>")
    table.append([{"id": 5, "st": None, "later": {"v": 5}}])
    rows = pa.table({"later": pa.array([{"v": None}], pa.struct([("v", pa.int32())]))})
    column = [table.schema.field("later.v").id]
    table.apply(
        RowDelta(
            files=write_equality_deletes(rows, metadata=table.metadata, storage=table.storage, equality_ids=column)
        )
    )
    assert ids(table) == [5]


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_key_of_several_fields_of_one_struct_deletes_where_all_are_equal(tmp_path: Path, file_format: str) -> None:
    table = made(tmp_path, file_format)
    delete(table, ["st.x", "st.y"], {"x": 1, "y": "a"}, {"x": 2, "y": None})
    assert ids(table) == [0, 2, 4]
    assert ids(table, "st.in.z IS NULL") == [0, 2]
    delete(table, ["st.x", "st.in.z"], {"x": None, "in": {"z": 4}}, {"x": None, "in": None})
    assert ids(table) == [2]
    report = table.convert_equality_deletes()
    assert report.rows == 4
    assert ids(table) == [2]


@pytest.mark.parametrize("file_format", FORMATS)
def test_keys_of_a_field_that_went_and_of_one_that_stays_are_both_read(tmp_path: Path, file_format: str) -> None:
    table = made(tmp_path, file_format)
    delete(table, ["st.x"], {"x": 1})
    delete(table, ["st.x", "st.y"], {"x": 2, "y": None})
    with table.update_schema() as schema:
        schema.delete_column("st.x")
    with table.update_schema() as schema:
        schema.add_column(("st", "x"), "string")
    delete(table, ["st.y"], {"y": "b"})
    assert ids(table) == [0, 2]
    assert ids(table, "st.in.z IS NULL") == [0, 2]
    assert table.scan("id = 2").to_arrow().to_pylist() == [
        {"id": 2, "st": {"y": "a", "in": {"z": None}, "x": None}},
    ]
    table.convert_equality_deletes()
    assert ids(table) == [0, 2]
