"""Predicates: from SQL text, Python operators or Iceberg's expression JSON; bound, normalised, projected, evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from skipstone.errors import InvalidInput
from skipstone.predicate.arrow_filter import matches
from skipstone.predicate.bind import bind
from skipstone.predicate.build import ColumnExpression, Expression, col, unwrap
from skipstone.predicate.evaluate import evaluate
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.iceberg_json import parse_expression, serialize_expression
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.predicate.normalise import normalise
from skipstone.predicate.project import project_inclusive, project_strict, residual
from skipstone.predicate.sql import parse_sql

_TEXT_KEPT_MAX: Final = 4096
# A text means the same each time, and applications ask the same again and again.
_parsed = lru_cache(maxsize=256)(parse_sql)


def as_predicate(filter_: Any) -> Predicate:
    """Whatever a user may pass as a filter, as a predicate. None selects every row."""
    match filter_:
        case None:
            return TRUE
        case str():
            return _parsed(filter_) if len(filter_) <= _TEXT_KEPT_MAX else parse_sql(filter_)
        case Mapping():
            return parse_expression(filter_)
        case Expression() | ColumnExpression() | bool():
            return unwrap(filter_)
        case _ if isinstance(filter_, Predicate):
            return filter_
        case _:
            raise InvalidInput(
                f"Invalid filter {filter_!r}: expected SQL text, a predicate such as col('zip_code') == '10001', "
                f"or Iceberg expression JSON as a dict, got {type(filter_).__name__}."
            )


__all__ = [
    "FloatOrder",
    "Predicate",
    "as_predicate",
    "bind",
    "col",
    "evaluate",
    "matches",
    "normalise",
    "parse_expression",
    "parse_sql",
    "project_inclusive",
    "project_strict",
    "residual",
    "serialize_expression",
]
