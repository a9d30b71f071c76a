"""`IDENTIFIER('shop.orders')`: a name that is the value of an expression.

Law: the clause means what the name would mean in its place. So it is replaced by the name before names are looked for.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.errors import PySparkException
from sqlglot import TokenType

from skipstone.spark.scan_names import quoted
from skipstone.statements.tokens import Tokens

_CLAUSE: Final = "IDENTIFIER"


def with_plain_names(spark: Any, text: str) -> str:
    """The text without the clause. One that has no constant value stays, for Spark to refuse."""
    if _CLAUSE not in text.upper():
        return text
    tokens = Tokens.of(text)
    edits: list[tuple[int, int, str]] = []
    for i, token in enumerate(tokens.items):
        tokens.at = i
        if token.token_type is TokenType.STRING or not tokens.accept(_CLAUSE) or not tokens.looks_at("("):
            continue
        name = _name(spark, tokens.parenthesised())
        if name is not None:
            edits.append((token.start, tokens.items[tokens.at - 1].end + 1, name))
    for start, end, name in reversed(edits):
        text = text[:start] + name + text[end:]
    return text


def _name(spark: Any, expression: str) -> str | None:
    try:
        value = spark.sql(f"SELECT {expression}").first()[0]
        parts = spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(value)
    except (PySparkException, TypeError):
        return None
    return ".".join(quoted(str(parts.apply(i))) for i in range(parts.size()))
