"""What a merge's source says about the rows of the table it can match: the keys it holds.

`ON t.id = s.id` can match only rows whose id is one of the source's; the source is small and at hand, so its values (or
their range, if there are many) prune the table before it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pyarrow
import pyarrow.compute
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from skipstone.errors import SkipstoneError
from skipstone.metadata.types import DoubleType, Field, FloatType, PrimitiveType, UuidType
from skipstone.predicate.nodes import Op, Predicate, and_
from skipstone.scan import Scan
from skipstone.spark.types import to_spark_type
from skipstone.upsert import reach

pc: Any = pyarrow.compute

# Keys are collected up to here; beyond, the table is pruned by their range.
LISTED_MAX: Final = 10_000


def source_keys(spark: Any, scan: Scan, source: Any, on: str, target: str, alias: str) -> Scan:
    """The scan of the table pruned by the source's keys as well."""
    more = [p for field, column in _equal(scan, source, on, target, alias) if (p := _reach(source, field, column))]
    if not more:
        return scan
    return replace(scan, filter=and_(scan.predicate, *more))


def _equal(scan: Scan, source: Any, on: str, target: str, alias: str) -> Iterator[tuple[Field, str]]:
    """Columns of the table that must equal a column of the source."""
    try:
        tree = sqlglot.parse_one(on, read="spark")
    except SqlglotError:
        return
    for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        part = part.unnest()
        if not isinstance(part, exp.EQ):
            continue
        for mine, theirs in ((part.this, part.expression), (part.expression, part.this)):
            field, column = _own(scan, mine, target), _other(source, theirs, alias)
            if field is not None and column is not None:
                yield field, column


def _own(scan: Scan, tree: exp.Expr, target: str) -> Field | None:
    if not isinstance(tree, exp.Column) or len(tree.parts) != 2 or tree.table.lower() != target.lower():
        return None
    field = next((f for f in scan.schema.fields if f.name.lower() == tree.name.lower()), None)
    if field is None or not isinstance(field.type, PrimitiveType):
        return None
    return None if isinstance(field.type, FloatType | DoubleType | UuidType) else field


def _other(source: Any, tree: exp.Expr, alias: str) -> str | None:
    if not isinstance(tree, exp.Column) or len(tree.parts) != 2 or tree.table.lower() != alias.lower():
        return None
    return next((c for c in source.columns if c.lower() == tree.name.lower()), None)


def _reach(source: Any, field: Field, column: str) -> Predicate | None:
    if source.schema[column].dataType != to_spark_type(field.type):
        return None  # a cast would stand between them
    keys = source.select(column).where(f"`{column}` IS NOT NULL")
    listed = pc.unique(keys.limit(LISTED_MAX + 1).toArrow().column(0))
    try:
        if len(listed) > LISTED_MAX:
            return _range(field, keys.selectExpr(f"min(`{column}`)", f"max(`{column}`)").toArrow())
        return reach(field, listed) if len(listed) else None
    except (SkipstoneError, ValueError, TypeError):
        return None


def _range(field: Field, ends: Any) -> Predicate:
    low: Any = reach(field, ends.column(0).combine_chunks())
    high: Any = reach(field, ends.column(1).combine_chunks())
    return and_(replace(low, op=Op.GE), replace(high, op=Op.LE))
