"""LIKE patterns."""

from __future__ import annotations

import time

import pyarrow.compute as pc
import pytest

from skipstone.errors import InvalidInput
from skipstone.predicate.like import like_re2, like_regex, literal_prefix


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("a%", ["a", "ab", "a\nb"], ["", "b", "ba"]),
        ("%a", ["a", "ba", "aa"], ["ab", ""]),
        ("%a%", ["a", "bab"], ["", "b"]),
        ("a_c", ["abc", "a😀c", "a\nc"], ["ac", "abbc"]),
        ("_", ["a", "é", "😀"], ["", "ab"]),
        ("", [""], ["a"]),
        ("%", ["", "anything\n"], []),
        ("a.c", ["a.c"], ["abc"]),
        ("a*[b]", ["a*[b]"], ["aab"]),
        (r"50\%", ["50%"], ["500", r"50\%"]),
        (r"a\_b", ["a_b"], ["aab"]),
        (r"a\\b", [r"a\b"], [r"a\\b"]),
        ("a%b%c", ["abc", "a-b-b-c-c"], ["acb", "ab"]),
        ("%ab", ["aab", "abab"], ["aba"]),
        ("a%%b", ["ab", "axb"], ["a"]),
        ("%a_", ["ab", "aab", "aaa"], ["a", "ba"]),
    ],
)
def test_pattern_matches(pattern: str, matching: list[str], other: list[str]) -> None:
    compiled = like_regex(pattern)
    assert [t for t in matching + other if compiled.fullmatch(t)] == matching
    found = pc.match_substring_regex(matching + other, like_re2(pattern))  # type: ignore[call-overload]
    assert found.to_pylist() == [True] * len(matching) + [False] * len(other)


def test_another_escape_character_leaves_backslash_alone() -> None:
    assert like_regex(r"a!%\b", "!").fullmatch(r"a%\b")


@pytest.mark.parametrize("pattern", ["a\\", "a\\b", "\\"])
def test_escape_before_nothing_special_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidInput, match="expected %, _ or"):
        like_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "prefix"), [("ap%", "ap"), ("%a", ""), ("_a", ""), ("", ""), (r"a\%b_", "a%b"), ("abc", "abc")]
)
def test_literal_prefix_is_the_text_before_the_first_wildcard(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix


def test_many_wildcards_do_not_backtrack() -> None:
    text = "a" * 3000 + "c"
    started = time.process_time()
    assert like_regex("%a" * 12 + "%b").fullmatch(text) is None
    assert time.process_time() - started < 5  # plain `.*` would take longer than the age of the universe
