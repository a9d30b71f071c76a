"""Commits of PyIceberg between ours: the index serves what it knows, manifests the rest, and plans are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog.sql import SqlCatalog as PyIcebergCatalog
from tests.support.indexed import SIDECARS_ALWAYS, assert_same_plan, small_blocks

import skipstone

pa: Any = pyarrow

SCHEMA = pa.schema([("id", pa.int64()), ("state", pa.string()), ("x", pa.float64())])
ASKED = [None, "id = 3", "id > 8 AND state = 'a'", "state IS NULL", "x > 1", "state LIKE 'b%'"]


def some(first: int, states: list[str | None]) -> Any:
    ids = range(first, first + len(states))
    xs = [None if i % 4 == 0 else float("nan") if i % 5 == 0 else i / 2 for i in ids]
    return pa.table({"id": list(ids), "state": states, "x": xs}, schema=SCHEMA)


@pytest.mark.parametrize("partition_by", [["state"], []])
def test_plans_are_the_same_with_commits_of_pyiceberg_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partition_by: list[str]
) -> None:
    small_blocks(monkeypatch, 2)
    uri, home = f"sqlite:///{tmp_path}/catalog.db", str(tmp_path / "lake")
    ours = skipstone.catalog(uri, warehouse=home)
    table: Any = ours.create_table("db.t", SCHEMA, partition_by=partition_by, properties=SIDECARS_ALWAYS)
    table.append(some(0, ["a", "b", None, "a"]))
    theirs: Any = PyIcebergCatalog("default", uri=uri, warehouse=home)

    def foreign() -> Any:
        return theirs.load_table("db.t")

    def check(indexed: int | None = None) -> None:
        table.refresh()
        assert indexed is None or table.index.status().manifests_indexed == indexed
        for predicate in ASKED:
            assert_same_plan(table, predicate)
            for snapshot in table.snapshots:
                assert_same_plan(table, predicate, snapshot_id=snapshot.snapshot_id)
        everything = table.scan(use_index=False).to_arrow()
        assert table.scan().count() == everything.num_rows == foreign().scan().to_arrow().num_rows

    check(1)
    foreign().append(some(4, ["b", "ba", "a", None]))
    check(1)
    table.append(some(8, ["a", "c", "b", "b"]))
    check(2)
    foreign().delete("id >= 6 and id < 9")  # rewrites files of both
    check()
    foreign().overwrite(some(20, ["a", "z"]), overwrite_filter="state == 'b'")
    check()
    table.build_index()
    check(table.index.status().manifests)
