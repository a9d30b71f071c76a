"""Clauses that several statements share: properties, partition terms, sort terms, time spans."""

from __future__ import annotations

from typing import Final

from skipstone.statements.tokens import Tokens

_SPANS_MS: Final = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000}


def parse_properties(tokens: Tokens) -> dict[str, str]:
    """`('key' = 'value', dotted.key = 3)`."""
    tokens.expect("(")
    found: dict[str, str] = {}
    while not tokens.accept(")"):
        key = parse_key(tokens)
        tokens.accept("=")
        found[key] = tokens.value("a value")
        if not tokens.accept(",") and not tokens.looks_at(")"):
            tokens.fail("a comma or a closing parenthesis")
    return found


def parse_keys(tokens: Tokens) -> list[str]:
    return tokens.listed(parse_key)


def parse_key(tokens: Tokens) -> str:
    """A property's name: a text in quotes, or words with dots and dashes between."""
    if not tokens.is_done and tokens.items[tokens.at].token_type.name == "STRING":
        return tokens.string("a property name")
    first = tokens.at
    tokens.name("a property name")
    while tokens.accept(".") or tokens.accept("-"):
        tokens.name("a property name")
    return tokens.slice(first, tokens.at).replace("`", "")


def parse_terms(tokens: Tokens) -> list[str]:
    """The texts between commas in parentheses: `(state, days(ts), bucket(16, id))`."""
    return tokens.listed(lambda t: parse_term_text(t, ",", ")"))


def parse_term_text(tokens: Tokens, *ends: str) -> str:
    text = tokens.until(*ends)
    if not text:
        tokens.fail("a column or a transform of one, such as days(ts)")
    return text


def parse_span_ms(tokens: Tokens) -> int:
    """`7 DAYS` in milliseconds."""
    number = tokens.integer("a number")
    span = next((ms for word, ms in _SPANS_MS.items() if tokens.accept_any(word, f"{word}S")), None)
    if span is None:
        tokens.fail("DAYS, HOURS or MINUTES")
    return number * span
