"""One SQL statement: what kind it is, and who carries it out.

What we do not know is Spark's: it is passed on as it is, unless it names one of our tables.
"""

from __future__ import annotations

from typing import Any, Final

from skipstone.errors import Unsupported
from skipstone.lake import Lake
from skipstone.spark.catalogs import Attached, attached_to
from skipstone.spark.session import active, prepared
from skipstone.statements.alter import alter
from skipstone.statements.create import create
from skipstone.statements.describe import describe
from skipstone.statements.drop import drop
from skipstone.statements.explain import explain
from skipstone.statements.insert import insert
from skipstone.statements.merging import merge
from skipstone.statements.names import Names
from skipstone.statements.query import plan_query, run_query, spark_sql
from skipstone.statements.references import find_references
from skipstone.statements.results import nothing
from skipstone.statements.row_changes import delete, truncate, update
from skipstone.statements.show import show
from skipstone.statements.tokens import Tokens

_QUERIES: Final = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")


def sql(spark: Any, text: str, *, catalog: Lake | None = None) -> Any:
    """Run a statement over our tables on Spark and return its answer as a DataFrame.

    Names are looked up in `catalog`, or in the catalogs attached to the session.
    """
    session = prepared(active(spark))
    attached = attached_to(session)
    if catalog is not None:
        attached = Attached(lakes={**attached.lakes, "": catalog}, default="", namespace=attached.namespace,
                            views=attached.views)  # fmt: skip
    names = Names(attached)
    tokens = Tokens.of(text)
    answer = _answer(session, names, tokens)
    return nothing(session) if answer is None else answer


def _answer(spark: Any, names: Names, tokens: Tokens) -> Any:
    if tokens.looks_at_any(*_QUERIES):
        return run_query(spark, plan_query(spark, names, tokens.rest()))
    word = tokens.accept_any(
        "EXPLAIN", "INSERT", "DELETE", "UPDATE", "MERGE", "TRUNCATE", "CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE",
        "DESC", "USE",
    )  # fmt: skip
    match word:
        case "EXPLAIN":
            return explain(spark, names, tokens)
        case "INSERT":
            return insert(spark, names, tokens)
        case "DELETE":
            return delete(spark, names, tokens)
        case "UPDATE":
            return update(spark, names, tokens)
        case "MERGE":
            return merge(spark, names, tokens)
        case "TRUNCATE":
            return truncate(names, tokens)
        case "CREATE":
            return create(spark, names, tokens)
        case "ALTER":
            return alter(spark, names, tokens)
        case "DROP":
            return drop(names, tokens)
        case "SHOW":
            return show(spark, names, tokens)
        case "DESCRIBE" | "DESC":
            return describe(spark, names, tokens)
        case "USE":
            return _use(names, tokens)
    return _passed_on(spark, names, tokens)


def _use(names: Names, tokens: Tokens) -> None:
    tokens.accept_any("NAMESPACE", "DATABASE", "SCHEMA")
    parts = tokens.names("a namespace")
    tokens.end()
    attached = names.attached
    if parts[0] in attached.lakes:
        attached.default, parts = parts[0], parts[1:]
    attached.namespace = parts


def _passed_on(spark: Any, names: Names, tokens: Tokens) -> Any:
    ours = [r for r in find_references(tokens.text) if names.find(r.parts) is not None]
    if ours:
        raise Unsupported(
            f"Cannot run {tokens.items[0].text.upper()} on table {'.'.join(ours[0].parts)}: it is not among the "
            "statements known here: SELECT, EXPLAIN, INSERT, DELETE, UPDATE, MERGE, TRUNCATE, CREATE, ALTER, DROP, "
            "SHOW, DESCRIBE, USE."
        )
    return spark_sql(spark, tokens.text)
