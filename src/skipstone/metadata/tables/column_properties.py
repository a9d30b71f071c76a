"""Table properties that name columns, kept about the same columns when the schema changes.

A property of a column goes with it: renamed with the column, or with a struct it lies in, and gone when the column is
dropped. Without this a renamed column would lose its metrics mode, and a new one of the old name would take it over.
"""

from __future__ import annotations

from collections.abc import Mapping

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.properties import COLUMN_FAMILIES, COLUMN_LISTS, METRICS_COLUMN


def follow_schema(properties: Mapping[str, str], before: Schema, after: Schema) -> dict[str, str]:
    """The properties of a table whose schema was `before` and is `after` now."""
    found: dict[str, str] = {}
    for key, text in properties.items():
        prefix = next((f.prefix for f in COLUMN_FAMILIES if key.startswith(f.prefix)), None)
        if prefix is not None:
            name = _followed(key[len(prefix) :], before, after)
            if name is not None:
                found[prefix + name] = text
        elif any(key == listed.key for listed in COLUMN_LISTS):
            names = [_followed(name.strip(), before, after) for name in text.split(",")]
            kept = [name for name in names if name is not None]
            if kept:
                found[key] = ",".join(kept)
        else:
            found[key] = text
    return found


def _followed(name: str, before: Schema, after: Schema) -> str | None:
    """The column's name now; None if it was dropped. A name that was no column's stays: somebody may add one."""
    column = before.find(name)
    if column is None:
        return name
    return None if after.find(column.id) is None else after.name_of(column.id)


def check_columns_exist(properties: Mapping[str, str], schema: Schema) -> None:
    """Refuse metrics modes of columns that a new table does not have."""
    for key in properties:
        name = key.removeprefix(METRICS_COLUMN.prefix)
        if name != key and schema.find(name) is None:
            known = [schema.name_of(i) for i in schema.fields_by_id]
            raise InvalidInput(
                f"Cannot set table property {key}: the schema has no such column. {what_exists('Columns', name, known)}"
            )
