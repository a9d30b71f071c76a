"""Small repairs of SQL text before parsing.

Two things Spark understands and the parser does not: a doubled quote inside a string (`'it''s'`), and `truncate` as a
function rather than a statement.
"""

from __future__ import annotations

import re
from typing import Final

TRUNCATE: Final = "skipstone_truncate"
_PIECE: Final = re.compile(
    r"""(?P<string>'(?:[^'\\]|\\.|'')*')"""
    r"""|(?P<double>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<name>`(?:[^`]|``)*`)"""
    r"""|(?P<truncate>\btruncate(?=\s*\())""",
    re.IGNORECASE | re.DOTALL,
)


def prepare(text: str) -> str:
    """The text as the parser wants it, with the same meaning."""
    return _PIECE.sub(_repair, text)


def _repair(piece: re.Match[str]) -> str:
    if piece["string"] is not None:
        return "'" + piece["string"][1:-1].replace("''", "\\'") + "'"
    return TRUNCATE if piece["truncate"] is not None else piece[0]
