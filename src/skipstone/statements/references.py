"""The tables a query names, and the query's text with other names in their places.

The text stays the user's own; only the names of our tables change, so that what Spark says of the query still fits it.
A name that a WITH clause defines is no table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from skipstone.spark.scan_names import quoted
from skipstone.statements.stars import Source, star_edits
from skipstone.statements.tokens import Token, Tokens

_VERSION: Final = ("VERSION", "SYSTEM_VERSION")
_TIMESTAMP: Final = ("TIMESTAMP", "SYSTEM_TIME")
_BEFORE_A_TABLE: Final = frozenset({"FROM", "JOIN", ",", "(", "TABLE", "USING", "INTO"})
Edit = tuple[int, int, str]
# What a text says is asked several times for one statement, and again when the statement comes again.
_REMEMBERED_MAX: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One place where a query names a table: the name, the point in time, and where they stand in the text."""

    parts: tuple[str, ...]
    start: int
    end: int
    version: str | None = None
    timestamp: str | None = None
    alias: str = ""
    alias_at: int | None = None  # where the table's own name must be put as an alias; None if it has an alias

    def __str__(self) -> str:
        """The reference as it stands in the query."""
        moments = (("VERSION", self.version), ("TIMESTAMP", self.timestamp))
        moment = "".join(f" {kind} AS OF {text}" for kind, text in moments if text is not None)
        return f"{'.'.join(self.parts)}{moment}{f' AS {self.alias}' if self.alias else ''}"


def find_references(text: str) -> list[Reference]:
    """Every table named in a query, from left to right."""
    return list(_found(text))


@lru_cache(maxsize=_REMEMBERED_MAX)
def _found(text: str) -> tuple[Reference, ...]:
    tokens = Tokens.of(text)
    places = {token.start: i for i, token in enumerate(tokens.items)}
    tree = tree_of(text)
    named = list(_guessed_names(tokens) if tree is None else _parsed_names(tree))
    found = [_reference(tokens, places[start], *name) for start, *name in named if start in places]
    return tuple(sorted(found, key=lambda reference: reference.start))


@lru_cache(maxsize=_REMEMBERED_MAX)
def tree_of(text: str) -> exp.Expr | None:
    """The text as a tree, to be looked at and never changed; None if only Spark can parse it."""
    try:
        return sqlglot.parse_one(text, read="spark")
    except (SqlglotError, AttributeError, RecursionError):  # of some text the parser fails instead of refusing it
        return None


def rewrite(text: str, names: Mapping[Reference, str], hidden: Mapping[Reference, Sequence[str]] | None = None) -> str:
    """The query with each reference replaced by a name that Spark knows; `*` leaves out the hidden columns of each."""
    sources = [Source(start=r.start, name=r.alias or r.parts[-1], hidden=h) for r, h in (hidden or {}).items()]
    edits: list[Edit] = star_edits(text, sources)
    for reference, name in names.items():
        if reference.alias_at is None:
            edits.append((reference.start, reference.end, name))
            continue
        alias = f" AS {quoted(reference.parts[-1])}"
        if reference.alias_at == reference.end:
            edits.append((reference.start, reference.end, name + alias))
        else:
            edits += [(reference.start, reference.end, name), (reference.alias_at, reference.alias_at, alias)]
    edits += _qualified_columns(text, {r.parts for r in names if r.alias_at is not None and len(r.parts) > 1})
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


# -- names


def _parsed_names(tree: exp.Expr) -> Iterator[tuple[int, tuple[str, ...], bool, str]]:
    for table in tree.find_all(exp.Table):
        parts = [p for p in table.parts if isinstance(p, exp.Identifier)]
        if not parts or len(parts) != len(table.parts) or "start" not in parts[0].meta:
            continue  # a function such as range(10)
        names = tuple(p.name for p in parts)
        if len(names) == 1 and _is_defined_above(table, names[0]):
            continue
        yield parts[0].meta["start"], names, bool(table.alias), table.alias


def _is_defined_above(table: exp.Table, name: str) -> bool:
    """Whether a WITH clause that this place can see defines the name."""
    inside: set[int] = set()
    node: exp.Expr | None = table
    while node is not None:
        inside.add(id(node))
        clause = node.args.get("with_") or node.args.get("with")
        for definition in clause.expressions if clause is not None else ():
            if id(definition) in inside:
                break  # a definition sees those before it, not itself
            if definition.alias.lower() == name.lower():
                return True
        node = node.parent
    return False


def _guessed_names(tokens: Tokens) -> Iterator[tuple[int, tuple[str, ...], bool, str]]:
    """Names where a table can stand, in text that only Spark can parse. Catalogs decide which of them are tables."""
    i = 0
    while i < len(tokens.items):
        before = tokens.items[i - 1].text.upper() if i else ""
        if before in _BEFORE_A_TABLE and _is_name(tokens.items[i]):
            end = i + 1
            while end + 1 < len(tokens.items) and tokens.items[end].token_type is TokenType.DOT:
                end += 2
            parts = tuple(t.text for t in tokens.items[i:end:2])
            after = tokens.items[end] if end < len(tokens.items) else None
            if after is None or after.text != "(":
                cursor = Tokens(tokens.text, tokens.items, end)
                _point_in_time(cursor)
                yield tokens.items[i].start, parts, _is_alias(cursor), ""
            i = end
        else:
            i += 1


def _is_name(token: Token) -> bool:
    return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)


def _reference(tokens: Tokens, first: int, parts: Any, has_alias: Any, alias: Any) -> Reference:
    cursor = Tokens(tokens.text, tokens.items, first + 2 * len(parts) - 1)
    version, timestamp = _point_in_time(cursor)
    if version is not None or timestamp is not None:
        has_alias = has_alias or _is_alias(cursor)  # which the parser does not see after all of Spark's spellings
    alias = alias or (_alias(Tokens(cursor.text, cursor.items, cursor.at)) if has_alias else "")
    end = tokens.items[cursor.at - 1].end + 1
    return Reference(
        parts=parts,
        start=tokens.items[first].start,
        end=end,
        version=version,
        timestamp=timestamp,
        alias=alias,
        alias_at=None if has_alias or _is_table_statement(tokens, first) else _alias_place(cursor),
    )


def _is_alias(cursor: Tokens) -> bool:
    if cursor.is_done or cursor.looks_at_any("PIVOT", "UNPIVOT"):
        return False
    return cursor.looks_at("AS") or _is_name(cursor.items[cursor.at])


def _alias(cursor: Tokens) -> str:
    cursor.accept("AS")
    return "" if cursor.is_done else cursor.items[cursor.at].text


def _is_table_statement(tokens: Tokens, first: int) -> bool:
    """`TABLE shop.orders` stands for a query and takes no alias."""
    return first > 0 and tokens.items[first - 1].text.upper() == "TABLE"


def _point_in_time(cursor: Tokens) -> tuple[str | None, str | None]:
    before = cursor.at
    cursor.accept("FOR")
    kind = cursor.accept_any(*_VERSION, *_TIMESTAMP)
    if kind is None or not cursor.accept("AS", "OF"):
        cursor.at = before
        return None, None
    text = _operand(cursor)
    return (text, None) if kind in _VERSION else (None, text)


def _operand(cursor: Tokens) -> str:
    """A literal, or a call such as date_sub(current_date(), 1)."""
    first = cursor.at
    if cursor.looks_at("("):
        cursor.parenthesised()
        return cursor.slice(first, cursor.at)
    cursor.accept("-")
    cursor.at += 1
    if not cursor.is_done and cursor.items[cursor.at].token_type is TokenType.STRING:
        cursor.at += 1  # TIMESTAMP '2026-11-16'
    elif cursor.looks_at("("):
        cursor.parenthesised()
    return cursor.slice(first, cursor.at)


def _alias_place(cursor: Tokens) -> int:
    """After the name, and after TABLESAMPLE if there is one."""
    if cursor.accept("TABLESAMPLE"):
        cursor.parenthesised()
        if cursor.accept("REPEATABLE"):
            cursor.parenthesised()
    return cursor.items[cursor.at - 1].end + 1


# -- columns that name their table in full


def unqualified(tokens: Tokens, tables: set[tuple[str, ...]]) -> Tokens:
    """A statement in which columns say `t.id` for `shop.t.id`, at the same place. Only what comes after it changes."""
    text = tokens.text
    edits = _qualified_columns(text, {t for t in tables if len(t) > 1})
    if not edits:
        return tokens
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return Tokens(text, Tokens.of(text).items, tokens.at)


def owned(text: str, alias: str, columns: Collection[str]) -> str:
    """An expression in which these columns, if they name no table, are those of one."""
    tree = tree_of(text)
    if tree is None:
        return text
    lowered = {c.lower() for c in columns}
    places = [
        column.this.meta["start"]
        for column in tree.find_all(exp.Column)
        if not column.table
        and column.name.lower() in lowered
        and "start" in column.this.meta
        and column.find_ancestor(exp.Select, exp.Lambda) is None
    ]
    for place in sorted(places, reverse=True):
        text = f"{text[:place]}{quoted(alias)}.{text[place:]}"
    return text


def _qualified_columns(text: str, tables: set[tuple[str, ...]]) -> Sequence[Edit]:
    if not tables:
        return ()
    tree = tree_of(text)
    if tree is None:
        return ()
    lowered = {tuple(part.lower() for part in table) for table in tables}
    edits: list[Edit] = []
    for column in tree.find_all(exp.Column):
        parts = column.parts
        for table in lowered:
            head = parts[: len(table)]
            if len(parts) > len(table) and tuple(p.name.lower() for p in head) == table:
                edits.append((head[0].meta["start"], head[-1].meta["start"], ""))
    return edits
