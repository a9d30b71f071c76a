"""Statements around a query or another statement: SET VARIABLE and EXECUTE IMMEDIATE.

SET VARIABLE newest = (SELECT max(id) FROM shop.orders)
EXECUTE IMMEDIATE 'SELECT count(*) FROM shop.orders WHERE id > :least' INTO many USING 7 AS least
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skipstone.errors import InvalidInput
from skipstone.spark.named_frames import named
from skipstone.spark.scan_names import quoted
from skipstone.statements.names import Names
from skipstone.statements.parameters import with_expressions
from skipstone.statements.query import check_syntax, plan_query, run_query, spark_sql
from skipstone.statements.tokens import Tokens


def set_variables(spark: Any, names: Names, tokens: Tokens) -> Any:
    """What comes after SET VARIABLE: each value is a query, which our tables can be in."""
    check_syntax(spark, tokens.text)

    def answer(query: str) -> Any:
        return run_query(spark, plan_query(spark, names, query))

    if tokens.looks_at("("):
        targets = f"({tokens.parenthesised()})"
        tokens.expect("=")
        return _assign(spark, {targets: answer(tokens.parenthesised())})
    values, defaults = {}, []
    while True:
        target = ".".join(map(quoted, tokens.names("a variable")))
        tokens.expect("=")
        text = tokens.until(",")
        if text.upper() == "DEFAULT":
            defaults.append(target)
        else:
            values[target] = answer(f"SELECT {text}")
        if not tokens.accept(","):
            return _assign(spark, values, defaults)


def execute_immediate(spark: Any, tokens: Tokens, run: Callable[[str], Any]) -> Any:
    """What comes after EXECUTE IMMEDIATE. `run` runs a statement."""
    check_syntax(spark, tokens.text)
    given = tokens.until("INTO", "USING")
    text = spark_sql(spark, f"SELECT {given}").first()[0]
    if not isinstance(text, str):
        raise InvalidInput(f"Cannot execute {given}: expected the text of a statement, got {text!r}.")
    targets = tokens.until("USING") if tokens.accept("INTO") else None
    by_name, in_order = _using(tokens) if tokens.accept("USING") else ({}, [])
    if by_name or in_order:
        text = with_expressions(spark, text, by_name, in_order)
    answer = run(text)
    if targets is None:
        return answer
    if answer is None or not answer.columns:
        raise InvalidInput(f"Cannot put the answer into {targets}: expected a query, got {text!r}.")
    return _assign(spark, {f"({targets})": answer})


def _using(tokens: Tokens) -> tuple[dict[str, str], list[str]]:
    inner = Tokens.of(tokens.parenthesised()) if tokens.looks_at("(") and _is_one_list(tokens) else tokens
    by_name: dict[str, str] = {}
    in_order: list[str] = []
    while not inner.is_done:
        text = inner.until("AS", ",")
        if inner.accept("AS"):
            by_name[inner.name("a parameter's name")] = f"({text})"
        else:
            in_order.append(f"({text})")
        if not inner.accept(","):
            inner.end()
    return by_name, in_order


def _is_one_list(tokens: Tokens) -> bool:
    """Whether the parentheses are around all there is: `(1, 2)`, not `(1), 2`."""
    ahead = Tokens(tokens.text, tokens.items, tokens.at)
    ahead.parenthesised()
    return ahead.is_done


def _assign(spark: Any, values: Mapping[str, Any], defaults: Sequence[str] = ()) -> Any:
    with named(spark, values) as views:
        parts = [*(f"{v} = (SELECT * FROM {views[v]})" for v in values), *(f"{v} = DEFAULT" for v in defaults)]
        return spark_sql(spark, f"SET VARIABLE {', '.join(parts)}")
