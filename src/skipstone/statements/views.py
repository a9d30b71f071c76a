"""Views over our tables: text that is put in where the view is named, so that pruning reaches through it.

A view that Spark keeps itself would hold the files of the day it was made.
"""

from __future__ import annotations

from typing import Final

from skipstone.errors import InvalidInput
from skipstone.statements.names import Names
from skipstone.statements.references import find_references, rewrite

DEPTH_MAX: Final = 50


def expand_views(names: Names, text: str) -> str:
    """The text with the session's views as subqueries."""
    views = names.attached.views
    for _ in range(DEPTH_MAX):
        named = find_references(text) if views else []
        used = {r: views[r.parts[0].lower()] for r in named if _is_view(names, r.parts)}
        if not used:
            return text
        text = rewrite(text, {r: f"({body})" for r, body in used.items()})
    raise InvalidInput(f"Cannot expand views: expected at most {DEPTH_MAX} levels. Does a view name itself?")


def _is_view(names: Names, parts: tuple[str, ...]) -> bool:
    return len(parts) == 1 and parts[0].lower() in names.attached.views
