"""With the index = without the index = a full scan, whatever happens to the table and to the index files."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.indexed import SIDECARS_ALWAYS, assert_same_plan, compact, index_files_of

from skipstone.catalog.filesystem import FilesystemCatalog
from skipstone.index import blocks, growth, rollup_bytes
from skipstone.lake import Lake
from skipstone.storage import LocalStorage

NAN, INF = float("nan"), float("inf")
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(-3, 12),
    "state": st.sampled_from([None, "", "a", "b", "é", "\U0001f600z", "a" * 40]),
    "x": st.sampled_from([None, NAN, -0.0, 0.0, 1.5, -INF, INF]),
    "n": st.one_of(st.none(), st.integers(-2, 5)),
}
ROWS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=8)
PREDICATES = st.sampled_from(
    [
        None,
        "id = 3",
        "id > 5 AND state = 'a'",
        "state IS NULL OR n < 0",
        "x = 0.0",
        "x > 1",
        "NOT (x <= 1)",
        "state LIKE 'a%'",
        "state >= 'é'",
        "n IN (1, 2, 4) AND id <> 0",
        "id IS NULL",
        "n IS NULL AND x IS NOT NULL",
    ]
)
STEPS = st.one_of(
    st.tuples(st.just("append"), ROWS),
    st.tuples(st.just("foreign append"), ROWS),
    st.tuples(st.just("delete"), st.sampled_from(["id = 3", "n > 2", "state = 'a'", "x IS NULL"])),
    st.tuples(st.just("mode"), st.sampled_from(["copy-on-write", "merge-on-read"])),
    st.tuples(st.just("overwrite"), ROWS),
    st.tuples(st.just("partition"), st.sampled_from(["state", "id", "n"])),
    st.tuples(st.just("promote"), st.none()),
    st.tuples(st.just("add column"), st.none()),
    st.tuples(st.just("merge manifests"), st.none()),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("index columns"), st.sampled_from(["id", "state,x", "n"])),
    st.tuples(st.just("lose"), st.integers(0, 1000)),
    st.tuples(st.just("damage"), st.tuples(st.integers(0, 1000), st.integers(0, 10**6))),
    st.tuples(st.just("expire"), st.none()),
    st.tuples(st.just("build"), st.booleans()),
)


class Table:
    """A table under test, with what was done to its schema and specs."""

    def __init__(self, home: Path, format_version: int) -> None:
        lake = Lake(FilesystemCatalog(warehouse=str(home), storage=LocalStorage(is_durable=False)))
        types = [("id", "long"), ("state", "string"), ("x", "double"), ("n", "int")]
        self.table: Any = lake.create_table(
            "db.t", types, partition_by=["state"], format_version=format_version, properties=SIDECARS_ALWAYS
        )
        self.added = 0
        self.partitions = {"state"}

    def step(self, name: str, detail: Any) -> None:
        table = self.table
        match name:
            case "append":
                table.append(detail)
            case "foreign append":
                table.set_properties({"skipstone.index.enabled": "false"})
                table.append(detail)
                table.set_properties({"skipstone.index.enabled": "true"})
            case "delete":
                table.delete(detail)
            case "mode" if table.format_version > 1:
                table.set_properties({"write.delete.mode": detail})
            case "overwrite":
                table.overwrite(detail, filter="id < 2")
            case "partition" if table.format_version > 1:
                self._partition(detail)
            case "promote":
                with table.update_schema() as update:
                    update.update_column("n", type="long")
            case "add column":
                self.added += 1
                with table.update_schema() as update:
                    update.add_column(f"added{self.added}", "int")
            case "merge manifests":
                table.set_properties({"commit.manifest.min-count-to-merge": "2"})
            case "compact":
                compact(table)
            case "index columns":
                table.set_properties({"skipstone.index.columns": detail})
            case "expire":
                table.expire_snapshots(older_than=datetime.now(UTC) + timedelta(days=1), retain_last=1)
            case "build":
                table.index.build(rebuild=detail)
            case "lose" | "damage":
                self._spoil(name, detail)

    def _partition(self, column: str) -> None:
        with self.table.update_spec() as update:
            if column in self.partitions:
                update.remove_field(column)
                self.partitions.remove(column)
            else:
                update.add_field(column)
                self.partitions.add(column)

    def _spoil(self, name: str, detail: Any) -> None:
        files = index_files_of(self.table)
        if not files:
            return
        if name == "lose":
            files[detail % len(files)].unlink()
            return
        which, where = detail
        path = files[which % len(files)]
        data = bytearray(path.read_bytes())
        data[where % len(data)] ^= 0x55
        path.write_bytes(bytes(data[: len(data) if where % 3 else where % len(data)]))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    format_version=st.sampled_from([1, 2, 3]),
    steps=st.lists(STEPS, min_size=3, max_size=9),
    predicates=st.lists(PREDICATES, min_size=2, max_size=4, unique=True),
)
def test_plans_are_the_same_whatever_happens(
    format_version: int, steps: list[tuple[str, Any]], predicates: list[str | None]
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as home:
        patch.setattr(blocks, "BLOCK_FILES", 2)
        patch.setattr(growth, "_SMALL_ROWS", 4)
        patch.setattr(rollup_bytes, "_FEW_ROWS", 8)
        made = Table(Path(home), format_version)
        made.step("append", [{"id": i, "state": "ab"[i % 2], "x": float(i), "n": i} for i in range(6)])
        for name, detail in steps:
            made.step(name, detail)
        table = made.table
        for predicate in predicates:
            assert_same_plan(table, predicate)
            for snapshot in table.snapshots[:2]:
                is_promoted = ("promote", None) in steps
                assert_same_plan(table, predicate, may_skip_more=is_promoted, snapshot_id=snapshot.snapshot_id)
        everything = table.scan(use_index=False).to_arrow()
        assert table.scan().to_arrow().num_rows == everything.num_rows
        kept = table.scan("id = 3").to_arrow().num_rows
        assert kept == pa.compute.sum(pa.compute.equal(everything.column("id"), 3)).as_py() or not everything.num_rows
