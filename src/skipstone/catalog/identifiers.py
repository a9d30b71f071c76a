"""Names of namespaces and tables: a tuple of levels, the table's own name last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from skipstone.errors import InvalidInput

Identifier: TypeAlias = tuple[str, ...]
Namespace: TypeAlias = tuple[str, ...]

# What the catalog tables that all implementations share can hold.
NAME_CHARACTERS_MAX: Final = 255


def parse_identifier(name: str | Sequence[str]) -> Identifier:
    """`"db.t"` or `("db", "t")` as an identifier: at least one level of namespace, and the table's name."""
    parts = tuple(name.split(".")) if isinstance(name, str) else tuple(name)
    if len(parts) < 2:
        raise InvalidInput(f"Invalid table name {display(parts)!r}: expected namespace.table, got no namespace.")
    return check_identifier(parts)


def parse_namespace(name: str | Sequence[str]) -> Namespace:
    """`"a.b"` or `("a", "b")` as a namespace of at least one level."""
    parts = tuple(name.split(".")) if isinstance(name, str) else tuple(name)
    if not parts:
        raise InvalidInput("Invalid namespace '': expected at least one level.")
    return check_namespace(parts)


def check_identifier(identifier: Identifier) -> Identifier:
    """The identifier, if a catalog can hold it."""
    if len(identifier) < 2:
        raise InvalidInput(f"Invalid table name {display(identifier)!r}: expected namespace.table, got no namespace.")
    check_namespace(identifier[:-1])
    _check_part(identifier[-1], identifier)
    return identifier


def check_namespace(namespace: Namespace) -> Namespace:
    """The namespace, if a catalog can hold it. Levels are joined by dots there, so none may contain one."""
    for level in namespace:
        _check_part(level, namespace)
        if "." in level:
            raise InvalidInput(f"Invalid namespace level {level!r}: expected no dot, because dots join the levels.")
    if len(display(namespace)) > NAME_CHARACTERS_MAX:
        raise InvalidInput(
            f"Invalid namespace {display(namespace)!r}: expected at most {NAME_CHARACTERS_MAX} characters."
        )
    return namespace


def display(parts: Sequence[str]) -> str:
    """The levels joined by dots."""
    return ".".join(parts)


def _check_part(part: object, whole: Sequence[str]) -> None:
    if not isinstance(part, str) or not part:
        raise InvalidInput(f"Invalid name {tuple(whole)!r}: expected text in every level, got {part!r}.")
    if len(part) > NAME_CHARACTERS_MAX:
        raise InvalidInput(f"Invalid name {part!r}: expected at most {NAME_CHARACTERS_MAX} characters.")
    if any(ord(c) < 32 or 0xD800 <= ord(c) <= 0xDFFF for c in part):
        raise InvalidInput(f"Invalid name {part!r}: expected no control characters and no lone surrogates.")
