"""Thrift's interface language, as much of it as `metastore.thrift` uses: what a text declares, as values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from skipstone.errors import FormatViolation

SCALARS: Final[Mapping[str, int]] = {
    "void": 1, "bool": 2, "byte": 3, "double": 4, "i16": 6, "i32": 8, "i64": 10, "string": 11, "binary": 11,
}  # fmt: skip
STRUCT: Final = 12
MAP: Final = 13
LIST: Final = 15

_TOKENS: Final = re.compile(r"//[^\n]*|\s+|([A-Za-z_][A-Za-z_0-9]*|\d+|[{}()<>:,])")


@dataclass(frozen=True, slots=True)
class Scalar:
    name: str


@dataclass(frozen=True, slots=True)
class Named:
    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    element: TypeRef


@dataclass(frozen=True, slots=True)
class MapOf:
    key: TypeRef
    value: TypeRef


TypeRef: TypeAlias = Scalar | Named | ListOf | MapOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    id: int
    name: str
    type: TypeRef
    is_required: bool
    is_optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A struct, a union or an exception."""

    kind: str
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodDeclaration:
    name: str
    arguments: tuple[Field, ...]
    result: TypeRef
    throws: tuple[Field, ...]


def type_code(ref: TypeRef) -> int:
    """The number of a type on the wire."""
    match ref:
        case Scalar(name):
            return SCALARS[name]
        case Named():
            return STRUCT
        case ListOf():
            return LIST
        case MapOf():
            return MAP


def parse_idl(text: str) -> tuple[list[Declaration], list[MethodDeclaration]]:
    """The declarations of a text, in its order."""
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def document(self) -> tuple[list[Declaration], list[MethodDeclaration]]:
        declarations: list[Declaration] = []
        methods: list[MethodDeclaration] = []
        while self._at < len(self._tokens):
            kind, name = self._next(), self._next()
            if kind == "service":
                methods += self._service()
            else:
                declarations.append(Declaration(kind=kind, name=name, fields=self._fields("{", "}")))
        return declarations, methods

    def _service(self) -> list[MethodDeclaration]:
        self._expect("{")
        methods = []
        while self._peek() != "}":
            result, name = self._type(), self._next()
            arguments, throws = self._fields("(", ")"), ()
            if self._peek() == "throws":
                self._next()
                throws = self._fields("(", ")")  # type: ignore[assignment]
            methods.append(MethodDeclaration(name=name, arguments=arguments, result=result, throws=throws))
        self._expect("}")
        return methods

    def _fields(self, opening: str, closing: str) -> tuple[Field, ...]:
        self._expect(opening)
        fields = []
        while self._peek() != closing:
            number = int(self._next())
            self._expect(":")
            word = self._next() if self._peek() in ("required", "optional") else ""
            ref, name = self._type(), self._next()
            fields.append(
                Field(id=number, name=name, type=ref, is_required=word == "required", is_optional=word == "optional")
            )
            if self._peek() == ",":
                self._next()
        self._expect(closing)
        return tuple(fields)

    def _type(self) -> TypeRef:
        name = self._next()
        if name in SCALARS:
            return Scalar(name)
        if name not in ("list", "map"):
            return Named(name)
        self._expect("<")
        first = self._type()
        if name == "list":
            self._expect(">")
            return ListOf(first)
        self._expect(",")
        second = self._type()
        self._expect(">")
        return MapOf(first, second)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        got = self._next()
        if got != token:
            raise FormatViolation(f"Invalid interface text at token {self._at}: expected {token!r}, got {got!r}.")


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKENS.match(text, at)
        if found is None:
            raise FormatViolation(f"Invalid interface text at {at}: expected a name or a sign, got {text[at]!r}.")
        at = found.end()
        if found.group(1):
            yield found.group(1)
