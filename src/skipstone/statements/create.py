"""CREATE TABLE, with or without AS SELECT, and CREATE NAMESPACE and VIEW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from skipstone.errors import AlreadyExists, InvalidInput
from skipstone.lake import Lake
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID, assign_fresh_ids
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.metadata.types import Field, StructType
from skipstone.metadata.values import from_python
from skipstone.spark.frames_in import schema_of_frame
from skipstone.spark.merging import CASE_SENSITIVE
from skipstone.spark.scan_names import quoted
from skipstone.spark.types import to_spark_type
from skipstone.statements.clauses import parse_properties, parse_terms
from skipstone.statements.columns import ColumnDefinition, constant, parse_columns
from skipstone.statements.names import Names
from skipstone.statements.query import check_syntax, plan_query, run_query
from skipstone.statements.replace import replace_contents
from skipstone.statements.show import partition_terms, sort_terms
from skipstone.statements.table_definition import FORMAT_VERSION, TableDefinition
from skipstone.statements.tokens import Tokens
from skipstone.statements.views import refuse_itself, view_name, with_full_names
from skipstone.table import Table

PROVIDERS: Final = ("SKIPSTONE", "ICEBERG")
PRIMARY_KEY: Final = "primaryKey"  # as tables of other lakehouses declare it; the spec calls it identifier fields
FORMAT_VERSION_DEFAULT: Final = 2


def create(spark: Any, names: Names, tokens: Tokens) -> None:
    """What comes after CREATE."""
    replaces = tokens.accept("OR", "REPLACE")
    temporary = tokens.accept_any("TEMPORARY", "TEMP")
    if temporary or tokens.looks_at("VIEW"):
        tokens.expect("VIEW")
        _create_view(spark, names, tokens, replaces=replaces)
    elif tokens.accept_any("NAMESPACE", "DATABASE", "SCHEMA"):
        _create_namespace(names, tokens)
    else:
        tokens.expect("TABLE", then="TABLE, VIEW or NAMESPACE")
        _create_table(spark, names, tokens, replaces=replaces)


def replace_table(spark: Any, names: Names, tokens: Tokens) -> None:
    """What comes after REPLACE: a table that must be there."""
    tokens.expect("TABLE")
    _create_table(spark, names, tokens, replaces=True, creates=False)


def _create_view(spark: Any, names: Names, tokens: Tokens, *, replaces: bool) -> None:
    checks = tokens.accept("IF", "NOT", "EXISTS")
    name = view_name(tokens, "create")
    columns = tokens.listed(lambda t: t.name("a column name")) if tokens.looks_at("(") else []
    tokens.expect("AS")
    if name in names.attached.views and not replaces:
        if checks:
            return
        raise AlreadyExists(f"Cannot create view {name}: it is there already. Use CREATE OR REPLACE.")
    query = tokens.rest()
    check_syntax(spark, query)
    body = with_full_names(names, query)
    if columns:
        body = f"SELECT * FROM ({body}) AS {quoted(name)} ({', '.join(map(quoted, columns))})"
    refuse_itself(names.attached.views, name, body)
    run_query(spark, plan_query(spark, names, body))  # Spark says now what is wrong with it, not when it is used
    names.attached.views[name] = body


def _create_namespace(names: Names, tokens: Tokens) -> None:
    checks = tokens.accept("IF", "NOT", "EXISTS")
    lake, namespace = names.namespace(tokens.names("a namespace"))
    properties: dict[str, str] = {}
    while not tokens.is_done:
        if tokens.accept("COMMENT"):
            properties["comment"] = tokens.string("a comment in quotes")
        elif tokens.accept("LOCATION"):
            properties["location"] = tokens.string("a location in quotes")
        else:
            tokens.expect("WITH", then="COMMENT, LOCATION or WITH PROPERTIES")
            tokens.accept_any("PROPERTIES", "DBPROPERTIES")
            properties |= parse_properties(tokens)
    lake.create_namespace(namespace, properties, exist_ok=checks)


def _create_table(spark: Any, names: Names, tokens: Tokens, *, replaces: bool, creates: bool = True) -> None:
    checks = tokens.accept("IF", "NOT", "EXISTS")
    lake, identifier = names.place(tokens.names())
    like = names.table(tokens.names("the table to be like")) if tokens.accept("LIKE") else None
    definition = parse_definition(tokens, is_whole=like is not None)
    if definition.query is not None:
        check_syntax(spark, definition.query)
    there = lake.table_exists(identifier)
    if there and checks:
        return
    if there and not replaces:
        raise AlreadyExists(f"Cannot create table {'.'.join(identifier)}: it is there already.")
    if not there and not creates:
        lake.load_table(identifier)  # NotFound, with the names there are
    if like is not None:
        _take_from(like, definition)
    frame = None if definition.query is None else run_query(spark, plan_query(spark, names, definition.query))
    schema = like.schema if like is not None else _schema(spark, definition, frame)
    if there:
        replace_contents(lake.load_table(identifier), schema, frame, definition)
    else:
        _publish(lake, identifier, definition, schema, frame)


def _take_from(like: Table, definition: TableDefinition) -> None:
    """What a table made like another has of it: all but its rows, its place and its history."""
    definition.partition_by = partition_terms(like.spec, like.schema)
    definition.sort_by = sort_terms(like.sort_order, like.schema)
    definition.properties = {FORMAT_VERSION: str(like.format_version), **like.properties, **definition.properties}


def parse_definition(tokens: Tokens, *, is_whole: bool = False) -> TableDefinition:
    """What comes after the table's name, in any order; columns or a query must be there unless it is whole already."""
    found = TableDefinition()
    if tokens.looks_at("("):
        found.columns = parse_columns(tokens)
    while not tokens.is_done:
        if tokens.accept("USING"):
            place = tokens.at
            if tokens.name("skipstone or iceberg").upper() not in PROVIDERS:
                tokens.at = place
                tokens.fail("skipstone or iceberg")
        elif tokens.accept("PARTITIONED", "BY"):
            _partitions(tokens, found)
        elif tokens.accept("TBLPROPERTIES") or tokens.accept("OPTIONS"):
            found.properties |= parse_properties(tokens)
        elif tokens.accept("LOCATION"):
            found.location = tokens.string("a location in quotes")
        elif tokens.accept("COMMENT"):
            found.properties["comment"] = tokens.string("a comment in quotes")
        elif tokens.accept("AS") or tokens.looks_at_any("SELECT", "WITH", "VALUES"):
            found.query = tokens.rest()
        else:
            tokens.fail("USING, PARTITIONED BY, TBLPROPERTIES, LOCATION, COMMENT or AS")
    if is_whole and (found.columns or found.partition_by or found.query is not None):
        raise InvalidInput("Invalid statement: expected LIKE, or columns, partitions and a query, got both.")
    if not is_whole and not found.columns and found.query is None:
        tokens.fail("columns in parentheses, or AS and a query")
    if found.columns and found.query is not None:
        raise InvalidInput("Invalid statement: expected columns or a query, got both. Name the columns in the query.")
    return found


def _partitions(tokens: Tokens, found: TableDefinition) -> None:
    """Terms; a column with a type is a new column at the end, as in Hive."""
    place = tokens.at
    for text in parse_terms(tokens):
        name, _, rest = text.partition(" ")
        if rest and "(" not in name and found.query is None:
            inner = Tokens.of(f"({text})")
            found.columns += parse_columns(inner)
            found.partition_by.append(name.strip("`"))
        else:
            found.partition_by.append(text)
    if not found.partition_by:
        tokens.at = place
        tokens.fail("a partition term")


def _schema(spark: Any, definition: TableDefinition, frame: Any) -> Schema:
    version = _format_version(definition)
    schema = (
        schema_of_frame(frame, format_version=version)
        if frame is not None
        else _schema_of_columns(spark, definition.columns, version)
    )
    _check_names(spark, schema)
    return _with_key(schema, definition.properties.pop(PRIMARY_KEY, None))


def _check_names(spark: Any, schema: Schema) -> None:
    """Names that the session takes for one could never be told apart in a statement."""
    if spark.conf.get(CASE_SENSITIVE).lower() == "true":
        return
    seen: set[str] = set()
    for f in schema.fields:
        if f.name.lower() in seen:
            raise InvalidInput(
                f"Cannot create a table with column {f.name!r}: expected each name once, whatever its case, because "
                f"{CASE_SENSITIVE} is not set. Rename it."
            )
        seen.add(f.name.lower())


def _format_version(definition: TableDefinition) -> int:
    text = definition.properties.get(FORMAT_VERSION, str(FORMAT_VERSION_DEFAULT))
    if not text.isdigit():
        raise InvalidInput(f"Invalid format-version {text!r}: expected 1, 2 or 3.")
    return int(text)


def _schema_of_columns(spark: Any, columns: Sequence[ColumnDefinition], version: int) -> Schema:
    fields = [_field(spark, column) for column in columns]
    schema = schema_of(Schema(fields=assign_fresh_ids(StructType(tuple(fields))).fields))
    schema.check_format_version(version)
    return schema


def _field(spark: Any, column: ColumnDefinition) -> Field:
    if len(column.path) > 1:
        raise InvalidInput(f"Invalid column {'.'.join(column.path)!r}: expected a name without dots.")
    default: Any = None
    if column.default is not None:
        value = constant(spark, column.default, to_spark_type(column.type), what=f"default of {column.name}")
        default = None if value is None else from_python(column.type, value)
    return Field(
        id=NO_ID, name=column.name, type=column.type, required=column.required, doc=column.doc,
        initial_default=default, write_default=default,
    )  # fmt: skip


def _with_key(schema: Schema, key: str | None) -> Schema:
    """The schema with identifier fields, which must be there in every row."""
    if not key:
        return schema
    names = [n.strip() for n in key.split(",")]
    ids = tuple(schema.field(n).id for n in names)
    fields = tuple(
        Field(id=f.id, name=f.name, type=f.type, required=f.required or f.id in ids, doc=f.doc,
              initial_default=f.initial_default, write_default=f.write_default)
        for f in schema.fields
    )  # fmt: skip
    return Schema(fields=fields, identifier_field_ids=ids)


def _publish(lake: Lake, identifier: tuple[str, ...], definition: TableDefinition, schema: Schema, frame: Any) -> Table:
    table = lake.create_table(
        identifier,
        schema,
        partition_by=definition.partition_by,
        sort_by=definition.sort_by,
        properties=definition.properties,
        location=definition.location,
    )
    if frame is not None:
        try:
            table.append(frame)
        except BaseException:
            lake.drop_table(identifier, purge=True)
            raise
    return table
