"""`current_date`, `current_timestamp` and `now` as the literals that they are for one run of a query.

A query is planned twice; if the clock moved in between, the plan for pruning and the plan that runs would disagree.
"""

from __future__ import annotations

from typing import Any, Final

from sqlglot import TokenType

from skipstone.statements.tokens import Tokens

_FIXED: Final = {
    "CURRENT_DATE": "date", "CURDATE": "date", "CURRENT_TIMESTAMP": "timestamp", "NOW": "timestamp",
    "LOCALTIMESTAMP": "local", "UNIX_TIMESTAMP": "seconds",
}  # fmt: skip
_WITHOUT_PARENTHESES: Final = frozenset({"CURRENT_DATE", "CURRENT_TIMESTAMP"})
_NOW: Final = (
    "SELECT CAST(current_date() AS STRING), unix_micros(current_timestamp()), CAST(localtimestamp() AS STRING), "
    "unix_timestamp()"
)
# A moment that has no literal of its own: such a query is not pruned.
MOVING: Final = "CURRENT_TIME"


def fixed_moments(spark: Any, text: str) -> tuple[str, bool]:
    """The text with the present as literals, and whether it can be planned twice with one meaning."""
    words = {t.text.upper() for t in Tokens.of(text).items if t.token_type is not TokenType.STRING}
    if MOVING in words:
        return text, False
    if _FIXED.keys().isdisjoint(words):
        return text, True
    day, micros, local, seconds = spark.sql(_NOW).first()
    literals = {
        "date": f"DATE'{day}'",
        "timestamp": f"timestamp_micros({micros}L)",
        "local": f"TIMESTAMP_NTZ'{local}'",
        "seconds": f"{seconds}L",
    }
    return _replaced(text, literals), True


def _replaced(text: str, literals: dict[str, str]) -> str:
    tokens = Tokens.of(text)
    edits: list[tuple[int, int, str]] = []
    for i, token in enumerate(tokens.items):
        word = token.text.upper()
        kind = _FIXED.get(word) if token.token_type is not TokenType.STRING else None
        if kind is None or _is_part_of_a_name(tokens, i):
            continue
        called = [t.text for t in tokens.items[i + 1 : i + 3]] == ["(", ")"]
        if not called and word not in _WITHOUT_PARENTHESES:
            continue
        end = tokens.items[i + 2].end if called else token.end
        edits.append((token.start, end + 1, literals[kind]))
    for start, end, literal in reversed(edits):
        text = text[:start] + literal + text[end:]
    return text


def _is_part_of_a_name(tokens: Tokens, i: int) -> bool:
    """Whether this is a column, or the name that AS gives one."""
    token = tokens.items[i]
    beside = [tokens.items[j].token_type for j in (i - 1, i + 1) if 0 <= j < len(tokens.items)]
    is_alias = i > 0 and tokens.items[i - 1].text.upper() == "AS"
    return token.token_type is TokenType.IDENTIFIER or TokenType.DOT in beside or is_alias
