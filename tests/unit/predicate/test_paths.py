"""Paths into variants as users write them."""

from __future__ import annotations

import pytest

from skipstone.errors import InvalidInput
from skipstone.predicate.paths import normalise_path


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("$", "$"),
        ("$.a", "$['a']"),
        ("$.a.b", "$['a']['b']"),
        ("$['a']['b']", "$['a']['b']"),
        ('$["a"].b', "$['a']['b']"),
        ("$['a.b']", "$['a.b']"),
        ("$.é😀", "$['é😀']"),
        ("$['a b']", "$['a b']"),
    ],
)
def test_path_is_normalised(written: str, normalised: str) -> None:
    assert normalise_path(written) == normalised
    assert normalise_path(normalised) == normalised


@pytest.mark.parametrize("written", ["", "a", "a.b", "$a", "$.", "$..a", "$[0]", "$['a", "$.a[*]", "$['a'"])
def test_path_that_names_no_field_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput, match=r"^Invalid variant path "):
        normalise_path(written)
