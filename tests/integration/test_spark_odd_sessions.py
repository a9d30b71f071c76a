"""Sessions and names that users really have: whatever a session says, rows come back as they went in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as T

import skipstone
from skipstone.errors import InvalidInput

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

COLUMNS = [
    ("id", "long"), ("d", "date"), ("ts", "timestamp"), ("tz", "timestamptz"), ("price", "decimal(10,2)"),
    ("s", "string"), ("li", "list<int>"), ("added", "int"),
]  # fmt: skip
ROWS = """SELECT * FROM VALUES
    (1L, DATE'0001-01-01', TIMESTAMP_NTZ'0001-01-01 00:00:00', TIMESTAMP_LTZ'0001-01-01 00:00:00Z', 1.50BD, 'a',
     array(1, NULL)),
    (2L, DATE'1582-10-04', TIMESTAMP_NTZ'1582-10-04 23:59:59.999999', TIMESTAMP_LTZ'1899-12-31 23:59:59.999999Z',
     -1.50BD, '', array()),
    (3L, DATE'9999-12-31', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', TIMESTAMP_LTZ'2020-06-01 03:30:00Z', NULL, NULL,
     NULL)
    AS t(id, d, ts, tz, price, s, li)"""
FILTERS = {"d <= '1582-10-04'": [1, 2], "tz < '1900-01-01T00:00:00+00:00'": [1, 2], "s = ''": [2], "price < 0": [2]}
SESSIONS = {
    "old calendar": {
        "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
        "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    },
    "old formats": {
        "spark.sql.parquet.writeLegacyFormat": "true",
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.fieldId.write.enabled": "false",
        "spark.sql.parquet.fieldId.read.enabled": "false",
    },
    "another zone and no zones": {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.ansi.enabled": "false",
    },
    "strict names": {
        "spark.sql.caseSensitive": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.ansi.enforceReservedKeywords": "true",
    },
    "small pieces": {
        "spark.sql.files.maxRecordsPerFile": "1",
        "spark.sql.files.maxPartitionBytes": "64",
        "spark.sql.parquet.enableVectorizedReader": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.sources.useV1SourceList": "",
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
    },
}


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def spark(iceberg_java: Any) -> Any:
    return iceberg_java


def session_with(spark: Any, settings: dict[str, str]) -> Any:
    made = spark.newSession()
    for key, value in settings.items():
        made.conf.set(key, value)
    return made


def partitions_of(table: Any) -> list[str]:
    return sorted(str(row) for row in table.inspect.files().column("partition").to_pylist())


def moments_as_numbers(table: Any) -> Any:
    ordered = table.sort_by("id")
    for i, field in enumerate(ordered.schema):
        if pa.types.is_timestamp(field.type):
            ordered = ordered.set_column(i, field.name, ordered.column(i).cast(pa.int64()))
    return ordered.to_pylist()


@pytest.mark.parametrize(
    ("what", "file_format"),
    [*((what, "parquet") for what in SESSIONS), ("another zone and no zones", "avro"), ("small pieces", "avro")],
)
def test_rows_and_partitions_do_not_depend_on_the_session(
    catalog: Any, spark: Any, what: str, file_format: str
) -> None:
    def written(name: str, session: Any) -> Any:
        table = catalog.create_table(
            f"d.{name}", COLUMNS, partition_by=["day(tz)", "bucket(4, s)", "truncate(2, price)"], sort_by=["ts"],
            properties={"write.format.default": file_format},
        )  # fmt: skip
        table.append(session.sql(ROWS))
        return table

    odd = session_with(spark, SESSIONS[what])
    usual, table = written("usual", spark), written("odd", odd)
    expected = moments_as_numbers(usual.scan().to_arrow())
    assert moments_as_numbers(table.scan().to_arrow()) == expected
    assert moments_as_numbers(table.scan().to_spark(odd).toArrow()) == expected
    assert [r["_pos"] for r in table.scan(columns=["_pos"]).to_spark(odd).collect()] == [0, 0, 0]
    assert partitions_of(table) == partitions_of(usual)
    for text, ids in FILTERS.items():
        assert sorted(r.id for r in table.scan(text).to_spark(odd).select("id").collect()) == ids, text


def test_functions_of_the_user_see_the_time_zone_of_their_session(catalog: Any, spark: Any) -> None:
    session = session_with(spark, {"spark.sql.session.timeZone": "America/New_York"})
    hour = F.pandas_udf(lambda moments: moments.dt.hour.astype("int32"), "int")
    frame = session.sql("SELECT 1L AS id, TIMESTAMP_LTZ'2020-01-01 00:00:00Z' AS tz").withColumn("h", hour("tz"))
    assert frame.first().h == 19
    for file_format in ("parquet", "orc"):
        table = catalog.create_table(
            f"d.{file_format}", [("id", "long"), ("tz", "timestamptz"), ("h", "int")], partition_by=["hour(tz)"],
            properties={"write.format.default": file_format},
        )  # fmt: skip
        table.append(frame)
        assert table.scan().to_arrow().column("h").to_pylist() == [19]
        assert table.scan("tz = '2020-01-01T00:00:00+00:00'").count() == 1


@pytest.mark.parametrize(
    ("name", "file_format"),
    [("a.b", "parquet"), ("we`ird", "parquet"), ("n" * 250, "parquet"), ("we`ird", "orc"), (".a b", "orc")],
)
def test_odd_names_of_columns_are_routed_sorted_and_found(
    catalog: Any, spark: Any, name: str, file_format: str
) -> None:
    table = catalog.create_table(
        "d.t", [("id", "long"), (name, "string")], properties={"write.format.default": file_format}
    )
    with table.update_spec() as change:
        change.add_field(name, "bucket[4]", name=f"{name} in buckets" if len(name) < 99 else name + "s")
    table.sort_by("`" + name.replace("`", "``") + "`")
    texts = ["v/al =%", None, "", "\U0001f600" * 48]
    struct = T.StructType([T.StructField("id", T.LongType()), T.StructField(name, T.StringType())])
    table.append(spark.createDataFrame(list(enumerate(texts)), struct))
    for rows in (table.scan().to_arrow(), table.scan().to_spark(spark).toArrow()):
        assert rows.sort_by("id").column(name).to_pylist() == texts
    assert table.scan(skipstone.col(name) == texts[0]).to_spark(spark).count() == 1


def test_long_names_leave_room_for_wide_values_in_directories(catalog: Any, spark: Any) -> None:
    name = "c" * 64
    table = catalog.create_table("d.t", [("id", "long"), (name, "string")], partition_by=[name])
    texts = ["\U0001f600" * 48, "%" * 48]
    table.append(spark.createDataFrame(list(enumerate(texts)), f"id long, {name} string"))
    assert sorted(table.scan().to_arrow().column(name).to_pylist()) == sorted(texts)


def test_a_column_named_like_a_hidden_one_keeps_its_values(catalog: Any, spark: Any) -> None:
    table = catalog.create_table(
        "d.t", [("id", "long"), ("sort_key_0", "string"), ("sort_key_1", "long")], sort_by=["id", "sort_key_1"]
    )
    table.append(spark.sql("SELECT 1L AS id, 'x' AS sort_key_0, 9L AS sort_key_1"))
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "sort_key_0": "x", "sort_key_1": 9}]


@pytest.mark.parametrize(
    ("type_", "value"),
    [("double", "9223372036854775807L"), ("float", "9223372036854775807L"), ("float", "2147483647")],
)
def test_integers_that_round_up_beyond_the_greatest_are_refused(
    catalog: Any, spark: Any, type_: str, value: str
) -> None:
    table = catalog.create_table("d.t", [("x", type_)])
    with pytest.raises(InvalidInput, match=f"expected values that {type_} holds without loss"):
        table.append(spark.sql(f"SELECT {value} AS x"))
    assert table.current_snapshot is None


def test_a_name_reused_after_its_schema_was_removed_keeps_its_rows(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("d.t", [("id", "long"), ("a", "int")])
    table.append(spark.sql("SELECT 1L AS id, 1 AS a"))
    with table.update_schema() as change:
        change.rename_column("a", "b")
    with table.update_schema() as change:
        change.add_column("a", "int")
    table.append(spark.sql("SELECT 2L AS id, 5 AS b, 7 AS a"))
    left = replace(table.metadata, schemas=(table.metadata.current_schema,))
    frame = replace(table.scan(), metadata=left).to_spark(spark)
    assert sorted(r.id for r in frame.where("a IS NULL").collect()) == [1]
    assert sorted(r.id for r in frame.where("a = 7 OR b = 1").collect()) == [1, 2]


def test_lists_are_stored_with_ids_in_the_formats_own_layout(catalog: Any, spark: Any) -> None:
    session = session_with(spark, SESSIONS["old formats"])
    table = catalog.create_table("d.t", [("li", "list<int>"), ("price", "decimal(10,2)")])
    table.append(session.sql("SELECT array(1, 2) AS li, 1.50BD AS price"))
    footer = pq.ParquetFile(table.scan().plan().files.column("file_path")[0].as_py())
    assert [footer.schema.column(i).path for i in range(2)] == ["li.list.element", "price"]
    assert footer.schema.column(1).physical_type == "INT64"


def test_names_that_differ_in_case_only_are_read_in_any_session(catalog: Any, spark: Any) -> None:
    strict = session_with(spark, {"spark.sql.caseSensitive": "true"})
    table = catalog.create_table("d.t", [("a", "int"), ("A", "string"), ("st", "struct<x: int, X: string>")])
    table.append(strict.sql("SELECT 1 AS a, 'b' AS A, named_struct('x', 1, 'X', 'y') AS st"))
    for session in (strict, spark):
        assert [tuple(r) for r in table.scan("st.X = 'y'").to_spark(session).collect()] == [(1, "b", (1, "y"))]


def test_statements_tell_names_apart_that_differ_in_case_only_where_the_session_does(catalog: Any, spark: Any) -> None:
    strict = session_with(spark, {"spark.sql.caseSensitive": "true"})

    def run(text: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(r) for r in skipstone.sql(strict, text, catalog=catalog).collect())

    run("CREATE TABLE d.t (a INT, A STRING, st STRUCT<x: INT, X: STRING>) USING skipstone PARTITIONED BY (A)")
    run("INSERT INTO d.t VALUES (1, 'p', named_struct('x', 1, 'X', 'u'))")
    run("INSERT INTO d.t PARTITION (A = 'q') VALUES (2, named_struct('x', 2, 'X', 'v'))")
    run("INSERT INTO d.t (A, a) VALUES ('r', 3)")
    run("UPDATE d.t SET A = 'z', st.X = 'w' WHERE a = 1")
    run(
        "MERGE INTO d.t t USING (SELECT 'q' AS A, 7 AS a, named_struct('x', 0, 'X', 'm') AS st) s ON t.A = s.A "
        "WHEN MATCHED THEN UPDATE SET *"
    )
    assert run("SELECT a, A, st.x, st.X FROM d.t WHERE st.X <> 'v'") == [(1, "z", 1, "w"), (7, "q", 0, "m")]
    run("DELETE FROM d.t WHERE A = 'z'")
    assert run("SELECT a, A FROM d.t") == [(3, "r"), (7, "q")]


@pytest.mark.parametrize("name", ["a.b", "we`ird", "count"])
@pytest.mark.parametrize("mode", ["merge", "equality-delete"])
def test_rows_are_upserted_by_keys_with_odd_names(catalog: Any, spark: Any, name: str, mode: str) -> None:
    table = catalog.create_table(
        "d.t", [("id", "long"), (name, "string")], format_version=2, properties={"write.upsert.mode": mode}
    )
    struct = T.StructType([T.StructField("id", T.LongType()), T.StructField(name, T.StringType())])

    def frame(*rows: tuple[int, str]) -> Any:
        return spark.createDataFrame(list(rows), struct)

    table.append(frame((1, "a"), (2, "b")))
    table.upsert(frame((3, "b"), (4, "c"), (5, "c")), on=[name], order_by="id")
    expected = [(1, "a"), (3, "b"), (5, "c")]
    assert sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist()) == expected
    assert sorted(tuple(r) for r in table.scan().to_spark(spark).collect()) == expected
    if mode == "equality-delete":
        with pytest.raises(InvalidInput, match=r"got 2 rows with .* = 'c'"):
            table.upsert(frame((6, "c"), (7, "c")), on=[name])


def test_moments_and_values_of_functions_are_keys_as_their_session_has_them(catalog: Any, spark: Any) -> None:
    session = session_with(spark, {"spark.sql.session.timeZone": "America/New_York"})
    hour = F.pandas_udf(lambda moments: moments.dt.hour.astype("int32"), "int")
    table = catalog.create_table(
        "d.t", [("id", "long"), ("tz", "timestamptz"), ("h", "int")], format_version=2,
        properties={"write.upsert.mode": "equality-delete"},
    )  # fmt: skip
    for number in (1, 2):
        moment = session.sql(f"SELECT {number}L AS id, TIMESTAMP_LTZ'2020-01-01 00:00:00Z' AS tz")
        table.upsert(moment.withColumn("h", hour("tz")), on=["tz", "h"])
    assert [(r["id"], r["h"]) for r in table.scan().to_arrow().to_pylist()] == [(2, 19)]
    assert [(r.id, r.h) for r in table.scan().to_spark(session).collect()] == [(2, 19)]
