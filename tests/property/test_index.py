"""With the index = without the index = a full scan, whatever happens to the table and to the index files."""

from __future__ import annotations

import struct
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.indexed import SIDECARS_ALWAYS, assert_same_plan, compact, index_files_of

from skipstone import FloatOrder
from skipstone.catalog.filesystem import FilesystemCatalog
from skipstone.commit import Append, RowDelta
from skipstone.index import blocks, growth, rollup_bytes
from skipstone.lake import Lake
from skipstone.predicate.evaluate import evaluate
from skipstone.storage import LocalStorage
from skipstone.write import write_equality_deletes, write_rows

NAN, INF = float("nan"), float("inf")
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(-3, 12),
    "state": st.sampled_from([None, "", "a", "b", "é", "\U0001f600z", "a" * 40]),
    "x": st.sampled_from([None, NAN, -0.0, 0.0, 1.5, -INF, INF]),
    "n": st.one_of(st.none(), st.integers(-2, 5)),
}
ROWS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=8)
BRANCH = "side"
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
TERMS = ["state", "id", "n", "x", "bucket(2, id)", "truncate(1, state)", "truncate(3, n)"]
# Metrics that cannot be right, by what is done to which column of which file.
ODD = st.tuples(
    st.sampled_from(["forget", "below zero", "too many nulls", "too many values", "width", "inverted", "NaN"]),
    st.integers(1, 4),
    st.integers(0, 7),
)
STEPS = st.one_of(
    st.tuples(st.just("append"), ROWS),
    st.tuples(st.just("foreign append"), ROWS),
    st.tuples(st.just("delete"), st.sampled_from(["id = 3", "n > 2", "state = 'a'", "x IS NULL"])),
    st.tuples(st.just("mode"), st.sampled_from(["copy-on-write", "merge-on-read"])),
    st.tuples(st.just("overwrite"), ROWS),
    st.tuples(st.just("equality delete"), st.tuples(st.sampled_from([("id",), ("state",), ("n", "state")]), ROWS)),
    st.tuples(st.just("convert equality deletes"), st.none()),
    st.tuples(st.just("partition"), st.sampled_from(TERMS)),
    st.tuples(st.just("sort"), st.sampled_from([["id"], ["n desc"], ["state", "x"], []])),
    st.tuples(st.just("branch append"), ROWS),
    st.tuples(st.just("rollback"), st.integers(0, 1000)),
    st.tuples(st.just("rewrite manifests"), st.none()),
    st.tuples(st.just("promote"), st.none()),
    st.tuples(st.just("odd append"), st.tuples(ROWS, st.lists(ODD, min_size=1, max_size=6), st.booleans())),
    st.tuples(st.just("add column"), st.none()),
    st.tuples(st.just("drop and add again"), st.sampled_from([("n", "int"), ("x", "double"), ("state", "string")])),
    st.tuples(st.just("rename partition field"), st.none()),
    st.tuples(st.just("concurrent append"), st.tuples(ROWS, ROWS)),
    st.tuples(st.just("swap"), st.tuples(st.integers(0, 1000), st.integers(0, 1000))),
    st.tuples(st.just("merge manifests"), st.none()),
    st.tuples(st.just("compact"), st.none()),
    st.tuples(st.just("index columns"), st.sampled_from(["id", "state,x", "n"])),
    st.tuples(st.just("lose"), st.integers(0, 1000)),
    st.tuples(st.just("damage"), st.tuples(st.integers(0, 1000), st.integers(0, 10**6))),
    st.tuples(st.just("expire"), st.none()),
    st.tuples(st.just("build"), st.booleans()),
)


# Blocks follow the sort order: sidecars made anew in another one hold other files in the blocks of older roll-ups.
CUT_ONE_WAY: list[tuple[str, Any]] = [
    ("merge manifests", None),
    ("sort", ["id"]),
    *(("append", [{"id": i, "state": "ab"[i % 2], "x": -1.0 * i, "n": 5 - i}]) for i in (5, 1, 4, 2, 3)),
]
CUT_ANOTHER_WAY: list[tuple[str, Any]] = [
    ("keep manifests", None),
    ("append", [{"id": 9, "state": "c", "x": 0.0, "n": None}]),
    ("sort", ["n"]),
    ("build", True),
]


class Table:
    """A table under test, with what was done to its schema and specs."""

    def __init__(self, home: Path, format_version: int) -> None:
        self.lake = lake = Lake(FilesystemCatalog(warehouse=str(home), storage=LocalStorage(is_durable=False)))
        types = [("id", "long"), ("state", "string"), ("x", "double"), ("n", "int")]
        self.table: Any = lake.create_table(
            "db.t", types, partition_by=["state"], format_version=format_version, properties=SIDECARS_ALWAYS
        )
        self.added = 0
        self.partitions = {"state": "state"}

    def step(self, name: str, detail: Any) -> None:
        table = self.table
        match name:
            case "append":
                table.append(detail)
            case "foreign append":
                table.set_properties({"skipstone.index.enabled": "false"})
                table.append(detail)
                table.set_properties({"skipstone.index.enabled": "true"})
            case "odd append":
                self._append_odd(*detail)
            case "delete":
                table.delete(detail)
            case "mode" if table.format_version > 1:
                table.set_properties({"write.delete.mode": detail})
            case "equality delete" if table.format_version > 1:
                self._delete_by_value(*detail)
            case "convert equality deletes" if table.format_version > 1:
                table.convert_equality_deletes()
            case "sort":
                table.sort_by(*detail)
            case "branch append":
                if BRANCH not in table.refs:
                    table.create_branch(BRANCH)
                table.append(detail, branch=BRANCH)
            case "rollback":
                line = self._line()
                table.rollback_to(line[detail % len(line)])
            case "rewrite manifests":
                table.rewrite_manifests()
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
            case "keep manifests":
                table.set_properties({"commit.manifest-merge.enabled": "false"})
            case "compact":
                compact(table)
            case "index columns":
                table.set_properties({"skipstone.index.columns": detail})
            case "expire":
                table.expire_snapshots(older_than=datetime.now(UTC) + timedelta(days=1), retain_last=1)
            case "build":
                table.index.build(rebuild=detail)
            case "drop and add again":
                self._drop_and_add(*detail)
            case "rename partition field" if table.format_version > 1 and self.partitions:
                self._rename_partition_field()
            case "concurrent append":
                other = self.lake.load_table("db.t")
                table.append(detail[0])
                other.append(detail[1])
                table.refresh()
            case "swap":
                self._swap(*detail)
            case "lose" | "damage":
                self._spoil(name, detail)

    def _append_odd(self, rows: list[dict[str, Any]], odd: list[tuple[str, int, int]], is_foreign: bool) -> None:
        """Files with metrics that cannot be right, which must come to nothing: in manifests as in the index."""
        table = self.table
        form = table.scan().to_batches().schema.remove_metadata()
        files = write_rows(pa.Table.from_pylist(rows, schema=form), metadata=table.metadata, storage=table.storage)
        maps = {name: [dict(m or ()) for m in files.column(name).to_pylist()] for name in METRIC_MAPS}
        for what, field_id, place in odd:
            place %= files.num_rows
            spoil(what, {name: of[place] for name, of in maps.items()}, field_id, files["record_count"][place].as_py())
        for name, of in maps.items():
            at = files.schema.get_field_index(name)
            column = pa.array([list(m.items()) for m in of], files.schema.field(at).type)
            files = files.set_column(at, files.schema.field(at), column)
        table.set_properties({"skipstone.index.enabled": str(not is_foreign).lower()})
        table.apply(Append(files=files))
        table.set_properties({"skipstone.index.enabled": "true"})

    def _line(self) -> list[int]:
        """The current snapshot and its ancestors that are still there."""
        found, known = [], self.table.metadata.snapshots_by_id
        current = self.table.current_snapshot
        while current is not None:
            found.append(current.snapshot_id)
            current = known.get(current.parent_snapshot_id)
        return found

    def _partition(self, term: str) -> None:
        before = {f.field_id for f in self.table.spec.fields}
        with self.table.update_spec() as update:
            if term in self.partitions:
                update.remove_field(self.partitions.pop(term))
                return
            update.add_term(term)
        self.partitions[term] = next(f.name for f in self.table.spec.fields if f.field_id not in before)

    def _drop_and_add(self, name: str, type_: str) -> None:
        """A column of the old name and type, and of another id: what was written before is not in it."""
        sources = {i for f in (*self.table.spec.fields, *self.table.sort_order.fields) for i in f.source_ids}
        if self.table.schema.field(name).id in sources:
            return  # a spec or an order still needs it
        with self.table.update_schema() as update:
            update.delete_column(name)
        with self.table.update_schema() as update:
            update.add_column(name, type_)

    def _rename_partition_field(self) -> None:
        term, old = sorted(self.partitions.items())[0]
        with self.table.update_spec() as update:
            update.rename_field(old, f"{old}_renamed")
        self.partitions[term] = f"{old}_renamed"

    def _swap(self, one: int, other: int) -> None:
        files = index_files_of(self.table)
        if files:
            first, second = files[one % len(files)], files[other % len(files)]
            held = first.read_bytes()
            first.write_bytes(second.read_bytes())
            second.write_bytes(held)

    def _delete_by_value(self, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
        table = self.table
        sources = [table.schema.name_of(i) for f in table.spec.fields if not f.is_void for i in f.source_ids]
        form = table.scan(columns=sorted({*columns, *sources})).to_batches().schema.remove_metadata()
        keys = pa.Table.from_pylist(rows, schema=pa.schema([pa.field(f.name, f.type) for f in form]))
        ids = [table.schema.field(c).id for c in columns]
        table.apply(
            RowDelta(
                files=write_equality_deletes(keys, metadata=table.metadata, storage=table.storage, equality_ids=ids)
            )
        )

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


METRIC_MAPS = ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")


def spoil(what: str, maps: dict[str, dict[int, Any]], field_id: int, record_count: int) -> None:
    values, nulls, nans, lowers, uppers = (maps[name] for name in METRIC_MAPS)
    match what:
        case "forget":
            for of in (nulls, nans, lowers)[: 1 + field_id % 3]:
                of.pop(field_id, None)
        case "below zero":
            (nulls, nans, values)[field_id % 3][field_id] = -1
        case "too many nulls":
            nulls[field_id] = record_count + 1
        case "too many values":
            values[field_id] = record_count + 5
        case "width" if field_id in lowers and field_id in (1, 3, 4):
            # Eight bytes fit what an int is promoted to.
            lowers[field_id] = lowers[field_id] + bytes(4)
        case "inverted" if field_id in lowers and field_id in uppers and lowers[field_id] != uppers[field_id]:
            lowers[field_id], uppers[field_id] = uppers[field_id], lowers[field_id]
        case "NaN" if field_id == 3 and field_id in uppers:
            uppers[field_id] = struct.pack("<d", NAN)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    format_version=st.sampled_from([1, 2, 3]),
    steps=st.lists(STEPS, min_size=3, max_size=9),
    is_cut_anew=st.booleans(),
    predicates=st.lists(PREDICATES, min_size=2, max_size=4, unique=True),
)
def test_plans_are_the_same_whatever_happens(
    format_version: int, steps: list[tuple[str, Any]], is_cut_anew: bool, predicates: list[str | None]
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as home:
        patch.setattr(blocks, "BLOCK_FILES", 2)
        patch.setattr(growth, "_SMALL_ROWS", 4)
        patch.setattr(rollup_bytes, "_FEW_ROWS", 8)
        made = Table(Path(home), format_version)
        made.step("append", [{"id": i, "state": "ab"[i % 2], "x": float(i), "n": i} for i in range(6)])
        if is_cut_anew:
            steps = [*CUT_ONE_WAY, *steps, *CUT_ANOTHER_WAY]
        for name, detail in steps:
            made.step(name, detail)
        table = made.table
        for predicate in predicates:
            assert_same_plan(table, predicate)
            for snapshot in (*table.snapshots[:2], *table.snapshots[-2:-1]):
                assert_same_plan(table, predicate, snapshot_id=snapshot.snapshot_id)
            for ref in table.refs:
                assert_same_plan(table, predicate, ref=ref)
                for order in FloatOrder:
                    assert_answers_of_all_rows(table, predicate, ref=ref, float_order=order)


def assert_answers_of_all_rows(table: Any, predicate: str | None, **of: Any) -> None:
    """Rows, counts, ends and the first rows are those of a full scan, looked at one by one."""
    scan = table.scan(predicate, **of)
    everything = table.scan(use_index=False, **of).to_arrow().to_pylist()
    ids = {name: scan.schema.field(name).id for name in VALUES}
    matching = [
        row for row in everything if evaluate(scan.predicate, {ids[n]: row[n] for n in ids}, scan.float_order) is True
    ]
    assert sorted(map(str, scan.to_arrow().to_pylist())) == sorted(map(str, matching))
    assert scan.count() == len(matching)
    told = scan.aggregate("count(*)", "count(n)", "count(x)", "min(id)", "max(id)", "max(n)", "max(state)")
    numbers = [r["id"] for r in matching]
    assert told.to_pylist() == [
        {
            "count(*)": len(matching),
            "count(n)": sum(r["n"] is not None for r in matching),
            "count(x)": sum(r["x"] is not None for r in matching),
            "min(id)": min(numbers, default=None),
            "max(id)": max(numbers, default=None),
            "max(n)": max((r["n"] for r in matching if r["n"] is not None), default=None),
            "max(state)": max((r["state"] for r in matching if r["state"] is not None), default=None),
        }
    ]
    top = scan.top_k("id", 3, descending=True).rows.column("id").to_pylist()
    assert top == sorted(numbers, reverse=True)[:3]
    limited = table.scan(predicate, limit=2, **of).to_arrow().to_pylist()
    assert len(limited) == min(2, len(matching)) and set(map(str, limited)) <= set(map(str, matching))
