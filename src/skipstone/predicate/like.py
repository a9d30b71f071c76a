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
    """The pattern as literal runs (text) and wildcards: "%" and "_" as one-character markers in tuples' stead.

    A part is a literal text, or None for `%`, or "" for `_`.
    """
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
    body = "".join(".*" if p is None else "." if p == "" else re.escape(p) for p in like_parts(pattern, escape))
    return re.compile(body, re.DOTALL)


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
