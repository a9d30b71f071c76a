"""Limits, top-k, aggregates and joins: whatever the files and deletes, the answer is that of a full scan.

The model is the full scan itself, worked on in Python.
"""

from __future__ import annotations

import functools
import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skipstone
from skipstone import FloatOrder
from skipstone.plan import joins

pa: Any = pyarrow

FORM = pa.schema(
    [
        ("p", pa.string()),
        ("n", pa.int64()),
        ("d", pa.float64()),
        ("s", pa.string()),
        ("m", pa.decimal128(9, 2)),
    ]
)
LONG = "long text that no metric holds whole "
VALUES: dict[str, list[Any]] = {
    "p": [None, "x", "y"],
    "n": [None, *range(-4, 5)],
    "d": [None, math.nan, -math.inf, -1.5, -0.0, 0.0, 2.5, math.inf],
    "s": [None, "", "a", "b", "é😀", LONG + "a", LONG + "b", LONG + "c"],
    "m": [None, Decimal("-1.00"), Decimal("0.00"), Decimal("2.50")],
}
FILTERS: dict[str | None, Callable[[Any], bool]] = {
    None: lambda r: True,
    "n > 0": lambda r: r["n"] is not None and r["n"] > 0,
    "n >= -4": lambda r: r["n"] is not None,
    "p = 'x'": lambda r: r["p"] == "x",
    "s IS NOT NULL": lambda r: r["s"] is not None,
}
GONE: dict[str, Callable[[Any], bool]] = {
    "n = 1": lambda r: r["n"] == 1,
    "s = 'b'": lambda r: r["s"] == "b",
    "p = 'y'": lambda r: r["p"] == "y",
    "n < -2": lambda r: r["n"] is not None and r["n"] < -2,
}
METRICS = ["truncate(16)", "truncate(2)", "full", "counts", "none"]
Made = tuple[Any, list[dict[str, Any]]]


@functools.cache
def pool() -> list[Made]:
    """Tables of all sorts with the rows that are in them, made once: examples are about what is asked of them."""
    directory = Path(tempfile.mkdtemp(prefix="beyond-"))
    lake = skipstone.catalog(f"sqlite:///{directory}/catalog.db", warehouse=str(directory))
    lake.create_namespace("t")
    return [_table(lake, number, random.Random(number)) for number in range(24)]


def _table(lake: Any, number: int, choice: random.Random) -> Made:
    properties = {
        "write.delete.mode": choice.choice(["merge-on-read", "copy-on-write"]),
        "write.metadata.metrics.default": METRICS[number % len(METRICS)],
        "write.upsert.mode": "equality-delete",
    }
    table = lake.create_table(
        f"t.t{number}",
        FORM,
        format_version=choice.choice([2, 3]),
        properties=properties,
        partition_by=choice.choice([["p"], [], ["bucket(3, n)"]]),
    )
    rows: list[dict[str, Any]] = []
    for part in range(choice.randint(0, 6)):
        # A file has few values of each column, so that bounds tell files apart, or all of them.
        some = {c: choice.sample(v, choice.randint(1, len(v))) for c, v in VALUES.items()}
        added = [{c: choice.choice(v) for c, v in some.items()} for _ in range(choice.randint(1, 6))]
        table.append(pa.Table.from_pylist(added, schema=FORM))
        rows += added
        if part == 2 and choice.random() < 0.5:
            text = choice.choice(sorted(GONE))
            table.delete(text)
            rows = [r for r in rows if not GONE[text](r)]
        if part in (1, 3) and choice.random() < 0.5:
            # Equality deletes: no reader knows what is gone before it looks at the rows.
            keys = {(p, n) for p in ("x", "y") for n in choice.sample(range(-4, 5), 3)}
            added = [{**{c: choice.choice(v) for c, v in some.items()}, "p": p, "n": n} for p, n in sorted(keys)]
            table.upsert(pa.Table.from_pylist(added, schema=FORM), on=["p", "n"])
            rows = [r for r in rows if (r["p"], r["n"]) not in keys] + added
    return table, rows


def test_some_tables_have_equality_deletes() -> None:
    contents = [c for table, _ in pool() for c in table.scan().plan().deletes.column("content").to_pylist()]
    assert contents.count(2) >= 5


tables = st.integers(0, 23).map(lambda number: pool()[number])


def plain(value: Any) -> Any:
    """NaN equal to NaN, -0.0 to 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


@settings(max_examples=40, deadline=None)
@given(made=tables, sql=st.sampled_from(list(FILTERS)), limit=st.integers(0, 12))
def test_a_limit_gives_enough_rows_of_the_result(made: Any, sql: str | None, limit: int) -> None:
    table, rows = made
    expected = Counter(tuple(map(plain, r.values())) for r in rows if FILTERS[sql](r))
    found = Counter(tuple(map(plain, r.values())) for r in table.scan(sql, limit=limit).to_arrow().to_pylist())
    assert found.total() == min(limit, expected.total())
    assert found <= expected
    assert table.scan(sql, limit=limit).count() == found.total()


def key_of(column: str, descending: bool, nulls: str, order: FloatOrder) -> Callable[[Any], Any]:
    """A sort key in Python: the kinds of values one after another, then the values."""

    def key(row: Any) -> Any:
        value = row[column]
        is_nan = isinstance(value, float) and math.isnan(value)
        if value is None:
            return (-1 if nulls == "first" else 9, 0)
        if is_nan and order is FloatOrder.SPARK:
            return (1 if descending else 5, 0)
        if is_nan:
            return (1 if nulls == "first" else 5, 0)
        return (3, _Reversed(value) if descending else value)

    return key


@functools.total_ordering
class _Reversed:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(self.value == other.value)

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)


@settings(max_examples=80, deadline=None)
@given(
    made=tables,
    sql=st.sampled_from(list(FILTERS)),
    column=st.sampled_from(["n", "d", "s", "m", "p"]),
    k=st.integers(0, 8),
    descending=st.booleans(),
    nulls=st.sampled_from(["first", "last"]),
    order=st.sampled_from(list(FloatOrder)),
    second=st.none() | st.sampled_from(["n", "s"]),
)
def test_top_k_is_the_sorted_result_cut(
    made: Any, sql: str | None, column: str, k: int, descending: bool, nulls: Any, order: FloatOrder, second: str | None
) -> None:
    table, rows = made
    by = [column] if second is None else [column, (second, "asc")]
    keys = [key_of(column, descending, nulls, order)]
    if second is not None:
        keys.append(key_of(second, False, nulls, order))
    expected = sorted((r for r in rows if FILTERS[sql](r)), key=lambda r: [f(r) for f in keys])
    top = table.scan(sql, float_order=order, columns=["m", "s"]).top_k(by, k, descending=descending, nulls=nulls)
    whole = table.scan(sql, float_order=order).top_k(by, k, descending=descending, nulls=nulls)
    found = whole.rows.to_pylist()
    assert [[f(r) for f in keys] for r in found] == [[f(r) for f in keys] for r in expected[:k]]
    assert Counter(tuple(map(plain, r.values())) for r in found) <= Counter(
        tuple(map(plain, r.values())) for r in expected
    )
    assert top.rows.column_names == ["m", "s"] and top.rows.num_rows == len(found)
    assert whole.files_read <= whole.files_planned


def least(values: list[Any], order: FloatOrder, *, greatest: bool) -> Any:
    """The least or greatest value: NaN above all for Spark, elsewhere only if there is nothing else."""
    there = [v for v in values if v is not None]
    numbers = [v for v in there if v == v]
    has_nan = len(numbers) < len(there)
    if not numbers or (has_nan and greatest and order is FloatOrder.SPARK):
        return math.nan if has_nan else None
    return max(numbers) if greatest else min(numbers)


ASKED = [
    "count(*)",
    "count(n)",
    "count(d)",
    "min(n)",
    "max(n)",
    "min(d)",
    "max(d)",
    "min(s)",
    "max(s)",
    "max(m)",
    "min(p)",
]


@settings(max_examples=100, deadline=None)
@given(
    made=tables,
    sql=st.sampled_from(list(FILTERS)),
    asked=st.lists(st.sampled_from(ASKED), min_size=1, max_size=4, unique=True),
    group_by=st.sampled_from([[], ["p"], ["n"], ["p", "d"]]),
    order=st.sampled_from(list(FloatOrder)),
)
def test_aggregates_are_those_of_the_rows(
    made: Any, sql: str | None, asked: list[str], group_by: list[str], order: FloatOrder
) -> None:
    table, rows = made
    groups: dict[Any, list[Any]] = {} if group_by else {(): []}
    for row in filter(FILTERS[sql], rows):
        groups.setdefault(tuple(plain(row[g]) for g in group_by), []).append(row)
    expected = {}
    for key, members in groups.items():
        answers = []
        for text in asked:
            kind, column = text.removesuffix(")").split("(")
            values = members if column == "*" else [r[column] for r in members]
            if kind == "count":
                answers.append(sum(v is not None for v in values))
            else:
                answers.append(plain(least(values, order, greatest=kind == "max")))
        expected[key] = answers
    found = table.scan(sql, float_order=order).aggregate(*asked, group_by=group_by)
    assert found.files_read <= found.files_planned
    assert {tuple(plain(r[g]) for g in group_by): [plain(r[a]) for a in asked] for r in found.to_pylist()} == expected
    assert found.table.num_rows == len(expected)


def matches(left: Any, right: Any, order: FloatOrder) -> bool:
    if left is None or right is None:
        return False
    if left != left or right != right:
        return order is FloatOrder.SPARK and left != left and right != right
    return bool(left == right)


@settings(max_examples=80, deadline=None)
@given(
    made=tables,
    on=st.sampled_from([["n"], ["s"], ["d"], ["m"], ["p"], ["n", "s"], ["p", "d"]]),
    picks=st.lists(st.integers(0, 100), max_size=6),
    few=st.booleans(),
    order=st.sampled_from(list(FloatOrder)),
    sql=st.sampled_from(list(FILTERS)),
)
def test_no_row_that_joins_is_pruned(
    made: Any, on: list[str], picks: list[int], few: bool, order: FloatOrder, sql: str | None
) -> None:
    table, rows = made
    keys = [tuple(VALUES[c][(pick * (7 + i)) % len(VALUES[c])] for i, c in enumerate(on)) for pick in picks]
    build = pa.table([pa.array([k[i] for k in keys], FORM.field(c).type) for i, c in enumerate(on)], names=on)
    joining = [
        r
        for r in rows
        if FILTERS[sql](r) and any(all(matches(r[c], k[i], order) for i, c in enumerate(on)) for k in keys)
    ]
    with pytest.MonkeyPatch.context() as patch:
        if not few:
            patch.setattr(joins, "FILTERED_KEYS_MAX", 0)
            patch.setattr(joins, "_TUPLES_MAX", 0)
        found = table.scan(sql, float_order=order).for_join(on, build).to_arrow().to_pylist()
    as_counter = lambda some: Counter(tuple(map(plain, (r[c] for c in VALUES))) for r in some)  # noqa: E731
    assert as_counter(joining) <= as_counter(found)
    assert as_counter(found) <= as_counter(filter(FILTERS[sql], rows))
    if few and len(on) == 1:
        assert as_counter(found) == as_counter(joining)


ASKED_FILTERS = [
    "n > 0 AND s = 'a'",
    "d > 1",
    "d < 0 AND p = 'x'",
    "n = 1 OR s = 'b'",
    "s LIKE '%a' AND m IS NULL",
    "n = 3",
]


@settings(max_examples=40, deadline=None)
@given(made=tables, sql=st.sampled_from(ASKED_FILTERS), order=st.sampled_from(list(FloatOrder)))
def test_explanations_account_for_every_zone(made: Any, sql: str, order: FloatOrder) -> None:
    table, _ = made
    scan = table.scan(sql, float_order=order)
    found = scan.explanation()
    assert found.files == len(scan.plan())
    for level in found.levels:
        assert level.report.kept + level.report.skipped == level.report.zones_in
        for part in level.parts:
            assert part.skipped_alone <= part.skipped <= level.report.skipped
            decided = part.skipped + part.proven
            undecided = level.report.zones_in - decided
            if len(part.columns) == 1:
                assert sum(part.reasons.values()) == undecided
            else:
                assert sum(part.reasons.values()) >= undecided
    if found.levels:
        assert found.levels[-1].report.kept == found.files
