"""A bound predicate as a person would write it: dates and times, where it holds counts of days and microseconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from skipstone.metadata.types import (
    BooleanType,
    DateType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UuidType,
)
from skipstone.metadata.values.display import display
from skipstone.predicate.nodes import Compare, In, Leaf, NotIn, Predicate, map_leaves, term_type

_QUOTED: Final = (
    DateType, TimeType, TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType, UuidType,
)  # fmt: skip


def shown(predicate: Predicate) -> str:
    return str(map_leaves(predicate, _shown))


@dataclass(frozen=True, slots=True)
class _Written:
    """A literal that stands in a predicate as its own text."""

    text: str

    def __str__(self) -> str:
        return self.text


def _shown(leaf: Leaf) -> Leaf:
    match leaf:
        case Compare(value=value):
            return replace(leaf, value=_written(term_type(leaf.term), value))
        case In(values=values) | NotIn(values=values):
            type_ = term_type(leaf.term)
            return replace(leaf, values=tuple(_written(type_, v) for v in values))
        case _:
            return leaf


def _written(type_: PrimitiveType, value: Any) -> Any:
    if value is None:
        return value
    if isinstance(type_, _QUOTED):
        return _Written(f"'{display(type_, value)}'")
    return _Written(display(type_, value)) if isinstance(type_, BooleanType) else value
