"""What a merge's source says about the rows of the table it can match: the keys it holds.

`ON t.id = s.id` can match only rows whose id is one of the source's; the source is small and at hand, so its values (or
their range, if there are many) prune the table before it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from skipstone.errors import SkipstoneError
from skipstone.metadata.formats.arrow_types import to_arrow_type
from skipstone.metadata.types import BinaryType, DoubleType, Field, FloatType, PrimitiveType, StringType, UuidType
from skipstone.predicate.nodes import FALSE, Column, IsNull, Op, Predicate, and_, or_
from skipstone.read.keyed_rows import Keys
from skipstone.scan import Scan
from skipstone.spark.scan_names import quoted
from skipstone.spark.settled import collect_up_to
from skipstone.spark.types import to_spark_type
from skipstone.statements.references import tree_of
from skipstone.statements.spelling import meant
from skipstone.upsert import reach

# Keys come here up to so many, of text up to fewer; of more only their ends are asked for.
LISTED_MAX: Final = 10_000
FIXED_MAX: Final = 100_000


def source_keys(source: Any, scan: Scan, on: str, target: str, alias: str) -> tuple[Scan, tuple[Keys, ...]]:
    """The scan of the table pruned by the source's keys as well, and these, of the columns where they are few."""
    reached = [r for equal in _equal(scan, source, on, target, alias) if (r := _reach(source, *equal))]
    if not reached:
        return scan, ()
    listed = tuple(keys for _, keys in reached if keys is not None)
    return replace(scan, filter=and_(scan.predicate, *(predicate for predicate, _ in reached))), listed


def _equal(scan: Scan, source: Any, on: str, target: str, alias: str) -> Iterator[tuple[Field, str, bool]]:
    """Columns of the table that must equal a column of the source, and whether null equals null (`<=>`)."""
    tree = tree_of(on)
    if tree is None:
        return
    for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        part = part.unnest()
        if not isinstance(part, exp.EQ | exp.NullSafeEQ):
            continue
        for mine, theirs in ((part.this, part.expression), (part.expression, part.this)):
            field, column = _own(scan, mine, target), _other(source, theirs, alias)
            if field is not None and column is not None:
                yield field, column, isinstance(part, exp.NullSafeEQ)


def _own(scan: Scan, tree: exp.Expr, target: str) -> Field | None:
    if not isinstance(tree, exp.Column) or len(tree.parts) != 2 or tree.table.lower() != target.lower():
        return None
    name = meant(tree.name, [f.name for f in scan.schema.fields])
    field = next((f for f in scan.schema.fields if f.name == name), None)
    if field is None or not isinstance(field.type, PrimitiveType):
        return None
    return None if isinstance(field.type, FloatType | DoubleType | UuidType) else field


def _other(source: Any, tree: exp.Expr, alias: str) -> str | None:
    if not isinstance(tree, exp.Column) or len(tree.parts) != 2 or tree.table.lower() != alias.lower():
        return None
    return meant(tree.name, source.columns)


def _reach(source: Any, field: Field, column: str, with_nulls: bool) -> tuple[Predicate, Keys | None] | None:
    """What every row of the table that matches a row of the source matches; None if that cannot be said."""
    if source.schema[column].dataType != to_spark_type(field.type):
        return None  # a cast would stand between them
    name = quoted(column)
    rows = source.select(name)
    few = collect_up_to(rows, LISTED_MAX if isinstance(field.type, StringType | BinaryType) else FIXED_MAX)
    listed = None
    try:
        if few is not None:
            keys = few.column(0)
            values = (keys if with_nulls else keys.drop_null()).cast(to_arrow_type(field.type))
            listed = Keys(field=field, values=values.combine_chunks())
            found = reach(field, keys.drop_null().combine_chunks()) if keys.null_count < len(keys) else FALSE
            has_nulls = keys.null_count > 0
        else:
            ends = source.selectExpr(f"min({name})", f"max({name})", f"count({name})", "count(*)").toArrow()
            not_null, every = (ends.column(place)[0].as_py() for place in (2, 3))
            found, has_nulls = _range(field, ends) if not_null else FALSE, not_null < every
    except (SkipstoneError, ValueError, TypeError, NotImplementedError):
        return None
    return (or_(found, _is_null(field)) if with_nulls and has_nulls else found), listed


def _is_null(field: Field) -> Predicate:
    assert isinstance(field.type, PrimitiveType)
    return IsNull(Column(field_id=field.id, type=field.type, name=field.name))


def _range(field: Field, ends: Any) -> Predicate:
    low: Any = reach(field, ends.column(0).combine_chunks())
    high: Any = reach(field, ends.column(1).combine_chunks())
    return and_(replace(low, op=Op.GE), replace(high, op=Op.LE))
