"""`*` in a query that names metadata columns: it stands for a table's own columns, as if nobody had asked for others.

A table shows its metadata columns where a query names one, and Spark takes every column of a relation for `*`. So each
`*` gets an EXCEPT. It sees the tables of its own SELECT: those between the same parentheses, in the same part of a
UNION.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import TokenType

from skipstone.spark.scan_names import quoted
from skipstone.statements.tokens import Token, Tokens

_BEFORE_A_STAR: Final = frozenset({"SELECT", "DISTINCT", "ALL", ",", "(", "*/"})
_BEGINS_A_QUERY: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
_SET_OPERATORS: Final = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
_BEGINS_A_PART: Final = frozenset({"SELECT", "FROM", "TABLE", "VALUES", "(", "ALL", "DISTINCT"})
Scope = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table in a text: where it stands, what it is called there, and its columns that `*` leaves out."""

    start: int
    name: str
    hidden: Sequence[str]


def star_edits(text: str, sources: Sequence[Source]) -> list[tuple[int, int, str]]:
    """What to put where in the text."""
    hiding = [s for s in sources if s.hidden]
    if not hiding:
        return []
    tokens = Tokens.of(text)
    scopes = _scopes(tokens.items)
    places = {token.start: i for i, token in enumerate(tokens.items)}
    found: dict[Scope, list[Source]] = {}
    for source in hiding:
        if source.start in places:
            found.setdefault(scopes[places[source.start]], []).append(source)
    edits = []
    for i, token in enumerate(tokens.items):
        if token.token_type is TokenType.STAR and _is_star(tokens.items, i):
            columns = _left_out(tokens.items, i, found.get(scopes[i], ()))
            if columns:
                edits.append(_edit(Tokens(text, tokens.items, i + 1), columns))
    return edits


def _is_star(items: Sequence[Token], place: int) -> bool:
    """Whether it stands for columns: not for a product, and not in `count(*)`."""
    before = items[place - 1] if place else None
    if before is None or before.token_type is TokenType.DOT:
        return before is not None
    counts = place > 1 and before.text == "(" and items[place - 2].text.upper() == "COUNT"
    return before.text.upper() in _BEFORE_A_STAR and not counts


def _left_out(items: Sequence[Token], place: int, sources: Sequence[Source]) -> list[str]:
    if items[place - 1].token_type is TokenType.DOT:
        name = items[place - 2].text.lower()
        return [quoted(c) for s in sources if s.name.lower() == name for c in s.hidden]
    return [f"{quoted(s.name)}.{quoted(c)}" for s in sources for c in s.hidden]


def _edit(after: Tokens, columns: Sequence[str]) -> tuple[int, int, str]:
    listed = ", ".join(columns)
    if after.looks_at("EXCEPT", "(") and _is_after_a_star(after.items, after.at):
        after.at += 1
        after.parenthesised()
        end = after.items[after.at - 1].start
        return end, end, f", {listed}"
    end = after.items[after.at - 1].end + 1
    return end, end, f" EXCEPT ({listed})"


def _scopes(items: Sequence[Token]) -> list[Scope]:
    """For every token the parentheses around the query that it is in, and the part of a set operation there."""
    scopes: list[Scope] = []
    around: list[Scope] = [(-1, 0)]
    parts: dict[int, int] = {}
    for i, token in enumerate(items):
        word = "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()
        follows = items[i + 1].text.upper() if i + 1 < len(items) else ""
        if word in _SET_OPERATORS and follows in _BEGINS_A_PART and not _is_after_a_star(items, i):
            query = around[-1][0]
            parts[query] = parts.get(query, 0) + 1
            around[-1] = (query, parts[query])
        scopes.append(around[-1])
        if token.text == "(" and token.token_type is TokenType.L_PAREN:
            around.append((i, 0) if _opens_a_query(items, i) else around[-1])
        elif token.text == ")" and token.token_type is TokenType.R_PAREN and len(around) > 1:
            around.pop()
    return scopes


def _opens_a_query(items: Sequence[Token], place: int) -> bool:
    """Whether a query is in these parentheses, and not tables that are joined or a function's arguments."""
    while place < len(items) and items[place].text == "(":
        place += 1
    return place < len(items) and items[place].text.upper() in _BEGINS_A_QUERY


def _is_after_a_star(items: Sequence[Token], place: int) -> bool:
    """`* EXCEPT (a)` is no set operation, unless a query follows."""
    return place > 0 and items[place - 1].token_type is TokenType.STAR and not _opens_a_query(items, place + 1)
