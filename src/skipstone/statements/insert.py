"""INSERT INTO and INSERT OVERWRITE, by position, by a list of columns or by name; with Spark's rules of assignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.types import Field, PrimitiveType
from skipstone.metadata.values import from_python
from skipstone.predicate.nodes import Column, Compare, IsNull, Op, Predicate, and_
from skipstone.spark.assignment import assigned
from skipstone.spark.copies import with_strict_casts
from skipstone.spark.named_fields import Fields
from skipstone.spark.types import to_spark_type
from skipstone.statements.assignments import default_text
from skipstone.statements.columns import constant
from skipstone.statements.names import Found, Names
from skipstone.statements.query import check_syntax, plan_query, run_query
from skipstone.statements.spelling import meant
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


def insert(spark: Any, names: Names, tokens: Tokens, definitions: str = "") -> None:
    """What comes after INSERT. `definitions` are those of a WITH before it, which the query can name."""
    wanted = parse_insert(tokens)
    check_syntax(spark, tokens.text)
    _prepared(spark, names, wanted, definitions)()


def insert_many(spark: Any, names: Names, tokens: Tokens) -> None:
    """`FROM source INSERT INTO a SELECT … INSERT INTO b SELECT …`: all read tables as they were before the first."""
    check_syntax(spark, tokens.text)
    source = tokens.until("INSERT")
    found: list[Insertion] = []
    while tokens.accept("INSERT"):
        part = Tokens.of(tokens.until("INSERT INTO", "INSERT OVERWRITE"))
        wanted = parse_insert(part)
        wanted.query = f"{source} {wanted.query}"
        found.append(wanted)
    for write in [_prepared(spark, names, wanted) for wanted in found]:
        write()


def _prepared(spark: Any, names: Names, wanted: Insertion, definitions: str = "") -> Callable[[], None]:
    """The insertion, ready to run: its rows are planned, its names and types are right."""
    found = names.changed(wanted.parts)
    targets = _targets(wanted, found)
    query = with_defaults(wanted.query, [found.table.schema.field(n, case_sensitive=False) for n in targets])
    whole = f"{definitions} ({query})" if definitions else query
    rows = _arranged(spark, run_query(spark, plan_query(spark, names, whole)), wanted, found, targets)
    return lambda: _insert_rows(spark, rows, wanted, found)


def _insert_rows(spark: Any, rows: Any, wanted: Insertion, found: Found) -> None:
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


def with_defaults(query: str, targets: Sequence[Field]) -> str:
    """The text of VALUES with the columns' defaults in the places of the word DEFAULT."""
    tokens = Tokens.of(query)
    if not tokens.looks_at("VALUES"):
        return query
    edits: list[tuple[int, int, str]] = []
    depth = column = 0
    for i, token in enumerate(tokens.items):
        depth += (token.text == "(") - (token.text == ")")
        column = 0 if depth == 0 else column + (depth == 1 and token.text == ",")
        tokens.at = i
        if depth == 1 and column < len(targets) and tokens.looks_at("DEFAULT"):
            edits.append((token.start, token.end + 1, default_text(targets[column], "DEFAULT")))
    for start, end, text in reversed(edits):
        query = query[:start] + text + query[end:]
    return query


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


def _targets(wanted: Insertion, found: Found) -> Sequence[str]:
    """The columns that the query's columns go to, in its order; none if they go by name."""
    names = [f.name for f in found.table.schema.fields]
    targets = () if wanted.by_name else wanted.columns or _by_position(found, wanted.fixed)
    given = [*targets, *(n for n, v in wanted.fixed.items() if v is not None)]
    seen: set[str] = set()
    for name in given:
        known = meant(name, names)
        if known is None:
            raise InvalidInput(
                f"Cannot insert into {found.table.name}: unknown column {name!r}. {what_exists('Columns', name, names)}"
            )
        if known in seen:
            raise InvalidInput(f"Cannot insert into {found.table.name}: column {name!r} is named twice.")
        seen.add(known)
    return targets


def _arranged(spark: Any, frame: Any, wanted: Insertion, found: Found, targets: Sequence[str]) -> Any:
    """The rows under the table's names and types."""
    schema, name = found.table.schema, found.table.name
    if not wanted.by_name:
        if len(frame.columns) != len(targets):
            raise InvalidInput(
                f"Cannot insert into {name}: expected {len(targets)} columns ({', '.join(targets)}), "
                f"got {len(frame.columns)}."
            )
        frame = frame.toDF(*targets)
    # Values of partitions are cast as they are: a text may stand for a date.
    fixed = {n: F.expr(v).cast(_type(found, n)) for n, v in _fixed(wanted).items()}
    if fixed:
        frame = with_strict_casts(frame, lambda f: f.withColumns(fixed))
    return assigned(frame, schema, table=name, fields=_fields(wanted))


def _fields(wanted: Insertion) -> Fields:
    if wanted.by_name:
        return Fields.BY_NAME
    return Fields.BY_PLACE if wanted.columns is None else Fields.LISTED


def _fixed(wanted: Insertion) -> dict[str, str]:
    return {n: v for n, v in wanted.fixed.items() if v is not None}


def _type(found: Found, name: str) -> Any:
    return to_spark_type(found.table.schema.field(name, case_sensitive=False).type, where=f"column {name!r}")


def _by_position(found: Found, fixed: dict[str, str | None]) -> Sequence[str]:
    """Columns in the table's order; those that PARTITION names come last if it gives them no value."""
    names = [f.name for f in found.table.schema.fields]
    elsewhere = {meant(n, names) for n in fixed}
    plain = [n for n in names if n not in elsewhere]
    return [*plain, *(n for n, v in fixed.items() if v is None)]


def _overwrite(spark: Any, rows: Any, wanted: Insertion, found: Found, branch: str) -> None:
    """Whole partitions if the session says dynamic; else all rows with the partition values that are given."""
    if spark.conf.get("spark.sql.sources.partitionOverwriteMode").lower() == "dynamic":
        found.table.overwrite(rows, mode="dynamic", branch=branch)
        return
    conditions = [_condition(spark, found, name, text) for name, text in _fixed(wanted).items()]
    found.table.overwrite(rows, filter=and_(*conditions), branch=branch)


def _condition(spark: Any, found: Found, name: str, text: str) -> Predicate:
    field = found.table.schema.field(name, case_sensitive=False)
    if not isinstance(field.type, PrimitiveType):
        raise InvalidInput(f"Cannot overwrite by {name!r} of {found.table.name}: expected a primitive column.")
    term = Column(field_id=field.id, type=field.type, name=field.name)
    value = constant(spark, text, _type(found, name), what=f"partition value of {name}")
    return IsNull(term) if value is None else Compare(Op.EQ, term, from_python(field.type, value))
