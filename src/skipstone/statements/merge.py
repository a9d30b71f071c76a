"""MERGE INTO: one join of the table with a source, and for every pair of rows the first clause that fits.

    WHEN MATCHED [AND c] THEN UPDATE SET … | UPDATE SET * | DELETE
    WHEN NOT MATCHED [BY TARGET] [AND c] THEN INSERT (…) VALUES (…) | INSERT *
    WHEN NOT MATCHED BY SOURCE [AND c] THEN UPDATE SET … | DELETE

Law, as Spark has it: a row of the table that several source rows match is an error, unless all that can happen to it is
to be deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.spark.scan_names import quoted
from skipstone.statements.assignments import Assignment, default_text, descend, parse_assignments
from skipstone.statements.references import owned
from skipstone.statements.spelling import meant
from skipstone.statements.tokens import Tokens


class Side(Enum):
    """Which rows a clause is for."""

    MATCHED = "matched"
    NOT_MATCHED = "not matched"
    NOT_MATCHED_BY_SOURCE = "not matched by source"


class Action(Enum):
    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """What happens to rows of a side that match a condition. `values` are what an update or insert sets."""

    side: Side
    action: Action
    condition: str | None = None
    values: tuple[Assignment, ...] = ()
    takes_all: bool = False  # UPDATE SET * and INSERT *


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A MERGE statement after its target."""

    source: str
    alias: str
    on: str
    clauses: tuple[Clause, ...] = field(default=())


UNNAMED: Final = "__source"
_CLAUSE_ENDS: Final = ("WHEN",)


def parse_merge(tokens: Tokens, schema: Schema, target: str, table: str) -> Merge:
    """What comes after the target: USING, ON and the clauses."""
    tokens.expect("USING")
    source, alias, _ = parse_source(tokens)
    tokens.expect("ON")
    on = tokens.until("WHEN")
    if not on:
        tokens.fail("a condition")
    clauses: list[Clause] = []
    while not tokens.is_done:
        clauses.append(_clause(tokens, schema, target, table, len(clauses)))
    if not clauses:
        tokens.fail("WHEN MATCHED or WHEN NOT MATCHED")
    check_order(clauses)
    return Merge(source=source, alias=alias, on=on, clauses=tuple(clauses))


def parse_source(tokens: Tokens) -> tuple[str, str, tuple[str, ...] | None]:
    """The source's text, the name it has in the statement, and its own name if that is the one."""
    first = tokens.at
    parts: tuple[str, ...] = (UNNAMED,)
    if tokens.looks_at("("):
        tokens.parenthesised()
    else:
        parts = tokens.names("a source table")
    text = tokens.slice(first, tokens.at)
    if tokens.accept("AS") or not tokens.looks_at("ON"):
        return text, tokens.name("a name for the source"), None
    return text, parts[-1], parts


def _clause(tokens: Tokens, schema: Schema, target: str, table: str, number: int) -> Clause:
    tokens.expect("WHEN")
    side = _side(tokens)
    condition = tokens.until("THEN") if tokens.accept("AND") else None
    tokens.expect("THEN")
    if side is Side.NOT_MATCHED:
        tokens.expect("INSERT")
        values, takes_all = _insert(tokens, schema, table, number)
        return Clause(side=side, action=Action.INSERT, condition=condition, values=values, takes_all=takes_all)
    if tokens.accept("DELETE"):
        return Clause(side=side, action=Action.DELETE, condition=condition)
    tokens.expect("UPDATE", then="UPDATE or DELETE")
    tokens.expect("SET")
    if side is Side.MATCHED and tokens.accept("*"):
        return Clause(side=side, action=Action.UPDATE, condition=condition, takes_all=True)
    values = tuple(parse_assignments(tokens, schema, target, table, *_CLAUSE_ENDS, prefix=f"__set_{number}"))
    return Clause(side=side, action=Action.UPDATE, condition=condition, values=values)


def _side(tokens: Tokens) -> Side:
    if tokens.accept("MATCHED"):
        return Side.MATCHED
    tokens.expect("NOT", "MATCHED", then="MATCHED or NOT MATCHED")
    if tokens.accept("BY", "SOURCE"):
        return Side.NOT_MATCHED_BY_SOURCE
    tokens.accept("BY", "TARGET")
    return Side.NOT_MATCHED


def _insert(tokens: Tokens, schema: Schema, table: str, number: int) -> tuple[tuple[Assignment, ...], bool]:
    if tokens.accept("*"):
        return (), True
    place = tokens.at
    names = _names(tokens) if tokens.looks_at("(") else [f.name for f in schema.fields]
    tokens.expect("VALUES")
    texts = _texts(tokens)
    if len(names) != len(texts):
        tokens.at = place
        tokens.fail(f"as many values as columns, {len(names)} and not {len(texts)}: a list of columns")
    found = []
    for i, (name, text) in enumerate(zip(names, texts)):
        path = descend(schema.struct, [name])
        if path is None:
            known = ", ".join(f.name for f in schema.fields)
            raise InvalidInput(f"Cannot insert into {table}: unknown column {name!r}. Columns: {known}.")
        found.append(Assignment(path=path, text=default_text(path[-1], text), alias=f"__set_{number}_{i}"))
    return tuple(found), False


def _names(tokens: Tokens) -> list[str]:
    return tokens.listed(lambda t: t.names("a column name")[-1])


def _texts(tokens: Tokens) -> list[str]:
    return tokens.listed(lambda t: t.until(",", ")"))


def check_order(clauses: Sequence[Clause]) -> None:
    """Only the last clause of a side may be without a condition: later ones could never apply."""
    for side in Side:
        mine = [c for c in clauses if c.side is side]
        for clause in mine[:-1]:
            if clause.condition is None:
                raise InvalidInput(
                    f"Invalid MERGE: only the last WHEN {side.value.upper()} clause may be without a condition."
                )


def taken_from_source(clause: Clause, schema: Schema, columns: Sequence[str], alias: str, number: int) -> Clause:
    """A clause with `*` as the assignments it means: every column of the table from the source's of that name."""
    if not clause.takes_all:
        return clause
    theirs = {f.name: meant(f.name, columns) for f in schema.fields}
    missing = [name for name, column in theirs.items() if column is None]
    if missing:
        raise InvalidInput(
            f"Cannot merge with {clause.action.value.upper()} *: the source has no column {missing[0]!r}. "
            f"Columns of the source: {', '.join(columns)}. Name the columns to set."
        )
    values = tuple(
        Assignment(path=(f,), text=f"{quoted(alias)}.{quoted(str(theirs[f.name]))}", alias=f"__set_{number}_{i}")
        for i, f in enumerate(schema.fields)
    )
    return Clause(side=clause.side, action=clause.action, condition=clause.condition, values=values)


def seen_from_one_side(clause: Clause, target: str, alias: str, both: Collection[str]) -> Clause:
    """A clause for rows of one side: columns that both sides have are that side's, as Spark resolves them."""
    if clause.side is Side.MATCHED:
        return clause
    side = alias if clause.side is Side.NOT_MATCHED else target
    return replace(
        clause,
        condition=None if clause.condition is None else owned(clause.condition, side, both),
        values=tuple(replace(a, text=owned(a.text, side, both)) for a in clause.values),
    )
