"""DELETE, UPDATE, MERGE and TRUNCATE.

The rows that a statement changes are found by a query over the table, so its conditions may hold whatever Spark's may:
subqueries, functions, other tables. The table is pruned first; a file of which every row matches is dropped unread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from skipstone.errors import InvalidInput
from skipstone.metadata.reserved import FILE, POS
from skipstone.metadata.tables.properties import (
    DELETE_ISOLATION_LEVEL,
    DELETE_MODE,
    UPDATE_ISOLATION_LEVEL,
    UPDATE_MODE,
    property_value,
)
from skipstone.predicate.nodes import TRUE
from skipstone.spark.row_changes import FoundRows, change_of, lineage_columns, positions_in, positions_of
from skipstone.spark.scan_names import quoted
from skipstone.spark.settled import ACTION, rows_in, settled
from skipstone.statements.assignments import Assignment, parse_assignments, updated_rows
from skipstone.statements.names import Found, Names
from skipstone.statements.query import QueryPlan, TableUse, check_syntax, metadata_columns_in, plan_query, run_query
from skipstone.statements.references import Reference, unqualified
from skipstone.statements.tokens import Tokens
from skipstone.zones.verdict import Verdict

TARGET = "skipstone_target"
_AFTER_A_TARGET = ("WHERE", "SET", "USING")
# Elsewhere a star multiplies.
_BEFORE_A_STAR: Final = frozenset({"(", ",", "."})


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """Which rows a DELETE or UPDATE is about, and what it sets. No condition is every row."""

    found: Found
    alias: str
    condition: str | None = None
    assignments: Sequence[Assignment] = ()

    def query(self, names: Names) -> tuple[Names, str]:
        """A query for the rows that are changed, and the names it needs."""
        text = f"SELECT * FROM {TARGET} AS {quoted(self.alias)} WHERE ({self.condition or 'true'})"
        return names.with_target(TARGET, self.found, all_columns(self.found)), text


def delete(spark: Any, names: Names, tokens: Tokens, definitions: str = "") -> None:
    """What comes after DELETE. `definitions` are those of a WITH before it, which subqueries can name."""
    wanted = parse_delete(spark, names, tokens)
    if wanted.condition is None:
        wanted.found.table.delete(TRUE, branch=wanted.found.ref or "main")
    else:
        delete_where(spark, names, wanted.found, wanted.alias, wanted.condition, definitions)


def parse_delete(spark: Any, names: Names, tokens: Tokens) -> RowChange:
    tokens.expect("FROM")
    found, alias, named = parse_target(names, tokens)
    if tokens.is_done:
        return RowChange(found=found, alias=alias)
    tokens.expect("WHERE")
    check_syntax(spark, tokens.text)
    tokens = unqualified(tokens, {named} if named else set())
    return RowChange(found=found, alias=alias, condition=_condition(tokens))


def _condition(tokens: Tokens) -> str:
    """What comes after WHERE. Without it, Spark's parser takes the word itself for the table's alias."""
    if tokens.is_done:
        tokens.fail("a condition")
    return tokens.rest()


def delete_where(spark: Any, names: Names, found: Found, alias: str, condition: str, definitions: str = "") -> None:
    """Remove the rows that match a condition, in which the table has a name."""
    text = f"{definitions} SELECT {FILE.name}, {POS.name} FROM {TARGET} AS {quoted(alias)} WHERE ({condition})"
    plan = plan_query(spark, names.with_target(TARGET, found, all_columns(found)), text)
    use = target_of(plan)
    dropped, read = split_whole_files(use, plan)
    numbered = numbered_files(target_of(read), condition)
    is_left = len(target_of(read).scan.plan()) > 0
    matched = run_query(spark, read, numbered)
    refuse_chance(matched, found.table.name)
    positions = positions_of(matched, *numbered.values()) if is_left else {}
    rows = FoundRows(scan=use.scan, dropped=dropped, positions=positions)
    apply(spark, found, rows, DELETE_MODE, DELETE_ISOLATION_LEVEL)


def truncate(names: Names, tokens: Tokens) -> None:
    """What comes after TRUNCATE."""
    tokens.expect("TABLE")
    found = names.changed(tokens.names())
    tokens.end()
    found.table.delete(TRUE, branch=found.ref or "main")


def update(spark: Any, names: Names, tokens: Tokens, definitions: str = "") -> None:
    """What comes after UPDATE. `definitions` are those of a WITH before it, which subqueries can name."""
    wanted = parse_update(spark, names, tokens)
    condition = wanted.condition or "true"
    update_where(spark, names, wanted.found, wanted.alias, condition, wanted.assignments, definitions)


def parse_update(spark: Any, names: Names, tokens: Tokens) -> RowChange:
    given = tokens.text
    found, alias, named = parse_target(names, tokens)
    tokens = unqualified(tokens, {named} if named else set())
    tokens.expect("SET")
    assignments = parse_assignments(tokens, found.table.schema, alias, found.table.name, "WHERE")
    condition = _condition(tokens) if tokens.accept("WHERE") else None
    tokens.end()
    check_syntax(spark, given)
    return RowChange(found=found, alias=alias, condition=condition, assignments=assignments)


def update_where(
    spark: Any, names: Names, found: Found, alias: str, condition: str, assignments: Sequence[Assignment],
    definitions: str = "",
) -> None:  # fmt: skip
    """Set columns of the rows that match a condition."""
    text = f"{definitions} SELECT *, {_values(assignments)} FROM {TARGET} AS {quoted(alias)} WHERE ({condition})"
    plan = plan_query(spark, names.with_target(TARGET, found, all_columns(found)), text)
    use = target_of(plan)
    marks = (FILE.name, POS.name, ACTION)
    numbered = numbered_files(use, condition, *(a.text for a in assignments))
    matched = run_query(spark, plan, numbered)
    refuse_chance(matched, found.table.name)

    def changed(rows: Any) -> Any:
        return updated_rows(rows, assignments, use.scan, FILE.name, POS.name, f"0 AS {ACTION}")

    with settled(lambda: matched, changed, marks, use.scan, expected=rows_in(use.scan)) as outcome:
        positions = positions_in(outcome.marks, *numbered.values())
        rows = FoundRows(scan=use.scan, positions=positions, rows=outcome.rows([0]) if positions else None)
        apply(spark, found, rows, UPDATE_MODE, UPDATE_ISOLATION_LEVEL)


def _values(assignments: Sequence[Assignment]) -> str:
    return ", ".join(f"{a.text} AS {a.alias}" for a in assignments)


# -- what all of them share


def parse_target(names: Names, tokens: Tokens) -> tuple[Found, str, tuple[str, ...] | None]:
    """The table that is changed, the name it has in the statement, and its full name if that is the one."""
    parts = tokens.names()
    found = names.changed(parts)
    alias = parts[-1] if found.ref is None else parts[-2]
    if tokens.accept("AS") or not (tokens.is_done or tokens.looks_at_any(*_AFTER_A_TARGET)):
        return found, tokens.name("an alias"), None
    return found, alias, parts


def all_columns(found: Found) -> tuple[str, ...]:
    scan = found.table.scan(**found.options())
    return (*(f.name for f in scan.schema.fields), *lineage_columns(scan), FILE.name, POS.name)


def refuse_chance(matched: Any, table: str) -> None:
    """Rows are asked for more than once, maybe by a task that is tried again: each must match always or never."""
    node = matched._jdf.queryExecution().analyzed()
    if node.deterministic():
        return
    while str(node.nodeName()) != "Filter":
        node = node.children().last()  # before it stand the definitions of a WITH
    if not node.condition().deterministic():
        raise InvalidInput(
            f"Cannot change {table}: expected a condition that gives the same answer each time, got "
            f"{node.condition().sql()}. Put what chance says into a column or a table first."
        )


def target_of(plan: QueryPlan) -> TableUse:
    return next(use for use in plan.uses if use.reference.parts == (TARGET,))


def numbered_files(use: TableUse, *texts: str | None) -> dict[Reference, list[str]]:
    """The paths of the table's files, for rows to tell their number: a path is a hundred letters, for every row.

    None where the statement's own expressions may look at the path.
    """
    if any(FILE.name in metadata_columns_in(text) or _has_star(text) for text in texts if text is not None):
        return {}
    return {use.reference: use.scan.plan().files.column("file_path").to_pylist()}


def _has_star(text: str) -> bool:
    """Whether an expression takes every column, as in `hash(*)` and `struct(t.*)`."""
    items = Tokens.of(text).items
    return any(a.text in _BEFORE_A_STAR and b.text == "*" for a, b in pairwise(items))


def split_whole_files(use: TableUse, plan: QueryPlan) -> tuple[list[str], QueryPlan]:
    """Files of which every row matches the whole condition, and the query over the others."""
    if not use.pushed.is_whole:
        return [], plan
    files = use.scan.plan().files
    every = files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES
    if not every.any():
        return [], plan
    paths = files.column("file_path").to_numpy(zero_copy_only=False)
    rest = use.scan.plan().taking(np.flatnonzero(~every))
    return list(paths[every]), plan.replacing(use, use.scan.planned(rest))


def apply(spark: Any, found: Found, rows: FoundRows, mode: Any, isolation: Any) -> None:
    """Commit what was found, as the table's properties say."""
    properties = found.table.metadata.properties
    change = change_of(
        spark,
        rows,
        ref=found.ref or "main",
        mode=str(property_value(properties, mode)),
        isolation=str(property_value(properties, isolation)),
    )
    if change is not None:
        found.table.apply(change)
