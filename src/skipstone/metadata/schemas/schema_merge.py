"""Merging a schema into another by names, as when files or frames bring columns the table does not have yet.

Law: the merged schema can hold every row of both. New columns are optional unless a default fills old rows; a wider
type, an optional field and a new documentation text are taken over; a narrower type changes nothing; anything else is
refused.

Spec: "Schema Evolution".
"""

from __future__ import annotations

from typing import Protocol

from skipstone.errors import InvalidInput
from skipstone.metadata.schemas.promotion import is_promotion_allowed
from skipstone.metadata.schemas.schema_tree import Path, quoted
from skipstone.metadata.types import Field, ListType, MapType, PrimitiveType, StructType, Type, Value


class MergeTarget(Protocol):
    """The calls of a schema update that a merge needs."""

    def find(self, path: Path) -> Field | None: ...
    def add_column(
        self, path: Path, type: Type, *, doc: str | None = None, required: bool = False, default: Value = None
    ) -> object: ...
    def update_column(
        self, path: Path, type: Type | None = None, *, doc: str | None = None, required: bool | None = None
    ) -> object: ...
    def make_column_optional(self, path: Path) -> object: ...
    def set_default(self, path: Path, value: Value) -> object: ...


def merge_by_name(
    target: MergeTarget, incoming: StructType, *, format_version: int, prefix: tuple[str, ...] = ()
) -> None:
    for f in incoming.fields:
        path = (*prefix, f.name)
        existing = target.find(path)
        if existing is None:
            _add(target, path, f)
        else:
            _merge_field(target, path, existing, f, format_version)


def _add(target: MergeTarget, path: tuple[str, ...], f: Field) -> None:
    is_required = f.required and f.initial_default is not None
    target.add_column(path, f.type, doc=f.doc, required=is_required, default=f.initial_default)
    if f.initial_default is not None and f.write_default is not None:
        target.set_default(path, f.write_default)


def _merge_field(
    target: MergeTarget, path: tuple[str, ...], existing: Field, incoming: Field, format_version: int
) -> None:
    if existing.required and incoming.optional:
        target.make_column_optional(path)
    if incoming.doc is not None and incoming.doc != existing.doc:
        target.update_column(path, doc=incoming.doc)
    match existing.type, incoming.type:
        case StructType(), StructType():
            merge_by_name(target, incoming.type, format_version=format_version, prefix=path)
        case ListType(), ListType():
            element = existing.type.element_field
            _merge_field(target, (*path, "element"), element, incoming.type.element_field, format_version)
        case MapType(), MapType():
            if not _same_shape(existing.type.key, incoming.type.key):
                raise InvalidInput(
                    f"Cannot merge column {quoted(path)}: expected map keys of type {existing.type.key}, got "
                    f"{incoming.type.key}. Map keys cannot change."
                )
            value = existing.type.value_field
            _merge_field(target, (*path, "value"), value, incoming.type.value_field, format_version)
        case _:
            _merge_type(target, path, existing.type, incoming.type, format_version)


def _merge_type(target: MergeTarget, path: tuple[str, ...], existing: Type, incoming: Type, version: int) -> None:
    # An incoming type that the existing one could have been promoted from fits as it is.
    if isinstance(incoming, PrimitiveType) and is_promotion_allowed(incoming, existing, version):
        return
    if not is_promotion_allowed(existing, incoming, version):
        raise InvalidInput(
            f"Cannot merge column {quoted(path)}: expected {existing} or a type it can be promoted to, got {incoming}. "
            f"Rename or cast the incoming column."
        )
    target.update_column(path, incoming)


def _same_shape(a: Type, b: Type) -> bool:
    """Equal but for ids."""
    match a, b:
        case StructType(), StructType():
            return len(a.fields) == len(b.fields) and all(
                f.name == g.name and f.required == g.required and _same_shape(f.type, g.type)
                for f, g in zip(a.fields, b.fields, strict=True)
            )
        case ListType(), ListType():
            return a.element_required == b.element_required and _same_shape(a.element, b.element)
        case MapType(), MapType():
            return a.value_required == b.value_required and _same_shape(a.key, b.key) and _same_shape(a.value, b.value)
        case _:
            return a == b
