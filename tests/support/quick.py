"""Fewer examples of each property for the fast gate: `pytest --hypothesis-profile quick`. `make test` tries all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest
from hypothesis import settings

PROFILE: Final = "quick"
SHARE: Final = 4  # one example of so many
EXAMPLES_MIN: Final = 5
# A profile gives way to the number each test names, so that number is changed where Hypothesis keeps it.
_KEPT: Final = "_hypothesis_internal_use_settings"

settings.register_profile(PROFILE)


def is_quick() -> bool:
    return bool(settings.get_current_profile_name() == PROFILE)


def fewer(examples: int) -> int:
    """How many of so many examples to try."""
    return max(EXAMPLES_MIN, examples // SHARE) if is_quick() else examples


def try_fewer_examples(items: Iterable[pytest.Item]) -> None:
    """Functions and state machines alike, each once, however many parameters it is collected with."""
    places = {(getattr(item, "obj", None), _KEPT) for item in items} | {
        (getattr(item, "cls", None), "settings") for item in items
    }
    for owner, name in places:
        named = getattr(owner, name, None)
        if isinstance(named, settings):
            setattr(owner, name, settings(named, max_examples=min(named.max_examples, fewer(named.max_examples))))
