"""SQL text, in Spark's flavour: what each piece means, and that everything else is refused by name."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.predicate_schema import SALES, column

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.partitions.transforms import DAY, HOUR, MONTH, YEAR, BucketTransform, TruncateTransform
from skipstone.metadata.types import DATE, INT, TIME, TIMESTAMP_NS, TIMESTAMPTZ_NS, DecimalType
from skipstone.predicate import bind, parse_sql
from skipstone.predicate.literals import TypedLiteral
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    UNKNOWN,
    And,
    Box,
    Compare,
    In,
    Intersects,
    IsNan,
    IsNull,
    Like,
    Not,
    NotNull,
    Op,
    Or,
    Predicate,
    Ref,
    StartsWith,
    Transformed,
    VariantGet,
)

X = Ref("x")


def eq(value: Any) -> Predicate:
    return Compare(Op.EQ, X, value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", eq(1)),
        ("x == 1", eq(1)),
        ("x != 1", Compare(Op.NE, X, 1)),
        ("x <> 1", Compare(Op.NE, X, 1)),
        ("x < 1", Compare(Op.LT, X, 1)),
        ("x <= 1", Compare(Op.LE, X, 1)),
        ("x > 1", Compare(Op.GT, X, 1)),
        ("x >= 1", Compare(Op.GE, X, 1)),
        ("1 < x", Compare(Op.GT, X, 1)),
        ("1 >= x", Compare(Op.LE, X, 1)),
        ("x BETWEEN 1 AND 2", And((Compare(Op.GE, X, 1), Compare(Op.LE, X, 2)))),
        ("x NOT BETWEEN 1 AND 2", Not(And((Compare(Op.GE, X, 1), Compare(Op.LE, X, 2))))),
        ("x IN (1, 2, NULL)", In(X, (1, 2, None))),
        ("x NOT IN (1, NULL)", Not(In(X, (1, None)))),
        ("x IS NULL", IsNull(X)),
        ("x IS NOT NULL", Not(IsNull(X))),
        ("isnull(x)", IsNull(X)),
        ("isnotnull(x)", NotNull(X)),
        ("isnan(x)", IsNan(X)),
        ("NOT isnan(x)", Not(IsNan(X))),
        ("x IS NAN", IsNan(X)),
        ("x is not nan", Not(IsNan(X))),
        ("x LIKE 'a%'", Like(X, "a%")),
        ("x NOT LIKE 'a_'", Not(Like(X, "a_"))),
        ("x LIKE 'a!%%' ESCAPE '!'", Like(X, "a!%%", "!")),
        ("x LIKE NULL", UNKNOWN),
        ("startswith(x, 'a')", StartsWith(X, "a")),
        ("x <=> NULL", IsNull(X)),
        ("x <=> 5", And((NotNull(X), eq(5)))),
        ("x IS DISTINCT FROM 5", Not(And((NotNull(X), eq(5))))),
        ("x", eq(True)),
        ("NOT x", Not(eq(True))),
        ("x IS TRUE", And((NotNull(X), eq(True)))),
        ("x IS NOT FALSE", Not(And((NotNull(X), eq(False))))),
        ("x = NULL", eq(None)),
        ("TRUE", TRUE),
        ("false", FALSE),
        ("NULL", UNKNOWN),
        ("1 = 1", TRUE),
        ("'a' > 'b'", FALSE),
        ("1 = NULL", UNKNOWN),
        ("0.1 = 1e-1", TRUE),
        ("DATE '2026-01-01' < TIMESTAMP '2026-01-01 00:00:01'", TRUE),
        ("x = 1 AND (y = 2 OR NOT z = 3)",
         And((eq(1), Or((Compare(Op.EQ, Ref("y"), 2), Not(Compare(Op.EQ, Ref("z"), 3))))))),
        ("coalesce(x, 0) = 0", Or((And((NotNull(X), eq(0))), IsNull(X)))),
        ("coalesce(x, 0) = 1", And((NotNull(X), eq(1)))),
        ("coalesce(x, 0) IN (0, 1)", Or((And((NotNull(X), In(X, (0, 1)))), IsNull(X)))),
        ("st_intersects(g, 0, 1, 2.5, 3)", Intersects(Ref("g"), Box(0.0, 1.0, 2.5, 3.0))),
        ("st_intersects(g, ST_MakeEnvelope(0, 1, 2, 3))", Intersects(Ref("g"), Box(0.0, 1.0, 2.0, 3.0))),
    ],
)  # fmt: skip
def test_condition_means(text: str, expected: Predicate) -> None:
    assert parse_sql(text) == expected


@pytest.mark.parametrize("text", ["X BETWEEN 1 and 2", "x between 1 AND 2"])
def test_keywords_are_read_in_any_case_and_names_keep_theirs(text: str) -> None:
    parsed = parse_sql(text)
    assert isinstance(parsed, And)
    assert {leaf.term for leaf in parsed.children if isinstance(leaf, Compare)} == {Ref(text[0])}


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("5", 5),
        ("-5", -5),
        ("- 5", -5),
        ("5L", 5),
        ("5S", 5),
        ("5Y", 5),
        ("-9223372036854775808", -(2**63)),
        ("1.50", Decimal("1.50")),
        ("-0.5", Decimal("-0.5")),
        ("-9999999999999999999999999999.9999999999", Decimal("-9999999999999999999999999999.9999999999")),
        ("- 12345678901234567890123456789012345678BD", Decimal("-12345678901234567890123456789012345678")),
        ("1.5BD", Decimal("1.5")),
        ("1.5D", 1.5),
        ("1.5F", 1.5),
        ("1e3", 1000.0),
        ("-1E-3", -0.001),
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        (r"'a\nb'", "a\nb"),
        (r"'a\\b'", "a\\b"),
        (r"r'a\nb'", r"a\nb"),
        (r"'\u00e9'", "é"),
        ("''", ""),
        ("'😀'", "😀"),
        ('"double"', "double"),
        ("'a' 'b'", "ab"),
        ("X'0aFF'", b"\x0a\xff"),
        ("X'AFF'", b"\x0a\xff"),
        ("X''", b""),
        ("TRUE", True),
        ("DATE '2026-11-16'", TypedLiteral(DATE, 20773)),
        ("DATE'1969-12-31'", TypedLiteral(DATE, -1)),
        ("TIMESTAMP '1970-01-01 00:00:01'", TypedLiteral(TIMESTAMPTZ_NS, 10**9)),
        ("TIMESTAMP '1970-01-01T02:00:01+02:00'", TypedLiteral(TIMESTAMPTZ_NS, 10**9)),
        ("TIMESTAMP_LTZ '1970-01-01 00:00:01'", TypedLiteral(TIMESTAMPTZ_NS, 10**9)),
        ("TIMESTAMP_NTZ '1970-01-01 00:00:00.000000001'", TypedLiteral(TIMESTAMP_NS, 1)),
        ("TIME '00:00:01'", TypedLiteral(TIME, 10**6)),
        ("CAST('5' AS INT)", 5),
        ("CAST(5.7 AS BIGINT)", 5),
        ("CAST(1.235 AS DECIMAL(9, 2))", Decimal("1.24")),
        ("CAST('1.5' AS DOUBLE)", 1.5),
        ("CAST(0.1 AS FLOAT)", 0.10000000149011612),
        ("CAST('2026-11-16' AS DATE)", TypedLiteral(DATE, 20773)),
        ("CAST(TIMESTAMP '1970-01-02 10:00:00' AS DATE)", TypedLiteral(DATE, 1)),
        ("CAST(5 AS STRING)", "5"),
        ("CAST('ab' AS BINARY)", b"ab"),
        ("CAST(NULL AS INT)", None),
    ],
)
def test_literal_means(literal: str, expected: Any) -> None:
    parsed = parse_sql(f"x = {literal}")
    assert isinstance(parsed, Compare)
    assert (parsed.value, type(parsed.value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "term", "value"),
    [
        ("years(ts) = 56", Transformed(YEAR, Ref("ts")), 56),
        ("years(ts) = '2026'", Transformed(YEAR, Ref("ts")), 56),
        ("months(ts) = '1970-02'", Transformed(MONTH, Ref("ts")), 1),
        ("months(ts) = '1969-12'", Transformed(MONTH, Ref("ts")), -1),
        ("days(ts) = DATE '1970-01-03'", Transformed(DAY, Ref("ts")), TypedLiteral(DATE, 2)),
        ("days(ts) = 2", Transformed(DAY, Ref("ts")), TypedLiteral(DATE, 2)),
        ("day(ts) = DATE '1970-01-03'", Transformed(DAY, Ref("ts")), TypedLiteral(DATE, 2)),
        ("CAST(ts AS DATE) = DATE '1970-01-03'", Transformed(DAY, Ref("ts")), TypedLiteral(DATE, 2)),
        ("hours(ts) = '1970-01-02-05'", Transformed(HOUR, Ref("ts")), 29),
        ("year(ts) = 2026", Transformed(YEAR, Ref("ts")), 56),
        ("bucket(16, id) = 3", Transformed(BucketTransform(16), Ref("id")), 3),
        ("truncate(10, id) = 20", Transformed(TruncateTransform(10), Ref("id")), 20),
        ("truncate(id, 10) = 20", Transformed(TruncateTransform(10), Ref("id")), 20),
        ("variant_get(v, '$.a.b', 'int') = 5", VariantGet(Ref("v"), "$['a']['b']", INT), 5),
        ("try_variant_get(v, '$', 'decimal(9,2)') = 5", VariantGet(Ref("v"), "$", DecimalType(9, 2)), 5),
    ],
)
def test_term_means(text: str, term: Any, value: Any) -> None:
    assert parse_sql(text) == Compare(Op.EQ, term, value)


def test_year_in_a_list_counts_from_1970() -> None:
    assert parse_sql("year(ts) IN (1969, 2026)") == In(Transformed(YEAR, Ref("ts")), (-1, 56))


@pytest.mark.parametrize("text", ["(year(ts)) = 2026", "((year(ts))) = (2026)", "2026 = (year(ts))"])
def test_parentheses_do_not_make_a_calendar_year_an_ordinal(text: str) -> None:
    assert parse_sql(text) == Compare(Op.EQ, Transformed(YEAR, Ref("ts")), 56)


def test_coalesce_does_not_make_a_calendar_year_an_ordinal() -> None:
    year = Transformed(YEAR, Ref("ts"))
    assert parse_sql("coalesce(year(ts), 0) = 2026") == And((NotNull(year), Compare(Op.EQ, year, 56)))
    assert parse_sql("(coalesce((year(ts)), 0)) IN (1969, 2026)") == And((NotNull(year), In(year, (-1, 56))))
    with pytest.raises(Unsupported, match="a day in every year"):
        parse_sql("coalesce(day(ts), 0) = 5")


@pytest.mark.parametrize(
    ("text", "field_id"),
    [("a.b = 5", 8), ("`a`.`b` = 5", 8), ("a.c = 5", 17), ("`a.b` = 'x'", 9), ("`need``ed` = 1", 25)],
)
def test_quoted_name_with_a_dot_is_one_name_and_an_unquoted_one_is_a_path(text: str, field_id: int) -> None:
    bound = bind(parse_sql(text), SALES)
    assert isinstance(bound, Compare)
    assert bound.term == column(SALES.name_of(field_id)) or bound.term.field_id == field_id  # type: ignore[union-attr]


def test_quoted_name_with_a_dot_finds_a_nested_field_when_there_is_no_such_column() -> None:
    bound = bind(parse_sql("`a.c` = 5"), SALES)
    assert isinstance(bound, Compare)
    assert bound.term == column("a.c")


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("x = 1; DROP TABLE t", "DROP TABLE t"),
        ("x IN (SELECT 1)", "SELECT 1"),
        ("x = (SELECT 1)", "(SELECT 1)"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("SELECT 1", "SELECT 1"),
        ("x = y", "y is no literal"),
        ("x + 1 = 2", "x + 1"),
        ("abs(x) = 1", "ABS(x)"),
        ("x ILIKE 'a%'", "ILIKE"),
        ("x RLIKE 'a'", "RLIKE"),
        ("x LIKE ANY ('a%', 'b%')", "ANY"),
        ("x[0] = 1", "x[0]"),
        ("CASE WHEN x THEN 1 END = 1", "CASE WHEN x"),
        ("CAST(x AS INT) = 5", "CAST(x AS INT)"),
        ("x = CURRENT_DATE()", "CURRENT_DATE"),
        ("x = INTERVAL 1 DAY", "INTERVAL"),
        ("x = ?", "?"),
        ("t.* = 1", "t.*"),
        ("x BETWEEN SYMMETRIC 1 AND 2", "BETWEEN"),
        ("month(ts) = 3", "months(...)"),
        ("coalesce(x, y) = 1", "COALESCE(x, y)"),
        ("x IN ()", "must list literals"),
        ("foo(x)", "FOO(x)"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(text: str, piece: str) -> None:
    with pytest.raises(Unsupported) as caught:
        parse_sql(text)
    assert str(caught.value).startswith("Cannot use filter ")
    assert piece.lower() in str(caught.value).lower()


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "x =", "x = 1 OR", "x = 1, y = 2", "x = 1 LIMIT 5", "(x = 1", "x BETWEEN 5 AND", "x = 'open",
        "x = DATE '2026-13-01'", "x = TIMESTAMP 'abc'", "x = CAST('abc' AS INT)", "x = CAST(300 AS TINYINT)",
        "x = CAST(1000 AS DECIMAL(3, 0))", "x = -'a'", "x = 1e400", "x = X'0g'", f"x = {'9' * 5000}", "1 = 'a'",
        "TRUE = 1", "coalesce(x, '2026-01-01') = DATE '2026-01-01'", "x LIKE 5", "bucket(0, id) = 1",
        "truncate(1.5, id) = 1", "hours(ts) = '2026'", "variant_get(v, 'a', 'int') = 1",
        "variant_get(v, '$.a', 'no such type') = 1",
        "st_intersects(g, 'a', 1, 2, 3)",
    ],
)  # fmt: skip
def test_text_that_is_wrong_is_one_clear_error(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^Invalid |^Cannot "):
        parse_sql(text)


def test_error_shows_only_the_start_of_a_long_filter() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_sql("x = 1 AND " * 10_000)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("text", ["(" * 5000 + "x = 1" + ")" * 5000, "NOT " * 5000 + "x = 1", "- " * 5000 + "1 = x"])
def test_deep_nesting_is_refused_not_crashed(text: str) -> None:
    with pytest.raises(InvalidInput, match="nesting"):
        parse_sql(text)


def test_forty_levels_of_parentheses_are_fine() -> None:
    assert parse_sql("(" * 40 + "x = 1" + ")" * 40) == eq(1)


def test_ten_thousand_way_or_binds_to_a_list() -> None:
    bound = bind(parse_sql(" OR ".join(f"id = {i}" for i in range(10_000))), SALES)
    assert bound == In(column("id"), tuple(range(10_000)))


def test_ten_thousand_way_in_binds_sorted() -> None:
    bound = bind(parse_sql(f"id IN ({', '.join(str(i) for i in reversed(range(10_000)))})"), SALES)
    assert bound == In(column("id"), tuple(range(10_000)))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=10, min_value=-(10**27), max_value=10**27))
def test_a_decimal_is_read_with_all_its_digits(value: Decimal) -> None:
    parsed = parse_sql(f"x = {value:f}")
    assert isinstance(parsed, Compare)
    assert parsed.value == value
