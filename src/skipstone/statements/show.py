"""SHOW: tables, namespaces, properties, partitions, columns, and the statement that would make a table."""

from __future__ import annotations

import fnmatch
from typing import Any

from pyspark.sql import types as T

from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import SortOrder
from skipstone.metadata.schema import Schema
from skipstone.spark.literals import literal_sql
from skipstone.spark.scan_names import quoted
from skipstone.spark.types import to_spark_type
from skipstone.statements.clauses import parse_key
from skipstone.statements.names import Names
from skipstone.statements.results import rows
from skipstone.statements.tokens import Tokens
from skipstone.table import Table


def show(spark: Any, names: Names, tokens: Tokens) -> Any:
    """What comes after SHOW."""
    if tokens.accept("TABLES"):
        return _tables(spark, names, tokens)
    if tokens.accept_any("NAMESPACES", "DATABASES", "SCHEMAS"):
        return _namespaces(spark, names, tokens)
    if tokens.accept("TBLPROPERTIES"):
        return _properties(spark, names, tokens)
    if tokens.accept("CREATE", "TABLE"):
        table = names.table(tokens.names())
        return rows(spark, "createtab_stmt string", [(create_statement(table),)])
    if tokens.accept("VIEWS"):
        tokens.end()
        views = [("", name, True) for name in sorted(names.attached.views)]
        return rows(spark, "namespace string, viewName string, isTemporary boolean", views)
    if tokens.accept("COLUMNS"):
        tokens.accept_any("IN", "FROM")
        parts = tokens.names()
        if tokens.accept_any("IN", "FROM"):
            parts = (*tokens.names("a namespace"), parts[-1])
        tokens.end()
        return rows(spark, "col_name string", [(f.name,) for f in names.table(parts).schema.fields])
    tokens.expect("PARTITIONS", then="TABLES, NAMESPACES, VIEWS, TBLPROPERTIES, COLUMNS, PARTITIONS or CREATE TABLE")
    return _partitions(spark, names.table(tokens.names()))


def _tables(spark: Any, names: Names, tokens: Tokens) -> Any:
    parts = tokens.names("a namespace") if tokens.accept_any("IN", "FROM") else names.attached.namespace
    lake, namespace = names.namespace(parts)
    pattern = _pattern(tokens)
    chosen = [namespace] if namespace else [tuple(n.split(".")) for n in lake.list_namespaces()]
    found = [(".".join(n), t.rpartition(".")[2], False) for n in chosen for t in lake.list_tables(n)]
    kept = [f for f in found if fnmatch.fnmatch(f[1].lower(), pattern)]
    return rows(spark, "namespace string, tableName string, isTemporary boolean", kept)


def _namespaces(spark: Any, names: Names, tokens: Tokens) -> Any:
    parts = tokens.names("a namespace") if tokens.accept_any("IN", "FROM") else ()
    lake, namespace = names.namespace(parts)
    if namespace and namespace[0] in names.attached.lakes and len(namespace) == 1:
        lake, namespace = names.attached.lake(namespace[0]), ()
    pattern = _pattern(tokens)
    found = [n for n in lake.list_namespaces(namespace) if fnmatch.fnmatch(n.lower(), pattern)]
    return rows(spark, "namespace string", [(n,) for n in found])


def _pattern(tokens: Tokens) -> str:
    if tokens.is_done:
        return "*"
    tokens.accept("LIKE")
    pattern = tokens.string("a pattern in quotes").lower()
    tokens.end()
    return pattern.replace("%", "*")


def _properties(spark: Any, names: Names, tokens: Tokens) -> Any:
    table = names.table(tokens.names())
    found = {"format-version": str(table.format_version), **table.properties}
    if tokens.accept("("):
        key = parse_key(tokens)
        tokens.expect(")")
        return rows(spark, "key string, value string", [(key, found.get(key, f"Table has no property {key}"))])
    return rows(spark, "key string, value string", sorted(found.items()))


def _partitions(spark: Any, table: Table) -> Any:
    listed = table.inspect.partitions()
    if "partition" not in listed.column_names:
        return rows(spark, "partition string", [])
    specs = {s.spec_id: s for s in table.metadata.partition_specs}
    paths = []
    for row in listed.select(["partition", "spec_id"]).to_pylist():
        spec = specs[row["spec_id"]]
        paths.append(("/".join(f"{f.name}={_shown(row['partition'].get(f.name))}" for f in spec.fields),))
    return rows(spark, "partition string", paths)


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)


def create_statement(table: Table) -> str:
    """The statement that makes a table like this one."""
    lines = [f"CREATE TABLE {'.'.join(quoted(p) for p in table.name.split('.'))} ("]
    lines.append(",\n".join(f"  {_column(f)}" for f in table.schema.fields) + ")")
    lines.append("USING skipstone")
    if table.spec.fields:
        lines.append(f"PARTITIONED BY ({', '.join(partition_terms(table.spec, table.schema))})")
    lines.append(f"LOCATION {_text(table.location)}")
    properties = {"format-version": str(table.format_version), **table.properties}
    if table.schema.identifier_field_ids:
        properties["primaryKey"] = ", ".join(table.schema.name_of(i) for i in table.schema.identifier_field_ids)
    listed = ",\n".join(f"  {_text(k)} = {_text(v)}" for k, v in sorted(properties.items()))
    return "\n".join(lines) + f"\nTBLPROPERTIES (\n{listed})"


def _column(field: Any) -> str:
    type_ = type_text(to_spark_type(field.type, where=f"column {field.name!r}"))
    required = " NOT NULL" if field.required else ""
    default = f" DEFAULT {literal_sql(field.type, field.write_default)}" if field.write_default is not None else ""
    comment = f" COMMENT {_text(field.doc)}" if field.doc else ""
    return f"{quoted(field.name)} {type_}{required}{default}{comment}"


def type_text(type_: Any) -> str:
    """A Spark type as SQL writes it, with names as they are."""
    match type_:
        case T.StructType():
            return f"STRUCT<{', '.join(_member(f) for f in type_.fields)}>"
        case T.ArrayType():
            return f"ARRAY<{type_text(type_.elementType)}>"
        case T.MapType():
            return f"MAP<{type_text(type_.keyType)}, {type_text(type_.valueType)}>"
    return str(type_.simpleString()).upper()


def _member(field: Any) -> str:
    return f"{quoted(field.name)}: {type_text(field.dataType)}{'' if field.nullable else ' NOT NULL'}"


def partition_terms(spec: PartitionSpec, schema: Schema) -> list[str]:
    """The spec's fields as SQL writes them."""
    live = [f for f in spec.fields if not f.is_void]
    return [_term(f.transform, ".".join(quoted(p) for p in schema.paths_by_id[f.source_id])) for f in live]


def sort_terms(order: SortOrder, schema: Schema) -> list[str]:
    """The order's fields as SQL writes them."""
    found = []
    for f in order.fields:
        column = ".".join(quoted(p) for p in schema.paths_by_id[f.source_id])
        nulls = f.null_order.value.replace("-", " ").upper()
        found.append(f"{_term(f.transform, column)} {f.direction.value.upper()} {nulls}")
    return found


def _term(transform: Any, column: str) -> str:
    name, _, parameter = str(transform).partition("[")
    match name:
        case "identity":
            return column
        case "bucket" | "truncate":
            return f"{name}({parameter.rstrip(']')}, {column})"
    return f"{name}s({column})"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
