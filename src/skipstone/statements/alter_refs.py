"""Branches and tags in ALTER TABLE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skipstone.errors import AlreadyExists, InvalidInput
from skipstone.metadata.tables.refs import MAIN
from skipstone.statements.clauses import parse_span_ms
from skipstone.statements.tokens import Tokens
from skipstone.table import Table


@dataclass(slots=True)
class RefClauses:
    """What may follow a branch's or tag's name."""

    snapshot_id: int | None = None
    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


def alter_ref(table: Table, tokens: Tokens) -> None:
    """`CREATE [OR REPLACE] | REPLACE | DROP   BRANCH | TAG   [IF [NOT] EXISTS] name …`."""
    if tokens.accept("DROP"):
        _drop(table, tokens)
        return
    creates = tokens.accept("CREATE")
    replaces = tokens.accept("OR", "REPLACE") if creates else tokens.accept("REPLACE")
    kind = tokens.accept_any("BRANCH", "TAG")
    if kind is None:
        tokens.fail("BRANCH or TAG")
    checks = tokens.accept("IF", "NOT", "EXISTS")
    name = tokens.name("a name")
    clauses = _clauses(tokens, with_snapshots=kind == "BRANCH")
    there = name in table.refs
    if there and checks:
        return
    if there and replaces:
        _require_kind(table, kind, name)
    if there and not replaces:
        raise AlreadyExists(f"Cannot create {kind.lower()} {name!r} of {table.name}: it is there already.")
    if there:
        _replace(table, name, clauses)
    elif not creates:
        table.metadata.ref(name)  # NotFound, with the names there are
    else:
        _create(table, kind, name, clauses)


def _create(table: Table, kind: str, name: str, clauses: RefClauses) -> None:
    if kind == "TAG":
        table.create_tag(name, clauses.snapshot_id, max_ref_age_ms=clauses.max_ref_age_ms)
        return
    table.create_branch(name, clauses.snapshot_id, **_retention(clauses))


def _replace(table: Table, name: str, clauses: RefClauses) -> None:
    current = table.current_snapshot
    snapshot_id = clauses.snapshot_id or (current.snapshot_id if current is not None else None)
    if snapshot_id is not None:
        table.replace_ref(name, snapshot_id)
    retention = _retention(clauses)
    if retention:
        table.set_retention(name, **retention)


def _retention(clauses: RefClauses) -> dict[str, Any]:
    found = {
        "max_ref_age_ms": clauses.max_ref_age_ms,
        "min_snapshots_to_keep": clauses.min_snapshots_to_keep,
        "max_snapshot_age_ms": clauses.max_snapshot_age_ms,
    }
    return {k: v for k, v in found.items() if v is not None}


def _clauses(tokens: Tokens, *, with_snapshots: bool) -> RefClauses:
    found = RefClauses()
    while not tokens.is_done:
        if tokens.accept("AS", "OF", "VERSION"):
            found.snapshot_id = tokens.integer("a snapshot id")
        elif tokens.accept("RETAIN"):
            found.max_ref_age_ms = parse_span_ms(tokens)
        elif with_snapshots and tokens.accept("WITH", "SNAPSHOT", "RETENTION"):
            _snapshot_retention(tokens, found)
        else:
            tokens.fail("AS OF VERSION, RETAIN or WITH SNAPSHOT RETENTION")
    return found


def _snapshot_retention(tokens: Tokens, found: RefClauses) -> None:
    """`5 SNAPSHOTS`, `7 DAYS`, or both."""
    while not tokens.is_done:
        place = tokens.at
        number = tokens.integer("a number")
        if tokens.accept_any("SNAPSHOTS", "SNAPSHOT"):
            found.min_snapshots_to_keep = number
        else:
            tokens.at = place
            found.max_snapshot_age_ms = parse_span_ms(tokens)


def _drop(table: Table, tokens: Tokens) -> None:
    kind = tokens.accept_any("BRANCH", "TAG")
    if kind is None:
        tokens.fail("BRANCH or TAG")
    checks = tokens.accept("IF", "EXISTS")
    name = tokens.name("a name")
    tokens.end()
    if checks and name not in table.refs:
        return
    if name == MAIN:
        raise InvalidInput(f"Cannot drop branch {MAIN!r} of {table.name}: it is the table itself. Use DROP TABLE.")
    _require_kind(table, kind, name)
    table.drop_ref(name)


def _require_kind(table: Table, kind: str, name: str) -> None:
    actual = "BRANCH" if table.metadata.ref(name).is_branch else "TAG"
    if actual != kind:
        raise InvalidInput(f"Cannot change {kind.lower()} {name!r} of {table.name}: it is a {actual.lower()}.")
