"""EXPLAIN: what is skipped of each table of a query and why, then Spark's own plan."""

from __future__ import annotations

from typing import Any

from skipstone.statements.names import Names
from skipstone.statements.query import QueryPlan, TableUse, plan_query, run_query
from skipstone.statements.results import rows
from skipstone.statements.tokens import Tokens

_MODES = ("EXTENDED", "FORMATTED", "COST", "CODEGEN", "SIMPLE")


def explain(spark: Any, names: Names, tokens: Tokens) -> Any:
    """What comes after EXPLAIN."""
    mode = (tokens.accept_any(*_MODES) or "SIMPLE").lower()
    plan = plan_query(spark, names, tokens.rest())
    frame = run_query(spark, plan)
    java = frame.sparkSession._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), mode)
    return rows(spark, "plan string", [(f"{skipping(plan)}\n{java}",)])


def skipping(plan: QueryPlan) -> str:
    """For every table of a query what was skipped and why, and the filters that could not be used."""
    if not plan.uses:
        return "== Skipping ==\nno table of ours is read\n"
    return "== Skipping ==\n" + "\n".join(_table(use) for use in plan.uses)


def _table(use: TableUse) -> str:
    lines = [f"-- {use.scan.name}", use.scan.explain()]
    lines += [f"not used for skipping: {text}" for text in use.pushed.unused]
    return "\n".join(lines) + "\n"
