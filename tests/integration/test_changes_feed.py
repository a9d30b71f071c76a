"""What changed between snapshots: inserted, deleted and updated rows, and never a row that was only copied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.support.spark import interpreted

import skipstone
from skipstone.commit import RowDelta
from skipstone.errors import InvalidInput, NotFound
from skipstone.write import write_equality_deletes

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

COLUMNS = [("id", "long"), ("s", "string")]


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


def made(tmp_path: Path, version: int, mode: str) -> Any:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    return lake.create_table("db.t", COLUMNS, format_version=version, properties=properties)


def changes(table: Any, spark: Any, **options: Any) -> list[tuple[Any, ...]]:
    shown = ["_change_ordinal", "_change_type", "id", "s"]
    return sorted(tuple(r) for r in table.changes(spark=spark, **options).select(*shown).collect())


@pytest.mark.parametrize(
    ("version", "mode"),
    [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")],
)
def test_every_kind_of_change_is_told_once(tmp_path: Path, spark: Any, version: int, mode: str) -> None:
    table = made(tmp_path, version, mode)
    table.append([{"id": i, "s": "a"} for i in range(4)])
    first = table.current_snapshot.snapshot_id
    table.delete("id = 1")
    table.update("id = 2", {"s": "b"})
    table.append([{"id": 9, "s": "z"}])
    expected = [
        (0, "DELETE", 1, "a"),
        (1, "DELETE", 2, "a"),
        (1, "INSERT", 2, "b"),
        (2, "INSERT", 9, "z"),
    ]
    assert changes(table, spark, after=first) == expected
    updated = [
        (o, {"DELETE": "UPDATE_BEFORE", "INSERT": "UPDATE_AFTER"}[t] if o == 1 else t, i, s) for o, t, i, s in expected
    ]
    assert changes(table, spark, after=first, identifier=["id"]) == sorted(updated)
    assert changes(table, spark, after=first, filter="id = 9") == [(2, "INSERT", 9, "z")]
    whole = changes(table, spark)
    assert [c for c in whole if c[0] == 0] == [(0, "INSERT", i, "a") for i in range(4)]
    ids = {r[0] for r in table.changes(after=first, spark=spark).select("_commit_snapshot_id").collect()}
    assert ids == {s.snapshot_id for s in table.snapshots[1:]}


def test_unchanged_files_are_not_read(tmp_path: Path, spark: Any) -> None:
    table = made(tmp_path, 3, "merge-on-read")
    for i in range(3):
        table.append([{"id": 10 * i + j, "s": "a"} for j in range(3)])
    before = table.current_snapshot.snapshot_id
    table.delete("id = 11")
    frame = table.changes(after=before, spark=spark)
    assert [(r["id"], r["_change_type"]) for r in frame.collect()] == [(11, "DELETE")]
    assert len(set(frame.inputFiles())) == 1


def test_equality_deletes_are_followed(tmp_path: Path, spark: Any) -> None:
    table = made(tmp_path, 2, "merge-on-read")
    table.append([{"id": i, "s": "a"} for i in range(4)])
    before = table.current_snapshot.snapshot_id
    keys = pa.table({"id": pa.array([2, 3], pa.int64())})
    files = write_equality_deletes(keys, equality_ids=[1], metadata=table.metadata, storage=table.storage)
    table.apply(RowDelta(files=files))
    assert changes(table, spark, after=before) == [(0, "DELETE", 2, "a"), (0, "DELETE", 3, "a")]


def test_copied_rows_are_shown_on_request(tmp_path: Path, spark: Any) -> None:
    table = made(tmp_path, 3, "copy-on-write")
    table.append([{"id": i, "s": "a"} for i in range(2)])
    before = table.current_snapshot.snapshot_id
    table.delete("id = 1")
    assert changes(table, spark, after=before, keep_copies=True) == [
        (0, "DELETE", 0, "a"),
        (0, "DELETE", 1, "a"),
        (0, "INSERT", 0, "a"),
    ]


def test_appends_between_snapshots_are_a_scan(tmp_path: Path, spark: Any) -> None:
    table = made(tmp_path, 2, "copy-on-write")
    for i in range(3):
        table.append([{"id": i, "s": "a"}])
    ids = [s.snapshot_id for s in table.snapshots]
    scan = table.appends(after=ids[0])
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [1, 2]
    assert sorted(r["id"] for r in table.appends(after=ids[0], filter="id > 1").to_spark(spark).collect()) == [2]
    table.delete("id = 1")
    with pytest.raises(InvalidInput, match="expected append or replace"):
        table.appends(after=ids[0])
    # What was appended, whatever became of it since; what an overwrite added is no append.
    table.overwrite([{"id": 7, "s": "b"}], filter="id = 2")
    table.append([{"id": 8, "s": "c"}])
    left = table.appends(after=ids[0], skip_others=True)
    assert sorted(left.to_arrow()["id"].to_pylist()) == [1, 2, 8]


def test_a_table_without_snapshots_has_no_changes_to_tell(tmp_path: Path, spark: Any) -> None:
    with pytest.raises(NotFound, match="no snapshot yet"):
        made(tmp_path, 2, "copy-on-write").changes(spark=spark)


@pytest.mark.parametrize(("version", "mode"), [(2, "copy-on-write"), (3, "merge-on-read")])
@pytest.mark.parametrize("name", ["a.b", "we`ird"])
def test_columns_with_odd_names_are_told(tmp_path: Path, spark: Any, name: str, version: int, mode: str) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    table = lake.create_table(
        "db.t", [(name, "long"), ("s", "string")], format_version=version, properties={"write.update.mode": mode}
    )
    table.append([{name: i, "s": "a"} for i in range(3)])
    before = table.current_snapshot.snapshot_id
    table.update("s = 'a'", {"s": "b"})
    told = table.changes(after=before, identifier=[name], filter=skipstone.col(name) == 1, spark=spark)
    assert told.columns[:2] == [name, "s"]
    assert sorted(tuple(r)[:3] for r in told.collect()) == [(1, "a", "UPDATE_BEFORE"), (1, "b", "UPDATE_AFTER")]


@pytest.mark.parametrize("version", [2, 3])
def test_where_nothing_changed_there_are_the_columns_and_no_rows(tmp_path: Path, spark: Any, version: int) -> None:
    table = made(tmp_path, version, "merge-on-read")
    table.append([{"id": 1, "s": "a"}])
    frame = table.changes(after=table.current_snapshot.snapshot_id, spark=spark)
    assert frame.collect() == []
    assert frame.schema.simpleString() == (
        "struct<id:bigint,s:string,_change_type:string,_change_ordinal:int,_commit_snapshot_id:bigint>"
    )


def test_rows_that_differ_in_the_sign_of_a_zero_only_are_told_apart(tmp_path: Path, spark: Any) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    columns = [("id", "long"), ("x", "double"), ("st", "struct<y: float>")]
    table = lake.create_table("db.t", columns, format_version=2)
    zeros = [(1, 0.0, -0.0), (1, -0.0, -0.0), (1, -0.0, 0.0), (1, -0.0, -0.0), (2, float("nan"), None), (3, None, 0.0)]
    table.append([{"id": i, "x": x, "st": {"y": y}} for i, x, y in zeros])
    first = table.current_snapshot.snapshot_id
    table.delete("id = 3")  # the others are copied
    table.overwrite([{"id": 1, "x": 0.0, "st": {"y": -0.0}}, {"id": 1, "x": -0.0, "st": {"y": -0.0}}])
    told = table.changes(after=first, spark=spark).selectExpr("_change_ordinal", "_change_type", "x", "st.y")
    assert sorted(map(repr, map(tuple, told.collect()))) == sorted(
        map(repr, [
            (0, "DELETE", None, 0.0), (1, "DELETE", -0.0, -0.0), (1, "DELETE", -0.0, 0.0),
            (1, "DELETE", float("nan"), None),
        ])
    )  # fmt: skip
