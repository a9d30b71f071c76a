"""Look-ups in table metadata, and metadata of new tables."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from tests.support.metadata_builder import ORDER, SCHEMA, SPEC, START_MS, WIDER_SCHEMA, empty_table, table

from skipstone.errors import InvalidInput, NotFound, Unsupported
from skipstone.metadata.partitions.partitioning import UNPARTITIONED, PartitionField, PartitionSpec
from skipstone.metadata.partitions.sorting import UNSORTED
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata, serialize_table_metadata
from skipstone.metadata.types import INT, STRING, TIMESTAMP_NS, Field, ListType, StructType


def test_current_things_are_found_by_id() -> None:
    metadata = table()
    assert metadata.current_schema == WIDER_SCHEMA
    assert metadata.default_spec == SPEC
    assert metadata.default_sort_order == ORDER
    assert metadata.current_snapshot is metadata.snapshots[2]
    assert metadata.ref_snapshot("audit") is metadata.snapshots[1]
    assert metadata.ref_snapshot() is metadata.snapshots[2]


def test_a_table_without_snapshots_has_no_current_one() -> None:
    assert empty_table().current_snapshot is None
    assert empty_table().ref_snapshot("main") is None


def test_what_is_not_there_is_not_found_with_what_is() -> None:
    with pytest.raises(NotFound, match=r"Cannot find ref 'audt' .* Refs: main, audit, first\. Did you mean 'audit'\?"):
        table().ref("audt")
    with pytest.raises(NotFound, match=r"Cannot find schema 7 .* Schemas: 0, 1"):
        table().schema(7)
    with pytest.raises(NotFound, match="Cannot find ref 'x'"):
        empty_table().ref_snapshot("x")


def test_a_snapshot_is_read_with_its_own_schema() -> None:
    metadata = table()
    assert metadata.snapshot_schema(replace(metadata.snapshots[0], schema_id=0)) == SCHEMA
    assert metadata.snapshot_schema(replace(metadata.snapshots[0], schema_id=None)) == WIDER_SCHEMA


def test_the_next_sequence_number_follows_the_last_except_in_v1() -> None:
    assert [table(v).next_sequence_number for v in (1, 2, 3)] == [0, 4, 4]


def test_metadata_pickles() -> None:
    metadata = table(3)
    assert metadata.current_schema.find("id")
    assert pickle.loads(pickle.dumps(metadata)) == metadata


NESTED = Schema(
    fields=(
        Field(id=30, name="pts", type=ListType(element_id=31, element=StructType((Field(id=32, name="x", type=INT),)))),
        Field(
            id=10, name="s", type=StructType((Field(id=11, name="state", type=STRING, required=True),)), required=True
        ),
    ),
    schema_id=9,
    identifier_field_ids=(11,),
)


def _new(schema: Schema = NESTED, **options: object) -> TableMetadata:
    return new_table_metadata(schema, location="s3://lake/t/", now_ms=START_MS, **options)  # type: ignore[arg-type]


def test_a_new_table_numbers_its_columns_top_level_first() -> None:
    metadata = _new()
    paths = {".".join(path): i for i, path in metadata.current_schema.paths_by_id.items()}
    assert paths == {"pts": 1, "s": 2, "pts.element": 3, "pts.element.x": 4, "s.state": 5}
    assert metadata.current_schema.identifier_field_ids == (5,)
    assert (metadata.current_schema_id, metadata.last_column_id) == (0, 5)
    assert metadata.location == "s3://lake/t"


def test_spec_and_order_of_a_new_table_follow_their_columns() -> None:
    field = PartitionField(source_ids=(11,), field_id=1007, name="st", transform=parse_transform("truncate[2]"))
    order = replace(ORDER, order_id=4, fields=(replace(ORDER.fields[0], source_ids=(11,), transform=field.transform),))
    metadata = _new(spec=PartitionSpec(spec_id=3, fields=(field,)), sort_order=order)
    assert metadata.default_spec == PartitionSpec(spec_id=0, fields=(replace(field, source_ids=(5,), field_id=1000),))
    assert metadata.last_partition_id == 1000
    assert metadata.default_sort_order.order_id == 1
    assert metadata.default_sort_order.fields[0].source_ids == (5,)


def test_a_new_table_without_spec_and_order_is_unpartitioned_and_unsorted() -> None:
    metadata = _new()
    assert (metadata.partition_specs, metadata.last_partition_id) == ((UNPARTITIONED,), 999)
    assert (metadata.sort_orders, metadata.default_sort_order_id) == ((UNSORTED,), 0)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_new_table_can_be_written_in_every_version(version: int) -> None:
    metadata = _new(format_version=version, properties={"owner": "me"})
    assert parse_table_metadata(serialize_table_metadata(metadata), source="new") == metadata
    assert metadata.properties == {"owner": "me"}


def test_a_new_table_is_refused_what_its_version_lacks() -> None:
    nanos = Schema(fields=(Field(id=1, name="t", type=TIMESTAMP_NS),))
    with pytest.raises(InvalidInput, match="needs v3"):
        _new(nanos, format_version=2)
    assert _new(nanos, format_version=3).format_version == 3
    with pytest.raises(Unsupported, match="expected at most 3"):
        _new(format_version=4)
    with pytest.raises(InvalidInput, match="expected 1 or more"):
        _new(format_version=0)


def test_a_new_table_is_not_partitioned_by_what_it_cannot_compute() -> None:
    unknown = PartitionField(source_ids=(11,), field_id=1000, name="z", transform=parse_transform("zorder"))
    with pytest.raises(Unsupported, match="unknown transform"):
        _new(spec=PartitionSpec(fields=(unknown,)))
    missing = replace(unknown, source_ids=(99,), transform=parse_transform("identity"))
    with pytest.raises(InvalidInput, match="Cannot find source column 99"):
        _new(spec=PartitionSpec(fields=(missing,)))


def test_a_new_table_needs_a_location() -> None:
    with pytest.raises(InvalidInput, match="expected a location"):
        new_table_metadata(NESTED, location="", now_ms=START_MS)
