"""DESCRIBE: a table's columns, its partitioning and what is known of it."""

from __future__ import annotations

from typing import Any

from skipstone.metadata.types import Field
from skipstone.spark.types import to_spark_type
from skipstone.statements.names import Names
from skipstone.statements.query import plan_query, run_query
from skipstone.statements.results import rows
from skipstone.statements.show import partition_terms
from skipstone.statements.tokens import Tokens
from skipstone.table import Table

_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "(")
_SCHEMA = "col_name string, data_type string, comment string"


def describe(spark: Any, names: Names, tokens: Tokens) -> Any:
    """What comes after DESCRIBE."""
    if tokens.accept_any("NAMESPACE", "DATABASE", "SCHEMA"):
        return _namespace(spark, names, tokens)
    if any(tokens.looks_at("QUERY", word) or tokens.looks_at(word) for word in _QUERIES):
        tokens.accept("QUERY")
        return _query(spark, names, tokens)
    tokens.accept("TABLE")
    detailed = tokens.accept_any("EXTENDED", "FORMATTED") is not None
    table = names.table(tokens.names())
    if not tokens.is_done:
        field = table.schema.field(".".join(tokens.names("a column name")), case_sensitive=False)
        tokens.end()
        return rows(spark, _SCHEMA, [_column(field)])
    found = [_column(f) for f in table.schema.fields]
    if table.spec.fields:
        found += [("# Partitioning", "", "")]
        terms = partition_terms(table.spec, table.schema)
        found += [(f"Part {i}", term.replace("`", ""), "") for i, term in enumerate(terms)]
    return rows(spark, _SCHEMA, [*found, *(_details(table) if detailed else ())])


def _query(spark: Any, names: Names, tokens: Tokens) -> Any:
    """The columns of a query's answer, which is not computed."""
    answer = run_query(spark, plan_query(spark, names, tokens.rest()))
    return rows(spark, _SCHEMA, [(f.name, f.dataType.simpleString(), None) for f in answer.schema.fields])


def _column(field: Field) -> tuple[str, str, str | None]:
    return field.name, to_spark_type(field.type, where=f"column {field.name!r}").simpleString(), field.doc


def _details(table: Table) -> list[tuple[str, str, str]]:
    snapshot = table.current_snapshot
    summary = {} if snapshot is None else dict(snapshot.summary or {})
    facts = {
        "Name": table.name,
        "Provider": "skipstone",
        "Format version": str(table.format_version),
        "Location": table.location,
        "Metadata": table.metadata_location,
        "Current snapshot": "none" if snapshot is None else str(snapshot.snapshot_id),
        "Rows": summary.get("total-records", "unknown"),
        "Data files": summary.get("total-data-files", "unknown"),
        "Sort order": str(table.sort_order),
        "Properties": ", ".join(f"{k}={v}" for k, v in sorted(table.properties.items())),
    }
    return [("", "", ""), ("# Details", "", ""), *((k, v, "") for k, v in facts.items())]


def _namespace(spark: Any, names: Names, tokens: Tokens) -> Any:
    tokens.accept("EXTENDED")
    lake, namespace = names.namespace(tokens.names("a namespace"))
    tokens.end()
    facts = {"Namespace Name": ".".join(namespace), **lake.namespace_properties(namespace)}
    return rows(spark, "info_name string, info_value string", facts.items())
