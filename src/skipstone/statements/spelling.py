"""Which of the names there are a name in a statement means: the one so spelled, else the only one but for its case.

Names that differ by case only are there in sessions that tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable


def meant(name: str, there: Iterable[str]) -> str | None:
    """The name that is meant; None if there is none, or none in particular."""
    alike = [n for n in there if n.lower() == name.lower()]
    if name in alike:
        return name
    return alike[0] if len(alike) == 1 else None
