"""Iceberg's Spark runtime and this library on one table: each reads and changes what the other wrote, v1 to v3.

Both open the same warehouse of file system tables. Java is asked for every row, with row ids where there are any.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.java_rows import query
from tests.support.sample_tables import SCHEMA, comparable_rows, rows

import skipstone
from skipstone import Lake, Table
from skipstone.commit import RowDelta, commit
from skipstone.write import write_equality_deletes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = [f.name for f in SCHEMA.fields]
LINEAGE = ["_row_id", "_last_updated_sequence_number"]
MODES = ["copy-on-write", "merge-on-read"]
SMALL = [("id", "long not null"), ("region", "string"), ("v", "string")]


@dataclass(frozen=True)
class Both:
    """One warehouse, opened by both; `name` is the test's own table."""

    spark: SparkSession
    lake: Lake
    name: str

    @property
    def ours(self) -> Table:
        return self.lake.load_table(f"db.{self.name}")

    @property
    def java(self) -> str:
        return f"java.db.{self.name}"

    def create(self, schema: Any = SCHEMA, **options: Any) -> Table:
        return self.lake.create_table(f"db.{self.name}", schema, **options)

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Run SQL by Spark, with `{t}` for the table."""
        return query(self.spark, text.replace("{t}", self.java))

    def same_rows(self, columns: list[str] | None = None, snapshot_id: int | None = None) -> list[dict[str, Any]]:
        """What both read, which is the same."""
        table = self.ours
        wanted = columns or [f.name for f in table.schema.fields]
        at = "" if snapshot_id is None else f" VERSION AS OF {snapshot_id}"
        theirs = comparable_rows(self.sql(f"SELECT {', '.join(wanted)} FROM {{t}}{at}"), wanted)
        read = table.scan(columns=wanted, snapshot_id=snapshot_id).to_arrow().to_pylist()
        ours = comparable_rows(read, wanted)
        assert ours == theirs
        return ours

    def same_snapshots(self) -> None:
        columns = ["id"]
        for snapshot in self.ours.snapshots:
            self.same_rows(columns, snapshot.snapshot_id)


@pytest.fixture
def both(iceberg_java: SparkSession, iceberg_warehouse: Path, request: pytest.FixtureRequest) -> Both:
    name = "tables_" + "".join(c if c.isalnum() else "_" for c in request.node.name).lower()
    return Both(iceberg_java, skipstone.catalog(str(iceberg_warehouse)), name)


def small(*ids: int, v: str = "old") -> list[dict[str, Any]]:
    return [{"id": i, "region": "abc"[i % 3], "v": v} for i in ids]


def ids(found: list[dict[str, Any]]) -> list[int]:
    return [r["id"] for r in found]


# -- tables of ours


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_java_reads_rows_that_we_write_in_every_format(both: Both, version: int, file_format: str) -> None:
    properties = {"write.format.default": file_format}
    table = both.create(format_version=version, partition_by=["bucket(2, id)", "region"], properties=properties)
    # Row 1 has a fraction of a second before 1970, which is not written to ORC: Java would read it a second early.
    whole = [r for r in rows(*range(14)) if file_format != "orc" or r["id"] != 1]
    table.append(whole[:10])
    table.append(whole[10:])
    assert both.same_rows() == comparable_rows(whole, COLUMNS)
    for where in ("id = 3", "region = 'north'", "region IS NULL", "i > 20", "amount < 0", "d < 0", "raw IS NULL"):
        assert ids(both.sql(f"SELECT id FROM {{t}} WHERE {where} ORDER BY id")) == sorted(
            table.scan(where, columns=["id"]).to_arrow().column("id").to_pylist()
        ), where


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [2, 3])
def test_java_reads_our_row_level_changes_with_their_lineage(both: Both, version: int, mode: str) -> None:
    table = both.create(SMALL, format_version=version, properties={"write.delete.mode": mode})
    table.append(small(*range(20)))
    table.append(small(*range(20, 30)))
    table.delete("id IN (1, 25)")
    table.delete("id < 5")
    table.update("id = 7", {"v": "updated"})
    table.upsert(small(8, 100, v="upserted"), on=["id"])
    table.delete("id = 9")
    columns = ["id", "region", "v", *(LINEAGE if version == 3 else [])]
    found = both.same_rows(columns)
    assert ids(found) == [5, 6, 7, 8, *range(10, 25), *range(26, 30), 100]
    assert [r["v"] for r in found if r["id"] in (7, 8, 100)] == ["updated", "upserted", "upserted"]
    if version == 3:
        assert {r["id"]: r["_row_id"] for r in found}[7] == 7, "an updated row keeps its id"
        assert len({r["_row_id"] for r in found}) == len(found)
    if mode == "merge-on-read":
        kinds = {r["file_format"] for r in both.sql("SELECT file_format FROM {t}.delete_files")}
        assert kinds == ({"PUFFIN"} if version == 3 else {"PARQUET"})
    both.same_snapshots()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("partition_by", [[], ["region"]])
def test_java_applies_our_equality_deletes(both: Both, version: int, partition_by: list[str]) -> None:
    table = both.create(SMALL, format_version=version, partition_by=partition_by)
    table.append(small(*range(12)))
    gone = table.scan("id = 4").to_arrow().select(["id", *partition_by])
    deletes = write_equality_deletes(
        gone, metadata=table.metadata, storage=table.storage, equality_ids=[table.schema.field("id").id]
    )
    commit(both.lake.catalog, table._loaded, [RowDelta(files=deletes)]).unwrap()
    both.ours.append(small(4, v="again"))
    found = both.same_rows()
    assert ids(found) == list(range(12))
    assert [r["v"] for r in found if r["id"] == 4] == ["again"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_reads_and_changes_a_table_whose_manifests_we_rewrote(both: Both, version: int) -> None:
    properties = {"commit.manifest-merge.enabled": "false"}
    if version > 1:
        properties["write.delete.mode"] = "merge-on-read"
    table = both.create(SMALL, format_version=version, partition_by=["region"], properties=properties)
    table.append(small(*range(6)))
    table.append(small(*range(6, 12)))
    table.delete("id = 4")
    table.delete("id = 7")
    columns = ["id", "region", "v", *(LINEAGE if version == 3 else [])]
    before = both.same_rows(columns)
    report = table.rewrite_manifests()
    assert (report.rewritten, report.added) == (4, 2 if version > 1 else 1)
    assert both.same_rows(columns) == before
    listed = both.sql("SELECT existing_data_files_count AS n FROM {t}.manifests WHERE content = 0")
    assert listed == [{"n": 6}]
    both.sql("INSERT INTO {t} VALUES (50, 'a', 'java')")
    both.sql("DELETE FROM {t} WHERE id = 5")
    found = both.same_rows(columns)
    assert ids(found) == [0, 1, 2, 3, 6, 8, 9, 10, 11, 50]
    if version == 3:
        assert len({r["_row_id"] for r in found}) == len(found)
        kept = {r["id"]: r["_row_id"] for r in before}
        assert all(kept[r["id"]] == r["_row_id"] for r in found if r["id"] in kept)
    both.same_snapshots()


def test_java_reads_our_defaults(both: Both) -> None:
    table = both.create(SMALL, format_version=3)
    table.append(small(0, 1))
    with table.update_schema() as schema:
        schema.add_column("n", "int", required=True, default=7)
        schema.add_column("day", "date", default=dt.date(2026, 1, 2))
        schema.add_column("note", "string", default="né")
    table.append([{"id": 2, "n": 8, "note": None}])
    table.delete("id = 0")
    found = both.same_rows()
    assert [(r["id"], r["n"], r["note"]) for r in found] == [(1, 7, "né"), (2, 8, None)]
    assert found[0]["day"] == found[1]["day"] == dt.date(2026, 1, 2)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_follows_our_evolution_refs_and_transactions(both: Both, version: int) -> None:
    table = both.create(SMALL, format_version=version, partition_by=["region"])
    table.append(small(*range(6)))
    table.create_tag("start")
    with table.transaction() as tx:
        with tx.update_schema() as schema:
            schema.rename_column("v", "value")
            schema.add_column("extra", "long")
        with tx.update_spec() as spec:
            spec.remove_term("region")
            spec.add_term("bucket(4, id)")
        tx.append([{"id": 50, "value": "x", "extra": 2**40}])
        tx.delete("id = 2")
    table.create_branch("work")
    table.append([{"id": 60}], branch="work")
    table.overwrite([{"id": 3, "value": "over"}], filter="id = 3")
    assert ids(both.same_rows()) == [0, 1, 3, 4, 5, 50]
    assert ids(both.sql("SELECT id FROM {t} VERSION AS OF 'start' ORDER BY id")) == list(range(6))
    assert ids(both.sql("SELECT id FROM {t} VERSION AS OF 'work' ORDER BY id")) == [0, 1, 3, 4, 5, 50, 60]
    both.same_snapshots()


def test_java_reads_a_table_that_grew_from_v1_to_v3(both: Both) -> None:
    table = both.create(SMALL, format_version=1)
    table.append(small(0, 1, 2))
    table.upgrade(2)
    table.set_properties({"write.delete.mode": "merge-on-read"})
    table.append(small(3, 4, 5))
    table.delete("id = 4")
    table.upgrade(3)
    table.append(small(6))
    table.delete("id = 3")  # a vector that takes in the position deletes of v2
    found = both.same_rows(["id", *LINEAGE])
    assert ids(found) == [0, 1, 2, 5, 6]
    assert len({r["_row_id"] for r in found}) == 5


# -- tables of Java


@pytest.mark.parametrize(
    ("version", "mode"), [(1, MODES[0]), (2, MODES[0]), (2, MODES[1]), (3, MODES[0]), (3, MODES[1])]
)
def test_we_read_what_java_inserts_deletes_updates_and_merges(both: Both, version: int, mode: str) -> None:
    both.sql(
        "CREATE TABLE {t} (id BIGINT NOT NULL, region STRING, v STRING) USING iceberg PARTITIONED BY (region) "
        f"TBLPROPERTIES ('format-version' = '{version}', 'write.delete.mode' = '{mode}', "
        f"'write.update.mode' = '{mode}', 'write.merge.mode' = '{mode}')"
    )
    both.sql("INSERT INTO {t} SELECT id, substring('abc', CAST(id % 3 AS INT) + 1, 1), 'old' FROM range(30)")
    both.sql("DELETE FROM {t} WHERE id IN (1, 2, 29)")
    both.sql("UPDATE {t} SET v = 'updated' WHERE id % 10 = 5")
    both.sql(
        "MERGE INTO {t} t USING (SELECT explode(array(3, 4, 100)) AS id) s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, region, v) VALUES (s.id, 'new', 'merged')"
    )
    both.sql("DELETE FROM {t} WHERE region = 'b' AND id > 20")
    found = both.same_rows(["id", "region", "v", *(LINEAGE if version == 3 else [])])
    assert 100 in ids(found) and not {1, 2, 3, 22, 25, 28, 29} & set(ids(found))
    both.same_snapshots()
    assert both.ours.scan("v = 'merged'").count() == 2


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_we_read_javas_other_formats(both: Both, file_format: str) -> None:
    table = both.create(format_version=2, properties={"write.format.default": "parquet"})
    table.append(rows(*range(12)))
    table.set_properties({"write.format.default": file_format, "write.delete.mode": "merge-on-read"})
    both.sql("INSERT INTO {t} SELECT * FROM {t}")
    both.sql("DELETE FROM {t} WHERE id = 3")
    found = both.same_rows()
    assert len(found) == 22
    assert {r["file_format"] for r in both.sql("SELECT file_format FROM {t}.files")} >= {file_format.upper()}
    for where in ("i > 10", "region = 'north'", "d < 0"):
        assert both.ours.scan(where).count() == both.sql(f"SELECT count(*) AS n FROM {{t}} WHERE {where}")[0]["n"]


@pytest.mark.parametrize("version", [2, 3])
def test_both_change_one_table_in_turn(both: Both, version: int) -> None:
    properties = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
    table = both.create(SMALL, format_version=version, partition_by=["region"], properties=properties)
    table.append(small(*range(12)))
    both.sql("DELETE FROM {t} WHERE id = 0")
    table.refresh().delete("id = 3")  # the same file: Java's deletes and ours become one vector in v3
    both.sql("DELETE FROM {t} WHERE id = 6")
    both.sql("UPDATE {t} SET v = 'java' WHERE id = 9")
    table.refresh().update("id = 1", {"v": "ours"})
    both.sql("INSERT INTO {t} VALUES (50, 'a', 'java')")
    table.refresh().upsert(small(50, 51, v="ours"), on=["id"])
    columns = ["id", "region", "v", *(LINEAGE if version == 3 else [])]
    found = both.same_rows(columns)
    assert ids(found) == [1, 2, 4, 5, 7, 8, 9, 10, 11, 50, 51]
    assert {r["id"]: r["v"] for r in found if r["v"] != "old"} == {1: "ours", 9: "java", 50: "ours", 51: "ours"}
    if version == 3:
        assert len({r["_row_id"] for r in found}) == len(found)
        vectors = both.sql("SELECT count(*) AS n, count(DISTINCT referenced_data_file) AS d FROM {t}.delete_files")[0]
        assert vectors["n"] == vectors["d"], "one vector a data file, whoever wrote it"
    both.same_snapshots()


@pytest.mark.parametrize("version", [2, 3])
def test_we_follow_javas_evolution_refs_and_maintenance(both: Both, version: int) -> None:
    table = both.create(SMALL, format_version=version, properties={"write.delete.mode": "merge-on-read"})
    for start in (0, 10, 20):
        table.append(small(*range(start, start + 10)))
    table.delete("id IN (1, 11, 21)")
    both.sql("ALTER TABLE {t} CREATE TAG before_all")
    both.sql("ALTER TABLE {t} ADD COLUMN extra BIGINT")
    both.sql("ALTER TABLE {t} RENAME COLUMN v TO value")
    both.sql("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)")
    both.sql("ALTER TABLE {t} WRITE ORDERED BY id")
    both.sql("INSERT INTO {t} VALUES (60, 'a', 'new', 1), (61, 'b', 'new', 2)")
    both.sql("ALTER TABLE {t} CREATE BRANCH side")
    both.sql("INSERT INTO {t}.branch_side VALUES (70, 'c', 'side', 3)")
    columns = ["id", "region", "value", "extra", *(LINEAGE if version == 3 else [])]
    before = both.same_rows(columns)
    assert both.ours.scan(ref="side").count() == len(before) + 1
    assert both.ours.scan(ref="before_all").count() == 27
    both.sql(f"CALL java.system.rewrite_data_files(table => 'db.{both.name}', options => map('rewrite-all', 'true'))")
    assert both.same_rows(columns) == before, "compaction keeps rows, and their ids"
    table.refresh().append([{"id": 80, "extra": 9}])
    both.sql(f"CALL java.system.rewrite_manifests('db.{both.name}')")
    both.sql(f"CALL java.system.expire_snapshots(table => 'db.{both.name}', older_than => now(), retain_last => 1)")
    assert ids(both.same_rows(columns)) == sorted([*ids(before), 80])
    table.refresh().delete("id = 80")
    assert both.same_rows(columns) == before
