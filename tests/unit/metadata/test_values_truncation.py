"""Truncated bounds: the cases where the last character cannot simply be raised."""

from __future__ import annotations

from typing import Any

import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.types import BINARY, LONG, STRING, FixedType, PrimitiveType
from skipstone.metadata.values import truncate_lower, truncate_upper


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [
        ("ab", "ab", "ab"),
        ("abc", "abc", "abc"),
        ("abcd", "abc", "abd"),
        ("", "", ""),
        ("ab\ud7ffx", "ab\ud7ff", "ab\ue000"),  # the surrogates are no characters
        ("ab\U0010ffffx", "ab\U0010ffff", "ac"),  # nothing above the last code point: raise the one before
        ("a\U0010ffff\U0010ffffx", "a\U0010ffff\U0010ffff", "b"),
        ("\U0010ffff" * 4, "\U0010ffff" * 3, None),
        ("\U0010ffff" * 3, "\U0010ffff" * 3, "\U0010ffff" * 3),
        ("😀😀😀😀", "😀😀😀", "😀😀😁"),
        ("ab\uffffx", "ab\uffff", "ab\U00010000"),
    ],
)
def test_text_is_cut_at_three_code_points(value: str, lower: str, upper: str | None) -> None:
    assert truncate_lower(STRING, value, 3) == lower
    assert truncate_upper(STRING, value, 3) == upper


@pytest.mark.parametrize(
    ("value", "lower", "upper"),
    [
        (b"\x01\x02", b"\x01\x02", b"\x01\x02"),
        (b"\x01\x02\x03", b"\x01\x02", b"\x01\x03"),
        (b"\x01\xff\x03", b"\x01\xff", b"\x02"),
        (b"\xff\xff\x00", b"\xff\xff", None),
        (b"\xff\xff", b"\xff\xff", b"\xff\xff"),
    ],
)
@pytest.mark.parametrize("type_", [BINARY, FixedType(3)], ids=str)
def test_bytes_are_cut_at_two(type_: PrimitiveType, value: bytes, lower: bytes, upper: bytes | None) -> None:
    assert truncate_lower(type_, value, 2) == lower
    assert truncate_upper(type_, value, 2) == upper


def test_other_types_are_never_cut() -> None:
    assert truncate_lower(LONG, 2**40, 1) == truncate_upper(LONG, 2**40, 1) == 2**40


@pytest.mark.parametrize("cut", [truncate_lower, truncate_upper])
def test_a_width_below_one_is_refused(cut: Any) -> None:
    with pytest.raises(InvalidInput, match="expected 1 or more, got 0"):
        cut(STRING, "a", 0)
