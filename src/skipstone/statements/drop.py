"""DROP: tables, views and namespaces."""

from __future__ import annotations

from skipstone.errors import NotFound, what_exists
from skipstone.statements.names import Names
from skipstone.statements.tokens import Tokens
from skipstone.statements.views import view_name


def drop(names: Names, tokens: Tokens) -> None:
    """What comes after DROP."""
    kind = tokens.accept_any("TABLE", "VIEW", "NAMESPACE", "DATABASE", "SCHEMA")
    if kind is None:
        tokens.fail("TABLE, VIEW or NAMESPACE")
    checks = tokens.accept("IF", "EXISTS")
    if kind == "TABLE":
        _table(names, tokens, checks)
    elif kind == "VIEW":
        _view(names, tokens, checks)
    else:
        _namespace(names, tokens, checks)


def _table(names: Names, tokens: Tokens, checks: bool) -> None:
    lake, identifier = names.place(tokens.names())
    purges = tokens.accept("PURGE")
    tokens.end()
    if not checks or lake.table_exists(identifier):
        lake.drop_table(identifier, purge=purges)


def _view(names: Names, tokens: Tokens, checks: bool) -> None:
    name = view_name(tokens, "drop")
    tokens.end()
    views = names.attached.views
    if views.pop(name, None) is None and not checks:
        raise NotFound(f"Cannot drop view {name}: there is none. {what_exists('Views', name, views)}")


def _namespace(names: Names, tokens: Tokens, checks: bool) -> None:
    lake, namespace = names.namespace(tokens.names("a namespace"))
    cascades = tokens.accept("CASCADE")
    tokens.accept("RESTRICT")
    tokens.end()
    if checks and ".".join(namespace) not in lake.list_namespaces(namespace[:-1]):
        return
    if cascades:
        for table in lake.list_tables(namespace):
            lake.drop_table(table)
    lake.drop_namespace(namespace)
