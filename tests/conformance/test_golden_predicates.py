"""Every filter that Iceberg Java planned is read, bound and written back with the same meaning."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.golden import GoldenTable, golden_tables
from tests.support.table_reader import open_golden

from skipstone.errors import Unsupported
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.predicate import bind, parse_expression, parse_sql, serialize_expression
from skipstone.predicate.nodes import field_ids


def _schema(metadata: TableMetadata, ref: str | None) -> Schema:
    """A tag or snapshot is read with the snapshot's schema, a branch with the table's current one."""
    if ref is None or ref not in metadata.refs or metadata.ref(ref).type == "branch":
        return metadata.current_schema
    snapshot = metadata.ref_snapshot(ref)
    return metadata.current_schema if snapshot is None else metadata.snapshot_schema(snapshot)


def _plans(table: GoldenTable) -> list[dict[str, Any]]:
    return [plan for plan in table.plans()["plans"] if "expr" in plan]


TABLES = [table for table in golden_tables() if (table.expected / "plans.json").exists() and _plans(table)]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_expression_of_every_golden_plan_binds_and_survives_a_round_trip(table: GoldenTable) -> None:
    metadata = open_golden(table).metadata
    for plan in _plans(table):
        schema = _schema(metadata, plan["ref"])
        bound = bind(parse_expression(plan["expr"]), schema, case_sensitive=False)
        assert bind(parse_expression(serialize_expression(bound)), schema) == bound, plan["sql"]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_sql_of_every_golden_plan_binds_where_it_is_a_plain_filter(table: GoldenTable) -> None:
    """What Spark was asked, and what it pushed to Iceberg, agree on the columns they read."""
    metadata = open_golden(table).metadata
    for plan in _plans(table):
        if plan["sql"] is None:
            continue
        schema = _schema(metadata, plan["ref"])
        pushed = bind(parse_expression(plan["expr"]), schema, case_sensitive=False)
        try:
            asked = bind(parse_sql(plan["sql"]), schema, case_sensitive=False)
        except Unsupported:
            continue
        assert field_ids(pushed) <= field_ids(asked), plan["sql"]
