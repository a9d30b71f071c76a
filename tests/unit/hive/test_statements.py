"""HiveQL statements: what they mean, and where a wrong one is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.hive.errors import HiveInvalid
from skipstone.hive.statements import (
    Analyze,
    Describe,
    DescribeForm,
    DropStatistics,
    PartitionKey,
    TableName,
    UpdateStatistics,
    parse_statement,
)
from skipstone.hive.tokens import quoted_name

T = TableName(database=None, table="t")


def key(name: str, value: str | None = None) -> PartitionKey:
    return PartitionKey(name=name, value=value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("analyze table t compute statistics", Analyze(table=T)),
        ("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN;", Analyze(table=T, is_without_scan=True)),
        ("Analyze Table t Compute Statistics For Columns", Analyze(table=T, is_for_columns=True)),
        (
            "analyze table t compute statistics for columns a, `B c` -- all",
            Analyze(table=T, is_for_columns=True, columns=("a", "B c")),
        ),
        (
            "analyze table d.t partition(ds='2020-01-01', hr) compute statistics for columns",
            Analyze(
                table=TableName(database="d", table="t"),
                partition=(key("ds", "2020-01-01"), key("hr")),
                is_for_columns=True,
            ),
        ),
        ("analyze table t partition(n=-5, b=true) compute statistics",
         Analyze(table=T, partition=(key("n", "-5"), key("b", "true")))),
        ("analyze table t partition(n=Null, l=-5L, y=1y, d=1.50BD) compute statistics",
         Analyze(table=T, partition=(
             key("n", "__HIVE_DEFAULT_PARTITION__"), key("l", "-5"), key("y", "1"), key("d", "1.50")))),
        ("alter table t update statistics for c set ('numDVs'='1') comment 'by hand';",
         UpdateStatistics(table=T, column="c", values=(("numDVs", "1"),))),
        ("alter table t update statistics for column set ('numDVs'=2)",
         UpdateStatistics(table=T, column="column", values=(("numDVs", "2"),))),
        ("describe t", Describe(table=T)),
        ("/* what\nis */ describe /**/ t -- there", Describe(table=T)),
        ("desc formatted t c", Describe(table=T, form=DescribeForm.FORMATTED, column=("c",))),
        ("describe extended d.t", Describe(table=TableName(database="d", table="t"), form=DescribeForm.EXTENDED)),
        ("describe formatted", Describe(table=TableName(database=None, table="formatted"))),
        (
            "describe formatted t partition(p='x') c",
            Describe(table=T, form=DescribeForm.FORMATTED, partition=(key("p", "x"),), column=("c",)),
        ),
        (
            "describe formatted t c partition(p='x')",
            Describe(table=T, form=DescribeForm.FORMATTED, partition=(key("p", "x"),), column=("c",)),
        ),
        ("describe formatted t a.$elem$.x",
         Describe(table=T, form=DescribeForm.FORMATTED, column=("a", "$elem$", "x"))),
        (
            "alter table t update statistics for column c set ('numDVs'='10', \"numNulls\"='2')",
            UpdateStatistics(table=T, column="c", values=(("numDVs", "10"), ("numNulls", "2"))),
        ),
        (
            "alter table t partition(p='it\\'s') update statistics for column c set ('lowValue'='-1')",
            UpdateStatistics(table=T, column="c", values=(("lowValue", "-1"),), partition=(key("p", "it's"),)),
        ),
        ("alter table t drop statistics for columns", DropStatistics(table=T)),
        ("alter table t drop statistics for columns a", DropStatistics(table=T, columns=("a",))),
    ],
)  # fmt: skip
def test_a_statement_is_read_as_typed(text: str, expected: object) -> None:
    assert parse_statement(text) == expected


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("", "line 1, column 1", "expected ANALYZE, DESCRIBE or ALTER, got the end"),
        ("select 1", "line 1, column 1", "expected ANALYZE"),
        ("analyze tabl t", "line 1, column 9", "expected TABLE, got 'tabl'"),
        ("analyze table t\n  compute stats", "line 2, column 11", "expected STATISTICS, got 'stats'"),
        ("analyze table t partition(p=) compute statistics", "column 29", "expected a value for partition key 'p'"),
        ("analyze table t partition p compute statistics", "column 27", "expected '('"),
        ("analyze table t partition(p='a', P='b') compute statistics", "column 34", "'P' again"),
        ("analyze table t compute statistics for columns a,", "column 50", "expected the name of a column"),
        ("analyze table t compute statistics for columns a, A", "column 51", "each column once"),
        ("analyze table t compute statistics for columns a noscan", "column 50", "NOSCAN"),
        ("analyze table t compute statistics for columns 'x", "column 48", "a closing quote"),
        ("analyze table `` compute statistics", "column 15", "the name of a table"),
        ("describe formatted t c d", "column 24", "expected the end of the statement"),
        ("alter table t update statistics for column c set (numDVs='1')", "column 51", "'numDVs'"),
        ("alter table t update statistics for column c set ('numDVs'=x)", "column 60", "expected a value"),
        ("alter table t update statistics for c set ('a'='1') comment 1", "column 61", "a comment as a text"),
        ("alter table t update statistics for", "column 36", "expected the name of a column"),
        ("alter table t rename to u", "column 15", "expected UPDATE"),
        ("analyze table t compute statistics @", "column 36", "got '@'"),
    ],
)
def test_a_malformed_statement_points_at_the_place(text: str, place: str, problem: str) -> None:
    with pytest.raises(HiveInvalid) as caught:
        parse_statement(text)
    message = str(caught.value)
    assert place in message
    assert problem in message
    line, mark = message.split("\n")[1:]
    column = int(message.split("column ")[1].split(":")[0])
    assert mark.index("^") == column + 1
    assert line[2:] in text.split("\n")


@pytest.mark.parametrize(
    ("text", "right_form"),
    [
        ("analyze table t x compute statistics", "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS"),
        ("analyze table d.t as x compute statistics", "ANALYZE TABLE d.t COMPUTE STATISTICS FOR COLUMNS"),
        ("analyze table t partition(p='1') x compute statistics", "ANALYZE TABLE t COMPUTE"),
        ("analyze table `a b` x compute statistics", "ANALYZE TABLE `a b` COMPUTE"),
        ("analyze table t compute statistics for columns c as d", "Write: c"),
        ("analyze table t compute statistics for columns c d", "Write: c"),
        ("analyze table t compute statistics for columns x.c", "Write: c"),
        ("alter table t x update statistics for column c set ('numDVs'='1')", "ALTER TABLE t UPDATE STATISTICS"),
    ],
)
def test_an_alias_is_refused_and_the_right_form_is_shown(text: str, right_form: str) -> None:
    with pytest.raises(HiveInvalid, match="alias") as caught:
        parse_statement(text)
    assert right_form in str(caught.value)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


@settings(deadline=None)
@given(database=NAMES, table=NAMES, column=NAMES, value=NAMES)
def test_any_name_and_value_survives_quoting(database: str, table: str, column: str, value: str) -> None:
    text = value.replace("\\", "\\\\").replace("'", "\\'").replace("%", "\u0001").replace("_", "\u0002")
    names = [quoted_name(name) if quoted_name(name) != name else f"`{name}`" for name in (database, table, column)]
    parsed = parse_statement(
        f"ANALYZE TABLE {names[0]}.{names[1]} PARTITION({names[2]}='{text}') COMPUTE STATISTICS FOR COLUMNS {names[2]}"
    )
    assert isinstance(parsed, Analyze)
    assert parsed.table == TableName(database=database, table=table)
    assert parsed.columns == (column,)
    assert parsed.partition == (key(column, value.replace("%", "\u0001").replace("_", "\u0002")),)


@settings(deadline=None)
@given(st.text(max_size=80) | st.from_regex(r"(analyze|describe|alter) table [a-z`'\"(,=.)\s]{0,40}", fullmatch=True))
def test_any_text_is_a_statement_or_a_clear_error(text: str) -> None:
    try:
        parse_statement(text)
    except HiveInvalid as error:
        assert "column" in str(error)
