"""Metadata columns of rows, and what a name mapping that changed does to proofs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

import skipstone
from skipstone.metadata.schemas.name_mapping import (
    NAME_MAPPING_PROPERTY,
    MappedField,
    NameMapping,
    create_name_mapping,
    serialize_name_mapping,
)
from skipstone.metadata.tables.metadata_changes import set_properties
from skipstone.plan.remapped import remapped_ids

pa: Any = pyarrow


@pytest.fixture
def table(tmp_path: Path) -> Any:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    lake.create_namespace("t")
    form = pa.schema([("id", pa.int64()), ("name", pa.string())])
    made = lake.create_table("t.t", form, format_version=3, properties={"write.delete.mode": "merge-on-read"})
    made.append(pa.table({"id": [1, 2, 3, 4], "name": ["a", "b", "c", "d"]}))
    made.delete("id = 2")
    return made


def test_deleted_rows_come_only_to_those_who_ask_for_the_column(table: Any) -> None:
    assert table.scan(columns=["id", "_pos"]).to_arrow().to_pydict() == {"id": [1, 3, 4], "_pos": [0, 2, 3]}
    found = table.scan(columns=["id", "_deleted"]).to_arrow().to_pydict()
    assert found == {"id": [1, 2, 3, 4], "_deleted": [False, True, False, False]}
    some = table.scan("id <= 2", columns=["id", "_deleted"]).to_arrow().to_pydict()
    assert some == {"id": [1, 2], "_deleted": [False, True]}


def test_rows_know_their_file_spec_and_lineage(table: Any) -> None:
    columns = ["_file", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"]
    found = table.scan("id = 3", columns=columns).to_arrow().to_pylist()[0]
    assert found["_file"].endswith(".parquet")
    assert (found["_spec_id"], found["_partition"]) == (0, None)
    assert (found["_row_id"], found["_last_updated_sequence_number"]) == (2, 1)


def test_field_whose_old_name_the_mapping_gives_to_another_is_remapped(table: Any) -> None:
    metadata = table.metadata
    assert remapped_ids(metadata) == set()
    same = serialize_name_mapping(create_name_mapping(metadata.current_schema))
    assert remapped_ids(set_properties(metadata, {NAME_MAPPING_PROPERTY: same})) == set()
    moved = NameMapping(fields=(MappedField(names=("id",), field_id=1), MappedField(names=("name",), field_id=9)))
    assert remapped_ids(set_properties(metadata, {NAME_MAPPING_PROPERTY: serialize_name_mapping(moved)})) == {2}
