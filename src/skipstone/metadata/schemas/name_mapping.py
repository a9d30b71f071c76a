"""Name mapping: field ids for files that carry none.

Laws: a name in a mapping is literal, dots and all; a name belongs to at most one field among its siblings; an id is
used once in the whole mapping. Schema changes keep old names, because old files keep them too, until a new or
renamed column takes the name for itself. Ids that a file carries are never replaced.

Spec: "Column Projection", "Name Mapping Serialization".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from skipstone.errors import FormatViolation
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.types import Field, ListType, MapType, StructType, Type, children

NAME_MAPPING_PROPERTY: Final = "schema.name-mapping.default"
DEPTH_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedField:
    """One field's names. `field_id` is None for a column that only files have."""

    names: tuple[str, ...] = ()
    field_id: int | None = None
    fields: tuple[MappedField, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NameMapping:
    fields: tuple[MappedField, ...] = ()
    source: str = field(default="name mapping", compare=False)

    def __post_init__(self) -> None:
        ids: set[int] = set()
        _check(self.fields, ids, self.source, "the top level")

    @cached_property
    def fields_by_id(self) -> Mapping[int, MappedField]:
        return {f.field_id: f for f in _walk(self.fields) if f.field_id is not None}

    def find(self, *path: str) -> MappedField | None:
        """The mapping of a column by the literal names from the root to it."""
        fields, found = self.fields, None
        for name in path:
            found = find_name(fields, name)
            if found is None:
                return None
            fields = found.fields
        return found


def find_name(fields: Iterable[MappedField], name: str) -> MappedField | None:
    """The sibling that has this name, if any."""
    return next((f for f in fields if name in f.names), None)


def parse_name_mapping(text: str, *, source: str = f"table property {NAME_MAPPING_PROPERTY}") -> NameMapping:
    """The mapping that a table property holds as JSON text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise FormatViolation(f"Invalid name mapping in {source}: expected JSON, got {text[:80]!r} ({e}).") from e
    return NameMapping(fields=_parse_fields(found, source, "the top level", 0), source=source)


def serialize_name_mapping(mapping: NameMapping) -> str:
    """The mapping as JSON text for the table property."""
    return json.dumps([_to_json(f) for f in mapping.fields], ensure_ascii=False, separators=(",", ":"))


def create_name_mapping(schema: Schema | StructType) -> NameMapping:
    """A mapping of every column of a schema under its present name."""
    return NameMapping(fields=tuple(_mapped(f) for f in schema.fields))


def update_name_mapping(mapping: NameMapping, schema: Schema | StructType) -> NameMapping:
    """The mapping after the table's schema has become `schema`.

    A column gets its present name beside the ones it had; a column the mapping does not know is added; a name that a
    changed or added column takes is removed from the sibling that had it. Columns that were dropped stay mapped,
    so that their names are not given to another column by accident.
    """
    return NameMapping(fields=_updated(mapping.fields, tuple(schema.fields)), source=mapping.source)


def apply_name_mapping(mapping: NameMapping, file_struct: StructType) -> StructType:
    """The struct of a file with ids from the mapping wherever the file has none.

    A column that the mapping does not name keeps NO_ID and is never read.
    """
    return StructType(_apply(mapping.fields, file_struct.fields))


def _apply(mapped: tuple[MappedField, ...], fields: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(_apply_field(mapped, f) for f in fields)


def _apply_field(mapped: tuple[MappedField, ...], f: Field) -> Field:
    found = _mapping_of(mapped, f)
    below = found.fields if found is not None else ()
    field_id = f.id
    if field_id == NO_ID and found is not None and found.field_id is not None:
        field_id = found.field_id
    return replace(f, id=field_id, type=_apply_type(below, f.type))


def _mapping_of(mapped: tuple[MappedField, ...], f: Field) -> MappedField | None:
    """By id where the file has one, since a file's name says nothing then; else by literal name."""
    if f.id == NO_ID:
        return find_name(mapped, f.name)
    return next((m for m in mapped if m.field_id == f.id), None)


def _apply_type(mapped: tuple[MappedField, ...], type_: Type) -> Type:
    match type_:
        case StructType(fields):
            return StructType(_apply(mapped, fields))
        case ListType():
            element = _apply_field(mapped, type_.element_field)
            return replace(type_, element_id=element.id, element=element.type)
        case MapType():
            key, value = _apply_field(mapped, type_.key_field), _apply_field(mapped, type_.value_field)
            return replace(type_, key_id=key.id, key=key.type, value_id=value.id, value=value.type)
        case _:
            return type_


def _mapped(f: Field) -> MappedField:
    return MappedField(names=(f.name,), field_id=f.id, fields=tuple(_mapped(c) for c in children(f.type)))


def _updated(mapped: tuple[MappedField, ...], fields: tuple[Field, ...]) -> tuple[MappedField, ...]:
    by_id = {m.field_id: m for m in mapped if m.field_id is not None}
    changed = {f.name: f.id for f in fields if f.id not in by_id or f.name not in by_id[f.id].names}
    present = {f.id: f for f in fields}
    kept = []
    for m in mapped:
        names = tuple(n for n in m.names if changed.get(n, m.field_id) == m.field_id)
        f = present.get(m.field_id) if m.field_id is not None else None
        if f is None:
            kept.append(replace(m, names=names))
            continue
        if f.name not in names and f.name in changed:
            names = (f.name, *names)
        kept.append(replace(m, names=names, fields=_updated(m.fields, children(f.type))))
    return (*kept, *(_mapped(f) for f in fields if f.id not in by_id))


def _walk(fields: Iterable[MappedField]) -> Iterator[MappedField]:
    for f in fields:
        yield f
        yield from _walk(f.fields)


def _check(fields: tuple[MappedField, ...], ids: set[int], source: str, where: str) -> None:
    names: set[str] = set()
    for f in fields:
        for name in f.names:
            if name in names:
                raise _bad(source, where, "each name once among siblings", name)
        names.update(f.names)
        if f.field_id is not None:
            if f.field_id in ids:
                raise _bad(source, where, "each field-id once in the mapping", f.field_id)
            ids.add(f.field_id)
        _check(f.fields, ids, source, f"{where} > {f.names[0] if f.names else f.field_id}")


def _parse_fields(found: Any, source: str, where: str, depth: int) -> tuple[MappedField, ...]:
    if not isinstance(found, list):
        raise _bad(source, where, "a list of field mappings", found)
    if depth > DEPTH_MAX:
        raise _bad(source, where, f"at most {DEPTH_MAX} levels", "more")
    return tuple(_parse_field(f, source, f"{where}[{i}]", depth) for i, f in enumerate(found))


def _parse_field(found: Any, source: str, where: str, depth: int) -> MappedField:
    if not isinstance(found, dict):
        raise _bad(source, where, "an object", found)
    names = found.get("names")
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise _bad(source, where, "'names' as a list of strings", names)
    field_id = found.get("field-id")
    if field_id is not None and (type(field_id) is not int or field_id < 0):
        raise _bad(source, where, "'field-id' as a whole number", field_id)
    below = found.get("fields")
    fields = _parse_fields(below, source, f"{where}.fields", depth + 1) if below is not None else ()
    return MappedField(names=tuple(dict.fromkeys(names)), field_id=field_id, fields=fields)


def _to_json(f: MappedField) -> dict[str, Any]:
    result: dict[str, Any] = {} if f.field_id is None else {"field-id": f.field_id}
    result["names"] = list(f.names)
    if f.fields:
        result["fields"] = [_to_json(c) for c in f.fields]
    return result


def _bad(source: str, where: str, expected: str, got: object) -> FormatViolation:
    return FormatViolation(f"Invalid name mapping in {source}, at {where}: expected {expected}, got {str(got)[:80]!r}.")
