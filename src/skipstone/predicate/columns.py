"""Columns by name: what a reference in a predicate means in a schema.

A name in parts (SQL text has them: `a.b` is two, `` `a.b` `` is one) finds the column at that path. A dotted name finds
the column with that full name.
"""

from __future__ import annotations

from skipstone.errors import InvalidInput, NotFound, what_exists
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import Field, PrimitiveType
from skipstone.predicate.nodes import Column, Ref, WholeType


class Columns:
    """The columns of one schema. Each reference is looked up once: generated filters repeat them thousands of times."""

    def __init__(self, schema: Schema, *, table: str, case_sensitive: bool) -> None:
        self._schema = schema
        self._table = table
        self._case_sensitive = case_sensitive
        self._ids_by_path = {path: field_id for field_id, path in schema.paths_by_id.items()}
        self._found: dict[tuple[str, tuple[str, ...] | None], Column] = {}

    def find(self, ref: Ref) -> Column:
        """The bound column; raises NotFound with what exists, or InvalidInput where a predicate has nothing to test."""
        key = (ref.name, ref.parts)
        if key not in self._found:
            self._found[key] = self._bind(ref)
        return self._found[key]

    def _bind(self, ref: Ref) -> Column:
        schema, field = self._schema, self._field(ref)
        if field is None:
            names = [".".join(path) for path in schema.paths_by_id.values()]
            raise NotFound(
                f"Cannot find column {ref.name!r} in {self._table}. {what_exists('Columns', ref.name, names)}"
            )
        name = schema.name_of(field.id)
        if schema.is_in_list_or_map(field.id):
            raise InvalidInput(
                f"Cannot bind a predicate on field {field.id} '{name}': expected one value a row, got a field inside a "
                "list or map. Filter the rows after reading them."
            )
        type_ = field.type if isinstance(field.type, PrimitiveType) else WholeType(field.type)
        return Column(field_id=field.id, type=type_, name=name, is_nested=field.id in schema.parents_by_id)

    def _field(self, ref: Ref) -> Field | None:
        if ref.parts is not None and (field_id := self._ids_by_path.get(ref.parts)) is not None:
            return self._schema.fields_by_id[field_id]
        return self._schema.find(ref.name, case_sensitive=self._case_sensitive)
