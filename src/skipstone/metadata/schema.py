"""A table's schema: a struct with an id, its identifier fields, and fast look-ups by id and by name.

Laws: field ids are unique in the whole tree and lie below the reserved range; sibling names are unique;
identifier fields are required primitives reachable through required structs only.

Spec: "Schemas and Data Types", "Identifier Field IDs", "Reserved Field IDs".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from skipstone.errors import FormatViolation, InvalidInput, NotFound, what_exists
from skipstone.metadata.reserved import FIELD_ID_MAX
from skipstone.metadata.types import (
    DoubleType,
    Field,
    FloatType,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    VariantType,
    children,
    walk,
)


@dataclass(frozen=True, kw_only=True)
class Schema:
    fields: tuple[Field, ...]
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        object.__setattr__(self, "identifier_field_ids", tuple(sorted(set(self.identifier_field_ids))))
        _check_ids_and_names(self.fields)
        for field_id in self.identifier_field_ids:
            _check_identifier(self, field_id)

    @cached_property
    def struct(self) -> StructType:
        return StructType(self.fields)

    @cached_property
    def fields_by_id(self) -> Mapping[int, Field]:
        """Every field of the tree, list elements and map entries included."""
        return {f.id: f for f in walk(self.struct)}

    @cached_property
    def paths_by_id(self) -> Mapping[int, tuple[str, ...]]:
        """The names from the root to each field."""
        return dict(_paths(self.struct, ()))

    @cached_property
    def ids_by_name(self) -> Mapping[str, int]:
        """Full dotted name to id, then short names (without `element` and `value`) where they are unambiguous."""
        full = {".".join(path): field_id for field_id, path in self.paths_by_id.items()}
        for name, field_id in _short_names(self.struct, ()):
            full.setdefault(name, field_id)
        return full

    def check_full_names(self) -> None:
        """Refuse a new schema in which one dotted name means two columns: other engines could not load it."""
        seen: dict[str, int] = {}
        for field_id, path in self.paths_by_id.items():
            name = ".".join(path)
            other = seen.setdefault(name, field_id)
            if other != field_id:
                raise InvalidInput(
                    f"Invalid schema: expected every full name once, got {name!r} for fields {other} and {field_id}. "
                    f"Rename one."
                )

    @cached_property
    def parents_by_id(self) -> Mapping[int, int]:
        """The id of the field directly above each nested field."""
        return {c.id: f.id for f in self.fields_by_id.values() for c in children(f.type)}

    @cached_property
    def highest_field_id(self) -> int:
        return max(self.fields_by_id, default=0)

    def find(self, field: int | str, *, case_sensitive: bool = True) -> Field | None:
        """The field with this id or dotted name, or None."""
        if isinstance(field, int):
            return self.fields_by_id.get(field)
        if (field_id := self.ids_by_name.get(field)) is not None:
            return self.fields_by_id[field_id]
        if case_sensitive:
            return None
        found = {i for name, i in self.ids_by_name.items() if name.lower() == field.lower()}
        if len(found) > 1:
            raise InvalidInput(
                f"Cannot choose a column for {field!r} without regard to case: expected one, got "
                f"{', '.join(sorted(self.name_of(i) for i in found))}. Write the name exactly."
            )
        return self.fields_by_id[found.pop()] if found else None

    def field(self, field: int | str, *, case_sensitive: bool = True) -> Field:
        """The field with this id or dotted name; raises NotFound with what exists."""
        found = self.find(field, case_sensitive=case_sensitive)
        if found is None:
            names = [".".join(p) for p in self.paths_by_id.values()]
            raise NotFound(
                f"Cannot find column {field!r} in schema {self.schema_id}. " + what_exists("Columns", str(field), names)
            )
        return found

    def name_of(self, field_id: int) -> str:
        """The dotted name of a field."""
        return ".".join(self.paths_by_id[self.field(field_id).id])

    def ancestors(self, field_id: int) -> Iterator[Field]:
        """The fields above a field, nearest first."""
        current = self.parents_by_id.get(field_id)
        while current is not None:
            yield self.fields_by_id[current]
            current = self.parents_by_id.get(current)

    def is_in_list_or_map(self, field_id: int) -> bool:
        return any(isinstance(a.type, ListType | MapType) for a in self.ancestors(field_id))

    @cached_property
    def primitive_leaves(self) -> tuple[Field, ...]:
        """Primitive fields that hold at most one value a row: not inside a list or map. In schema order."""
        return tuple(
            f for f in walk(self.struct) if isinstance(f.type, PrimitiveType) and not self.is_in_list_or_map(f.id)
        )

    def select(self, names: Iterable[str], *, case_sensitive: bool = True) -> Schema:
        """The schema of the named columns with everything below them, in this schema's order."""
        wanted = {self.field(n, case_sensitive=case_sensitive).id for n in names}
        kept = _prune(self.struct, wanted)
        return Schema(fields=kept.fields if kept else (), schema_id=self.schema_id)

    def with_id(self, schema_id: int) -> Schema:
        return replace(self, schema_id=schema_id)

    def same_as(self, other: Schema) -> bool:
        """Equal but for the schema id."""
        return self.fields == other.fields and self.identifier_field_ids == other.identifier_field_ids

    def check_format_version(self, format_version: int) -> None:
        """Refuse types and defaults that this table version does not have."""
        for f in self.fields_by_id.values():
            if f.type.min_format_version > format_version:
                raise InvalidInput(
                    f"Invalid schema for a v{format_version} table: column '{self.name_of(f.id)}' (id {f.id}) has type "
                    f"{f.type}, which needs v{f.type.min_format_version}. Upgrade the table or choose another type."
                )
            if format_version < 3 and f.initial_default is not None:
                raise InvalidInput(
                    f"Invalid schema for a v{format_version} table: column '{self.name_of(f.id)}' (id {f.id}) has "
                    f"initial-default {f.initial_default!r}, which needs v3. Upgrade the table or drop the default."
                )

    def __str__(self) -> str:
        body = "".join(f"\n  {f}" for f in self.fields)
        return f"table {{{body}\n}}"


def _prune(struct: StructType, wanted: set[int]) -> StructType | None:
    """The struct reduced to wanted fields; lists and maps are kept whole when anything below is wanted."""
    kept: list[Field] = []
    for f in struct.fields:
        if f.id in wanted:
            kept.append(f)
        elif isinstance(f.type, StructType):
            inner = _prune(f.type, wanted)
            if inner is not None:
                kept.append(replace(f, type=inner))
        elif any(c.id in wanted for c in walk(f.type)):
            kept.append(f)
    return StructType(tuple(kept)) if kept else None


def _paths(type_: Type, prefix: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    for child in children(type_):
        path = (*prefix, child.name)
        yield child.id, path
        yield from _paths(child.type, path)


def _short_names(type_: Type, prefix: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Names as users write them through lists and maps of structs: `points.x` for `points.element.x`."""
    for child in children(type_):
        transparent = isinstance(child.type, StructType) and (
            (isinstance(type_, ListType) and child.name == "element")
            or (isinstance(type_, MapType) and child.name == "value")
        )
        path = prefix if transparent else (*prefix, child.name)
        if not transparent:
            yield ".".join(path), child.id
        yield from _short_names(child.type, path)


def _check_ids_and_names(fields: tuple[Field, ...]) -> None:
    seen: dict[int, str] = {}
    for f in walk(StructType(fields)):
        if f.id in seen:
            raise FormatViolation(
                f"Invalid schema: expected unique field ids, got id {f.id} for both '{seen[f.id]}' and '{f.name}'."
            )
        if f.id > FIELD_ID_MAX or f.id < 0:
            raise FormatViolation(
                f"Invalid schema: column '{f.name}' has id {f.id}, expected 0 to {FIELD_ID_MAX} (the rest is reserved)."
            )
        seen[f.id] = f.name
        _check_sibling_names(f.type, f.name)
    _check_sibling_names(StructType(fields), "the table")


def _check_sibling_names(type_: Type, where: str) -> None:
    if isinstance(type_, StructType):
        names: set[str] = set()
        for f in type_.fields:
            if f.name in names:
                raise FormatViolation(f"Invalid schema: expected unique names in {where}, got '{f.name}' twice.")
            names.add(f.name)


def _check_identifier(schema: Schema, field_id: int) -> None:
    f = schema.fields_by_id.get(field_id)
    if f is None:
        raise FormatViolation(f"Invalid identifier field id {field_id}: expected a field of the schema, found none.")
    name = schema.name_of(field_id)
    if not isinstance(f.type, PrimitiveType) or isinstance(f.type, FloatType | DoubleType | VariantType):
        raise FormatViolation(
            f"Invalid identifier field '{name}' (id {field_id}): expected a primitive other than float and double, "
            f"got {f.type}."
        )
    if not f.required:
        raise FormatViolation(f"Invalid identifier field '{name}' (id {field_id}): expected required, got optional.")
    for above in schema.ancestors(field_id):
        if not isinstance(above.type, StructType) or not above.required:
            raise FormatViolation(
                f"Invalid identifier field '{name}' (id {field_id}): expected required structs above it, got "
                f"'{schema.name_of(above.id)}', {'a required' if above.required else 'an optional'} {above.type}."
            )
