"""Every row that Iceberg Java reads from the golden tables comes out of `to_spark`, and no other.

Metadata and lineage columns are among them. Columns of types that Spark does not have are left out.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.test_golden_rows import ENCRYPTED, is_same
from tests.support.golden import GoldenTable, golden_tables
from tests.support.golden_scans import golden_metadata, golden_storage, meant, metadata_columns
from tests.support.spark import interpreted
from tests.support.spark_rows import exact_scan, spark_has, values_of

from skipstone.errors import Unsupported
from skipstone.metadata.reserved import FILE, POS, ROW_ID
from skipstone.metadata.types import StructType
from skipstone.spark import read_scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = [t for t in golden_tables() if t.name != ENCRYPTED]
# A Spark job costs most of a second: of most tables the current rows alone are read, unless this is set.
EVERY_SNAPSHOT = "SKIPSTONE_EVERY_SNAPSHOT" in os.environ
TOLD_WHOLE = ("v1_upgraded", "v2_schema_evolution", "v3_upgraded_pos_deletes")


def row_sets(table: GoldenTable) -> list[dict[str, Any]]:
    every = table.row_sets()
    if EVERY_SNAPSHOT or table.name in TOLD_WHOLE:
        return every
    return [r for r in every if r["label"] == "current"] or every[-1:]


@pytest.fixture(scope="module")
def spark(iceberg_java: SparkSession) -> SparkSession:
    return interpreted(iceberg_java)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_rows_are_those_that_java_reads(table: GoldenTable, spark: SparkSession) -> None:
    metadata = golden_metadata(table.name)
    seen = set()
    for row_set in row_sets(table):
        snapshot, schema = meant(metadata, row_set)
        meaning = (row_set["file"], None if snapshot is None else snapshot.snapshot_id, schema.schema_id)
        if meaning in seen:
            continue
        seen.add(meaning)
        expected = table.rows(row_set)
        listed = [f for f in metadata_columns(metadata) if expected and f.name in expected[0]]
        compared = [f for f in (*schema.fields, *listed) if spark_has(f.type)]
        wanted = StructType((*compared, *(f for f in (FILE, POS) if f not in listed)))
        scan = exact_scan(metadata, golden_storage(), snapshot, schema, wanted)
        names = [f.name for f in wanted.fields]
        rows = [dict(zip(names, row, strict=True)) for row in values_of(read_scan(scan, spark), wanted)]
        found = {(row["_file"].rpartition("/")[2], row["_pos"]): row for row in rows}
        assert len(found) == len(rows) == len(expected), row_set["label"]
        for row in expected:
            ours = found[row["_file"], row["_pos"]]
            for f in compared:
                same = f == FILE or is_same(table, f, ours[f.name], row[f.name])
                assert same, (row_set["label"], row, f, ours[f.name])


def test_vectors_over_many_containers_leave_the_rows_that_java_counts(iceberg_java: SparkSession) -> None:
    table = GoldenTable("v3_dv_large")
    metadata = golden_metadata(table.name)
    expected = json.loads((table.expected / "aggregates.json").read_text("utf-8"))
    wanted = StructType((metadata.current_schema.field("id"), POS, ROW_ID))
    scan = exact_scan(metadata, golden_storage(), metadata.current_snapshot, metadata.current_schema, wanted)
    found = read_scan(scan, iceberg_java).selectExpr(
        "count(*) AS count", "sum(id) AS sum_id", "sum(_pos) AS sum_pos", "sum(_row_id) AS sum_row_id",
        "min(id) AS min_id", "max(id) AS max_id",
    )  # fmt: skip
    assert found.collect()[0].asDict() == expected


def test_an_encrypted_table_is_refused_by_name(iceberg_java: SparkSession) -> None:
    metadata = golden_metadata(ENCRYPTED)
    wanted = StructType(metadata.current_schema.fields)
    scan = exact_scan(metadata, golden_storage(), metadata.current_snapshot, metadata.current_schema, wanted)
    with pytest.raises(Unsupported, match="encrypted"):
        read_scan(scan, iceberg_java)
