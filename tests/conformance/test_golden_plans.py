"""Plans of golden tables: we keep no file that Java skips, and lose no file that holds a match.

Java prunes by its own order of floats and UUIDs and so loses rows in places. Those filters are listed by name; there
the rows themselves are the only truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.support.golden import RECORDED_ROOT, GoldenTable, golden_root, golden_tables
from tests.support.golden_values import base_name

from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.plan import ScanPlan, plan_scan
from skipstone.predicate import FloatOrder, Predicate, as_predicate, bind
from skipstone.storage import LocalStorage, MovedStorage

# Filters for which we keep files that Java skips, because Java's pruning there drops rows that match.
JAVA_LOSES_ROWS = {
    "NaN is above every number in Spark, but bounds leave it out": {
        ("v1_types_orc", "d gt-eq 1.0"), ("v1_types_parquet", "d gt-eq 1.0"), ("v2_types_orc", "d gt-eq 1.0"),
        ("v2_types_parquet", "d gt-eq 1.0"), ("v2_orc", "d > 100"), ("v3_orc", "d > 100"),
        ("v2_schema_evolution", "f > 5"), ("v2_metrics_orc", "trunc8_d > 4"),
        ("v2_metrics_orc", "full_d > 4"), ("v2_metrics_parquet", "trunc8_d > 4"), ("v2_metrics_parquet", "full_d > 4"),
    },
    "-0.0 equals 0.0 in SQL, but not in Java's bounds": {
        ("v3_defaults_spark", "c_double = 0.0"), ("stats_v2", "d = 0"), ("stats_v3", "d = 0"),
    },
    "UUIDs order by unsigned bytes; Java compares signed halves": {
        ("v1_types_parquet", "u eq 00000000-0000-4000-8000-000000000000"),
        ("v2_types_parquet", "u eq 00000000-0000-4000-8000-000000000000"),
    },
    "metrics of an imported file are of the column that had the name then, not of the one its name is mapped to now": {
        ("v2_migrated", "label = 'n5'"), ("v2_migrated", "label LIKE 'n4%'"),
    },
}  # fmt: skip
EXCEPTIONS = set().union(*JAVA_LOSES_ROWS.values())


def opened(table: GoldenTable) -> tuple[TableMetadata, MovedStorage]:
    metadata = parse_table_metadata(table.metadata_file.read_bytes(), source=table.name)
    return metadata, MovedStorage(LocalStorage(), {RECORDED_ROOT: f"{golden_root()}/"})


def name_of(plan: Mapping[str, Any]) -> str:
    if plan.get("sql"):
        return str(plan["sql"])
    expr = plan["expr"]
    return " ".join(str(expr[k]) for k in ("term", "type", "value") if k in expr)


def snapshot_and_schema(plan: Mapping[str, Any], metadata: TableMetadata) -> tuple[Snapshot | None, Schema]:
    ref, snapshot_id = plan.get("ref"), plan.get("snapshot_id")
    if ref is not None and ref not in metadata.refs and str(ref).isdigit():
        ref, snapshot_id = None, int(ref)
    if ref is not None:
        snapshot = metadata.ref_snapshot(ref)
        assert snapshot is not None
        is_branch = metadata.ref(ref).is_branch
        return snapshot, metadata.current_schema if is_branch else metadata.snapshot_schema(snapshot)
    if snapshot_id is not None:
        snapshot = metadata.snapshot(snapshot_id)
        return snapshot, metadata.snapshot_schema(snapshot)
    return metadata.current_snapshot, metadata.current_schema


def cases() -> Iterator[Any]:
    for table in golden_tables():
        if table.name != "v3_encrypted" and table.plans():
            yield pytest.param(table, id=table.name)


@pytest.mark.parametrize("table", list(cases()))
def test_files_and_deletes_are_those_java_plans(table: GoldenTable) -> None:
    metadata, storage = opened(table)
    for expected in table.plans()["plans"]:
        if "files" not in expected:
            continue  # Spark could not push the filter down, so Java planned nothing
        snapshot, schema = snapshot_and_schema(expected, metadata)
        predicate = bind(as_predicate(expected["expr"]), schema)
        java = {f["file"]: sorted(f["deletes"]) for f in expected["files"]}
        plan = planned(metadata, storage, snapshot, schema, predicate)
        if (table.name, name_of(expected)) in EXCEPTIONS:
            assert set(java) < set(ours(plan)), f"{name_of(expected)} is no exception any more"
            continue
        candidates = [plan]
        if expected.get("ref") is None and expected.get("snapshot_id") is None:
            # Some filters were planned before later commits of the same table.
            candidates += [
                planned(metadata, storage, s, metadata.current_schema, predicate)
                for s in metadata.snapshots
                if s is not snapshot and differs(ours(plan), java)
            ]
        assert any(not differs(ours(p), java) for p in candidates), (name_of(expected), ours(plan), java)


def differs(ours: Mapping[str, list[str]], java: Mapping[str, list[str]]) -> bool:
    """Files beyond Java's, or for a file that both keep a delete missing, or one too many.

    Equality deletes that cannot remove anything may stay attached: they cost time, never rows.
    """
    return not set(ours) <= set(java) or any(
        not set(java[file]) <= set(deletes) or any(not d.startswith("eqdel") for d in set(deletes) - set(java[file]))
        for file, deletes in ours.items()
    )


def planned(
    metadata: TableMetadata, storage: Any, snapshot: Snapshot | None, schema: Schema, predicate: Predicate
) -> ScanPlan:
    return plan_scan(
        metadata, storage, snapshot=snapshot, schema=schema, predicate=predicate, float_order=FloatOrder.SPARK
    )


def ours(plan: ScanPlan) -> dict[str, list[str]]:
    keys = [
        base_name(path) + ("" if offset is None else f"@{offset}")
        for path, offset in zip(
            plan.deletes.column("file_path").to_pylist(), plan.deletes.column("content_offset").to_pylist(), strict=True
        )
    ]
    files = plan.files.column("file_path").to_pylist()
    return {
        base_name(path): sorted(keys[d] for d in deletes)
        for path, deletes in zip(files, plan.files.column("deletes").to_pylist(), strict=True)
    }
