"""EXPLAIN: what is skipped of each table of a query and why, then Spark's own plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skipstone.errors import Unsupported
from skipstone.statements.insert import parse_insert
from skipstone.statements.merging import plans_of_merge
from skipstone.statements.names import Names
from skipstone.statements.query import QueryPlan, TableUse, check_syntax, plan_query, run_query
from skipstone.statements.results import rows
from skipstone.statements.row_changes import TARGET, parse_delete, parse_update
from skipstone.statements.tokens import Tokens

_MODES = ("EXTENDED", "FORMATTED", "COST", "CODEGEN", "SIMPLE")


def explain(spark: Any, names: Names, tokens: Tokens) -> Any:
    """What comes after EXPLAIN."""
    mode = (tokens.accept_any(*_MODES) or "SIMPLE").lower()
    plans = _plans(spark, names, tokens)
    frame = run_query(spark, plans[-1])
    java = frame.sparkSession._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), mode)
    return rows(spark, "plan string", [(f"{skipping(plans)}\n{java}",)])


def _plans(spark: Any, names: Names, tokens: Tokens) -> list[QueryPlan]:
    """The query, or those by which a statement finds the rows that it changes; the last one reads the others."""
    given = tokens.text[tokens.place :]
    if tokens.accept("DELETE"):
        return [plan_query(spark, *parse_delete(spark, names, tokens).query(names))]
    if tokens.accept("UPDATE"):
        return [plan_query(spark, *parse_update(spark, names, tokens).query(names))]
    if tokens.accept("MERGE"):
        return plans_of_merge(spark, names, tokens)
    check_syntax(spark, given)
    if tokens.accept("INSERT"):
        return [plan_query(spark, names, parse_insert(tokens).query)]
    if tokens.looks_at_any("CREATE", "REPLACE", "ALTER", "DROP"):
        raise Unsupported(
            f"Cannot explain {tokens.items[tokens.at].text.upper()}: expected a query, DELETE, UPDATE, MERGE or "
            "INSERT. Explain the query that it reads."
        )
    return [plan_query(spark, names, tokens.rest())]


def skipping(plans: Sequence[QueryPlan]) -> str:
    """For every table of queries what was skipped and why, and the filters that could not be used."""
    uses = [use for plan in plans for use in plan.uses]
    if not uses:
        return "== Skipping ==\nno table of ours is read\n"
    return "== Skipping ==\n" + "\n".join(map(_table, uses))


def _table(use: TableUse) -> str:
    is_target = use.reference.parts == (TARGET,)
    lines = [f"-- {use.scan.name if is_target else use.reference}", use.scan.explain()]
    lines += [f"not used for skipping: {text}" for text in use.pushed.unused]
    return "\n".join(lines) + "\n"
