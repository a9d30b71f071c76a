"""Arguments, frames and names that are values: statements whose text is not all there is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from tests.support.spark import interpreted

import skipstone
import skipstone.spark
from skipstone.errors import InvalidInput

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


@pytest.fixture
def run(spark: Any, tmp_path: Path) -> Run:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))

    def run(text: str, args: Any = None, **frames: Any) -> Any:
        return skipstone.sql(spark, text, args, catalog=lake, **frames)

    run("CREATE TABLE shop.t (id BIGINT, s STRING) USING skipstone PARTITIONED BY (s)")
    run("INSERT INTO shop.t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
    return run


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in frame.collect()), key=repr)


def test_arguments_are_values_in_queries_and_in_statements(run: Run, spark: Any) -> None:
    assert rows(run("SELECT id FROM shop.t WHERE s = :s OR id = :id", {"s": "a", "id": 3})) == [(1,), (3,)]
    assert rows(run("SELECT id FROM shop.t WHERE s = ? OR id = ?", ["b", 1])) == [(1,), (2,)]
    run("INSERT INTO shop.t VALUES (:id, :s)", {"id": 4, "s": 'it\'s \\ a "text" of :id and ?'})
    assert rows(run("SELECT s FROM shop.t WHERE id = 4")) == [('it\'s \\ a "text" of :id and ?',)]
    run("UPDATE shop.t SET s = ? WHERE id = ?", [None, 4])
    run("MERGE INTO shop.t t USING {news} n ON t.id = n.id WHEN MATCHED THEN UPDATE SET s = :s", {"s": "n"},
        news=spark.range(3, 5))  # fmt: skip
    run("DELETE FROM shop.t WHERE array_contains(?, id)", [F.array(F.lit(1), F.lit(2))])
    assert rows(run("SELECT * FROM shop.t")) == [(3, "n"), (4, "n")]
    values = {"d": dt.date(2026, 1, 1), "m": Decimal("1.50"), "x": float("inf"), "n": None}
    assert run("SELECT :d, :m, :x, :n FROM shop.t LIMIT 1", values).first() == tuple(values.values())


def test_a_moment_given_as_an_argument_is_that_moment_in_any_time_zone(run: Run, spark: Any) -> None:
    run("CREATE TABLE shop.m (ts TIMESTAMP) USING skipstone")
    moment = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        run("INSERT INTO shop.m VALUES (?)", [moment])
        assert run("SELECT unix_seconds(ts) FROM shop.m WHERE ts = :m", {"m": moment}).first()[0] == moment.timestamp()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_name_may_be_the_value_of_an_expression(run: Run) -> None:
    run("DECLARE OR REPLACE VARIABLE whose STRING DEFAULT 'shop.t'")
    assert rows(run("SELECT t.id FROM IDENTIFIER('sh' || 'op.t') WHERE IDENTIFIER('s') = 'a'")) == [(1,)]
    assert run("SELECT count(*) FROM IDENTIFIER(whose)").first()[0] == 3
    run("INSERT INTO IDENTIFIER(:name) (id) VALUES (:id)", {"name": "shop.t", "id": 4})
    run("UPDATE IDENTIFIER(?) SET s = 'x' WHERE id = ?", ["shop.t", 4])
    run("DELETE FROM IDENTIFIER(whose) WHERE id = 1")
    run("CREATE TABLE IDENTIFIER('shop.`u v`') AS SELECT IDENTIFIER('s') FROM IDENTIFIER(whose)")
    assert rows(run("SELECT s FROM shop.`u v`")) == [("b",), ("x",), (None,)]
    run("DROP TABLE IDENTIFIER('shop.`u v`')")
    with pytest.raises(AnalysisException, match="NOT_A_CONSTANT_STRING"):
        run("SELECT IDENTIFIER(s) FROM shop.t")


def test_variables_are_set_from_our_tables(run: Run) -> None:
    run("DECLARE OR REPLACE VARIABLE most BIGINT DEFAULT 7")
    run("DECLARE OR REPLACE VARIABLE which STRING")
    run("SET VARIABLE most = (SELECT max(id) FROM shop.t), which = 'x'")
    assert run("SELECT most, which").first() == (3, "x")
    run("SET VAR (most, which) = (SELECT id, s FROM shop.t WHERE id = 2)")
    assert rows(run("SELECT id, which FROM shop.t WHERE id >= most")) == [(2, "b"), (3, "b")]
    run("SET VAR most = DEFAULT, which = (SELECT s FROM shop.t WHERE id = 99)")
    assert run("SELECT most, which").first() == (7, None)


def test_text_is_executed_at_once_and_its_answer_put_into_variables(run: Run) -> None:
    run("DECLARE OR REPLACE VARIABLE many BIGINT")
    assert rows(run("EXECUTE IMMEDIATE 'SELECT s FROM shop.t WHERE id = ?' USING 1 + 1")) == [("b",)]
    run("EXECUTE IMMEDIATE 'INSERT INTO IDENTIFIER(:t) VALUES (:i, :i)' USING ('shop.t' AS t, 9 AS i)")
    run("EXECUTE IMMEDIATE 'SELECT count(*) FROM shop.t WHERE id > :least' INTO many USING 1 AS least")
    assert run("SELECT many").first()[0] == 3
    with pytest.raises(InvalidInput, match="expected a query"):
        run("EXECUTE IMMEDIATE 'DELETE FROM shop.t WHERE id = 99' INTO many")
    with pytest.raises(InvalidInput, match="expected the text of a statement, got None"):
        run("EXECUTE IMMEDIATE CAST(NULL AS STRING)")


def test_arguments_that_are_none_are_refused(run: Run) -> None:
    with pytest.raises(InvalidInput, match=r"a dict for :name or a list for \?, got str"):
        run("SELECT * FROM shop.t WHERE s = ?", "a")
    with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER"):
        run("DELETE FROM shop.t WHERE id = :id", {"other": 1})
