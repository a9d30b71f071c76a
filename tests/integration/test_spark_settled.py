"""Few rows of a statement come to the driver, many stay with Spark: the same rows, and the same table, either way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.spark import interpreted

import skipstone
from skipstone.read.keyed_rows import find_keyed_rows
from skipstone.spark import settled
from skipstone.spark.settled import collect_up_to
from skipstone.statements import merging

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


@pytest.mark.parametrize("tasks", [1, 3])
def test_all_rows_or_none(spark: Any, tasks: int) -> None:
    frame = spark.range(0, 30, 1, tasks)
    assert sorted(collect_up_to(frame, 30).column(0).to_pylist()) == list(range(30))
    assert collect_up_to(frame, 29) is None
    assert collect_up_to(spark.range(0), 0).num_rows == 0


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("rows_max", [0, 1, 250_000])
def test_a_table_is_the_same_whoever_writes_the_rows(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, rows_max: int
) -> None:
    monkeypatch.setattr(settled, "ROWS_HERE_MAX", rows_max)
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))

    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    run(
        "CREATE TABLE shop.t (id BIGINT, f FLOAT, d DECIMAL(9,2), t DATE, z TIMESTAMP, l TIMESTAMP_NTZ, b BINARY, "
        "o BOOLEAN, s STRING NOT NULL) USING skipstone PARTITIONED BY (days(z)) "
        f"TBLPROPERTIES ('format-version' = '3', {modes})"
    )
    run(
        "INSERT INTO shop.t SELECT id, id / 2, id, date_add(DATE'2026-01-01', CAST(id AS INT)), "
        "timestamp_seconds(id * 40000), TIMESTAMP_NTZ'1500-01-01 00:00:00', CAST('x' AS BINARY), id > 2, 's' "
        "FROM range(6)"
    )
    row_ids = {r.id: str(r._row_id) for r in run("SELECT id, _row_id FROM shop.t").collect()}
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        run("UPDATE shop.t SET f = float('NaN'), z = z + INTERVAL 1 DAY WHERE id < 2")
        run(
            "MERGE INTO shop.t t USING (SELECT id FROM range(4, 8)) v ON t.id = v.id "
            "WHEN MATCHED AND v.id = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET d = -1.5, b = X'00ff', l = NULL "
            "WHEN NOT MATCHED THEN INSERT (id, z, s) VALUES (v.id, TIMESTAMP'2026-01-01 05:00:00', 'new')"
        )
        found = run(
            "SELECT id, CAST(f AS STRING), d, t, unix_micros(z), CAST(l AS STRING), hex(b), o, s, _row_id, "
            "_last_updated_sequence_number FROM shop.t ORDER BY id"
        ).collect()
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    shown = [tuple(map(str, r)) for r in found]
    assert shown[0] == (
        "0", "NaN", "0.00", "2026-01-01", "86400000000", "1500-01-01 00:00:00", "78", "False", "s", row_ids[0], "2"
    )  # fmt: skip
    assert shown[4][2:10] == ("-1.50", "2026-01-05", "160000000000", "None", "00FF", "True", "s", row_ids[4])
    assert [r[0] for r in shown] == ["0", "1", "2", "3", "4", "6", "7"]
    assert [r[10] for r in shown] == ["2", "2", "1", "1", "3", "3", "3"]
    assert shown[5][4] == "1767211200000000" and shown[5][8] == "new"


@pytest.mark.parametrize("version", [2, 3])
def test_more_rows_than_were_expected_stay_with_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Two source rows are expected to match few rows and match six: found out on the way, and done all the same."""
    monkeypatch.setattr(settled, "ROWS_HERE_MAX", 3)
    came: list[bool] = []

    def counted(frame: Any, rows_max: int) -> Any:
        table = collect_up_to(frame, rows_max)
        came.append(table is not None)
        return table

    monkeypatch.setattr(settled, "collect_up_to", counted)
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))

    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    run(
        "CREATE TABLE shop.t (id BIGINT, g BIGINT, n INT) USING skipstone "
        f"TBLPROPERTIES ('format-version' = '{version}', 'write.merge.mode' = 'merge-on-read')"
    )
    run("INSERT INTO shop.t SELECT id, id % 2, 0 FROM range(6)")
    kept_before = spark.sparkContext._jsc.getPersistentRDDs().size()
    run(
        "MERGE INTO shop.t t USING (SELECT id FROM range(2)) v ON t.g = v.id WHEN MATCHED THEN UPDATE SET n = v.id + 10"
    )
    run("MERGE INTO shop.t t USING (SELECT 3L AS id) v ON t.id = v.id WHEN MATCHED THEN DELETE")
    assert came == [False, True]
    found = run("SELECT id, n FROM shop.t ORDER BY id").collect()
    assert [tuple(r) for r in found] == [(0, 10), (1, 11), (2, 10), (4, 10), (5, 11)]
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept_before


MERGES = (
    "MERGE INTO shop.t t USING (SELECT id, id * 1.5D AS x FROM range(0, 40, 3)) v ON t.id = v.id "
    "WHEN MATCHED AND t.`a``b` = 'odd' THEN DELETE WHEN MATCHED THEN UPDATE SET x = v.x + length(t.N)",
    "MERGE INTO shop.t t USING (SELECT CAST(id AS INT) AS k FROM range(3) UNION ALL SELECT NULL) v "
    "ON t.k <=> v.k AND t.id < 20 WHEN MATCHED THEN UPDATE SET x = -1, `a``b` = concat(t.n, IDENTIFIER('t.z'))",
    "MERGE INTO shop.t t USING (SELECT id, 'new' AS n FROM range(10, 60, 7)) v ON v.id = t.id AND t.n <> 'n3' "
    "WHEN MATCHED AND v.id > 30 THEN UPDATE SET n = upper(v.n) WHEN MATCHED AND t.x > 1e9 THEN DELETE "
    "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (v.id, v.n)",
    "MERGE INTO shop.t t USING (SELECT id FROM range(500, 510)) v ON t.id = v.id WHEN MATCHED THEN DELETE",
    "MERGE INTO shop.t t USING (SELECT id, k, 0D AS x, n, `a``b`, z FROM shop.t WHERE id < 3) v ON t.id = v.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)


@pytest.mark.parametrize("version", [2, 3])
def test_a_merge_is_the_same_whoever_finds_its_rows(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Rows found here by their keys, with what the statement looks at; and found by Spark, with every column."""
    found_here: list[bool] = []

    def counted(*args: Any, **options: Any) -> Any:
        rows = find_keyed_rows(*args, **options)
        found_here.append(rows is not None)
        return rows

    monkeypatch.setattr(merging, "find_keyed_rows", counted)
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    answers = []
    for is_here in (True, False):
        monkeypatch.setattr(merging, "reads_sooner_here", lambda spark, is_here=is_here: is_here)
        skipstone.sql(
            spark,
            f"CREATE OR REPLACE TABLE shop.t (id BIGINT, k INT, x DOUBLE, n STRING, `a``b` STRING, z TIMESTAMP) "
            f"USING skipstone TBLPROPERTIES ('format-version' = '{version}', 'write.merge.mode' = 'merge-on-read')",
            catalog=lake,
        )
        for start in (0, 20):
            skipstone.sql(
                spark,
                f"INSERT INTO shop.t SELECT id, IF(id % 5 = 4, NULL, id % 5), id / 4, concat('n', id % 4), "
                f"IF(id % 9 = 0, 'odd', 'even'), timestamp_seconds(id) FROM range({start}, {start + 20})",
                catalog=lake,
            )
        skipstone.sql(spark, "DELETE FROM shop.t WHERE id IN (6, 33)", catalog=lake)
        for text in MERGES:
            skipstone.sql(spark, text, catalog=lake)
        rows = skipstone.sql(spark, "SELECT * FROM shop.t ORDER BY id, k, x, n", catalog=lake).collect()
        answers.append([tuple(map(str, r)) for r in rows])
    assert answers[0] == answers[1] and len(answers[0]) > 30
    assert found_here == [True] * len(MERGES)
