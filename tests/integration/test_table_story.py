"""A table through its life, as a user lives it, for every version of the format and both ways to delete."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
from skipstone import Lake, Table, col
from skipstone.errors import CommitRejected, InvalidInput, NotFound

UTC = datetime.UTC
COLUMNS = [("id", "long not null"), ("state", "string"), ("zip", "string"), ("ts", "timestamptz"), ("x", "double")]
WAYS = [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")]


def row(i: int) -> dict[str, Any]:
    return {
        "id": i,
        "state": ["NY", "CA", None][i % 3],
        "zip": f"{10000 + i % 50:05d}",
        "ts": datetime.datetime(2026, 1, 1 + i % 3, tzinfo=UTC),
        "x": math.nan if i % 7 == 0 else i / 3,
    }


ROWS = [row(i) for i in range(300)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture(params=WAYS, ids=lambda w: f"v{w[0]}-{w[1]}")
def table(request: pytest.FixtureRequest, lake: Lake) -> Table:
    version, mode = request.param
    table = lake.create_table(
        "shop.address",
        COLUMNS,
        partition_by=["state", "day(ts)"],
        sort_by=["zip"],
        format_version=version,
        properties={"write.delete.mode": mode},
    )
    table.append(ROWS)
    return table


def ids(table: Table, filter_: Any = None, **options: Any) -> list[int]:
    return sorted(table.scan(filter_, columns=["id"], **options).to_arrow().column("id").to_pylist())


def test_filters_return_the_rows_that_match(table: Table) -> None:
    assert ids(table) == list(range(300))
    assert ids(table, "zip = '10001' AND state = 'NY'") == [
        r["id"] for r in ROWS if r["zip"] == "10001" and r["state"] == "NY"
    ]
    assert ids(table, col("state").is_null()) == [r["id"] for r in ROWS if r["state"] is None]
    assert ids(table, {"type": "lt", "term": "id", "value": 5}) == [0, 1, 2, 3, 4]
    assert ids(table, "isnan(x)") == [r["id"] for r in ROWS if math.isnan(r["x"])]


def test_skipping_reads_only_the_partitions_that_can_match(table: Table) -> None:
    plan = table.scan("state = 'NY' AND ts >= TIMESTAMP '2026-01-03 00:00:00Z'").plan()
    assert len(plan) == 0, "NY rows are all of the first day"
    plan = table.scan("state = 'CA'").plan()
    assert (len(plan), plan.count()) == (1, 100)
    assert "partitions" in plan.explain()


def test_delete_update_and_upsert_keep_every_other_row(table: Table) -> None:
    before = table.current_snapshot
    assert before is not None
    table.delete("state = 'CA'")
    table.delete("id < 10")
    table.delete("id < 20")
    left = [r["id"] for r in ROWS if r["state"] != "CA" and r["id"] >= 20]
    assert ids(table) == left
    assert table.scan().count() == len(left)
    assert ids(table, snapshot_id=before.snapshot_id) == list(range(300)), "the past does not change"

    table.update("id = 21", {"zip": "99999"})
    assert ids(table, "zip = '99999'") == [21]
    table.upsert([{"id": 21, "zip": "88888"}, {"id": 1000, "zip": "1"}], on=["id"])
    assert table.scan("id = 21", columns=["zip"]).to_arrow().to_pylist() == [{"zip": "88888"}]
    assert ids(table) == [*left, 1000]


def test_a_delete_that_matches_nothing_commits_nothing(table: Table) -> None:
    before = table.metadata_location
    table.delete("id = 12345")
    assert table.metadata_location == before


def test_schema_evolution_reads_old_and_new_rows(table: Table) -> None:
    with table.update_schema() as schema:
        schema.add_column("note", "string")
        schema.rename_column("zip", "zip_code")
    table.append([{"id": 500, "note": "hi", "zip_code": "z"}])
    assert ids(table, "note = 'hi'") == [500]
    assert ids(table, "note IS NULL AND zip_code = '10003'") == [r["id"] for r in ROWS if r["zip"] == "10003"]


def test_spec_evolution_keeps_old_files_under_their_spec(table: Table) -> None:
    with table.update_spec() as spec:
        spec.remove_term("state")
        spec.add_term("bucket(4, id)")
    table.append([row(300), row(301)])
    assert ids(table, "state = 'NY' AND id >= 297") == [297, 300]
    assert ids(table, "id = 301") == [301]


def test_a_transaction_is_seen_whole_or_not_at_all(table: Table) -> None:
    snapshots = len(table.snapshots)
    with table.transaction() as tx:
        tx.append([{"id": 1000}])
        tx.delete("id = 5")
        tx.set_properties({"comment": "both"})
        assert tx.scan("id = 1000").count() == 1
        assert table.scan("id = 1000").count() == 0
    assert ids(table, "id = 5 OR id = 1000") == [1000]
    assert table.properties["comment"] == "both"
    assert len(table.snapshots) == snapshots + 2

    with pytest.raises(RuntimeError), table.transaction() as tx:
        tx.append([{"id": 2000}])
        raise RuntimeError
    assert table.refresh().scan("id = 2000").count() == 0


def test_the_main_branch_of_an_empty_table_can_be_named(lake: Lake) -> None:
    assert lake.create_table("shop.empty", COLUMNS).scan(ref="main").to_arrow().num_rows == 0


def test_branches_and_tags(table: Table) -> None:
    table.create_tag("start")
    table.create_branch("dev")
    table.append([{"id": 1000}], branch="dev")
    assert table.scan(ref="dev").count() == 301
    assert table.scan().count() == 300
    table.delete("id >= 0")
    assert table.scan().count() == 0
    assert table.scan(ref="start").count() == 300
    table.drop_ref("dev")
    with pytest.raises(NotFound, match=r"Refs: main, start"):
        table.scan(ref="dev").count()


def test_overwrite_by_filter_by_partition_and_whole(table: Table) -> None:
    table.overwrite([{"id": 1000, "state": "NY"}], filter="state = 'NY'")
    assert ids(table, "state = 'NY'") == [1000]
    table.overwrite([row(1)], mode="dynamic")
    assert ids(table, "state = 'CA' AND ts = TIMESTAMP '2026-01-02 00:00:00Z'") == [1]
    table.overwrite([{"id": 7}])
    assert ids(table) == [7]


def test_row_ids_follow_rows_through_rewrites(lake: Lake) -> None:
    for mode in ("copy-on-write", "merge-on-read"):
        table = lake.create_table(f"shop.{mode[0]}", COLUMNS, format_version=3, properties={"write.delete.mode": mode})
        table.append(ROWS[:10])
        before = lineage(table)
        assert [r[1] for r in before.values()] == [1] * 10
        assert len({r[0] for r in before.values()}) == 10
        table.delete("id = 3")
        table.update("id = 4", {"zip": "x"})
        after = lineage(table)
        assert 3 not in after
        assert all(after[i][0] == before[i][0] for i in after), "ids stay"
        assert after[4][1] == 3 and after[5][1] == 1, "only the changed row has a new number"


def lineage(table: Table) -> dict[int, tuple[int, int]]:
    columns = ["id", "_row_id", "_last_updated_sequence_number"]
    rows = table.scan(columns=columns).to_arrow().to_pylist()
    return {r["id"]: (r["_row_id"], r["_last_updated_sequence_number"]) for r in rows}


def test_time_travel_by_time_and_the_error_before_the_first_snapshot(table: Table) -> None:
    first = table.snapshots[0].timestamp_ms
    table.append([{"id": 1000}])
    assert table.scan(as_of=first).count() == 300
    with pytest.raises(NotFound):
        table.scan(as_of=first - 1_000_000).count()
    assert table.scan(as_of=datetime.date(2100, 1, 1)).count() == 301
    with pytest.raises(NotFound):
        table.scan(as_of=datetime.date(2000, 1, 1)).count()


def test_limit_reads_no_more_files_than_it_needs(table: Table) -> None:
    scan = table.scan("state = 'NY'", limit=5)
    assert scan.to_arrow().num_rows == 5
    assert len(table.scan(limit=5).plan()) == 1


def test_columns_come_in_the_order_asked_for(table: Table) -> None:
    arrow = table.scan("id = 3", columns=["zip", "_pos", "id", "_partition"]).to_arrow()
    assert arrow.column_names == ["zip", "_pos", "id", "_partition"]
    assert arrow.column("id").to_pylist() == [3]


def test_bad_input_is_one_clear_error_and_changes_nothing(table: Table, lake: Lake) -> None:
    before = table.metadata_location
    for call, message in [
        (lambda: table.scan("regoin = 'x'").count(), r"Cannot find column 'regoin'"),
        (lambda: table.append([{"id": 1, "zipp": "x"}]), r"zipp"),
        (lambda: table.append(pa.table({"id": pa.array(["x"])})), r"id"),
        (lambda: table.append([{"zip": "x"}]), r"id"),
        (lambda: table.scan("id = 'ten'").count(), r"Cannot bind predicate"),
        (lambda: table.set_properties({"write.delete.mode": "sometimes"}), r"write.delete.mode"),
        (lambda: table.append(42), r"Cannot write int"),
        (lambda: table.scan(snapshot_id=1, ref="main"), r"at most one"),
    ]:
        with pytest.raises((InvalidInput, NotFound), match=message):
            call()
    assert table.refresh().metadata_location == before
    with pytest.raises(NotFound, match=r"shop\.nothing"):
        lake.load_table("shop.nothing")


def test_two_writers_append_and_a_conflicting_delete_is_refused(table: Table, lake: Lake) -> None:
    other = lake.load_table("shop.address")
    other.append([{"id": 1000}])
    table.append([{"id": 1001}])
    assert ids(table, "id >= 1000") == [1000, 1001]
    stale = lake.load_table("shop.address")
    other.refresh().append([{"id": 3, "state": "NY"}])
    with pytest.raises(CommitRejected):
        stale.delete("id = 3")
    assert ids(table.refresh(), "id = 3") == [3, 3]


def test_drop_with_purge_leaves_no_file(lake: Lake, tmp_path: Path) -> None:
    table = lake.create_table("shop.t", COLUMNS)
    table.append(ROWS)
    lake.drop_table("shop.t", purge=True)
    assert not lake.table_exists("shop.t")
    assert not [p for p in (tmp_path / "lake").rglob("*") if p.is_file()]


def test_pandas_and_the_arrow_stream(table: Table) -> None:
    frame = table.scan("id < 3").to_pandas()
    assert sorted(frame["id"]) == [0, 1, 2]
    reader = table.scan("id < 3").to_batches()
    assert sum(b.num_rows for b in reader) == 3
