"""The filters that Catalyst pushes down to each table of a query.

A query is planned once over relations without files. What the optimizer moves next to such a relation holds for every
row the query takes from it: also what follows through joins, casts and constants, which no parser sees. Law: a filter
that is not understood is left out and reported, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from skipstone.errors import SkipstoneError, Unsupported
from skipstone.metadata.reserved import METADATA_COLUMNS, PARTITION_NAME
from skipstone.predicate.nodes import TRUE, Predicate, and_, or_
from skipstone.predicate.sql import parse_sql
from skipstone.spark.copies import in_utc

_RELATION: Final = "LogicalRelation"
_FILTER: Final = "Filter"
_PROJECT: Final = "Project"
_JOIN: Final = "Join"
_AND: Final = "And"
_EQUALS: Final = frozenset({"EqualTo", "EqualNullSafe"})
_IS_NOT_NULL: Final = "IsNotNull"
_TELLING_A_PLACE: Final = frozenset({*METADATA_COLUMNS, PARTITION_NAME})


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedFilter:
    """What may be skipped of one relation: rows that do not match `predicate`. `unused` could not be used for that.

    `is_whole` is proven: the query takes a row of the relation if and only if it matches.
    """

    predicate: Predicate = TRUE
    unused: tuple[str, ...] = ()
    is_whole: bool = False


def pushed_filters(spark: Any, frame: Any) -> dict[str, PushedFilter]:
    """What was pushed to each file relation of a query, by the directory it reads. A relation used twice needs both."""
    found: dict[str, list[PushedFilter]] = {}
    plan = frame._jdf.queryExecution().optimizedPlan()
    with in_utc(spark):  # Spark writes the literals of points in time in the active session's zone; we read them in UTC
        for use in _uses(plan):
            found.setdefault(use.root, []).append(_understood(use))
    return {root: _either(uses) for root, uses in found.items()}


def _either(uses: list[PushedFilter]) -> PushedFilter:
    if len(uses) == 1:
        return uses[0]
    unused = tuple(dict.fromkeys(text for use in uses for text in use.unused))
    return PushedFilter(predicate=or_(*(use.predicate for use in uses)), unused=unused)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """A file relation of a plan with the conditions right above it, and those of its columns that stayed farther up.

    `is_whole` is proven: the conditions right above it are all there is.
    """

    root: str
    conditions: list[Any]
    farther: list[Any]
    is_whole: bool


def _uses(plan: Any) -> Iterator[_Use]:
    """Every file relation, in subqueries too."""
    subqueries = plan.subqueriesAll()
    count = subqueries.size()
    pending: list[tuple[Any, list[Any], list[Any], bool]] = [(plan, [], [], count == 0)]
    pending += [(subqueries.apply(i), [], [], False) for i in range(count)]
    while pending:
        node, conditions, farther, is_whole = pending.pop()
        kind = str(node.nodeName())
        if kind == _RELATION:
            root = _root(node)
            if root is not None:
                own = [c for c in farther if not c.references().intersect(node.outputSet()).isEmpty()]
                yield _Use(root=root, conditions=conditions, farther=own, is_whole=is_whole)
            continue
        if kind == _FILTER:
            above = [*conditions, node.condition()]
        else:
            # A condition that does not stay next to its relation is not used there.
            joining = _joining(node) if kind == _JOIN else []
            above, farther = [], [*farther, *(c for whole in conditions for c in _conjuncts(whole)), *joining]
        keeps = is_whole and (kind == _FILTER or (kind == _PROJECT and not conditions))
        children = node.children()
        pending += [(children.apply(i), above, farther, keeps) for i in range(children.size())]


def _joining(join: Any) -> list[Any]:
    """The conjuncts of a join's condition but for those that say which columns are equal."""
    if not join.condition().isDefined():
        return []
    conjuncts = _conjuncts(join.condition().get())
    return [c for c in conjuncts if not (_kind(c) in _EQUALS and c.references().size() > 1)]


def _conjuncts(condition: Any) -> list[Any]:
    if _kind(condition) != _AND:
        return [condition]
    return [*_conjuncts(condition.left()), *_conjuncts(condition.right())]


def _kind(expression: Any) -> str:
    return str(expression.nodeName())


def _root(node: Any) -> str | None:
    relation = node.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    paths = relation.location().rootPaths()
    return str(paths.head().toString()) if paths.size() == 1 else None


def _understood(use: _Use) -> PushedFilter:
    parts: list[Predicate] = []
    unused: list[str] = []
    is_whole = use.is_whole
    pending = use.conditions[::-1]
    while pending:
        condition = pending.pop()
        text = str(condition.sql())
        try:
            parts.append(parse_sql(text, qualifiers=_qualifiers(condition)))
        except SkipstoneError:
            kind = _kind(condition)
            if kind == _AND:  # some part of it may be understood
                pending += [condition.right(), condition.left()]
                continue
            is_whole = False
            if kind != _IS_NOT_NULL:
                unused.append(text)
    unused += [str(c.sql()) for c in use.farther if _kind(c) != _IS_NOT_NULL]
    return PushedFilter(predicate=and_(*parts), unused=tuple(unused), is_whole=is_whole)


def _qualifiers(condition: Any) -> int:
    """How many qualifiers the columns have. They are of one relation, and so have the same ones; else say none fits."""
    references = condition.references().toSeq()
    columns = [references.apply(i) for i in range(references.size())]
    if any(str(c.name()).lower() in _TELLING_A_PLACE for c in columns):
        raise Unsupported("where a row lies is not among the statistics of its file.")
    depths = {int(c.qualifier().size()) for c in columns}
    if len(depths) > 1:
        raise Unsupported("its columns have different qualifiers.")
    return next(iter(depths), 0)
