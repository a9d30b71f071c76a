"""INSERT INTO and INSERT OVERWRITE, by position, by a list of columns or by name; with Spark's rules of assignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F

from skipstone.errors import InvalidInput, what_exists
from skipstone.spark.assignment import assigned
from skipstone.statements.names import Found, Names
from skipstone.statements.query import plan_query, run_query
from skipstone.statements.tokens import Tokens


@dataclass(slots=True)
class Insertion:
    parts: tuple[str, ...]
    overwrites: bool = False
    fixed: dict[str, str | None] = field(default_factory=dict)  # PARTITION (state = 'NY', day)
    columns: list[str] | None = None
    by_name: bool = False
    replaced: str | None = None  # REPLACE WHERE
    query: str = ""


def insert(spark: Any, names: Names, tokens: Tokens) -> None:
    """What comes after INSERT."""
    wanted = parse_insert(tokens)
    found = names.changed(wanted.parts)
    frame = run_query(spark, plan_query(spark, names, wanted.query))
    rows = _arranged(spark, frame, wanted, found)
    branch = found.ref or "main"
    if wanted.replaced is not None:
        found.table.overwrite(rows, filter=wanted.replaced, branch=branch)
    elif wanted.overwrites:
        _overwrite(spark, rows, wanted, found, branch)
    else:
        found.table.append(rows, branch=branch)


def parse_insert(tokens: Tokens) -> Insertion:
    overwrites = tokens.accept("OVERWRITE")
    if not overwrites:
        tokens.expect("INTO", then="INTO or OVERWRITE")
    tokens.accept("TABLE")
    wanted = Insertion(parts=tokens.names(), overwrites=overwrites)
    if tokens.accept("PARTITION"):
        wanted.fixed = _partition(tokens)
    if tokens.accept("BY", "NAME"):
        wanted.by_name = True
    elif tokens.looks_at("(") and not _opens_a_query(tokens):
        wanted.columns = _columns(tokens)
    if tokens.accept("REPLACE", "WHERE"):
        wanted.replaced = tokens.until("SELECT", "WITH", "VALUES", "FROM", "TABLE")
    if tokens.is_done:
        tokens.fail("a query or VALUES")
    wanted.query = tokens.rest()
    return wanted


def _opens_a_query(tokens: Tokens) -> bool:
    inner = Tokens(tokens.text, tokens.items, tokens.at)
    while inner.accept("("):
        pass
    return inner.looks_at_any("SELECT", "WITH", "VALUES", "FROM", "TABLE")


def _columns(tokens: Tokens) -> list[str]:
    return tokens.listed(lambda t: t.name("a column name"))


def _partition(tokens: Tokens) -> dict[str, str | None]:
    tokens.expect("(")
    found: dict[str, str | None] = {}
    while True:
        name = tokens.name("a partition column")
        found[name] = tokens.until(",", ")") if tokens.accept("=") else None
        if not tokens.accept(","):
            break
    tokens.expect(")", then="a comma or a closing parenthesis")
    return found


def _arranged(spark: Any, frame: Any, wanted: Insertion, found: Found) -> Any:
    """The rows under the table's names and types."""
    if wanted.by_name:
        return assigned(frame, found.table.schema, table=found.table.name)
    fixed = {n: v for n, v in wanted.fixed.items() if v is not None}
    targets = wanted.columns or _by_position(found, wanted.fixed)
    names = [f.name for f in found.table.schema.fields]
    for name in [*targets, *fixed]:
        if name.lower() not in {n.lower() for n in names}:
            raise InvalidInput(
                f"Cannot insert into {found.table.name}: unknown column {name!r}. {what_exists('Columns', name, names)}"
            )
    if len(frame.columns) != len(targets):
        raise InvalidInput(
            f"Cannot insert into {found.table.name}: expected {len(targets)} columns ({', '.join(targets)}), "
            f"got {len(frame.columns)}."
        )
    named = frame.toDF(*targets).withColumns({n: F.expr(v) for n, v in fixed.items()})
    return assigned(named, found.table.schema, table=found.table.name)


def _by_position(found: Found, fixed: dict[str, str | None]) -> Sequence[str]:
    """Columns in the table's order; those that PARTITION names come last if it gives them no value."""
    lowered = {n.lower() for n in fixed}
    plain = [f.name for f in found.table.schema.fields if f.name.lower() not in lowered]
    return [*plain, *(n for n, v in fixed.items() if v is None)]


def _overwrite(spark: Any, rows: Any, wanted: Insertion, found: Found, branch: str) -> None:
    """Whole partitions if the session says dynamic or a partition is named in part; else all that the values name."""
    fixed = {n: v for n, v in wanted.fixed.items() if v is not None}
    is_dynamic = spark.conf.get("spark.sql.sources.partitionOverwriteMode").lower() == "dynamic"
    if is_dynamic or len(fixed) != len(wanted.fixed):
        found.table.overwrite(rows, mode="dynamic", branch=branch)
        return
    condition = None
    if fixed:
        from_table = {n: found.table.schema.field(n, case_sensitive=False) for n in fixed}
        condition = " AND ".join(f"{from_table[n].name} <=> {v}" for n, v in fixed.items())
    found.table.overwrite(rows, filter=condition, branch=branch)
