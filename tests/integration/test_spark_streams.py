"""Tables as streams and streams into tables: every row once, through restarts and batches that are tried again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import skipstone
import skipstone.spark
from skipstone.commit import RowDelta
from skipstone.errors import InvalidInput
from skipstone.write import write_equality_deletes

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return skipstone.spark.prepared(iceberg_java)


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


def where(tmp_path: Path) -> dict[str, str]:
    return {"catalog": f"sqlite:///{tmp_path}/catalog.db", "warehouse": str(tmp_path / "lake")}


def count_stream(spark: Any, tmp_path: Path, name: str, **options: str) -> Any:
    return spark.readStream.format("skipstone").options(**where(tmp_path), **options).load(name)


def files_stream(spark: Any, tmp_path: Path) -> Any:
    """A stream of our own making: one JSON file a batch."""
    reader = spark.readStream.format("json").schema("id long, v string, at int").option("maxFilesPerTrigger", 1)
    return reader.load(str(tmp_path / "in"))


def put(tmp_path: Path, name: str, *lines: str) -> None:
    (tmp_path / "in").mkdir(exist_ok=True)
    path = tmp_path / "in" / name
    path.write_text("\n".join(lines))
    os.utime(path, (int(path.stem), int(path.stem)))  # Spark takes files by age


def run(query: Any, tmp_path: Path, name: str = "checkpoint") -> None:
    """All there is, then stop."""
    started = query.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True).start()
    try:
        started.awaitTermination()
    finally:
        started.stop()


def forget_last_commit(tmp_path: Path, name: str = "checkpoint") -> None:
    """As if the query had died after the table's commit and before its own."""
    commits = tmp_path / name / "commits"
    last = max(int(p.name) for p in commits.iterdir() if p.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)


def ids(table: Any) -> list[int]:
    found: list[int] = sorted(table.refresh().scan(columns=["id"]).to_arrow().column("id").to_pylist())
    return found


def test_a_table_flows_into_another_through_restarts(spark: Any, lake: Any, tmp_path: Path) -> None:
    source = lake.create_table("db.source", [("id", "long"), ("v", "string")])
    target = lake.create_table("db.target", [("id", "long"), ("v", "string")])
    source.append([{"id": i, "v": "x"} for i in range(3)])
    source.append([{"id": i, "v": "x"} for i in range(3, 5)])

    def flow() -> None:
        stream = count_stream(spark, tmp_path, "db.source")
        run(stream.writeStream.format("skipstone").options(**where(tmp_path), path="db.target"), tmp_path)

    flow()
    assert ids(target) == [0, 1, 2, 3, 4]
    source.append([{"id": 5, "v": "y"}])
    flow()
    forget_last_commit(tmp_path)
    files = len(list((tmp_path / "lake" / "db" / "target").rglob("*.parquet")))
    flow()  # the last batch again
    assert ids(target) == [0, 1, 2, 3, 4, 5]
    assert len(list((tmp_path / "lake" / "db" / "target").rglob("*.parquet"))) == files


def test_rate_limits_cut_the_stream_into_batches(spark: Any, lake: Any, tmp_path: Path) -> None:
    source = lake.create_table("db.source", [("id", "long"), ("p", "int")], partition_by=["p"])
    source.append([{"id": i, "p": i} for i in range(5)])
    source.append([{"id": 9, "p": 9}])
    batches: dict[int, list[int]] = {}

    def take(frame: Any, batch_id: int) -> None:
        batches[batch_id] = sorted(r["id"] for r in frame.collect())

    stream = count_stream(spark, tmp_path, "db.source", **{"max-files-per-micro-batch": "4"})
    query = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert [len(b) for b in batches.values()] == [4, 2]
    assert sorted(i for b in batches.values() for i in b) == [0, 1, 2, 3, 4, 9]


def test_batches_of_another_stream_are_added_once(spark: Any, lake: Any, tmp_path: Path) -> None:
    table = lake.create_table("db.t", [("id", "long"), ("v", "string"), ("at", "int")])
    put(tmp_path, "0.json", '{"id": 1, "v": "a"}', '{"id": 2, "v": "a"}')
    put(tmp_path, "1.json", '{"id": 3, "v": "a"}')

    def flow() -> None:
        batches = skipstone.spark.batches_into(table)
        run(files_stream(spark, tmp_path).writeStream.foreachBatch(batches), tmp_path)

    flow()
    forget_last_commit(tmp_path)
    flow()
    assert ids(table) == [1, 2, 3]
    marks = [v for k, v in table.properties.items() if k.startswith("skipstone.stream.")]
    assert marks == ["1"]
    shutil.rmtree(tmp_path / "checkpoint")
    flow()  # another query
    assert ids(table) == [1, 1, 2, 2, 3, 3]
    with pytest.raises(InvalidInput, match="expected to be called by foreachBatch"):
        skipstone.spark.batches_into(table)(spark.range(1), 0)


def test_complete_mode_replaces_the_rows(spark: Any, lake: Any, tmp_path: Path) -> None:
    table = lake.create_table("db.t", [("v", "string"), ("n", "long")])
    put(tmp_path, "0.json", '{"id": 1, "v": "a"}', '{"id": 2, "v": "a"}')
    put(tmp_path, "1.json", '{"id": 3, "v": "a"}', '{"id": 4, "v": "b"}')
    counted = files_stream(spark, tmp_path).groupBy("v").agg({"*": "count"}).toDF("v", "n")
    sink = counted.writeStream.outputMode("complete").format("skipstone").options(**where(tmp_path), path="db.t")
    run(sink, tmp_path)
    assert sorted(tuple(r.values()) for r in table.refresh().scan().to_arrow().to_pylist()) == [("a", 3), ("b", 1)]


@pytest.mark.parametrize("mode", ["merge", "equality-delete"])
def test_upserts_of_a_stream(spark: Any, lake: Any, tmp_path: Path, mode: str) -> None:
    properties = {"write.upsert.mode": mode}
    table = lake.create_table(
        "db.t", [("id", "long"), ("v", "string"), ("at", "int")], format_version=3, properties=properties
    )
    put(tmp_path, "0.json", '{"id": 1, "v": "a", "at": 1}', '{"id": 2, "v": "b", "at": 1}')
    put(tmp_path, "1.json", '{"id": 2, "v": "d", "at": 3}', '{"id": 2, "v": "c", "at": 2}', '{"id": 3, "v": "e"}')

    def flow() -> None:
        batches = skipstone.spark.batches_into(table, mode="upsert", on=["id"], order_by="at")
        run(files_stream(spark, tmp_path).writeStream.foreachBatch(batches), tmp_path)

    flow()
    forget_last_commit(tmp_path)
    flow()
    expected = [(1, "a"), (2, "d"), (3, "e")]
    assert sorted(tuple(r.values()) for r in table.scan(columns=["id", "v"]).to_arrow().to_pylist()) == expected
    if mode == "equality-delete":
        assert table.scan().plan().deletes.num_rows > 0
        assert table.convert_equality_deletes(spark=spark).rows == 1
        assert sorted(tuple(r) for r in table.scan(columns=["id", "v"]).to_spark(spark).collect()) == expected
        twice = spark.sql("SELECT 1L id, 'x' v, 1 at UNION ALL SELECT 1L, 'y', 1")
        with pytest.raises(InvalidInput, match="expected one row a key, got 2 rows with id = 1"):
            table.upsert(twice, on=["id"], order_by="at")


@pytest.mark.parametrize("version", [2, 3])
def test_iceberg_java_reads_converted_deletes_the_same(
    iceberg_java: Any, iceberg_warehouse: Path, version: int
) -> None:
    spark, name = iceberg_java, f"converted_v{version}"
    table = skipstone.catalog(str(iceberg_warehouse)).create_table(
        f"db.{name}",
        [("id", "long"), ("s", "string")],
        partition_by=["truncate(1, s)"],
        format_version=version,
        properties={"write.delete.mode": "merge-on-read"},
    )
    table.append([{"id": i, "s": "ab"[i % 2]} for i in range(20)])
    table.delete("id = 4")
    table.append([{"id": i, "s": None} for i in range(20, 24)])
    keys = table.scan("id IN (1, 4, 6)").to_arrow()
    deletes = write_equality_deletes(keys, metadata=table.metadata, storage=table.storage, equality_ids=[1])
    table.apply(RowDelta(files=deletes))
    lineage = ", _row_id, _last_updated_sequence_number" if version == 3 else ""

    def theirs() -> list[tuple[Any, ...]]:
        rows = spark.sql(f"SELECT id, s{lineage} FROM java.db.{name}").collect()
        return sorted(tuple(r) for r in rows)

    before = theirs()
    assert len(before) == 21
    report = table.convert_equality_deletes(spark=spark)
    assert report.rows == 2
    assert theirs() == before
    kinds = spark.sql(f"SELECT DISTINCT content FROM java.db.{name}.delete_files").collect()
    assert [r["content"] for r in kinds] == [1]
