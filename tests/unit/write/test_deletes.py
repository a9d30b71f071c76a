"""Delete files and deletion vectors: sorted, scoped, merged, and refused where the table's version has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.written import read_values, stored

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.blobs.deletion_vector import load
from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.partitions.partition_evolution import build_spec
from skipstone.metadata.partitions.partitioning import UNPARTITIONED
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import DOUBLE, LONG, STRING, Field, StructType
from skipstone.storage import MemoryStorage
from skipstone.write import write_deletion_vectors, write_equality_deletes, write_position_deletes, write_rows

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG),
        Field(id=2, name="p", type=STRING),
        Field(id=3, name="d", type=DOUBLE),
    )
)
DELETE_STRUCT = StructType((DELETE_FILE_PATH, DELETE_POS))


class Lake:
    """A table with files of two partitions."""

    def __init__(self, format_version: int, **properties: str) -> None:
        self.storage = MemoryStorage()
        self.metadata: TableMetadata = new_table_metadata(
            SCHEMA,
            location="memory://lake/t",
            now_ms=1,
            spec=build_spec(SCHEMA, ["p"]),
            properties={k.replace("__", ".").replace("_", "-"): v for k, v in properties.items()},
            format_version=format_version,
        )
        rows = pa.table({"id": range(6), "p": ["a", "b", "a", "b", "a", "b"]})
        written = [write_rows(rows, metadata=self.metadata, storage=self.storage) for _ in range(2)]
        self.files = pa.concat_tables(written)
        self.paths: list[Any] = self.files.column("file_path").to_pylist()

    def position_deletes(self, positions: Any, **more: Any) -> list[dict[str, Any]]:
        return write_position_deletes(
            positions, data_files=self.files, metadata=self.metadata, storage=self.storage, **more
        ).to_pylist()

    def vectors(self, positions: Any, **more: Any) -> list[dict[str, Any]]:
        return write_deletion_vectors(
            positions, data_files=self.files, metadata=self.metadata, storage=self.storage, **more
        ).to_pylist()


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_position_deletes_of_a_partition_share_a_file_sorted_by_path_and_position(file_format: str) -> None:
    lake = Lake(2)
    a1, b1, a2, _ = lake.paths
    entries = lake.position_deletes({b1: [1], a2: np.array([2, 0]), a1: [1]}, file_format=file_format)
    by_partition = {e["partition"]["p"]: e for e in entries}
    assert by_partition.keys() == {"a", "b"}
    rows = read_values(lake.storage, by_partition["a"]["file_path"], DELETE_STRUCT)
    found = [(r[DELETE_FILE_PATH.id], r[DELETE_POS.id]) for r in rows]
    assert found == sorted([(a1, 1), (a2, 0), (a2, 2)])
    assert by_partition["a"]["referenced_data_file"] is None
    assert by_partition["b"]["referenced_data_file"] == b1
    for entry in entries:
        assert entry["content"] == FileContent.POSITION_DELETES
        assert entry["sort_order_id"] is None
        assert entry["file_path"].endswith(f"-deletes.{file_format}")
        assert f"/p={entry['partition']['p']}/" in entry["file_path"]
    bounds = by_partition["a"]
    assert dict(bounds["lower_bounds"])[DELETE_FILE_PATH.id] == min(a1, a2).encode()
    assert dict(bounds["upper_bounds"])[DELETE_FILE_PATH.id] == max(a1, a2).encode()


def test_position_deletes_by_file_refer_to_one_data_file_each() -> None:
    lake = Lake(2, write__delete__granularity="file")
    entries = lake.position_deletes({path: [0] for path in lake.paths})
    assert sorted(e["referenced_data_file"] for e in entries) == sorted(lake.paths)


@pytest.mark.parametrize(("version", "message"), [(1, "needs v2"), (3, "deletion vectors")])
def test_position_deletes_belong_to_v2_only(version: int, message: str) -> None:
    lake = Lake(version)
    with pytest.raises(InvalidInput, match=message):
        lake.position_deletes({lake.paths[0]: [0]})


def test_a_position_beyond_the_end_of_its_file_is_refused() -> None:
    lake = Lake(2)
    with pytest.raises(InvalidInput, match=r"row 3 .*0 to 2"):
        lake.position_deletes({lake.paths[0]: [3]})


def test_deletes_of_an_unknown_data_file_are_refused() -> None:
    lake = Lake(2)
    with pytest.raises(NotFound, match="memory://nowhere"):
        lake.position_deletes({"memory://nowhere": [0]})


def test_vectors_of_all_partitions_share_one_puffin_file_and_hold_what_was_deleted_before() -> None:
    lake = Lake(3)
    a1, b1, _, b2 = lake.paths
    entries = lake.vectors({a1: [2], b1: [0, 1]}, previous={a1: [0], b2: [2]})
    assert len({e["file_path"] for e in entries}) == 1
    found = {}
    for e in entries:
        found[e["referenced_data_file"]] = list(
            load(
                lambda offset, length, path=e["file_path"]: lake.storage.read_range(path, offset, length),
                content_offset=e["content_offset"],
                content_size_in_bytes=e["content_size_in_bytes"],
                cardinality=e["record_count"],
                source=e["file_path"],
            )
        )
        assert e["file_format"] == "PUFFIN"
        assert e["file_size_in_bytes"] == lake.storage.size(e["file_path"])
    assert found == {a1: [0, 2], b1: [0, 1]}
    assert {e["referenced_data_file"]: e["partition"]["p"] for e in entries} == {a1: "a", b1: "b"}


def test_no_positions_write_no_puffin_file() -> None:
    lake = Lake(3)
    before = len(list(lake.storage.list("memory://lake")))
    assert lake.vectors({lake.paths[0]: []}) == []
    assert len(list(lake.storage.list("memory://lake"))) == before


def test_vectors_need_v3() -> None:
    lake = Lake(2)
    with pytest.raises(InvalidInput, match="need v3"):
        lake.vectors({lake.paths[0]: [0]})


def test_equality_deletes_are_routed_to_the_partitions_they_delete_in() -> None:
    lake = Lake(2)
    rows = pa.table({"p": ["a", "b", "a"], "id": [1, 2, None]})
    entries = write_equality_deletes(rows, metadata=lake.metadata, storage=lake.storage, equality_ids=[1]).to_pylist()
    assert [(e["partition"]["p"], e["record_count"], e["equality_ids"]) for e in entries] == [
        ("a", 2, [1]),
        ("b", 1, [1]),
    ]
    struct, table = stored(lake.storage, entries[0]["file_path"])
    assert [f.id for f in struct.fields] == [1, 2]
    assert table.column("id").to_pylist() == [1, None]
    assert entries[0]["content"] == FileContent.EQUALITY_DELETES
    assert dict(entries[0]["null_value_counts"]) == {1: 1, 2: 0}


def test_equality_deletes_under_an_unpartitioned_spec_delete_everywhere() -> None:
    lake = Lake(2)
    everywhere = UNPARTITIONED.with_id(1)
    metadata = replace(lake.metadata, partition_specs=(*lake.metadata.partition_specs, everywhere))
    entries = write_equality_deletes(
        pa.table({"id": [1]}), metadata=metadata, storage=lake.storage, equality_ids=[1], spec=everywhere
    ).to_pylist()
    assert [(e["spec_id"], e["partition"]) for e in entries] == [(1, {})]


@pytest.mark.parametrize(("ids", "message"), [([3], "float"), ([], "at least one")])
def test_columns_that_cannot_be_compared_are_no_delete_columns(ids: list[int], message: str) -> None:
    lake = Lake(2)
    with pytest.raises(InvalidInput, match=message):
        write_equality_deletes(
            pa.table({"d": [1.0], "p": ["a"]}), metadata=lake.metadata, storage=lake.storage, equality_ids=ids
        )


def test_equality_deletes_need_v2() -> None:
    lake = Lake(1)
    with pytest.raises(InvalidInput, match="need v2"):
        write_equality_deletes(pa.table({"id": [1]}), metadata=lake.metadata, storage=lake.storage, equality_ids=[1])
