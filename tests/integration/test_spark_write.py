"""DataFrames written to tables: rows come back equal, placed as the table asks, and bad ones are refused."""

from __future__ import annotations

import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import skipstone
from skipstone.errors import CommitRejected, InvalidInput, SkipstoneError, Unsupported

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

ORDERS = [("id", "long"), ("state", "string"), ("price", "double")]
FRAME = "id long, state string, price double"


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def spark(iceberg_java: Any) -> Any:
    return iceberg_java


def rows_of(table: Any, **scan: Any) -> list[Any]:
    return sorted((tuple(r.values()) for r in table.scan(**scan).to_arrow().to_pylist()), key=repr)


def files_on_disk(table: Any) -> list[Path]:
    return sorted(p for p in Path(table.location, "data").rglob("*") if p.is_file())


def test_append_brings_the_rows_and_leaves_only_files_of_the_table(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS)
    rows = [(1, "CA", 1.5), (2, "NY", None), (3, None, 2.5)]
    table.append(spark.createDataFrame(rows, FRAME))
    table.append(spark.createDataFrame(rows, FRAME))
    assert rows_of(table) == sorted(rows * 2, key=repr)
    assert [str(p) for p in files_on_disk(table)] == sorted(table.inspect.files()["file_path"].to_pylist())


def test_append_of_no_rows_adds_no_file(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS)
    table.append(spark.createDataFrame([], FRAME))
    assert table.inspect.files().num_rows == 0
    assert files_on_disk(table) == []


def test_partition_values_that_look_alike_stay_apart(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS, partition_by=["state"])
    states = ["CA", "null", None, "", "~", "__HIVE_DEFAULT_PARTITION__", "a/b=c", "x" * 300, "x" * 299 + "y"]
    rows = [(i, states[i % len(states)], i / 2) for i in range(5 * len(states))]
    table.append(spark.createDataFrame(rows, FRAME))
    assert rows_of(table) == sorted(rows, key=repr)
    found = [p["state"] for p in table.inspect.files()["partition"].to_pylist()]
    assert sorted(found, key=repr) == sorted(states, key=repr)
    assert table.scan("state = ''").count() == 5
    assert table.scan("state IS NULL").plan().files.num_rows == 1


def test_every_kind_of_partition_is_written_and_pruned(catalog: Any, spark: Any) -> None:
    terms = ["bucket(4, id)", "truncate(2, s)", "day(ts)", "month(d)", "x", "inside.v"]
    columns = [("id", "long"), ("s", "string"), ("ts", "timestamptz"), ("d", "date"), ("x", "double"),
               ("inside", "struct<v: int>")]  # fmt: skip
    table = catalog.create_table("db.parts", columns, partition_by=terms)
    frame = spark.sql(
        "SELECT id, concat('s', id % 3, 'tail') s, timestamp_micros((id - 3) * 40000000000) ts, "
        "date_add(DATE '1969-12-30', CAST(id AS INT)) d, "
        "CASE id % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D END x, "
        "named_struct('v', CAST(id % 2 AS INT)) inside FROM range(12)"
    )
    table.append(frame)
    assert table.scan().count() == 12
    plan = table.scan("id = 5").plan()
    assert plan.files.num_rows < table.inspect.files().num_rows
    assert [r["id"] for r in table.scan("id = 5").to_arrow().to_pylist()] == [5]
    assert table.scan("inside.v = 1").count() == 6
    assert table.scan("ts < TIMESTAMP '1970-01-01 00:00:00+00:00'").count() == 3


def test_sorted_tables_get_sorted_files_that_say_so(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.sorted", ORDERS, sort_by=["price desc", "id"])
    rows = [(i, "s", [0.0, -0.0, None, 7.5, float("nan")][i % 5]) for i in range(60)]
    table.append(spark.createDataFrame(rows, FRAME).repartition(3))
    files = table.inspect.files()
    assert set(files["sort_order_id"].to_pylist()) == {table.metadata.default_sort_order_id} != {0}
    for path in files["file_path"].to_pylist():
        prices = [repr(v) for v in pq.read_table(path)["price"].to_pylist()]
        ranks = [["nan", "7.5", "0.0", "-0.0", "None"].index(p) for p in prices]
        assert ranks == sorted(ranks)


def test_settings_of_the_table_reach_the_files(catalog: Any, spark: Any) -> None:
    properties = {
        "write.parquet.compression-codec": "gzip",
        "write.parquet.bloom-filter-enabled.column.id": "true",
        "write.parquet.dict-size-bytes": "1000",
        "write.target-file-size-bytes": "40000",
        "write.metadata.metrics.column.state": "counts",
    }
    table = catalog.create_table("db.settings", ORDERS, properties=properties)
    table.append(spark.range(0, 8000, 1, 1).selectExpr("id", "uuid() state", "rand() price"))
    files = table.inspect.files()
    assert files.num_rows > 1
    for path, lower in zip(files["file_path"].to_pylist(), files["lower_bounds"].to_pylist(), strict=True):
        column = pq.read_metadata(path).row_group(0).column(0)
        assert column.compression == "GZIP"
        assert [i for i, _ in lower] == [1, 3]
    assert all(_has_bloom(p) for p in files_on_disk(table))


def _has_bloom(path: Path) -> bool:
    from skipstone.zones.build import FileBytes
    from skipstone.zones.build.parquet_structures import read_footer

    footer = read_footer(FileBytes.of_buffer(path.read_bytes(), path.name))
    return "bloom_filter=Span" in repr(footer)


def test_columns_match_by_name_whatever_their_case_and_order(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS)
    table.append(spark.createDataFrame([(1.5, 1, "CA")], "Price double, ID int, STATE string"))
    assert rows_of(table) == [(1, "CA", 1.5)]


def test_values_that_fit_without_loss_are_taken(catalog: Any, spark: Any) -> None:
    columns = [("i", "int"), ("f", "float"), ("d", "decimal(20, 4)"), ("n", "struct<a: long, b: list<double>>")]
    table = catalog.create_table("db.wider", columns)
    frame = spark.sql("SELECT 5L i, 0.5D f, CAST(1.25 AS DECIMAL(5,2)) d, named_struct('B', array(1.5F), 'A', 3) n")
    table.append(frame)
    assert rows_of(table) == [(5, 0.5, Decimal("1.2500"), {"a": 3, "b": [1.5]})]


def test_missing_columns_take_their_write_default(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.defaults", [("id", "long")], format_version=3)
    with table.update_schema() as schema:
        schema.add_column("region", "string", default="EU")
        schema.add_column("day", "date")
    table.append(spark.range(2))
    assert rows_of(table) == [(0, "EU", None), (1, "EU", None)]


BAD = {
    "an unknown column": ("SELECT 1L id, 'x' regoin", "Cannot write column 'regoin'"),
    "a missing required column": ("SELECT 'x' state", "'id'"),
    "a type that does not fit": ("SELECT '1' id", "Cannot write column 'id': expected integers, got string"),
    "a type that the format lacks": ("SELECT 1L id, INTERVAL '1' DAY state", "Cannot write column 'state'"),
    "the same column twice": ("SELECT 1L id, 2L ID", "Cannot write column 'ID': expected it once"),
    "a null in a required column": (
        "SELECT CAST(NULL AS BIGINT) id",
        "Cannot write column 'id' (id 1): it is required",
    ),
    "a null in a required field": ("SELECT 1L id, named_struct('r', CAST(NULL AS INT)) n", "'n.r'"),
    "a number too large": ("SELECT 1L id, 3000000000L small", "Cannot write column 'small': expected values that int"),
    "moments with a zone": ("SELECT 1L id, TIMESTAMP_LTZ '2020-01-01' ts", "without a time zone"),
    "nulls only in a required column": ("SELECT NULL id", "it is required"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_clear_error_and_nothing_is_visible(catalog: Any, spark: Any, what: str) -> None:
    query, message = BAD[what]
    columns = [("id", "long not null"), ("state", "string"), ("small", "int"), ("ts", "timestamp"),
               ("n", "struct<r: int not null>")]  # fmt: skip
    table = catalog.create_table("db.bad", columns)
    with pytest.raises(SkipstoneError) as caught:
        table.append(spark.sql(query))
    assert isinstance(caught.value, InvalidInput)
    assert message in str(caught.value)
    assert table.current_snapshot is None
    assert files_on_disk(table) == []


def test_a_job_that_fails_leaves_nothing(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.fails", ORDERS, partition_by=["state"])
    frame = spark.range(0, 100, 1, 4).selectExpr(
        "IF(id = 99, CAST(raise_error('broken source') AS BIGINT), id) id", "CAST(id % 3 AS STRING) state", "1D price"
    )
    with pytest.raises(Exception, match="broken source"):
        table.append(frame)
    assert table.current_snapshot is None
    assert files_on_disk(table) == []


def test_types_that_spark_stores_otherwise_are_stored_as_the_format_asks(catalog: Any, spark: Any) -> None:
    columns = [("id", "uuid"), ("code", "fixed[3]"), ("at", "timestamp_ns"), ("v", "int")]
    table = catalog.create_table("db.odd", columns, partition_by=["bucket(3, id)"], format_version=3)
    ids = [uuid.uuid5(uuid.NAMESPACE_DNS, str(i)) for i in range(6)]
    rows = [(str(u), bytearray(b"abc"), i) for i, u in enumerate(ids)]
    frame = spark.createDataFrame(rows, "id string, code binary, v int")
    table.append(frame.selectExpr("id", "code", "TIMESTAMP_NTZ '2020-01-01 00:00:00.000001' at", "v"))
    found = table.scan().to_arrow()
    assert sorted(found["id"].to_pylist(), key=str) == sorted(ids, key=str)
    assert set(found["code"].to_pylist()) == {b"abc"}
    assert {str(v) for v in found["at"].cast("int64").to_pylist()} == {"1577836800000001000"}
    with pytest.raises(InvalidInput, match="expected 3 bytes"):
        table.append(spark.sql("SELECT X'61' code"))
    with pytest.raises(InvalidInput, match="uuid"):
        table.append(spark.sql("SELECT 'no uuid' id"))


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_other_formats_are_written_in_tasks(catalog: Any, spark: Any, file_format: str) -> None:
    properties = {"write.format.default": file_format}
    table = catalog.create_table("db.other", ORDERS, partition_by=["state"], properties=properties)
    rows = [(i, "ab"[i % 2], i / 2) for i in range(10)]
    table.append(spark.createDataFrame(rows, FRAME))
    assert rows_of(table) == sorted(rows, key=repr)
    assert set(table.inspect.files()["file_format"].to_pylist()) == {file_format.upper()}
    with pytest.raises(InvalidInput, match="expected integers"):
        table.append(spark.sql("SELECT 'x' id"))


def test_lists_that_hold_no_lists_are_written_in_tasks(catalog: Any, spark: Any) -> None:
    columns = [("id", "long"), ("li", "list<list<string>>"), ("m", "map<int, list<int>>")]
    table = catalog.create_table("db.t", columns, properties={"write.format.default": "avro"})
    frame = spark.createDataFrame(
        [(1, [], {}), (2, None, None)], "id long, li array<array<string>>, m map<int, array<int>>"
    )
    table.append(frame)
    assert rows_of(table) == [(1, [], []), (2, None, None)]
    assert sorted(map(tuple, table.scan().to_spark(spark).collect())) == [(1, [], {}), (2, None, None)]


def test_overwrites_branches_and_transactions(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS, partition_by=["state"])
    declared = table.schema
    table.append(spark.createDataFrame([(1, "CA", 1.0), (2, "NY", 2.0)], FRAME))
    table.overwrite(spark.createDataFrame([(3, "NY", 3.0)], FRAME), mode="dynamic")
    assert rows_of(table) == [(1, "CA", 1.0), (3, "NY", 3.0)]
    table.overwrite(spark.createDataFrame([(4, "CA", 4.0)], FRAME), filter="id = 1")
    assert rows_of(table) == [(3, "NY", 3.0), (4, "CA", 4.0)]
    table.create_branch("audit")
    table.append(spark.createDataFrame([(5, "CA", 5.0)], FRAME), branch="audit")
    assert rows_of(table, ref="audit") == [(3, "NY", 3.0), (4, "CA", 4.0), (5, "CA", 5.0)]
    with table.transaction() as change:
        change.append(spark.createDataFrame([(6, "TX", 6.0)], FRAME))
        change.delete("id = 3")
    assert rows_of(table) == [(4, "CA", 4.0), (6, "TX", 6.0)]
    table.append(spark.sql("SELECT 7L id, 'WA' state, 7D price, 'new' more"), merge_schema=True)
    assert (7, "WA", 7.0, "new") in rows_of(table)
    table.append(spark.sql("SELECT 8L ID, 'WA' State, 8D price, 'newer' MORE"), merge_schema=True)
    assert (8, "WA", 8.0, "newer") in rows_of(table)
    assert [(f.name, f.required) for f in table.schema.fields] == [
        *((f.name, f.required) for f in declared.fields),
        ("more", False),
    ]


def test_a_schema_that_changed_meanwhile_is_one_clear_error(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.orders", ORDERS)
    stale = catalog.load_table("db.orders")
    with table.update_schema() as schema:
        schema.delete_column("price")
        schema.add_column("price", "string")
    with pytest.raises(CommitRejected, match="schema"):
        stale.append(spark.createDataFrame([(1, "CA", 1.0)], FRAME))
    assert table.refresh().current_snapshot is None


def test_tables_in_memory_are_refused(spark: Any) -> None:
    catalog = skipstone.catalog("sqlite:///:memory:", warehouse="memory://lake")
    table = catalog.create_table("db.orders", ORDERS)
    with pytest.raises(Unsupported, match="memory of one process"):
        table.append(spark.createDataFrame([(1, "CA", 1.0)], FRAME))
