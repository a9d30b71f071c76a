"""Schemas as users write them: Arrow schemas, or lists of names and type texts.

    schema_of([("id", "long not null"), ("pts", "list<struct<x: int, y: double>>"), ("m", "map<string, decimal(9,2)>")])

Law: what a text means does not depend on where it stands; everything is optional unless it says `not null`. A name in
a struct may be quoted with backticks or double quotes, and then holds anything. Ids are assigned as a new table does.

Spec: "Schemas and Data Types".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.formats.arrow_intake import from_arrow_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID, assign_fresh_ids
from skipstone.metadata.types import (
    BOOLEAN,
    INT,
    LONG,
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    UnknownType,
    parse_primitive,
)

DEPTH_MAX: Final = 100
_ALIASES: Final[dict[str, Type]] = {"bigint": LONG, "integer": INT, "bool": BOOLEAN}
_NOT_NULL: Final = re.compile(r"\s+not\s+null\s*$", re.IGNORECASE)
_NESTED: Final = re.compile(r"(struct|list|array|map)\s*<(.*)>", re.IGNORECASE | re.DOTALL)
_PAIR: Final = {"<": ">", "(": ")", "[": "]"}


def schema_of(columns: Any, *, format_version: int = 3, downcast_ns: bool = False) -> Schema:
    """The schema that a user means.

    Takes our Schema (as it is), an Arrow schema or anything with one, or columns as (name, type text) or
    (name, type text, doc); a Type may stand for the text, and a mapping of names to types for the list.
    """
    if isinstance(columns, Schema):
        return columns
    arrow = columns if isinstance(columns, pa.Schema) else getattr(columns, "schema", None)
    if isinstance(arrow, pa.Schema):
        return from_arrow_schema(arrow, format_version=format_version, downcast_ns=downcast_ns)
    pairs = columns.items() if isinstance(columns, Mapping) else columns
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise InvalidInput(
            f"Cannot make a schema of {type(columns).__name__}: expected an Arrow schema, a Schema or a list of "
            "(name, type) pairs such as ('id', 'long not null')."
        )
    struct = StructType(tuple(_column(c) for c in pairs))
    try:
        schema = Schema(fields=assign_fresh_ids(struct).fields)
    except FormatViolation as e:
        raise InvalidInput(str(e)) from e
    schema.check_format_version(format_version)
    return schema


def parse_type(text: str) -> Type:
    """The type a text names; fields inside have NO_ID until a schema numbers them."""
    type_, required = _Parser(whole=text).type(text, 0)
    if required:
        raise InvalidInput(f"Invalid type {text!r}: expected a type, got one with 'not null'. Say it on the column.")
    return type_


def _column(column: Any) -> Field:
    match column:
        case Field():
            return column
        case (str() as name, str() as text):
            type_, required = _Parser(whole=text).type(text, 0)
            return _field(name, type_, required)
        case (str() as name, Type() as type_):
            return _field(name, type_, False)
        case (str() as name, type_, str() as doc):
            return replace(_column((name, type_)), doc=doc)
        case _:
            raise InvalidInput(
                f"Invalid column {column!r}: expected (name, type) or (name, type, doc), as in ('id', 'long not null')."
            )


def _field(name: str, type_: Type, required: bool) -> Field:
    if not name:
        raise InvalidInput("Invalid column name '': expected at least one character.")
    if required and isinstance(type_, UnknownType):
        raise InvalidInput(f"Invalid column '{name}': expected optional for type unknown, got not null.")
    return Field(id=NO_ID, name=name, type=type_, required=required)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parser:
    whole: str

    def type(self, text: str, depth: int) -> tuple[Type, bool]:
        """The type, and whether the text says `not null`."""
        if depth > DEPTH_MAX:
            raise self.bad(f"at most {DEPTH_MAX} levels", "more")
        bare = _NOT_NULL.sub("", text)
        required = bare != text
        bare = bare.strip()
        if nested := _NESTED.fullmatch(bare):
            return self.nested(nested[1].lower(), nested[2], depth), required
        if (alias := _ALIASES.get(bare.lower())) is not None:
            return alias, required
        return parse_primitive(bare), required

    def nested(self, kind: str, inside: str, depth: int) -> Type:
        parts = self.split(inside)
        if kind == "struct":
            return StructType(tuple(self.field(p, depth) for p in parts))
        if kind == "map":
            if len(parts) != 2:
                raise self.bad("map<key, value>", f"{len(parts)} parts")
            key, _ = self.type(parts[0], depth + 1)
            value, required = self.type(parts[1], depth + 1)
            return MapType(key_id=NO_ID, key=key, value_id=NO_ID, value=value, value_required=required)
        if len(parts) != 1:
            raise self.bad("list<element>", f"{len(parts)} parts")
        element, required = self.type(parts[0], depth + 1)
        return ListType(element_id=NO_ID, element=element, element_required=required)

    def field(self, text: str, depth: int) -> Field:
        found = re.match(r"\s*(?:`((?:[^`]|``)+)`|\"((?:[^\"]|\"\")+)\"|([^\s:`\"<>(),]+))\s*:(.*)", text, re.DOTALL)
        if found is None:
            raise self.bad("fields as name: type", repr(text.strip()))
        backtick, quoted, plain, type_text = found.groups()
        name = backtick.replace("``", "`") if backtick else quoted.replace('""', '"') if quoted else plain
        return _field(name, *self.type(type_text, depth + 1))

    def split(self, text: str) -> list[str]:
        """Parts between commas that are not inside brackets or quotes."""
        parts, start, quote = [], 0, ""
        closing: list[str] = []
        for i, char in enumerate(text):
            if quote:
                quote = "" if char == quote else quote
            elif char in '`"':
                quote = char
            elif char in _PAIR:
                closing.append(_PAIR[char])
            elif char in _PAIR.values():
                if not closing or closing.pop() != char:
                    raise self.bad("brackets that match", repr(char))
            elif char == "," and not closing:
                parts.append(text[start:i])
                start = i + 1
        if closing or quote:
            raise self.bad(f"a closing {(closing or [quote])[-1]!r}", "the end of the text")
        return [*parts, text[start:]] if text.strip() else []

    def bad(self, expected: str, got: str) -> InvalidInput:
        return InvalidInput(f"Invalid type {self.whole!r}: expected {expected}, got {got}.")
