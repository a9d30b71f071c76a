"""What a caller names to sort by, as sort keys."""

from __future__ import annotations

from typing import Any

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.plan.column_facts import column_named
from skipstone.plan.order import SortKey, check_sortable


def sort_keys(
    by: Any, schema: Schema, *, descending: bool = False, nulls: str = "last", table: str, exact: bool = True
) -> tuple[SortKey, ...]:
    """A name, or a list of names and (name, "asc" or "desc") pairs; `exact` looks names up as they are written."""
    if nulls not in ("first", "last"):
        raise InvalidInput(f"Cannot sort {table} with nulls {nulls!r}: expected 'first' or 'last'.")
    named = [by] if isinstance(by, str | tuple) else list(by)
    if not named:
        raise InvalidInput(f"Cannot sort {table}: expected a column to sort by, got none.")
    return tuple(_key(n, schema, descending, nulls == "first", table, exact) for n in named)


def _key(named: Any, schema: Schema, descending: bool, nulls_first: bool, table: str, exact: bool) -> SortKey:
    name, direction = named if isinstance(named, tuple) else (named, "desc" if descending else "asc")
    if direction not in ("asc", "desc"):
        raise InvalidInput(f"Cannot sort {table} by {name!r} {direction!r}: expected 'asc' or 'desc'.")
    column = column_named(name, schema, what="sort by", table=table, case_sensitive=exact)
    check_sortable(column.type, f"sort {table} by {column.name!r}")
    return SortKey(column=column, descending=direction == "desc", nulls_first=nulls_first)
