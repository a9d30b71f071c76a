"""Every row that Iceberg Java reads from the golden tables, of every snapshot and ref, and no other.

Metadata columns are among them: file, position, spec, partition, row id and last-updated sequence number.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow
import pyarrow.compute
import pytest
from tests.conformance.test_golden_projection import same
from tests.support.golden import GoldenTable, golden_tables
from tests.support.golden_scans import golden_metadata, golden_storage, meant, metadata_columns, scanned

from skipstone.errors import Unsupported
from skipstone.metadata.reserved import FILE, POS, ROW_ID
from skipstone.metadata.types import Field, StructType, VariantType
from skipstone.metadata.values.variant import parse_variant
from skipstone.metadata.values.variant_python import variant_to_json
from skipstone.plan import plan_scan
from skipstone.read import read_plan

pa: Any = pyarrow
pc: Any = pyarrow.compute

ENCRYPTED = "v3_encrypted"
# Java wrote the same variants in other bytes than it was given: only what they say can be compared.
SHREDDED = "v3_variant_shredded"

ROW_SETS = [
    pytest.param(table, row_set, id=f"{table}-{row_set['label']}")
    for table in golden_tables()
    if table.name != ENCRYPTED
    for row_set in table.row_sets()
]


@pytest.mark.parametrize(("table", "row_set"), ROW_SETS)
def test_rows_are_those_that_java_reads(table: GoldenTable, row_set: dict[str, Any]) -> None:
    metadata = golden_metadata(table.name)
    snapshot, schema = meant(metadata, row_set)
    expected = table.rows(row_set)
    assert len(expected) == row_set["rows"]
    listed = [f for f in metadata_columns(metadata) if expected and f.name in expected[0]]
    compared = (*schema.fields, *listed)
    keys = [f for f in (FILE, POS) if f not in listed]
    found = scanned(metadata, snapshot, schema, StructType((*compared, *keys)))
    assert len(found) == len(expected)
    for row in expected:
        assert set(row) == {f.name for f in compared}
        ours = found[row["_file"], row["_pos"]]
        for f in compared:
            assert f == FILE or is_same(table, f, ours[f.name], row[f.name]), (row, f, ours[f.name])


def is_same(table: GoldenTable, f: Field, ours: Any, java: Any) -> bool:
    if table.name == SHREDDED and isinstance(f.type, VariantType) and ours is not None and java is not None:
        return variant_to_json(parse_variant(ours["metadata"], ours["value"])) == java["json"]
    return same(f.type, ours, java)


def test_vectors_over_many_containers_leave_the_rows_that_java_counts() -> None:
    table = GoldenTable("v3_dv_large")
    metadata = golden_metadata(table.name)
    expected = json.loads((table.expected / "aggregates.json").read_text("utf-8"))
    plan = plan_scan(metadata, golden_storage(), snapshot=metadata.current_snapshot, schema=metadata.current_schema)
    wanted = StructType((metadata.current_schema.field("id"), POS, ROW_ID))
    rows = pa.Table.from_batches(list(read_plan(plan, golden_storage(), wanted=wanted)))
    sums = {f"sum_{n.lstrip('_')}": pc.sum(rows.column(n)).as_py() for n in rows.column_names}
    limits = pc.min_max(rows.column("id")).as_py()
    found = {"count": rows.num_rows, **sums, "min_id": limits["min"], "max_id": limits["max"]}
    assert found == expected
    assert plan.count() == expected["count"]


def test_an_encrypted_table_is_refused_by_name() -> None:
    metadata = golden_metadata(ENCRYPTED)
    with pytest.raises(Unsupported, match="encrypted"):
        scanned(metadata, metadata.current_snapshot, metadata.current_schema, StructType((FILE, POS)))
