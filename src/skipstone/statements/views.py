"""Views over our tables: text that is put in where the view is named, so that pruning reaches through it.

A view that Spark keeps itself would hold the files of the day it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from skipstone.errors import InvalidInput, Unsupported
from skipstone.spark.scan_names import quoted
from skipstone.statements.names import Names
from skipstone.statements.references import find_references, rewrite
from skipstone.statements.tokens import Tokens

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


def view_name(tokens: Tokens, verb: str) -> str:
    """A view's name. Views are the session's: a catalog keeps tables and nothing else."""
    parts = tokens.names("a view's name")
    if len(parts) > 1:
        raise Unsupported(
            f"Cannot {verb} view {'.'.join(parts)}: expected a name without a namespace, because catalogs keep tables "
            f"only. {verb.upper()} VIEW {parts[-1]} is for the session."
        )
    return parts[0].lower()


def _is_view(names: Names, parts: tuple[str, ...]) -> bool:
    return len(parts) == 1 and parts[0].lower() in names.attached.views


def with_full_names(names: Names, text: str) -> str:
    """A view's text with the namespace of the day in the names of tables, so that USE does not change what it means."""
    namespace = names.attached.namespace
    bare = [r for r in find_references(text) if len(r.parts) == 1 and not _is_view(names, r.parts)]
    ours = {r for r in bare if namespace and names.find(r.parts) is not None}
    return rewrite(text, {r: ".".join(quoted(p) for p in (*namespace, *r.parts)) for r in ours})


def refuse_itself(views: Mapping[str, str], name: str, text: str) -> None:
    """A view that names itself, also through others, has no meaning."""
    pending, seen = [text], set[str]()
    while pending:
        for reference in find_references(pending.pop()):
            other = reference.parts[0].lower()
            if len(reference.parts) > 1 or other in seen:
                continue
            if other == name:
                raise InvalidInput(f"Cannot create view {name}: it would name itself.")
            if other in views:
                seen.add(other)
                pending.append(views[other])
