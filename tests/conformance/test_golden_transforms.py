"""Partition values of Iceberg Java, computed again from the rows: one value at a time, and as Arrow arrays."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.golden import GoldenTable, golden_tables

from skipstone.metadata.formats.arrow_types import arrow_to_value, values_to_array
from skipstone.metadata.partitions.partitioning import PartitionField
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.metadata.types import Type
from skipstone.metadata.values import value_from_json

TABLES = [
    t
    for t in golden_tables()
    if t.name.startswith("v2_tr_") or t.name in ("v1_basic", "v2_spec_evolution", "stats_v2", "v2_gzip_hadoop")
]


def _metadata(table: GoldenTable) -> TableMetadata:
    return parse_table_metadata(table.metadata_file.read_bytes(), source=table.name)


def _value(type_: Type, json: Any) -> Any:
    return None if json is None else value_from_json(type_, json)


def _rows_by_spec(table: GoldenTable) -> dict[int, list[dict[str, Any]]]:
    """The rows of the current snapshot by the spec of their file."""
    by_spec: dict[int, list[dict[str, Any]]] = {}
    for row in table.current_rows() or ():
        by_spec.setdefault(row["_spec_id"], []).append(row)
    return by_spec


def _cases(table: GoldenTable) -> list[tuple[PartitionField, Type, list[Any], list[Any]]]:
    """For every partition field: the source values of all rows, and the partition values Java gave them."""
    metadata = _metadata(table)
    cases = []
    for spec_id, rows in _rows_by_spec(table).items():
        for field in metadata.spec(spec_id).fields:
            source = metadata.current_schema.find(field.source_id)
            # In `_partition` a field has the name of the newest spec; it must be there to be compared.
            if source is None or field.name not in rows[0]["_partition"] or source.name not in rows[0]:
                continue
            result = field.transform.result_type(source.type)
            cases.append(
                (
                    field,
                    source.type,
                    [_value(source.type, row[source.name]) for row in rows],
                    [_value(result, row["_partition"][field.name]) for row in rows],
                )
            )
    return cases


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_values_transformed_one_by_one_are_the_partition_values(table: GoldenTable) -> None:
    cases = _cases(table)
    assert cases
    for field, type_, sources, expected in cases:
        assert [field.transform.apply(type_, v) for v in sources] == expected, field.name


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_arrays_transformed_at_once_are_the_partition_values(table: GoldenTable) -> None:
    for field, type_, sources, expected in _cases(table):
        result = field.transform.result_type(type_)
        array = apply_arrow(field.transform, type_, values_to_array(type_, sources))
        assert [arrow_to_value(result, v) for v in array] == expected, field.name


def test_every_kind_of_transform_is_among_the_tables() -> None:
    seen = {str(field.transform).partition("[")[0] for table in TABLES for field, *_ in _cases(table)}
    assert seen >= {"identity", "bucket", "truncate", "year", "month", "day", "hour"}
