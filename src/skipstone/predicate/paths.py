"""JSON paths as users write them (`$.a.b`, `$["a"].b`), brought to the normalised form that bounds use."""

from __future__ import annotations

import re
from typing import Final

from skipstone.errors import InvalidInput
from skipstone.metadata.values.variant_paths import format_path

_STEP: Final = re.compile(r"""\.(?P<plain>[^.\['"\]]+)|\[(?P<quote>['"])(?P<quoted>(?:(?!(?P=quote)).)*)(?P=quote)\]""")


def normalise_path(path: str) -> str:
    """The normalised path of a field inside a variant."""
    if not path.startswith("$"):
        raise InvalidInput(f"Invalid variant path {path!r}: expected it to start with $, as in $.a.b.")
    names: list[str] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise InvalidInput(
                f"Invalid variant path {path!r}: expected .name or ['name'] at position {at}, got {path[at:]!r}."
            )
        names.append(step["plain"] if step["plain"] is not None else step["quoted"])
        at = step.end()
    return format_path(names)
