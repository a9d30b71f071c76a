"""Statements as tokens: what is taken, what is cut out, and errors that point at the place."""

from __future__ import annotations

import pytest

from skipstone.errors import InvalidInput
from skipstone.statements.tokens import Tokens


def test_keywords_of_several_words_are_taken_word_by_word() -> None:
    tokens = Tokens.of("partitioned by (a) order  by b")
    assert tokens.accept("PARTITIONED", "BY")
    assert tokens.parenthesised() == "a"
    assert tokens.accept("ORDER", "BY")
    assert tokens.name() == "b"
    assert tokens.is_done


def test_statements_that_the_tokenizer_swallows_are_split() -> None:
    assert [t.text for t in Tokens.of("SHOW TABLES IN x LIKE 'a%'").items] == [
        "SHOW",
        "TABLES",
        "IN",
        "x",
        "LIKE",
        "a%",
    ]


def test_text_is_cut_up_to_a_word_outside_parentheses_and_case() -> None:
    tokens = Tokens.of("f(a, when) + case when b then 1 end when matched")
    assert tokens.until("WHEN") == "f(a, when) + case when b then 1 end"
    assert tokens.looks_at("WHEN", "MATCHED")


def test_types_hold_commas_in_angles() -> None:
    tokens = Tokens.of("struct<a: int, b: map<string, array<int>>> not null, c int")
    assert tokens.until("NOT NULL", ",", in_types=True) == "struct<a: int, b: map<string, array<int>>>"


def test_a_quoted_word_is_no_keyword() -> None:
    tokens = Tokens.of("`select` x")
    assert not tokens.looks_at("SELECT")
    assert tokens.name() == "select"


def test_names_have_dots_and_quotes() -> None:
    assert Tokens.of("lake.`we ird`.t").names() == ("lake", "we ird", "t")


def test_an_error_points_at_the_place_in_its_line() -> None:
    tokens = Tokens.of("ALTER TABLE t\n  FROBNICATE x")
    tokens.at = 3
    with pytest.raises(InvalidInput) as caught:
        tokens.fail("ADD or DROP")
    first, line, mark = str(caught.value).splitlines()
    assert first == "Invalid statement: expected ADD or DROP, got 'FROBNICATE'."
    assert line == "  line 2:   FROBNICATE x"
    assert mark.index("^") == line.index("FROBNICATE")


def test_the_end_of_the_statement_is_named() -> None:
    tokens = Tokens.of("DELETE")
    tokens.expect("DELETE")
    with pytest.raises(InvalidInput, match="expected FROM, got the end of the statement"):
        tokens.expect("FROM")


def test_several_statements_are_refused_and_a_last_semicolon_is_not() -> None:
    assert len(Tokens.of("SELECT 1;").items) == 2
    with pytest.raises(InvalidInput, match="expected one statement"):
        Tokens.of("SELECT 1; SELECT 2")


def test_neighbouring_strings_are_one() -> None:
    assert Tokens.of("'a' 'b'").string("a text") == "ab"
