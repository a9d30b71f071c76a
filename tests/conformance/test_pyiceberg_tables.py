"""PyIceberg and this library on one table: each reads, changes and time-travels what the other wrote.

Both open the same SQLite catalog. Everything PyIceberg can do is asked for in both directions; what it cannot (equality
deletes, writing v3) is not.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table as PeerTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, StringType
from tests.support.peers import grown_table
from tests.support.sample_tables import SCHEMA, comparable_rows, rows

import skipstone
from skipstone import Lake, Table
from skipstone.metadata.schema import Schema

COLUMNS = [f.name for f in SCHEMA.fields]
FILTERS = [
    "id < 7", "region = 'north'", "region IS NULL", "region IS NOT NULL AND i > 10", "NOT (region = 'south')",
    "d < 0", "flag = true OR i <= -20", "day >= '1970-01-03'", "ts < '1970-01-01T03:00:00'", "amount > 0.00",
    "region IN ('north', 'south')", "region LIKE 'ea%'", "raw IS NULL",
]  # fmt: skip


@dataclass(frozen=True)
class Both:
    """One catalog, opened by both."""

    lake: Lake
    peer: SqlCatalog

    def create(self, schema: Schema = SCHEMA, **options: Any) -> Table:
        return self.lake.create_table("db.t", schema, **options)

    @property
    def ours(self) -> Table:
        return self.lake.load_table("db.t")

    @property
    def theirs(self) -> PeerTable:
        return self.peer.load_table("db.t")


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", str(tmp_path / "lake")
    lake = skipstone.catalog(uri, warehouse=warehouse, name="peer")
    peer = SqlCatalog("peer", uri=uri, warehouse=warehouse)
    peer.create_namespace_if_not_exists("db")
    yield Both(lake, peer)
    peer.close()


def plain(table: Any, columns: list[str] | None = None) -> list[dict[str, Any]]:
    """Rows of either reader in one form. PyIceberg gives UUIDs as bytes or as values."""
    found = table.to_pylist()
    for row in found:
        if isinstance(row.get("key"), bytes):
            row["key"] = uuid.UUID(bytes=row["key"])
    return comparable_rows(found, columns or list(table.column_names))


def same_rows(both: Both, name: str = "db.t", **at: Any) -> list[dict[str, Any]]:
    """What both read, which is the same."""
    ours = both.lake.load_table(name).scan(**at).to_arrow()
    theirs = both.peer.load_table(name).scan(**at).to_arrow()
    assert plain(ours) == plain(theirs)
    return plain(ours)


# -- tables of ours


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("partition_by", [[], ["region"], ["bucket(4, id)", "day(tz)", "truncate(3, region)"]])
def test_pyiceberg_reads_and_filters_our_table(both: Both, version: int, partition_by: list[str]) -> None:
    table = both.create(format_version=version, partition_by=partition_by)
    table.append(rows(*range(12)))
    table.append(rows(*range(12, 20)))
    assert same_rows(both) == comparable_rows(rows(*range(20)), COLUMNS)
    for text in FILTERS:
        theirs = plain(both.theirs.scan(text).to_arrow())
        assert plain(both.ours.scan(text).to_arrow()) == theirs, text
    assert both.theirs.scan("id = 3", selected_fields=("i", "id")).to_arrow().num_rows == 1


# PyIceberg cannot read timestamps from the ORC files of v3 tables.
@pytest.mark.parametrize(("version", "file_format"), [(2, "parquet"), (3, "parquet"), (2, "orc")])
def test_pyiceberg_sees_the_deletes_we_write(both: Both, version: int, file_format: str) -> None:
    properties = {"write.delete.mode": "merge-on-read", "write.format.default": file_format}
    # PyIceberg cannot read UUIDs and fixed bytes from ORC.
    columns = [c for c in COLUMNS if c not in ("key", "code") or file_format == "parquet"]
    table = both.create(SCHEMA.select(columns), format_version=version, properties=properties)
    # Row 1 has a fraction of a second before 1970, which is not written to ORC.
    numbers = [i for i in range(30) if i != 1 or file_format == "parquet"]
    table.append([{c: r.get(c) for c in columns} for r in rows(*numbers)])
    table.delete("id < 3")
    table.delete("id >= 28 OR region = 'south'")
    table.update("id = 4", {"region": "moved"})
    left = [r | {"region": "moved"} if r["id"] == 4 else r for r in rows(*range(3, 28)) if r["region"] != "south"]
    assert same_rows(both) == comparable_rows(left, columns)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_pyiceberg_reads_our_copy_on_write_changes_and_every_snapshot(both: Both, version: int) -> None:
    table = both.create(format_version=version, partition_by=["region"])
    table.append(rows(*range(12)))
    table.delete("id = 3")
    table.overwrite(rows(61), filter="region = 'north'")
    table.upsert(rows(5, 62), on=["id"])
    with table.transaction() as tx:
        tx.append(rows(63))
        tx.delete("id = 0")
    assert len(table.snapshots) == 6
    for snapshot in table.snapshots:
        same_rows(both, snapshot_id=snapshot.snapshot_id)
    assert 63 in [r["id"] for r in same_rows(both)]


@pytest.mark.parametrize("version", [1, 2])
def test_pyiceberg_follows_our_evolution(both: Both, version: int) -> None:
    table = both.create(format_version=version, partition_by=["region"])
    table.append(rows(*range(6)))
    with table.update_schema() as schema:
        schema.rename_column("i", "quantity")
        schema.update_column("f", "double")
        schema.update_column("quantity", "long")
        schema.add_column("later", "string")
        schema.add_column("point.z", "int")
        schema.delete_column("code")
    with table.update_spec() as spec:
        spec.remove_term("region")
        spec.add_term("bucket(8, id)")
    table.sort_by("id desc")
    table.append([{"id": 50, "later": "x", "quantity": 2**40, "point": {"x": 1.0, "y": 2, "z": 3}}])
    found = same_rows(both)
    assert [r["later"] for r in found] == [None] * 6 + ["x"]
    peer = both.theirs
    assert [f.name for f in peer.schema().fields] == [f.name for f in table.schema.fields]
    assert str(peer.spec().fields[-1].transform) == "bucket[8]"
    assert plain(peer.scan("quantity = 1099511627776").to_arrow())[0]["id"] == 50


def test_pyiceberg_reads_our_branches_and_tags(both: Both) -> None:
    table = both.create()
    table.append(rows(1))
    table.create_tag("first")
    table.create_branch("work")
    table.append(rows(2), branch="work")
    for ref, wanted in (("first", [1]), ("work", [1, 2]), ("main", [1])):
        at = both.theirs.snapshot_by_name(ref)
        assert at is not None
        read = both.theirs.scan(snapshot_id=at.snapshot_id).to_arrow()
        assert sorted(read.column("id").to_pylist()) == wanted
        assert sorted(both.ours.scan(ref=ref).to_arrow().column("id").to_pylist()) == wanted


# -- tables of PyIceberg


@pytest.mark.parametrize("version", [1, 2])
def test_we_read_every_snapshot_and_ref_of_pyicebergs_table(both: Both, version: int) -> None:
    peer = grown_table(both.peer, version)
    ours = both.lake.load_table("db.grown")
    assert len(ours.snapshots) == len(peer.snapshots()) >= 4
    for snapshot in peer.snapshots():
        same_rows(both, "db.grown", snapshot_id=snapshot.snapshot_id)
    same_rows(both, "db.grown")
    for text in ("region = 'north'", "quantity > 0", "later IS NULL", "d < 0.0", "flag = true"):
        assert plain(ours.scan(text).to_arrow()) == plain(peer.scan(text).to_arrow()), text
    for name, ref in peer.refs().items():
        assert ours.refs[name].snapshot_id == ref.snapshot_id


@pytest.mark.parametrize("version", [1, 2])
def test_both_change_pyicebergs_table_in_turn(both: Both, version: int) -> None:
    grown_table(both.peer, version)
    ours = both.lake.load_table("db.grown")
    ours.append([{"id": 1000, "region": "north", "later": "ours"}])
    peer = both.peer.load_table("db.grown")
    peer.append(peer.scan("id = 1000").to_arrow())
    assert [r["id"] for r in same_rows(both, "db.grown")].count(1000) == 2
    ours.refresh().delete("id = 1000")
    peer.refresh().delete("id = 9")
    ours.refresh().update("id = 10", {"later": "changed"})
    found = same_rows(both, "db.grown")
    assert not {9, 1000} & {r["id"] for r in found}
    assert [r["later"] for r in found if r["id"] == 10] == ["changed"]


def test_pyiceberg_changes_our_table_and_we_go_on(both: Both) -> None:
    table = both.create(partition_by=["region"])
    table.append(rows(*range(10)))
    arrow = both.theirs.scan("id < 2").to_arrow()
    both.theirs.append(arrow)
    both.theirs.overwrite(arrow, overwrite_filter=EqualTo("region", "south"))
    with both.theirs.update_schema() as schema:
        schema.add_column("extra", LongType())
        schema.rename_column("i", "quantity")
    with both.theirs.update_spec() as spec:
        spec.add_field("flag", IdentityTransform())
    with both.theirs.transaction() as transaction:
        transaction.set_properties(by="them")
    table.refresh()
    assert table.properties["by"] == "them"
    table.append([{"id": 60, "extra": 7, "flag": True}])
    found = same_rows(both)
    assert [r["extra"] for r in found if r["id"] == 60] == [7]
    assert [r["id"] for r in found].count(0) == 3


def test_pyiceberg_changes_a_table_that_holds_our_deletes(both: Both) -> None:
    table = both.create(format_version=2, properties={"write.delete.mode": "merge-on-read"})
    table.append(rows(*range(10)))
    table.delete("id < 2")
    both.theirs.append(both.theirs.scan("id = 5").to_arrow())
    table.refresh().delete("id = 3")
    assert [r["id"] for r in same_rows(both)] == [2, 4, 5, 5, 6, 7, 8, 9]


def test_files_without_ids_that_pyiceberg_adds_are_read_by_name(both: Both, tmp_path: Path) -> None:
    table = both.lake.create_table("db.t", [("id", "long"), ("name", "string")])
    path = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"name": ["a", "b"], "id": [1, 2]}), path)
    both.theirs.add_files([str(path)])
    table.refresh()
    with table.update_schema() as schema:
        schema.rename_column("name", "label")
    assert same_rows(both) == [{"id": 1, "label": "a"}, {"id": 2, "label": "b"}]
    assert table.scan("label = 'b'").count() == 1


def test_pyicebergs_refs_and_expiry_are_seen_here(both: Both) -> None:
    table = both.create()
    for i in range(4):
        table.append(rows(i))
    first, second = table.snapshots[0].snapshot_id, table.snapshots[1].snapshot_id
    both.theirs.manage_snapshots().create_tag(second, "kept").create_branch(second, "side").commit()
    both.theirs.maintenance.expire_snapshots().by_id(first).commit()
    table.refresh()
    assert first not in {s.snapshot_id for s in table.snapshots}
    assert table.scan(ref="kept").count() == table.scan(ref="side").count() == 2
    table.append(rows(50), branch="side")
    assert table.scan(ref="side").count() == 3
    assert len(same_rows(both)) == 4


def test_an_upsert_of_theirs_and_one_of_ours_do_the_same(both: Both) -> None:
    columns = [("id", "long not null"), ("v", "string")]
    for name in ("db.a", "db.b"):
        table = both.lake.create_table(name, columns)
        table.append([{"id": i, "v": "old"} for i in range(5)])
    new = pa.table({"id": pa.array([3, 9], pa.int64()), "v": ["new", "new"]})
    new = new.cast(pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.string())]))
    both.lake.load_table("db.a").upsert(new, on=["id"])
    both.peer.load_table("db.b").upsert(new, join_cols=["id"])
    assert same_rows(both, "db.a") == same_rows(both, "db.b")


def test_a_table_created_by_pyiceberg_is_dropped_and_renamed_here(both: Both) -> None:
    grown_table(both.peer, 2)
    both.lake.rename_table("db.grown", "db.other")
    assert both.peer.load_table("db.other").name() == ("db", "other")
    with both.peer.load_table("db.other").update_schema() as schema:
        schema.add_column("more", StringType())
    assert both.lake.load_table("db.other").schema.find("more") is not None
    both.lake.drop_table("db.other", purge=True)
    assert not both.peer.table_exists("db.other")
