"""SET lists: which column gets which expression, and the rows that come out.

Types follow Spark's rules of store assignment. A field inside a struct is set by making the struct anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import UUID, Field, StructType
from skipstone.scan import Scan
from skipstone.spark.assignment import assigned_value
from skipstone.spark.copies import with_strict_casts
from skipstone.spark.literals import literal_sql
from skipstone.spark.row_changes import kept_lineage
from skipstone.spark.scan_names import quoted
from skipstone.statements.spelling import meant
from skipstone.statements.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """`path = text`; the expression's value comes under the name `alias`."""

    path: tuple[Field, ...]
    text: str
    alias: str


def parse_assignments(
    tokens: Tokens, schema: Schema, target: str, table: str, *ends: str, prefix: str = "__set"
) -> list[Assignment]:
    """`a = 1, t.b.c = x + 1`."""
    found: list[Assignment] = []
    while True:
        place = tokens.at
        names = tokens.names("a column name")
        path = path_of(schema, names, target, table)
        tokens.expect("=")
        text = tokens.until(",", *ends)
        if not text:
            tokens.fail("an expression")
        _refuse_twice(found, path, names, tokens, place)
        found.append(Assignment(path=path, text=default_text(path[-1], text), alias=f"{prefix}_{len(found)}"))
        if not tokens.accept(","):
            return found


def default_text(field: Field, text: str) -> str:
    """An expression's text; the column's default for the word DEFAULT, null if it has none."""
    return default_sql(field) if text.upper() == "DEFAULT" else text


def default_sql(field: Field) -> str:
    """What a column gets that is not named; a uuid as text, as queries see it."""
    if field.write_default is None:
        return "NULL"
    return f"'{field.write_default}'" if field.type == UUID else literal_sql(field.type, field.write_default)


def path_of(schema: Schema, names: tuple[str, ...], target: str, table: str) -> tuple[Field, ...]:
    """The fields from the top-level column down; the table's name may come first."""
    for parts in (names, names[1:] if names[0].lower() == target.lower() else ()):
        found = descend(schema.struct, parts)
        if found is not None:
            return found
    known = ", ".join(f.name for f in schema.fields)
    raise NotFound(f"Cannot set {'.'.join(names)!r} of {table}: no such column. Columns: {known}.")


def descend(struct: Any, parts: Sequence[str]) -> tuple[Field, ...] | None:
    path: list[Field] = []
    for part in parts:
        if not isinstance(struct, StructType):
            return None
        name = meant(part, [f.name for f in struct.fields])
        if name is None:
            return None
        field = next(f for f in struct.fields if f.name == name)
        path.append(field)
        struct = field.type
    return tuple(path) or None


def _refuse_twice(
    found: list[Assignment], path: tuple[Field, ...], names: tuple[str, ...], tokens: Tokens, place: int
) -> None:
    for other in found:
        shorter = min(len(other.path), len(path))
        if other.path[:shorter] == path[:shorter]:
            tokens.at = place
            tokens.fail(f"each column to be set once, but {'.'.join(names)} is set twice: another column")


def updated_rows(matched: Any, assignments: Sequence[Assignment], scan: Scan, *more: str) -> Any:
    """The matched rows with the values set, and more columns. A changed row has no last-updated number yet."""
    spark, schema = matched.sparkSession, matched.schema
    columns = [
        f"{assigned_sql(spark, schema, f, assignments, scan.name)} AS {quoted(f.name)}" for f in scan.schema.fields
    ]
    wanted = (*columns, *kept_lineage(scan), *more)
    return with_strict_casts(matched, lambda m: m.selectExpr(*wanted))


def assigned_sql(spark: Any, schema: Any, field: Field, assignments: Sequence[Assignment], table: str) -> str:
    """A top-level column after the assignments, of a frame of this schema."""
    mine = [a for a in assignments if a.path[0].id == field.id]
    return _assigned(spark, schema, quoted(field.name), (field,), mine, table) if mine else quoted(field.name)


def _assigned(
    spark: Any, schema: Any, current: str, path: tuple[Field, ...], mine: Sequence[Assignment], table: str
) -> str:
    for assignment in mine:
        if assignment.path == path:
            given = schema[assignment.alias].dataType
            return assigned_value(spark, assignment.alias, given, path[-1], table=table)
    struct = path[-1].type
    if not isinstance(struct, StructType):
        raise InvalidInput(f"Cannot set a field inside {path[-1].name!r}: it is no struct.")
    parts = []
    for field in struct.fields:
        below = [a for a in mine if len(a.path) > len(path) and a.path[len(path)].id == field.id]
        inner = f"{current}.{quoted(field.name)}"
        value = _assigned(spark, schema, inner, (*path, field), below, table) if below else inner
        parts.append(f"{value} AS {quoted(field.name)}")
    return f"struct({', '.join(parts)})"
