"""Statements as people type them: names in any case and in full, defaults, replaced tables; what must not happen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark import interpreted

import skipstone
from skipstone.errors import CommitRejected, InvalidInput, NotFound, Unsupported
from skipstone.spark import attach

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

Run = Callable[[str], Any]
COLUMNS = "id BIGINT, s STRING, n INT, d DATE"


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def run(spark: Any, lake: Any) -> Run:
    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    run(f"CREATE TABLE shop.t ({COLUMNS}) USING skipstone PARTITIONED BY (s, d) TBLPROPERTIES ('format-version' = '3')")
    run("INSERT INTO shop.t VALUES (1, 'a', 1, DATE'2026-01-01'), (2, 'b', 2, DATE'2026-01-02'), (3, NULL, 3, NULL)")
    return run


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in frame.collect()), key=repr)


def ids(run: Run) -> list[Any]:
    return sorted(r[0] for r in run("SELECT id FROM shop.t").collect())


# -- tables


def test_a_replaced_table_keeps_its_history(run: Run, lake: Any) -> None:
    before = lake.load_table("shop.t")
    old = before.current_snapshot.snapshot_id
    run(
        "CREATE OR REPLACE TABLE shop.t USING skipstone PARTITIONED BY (k) "
        "AS SELECT id, 'x' AS n, id % 2 AS k FROM shop.t"
    )
    table = lake.load_table("shop.t")
    assert table.metadata.table_uuid == before.metadata.table_uuid
    assert table.schema.field("id").id == before.schema.field("id").id
    assert table.schema.field("n").id > before.metadata.last_column_id, "another type is another column"
    assert [f.name for f in table.spec.fields] == ["k"]
    assert rows(run("SELECT * FROM shop.t")) == [(1, "x", 1), (2, "x", 0), (3, "x", 1)]
    assert rows(run(f"SELECT n FROM shop.t VERSION AS OF {old}")) == [(1,), (2,), (3,)]
    run("REPLACE TABLE shop.t (only STRING) USING skipstone")
    assert run("SELECT * FROM shop.t").columns == ["only"] and rows(run("SELECT * FROM shop.t")) == []
    with pytest.raises(NotFound):
        run("REPLACE TABLE shop.none (only STRING) USING skipstone")


def test_a_table_that_cannot_be_replaced_stays_as_it_is(run: Run) -> None:
    with pytest.raises(Exception, match="stop here"):
        run("CREATE OR REPLACE TABLE shop.t AS SELECT IF(id = 2, raise_error('stop here'), id) AS x FROM shop.t")
    assert ids(run) == [1, 2, 3]


def test_a_table_like_another_has_all_but_its_rows(run: Run, lake: Any) -> None:
    run("ALTER TABLE shop.t WRITE ORDERED BY id DESC NULLS FIRST")
    run("CREATE TABLE shop.l LIKE shop.t TBLPROPERTIES ('comment' = 'empty')")
    one, other = lake.load_table("shop.t"), lake.load_table("shop.l")
    assert other.schema.same_as(one.schema) and other.format_version == 3
    assert [f.name for f in other.spec.fields] == ["s", "d"]
    assert str(other.sort_order) == str(one.sort_order) and other.properties["comment"] == "empty"
    assert other.current_snapshot is None


def test_what_show_create_table_says_makes_the_same_table(run: Run, lake: Any) -> None:
    run(
        "CREATE TABLE shop.odd (`My Id` BIGINT NOT NULL COMMENT 'it''s', st STRUCT<`a b`: INT, Cd: ARRAY<STRING>>, "
        "n INT DEFAULT 7) USING skipstone TBLPROPERTIES ('format-version' = '3', primaryKey = 'My Id')"
    )
    before = lake.load_table("shop.odd")
    statement = run("SHOW CREATE TABLE shop.odd").first()[0]
    run("DROP TABLE shop.odd")
    run(statement)
    after = lake.load_table("shop.odd")
    assert after.schema.same_as(before.schema)
    assert after.schema.identifier_field_ids == before.schema.identifier_field_ids


def test_names_of_columns_in_another_case_are_found(run: Run, lake: Any) -> None:
    run("ALTER TABLE shop.t RENAME COLUMN N TO Num")
    run("ALTER TABLE shop.t ALTER COLUMN ID COMMENT 'key'")
    run("ALTER TABLE shop.t ADD PARTITION FIELD bucket(4, ID)")
    run("ALTER TABLE shop.t WRITE ORDERED BY NUM")
    run("ALTER TABLE shop.t DROP COLUMN IF EXISTS nope")
    table = lake.load_table("shop.t")
    assert [f.name for f in table.schema.fields] == ["id", "s", "Num", "d"]
    assert table.schema.field("id").doc == "key" and len(table.sort_order.fields) == 1


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE shop.t DROP COLUMN n now",
        "ALTER TABLE shop.t ALTER COLUMN n TYPE BIGINT, again",
        "ALTER TABLE shop.t ADD PARTITION FIELD n AS m x",
        "ALTER TABLE shop.t SET TBLPROPERTIES ('a' = 'b') x",
        "ALTER TABLE shop.t DROP BRANCH main",
        "ALTER TABLE shop.t DROP BRANCH month",
        "ALTER TABLE shop.t CREATE OR REPLACE BRANCH month",
        "ALTER TABLE shop.t DROP TAG month x",
    ],
)
def test_a_change_of_a_table_that_is_refused_changes_nothing(run: Run, lake: Any, text: str) -> None:
    run("ALTER TABLE shop.t CREATE TAG month")
    before = lake.load_table("shop.t").metadata
    with pytest.raises(InvalidInput):
        run(text)
    assert lake.load_table("shop.t").metadata == before


def test_use_is_for_the_session(run: Run, spark: Any) -> None:
    try:
        run("USE shop")
        assert rows(run("SELECT count(*) FROM t")) == [(3,)]
        run("CREATE OR REPLACE VIEW few AS SELECT * FROM t WHERE id < 3")
        run("USE other")
        assert rows(run("WITH t AS (SELECT 1) SELECT count(*) FROM few")) == [(2,)], "a view means what it meant"
        assert rows(run("SHOW VIEWS")) == [("", "few", True)]
        with pytest.raises(InvalidInput, match="name itself"):
            run("CREATE OR REPLACE VIEW few AS SELECT * FROM few a JOIN few b")
        with pytest.raises(Exception, match="nope"):
            run("CREATE VIEW bad AS SELECT nope FROM shop.t")
        run("CREATE OR REPLACE VIEW few (number, `count of`) AS SELECT id, count(*) FROM shop.t GROUP BY id")
        assert rows(run("SELECT `count of` FROM few WHERE number = 2")) == [(1,)]
        for text in ("CREATE VIEW shop.few AS SELECT 1", "DROP VIEW shop.few"):
            with pytest.raises(Unsupported, match="without a namespace"):
                run(text)
        run("DROP VIEW few")
    finally:
        skipstone.spark.catalogs.attached_to(spark).namespace = ()


# -- rows


def test_partition_values_are_cast_and_say_what_is_overwritten(run: Run, spark: Any) -> None:
    run("INSERT INTO shop.t PARTITION (d = '2026-03-01', S = 'q') SELECT 4, 4")
    run("INSERT INTO shop.t PARTITION (d = '2026-03-02', s = 'q') SELECT 5, 5")
    run("INSERT OVERWRITE shop.t PARTITION (s = 'q', d) SELECT 6, 6, DATE'2026-03-02'")
    assert ids(run) == [1, 2, 3, 6], "all of s = 'q' goes, as in Spark"
    run("INSERT OVERWRITE shop.t PARTITION (d = NULL, s = NULL) SELECT 7, 7")
    assert ids(run) == [1, 2, 6, 7]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        run("INSERT OVERWRITE shop.t PARTITION (s = 'q', d) SELECT 8, 8, DATE'2026-03-03'")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert ids(run) == [1, 2, 6, 7, 8]


def test_defaults_are_put_in_where_the_word_stands_and_where_nothing_does(run: Run) -> None:
    run("ALTER TABLE shop.t ADD COLUMN w INT DEFAULT 9")
    run("INSERT INTO shop.t (id, n, w) VALUES (4, DEFAULT, DEFAULT), (5, greatest(1, 5), 1)")
    run("UPDATE shop.t SET w = 0 WHERE id = 1")
    run("UPDATE shop.t SET w = DEFAULT, n = default WHERE id = 5")
    run("MERGE INTO shop.t t USING (SELECT 6L id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    found = rows(run("SELECT id, n, w FROM shop.t"))
    assert found == [(1, 1, 0), (2, 2, 9), (3, 3, 9), (4, None, 9), (5, None, 9), (6, None, 9)]


def test_names_in_full_and_names_of_one_side(run: Run) -> None:
    run("CREATE TABLE shop.s (id BIGINT, n INT) USING skipstone")
    run("INSERT INTO shop.s VALUES (1, 10), (8, 80)")
    run("UPDATE shop.t SET shop.t.n = shop.t.n + 1 WHERE Shop.T.id = 2")
    run("DELETE FROM shop.t WHERE shop.t.id = 3 AND shop.t.id NOT IN (SELECT shop.s.id FROM shop.s)")
    run(
        "MERGE INTO shop.t USING shop.s ON shop.t.id = shop.s.id WHEN MATCHED THEN UPDATE SET shop.t.n = shop.s.n "
        "WHEN NOT MATCHED AND n > 50 THEN INSERT (id, n) VALUES (id, n + 1) "
        "WHEN NOT MATCHED BY SOURCE AND id = 2 THEN UPDATE SET n = n * 100"
    )
    assert rows(run("SELECT id, n FROM shop.t")) == [(1, 10), (2, 300), (8, 81)]


def test_a_value_is_computed_only_where_its_clause_applies(run: Run) -> None:
    run(
        "MERGE INTO shop.t t USING (SELECT * FROM VALUES (1L, 'u', '7'), (2L, 'd', 'no number') AS v(id, op, txt)) s "
        "ON t.id = s.id WHEN MATCHED AND s.op = 'u' THEN UPDATE SET n = CAST(s.txt AS INT) "
        "WHEN MATCHED THEN DELETE"
    )
    assert rows(run("SELECT id, n FROM shop.t")) == [(1, 7), (3, 3)]


def test_a_with_before_an_insert_and_the_names_of_moments(run: Run, spark: Any) -> None:
    run("WITH x AS (SELECT 9L AS id), y AS (SELECT * FROM x) INSERT INTO shop.t (id) SELECT id FROM y")
    assert ids(run) == [1, 2, 3, 9]
    asked = "current_date() AS current_date, now(), unix_timestamp()"
    moments = run(f"SELECT {asked}, id FROM shop.t WHERE d < current_date")
    assert moments.columns == spark.sql(f"SELECT {asked}, 1 AS id").columns
    assert sorted(r[3] for r in moments.collect()) == [1, 2]


def test_values_that_do_not_fit_fail_without_ansi_mode_too(run: Run, spark: Any) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for text in (
            "INSERT INTO shop.t (id, n) VALUES (4, 3000000000L)",
            "UPDATE shop.t SET n = 3000000000L WHERE id = 1",
            "MERGE INTO shop.t t USING (SELECT 1L id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 3000000000L",
        ):
            with pytest.raises(Exception, match=r"OVERFLOW|overflow|does not fit"):
                run(text)
        assert spark.conf.get("spark.sql.ansi.enabled") == "false"
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert rows(run("SELECT id, n FROM shop.t")) == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("DELETE FROM shop.t WHERE id > 0 LIMIT 1", InvalidInput, "Syntax error at or near 'LIMIT'"),
        ("DELETE FROM shop.t WHERE id > 9) OR (true", InvalidInput, "DELETE FROM shop.t WHERE id > 9) OR (true\n"),
        ("UPDATE shop.t SET n = 1 WHERE id = 1 ORDER BY id", InvalidInput, "Syntax error at or near 'ORDER'"),
        ("SELEC * FROM shop.t", InvalidInput, "Syntax error at or near 'SELEC'"),
        ("SELECT * FROM shop.t WHERE id = = 1", InvalidInput, "SELECT * FROM shop.t WHERE id = = 1\n"),
        ("INSERT INTO shop.t (id, ID) SELECT 1, 2", InvalidInput, "column 'ID' is named twice"),
        ("FROM shop.t INSERT INTO shop.t SELECT * INSERT INTO shop.t SELECT 1", InvalidInput, "expected 4 columns"),
        ("WITH x AS (SELECT 1) FROM x INSERT INTO shop.t SELECT *", Unsupported, "Cannot run INSERT after WITH"),
        ("EXPLAIN DROP TABLE shop.t", Unsupported, "Cannot explain DROP"),
        ("CREATE TABLE shop.z (id INT) TBLPROPERTIES ('format-version' = 'abc')", InvalidInput, "expected 1, 2 or 3"),
        ("CREATE TABLE shop.z LIKE shop.t PARTITIONED BY (n)", InvalidInput, "got both"),
    ],
)  # fmt: skip
def test_what_spark_would_not_parse_is_refused(run: Run, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        run(text)
    assert message in str(caught.value)
    assert ids(run) == [1, 2, 3]


def test_explain_names_each_use_of_a_table_and_what_a_change_reads(run: Run, lake: Any) -> None:
    old = lake.load_table("shop.t").current_snapshot.snapshot_id
    text = run(
        f"EXPLAIN SELECT x.id FROM shop.t x JOIN shop.t VERSION AS OF {old} y ON x.n = y.n "
        "WHERE x.id = 1 AND y.s = 'b'"
    ).first()[0]  # fmt: skip
    assert "-- shop.t AS x\nfilter: id IS NOT NULL AND id = 1" in text
    assert f"-- shop.t VERSION AS OF {old} AS y\n" in text
    deleting = run("EXPLAIN DELETE FROM shop.t WHERE s = 'a' AND id % 2 = 0").first()[0]
    assert "-- shop.t\n" in deleting and "s = 'a'" in deleting and "not used for skipping" in deleting
    assert "-- shop.t\n" in run("EXPLAIN UPDATE shop.t SET n = 1 WHERE id = 2").first()[0]
    moving = run("EXPLAIN SELECT id FROM shop.t WHERE id = 1 AND current_time() IS NOT NULL").first()[0]
    assert "not used for skipping: any filter, because the query asks for current_time" in moving
    assert ids(run) == [1, 2, 3]


# -- others at the same time, and reading little


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_two_merges_that_insert_the_same_key_do_not_both_succeed(run: Run, lake: Any, spark: Any, mode: str) -> None:
    run(f"ALTER TABLE shop.t SET TBLPROPERTIES ('write.merge.mode' = '{mode}')")
    one, other = lake.load_table("shop.t"), lake.load_table("shop.t")
    new = spark.createDataFrame([(50, "a", 1, None)], COLUMNS)
    one.upsert(new, on=["id"])
    with pytest.raises(CommitRejected):
        other.upsert(new, on=["id"])
    assert ids(run).count(50) == 1
    unrelated = lake.load_table("shop.t")
    run("INSERT INTO shop.t VALUES (60, 'b', 1, NULL)")
    unrelated.upsert(spark.createDataFrame([(51, "a", 1, None)], COLUMNS), on=["id"])
    assert ids(run) == [1, 2, 3, 50, 51, 60]


def test_an_upsert_reads_only_files_that_can_hold_its_keys(run: Run, lake: Any, spark: Any) -> None:
    run("CREATE TABLE shop.u (id BIGINT, n INT) USING skipstone TBLPROPERTIES ('write.merge.mode' = 'copy-on-write')")
    for first in (0, 100, 200):
        run(f"INSERT INTO shop.u SELECT id, 1 FROM range({first}, {first + 10})")
    table = lake.load_table("shop.u")
    for path in table.scan("id >= 200").plan().files.column("file_path").to_pylist():
        Path(path.removeprefix("file:")).unlink()  # whoever reads it fails
    table.upsert(spark.createDataFrame([(105, 7), (300, 7)], "id bigint, n int"), on=["id"])
    assert rows(run("SELECT id, n FROM shop.u WHERE id BETWEEN 104 AND 106")) == [(104, 1), (105, 7), (106, 1)]


def test_null_keys_of_an_upsert_are_equal(run: Run, lake: Any, spark: Any) -> None:
    run("INSERT INTO shop.t VALUES (NULL, 'a', 1, NULL)")
    lake.load_table("shop.t").upsert(spark.createDataFrame([(None, "z", 5, None)], COLUMNS), on=["id"])
    assert rows(run("SELECT id, s, n FROM shop.t WHERE id IS NULL")) == [(None, "z", 5)]


def test_conditions_of_the_door_may_name_tables_of_attached_catalogs(iceberg_java: Any, run: Run, lake: Any) -> None:
    session = interpreted(iceberg_java)
    attach(session, lake)
    run("CREATE TABLE shop.gone (id BIGINT) USING skipstone")
    run("INSERT INTO shop.gone VALUES (2), (3)")
    lake.load_table("shop.t").delete("id IN (SELECT id FROM shop.gone)", spark=session)
    assert ids(run) == [1]


def test_changes_of_a_table_that_was_upgraded_are_told_once(run: Run, lake: Any, spark: Any) -> None:
    run("CREATE TABLE shop.old (id BIGINT, n INT) USING skipstone TBLPROPERTIES ('format-version' = '2')")
    run("INSERT INTO shop.old SELECT id, 1 FROM range(5)")
    run("ALTER TABLE shop.old SET TBLPROPERTIES ('format-version' = '3')")
    before = lake.load_table("shop.old").current_snapshot.snapshot_id
    run("DELETE FROM shop.old WHERE id = 2")
    told = lake.load_table("shop.old").changes(after=before, spark=spark)
    assert [(r["id"], r["_change_type"]) for r in told.collect()] == [(2, "DELETE")]


def test_explain_of_a_merge_names_what_its_source_and_its_keys_skip(run: Run, lake: Any) -> None:
    before = lake.load_table("shop.t").metadata_location
    text = run(
        "EXPLAIN MERGE INTO shop.t t USING (SELECT * FROM shop.t WHERE s = 'b') x ON t.id = x.id "
        "WHEN MATCHED THEN DELETE"
    ).first()[0]
    assert "filter: s IS NOT NULL AND s = 'b'" in text, "the source"
    assert "-- shop.t\n" in text and "id = 2" in text, "the table, by the source's only key"
    assert "Physical Plan" in text
    assert lake.load_table("shop.t").metadata_location == before


def test_replaced_columns_are_new_ones_even_under_an_old_name(spark: Any, lake: Any) -> None:
    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    run("CREATE TABLE shop.r (id BIGINT, s STRING) USING skipstone")
    run("INSERT INTO shop.r VALUES (1, 'a')")
    run("ALTER TABLE shop.r REPLACE COLUMNS (s STRING COMMENT 'new', k INT)")
    run("INSERT INTO shop.r VALUES ('b', 2)")
    answer = run("SELECT * FROM shop.r")
    assert answer.columns == ["s", "k"]
    assert rows(answer) == [("b", 2), (None, None)]
    with pytest.raises(InvalidInput):
        run("ALTER TABLE shop.r REPLACE COLUMNS (s STRING, s INT)")


def test_a_partitions_source_is_not_replaced(run: Run) -> None:
    with pytest.raises(InvalidInput, match="partition"):
        run("ALTER TABLE shop.t REPLACE COLUMNS (x INT)")
    assert ids(run) == [1, 2, 3]


def test_one_source_goes_into_several_tables_as_it_was_before(run: Run) -> None:
    run("CREATE TABLE shop.u (id BIGINT) USING skipstone")
    run(
        "FROM shop.t INSERT INTO shop.t SELECT id + 10, s, n, d WHERE id < 3 "
        "INSERT INTO TABLE shop.u SELECT id WHERE id > 1"
    )
    assert ids(run) == [1, 2, 3, 11, 12]
    assert rows(run("SELECT id FROM shop.u")) == [(2,), (3,)]


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize(
    "partition", ["PARTITION (s = 'q', d)", "PARTITION (s, d)", "PARTITION (s = 'q', d = 1)", ""],
)  # fmt: skip
def test_overwritten_partitions_are_those_that_spark_overwrites(
    spark: Any, lake: Any, mode: str, partition: str
) -> None:
    columns = {"PARTITION (s = 'q', d)": "9, 1", "PARTITION (s = 'q', d = 1)": "9"}.get(partition, "9, 'q', 1")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    try:
        found = []
        for table, using, sql in (
            ("default.plain_overwritten", "parquet", spark.sql),
            ("shop.o", "skipstone", lambda text: skipstone.sql(spark, text, catalog=lake)),
        ):
            sql(f"CREATE TABLE {table} (n INT, s STRING, d INT) USING {using} PARTITIONED BY (s, d)")
            sql(f"INSERT INTO {table} VALUES (1, 'q', 1), (2, 'q', 2), (3, 'r', 1)")
            sql(f"INSERT OVERWRITE {table} {partition} SELECT {columns}")
            found.append(rows(sql(f"SELECT n, s, d FROM {table}")))
        assert found[1] == found[0]
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
        spark.sql("DROP TABLE IF EXISTS default.plain_overwritten")


def test_a_temporary_view_comes_before_a_table_of_the_current_namespace(spark: Any, run: Run, lake: Any) -> None:
    session = spark.newSession()
    skipstone.spark.attach(session, lake, name="lake")
    skipstone.sql(session, "USE shop")
    session.sql("SELECT 7 AS id").createOrReplaceTempView("t")
    assert skipstone.sql(session, "SELECT id FROM t").collect() == [(7,)]
    assert skipstone.sql(session, "SELECT count(*) FROM shop.t").collect() == [(3,)]
    skipstone.sql(session, "DELETE FROM t WHERE id = 1")
    assert ids(run) == [2, 3]
    session.catalog.dropTempView("t")
    assert skipstone.sql(session, "SELECT count(*) FROM t").collect() == [(2,)]


# -- metadata columns


def test_rows_are_found_by_metadata_columns_and_a_star_does_not_show_them(run: Run) -> None:
    assert rows(run("SELECT * FROM shop.t WHERE _row_id = 1 OR _pos > 9")) == [
        tuple(r) for r in run("SELECT id, s, n, d FROM shop.t WHERE _row_id = 1").collect()
    ]
    found = run("SELECT *, _row_id + 0 AS r, t._partition.s AS p FROM shop.t t WHERE t._partition.s = 'b' AND n > 0")
    assert found.columns == ["id", "s", "n", "d", "r", "p"]
    (row,) = found.collect()
    assert (row.id, row.p) == (2, "b")
    assert run("SELECT a.*, b._pos FROM shop.t a JOIN shop.t b ON a._row_id = b._row_id").columns == [
        "id", "s", "n", "d", "_pos"
    ]  # fmt: skip
    told = run("EXPLAIN SELECT id FROM shop.t WHERE _row_id = 1 AND id > 1").first()[0]
    assert "not used for skipping: (t._row_id = 1L)" in told and "filter: id IS NOT NULL AND id > 1" in told
    run(f"DELETE FROM shop.t WHERE _row_id = {row.r}")
    assert ids(run) == [1, 3]
    run("UPDATE shop.t SET n = 9 WHERE _pos = 0 AND _file LIKE '%parquet' AND id = 1")
    assert rows(run("SELECT id, n FROM shop.t")) == [(1, 9), (3, 3)]


def test_text_that_only_spark_can_parse_is_a_query_all_the_same(run: Run) -> None:
    assert rows(run("SELECT id FROM shop.t |> WHERE id > 1 |> ORDER BY id |> LIMIT 1")) == [(2,)]
