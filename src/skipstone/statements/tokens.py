"""A statement as tokens that know where they stand in the text.

What a statement is made of is read word by word; queries, conditions and expressions are cut out of the text as they
are and left to Spark. Law: an error points at the place and says what was expected there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TypeVar

from sqlglot import TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from skipstone.errors import InvalidInput

_OPENS: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSES: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_NO_NAME: Final = frozenset({TokenType.STRING, TokenType.NUMBER}) | _OPENS | _CLOSES
SHOWN_MAX: Final = 160

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text; `end` is its last character."""

    token_type: TokenType
    text: str
    start: int
    end: int


@dataclass(slots=True)
class Tokens:
    """A place in a statement, moving from left to right."""

    text: str
    items: Sequence[Token]
    at: int = 0

    @classmethod
    def of(cls, text: str) -> Tokens:
        try:
            # The tokenizer takes some statements as one word; behind a parenthesis it sees no statement.
            raw = Spark().tokenize(f"({text}")[1:]
        except SqlglotError as error:
            raise InvalidInput(f"Invalid statement {shown(text)}: {str(error).splitlines()[0]}") from error
        items = [word for t in raw for word in _words(Token(t.token_type, t.text, t.start - 1, t.end - 1))]
        while items and items[-1].token_type is TokenType.SEMICOLON:
            items.pop()
        if any(t.token_type is TokenType.SEMICOLON for t in items):
            raise InvalidInput(f"Invalid statement {shown(text)}: expected one statement, got several. Run them apart.")
        return cls(text, items)

    # -- looking

    @property
    def is_done(self) -> bool:
        return self.at >= len(self.items)

    def looks_at(self, *words: str) -> bool:
        """Whether these words come next, in any case."""
        return all(self._word(self.at + i) == word for i, word in enumerate(words))

    def looks_at_any(self, *words: str) -> bool:
        return any(self.looks_at(word) for word in words)

    def _word(self, place: int) -> str:
        if place >= len(self.items):
            return ""
        token = self.items[place]
        return "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()

    # -- taking

    def accept(self, *words: str) -> bool:
        """Take these words if they come next."""
        if not self.looks_at(*words):
            return False
        self.at += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Take one of these words if it comes next."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str, then: str | None = None) -> None:
        for word in words:
            if not self.accept(word):
                self.fail(then or word)

    def name(self, what: str = "a name") -> str:
        """One identifier, quoted or not."""
        if self.is_done or self.items[self.at].token_type in _NO_NAME or not self._is_word(self.items[self.at]):
            self.fail(what)
        token = self.items[self.at]
        self.at += 1
        return token.text

    def _is_word(self, token: Token) -> bool:
        return token.token_type is TokenType.IDENTIFIER or token.text.replace("_", "a").isalnum()

    def names(self, what: str = "a table name") -> tuple[str, ...]:
        """Identifiers with dots between."""
        parts = [self.name(what)]
        while self.accept("."):
            parts.append(self.name(what))
        return tuple(parts)

    def string(self, what: str) -> str:
        """A text in quotes; neighbours are joined, as Spark does."""
        if not self._is_string():
            self.fail(what)
        parts = []
        while self._is_string():
            parts.append(self.items[self.at].text)
            self.at += 1
        return "".join(parts)

    def _is_string(self) -> bool:
        return not self.is_done and self.items[self.at].token_type is TokenType.STRING

    def integer(self, what: str) -> int:
        sign = -1 if self.accept("-") else 1
        if self.is_done or self.items[self.at].token_type is not TokenType.NUMBER:
            self.fail(what)
        text = self.items[self.at].text
        if not text.isdigit():
            self.fail(what)
        self.at += 1
        if self.accept("::"):  # the suffix L comes as a cast
            self.at += 1
        return sign * int(text)

    def value(self, what: str) -> str:
        """The text of a property value: a string, a number or a word."""
        if self._is_string():
            return self.string(what)
        text = self.until(",", ")")
        if not text:
            self.fail(what)
        return text

    # -- cutting text out

    def rest(self) -> str:
        """All the text from here on."""
        start = self.place
        self.at = len(self.items)
        return self.text[start : self._end_of_text()]

    def until(self, *words: str, in_types: bool = False) -> str:
        """The text up to one of these words outside parentheses, or to the end; in types, also outside `<…>`."""
        first, depth, cases = self.at, 0, 0
        while not self.is_done:
            token = self.items[self.at]
            if depth == 0 and cases == 0 and any(self.looks_at(*w.split()) for w in words):
                break
            depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
            if in_types and token.token_type is not TokenType.IDENTIFIER:
                depth += token.text.count("<") - token.text.count(">")
            if depth < 0:
                break
            cases += self.looks_at("CASE") - int(self.looks_at("END") and cases > 0)
            self.at += 1
        return self.slice(first, self.at)

    def parenthesised(self) -> str:
        """The text between the parenthesis here and its partner."""
        self.expect("(")
        first = self.at
        inner = self.until(")")
        if self.is_done:
            self.at = first
            self.fail("a closing parenthesis")
        self.expect(")")
        return inner

    def listed(self, item: Callable[[Tokens], Item]) -> list[Item]:
        """Items between commas in parentheses."""
        self.expect("(")
        found = [item(self)]
        while self.accept(","):
            found.append(item(self))
        self.expect(")", then="a comma or a closing parenthesis")
        return found

    def slice(self, first: int, end: int) -> str:
        """The text of the tokens from `first` up to, not including, `end`."""
        if first >= end:
            return ""
        return self.text[self.items[first].start : self.items[end - 1].end + 1]

    @property
    def place(self) -> int:
        """Where the next token begins in the text."""
        return self._end_of_text() if self.is_done else self.items[self.at].start

    def _end_of_text(self) -> int:
        return self.items[-1].end + 1 if self.items else len(self.text)

    # -- refusing

    def end(self) -> None:
        if not self.is_done:
            self.fail("the end of the statement")

    def fail(self, expected: str) -> NoReturn:
        """An error that points here."""
        got = "the end of the statement" if self.is_done else repr(self.items[self.at].text)
        raise InvalidInput(f"Invalid statement: expected {expected}, got {got}.\n{pointed(self.text, self.place)}")


def _words(token: Token) -> Iterator[Token]:
    """A keyword of several words, such as PARTITIONED BY, as single words."""
    if " " not in token.text or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        yield token
        return
    for word in re.finditer(r"\S+", token.text):
        yield Token(TokenType.VAR, word[0], token.start + word.start(), token.start + word.end() - 1)


def pointed(text: str, place: int) -> str:
    """The line of a text with a mark under a place in it."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : end if end >= 0 else len(text)]
    skipped = max(0, place - start - SHOWN_MAX // 2)
    number = text.count("\n", 0, place) + 1
    head = f"  line {number}: "
    mark = " " * (len(head) + place - start - skipped) + "^"
    return f"{head}{line[skipped : skipped + SHOWN_MAX]}\n{mark}"


def shown(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= SHOWN_MAX else f"{flat[:SHOWN_MAX]}…")
