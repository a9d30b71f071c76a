"""Imported files whose columns a changed name mapping gives to other fields: their metrics decide nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import skipstone
from skipstone.commit import RowDelta
from skipstone.metadata.schemas.name_mapping import (
    NAME_MAPPING_PROPERTY,
    MappedField,
    NameMapping,
    serialize_name_mapping,
)
from skipstone.write import write_rows
from skipstone.write.equality_deletes import write_equality_deletes

pa: Any = pyarrow
pq: Any = pyarrow.parquet


def _mapping(**ids: int) -> str:
    fields = tuple(MappedField(names=(name,), field_id=field_id) for name, field_id in ids.items())
    return serialize_name_mapping(NameMapping(fields=fields))


@pytest.fixture
def swapped(tmp_path: Path) -> skipstone.Table:
    """A file with a = 1..3 and b = 100..102, without field ids, added so; afterwards the names are swapped."""
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    properties = {NAME_MAPPING_PROPERTY: _mapping(a=1, b=2)}
    table = lake.create_table("t.t", [("a", "long"), ("b", "long")], properties=properties)
    rows = pa.table({"a": [1, 2, 3], "b": [100, 101, 102]})
    files: Any = write_rows(rows, metadata=table.metadata, storage=table.storage)
    plain = tmp_path / "imported.parquet"
    pq.write_table(rows, plain)
    files = files.set_column(files.schema.get_field_index("file_path"), "file_path", pa.array([str(plain)]))
    size = pa.array([plain.stat().st_size])
    files = files.set_column(files.schema.get_field_index("file_size_in_bytes"), "file_size_in_bytes", size)
    split = files.schema.get_field_index("split_offsets")
    table.add_files(files.set_column(split, "split_offsets", pa.nulls(1, files.schema.field(split).type)))
    table.set_properties({NAME_MAPPING_PROPERTY: _mapping(a=2, b=1)})
    assert table.scan("a >= 100").to_arrow().to_pydict() == {"a": [100, 101, 102], "b": [1, 2, 3]}
    return table


def test_equality_delete_outside_another_columns_bounds_applies(swapped: skipstone.Table) -> None:
    deletes = write_equality_deletes(
        pa.table({"a": pa.array([101], pa.int64())}),
        metadata=swapped.metadata,
        storage=swapped.storage,
        equality_ids=[1],
    )
    swapped._apply(RowDelta(files=deletes))
    assert swapped.scan().to_arrow().to_pydict() == {"a": [100, 102], "b": [1, 3]}
    assert swapped.scan("b = 2").to_arrow().num_rows == 0


@pytest.mark.parametrize(("filter", "left"), [("a < 50", [100, 101, 102]), ("a >= 101", [100]), ("b < 50", [])])
def test_deleting_by_filter_does_not_trust_another_columns_bounds(
    swapped: skipstone.Table, filter: str, left: list[int]
) -> None:
    swapped.delete(filter)
    assert swapped.scan().to_arrow().column("a").to_pylist() == left
