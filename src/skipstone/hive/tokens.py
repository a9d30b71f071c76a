"""HiveQL text to tokens, each with its place, so that every complaint can point at one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from skipstone.hive.errors import HiveInvalid

_PATTERN: Final = re.compile(
    r"""(?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<quoted>`(?:[^`]|``)*`)
    |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?:[lsyLSY]|[bB][dD])?(?![\w$]))
    |(?P<word>(?:[^\W]|\$)+)
    |(?P<sign>[(),=.;])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a"}
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-3][0-7]{2}|.)", re.DOTALL)
_SHOWN_MAX: Final = 120


class TokenKind(Enum):
    WORD = "word"
    QUOTED = "quoted"
    TEXT = "text"
    NUMBER = "number"
    SIGN = "sign"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    kind: TokenKind
    text: str
    start: int

    def is_word(self, *words: str) -> bool:
        return self.kind is TokenKind.WORD and self.text.upper() in words

    def is_sign(self, sign: str) -> bool:
        return self.kind is TokenKind.SIGN and self.text == sign

    @property
    def shown(self) -> str:
        return "the end of the statement" if self.kind is TokenKind.END else repr(self.text)


def tokens_of(text: str) -> list[Token]:
    """All tokens, an end token last; one `;` at the end is no token."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _PATTERN.match(text, at)
        if found is None:
            what = "a closing quote" if text[at] in "'\"`" else "a name, a text, a number or a sign"
            raise syntax_error(text, at, f"expected {what}, got {text[at]!r}")
        kind = found.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind=TokenKind(kind), text=_value(kind, found.group()), start=at))
        at = found.end()
    if tokens and tokens[-1].is_sign(";"):
        tokens.pop()
    return [*tokens, Token(kind=TokenKind.END, text="", start=len(text.rstrip().rstrip(";").rstrip()))]


def syntax_error(statement: str, at: int, problem: str, *, hint: str = "") -> HiveInvalid:
    """An error that shows the line and puts a mark under the place."""
    line_start = statement.rfind("\n", 0, at) + 1
    line_end = statement.find("\n", at)
    line = statement[line_start : line_end if line_end >= 0 else None]
    line_number, column = statement.count("\n", 0, at) + 1, at - line_start
    cut = max(0, column - _SHOWN_MAX // 2)
    shown = line[cut : cut + _SHOWN_MAX]
    return HiveInvalid(
        f"Invalid HiveQL at line {line_number}, column {column + 1}: {problem}.{' ' + hint if hint else ''}\n"
        f"  {shown}\n  {' ' * (column - cut)}^"
    )


def quoted_name(name: str) -> str:
    """A name as it must be typed: back-quoted unless it is a plain word."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else "`" + name.replace("`", "``") + "`"


def _value(kind: str, raw: str) -> str:
    if kind == "quoted":
        return raw[1:-1].replace("``", "`")
    if kind == "text":
        return _joined(_ESCAPE.sub(_unescaped, raw[1:-1]))
    # The letters with which Hive tells a bigint, a smallint, a tinyint and a decimal.
    return raw.rstrip("lsyLSYbBdD") if kind == "number" else raw


def _joined(text: str) -> str:
    """Two escapes that are the halves of one character, as Java writes it, are that character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _unescaped(found: re.Match[str]) -> str:
    escape = found.group(1)
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    if len(escape) == 3:
        return chr(int(escape, 8))
    # A percent or underscore keeps its backslash: it is for LIKE to take away.
    return f"\\{escape}" if escape in "%_" else _ESCAPES.get(escape, escape)
