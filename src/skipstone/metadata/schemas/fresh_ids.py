"""Numbering the fields of a schema that nobody has numbered yet.

Law: the fields of a struct are numbered before anything below them, a list's element before what is in it, a map's
key and value together; so the top level of a new table is 1, 2, 3 and so on, whatever the columns hold. With a
base schema, a field that exists there under the same full name keeps its id, and new ids start above it.

Spec: "Schemas and Data Types", "Schema Evolution".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, overload

from skipstone.metadata.schema import Schema
from skipstone.metadata.types import Field, ListType, MapType, StructType, Type, walk

# Stands for "no id" in the struct of a file or of user input that was not numbered. Parquet prints it the same way.
NO_ID: Final = -1


def has_any_id(type_: Type) -> bool:
    """Whether any field below a type carries an id."""
    return any(f.id != NO_ID for f in walk(type_))


def has_all_ids(type_: Type) -> bool:
    """Whether every field below a type carries an id."""
    return all(f.id != NO_ID for f in walk(type_))


@overload
def assign_fresh_ids(schema: Schema, *, start: int = 1, base: Schema | None = None) -> Schema: ...
@overload
def assign_fresh_ids(schema: StructType, *, start: int = 1, base: Schema | None = None) -> StructType: ...


def assign_fresh_ids(schema: Schema | StructType, *, start: int = 1, base: Schema | None = None) -> Schema | StructType:
    """The same columns with new ids from `start`; identifier fields follow their columns."""
    struct = schema.struct if isinstance(schema, Schema) else schema
    known = {path: field_id for field_id, path in base.paths_by_id.items()} if base is not None else {}
    first = max(start, base.highest_field_id + 1) if base is not None else start
    numbering = _Numbering(next_id=first, known=known)
    fresh = numbering.struct(struct, ())
    if isinstance(schema, StructType):
        return fresh
    identifiers = tuple(numbering.new_ids[i] for i in schema.identifier_field_ids)
    return Schema(fields=fresh.fields, schema_id=schema.schema_id, identifier_field_ids=identifiers)


@dataclass(slots=True, kw_only=True)
class _Numbering:
    next_id: int
    known: Mapping[tuple[str, ...], int]
    new_ids: dict[int, int] = field(default_factory=dict)

    def number(self, old_id: int, path: tuple[str, ...]) -> int:
        new_id = self.known.get(path)
        if new_id is None:
            new_id = self.next_id
            self.next_id += 1
        self.new_ids[old_id] = new_id
        return new_id

    def struct(self, struct: StructType, path: tuple[str, ...]) -> StructType:
        ids = [self.number(f.id, (*path, f.name)) for f in struct.fields]
        fields = (
            replace(f, id=new_id, type=self.below(f.type, (*path, f.name)))
            for f, new_id in zip(struct.fields, ids, strict=True)
        )
        return StructType(tuple(fields))

    def below(self, type_: Type, path: tuple[str, ...]) -> Type:
        match type_:
            case StructType():
                return self.struct(type_, path)
            case ListType():
                element_id = self.number(type_.element_id, (*path, "element"))
                return replace(type_, element_id=element_id, element=self.below(type_.element, (*path, "element")))
            case MapType():
                key_id = self.number(type_.key_id, (*path, "key"))
                value_id = self.number(type_.value_id, (*path, "value"))
                return replace(
                    type_,
                    key_id=key_id,
                    key=self.below(type_.key, (*path, "key")),
                    value_id=value_id,
                    value=self.below(type_.value, (*path, "value")),
                )
            case _:
                return type_


def unnumbered(f: Field) -> Field:
    """A field without its id, for use with `map_types`."""
    return replace(f, id=NO_ID)
