"""SQL LIKE patterns: what they match, and what their fixed beginning proves.

`%` stands for any text, `_` for one character, and the escape character makes the next one literal.
"""

from __future__ import annotations

import re
from functools import lru_cache

from skipstone.errors import InvalidInput
from skipstone.predicate.nodes import (
    FALSE,
    Compare,
    NotNull,
    NotStartsWith,
    Op,
    Predicate,
    StartsWith,
    Term,
)


@lru_cache(maxsize=256)
def like_parts(pattern: str, escape: str) -> tuple[str | None, ...]:
    """The parts of a pattern: a literal text, None for `%`, or "" for `_`."""
    parts: list[str | None] = []
    literal: list[str] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == escape:
            if i + 1 >= len(pattern) or pattern[i + 1] not in ("%", "_", escape):
                raise InvalidInput(
                    f"Invalid LIKE pattern {pattern!r}: expected %, _ or {escape} after the escape character at "
                    f"position {i}."
                )
            literal.append(pattern[i + 1])
            i += 2
            continue
        if char in "%_":
            if literal:
                parts.append("".join(literal))
                literal = []
            parts.append(None if char == "%" else "")
        else:
            literal.append(char)
        i += 1
    if literal:
        parts.append("".join(literal))
    return tuple(parts)


def literal_prefix(pattern: str, escape: str = "\\") -> str:
    """The text every match begins with."""
    parts = like_parts(pattern, escape)
    return parts[0] if parts and parts[0] else ""


@lru_cache(maxsize=256)
def like_regex(pattern: str, escape: str = "\\") -> re.Pattern[str]:
    """What full matches of the pattern are, for Python."""
    runs = _between_percents(pattern, escape)
    # After a `%` the first place where the next run fits is as good as any later one, so nothing is ever tried again:
    # the time is bounded by text times pattern, where plain `.*` would backtrack over all places of all runs.
    body = runs[0] + "".join(f"(?>.*?{run})" for run in runs[1:-1])
    return re.compile(body if len(runs) == 1 else f"{body}.*{runs[-1]}", re.DOTALL)


@lru_cache(maxsize=256)
def like_re2(pattern: str, escape: str = "\\") -> str:
    """The pattern as a search for RE2, which never backtracks."""
    return rf"(?s)\A{'.*'.join(_between_percents(pattern, escape))}\z"


def _between_percents(pattern: str, escape: str) -> list[str]:
    """The regular expressions of the runs before, between and after the `%`s."""
    runs = [""]
    for part in like_parts(pattern, escape):
        if part is None:
            runs.append("")
        else:
            runs[-1] += re.escape(part) if part else "."
    # Several `%` in a row say no more than one.
    return [runs[0], *(run for run in runs[1:-1] if run), *runs[1:][-1:]]


def simplify_like(term: Term, pattern: str, escape: str, *, negated: bool) -> Predicate | None:
    """The pattern as equality or prefix test where it is no more than that; None otherwise."""
    parts = like_parts(pattern, escape)
    if not parts:
        return Compare(Op.NE if negated else Op.EQ, term, "")
    if all(p is None for p in parts):
        return FALSE if negated else NotNull(term)
    if len(parts) == 1 and parts[0]:
        return Compare(Op.NE if negated else Op.EQ, term, parts[0])
    if parts[0] and all(p is None for p in parts[1:]):
        return NotStartsWith(term, parts[0]) if negated else StartsWith(term, parts[0])
    return None
