"""Scans as Spark DataFrames: the rows of a scan without Spark and of Spark without skipping, natively."""

from __future__ import annotations

import datetime
import math
import re
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.table_builder import TableBuilder

import skipstone
from skipstone.errors import NotFound, Unsupported
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMPTZ,
    UUID,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
)
from skipstone.predicate import FloatOrder
from skipstone.scan import Scan
from skipstone.spark import deleted_positions, few_rows
from skipstone.spark.scan import as_spark_reads
from skipstone.spark.session import temporarily
from skipstone.spark.splits import split_of
from skipstone.storage.local import LocalStorage

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

NAN = float("nan")


@pytest.fixture
def spark(iceberg_java: Any) -> Any:
    return iceberg_java


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


def scan_of(builder: TableBuilder, filter_: Any = None, **options: Any) -> Scan:
    return Scan(name="t", metadata=builder.metadata, storage=LocalStorage(), filter=filter_, **options)


def ids(frame: Any) -> list[int]:
    return sorted(row[0] for row in frame.select("id").collect())


def physical_plan(frame: Any) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def setting_of(frame: Any, key: str) -> str:
    """A setting of the session in which the files of a frame are read."""
    leaf = frame._jdf.queryExecution().analyzed().collectLeaves().head()
    return str(leaf.relation().sparkSession().conf().get(key))


def as_text(rows: Any) -> list[str]:
    return sorted(map(repr, rows))


def plain_schema(*fields: Field) -> Schema:
    return Schema(fields=fields)


# -- the plain case ----------------------------------------------------------------------------------------------------


def test_plain_scan_is_native_vectorised_and_pushes_its_filter_to_the_planned_files_only(
    catalog: Any, spark: Any
) -> None:
    table = catalog.create_table("db.t", [("id", "long"), ("zip", "string")], sort_by=["zip"])
    for start in range(0, 40, 10):
        table.append(pa.table({"id": list(range(start, start + 10)), "zip": [f"{start + i:05}" for i in range(10)]}))
    before = dict(spark.conf.getAll)
    scan = table.scan("zip = '00013'")
    frame = scan.to_spark(spark)
    assert len(scan.plan()) == 1 == len(frame.inputFiles())
    assert [tuple(r) for r in frame.collect()] == [(13, "00013")]
    plan = physical_plan(frame)
    assert plan.count("FileScan parquet") == 1
    assert "Batched: true" in plan
    assert "EqualTo(zip,00013)" in re.search(r"PushedFilters: \[(.*?)\]", plan)[1]  # type: ignore[index]
    assert len(table.scan().to_spark(spark).inputFiles()) == 4
    # The session is as it was: what the scan needs is set in a session of its own.
    after = dict(spark.conf.getAll)
    prepared = {k for k in after if k not in before}
    assert {k: v for k, v in after.items() if k not in prepared} == before
    assert "spark.sql.files.maxPartitionBytes" not in prepared


def test_files_are_spread_evenly_over_the_cores(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.t", [("id", "long")])
    for start in range(8):
        table.append(pa.table({"id": [start]}))
    assert table.scan().to_spark(spark).rdd.getNumPartitions() <= 8
    # 290 MB in 8 files on 2 cores: tasks in whole rounds of both, none left alone.
    size = split_of([290 << 17] * 8, cores=2).bytes_max
    assert 36 << 20 < size < 73 << 20


def test_empty_table_and_empty_plan_have_the_columns(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.t", [("id", "long"), ("s", "string")])
    assert table.scan().to_spark(spark).columns == ["id", "s"]
    table.append(pa.table({"id": [1], "s": ["a"]}))
    frame = table.scan("id = 99").to_spark(spark)
    assert (frame.columns, frame.count()) == (["id", "s"], 0)


def test_columns_limit_time_travel_and_branches(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.t", [("id", "long"), ("s", "string")])
    table.append(pa.table({"id": [1, 2], "s": ["a", "b"]}))
    first = table.current_snapshot.snapshot_id
    table.create_branch("old")
    with table.update_schema() as schema:
        schema.rename_column("s", "t")
    table.append(pa.table({"id": [3], "t": ["c"]}))
    assert table.scan(columns=["t", "id"]).to_spark(spark).columns == ["t", "id"]
    assert table.scan(limit=2).to_spark(spark).count() == 2
    assert table.scan(snapshot_id=first).to_spark(spark).columns == ["id", "s"]
    assert ids(table.scan(snapshot_id=first).to_spark(spark)) == [1, 2]
    branch = table.scan(ref="old").to_spark(spark)
    assert branch.columns == ["id", "t"] and ids(branch) == [1, 2]


def test_odd_names_of_partitions_and_directories_are_found(tmp_path: Path, spark: Any) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "a lake%20 é#"))
    table = lake.create_table("db.t", [("id", "long"), ("p", "string")], partition_by=["p"])
    values = ["a b", "c%", "é=", "x/y", "q?#&", "+", None, "'\""]
    table.append(pa.table({"id": list(range(len(values))), "p": values}))
    assert sorted((r.id, r.p) for r in table.scan().to_spark(spark).collect()) == list(enumerate(values))
    frame = table.scan("p = 'c%'", columns=["id", "_file"]).to_spark(spark)
    assert frame.collect()[0]["_file"] in table.inspect.files()["file_path"].to_pylist()


# -- what Spark must not do to us --------------------------------------------------------------------------------------

FLOAT_ROWS = [(0, 0.0), (1, -0.0), (2, NAN), (3, None), (4, 7.5), (5, math.inf), (6, -math.inf)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("x = 0.0", [0, 1]), ("x = -0.0", [0, 1]), ("x > 7.0", [2, 4, 5]), ("x >= 100.0", [2, 5]),
        ("x <= -0.0", [0, 1, 6]), ("x < 0.0", [6]), ("x != 0.0", [2, 4, 5, 6]), ("isnan(x)", [2]),
        ("x IN (0.0, 7.5)", [0, 1, 4]), ("NOT (x > 7.0)", [0, 1, 6]), ("x IS NULL", [3]),
    ],
)  # fmt: skip
def test_zeros_and_nan_are_compared_as_spark_does_in_our_filter_and_in_sparks_own(
    sql: str, expected: list[int], float_table: TableBuilder, spark: Any
) -> None:
    assert ids(scan_of(float_table, sql).to_spark(spark)) == expected
    assert ids(scan_of(float_table).to_spark(spark).where(sql)) == expected


@pytest.fixture(scope="module")
def float_table(tmp_path_factory: pytest.TempPathFactory) -> TableBuilder:
    builder = TableBuilder(
        tmp_path_factory.mktemp("floats") / "t",
        plain_schema(Field(id=1, name="id", type=LONG), Field(id=2, name="x", type=DOUBLE)),
    )
    for row in FLOAT_ROWS:
        builder.append([{"id": row[0], "x": row[1]}])
    builder.append([{"id": i + 10, "x": 1.0 + i / 10} for i in range(3)])
    builder.delete_equal([{"id": i + 10} for i in range(3)], ["id"])
    return builder


def test_swapped_and_reused_names_keep_their_rows(tmp_path: Path, spark: Any) -> None:
    inner = StructType((Field(id=10, name="a", type=INT), Field(id=11, name="b", type=INT)))
    builder = TableBuilder(
        tmp_path / "t",
        plain_schema(
            Field(id=1, name="id", type=LONG),
            Field(id=2, name="a", type=INT),
            Field(id=3, name="b", type=INT),
            Field(id=4, name="c", type=STRING),
            Field(id=5, name="st", type=inner),
        ),
    )
    builder.append([{"id": 1, "a": 1, "b": 100, "c": "old", "st": {"a": 1, "b": 100}}])
    builder.change_schema(
        lambda u: (
            u.rename_column("a", "x").rename_column("b", "a").rename_column("x", "b")
            .rename_column("st.a", "x").rename_column("st.b", "a").rename_column("st.x", "b")
            .delete_column("c")
        )
    )  # fmt: skip
    builder.change_schema(lambda u: u.add_column("c", "string"))
    builder.append([{"id": 2, "a": 100, "b": 1, "c": "new", "st": {"b": 1, "a": 100}}])
    assert ids(scan_of(builder, "a = 100").to_spark(spark)) == [1, 2]
    assert ids(scan_of(builder).to_spark(spark).where("a = 100 and st.a = 100 and st.b = 1")) == [1, 2]
    assert ids(scan_of(builder, "c IS NULL").to_spark(spark)) == [1]
    assert ids(scan_of(builder).to_spark(spark).where("c = 'new'")) == [2]
    rows = {r.id: r.asDict(recursive=True) for r in scan_of(builder).to_spark(spark).collect()}
    assert rows[1] == {"id": 1, "b": 1, "a": 100, "c": None, "st": {"b": 1, "a": 100}}


# -- schemas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("above", ["st", "st.element", "m.value", "st.in"])
def test_names_swapped_and_reused_inside_structs_keep_their_values(above: str, tmp_path: Path, spark: Any) -> None:
    floats, others = (ListType(element_id=i, element=FLOAT, element_required=False) for i in (89, 90))
    parts = (("a", floats), ("b", STRING), ("n", INT), ("l", LONG), ("gone", others))
    struct = StructType(tuple(Field(id=10 + i, name=n, type=t) for i, (n, t) in enumerate(parts)))
    row = {"a": [1.5], "b": "x", "n": 1, "l": 2**40, "gone": [2.5]}
    where: dict[str, tuple[Any, Any]] = {
        "st": (struct, row),
        "st.element": (ListType(element_id=91, element=struct, element_required=False), [row, None]),
        "m.value": (MapType(key_id=92, key=STRING, value_id=93, value=struct, value_required=False), [("k", row)]),
        "st.in": (StructType((Field(id=94, name="in", type=struct),)), {"in": row}),
    }
    type_, value = where[above]
    top = above.split(".")[0]
    fields = (Field(id=1, name="id", type=LONG), Field(id=2, name=top, type=type_))
    builder = TableBuilder(tmp_path / "t", plain_schema(*fields), format_version=3)
    builder.append([{"id": 0, top: value}, {"id": 1, top: None}])
    path = tuple(above.split("."))
    builder.change_schema(lambda u: u.rename_column((*path, "a"), "b").rename_column((*path, "b"), "a"))
    builder.change_schema(lambda u: u.rename_column((*path, "n"), "l").rename_column((*path, "l"), "n"))
    builder.change_schema(lambda u: u.delete_column((*path, "gone")))
    builder.change_schema(lambda u: u.add_column((*path, "gone"), "string"))
    if above == "st.in":
        builder.change_schema(lambda u: u.rename_column(path, "out"))
    frame = scan_of(builder).to_spark(spark)
    found = frame.selectExpr("id", f"to_json({top})").sort("id").collect()
    text = '{"b":[1.5],"a":"x","l":1,"n":1099511627776}'
    shown = {"st": text, "st.element": f"[{text},null]", "m.value": f'{{"k":{text}}}', "st.in": f'{{"out":{text}}}'}
    assert [tuple(r) for r in found] == [(0, shown[above]), (1, None)]
    assert "Python" not in physical_plan(frame)
    if above == "st":
        assert ids(scan_of(builder, "st.a = 'x' AND st.l = 1 AND st.gone IS NULL").to_spark(spark)) == [0]
        assert [r[0] for r in frame.where("st.n > 1").select("st.a").collect()] == ["x"]


def test_promoted_columns_and_defaults_read_as_the_newest_type(tmp_path: Path, spark: Any) -> None:
    builder = TableBuilder(
        tmp_path / "t",
        plain_schema(
            Field(id=1, name="id", type=LONG),
            Field(id=2, name="i", type=INT),
            Field(id=3, name="f", type=FLOAT),
            Field(id=4, name="d", type=DecimalType(9, 2)),
            Field(id=5, name="day", type=DATE),
        ),
        format_version=3,
    )
    day = datetime.date(1969, 12, 31)
    builder.append([{"id": 1, "i": -7, "f": 0.1, "d": Decimal("-1.50"), "day": day}])
    builder.change_schema(
        lambda u: (
            u.update_column("i", "long").update_column("f", "double").update_column("d", "decimal(20, 2)")
            .update_column("day", "timestamp").add_column("n", "int", default=5)
            .add_column("s", "string", default="it's\\")
        )
    )  # fmt: skip
    late = datetime.datetime(2020, 1, 1, 2, 3)
    builder.append(
        [{"id": 2, "i": 2**40, "f": 0.1, "d": Decimal("123456789012.34"), "day": late, "n": None, "s": None}]
    )
    rows = {r.id: tuple(r) for r in scan_of(builder).to_spark(spark).collect()}
    assert rows[1] == (
        1,
        -7,
        pytest.approx(0.1, abs=1e-8),
        Decimal("-1.50"),
        datetime.datetime(1969, 12, 31),
        5,
        "it's\\",
    )
    assert rows[2] == (2, 2**40, 0.1, Decimal("123456789012.34"), late, None, None)
    for sql, expected in (
        ("i < 5000000000", [1]), ("d < 50000000.00", [1]), ("d > 50000000.00", [2]), ("n = 5", [1]),
        ("day < TIMESTAMP_NTZ '1970-01-01 00:00:00'", [1]), ("s IS NULL", [2]), ("s LIKE 'it%'", [1]),
    ):  # fmt: skip
        assert ids(scan_of(builder).to_spark(spark).where(sql)) == expected, sql
        if "TIMESTAMP_NTZ" not in sql:
            assert ids(scan_of(builder, sql).to_spark(spark)) == expected, sql


def test_nested_columns_uuid_and_chosen_parts_of_structs(catalog: Any, spark: Any) -> None:
    inner = StructType((Field(id=10, name="u", type=UUID), Field(id=11, name="n", type=LONG)))
    table = catalog.create_table(
        "db.t",
        plain_schema(
            Field(id=1, name="id", type=LONG),
            Field(id=2, name="u", type=UUID),
            Field(id=3, name="st", type=inner),
            Field(id=4, name="li", type=ListType(element_id=12, element=STRING)),
            Field(id=5, name="by", type=BINARY),
        ),
    )
    one, two = uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)
    table.append(
        [
            {"id": 1, "u": one, "st": {"u": two, "n": 5}, "li": ["a", None], "by": b"\0"},
            {"id": 2, "u": None, "st": None, "li": None, "by": None},
        ]
    )
    rows = {r.id: tuple(r) for r in table.scan().to_spark(spark).collect()}
    assert rows == {1: (1, str(one), (str(two), 5), ["a", None], b"\0"), 2: (2, None, None, None, None)}
    assert ids(table.scan(f"u = '{one}' AND st.n = 5").to_spark(spark)) == [1]
    parts = table.scan("st.n = 5", columns=["st.u"]).to_spark(spark)
    assert [r.asDict(recursive=True) for r in parts.collect()] == [{"st": {"u": str(two)}}]


def test_a_type_that_spark_lacks_is_refused_by_name_and_can_be_left_out(tmp_path: Path, spark: Any) -> None:
    fields = (Field(id=1, name="id", type=LONG), Field(id=2, name="at", type=TIME))
    builder = TableBuilder(tmp_path / "t", plain_schema(*fields))
    builder.append([{"id": 1, "at": datetime.time(1, 2)}])
    with pytest.raises(Unsupported, match="column 'at' in Spark: it has type time"):
        scan_of(builder).to_spark(spark)
    assert ids(scan_of(builder, columns=["id"]).to_spark(spark)) == [1]
    with pytest.raises(NotFound, match="nothing"):
        scan_of(builder, columns=["nothing"]).to_spark(spark)


# -- deletes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_version", [2, 3])
def test_deleted_rows_are_gone_natively_and_can_be_asked_for(format_version: int, tmp_path: Path, spark: Any) -> None:
    fields = (Field(id=1, name="id", type=LONG), Field(id=2, name="s", type=STRING))
    builder = TableBuilder(tmp_path / "t", plain_schema(*fields), format_version=format_version)
    first = builder.append([{"id": i, "s": str(i % 3)} for i in range(100)])[0]
    builder.append([{"id": i, "s": "x"} for i in range(100, 110)])
    builder.delete_positions({first.file_path: [0, 63, 64, 99]})
    expected = [i for i in range(110) if i not in (0, 63, 64, 99)]
    frame = scan_of(builder).to_spark(spark)
    assert ids(frame) == expected
    plan = physical_plan(frame)
    assert plan.count("Batched: true") >= 2 and "getbit" in plan and "Python" not in plan
    assert ids(scan_of(builder, "s = '0'").to_spark(spark)) == [i for i in expected if i < 100 and i % 3 == 0]
    columns = ["id", "_pos", "_deleted", "_spec_id", "_file", "_row_id", "_last_updated_sequence_number"]
    marked = scan_of(builder, columns=columns)
    assert as_text(tuple(r) for r in marked.to_spark(spark).collect()) == as_text(
        tuple(r.values()) for r in marked.to_arrow().to_pylist()
    )


@pytest.mark.parametrize("way", ["constant", "value of a subquery", "broadcast"])
def test_deleted_positions_are_found_however_the_bits_travel(
    way: str, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = (Field(id=1, name="id", type=LONG), Field(id=2, name="s", type=STRING), Field(id=3, name="n", type=INT))
    builder = TableBuilder(tmp_path / "t", plain_schema(*fields), format_version=3, partition_by=["n"])
    # More files than a word has bits.
    rows = [{"id": 200 * n + i, "s": str(i % 2), "n": n} for n in range(70) for i in range(130)]
    files = builder.append(rows)
    gone = {n: {n} if n % 3 else {0, n, 63, 64, 127, 128, 129} for n in range(70)}
    builder.delete_positions({files[n].file_path: positions for n, positions in gone.items()})
    if way != "constant":
        monkeypatch.setattr(deleted_positions, "_CONSTANT_WORDS_MAX", 0)
    if way == "broadcast":
        monkeypatch.setattr(deleted_positions, "_CARRIED_WORDS_MAX", 0)
    expected = [200 * n + i for n in range(70) for i in range(130) if i not in gone[n]]
    frame = scan_of(builder).to_spark(spark)
    assert ids(frame) == expected and frame.columns == ["id", "s", "n"]
    marks = ("UnsafeArrayData" in physical_plan(frame), "Subquery" in physical_plan(frame))
    assert marks == (way == "constant", way == "value of a subquery")
    assert ids(scan_of(builder, "s = '1' AND id >= 400").to_spark(spark)) == [i for i in expected if i >= 400 and i % 2]
    kept = frame.cache()
    assert kept.count() == len(expected) and kept.where("s = '0'").count() == sum(i % 2 == 0 for i in expected)
    kept.unpersist()


def test_deleted_positions_of_files_that_are_not_alike_in_length(tmp_path: Path, spark: Any) -> None:
    builder = TableBuilder(tmp_path / "t", plain_schema(Field(id=1, name="id", type=LONG)), format_version=3)
    counts = (1000, 70, 1, 300)
    files = [builder.append([{"id": 10_000 * n + i} for i in range(count)])[0] for n, count in enumerate(counts)]
    # The last rows of the first file lie beyond all bits, where those of the next file would be.
    gone = [{3, 130}, {0, 64, 69}, {0}, {0, 1, 191}]
    builder.delete_positions({f.file_path: positions for f, positions in zip(files, gone)})
    expected = [10_000 * n + i for n, count in enumerate(counts) for i in range(count) if i not in gone[n]]
    assert ids(scan_of(builder).to_spark(spark)) == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.optimizer.nestedSchemaPruning.enabled", "false"),
        ("spark.sql.optimizer.excludedRules", "org.apache.spark.sql.catalyst.optimizer.ColumnPruning"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.ansi.enabled", "true"),
        ("spark.sql.codegen.wholeStage", "false"),
    ],
)
def test_deleted_positions_are_found_whatever_the_session_reads_of_metadata(
    key: str, value: str, tmp_path: Path, spark: Any
) -> None:
    fields = (Field(id=1, name="id", type=LONG), Field(id=2, name="s", type=STRING))
    builder = TableBuilder(tmp_path / "t", plain_schema(*fields), format_version=3)
    first = builder.append([{"id": i, "s": str(i % 3)} for i in range(100)])[0]
    builder.delete_positions({first.file_path: [0, 63, 64, 99]})
    with temporarily(spark, {key: value}):
        assert ids(scan_of(builder).to_spark(spark)) == [i for i in range(100) if i not in (0, 63, 64, 99)]
        shown = scan_of(builder, columns=["id", "_pos", "_deleted"]).to_spark(spark).collect()
        assert [r._pos for r in scan_of(builder, columns=["_pos"]).to_spark(spark).where("_pos < 3").collect()] == [
            1,
            2,
        ]
        assert scan_of(builder, columns=["id", "_pos", "_file"]).to_spark(spark).select("_pos").count() == 96
    assert sorted((r.id, r._pos, r._deleted) for r in shown) == [(i, i, i in (0, 63, 64, 99)) for i in range(100)]


# -- relations that are kept -------------------------------------------------------------------------------------------


def test_two_scans_of_the_same_files_can_be_joined_and_each_has_the_settings_of_its_time(
    catalog: Any, spark: Any
) -> None:
    table = catalog.create_table("db.t", [("id", "long"), ("s", "string")])
    table.append(pa.table({"id": [1, 2, 3], "s": ["a", "b", "c"]}))
    a, b = table.scan().to_spark(spark), table.scan().to_spark(spark)
    crossed = a.join(b, a["id"] < b["id"]).select(a["s"], b["id"])
    assert sorted(tuple(r) for r in crossed.collect()) == [("a", 2), ("a", 3), ("b", 3)]
    assert a.unionAll(b).where("id = 2").count() == 2
    pushes = "spark.sql.parquet.filterPushdown"
    with temporarily(spark, {pushes: "false"}):
        assert setting_of(table.scan().to_spark(spark), pushes) == "false"
        table.append(pa.table({"id": [4], "s": ["d"]}))
        assert ids(table.scan().to_spark(spark)) == [1, 2, 3, 4]
    assert setting_of(table.scan().to_spark(spark), pushes) == "true"
    table.delete("id = 1")
    assert ids(table.scan().to_spark(spark)) == [2, 3, 4] and ids(a) == [1, 2, 3]


# -- few rows ----------------------------------------------------------------------------------------------------------


def test_few_rows_are_one_partition_and_need_no_exchange(catalog: Any, spark: Any) -> None:
    table = catalog.create_table("db.t", [("id", "long"), ("s", "string")])
    table.append(pa.table({"id": list(range(50)), "s": ["a", "b"] * 25}))
    few = table.scan("s = 'a'").to_spark(spark)
    grouped = few.where("id > 10").groupBy("s").count()
    assert "Exchange" not in physical_plan(grouped) and "GreaterThan(id,10)" in physical_plan(grouped)
    assert [tuple(r) for r in grouped.collect()] == [("a", 19)]
    joined = few.join(spark.range(0, 100_000, 1, 4), "id").groupBy("s").count()
    assert [tuple(r) for r in joined.collect()] == [("a", 25)]
    assert few.repartition(5).rdd.getNumPartitions() == 5


def test_many_rows_keep_their_tasks(catalog: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = catalog.create_table("db.t", [("id", "long"), ("s", "string")])
    table.append(pa.table({"id": list(range(50)), "s": ["a", "b"] * 25}))
    monkeypatch.setattr(few_rows, "_ROWS_MAX", 49)
    assert "Coalesce" not in physical_plan(table.scan().to_spark(spark))
    assert "Coalesce" not in physical_plan(table.scan("id > 3").to_spark(spark))
    assert "Coalesce" in physical_plan(table.scan("id > 3 AND s IN ('a', 'c')").to_spark(spark))
    monkeypatch.setattr(few_rows, "_ONE_TASK_BYTES_MAX", 1)
    table.append(pa.table({"id": list(range(50)), "s": ["a", "b"] * 25}))
    assert "Coalesce" not in physical_plan(table.scan("s = 'a'").to_spark(spark))


def test_rows_deleted_by_value_are_compared_as_stored_and_only_in_older_files(tmp_path: Path, spark: Any) -> None:
    inner = StructType((Field(id=10, name="k", type=INT),))
    builder = TableBuilder(
        tmp_path / "t",
        plain_schema(
            Field(id=1, name="id", type=LONG),
            Field(id=2, name="x", type=DOUBLE),
            Field(id=3, name="s", type=STRING),
            Field(id=4, name="st", type=inner),
        ),
    )
    rows = [
        {"id": 0, "x": 0.0, "s": "a", "st": {"k": 1}}, {"id": 1, "x": -0.0, "s": None, "st": None},
        {"id": 2, "x": NAN, "s": "b", "st": {"k": None}}, {"id": 3, "x": None, "s": "c", "st": {"k": 2}},
        {"id": 4, "x": 2.5, "s": None, "st": {"k": 3}},
    ]  # fmt: skip
    builder.append(rows)
    builder.delete_equal([{"x": -0.0}, {"x": NAN}], ["x"])
    builder.append([{**r, "id": r["id"] + 10} for r in rows])
    builder.delete_equal([{"s": None, "x": 2.5}], ["s", "x"])
    builder.append([{**rows[4], "id": 24}])
    scan = scan_of(builder)
    expected = sorted(scan.to_arrow()["id"].to_pylist())
    assert expected == [0, 3, 10, 11, 12, 13, 24]
    frame = scan.to_spark(spark)
    assert ids(frame) == expected and "Python" not in physical_plan(frame)
    builder.change_schema(lambda u: u.delete_column("x"))
    assert ids(scan_of(builder).to_spark(spark)) == expected


# -- files that Spark's own reader cannot give -------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_other_formats_and_their_deletes_are_read_in_tasks(file_format: str, catalog: Any, spark: Any) -> None:
    properties = {"write.format.default": file_format, "write.delete.mode": "merge-on-read"}
    form = [("id", "long"), ("x", "double"), ("day", "date"), ("at", "timestamptz"), ("li", "list<string>")]
    table = catalog.create_table("db.t", form, properties=properties, format_version=3)
    at = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    rows = [
        {"id": i, "x": [None, NAN, -0.0, 2.5][i % 4], "day": datetime.date(2020, 1, 1 + i), "at": at, "li": [str(i)]}
        for i in range(12)
    ]
    table.append(rows)
    table.delete("id = 5")
    assert ids(table.scan("x > 1.0").to_spark(spark)) == [1, 3, 7, 9, 11]
    scan = table.scan(columns=["id", "day", "li", "_pos", "_row_id"])
    assert as_text(tuple(r) for r in scan.to_spark(spark).collect()) == as_text(
        tuple(r.values()) for r in scan.to_arrow().to_pylist()
    )


def test_defaults_inside_structs_are_filled(tmp_path: Path, spark: Any) -> None:
    inner = StructType((Field(id=10, name="a", type=INT),))
    fields = (Field(id=1, name="id", type=LONG), Field(id=2, name="st", type=inner))
    builder = TableBuilder(tmp_path / "t", plain_schema(*fields), format_version=3)
    builder.append([{"id": 1, "st": {"a": 1}}, {"id": 2, "st": None}])
    builder.change_schema(lambda u: u.add_column("st.b", "int", default=9))
    rows = {r.id: r.asDict(recursive=True)["st"] for r in scan_of(builder).to_spark(spark).collect()}
    assert rows == {1: {"a": 1, "b": 9}, 2: None}


# -- the same as others ------------------------------------------------------------------------------------------------


def test_icebergs_own_runtime_reads_the_same_in_the_same_session(iceberg_warehouse: Path, spark: Any) -> None:
    builder = TableBuilder(
        iceberg_warehouse / "scans" / "same",
        plain_schema(
            Field(id=1, name="id", type=LONG),
            Field(id=2, name="p", type=STRING),
            Field(id=3, name="x", type=DOUBLE),
            Field(id=4, name="at", type=TIMESTAMPTZ),
        ),
        format_version=3,
        partition_by=["p"],
    )
    at = datetime.datetime(1960, 1, 1, 0, 0, 0, 1, tzinfo=datetime.UTC)
    files = builder.append([{"id": i, "p": "ab"[i % 2], "x": [NAN, -0.0, None][i % 3], "at": at} for i in range(20)])
    builder.delete_positions({files[0].file_path: [0, 3]})
    builder.change_schema(lambda u: u.rename_column("x", "y").add_column("n", "int", default=3))
    names = ["id", "p", "y", "at", "n", "_pos", "_partition", "_row_id", "_last_updated_sequence_number"]
    ours = scan_of(builder, columns=names).to_spark(spark).collect()
    theirs = spark.table("java.scans.same").select(*names).collect()
    assert as_text(tuple(r) for r in ours) == as_text(tuple(r) for r in theirs)


PREDICATES = [
    "x > 1.5", "x <= 0.0", "x = -0.0", "x <> 1.5", "NOT (x < 2.5 OR x IS NULL)", "f = 1.5", "isnan(f) OR i = 2",
    "i BETWEEN -1 AND 2", "i IN (1, 2147483647)", "i NOT IN (0, 1)", "d >= 1.25", "d = -0.01", "s LIKE 'a%'",
    "s > 'a'", "s IS NULL", "s <> ''", "day >= DATE'1970-01-01'", "at < TIMESTAMP'2020-01-01 00:00:00Z'",
    "st.a > 1", "st.a IS NULL", "st IS NOT NULL AND st.a <= 1", "l > 4294967296 AND i < 5",
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "x": [None, NAN, -0.0, 0.0, 1.5, 2.5, math.inf, -math.inf],
    "f": [None, NAN, -0.0, 1.5, -3.0],
    "i": [None, -2147483648, -1, 0, 1, 2, 2147483647],
    "l": [None, -(2**63), 0, 2**33, 2**63 - 1],
    "d": [None, Decimal("-0.01"), Decimal("0.00"), Decimal("1.25"), Decimal("9999999.99")],
    "s": [None, "", "a", "ab", "b", "é😀", "a%"],
    "day": [None, datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(2020, 2, 29)],
    "at": [None, *(datetime.datetime(y, 1, 1, tzinfo=datetime.UTC) for y in (1900, 2020, 9999))],
    "st": [None, {"a": None}, {"a": 1}, {"a": 2}],
}
TYPES: dict[str, Any] = {
    "x": DOUBLE, "f": FLOAT, "i": INT, "l": LONG, "d": DecimalType(9, 2), "s": STRING, "day": DATE, "at": TIMESTAMPTZ,
    "st": StructType((Field(id=20, name="a", type=INT),)),
}  # fmt: skip


@st.composite
def stories(draw: st.DrawFn) -> dict[str, Any]:
    row = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()})
    return {
        "files": draw(st.lists(st.lists(row, min_size=1, max_size=8), min_size=1, max_size=4)),
        "format_version": draw(st.sampled_from([2, 3])),
        "partition_by": draw(st.sampled_from([[], ["s"], ["bucket[3](i)", "x"]])),
        "deleted": draw(st.lists(st.integers(0, 30), max_size=4)),
        "keys": draw(st.lists(st.fixed_dictionaries({n: st.sampled_from(VALUES[n]) for n in ("x", "s")}), max_size=2)),
        "evolves": draw(st.booleans()),
        "predicates": draw(st.lists(st.sampled_from(PREDICATES), min_size=4, max_size=4, unique=True)),
    }


@given(story=stories())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table_gives_what_arrow_gives_and_what_spark_gives_without_skipping(
    story: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, spark: Any
) -> None:
    builder = build(story, tmp_path_factory.mktemp("story") / "t")
    everything = scan_of(builder, float_order=FloatOrder.SPARK)
    arrow = everything.to_arrow()
    # The model: all live rows in a frame without files, so that Spark can skip nothing.
    model = spark.createDataFrame(arrow)
    asked = model.selectExpr("id", *[f"coalesce({p}, false) AS p{i}" for i, p in enumerate(story["predicates"])])
    answers = asked.collect()
    assert ids(everything.to_spark(spark)) == sorted(arrow["id"].to_pylist())
    for i, sql in enumerate(story["predicates"]):
        expected = sorted(r["id"] for r in answers if r[f"p{i}"])
        assert ids(scan_of(builder, sql).to_spark(spark)) == expected, sql
        assert sorted(scan_of(builder, sql, float_order=FloatOrder.SPARK).to_arrow()["id"].to_pylist()) == expected, sql


def build(story: dict[str, Any], home: Path) -> TableBuilder:
    fields = [Field(id=1, name="id", type=LONG)]
    fields += [Field(id=2 + i, name=n, type=t) for i, (n, t) in enumerate(TYPES.items())]
    partition_by = [] if story["keys"] else story["partition_by"]
    builder = TableBuilder(
        home, plain_schema(*fields), format_version=story["format_version"], partition_by=partition_by
    )
    number = 0
    for place, rows in enumerate(story["files"]):
        numbered = [{"id": number + i, **row} for i, row in enumerate(rows)]
        number += len(rows)
        builder.append(numbered)
        if place == 0 and story["evolves"]:
            builder.change_schema(lambda u: u.rename_column("i", "was_i").add_column("new", "string"))
            builder.change_schema(lambda u: u.rename_column("l", "i2").rename_column("was_i", "i"))
            builder.change_schema(lambda u: u.rename_column("i2", "l").update_column("i", "long"))
        if place == 0 and story["keys"]:
            builder.delete_equal(story["keys"], ["x", "s"])
    gone: dict[str, set[int]] = {}
    for file in builder.data_files:
        positions = {d for d in story["deleted"] if d < file.record_count}
        if positions:
            gone[file.file_path] = positions
    if gone:
        builder.delete_positions(gone)
    return builder


def test_the_plan_of_a_scan_names_the_files_of_its_frame(float_table: TableBuilder, spark: Any) -> None:
    scan = scan_of(float_table, "x > 100.0")
    assert len(scan.plan()) < len(as_spark_reads(scan).plan())  # Spark's NaN is greater than every number
    frame = scan.to_spark(spark)
    assert len(frame.inputFiles()) == len(as_spark_reads(scan).plan())


@pytest.mark.parametrize("query", ["st.x", "st.y", "ar.x", "mp['k'].y", "map_values(mp).x", "deep.a.q", "id"])
def test_parts_of_structs_that_bear_another_name_in_the_scan_or_in_files_are_read(
    query: str, nested_table: Any, spark: Any
) -> None:
    """Spark's pruning of nested columns drops the field id of what it prunes, and then reads it by name."""
    whole = nested_table.scan().to_spark(spark).localCheckpoint().selectExpr(f"{query} AS v").collect()
    for frame in (
        nested_table.scan().to_spark(spark),
        nested_table.scan("deep.a.q >= 0 and st.x >= 0").to_spark(spark),
    ):
        assert sorted(map(repr, frame.selectExpr(f"{query} AS v").collect())) == sorted(map(repr, whole))
    assert all(row.v is not None for row in whole)


def test_filters_on_parts_of_renamed_structs_keep_their_rows(nested_table: Any, spark: Any) -> None:
    frame = nested_table.scan().to_spark(spark)
    assert ids(frame.where("st.x < 2").select("id")) == [0, 1]
    assert ids(frame.where("deep.a.q IN (1, 2)").select("id")) == [1, 2]
    assert ids(nested_table.scan("deep.a.q = 1", columns=["id"]).to_spark(spark)) == [1]
    assert ids(frame.selectExpr("id", "explode(ar) e").where("e.y = 'r2'").select("id")) == [2]


def test_parts_of_structs_without_floats_are_read_alone(nested_table: Any, spark: Any) -> None:
    """The guard is for columns that need it: any other is still cut to what a query asks for."""
    plan = nested_table.scan().to_spark(spark).selectExpr("plain.b")._jdf.queryExecution().executedPlan().toString()
    assert "struct<plain:struct<b:int>>" in plan


@pytest.fixture
def nested_table(tmp_path: Path, spark: Any) -> Any:
    lake = skipstone.catalog(str(tmp_path))
    lake.create_namespace("db")
    columns = [
        ("id", "long"),
        ("st", "struct<x: double, y: string>"),
        ("ar", "list<struct<x: float, y: string>>"),
        ("mp", "map<string, struct<x: double, y: int>>"),
        ("old", "struct<a: struct<q: int, w: int>>"),
        ("plain", "struct<a: int, b: int>"),
    ]
    table = lake.create_table("db.nested", columns)
    table.append(
        spark.sql(
            "SELECT id, named_struct('x', double(id), 'y', 'q') st,"
            " array(named_struct('x', float(id), 'y', 'r' || id)) ar,"
            " map('k', named_struct('x', double(id), 'y', 7)) mp,"
            " named_struct('a', named_struct('q', int(id), 'w', 1)) old,"
            " named_struct('a', 1, 'b', 2) plain FROM range(3)"
        )
    )
    with table.update_schema() as schema:
        schema.rename_column("old", "deep")
    return table
