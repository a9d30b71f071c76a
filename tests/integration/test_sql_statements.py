"""Statements that make, change, show and drop tables, through their lives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark import interpreted

import skipstone
from skipstone.errors import AlreadyExists, InvalidInput, NotFound
from skipstone.spark import attach

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

Run = Callable[[str], Any]


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def run(iceberg_java: Any, lake: Any) -> Run:
    spark = interpreted(iceberg_java)
    return lambda text: skipstone.sql(spark, text, catalog=lake)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in frame.collect()), key=repr)


def test_the_table_of_shipping_addresses(run: Run, lake: Any) -> None:
    run(
        "CREATE TABLE shop.shipping_address (order_id STRING, state STRING, zip_code STRING) USING SKIPSTONE "
        "TBLPROPERTIES (primaryKey ='order_id', skipstone.index.columns = 'zip_code') PARTITIONED BY (state)"
    )
    table = lake.load_table("shop.shipping_address")
    assert [f.name for f in table.spec.fields] == ["state"]
    assert table.properties["skipstone.index.columns"] == "zip_code"
    assert [table.schema.name_of(i) for i in table.schema.identifier_field_ids] == ["order_id"]
    run("INSERT INTO shop.shipping_address VALUES ('a', 'NY', '10001'), ('b', 'CA', '90001')")
    assert rows(run("select count(1) from shop.shipping_address where zip_code = '10001'")) == [(1,)]


def test_columns_partitions_order_and_properties_are_altered(run: Run, lake: Any) -> None:
    columns = "id BIGINT NOT NULL, st STRUCT<a: INT>, ts TIMESTAMP"
    run(f"CREATE TABLE shop.t ({columns}) USING iceberg PARTITIONED BY (days(ts))")
    run("ALTER TABLE shop.t ADD COLUMNS (note STRING COMMENT 'why' AFTER id, st.b STRING)")
    run("ALTER TABLE shop.t ALTER COLUMN st.a TYPE BIGINT")
    run("ALTER TABLE shop.t RENAME COLUMN note TO remark")
    run("ALTER TABLE shop.t ALTER COLUMN remark FIRST")
    run("ALTER TABLE shop.t ALTER COLUMN id DROP NOT NULL")
    run("ALTER TABLE shop.t ADD PARTITION FIELD bucket(8, id) AS shard")
    run("ALTER TABLE shop.t REPLACE PARTITION FIELD days(ts) WITH months(ts)")
    run("ALTER TABLE shop.t WRITE ORDERED BY id DESC NULLS LAST, remark")
    run("ALTER TABLE shop.t SET TBLPROPERTIES ('comment' = 'it''s', 'format-version' = '3')")
    table = lake.load_table("shop.t")
    assert [f.name for f in table.schema.fields] == ["remark", "id", "st", "ts"]
    assert str(table.schema.field("st.a").type) == "long" and table.schema.field("st.b") is not None
    assert table.schema.field("id").optional
    assert [str(f.transform) for f in table.spec.fields if str(f.transform) != "void"] == ["bucket[8]", "month"]
    assert len(table.sort_order.fields) == 2 and table.properties["write.distribution-mode"] == "range"
    assert table.format_version == 3
    run("ALTER TABLE shop.t DROP COLUMN st")
    run("ALTER TABLE shop.t UNSET TBLPROPERTIES (comment)")
    run("ALTER TABLE shop.t RENAME TO shop.u")
    assert "comment" not in lake.load_table("shop.u").properties
    assert rows(run("SHOW TABLES IN shop")) == [("shop", "u", False)]


def test_branches_tags_and_the_past(run: Run, lake: Any) -> None:
    run("CREATE TABLE shop.t (id BIGINT) USING skipstone")
    run("INSERT INTO shop.t VALUES (1)")
    first = lake.load_table("shop.t").current_snapshot
    run("ALTER TABLE shop.t CREATE BRANCH audit RETAIN 7 DAYS WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS")
    run("ALTER TABLE shop.t CREATE TAG eom")
    run("INSERT INTO shop.t.branch_audit VALUES (2)")
    run("INSERT INTO shop.t VALUES (3)")
    assert rows(run("SELECT * FROM shop.t")) == [(1,), (3,)]
    assert rows(run("SELECT * FROM shop.t.branch_audit")) == [(1,), (2,)]
    assert rows(run("SELECT * FROM shop.t VERSION AS OF 'audit'")) == [(1,), (2,)]
    assert rows(run(f"SELECT * FROM shop.t VERSION AS OF {first.snapshot_id} AS x")) == [(1,)]
    moment = first.timestamp_ms / 1000
    assert rows(run(f"SELECT * FROM shop.t TIMESTAMP AS OF timestamp_seconds({moment})")) == [(1,)]
    assert rows(run("SELECT count(*) FROM shop.t.snapshots s JOIN shop.t.refs r ON s.snapshot_id = r.snapshot_id")) == [
        (3,)
    ]
    ref = lake.load_table("shop.t").refs["audit"]
    assert (ref.max_ref_age_ms, ref.min_snapshots_to_keep, ref.max_snapshot_age_ms) == (604_800_000, 3, 172_800_000)
    run("ALTER TABLE shop.t DROP TAG eom")
    with pytest.raises(NotFound):
        run("SELECT * FROM shop.t.tag_eom")


def test_inserts_by_name_by_list_and_over_partitions(run: Run) -> None:
    run("CREATE TABLE shop.t (id BIGINT, s STRING, n INT) USING skipstone PARTITIONED BY (s)")
    run("INSERT INTO shop.t (n, id) VALUES (1, 10)")
    run("INSERT INTO shop.t BY NAME SELECT 'a' AS s, 11L AS id, 2 AS n")
    run("INSERT INTO shop.t PARTITION (s = 'b') SELECT 12L, 3")
    assert rows(run("SELECT * FROM shop.t")) == [(10, None, 1), (11, "a", 2), (12, "b", 3)]
    run("INSERT OVERWRITE shop.t PARTITION (s = 'b') SELECT 13L, 4")
    run("INSERT INTO shop.t REPLACE WHERE s = 'a' VALUES (14L, 'a', 5)")
    assert rows(run("SELECT * FROM shop.t")) == [(10, None, 1), (13, "b", 4), (14, "a", 5)]
    run("INSERT OVERWRITE TABLE shop.t SELECT * FROM shop.t WHERE id = 13")
    assert rows(run("SELECT * FROM shop.t")) == [(13, "b", 4)]


def test_a_table_is_made_of_a_query_and_described(run: Run) -> None:
    query = "SELECT id, CAST(id % 2 AS INT) k FROM range(4)"
    run(f"CREATE TABLE shop.t USING skipstone PARTITIONED BY (k) COMMENT 'made' AS {query}")
    assert rows(run("SELECT k, count(*) FROM shop.t GROUP BY k")) == [(0, 2), (1, 2)]
    described = rows(run("DESCRIBE EXTENDED shop.t"))
    assert ("id", "bigint", None) in described and ("Rows", "4", "") in described
    assert rows(run("SHOW PARTITIONS shop.t")) == [("k=0",), ("k=1",)]
    statement = rows(run("SHOW CREATE TABLE shop.t"))[0][0]
    assert "PARTITIONED BY (`k`)" in statement
    run("DROP TABLE shop.t PURGE")
    run(statement)
    assert rows(run("SELECT * FROM shop.t")) == []


def test_names_are_looked_up_in_attached_catalogs(iceberg_java: Any, lake: Any, tmp_path: Path) -> None:
    spark = iceberg_java.newSession()
    other = skipstone.catalog(f"sqlite:///{tmp_path}/other.db", warehouse=str(tmp_path / "other"))
    attach(spark, lake)
    attach(spark, other, name="archive")
    skipstone.sql(spark, "CREATE TABLE archive.shop.t (id BIGINT) USING skipstone")
    skipstone.sql(spark, "INSERT INTO archive.shop.t VALUES (7)")
    assert other.table_exists("shop.t") and not lake.table_exists("shop.t")
    skipstone.sql(spark, "USE archive.shop")
    assert rows(skipstone.sql(spark, "SELECT * FROM t")) == [(7,)]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("CREATE TABLE shop.t (id BIGINT) USING skipstone", AlreadyExists, "it is there already"),
        ("CREATE TABLE shop.u (id FROB) USING skipstone", InvalidInput, "expected a type such as BIGINT"),
        ("CREATE TABLE shop.u (id INT) USING parquet", InvalidInput, "expected skipstone or iceberg, got 'parquet'"),
        ("CREATE TABLE shop.u USING skipstone", InvalidInput, "expected columns in parentheses, or AS and a query"),
        ("ALTER TABLE shop.t ADD PARTITION FIELD frob(id)", InvalidInput, "frob"),
        ("ALTER TABLE shop.t CREATE BRANCH b RETAIN 3 WEEKS", InvalidInput, "expected DAYS, HOURS or MINUTES"),
        ("ALTER TABLE shop.t DROP COLUMN nope", SyntaxError, "nope"),
        ("SHOW FROBS", InvalidInput, "expected TABLES, NAMESPACES"),
        ("SELECT 1; SELECT 2", InvalidInput, "expected one statement"),
    ],
)  # fmt: skip
def test_statements_that_make_no_sense_are_refused(run: Run, text: str, error: type[Exception], message: str) -> None:
    run("CREATE TABLE shop.t (id BIGINT) USING skipstone")
    with pytest.raises((error, InvalidInput, NotFound)) as caught:
        run(text)
    assert message in str(caught.value)


def test_statements_as_they_are_typed_elsewhere(run: Run, lake: Any) -> None:
    run("CREATE TABLE shop.t (id INT, s STRING) USING skipstone")
    run("INSERT INTO shop.t VALUES (1, 'a'), (2, 'b')")
    run("ALTER TABLE shop.t CHANGE COLUMN id id BIGINT COMMENT 'wider' AFTER s")
    assert rows(run("DESCRIBE shop.t")) == [("id", "bigint", "wider"), ("s", "string", None)]
    assert [f.name for f in lake.load_table("shop.t").schema.fields] == ["s", "id"]
    with pytest.raises(InvalidInput, match="got 'other'"):
        run("ALTER TABLE shop.t CHANGE COLUMN id other BIGINT")
    assert rows(run("SHOW COLUMNS FROM t FROM shop")) == [("id",), ("s",)]
    described = [("n", "bigint", None), ("s", "string", None)]
    for verb in ("DESCRIBE QUERY", "DESC"):
        assert rows(run(f"{verb} SELECT s, count(*) AS n FROM shop.t GROUP BY s")) == described
    run("ALTER TABLE shop.t CREATE TAG first")
    run("DELETE FROM shop.t WHERE id = 1")
    for moment in ("FOR SYSTEM_VERSION AS OF 'first' AS x", "FOR VERSION AS OF 'first' x", "VERSION AS OF 'first' x"):
        assert rows(run(f"SELECT x.id FROM shop.t {moment} WHERE x.id > 0")) == [(1,), (2,)]


@pytest.mark.parametrize("columns", ["(id INT, ID STRING)", "AS SELECT 1 AS id, 2 AS ID"])
def test_names_that_differ_by_case_only_are_refused_unless_the_session_tells_them_apart(
    lake: Any, iceberg_java: Any, columns: str
) -> None:
    spark = interpreted(iceberg_java).newSession()
    text = f"CREATE TABLE shop.t {columns}" if columns[0] == "(" else f"CREATE TABLE shop.t USING skipstone {columns}"
    with pytest.raises(InvalidInput, match="'ID': expected each name once"):
        skipstone.sql(spark, text, catalog=lake)
    with pytest.raises(NotFound):
        lake.load_table("shop.t")
    spark.conf.set("spark.sql.caseSensitive", "true")
    skipstone.sql(spark, text, catalog=lake)
    assert [f.name for f in lake.load_table("shop.t").schema.fields] == ["id", "ID"]


@pytest.mark.parametrize("statement", ["DELETE FROM shop.t WHERE", "UPDATE shop.t SET s = 'x' WHERE"])
def test_where_without_a_condition_changes_nothing(run: Run, statement: str) -> None:
    run("CREATE TABLE shop.t (id INT, s STRING) USING skipstone")
    run("INSERT INTO shop.t VALUES (1, 'a')")
    with pytest.raises(InvalidInput, match=r"expected a condition|[Ss]yntax"):
        run(statement)
    assert rows(run("SELECT * FROM shop.t")) == [(1, "a")]


def test_a_query_that_ends_with_where_is_refused_at_its_end(run: Run) -> None:
    text = "SELECT id FROM shop.shipping_address WHERE"
    with pytest.raises(InvalidInput, match="expected a condition, got the end of the statement") as refused:
        run(text)
    assert text in str(refused.value)
