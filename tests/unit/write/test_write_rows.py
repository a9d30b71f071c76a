"""Rows to data files: what is written is what was given, and the entries say so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skipstone.metadata.new_table import new_table_metadata
from skipstone.metadata.partition_evolution import build_spec
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DOUBLE, INT, LONG, STRING, Field, StructType
from skipstone.storage import MemoryStorage
from skipstone.write import write_rows

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG, required=True),
        Field(id=2, name="s", type=STRING),
        Field(id=3, name="d", type=DOUBLE),
        Field(id=4, name="st", type=StructType((Field(id=5, name="x", type=INT),))),
    )
)
ROWS = [
    {"id": 1, "s": "a", "d": 1.0, "st": {"x": 1}},
    {"id": 2, "s": "b", "d": float("nan"), "st": None},
    {"id": 3, "s": None, "d": None, "st": {"x": None}},
    {"id": 4, "s": "a", "d": -0.0, "st": {"x": 4}},
]


def table_metadata(partition_by: tuple[str, ...] = (), **properties: str) -> Any:
    return new_table_metadata(
        SCHEMA,
        location="memory://lake/t",
        now_ms=1,
        spec=build_spec(SCHEMA, list(partition_by)),
        properties=properties,
        format_version=2,
    )


def read(storage: MemoryStorage, path: str) -> pa.Table:
    with storage.open(path) as file:
        return pq.read_table(file)


def test_an_unpartitioned_write_is_one_file_with_exact_metrics() -> None:
    storage = MemoryStorage()
    files = write_rows(pa.Table.from_pylist(ROWS), metadata=table_metadata(), storage=storage)
    (file,) = files.to_pylist()
    assert read(storage, file["file_path"]).column("id").to_pylist() == [1, 2, 3, 4]
    assert file["record_count"] == 4
    assert file["file_size_in_bytes"] == storage.size(file["file_path"])
    assert file["spec_id"] == 0
    assert dict(file["value_counts"]) == {1: 4, 2: 4, 3: 4, 5: 4}
    assert dict(file["null_value_counts"]) == {1: 0, 2: 1, 3: 1, 5: 2}
    assert dict(file["nan_value_counts"]) == {3: 1}
    assert dict(file["lower_bounds"])[2] == b"a"
    assert dict(file["upper_bounds"])[5] == (4).to_bytes(4, "little")
    assert file["split_offsets"] == [4]


def test_rows_go_to_one_file_a_partition_in_the_order_of_their_first_rows() -> None:
    storage = MemoryStorage()
    files = write_rows(pa.Table.from_pylist(ROWS), metadata=table_metadata(("s",)), storage=storage).to_pylist()
    assert [f["partition"] for f in files] == [{"s": "a"}, {"s": "b"}, {"s": None}]
    assert [read(storage, f["file_path"]).column("id").to_pylist() for f in files] == [[1, 4], [2], [3]]
    assert [f["file_path"].split("/")[-2] for f in files] == ["s=a", "s=b", "s=null"]
