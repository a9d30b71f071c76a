"""Carrying out a MERGE: the join, the clause that fits each pair, and the rows that go and come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.reserved import FILE, POS
from skipstone.metadata.tables.properties import MERGE_ISOLATION_LEVEL, MERGE_MODE
from skipstone.metadata.types import Field
from skipstone.read.keyed_rows import Keys, find_keyed_rows
from skipstone.scan import Scan
from skipstone.spark.assignment import assigned_value
from skipstone.spark.copies import with_strict_casts
from skipstone.spark.kept_values import KeptValues, reads_sooner_here
from skipstone.spark.row_changes import FoundRows, kept_lineage, path_of, positions_in
from skipstone.spark.rows_by_key import frame_of_rows
from skipstone.spark.scan_names import quoted
from skipstone.spark.settled import ACTION, Sparse, is_few, rows_here_max, rows_in, settled
from skipstone.spark.types import sql_type, to_spark_type
from skipstone.statements.assignments import assigned_sql, default_sql
from skipstone.statements.keys import source_keys
from skipstone.statements.merge import (
    Action,
    Clause,
    Merge,
    Side,
    parse_merge,
    parse_source,
    seen_from_one_side,
    taken_from_source,
)
from skipstone.statements.names import Found, Names
from skipstone.statements.query import QueryPlan, check_syntax, metadata_columns_in, plan_query, run_query
from skipstone.statements.references import Reference, unqualified
from skipstone.statements.row_changes import TARGET, all_columns, apply, numbered_files, parse_target, target_of
from skipstone.statements.tokens import Tokens

pa: Any = pyarrow
pc: Any = pyarrow.compute

SOURCE: Final = "skipstone_source"
_IN_TARGET: Final = "__in_target"
_IN_SOURCE: Final = "__in_source"
_PLAIN_NAME: Final = re.compile("[A-Za-z0-9_]+")
# Spark passes over pages, of some ten thousand rows each; our reader does not, which is nothing to so few rows.
_ROWS_FOR_EACH_MAX: Final = 10_000
_FEW_ROWS: Final = 200_000
_MARKS: Final = (FILE.name, POS.name, ACTION, _IN_TARGET, _IN_SOURCE)


def merge(spark: Any, names: Names, tokens: Tokens, definitions: str = "") -> None:
    """What comes after MERGE. `definitions` are those of a WITH before it, which the source can name."""
    found, alias, wanted = _parse(spark, names, tokens)
    merge_rows(spark, names, found, alias, run_query(spark, _source(spark, names, wanted, definitions)), wanted)


def plans_of_merge(spark: Any, names: Names, tokens: Tokens) -> list[QueryPlan]:
    """The queries of a MERGE: for its source, and for the pairs of rows. The source is looked at for its keys."""
    found, alias, wanted = _parse(spark, names, tokens)
    source = _source(spark, names, wanted)
    frame = run_query(spark, source)
    clauses = _numbered(wanted, found, frame, alias)
    return [source, _pairs(spark, names, found, alias, frame, wanted, clauses)[0]]


def _parse(spark: Any, names: Names, tokens: Tokens) -> tuple[Found, str, Merge]:
    if tokens.looks_at("WITH", "SCHEMA", "EVOLUTION"):
        raise Unsupported(
            "Cannot merge WITH SCHEMA EVOLUTION: columns that only the source has are not added. Add them before, with "
            "ALTER TABLE … ADD COLUMN."
        )
    tokens.expect("INTO")
    found, alias, named = parse_target(names, tokens)
    given = tokens.text
    tokens = unqualified(tokens, {name for name in (named, _source_name(tokens)) if name is not None})
    wanted = parse_merge(tokens, found.table.schema, alias, found.table.name)
    tokens.end()
    check_syntax(spark, given)
    return found, alias, wanted


def _source(spark: Any, names: Names, wanted: Merge, definitions: str = "") -> QueryPlan:
    return plan_query(spark, names, f"{definitions} SELECT * FROM {wanted.source} AS {quoted(wanted.alias)}")


def _source_name(tokens: Tokens) -> tuple[str, ...] | None:
    ahead = Tokens(tokens.text, tokens.items, tokens.at)
    return parse_source(ahead)[2] if ahead.accept("USING") else None


def merge_rows(spark: Any, names: Names, found: Found, alias: str, source: Any, wanted: Merge) -> None:
    """Merge a frame into a table."""
    kept_source = source.persist()  # it is read twice and must be the same both times
    try:
        clauses = _numbered(wanted, found, kept_source, alias)
        plan, keys = _pairs(spark, names, found, alias, kept_source, wanted, clauses)
        use = target_of(plan)
        expected = _expected(kept_source, use.scan, clauses)
        texts = [wanted.on, *_texts_of(clauses)]
        numbered = numbered_files(use, *texts)
        needed = _looked_at(use.scan, clauses, texts) if numbered else use.scan.schema.fields
        kept = KeptValues(
            scan=use.scan,
            fields=_kept_fields(clauses, use.scan, needed),
            numbered=next(iter(numbered.values()), ()),
        )

        def asked(query: QueryPlan, numbered: Mapping[Reference, Sequence[str]] = MappingProxyType({})) -> Any:
            pairs = run_query(spark, query, numbered)
            _refuse_chance(pairs, found.table.name)
            return pairs

        def commit(sparse: Sparse | None = None) -> None:
            _commit(spark, found, lambda: asked(plan, numbered), clauses, kept, sparse=sparse, expected=expected)

        rows = None
        if numbered and keys and _are_spread(expected, use.scan) and reads_sooner_here(spark):
            most = rows_here_max(use.scan)
            rows = find_keyed_rows(use.scan.plan(), use.scan.storage, keys, rows_max=most)
        if rows is None:
            commit()
            return
        with kept.reading(rows.positions) as filled:
            frame = frame_of_rows(spark, use.scan, keys, rows, needed)
            pairs = _that_matter(asked(plan.given_rows(use, frame)))
            commit(Sparse(frame=_outcome(pairs, clauses, use.scan, kept.fields), filled=filled))
    finally:
        kept_source.unpersist()


def _refuse_chance(pairs: Any, table: str) -> None:
    """Pairs are asked for more than once, maybe by a task that is tried again: the clause for one must not change."""
    node = pairs._jdf.queryExecution().analyzed()
    while not node.deterministic() and str(node.nodeName()) == "Project":
        columns = node.projectList()
        for choice in (c for i in range(columns.size()) if str((c := columns.apply(i)).name()) == ACTION):
            if not choice.deterministic():
                raise InvalidInput(
                    f"Cannot merge into {table}: expected conditions of clauses that give the same answer each time. "
                    "Put what chance says into a column of the source."
                )
        node = node.child()


def _texts_of(clauses: Sequence[Clause]) -> Iterator[str]:
    for clause in clauses:
        if clause.condition is not None:
            yield clause.condition
        # All values of `*` are the source's.
        yield from (() if clause.takes_all else (a.text for a in clause.values))


def _are_spread(expected: int | None, scan: Scan) -> bool:
    """Whether rows that come here lie so close together in the files that no reader could pass much over."""
    rows = rows_in(scan)
    return is_few(expected, scan) and (rows <= _FEW_ROWS or rows <= _ROWS_FOR_EACH_MAX * (expected or 0))


def _looked_at(scan: Scan, clauses: Sequence[Clause], texts: Sequence[str]) -> list[Field]:
    """The columns that a statement may look at: all of them where a name can be made up."""
    text = "\n".join(texts).lower()
    if "identifier" in text or metadata_columns_in(text):
        return list(scan.schema.fields)
    # Of a struct of which a part is set, the rest is what it was.
    in_part = {a.path[0].id for c in clauses for a in c.values if len(a.path) > 1}

    def is_named(field: Field) -> bool:
        # A name may be written in many ways, but for the plain ones.
        return not _PLAIN_NAME.fullmatch(field.name) or field.name.lower() in text

    return [f for f in scan.schema.fields if f.id in in_part or is_named(f)]


def _kept_fields(clauses: Sequence[Clause], scan: Scan, needed: Sequence[Field]) -> dict[int, list[Field]]:
    """The columns that each update leaves as they are, but for those that the statement looks at."""
    found = {}
    for number, clause in enumerate(clauses):
        if clause.action is Action.UPDATE:
            set_ids = {assignment.path[0].id for assignment in clause.values}
            found[number] = [f for f in scan.schema.fields if f.id not in set_ids and f not in needed]
    return found


def _numbered(wanted: Merge, found: Found, source: Any, alias: str) -> list[Clause]:
    schema = found.table.schema
    own = {f.name.lower() for f in schema.fields}
    both = [c for c in source.columns if c.lower() in own]
    return [
        seen_from_one_side(taken_from_source(c, schema, source.columns, wanted.alias, i), alias, wanted.alias, both)
        for i, c in enumerate(wanted.clauses)
    ]


def _pairs(
    spark: Any, names: Names, found: Found, alias: str, source: Any, wanted: Merge, clauses: Sequence[Clause]
) -> tuple[QueryPlan, tuple[Keys, ...]]:
    """Every pair that a clause may apply to, with the number of the clause that does; and the keys of the target's rows
    in them, where they are few."""
    target, other = quoted(alias), quoted(wanted.alias)
    own = ", ".join(f"{target}.{quoted(c)} AS {quoted(c)}" for c in all_columns(found))
    # A value is computed only where its clause applies: elsewhere it may not even be possible.
    values = "".join(
        f", CASE WHEN {ACTION} = {i} THEN {a.text} END AS {a.alias}" for i, c in enumerate(clauses) for a in c.values
    )
    text = (
        f"SELECT {own}, {target}.{_IN_TARGET} AS {_IN_TARGET}, {other}.{_IN_SOURCE} AS {_IN_SOURCE}, "
        f"{_choice(clauses, target, other)} AS {ACTION}{values} "
        f"FROM (SELECT *, true AS {_IN_TARGET} FROM {TARGET}) AS {target} "
        f"{_join(clauses)} JOIN (SELECT *, true AS {_IN_SOURCE} FROM {SOURCE}) AS {other} ON ({wanted.on})"
    )
    bound = names.with_target(TARGET, found, all_columns(found)).with_frame(SOURCE, source)
    plan = plan_query(spark, bound, text)
    use = target_of(plan)
    if any(c.side is Side.NOT_MATCHED_BY_SOURCE for c in clauses):
        return plan, ()
    scan, keys = source_keys(source, use.scan, wanted.on, alias, wanted.alias)
    return plan.replacing(use, scan), keys


def _join(clauses: Sequence[Clause]) -> str:
    sides = {c.side for c in clauses}
    inserts, by_source = Side.NOT_MATCHED in sides, Side.NOT_MATCHED_BY_SOURCE in sides
    if inserts and by_source:
        return "FULL OUTER"
    if by_source:
        return "LEFT OUTER"
    return "RIGHT OUTER" if inserts else "INNER"


def _choice(clauses: Sequence[Clause], target: str, other: str) -> str:
    """The number of the first clause that fits a pair; null if none does."""
    present = {
        Side.MATCHED: f"{target}.{_IN_TARGET} AND {other}.{_IN_SOURCE}",
        Side.NOT_MATCHED: f"{target}.{_IN_TARGET} IS NULL",
        Side.NOT_MATCHED_BY_SOURCE: f"{other}.{_IN_SOURCE} IS NULL",
    }
    cases = []
    for number, clause in enumerate(clauses):
        more = "" if clause.condition is None else f" AND ({clause.condition})"
        cases.append(f"WHEN {present[clause.side]}{more} THEN {number}")
    return f"CASE {' '.join(cases)} END"


def _commit(
    spark: Any,
    found: Found,
    pairs: Callable[[], Any],
    clauses: Sequence[Clause],
    kept: KeptValues,
    *,
    sparse: Sparse | None,
    expected: int | None,
) -> None:
    """Carry out what the clauses say of the pairs."""
    scan = kept.scan
    coming = [i for i, c in enumerate(clauses) if c.action is not Action.DELETE]

    def matter() -> Any:
        return _that_matter(pairs())

    with settled(
        matter, lambda p: _outcome(p, clauses, scan), _MARKS, scan, expected=expected, sparse=sparse
    ) as outcome:
        positions = _positions(outcome.marks, clauses, found.table.name, kept.numbered)
        rows = outcome.rows(coming) if coming else None
        apply(spark, found, FoundRows(scan=scan, positions=positions, rows=rows), MERGE_MODE, MERGE_ISOLATION_LEVEL)


def _that_matter(pairs: Any) -> Any:
    """Without the pairs that nothing happens to, and that cannot be too many for one row."""
    return pairs.where(f"{ACTION} IS NOT NULL OR ({_IN_TARGET} AND {_IN_SOURCE})")


def _expected(kept: Any, scan: Scan, clauses: Sequence[Clause]) -> int | None:
    """About how many pairs something may happen to; None if nobody knows. Spark has counted a source that it keeps."""
    counted = kept._jdf.queryExecution().optimizedPlan().stats().rowCount()
    if not counted.isDefined():
        return None
    by_source = any(c.side is Side.NOT_MATCHED_BY_SOURCE for c in clauses)
    return int(str(counted.get())) + (rows_in(scan) if by_source else 0)


def _positions(marks: Any, clauses: Sequence[Clause], table: str, numbered: Sequence[str]) -> dict[str, Any]:
    """Where the rows are that are updated or deleted, after a look at those that several source rows match."""
    there = marks.filter(pc.is_valid(marks.column(_IN_TARGET)))
    _check_one_source_row(there.filter(pc.is_valid(there.column(_IN_SOURCE))), clauses, table, numbered)
    going = pa.array([i for i, c in enumerate(clauses) if c.action is not Action.INSERT], pa.int32())
    return positions_in(there.filter(pc.is_in(there.column(ACTION), value_set=going)), numbered)


def _check_one_source_row(matched: Any, clauses: Sequence[Clause], table: str, numbered: Sequence[str]) -> None:
    changing = [c for c in clauses if c.side is Side.MATCHED]
    only_deletes = len(changing) == 1 and changing[0].action is Action.DELETE and changing[0].condition is None
    if not changing or only_deletes or sum(map(len, positions_in(matched).values())) == matched.num_rows:
        return
    keys = [FILE.name, POS.name]
    counts = matched.group_by(keys).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts.column("count_all"), 1))
    if twice.num_rows:
        first = twice.slice(0, 1).to_pylist()[0]
        path = path_of(first[FILE.name], numbered)
        raise InvalidInput(
            f"Cannot merge into {table}: {first['count_all']} rows of the source match one row of the table (position "
            f"{first[POS.name]} of {path}). Make the source unique on the join condition."
        )


def _outcome(
    pairs: Any, clauses: Sequence[Clause], scan: Scan, absent: Mapping[int, Sequence[Field]] = MappingProxyType({})
) -> Any:
    """The updated or inserted row that comes of each pair, and marks: where the old one is, and what was done.

    Columns that are `absent` from what a clause makes are null there.
    """
    schema = pairs.schema
    coming = [(i, c) for i, c in enumerate(clauses) if c.action is not Action.DELETE]
    columns = []
    for field in scan.schema.fields:
        making = [(i, c) for i, c in coming if field not in absent.get(i, ())]
        columns.append(f"{_column(pairs, schema, field, making, scan)} AS {quoted(field.name)}")
    wanted = (*(columns if coming else ()), *kept_lineage(scan), *_MARKS)
    return with_strict_casts(pairs, lambda p: p.selectExpr(*wanted))


def _column(pairs: Any, schema: Any, field: Field, coming: Sequence[tuple[int, Clause]], scan: Scan) -> str:
    """A column by the clause that applies: what it sets, the old value in updates, the default in inserts."""
    type_ = to_spark_type(field.type, where=f"column {field.name!r}")
    cases = []
    for number, clause in coming:
        if clause.action is Action.UPDATE:
            value = assigned_sql(pairs.sparkSession, schema, field, clause.values, scan.name)
        else:
            value = _inserted(pairs.sparkSession, schema, field, clause, scan.name)
        cases.append(f"WHEN {ACTION} = {number} THEN {value}")
    value = f"CASE {' '.join(cases)} END" if cases else "NULL"
    return f"CAST({value} AS {sql_type(type_)})"


def _inserted(spark: Any, schema: Any, field: Field, clause: Clause, table: str) -> str:
    for assignment in clause.values:
        if assignment.path[0].id == field.id:
            given = schema[assignment.alias].dataType
            return assigned_value(spark, assignment.alias, given, field, table=table)
    return default_sql(field)
