"""Orphan files: found by age and by what metadata names, never by guessing."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone import Lake, Table
from skipstone.commit import manifests
from skipstone.errors import AlreadyExists, InvalidInput, NotFound
from skipstone.maintenance import PrefixMismatch, Search, find_orphans
from skipstone.storage.local import LocalStorage
from skipstone.storage.paths import local_path
from skipstone.storage.protocol import FileInfo

FOUR_DAYS_S = 4 * 24 * 60 * 60
NOW = datetime.timedelta(hours=-1)  # an age in the future: everything counts as old


@pytest.fixture(params=["sql", "directory"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    if request.param == "sql":
        return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    return skipstone.catalog(str(tmp_path / "lake"))


@pytest.fixture
def table(lake: Lake) -> Table:
    properties = {"write.delete.mode": "merge-on-read"}
    columns = [("id", "long"), ("_kind", "string")]
    table = lake.create_table("db.t", columns, partition_by=["_kind"], format_version=3, properties=properties)
    table.append([{"id": i, "_kind": "a"} for i in range(5)])
    table.delete("id = 3")
    return table


def put(table: Table, name: str, *, age_s: int = 0) -> Path:
    path = Path(local_path(table.location)) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left behind")
    if age_s:
        before = path.stat().st_mtime - age_s
        os.utime(path, (before, before))
    return path


def names(found: list[FileInfo]) -> set[str]:
    return {info.path.rpartition("/")[2] for info in found}


def files_of(table: Table) -> set[Path]:
    return {p for p in Path(local_path(table.location)).rglob("*") if p.is_file()}


def test_only_files_older_than_three_days_go_by_default(table: Table) -> None:
    old, young = put(table, "data/old.parquet", age_s=FOUR_DAYS_S), put(table, "data/young.parquet")
    assert names(table.remove_orphan_files()) == {"old.parquet"}
    assert not old.exists()
    assert young.exists()


def test_a_dry_run_removes_nothing(table: Table) -> None:
    put(table, "data/old.parquet", age_s=FOUR_DAYS_S)
    before = files_of(table)
    assert names(table.remove_orphan_files(dry_run=True)) == {"old.parquet"}
    assert files_of(table) == before


def test_nothing_that_the_table_needs_is_touched(table: Table) -> None:
    before = files_of(table)
    assert table.remove_orphan_files(older_than=NOW) == []
    assert files_of(table) == before
    orphans = {put(table, name) for name in ("data/x.parquet", "metadata/y.avro", "z")}
    assert {Path(local_path(i.path)) for i in table.remove_orphan_files(older_than=NOW)} == orphans
    assert files_of(table) == before
    assert table.scan().count() == 4


def test_files_of_expired_snapshots_stay_while_a_metadata_version_in_the_log_names_them(table: Table) -> None:
    table.append([{"id": 9, "_kind": "b"}])
    table.delete("_kind = 'b'")
    table.expire_snapshots(older_than=NOW, delete_files=False)
    assert len(table.snapshots) == 1
    assert table.remove_orphan_files(older_than=NOW) == []
    table.set_properties({"write.metadata.previous-versions-max": "1"})
    found = table.remove_orphan_files(older_than=NOW)
    assert any("_kind=b" in info.path for info in found)
    assert any("snap-" in info.path for info in found)
    assert table.scan().count() == 4
    assert table.remove_orphan_files(older_than=NOW) == []


def test_hidden_files_of_others_stay_but_partitions_that_look_hidden_do_not(table: Table) -> None:
    put(table, "_temporary/0/part.parquet")
    put(table, "data/.part.parquet.crc")
    put(table, "data/_kind=a/orphan.parquet")
    assert names(table.remove_orphan_files(older_than=NOW)) == {"orphan.parquet"}


def test_what_a_killed_spark_job_left_is_found(table: Table) -> None:
    put(table, "data/0d8c7d56-5b7a-4bb2-a6a1-0f1f0c3f7a51/_temporary/0/_temporary/attempt_1/k=1/part.parquet")
    assert names(table.remove_orphan_files(older_than=NOW)) == {"part.parquet"}


def test_a_part_of_the_table_can_be_searched(table: Table) -> None:
    put(table, "data/x.parquet")
    put(table, "metadata/y.avro")
    found = table.remove_orphan_files(older_than=NOW, location=f"{table.location}/metadata")
    assert names(found) == {"y.avro"}


def test_a_missing_manifest_stops_the_search(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = put(table, "data/x.parquet")
    for manifest in table.inspect.manifests().column("path").to_pylist():
        Path(local_path(manifest)).unlink()
    # As another process sees it, which remembers nothing of what was written here.
    monkeypatch.setattr(manifests, "_small", manifests._Kept(0))
    with pytest.raises(NotFound, match=r"\.avro"):
        table.remove_orphan_files(older_than=NOW)
    assert orphan.exists()


def test_a_shared_table_is_refused(table: Table) -> None:
    table.set_properties({"gc.enabled": "false"})
    with pytest.raises(InvalidInput, match=r"gc\.enabled"):
        table.remove_orphan_files()


class Renamed(LocalStorage):
    """Lists files under another authority than the table names them with."""

    def list(self, prefix: str) -> Any:
        for info in super().list(prefix):
            yield FileInfo(
                path=f"s3a://copy{local_path(info.path)}",
                size_in_bytes=info.size_in_bytes,
                modified_ms=info.modified_ms,
            )


def search(**options: Any) -> Search:
    return Search(older_than_ms=2**62, **options)


def test_files_known_under_another_prefix_are_an_error_unless_the_caller_decides(table: Table) -> None:
    put(table, "data/x.parquet")

    def find(**options: Any) -> set[str]:
        return names(find_orphans(lambda: table._loaded, Renamed(), search(**options)))

    with pytest.raises(InvalidInput, match="scheme or authority"):
        find()
    assert find(prefix_mismatch=PrefixMismatch.IGNORE) == {"x.parquet"}
    assert len(find(prefix_mismatch=PrefixMismatch.DELETE)) == len(files_of(table))
    equal: dict[str, Any] = {"equal_schemes": {"s3a": "file"}, "equal_authorities": {"copy": ""}}
    assert find(**equal) == {"x.parquet"}


def test_an_unknown_way_to_treat_prefixes_is_refused(table: Table) -> None:
    way: Any = "guess"
    with pytest.raises(InvalidInput, match="error, ignore, delete"):
        table.remove_orphan_files(prefix_mismatch=way)


def test_schemes_of_one_store_are_equal() -> None:
    assert search().split("s3a://b/t/f") == search().split("s3n://b/t/f") == search().split("s3://b/t/f")
    assert search().split("s3://b/t/f") != search().split("s3://c/t/f")
    assert search().split("/a/b") == search().split("file:/a/b") == search().split("file:///a/b")


@pytest.fixture
def sql(tmp_path: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


def test_a_new_table_under_the_old_name_of_a_renamed_one_has_a_place_of_its_own(sql: Lake) -> None:
    sql.create_table("db.t", [("id", "long")]).append([{"id": 1}])
    sql.rename_table("db.t", "db.old")
    fresh = sql.create_table("db.t", [("id", "long")])
    fresh.append([{"id": 2}])
    assert fresh.remove_orphan_files(older_than=NOW) == []
    assert sql.load_table("db.old").scan().to_arrow().to_pylist() == [{"id": 1}]


def test_a_dropped_table_can_be_registered_again_after_another_took_its_name(sql: Lake) -> None:
    first = sql.create_table("db.t", [("id", "long")])
    first.append([{"id": 1}])
    sql.drop_table("db.t")
    sql.create_table("db.t", [("id", "long")]).remove_orphan_files(older_than=NOW)
    assert sql.register_table("db.again", first.metadata_location).scan().count() == 1


def test_a_purged_table_leaves_its_place_to_the_next(sql: Lake) -> None:
    first = sql.create_table("db.t", [("id", "long")])
    first.append([{"id": 1}])
    sql.drop_table("db.t", purge=True)
    assert sql.create_table("db.t", [("id", "long")]).location == first.location


@pytest.mark.parametrize("names", [("db.t", "db.t.x"), ("db.t.x", "db.t")], ids=" then ".join)
def test_a_table_and_a_namespace_of_one_name_do_not_share_a_directory(sql: Lake, names: tuple[str, str]) -> None:
    for name in names:
        sql.create_table(name, [("id", "long")]).append([{"id": 1}])
    for name in names:
        assert sql.load_table(name).remove_orphan_files(older_than=NOW) == []
    assert [sql.load_table(name).scan().count() for name in names] == [1, 1]


@pytest.mark.parametrize("inside", ["", "/inside"])
@pytest.mark.parametrize("spelling", ["{}", "file://{}"])
def test_files_of_another_table_in_the_directory_are_never_orphans(sql: Lake, inside: str, spelling: str) -> None:
    """As catalogs of other programs leave it, which give every table of a name the same directory."""
    table = sql.create_table("db.t", [("id", "long")])
    other = sql.create_table("db.other", [("id", "long")], location=spelling.format(table.location + inside))
    other.append([{"id": 1}])
    with pytest.raises(InvalidInput, match=r"expected no other table under .*/db/t, got db\.other\. Pass a location"):
        table.remove_orphan_files(older_than=NOW)
    assert other.scan().count() == 1


def test_another_tables_directory_that_only_looks_alike_is_no_obstacle(sql: Lake) -> None:
    table = sql.create_table("db.a_b", [("id", "long")])
    for name in ("db.axb", "db.A_B", "db.a_b2"):
        sql.create_table(name, [("id", "long")])
    sql.create_table("db.deep", [("id", "long")], location=f"{table.location}-2{table.location}")
    left = put(table, "data/left.parquet")
    assert names(table.remove_orphan_files(older_than=NOW)) == {left.name}


def test_a_directory_that_holds_tables_does_not_become_a_table(tmp_path: Path) -> None:
    lake = skipstone.catalog(str(tmp_path / "lake"))
    lake.create_table("db.t.deep.x", [("id", "long")]).append([{"id": 1}])
    with pytest.raises(AlreadyExists, match=r"Cannot create table db\.t: it is a namespace, with table db\.t\.deep\.x"):
        lake.create_table("db.t", [("id", "long")])
    assert lake.load_table("db.t.deep.x").scan().count() == 1
    lake.drop_table("db.t.deep.x")
    lake.create_table("db.t", [("id", "long")]).append([{"id": 2}])
    assert lake.list_tables("db") == ["db.t"]


def test_files_of_a_table_registered_twice_are_not_deleted_under_either_name(sql: Lake) -> None:
    table = sql.create_table("db.t", [("id", "long")])
    table.append([{"id": 1}])
    sql.register_table("db.same", table.metadata_location)
    for name, other in (("db.t", r"db\.same"), ("db.same", r"db\.t")):
        with pytest.raises(InvalidInput, match=f"got files that {other} has too"):
            sql.drop_table(name, purge=True)
        with pytest.raises(InvalidInput, match=f"got files that {other} has too"):
            sql.load_table(name).expire_snapshots()
        assert sql.load_table(name).expire_snapshots(delete_files=False).files.paths() == []
        assert sql.load_table(name).scan().count() == 1
    sql.drop_table("db.same")
    sql.drop_table("db.t", purge=True)
    assert not list(sql.catalog.storage.list(table.location))
