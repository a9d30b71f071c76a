"""Partition directories that Iceberg Java made, made again from the partition tuples."""

from __future__ import annotations

import pytest
from tests.support.golden import GoldenTable, golden_tables

from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.metadata.values import value_from_json

TABLES = [
    t
    for t in golden_tables()
    if t.name.startswith("v2_tr_") or t.name in ("v1_basic", "v2_odd_names", "v2_spec_evolution", "v3_tsns_part")
]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_paths_of_partition_tuples_are_javas_directories(table: GoldenTable) -> None:
    metadata = parse_table_metadata(table.metadata_file.read_bytes(), source=table.name)
    schema = metadata.current_schema
    checked = 0
    for entry in table.entries():
        spec = metadata.spec(entry["spec_id"])
        directory = entry["file_path"].partition("/data/")[2].rpartition("/")[0]
        types = [f.type for f in spec.partition_type(schema, schemas=metadata.schemas).fields]
        tuple_json = entry["partition"]
        json = [tuple_json[f.name] for f in spec.fields]
        values = [None if v is None else value_from_json(t, v) for t, v in zip(types, json)]
        assert spec.partition_path(schema, values) == directory
        checked += 1
    assert checked
