"""ANALYZE on small tables: what is read, what is carried forward, labels, partitions, estimates and the audit."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skipstone
from skipstone.analysis.analyze import analysed_ids, plan_analysis
from skipstone.analysis.collect import ColumnCollector, Wishes, is_ascii
from skipstone.analysis.finish import finish_analysis
from skipstone.analysis.freshness import rows_added, rows_removed
from skipstone.analysis.sketches import load_sketches, store_sketches
from skipstone.analysis.store import AnalysisStore
from skipstone.commit import RowDelta, UpdateStatistics
from skipstone.errors import FormatViolation, InvalidInput, NotFound
from skipstone.metadata import types as t
from skipstone.metadata.blobs.puffin import THETA_V1
from skipstone.stats.labels import Accuracy, Labelled, StatisticsIgnored
from skipstone.stats.places import stats_directory
from skipstone.stats.summary import FileSummary
from skipstone.write import write_equality_deletes

ROWS = pa.table(
    {
        "id": pa.array(range(1_000), pa.int64()),
        "state": [("ca", "ny", None, "tx")[i % 4] for i in range(1_000)],
        "point": [{"x": float(i % 10), "y": None} for i in range(1_000)],
    },
    schema=pa.schema(
        [("id", pa.int64()), ("state", pa.string()), ("point", pa.struct([("x", pa.float64()), ("y", pa.string())]))]
    ),
)


def make_table(path: Path, **options: Any) -> Any:
    catalog = skipstone.catalog(f"sqlite:///{path}/catalog.db", warehouse=str(path / "lake"))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", ROWS.schema, **{"partition_by": ["state"], "format_version": 3, **options})
    table.append(ROWS)
    return table


def test_every_column_is_analysed_with_exact_labels(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    done = table.analyze()
    assert (done.files_read, done.files_known) == (4, 0)
    found = table.statistics()
    assert found.freshness.is_current and found.row_count.value == 1_000 and found.row_count.is_exact
    number = found.column("id")
    assert (number.low.value, number.high.value, number.ndv.value) == (0, 999, 1_000)
    assert all(v.is_exact for v in (number.low, number.high, number.ndv, number.null_count))
    state = found.column("state")
    assert (state.ndv.value, state.null_count.value, state.max_length.value) == (3, 250, 2)
    assert {v for v, _ in state.top_values()} == {"ca", "ny", "tx"}
    assert found.column("point.x").ndv.value == 10
    assert found.column("point.y").null_count.value == 1_000
    with pytest.raises(NotFound, match="Analysed columns: id"):
        found.column("idd")


def test_lengths_are_in_characters(tmp_path: Path) -> None:
    texts = pa.array(["ä" * 5, "plain", None, "", "five!", "日本"])
    for array, most in ((texts, 5), (texts.slice(1, 3), 5), (texts.slice(5), 2), (texts.slice(2, 2), 0)):
        collector = ColumnCollector(1, t.STRING, len(array), Wishes())
        collector.add(array)
        found = collector.finish()
        assert found.length_max == most
        assert found.length_total == sum(len(v) for v in array.to_pylist() if v is not None)
    assert is_ascii(texts.slice(1, 4)) and not is_ascii(texts)


def test_sketches_are_registered_for_everyone(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.analyze(["id", "state"])
    (file,) = table.metadata.statistics
    assert [(b.type, b.fields, b.properties["ndv"]) for b in file.blob_metadata] == [
        (THETA_V1, (1,), "1000"),
        (THETA_V1, (2,), "3"),
    ]
    table.analyze(["point"])
    (again,) = table.metadata.statistics
    assert {b.fields for b in again.blob_metadata} >= {(1,), (2,)}


def test_blobs_of_other_columns_and_snapshots_are_kept(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.analyze(["id"])
    first = table.current_snapshot
    sketch = load_sketches(table.metadata.statistics[0], table.storage)[1]
    table.append(ROWS)
    file = store_sketches({2: sketch.sketch}, table.metadata, table.storage, table.current_snapshot)
    assert {b.fields: b.snapshot_id for b in file.blob_metadata} == {
        (1,): first.snapshot_id,
        (2,): table.current_snapshot.snapshot_id,
    }


def test_only_new_files_are_read_again(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.analyze()
    table.append(ROWS.slice(0, 4))
    assert table.statistics().freshness.rows_added_since == 4
    done = table.analyze()
    assert (done.files_read, done.files_known) == (4, 4)
    assert table.statistics().column("id").value_count.value == 1_004
    assert table.analyze(full=True).files_read == 8
    table.append(ROWS.slice(0, 1))
    assert table.analyze(["id"]).files_read == 1


def test_deletes_turn_values_into_bounds_until_a_full_analysis(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties={"write.delete.mode": "merge-on-read"})
    table.analyze()
    table.delete("id >= 990")
    done = table.analyze()
    assert done.files_read == 0
    number = table.statistics().column("id")
    assert number.high.accuracy is Accuracy.BOUND and number.high.value == 999
    assert number.ndv.accuracy is Accuracy.UPPER_ESTIMATE
    assert table.statistics().row_count.value == 990
    table.analyze(full=True)
    number = table.statistics().column("id")
    assert (number.high.value, number.high.accuracy, number.ndv.value) == (989, Accuracy.EXACT, 990)


def test_files_that_are_gone_take_their_values_with_them(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.analyze()
    table.delete("state = 'ca'")
    assert table.analyze().files_read == 0
    found = table.statistics()
    assert found.column("state").ndv.value == 2 and found.column("id").ndv.is_exact


def test_many_analyses_do_not_leave_many_files_to_read(tmp_path: Path) -> None:
    table = make_table(tmp_path, partition_by=[])
    for i in range(12):
        table.append(ROWS.slice(i, 1))
        done = table.analyze(["id"])
    assert len(done.record.summaries) <= 8
    assert table.statistics().column("id").value_count.value == 1_012


def test_a_full_analysis_leaves_only_what_it_did_not_read_to_earlier_ones(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    first = table.analyze()
    again = table.analyze(full=True)
    assert len(again.record.summaries) == 1 and again.record.summaries != first.record.summaries
    one = table.analyze(["id"], full=True)
    assert again.record.summaries[0] in one.record.summaries
    assert table.statistics().column("state").ndv.value == 3
    table.append(ROWS.slice(0, 1))
    assert table.analyze().files_read == 1


@pytest.mark.parametrize("partitions", [{"state": "ca"}, "state = 'ca'"])
def test_partitions_can_be_analysed_alone(tmp_path: Path, partitions: Any) -> None:
    table = make_table(tmp_path)
    assert table.analyze(["id"], partitions=partitions).files_read == 1
    assert table.statistics().columns == {}
    part = table.statistics(partitions=partitions)
    assert part.row_count.value == 250 and part.column("id").high.value == 996
    assert table.analyze(["id"], partitions={"state": None}).files_read == 3
    by_partition = {v["state"]: s.column("id").ndv.value for _, v, s in table.statistics_by_partition()}
    assert by_partition == {"ca": 250, "ny": 250, None: 250, "tx": 250}


def test_a_column_may_be_named_as_expressions_are(tmp_path: Path) -> None:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("type", pa.string()), ("v", pa.int64())]), partition_by=["type"])
    table.append(pa.table({"type": ["a", "b"], "v": [1, 2]}))
    assert table.analyze(partitions={"type": "a"}).files_read == 1
    assert table.analyze(partitions={"type": "eq", "term": "type", "value": "b"}).files_read == 1
    assert table.analyze(partitions={"type": None}).files_known == 2


def test_a_filter_that_cuts_through_files_chooses_no_partitions(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected a filter that partitions match whole"):
        make_table(tmp_path).analyze(partitions="id > 500")


def test_columns_that_cannot_be_analysed_are_named(tmp_path: Path) -> None:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.l", pa.schema([("tags", pa.list_(pa.string()))]))
    table.append(pa.table({"tags": [["a"]]}))
    with pytest.raises(InvalidInput, match="Cannot analyse column 'tags'"):
        table.analyze(["tags"])


def test_a_table_that_is_read_only_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    opened = skipstone.open_table(table.metadata_location)
    for work in (opened.analyze, opened.compute_partition_statistics):
        with pytest.raises(InvalidInput, match="read only"):
            work()
    assert not Path(stats_directory(table.metadata)).exists()
    assert opened.audit().is_clean and opened.estimate("id < 10").rows_high >= 10


def test_what_an_earlier_analysis_left_out_is_read(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    ids = analysed_ids(table.schema, ["id"], table="t")
    snapshot = table.current_snapshot
    light = plan_analysis(table.metadata, table.storage, snapshot, field_ids=ids, wishes=Wishes(quantiles=False))
    finish_analysis(light, [light.work().analyse(r) for r in light.rows], now_ms=1)
    same = plan_analysis(table.metadata, table.storage, snapshot, field_ids=ids, wishes=Wishes(quantiles=False))
    more = plan_analysis(table.metadata, table.storage, snapshot, field_ids=ids)
    assert (len(light.rows), len(same.rows), len(more.rows)) == (4, 0, 4)


def test_the_work_of_a_task_pickles_and_gives_the_same_by_any_route(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    ids = analysed_ids(table.schema, None, table="t")
    # Which values a sketch of quantiles keeps is up to chance.
    wishes = Wishes(quantiles=False)
    plan = plan_analysis(table.metadata, table.storage, table.current_snapshot, field_ids=ids, wishes=wishes)
    work = plan.work()
    there = pickle.loads(pickle.dumps(work))
    slow = replace(work, uses_dictionaries=False, trusts_footers=False)
    for row in range(4):
        assert pickle.loads(pickle.dumps(there.analyse(row))) == slow.analyse(row)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_threads_that_share_a_file_find_the_same(tmp_path: Path, file_format: str) -> None:
    table = make_table(tmp_path, properties={"write.format.default": file_format})
    table.delete("id = 8")
    schema = table.metadata.current_schema
    work = plan_analysis(
        table.metadata, table.storage, table.current_snapshot, field_ids=analysed_ids(schema, None, table="t")
    )
    one, several = (replace(work.work(), threads=n) for n in (1, 3))
    assert len(work.rows) == 4
    for row in work.rows:
        alone, shared = (_without_quantiles(analysis.analyse(row)) for analysis in (one, several))
        assert alone == shared


def _without_quantiles(summary: FileSummary) -> FileSummary:
    """Which values a sketch of many drops is up to chance."""
    return replace(summary, columns=tuple(replace(c, quantiles=None) for c in summary.columns))


def test_what_a_thread_raises_is_told(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    work = plan_analysis(table.metadata, table.storage, table.current_snapshot, field_ids=(1, 2))
    path = Path(work.plan.files.column("file_path")[0].as_py().removeprefix("file:"))
    path.write_bytes(path.read_bytes()[:4] + b"\0" * 400 + path.read_bytes()[404:])
    with pytest.raises(FormatViolation, match=path.name):
        replace(work.work(), threads=3).analyse(0)


def test_without_an_analysis_manifests_tell_what_they_can(tmp_path: Path) -> None:
    found = make_table(tmp_path).statistics()
    number = found.column("id")
    assert number.low.accuracy is Accuracy.BOUND and (number.low.value, number.high.value) == (0, 999)
    assert number.ndv is None and found.column("state").null_count.is_exact


@pytest.mark.parametrize("which", [".analysis.json", ".summaries.parquet", ".stats"])
def test_damaged_statistics_are_ignored_with_a_warning_that_names_the_file(tmp_path: Path, which: str) -> None:
    table = make_table(tmp_path)
    table.analyze()
    directory = Path(table.location) / "metadata" if which == ".stats" else Path(stats_directory(table.metadata))
    for path in directory.iterdir():
        if path.name.endswith(which):
            path.write_bytes(b"{damage")
    if which == ".stats":
        with pytest.warns(StatisticsIgnored, match=r"\.stats"):
            assert load_sketches(table.metadata.statistics[0], table.storage) == {}
        return
    with pytest.warns(StatisticsIgnored, match=which.replace(".", r"\.")):
        assert table.statistics().column("id").low.accuracy is Accuracy.BOUND
    with pytest.warns(StatisticsIgnored):
        assert table.analyze().files_read == 4
    assert table.statistics().column("id").low.is_exact


@pytest.mark.parametrize("which", [".analysis.json", ".summaries.parquet"])
def test_one_bit_of_an_analysis_that_is_wrong_is_enough(tmp_path: Path, which: str) -> None:
    table = make_table(tmp_path)
    table.analyze()
    files = [p for p in Path(stats_directory(table.metadata)).iterdir() if p.name.endswith(which)]
    rng = np.random.default_rng(3)
    for path in files:
        good = path.read_bytes()
        seal = good.rindex(b"skipstone-seal:")
        for place in rng.integers(seal - 30, size=12):
            damaged = bytearray(good)
            damaged[place] ^= 1 << rng.integers(8)
            path.write_bytes(bytes(damaged))
            with pytest.warns(StatisticsIgnored, match=re.escape(path.name)):
                store = AnalysisStore(table.metadata, table.storage)
                record = store.find(table.current_snapshot)
                assert record is None or store.merged(record) is None or not store.known(record)
        path.write_bytes(good)
    assert table.statistics().column("id").low.is_exact


# -- estimates


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("skewed")
    random = np.random.default_rng(5)
    count = 60_000
    z = np.minimum(random.zipf(1.4, count), 10**6)
    rows = pa.table(
        {
            "id": np.arange(count), "z": z, "x": random.exponential(10, count), "b": z % 3 == 0,
            "s": [f"k{v % 4000:04d}" for v in z], "g": np.arange(count) % 3,
            "n": pa.array([None if i % 5 == 0 else float("nan") if i % 7 == 0 else i % 11 for i in range(count)]),
        }
    )  # fmt: skip
    catalog = skipstone.catalog(f"sqlite:///{path}/c.db", warehouse=str(path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", rows.schema, partition_by=["g"])
    table.append(rows)
    table.analyze()
    return table


@pytest.mark.parametrize(
    ("text", "is_close"),
    [
        ("z = 1", True), ("z = 2", True), ("z = 123456", False), ("z > 100", True), ("z between 3 and 50", True),
        ("x < 3.5", True), ("x > 30 and z = 1", True), ("s = 'k0001'", True), ("s like 'k00%'", True),
        ("s > 'k2000'", False), ("z in (1, 2, 3, 500)", True), ("z <> 1", True), ("not (x < 1)", True),
        ("g = 1 and z < 5", True), ("n is null", True), ("n = 3", True), ("isnan(n)", True), ("n > 5", True),
        ("b", True), ("x < 1 or z = 1", True), ("id < 700", False), ("z not in (1, 2)", True),
    ],
)  # fmt: skip
def test_estimates_on_skewed_data_enclose_the_truth(skewed: Any, text: str, is_close: bool) -> None:
    found, true = skewed.estimate(text), skewed.scan(text).count()
    assert found.rows_low <= true <= found.rows_high
    assert found.bytes_low <= found.bytes <= found.bytes_high
    if is_close:
        assert abs(found.rows - true) <= max(0.05 * 60_000, 0.25 * true)


def test_what_metadata_proves_is_exact(skewed: Any) -> None:
    found = skewed.estimate("g = 1")
    assert found.is_exact and (found.rows_low, found.rows, found.rows_high) == (20_000,) * 3
    assert skewed.estimate("id > 10000000").rows_high == 0


def test_rows_added_since_the_analysis_widen_the_bounds(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.analyze()
    table.append(ROWS)
    found = table.estimate("id < 500")
    assert found.rows_low <= 1_000 <= found.rows_high
    assert found.rows == pytest.approx(1_000, abs=60)


def test_rows_since_the_analysis_may_all_match_or_none(tmp_path: Path) -> None:
    table = make_table(tmp_path, partition_by=[])
    table.analyze()
    table.append(ROWS.set_column(0, "id", pa.array(range(5_000, 6_000), pa.int64())))
    assert table.estimate("id < 500").rows_low <= 500
    table.append(ROWS.set_column(0, "id", pa.array([1] * 1_000, pa.int64())))
    found = table.estimate("id <> 1")
    assert found.rows_low <= 1_999 <= found.rows_high


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_a_scan_has_seen_to_be_deleted_count_for_nothing(tmp_path: Path, version: int) -> None:
    table = make_table(
        tmp_path, partition_by=[], format_version=version, properties={"write.delete.mode": "merge-on-read"}
    )
    table.delete("point.x < 5")
    table.analyze(full=True)
    assert table.statistics().row_count == Labelled(500)
    for text in ("id >= 0", "id < 500", "state = 'ca' or state = 'ny'"):
        found = table.estimate(text)
        assert found.rows_low <= table.scan(text).count() <= found.rows_high, text


def test_a_filter_without_columns_counts_no_row_that_an_equality_delete_may_have_taken(tmp_path: Path) -> None:
    table = make_table(tmp_path, partition_by=[], format_version=2)
    table.analyze()
    keys = pa.table({"id": pa.array(range(10), pa.int64())})
    deletes = write_equality_deletes(keys, metadata=table.metadata, storage=table.storage, equality_ids=[1])
    table.apply(RowDelta(files=deletes))
    table.analyze()
    found = table.estimate("true")
    assert found.rows_low <= table.scan().count() == 990 <= found.rows_high


@pytest.mark.parametrize("mode", ["none", "counts"])
def test_a_column_without_facts_may_be_null_everywhere_or_nowhere(tmp_path: Path, mode: str) -> None:
    table = make_table(tmp_path, partition_by=[], properties={"write.metadata.metrics.default": mode})
    for text in ("id is null", "id is not null", "id <> 3", "point.y is null", "point.x = 3.0", "state is null"):
        found = table.estimate(text)
        assert found.rows_low <= table.scan(text).count() <= found.rows_high, text


@pytest.mark.parametrize(
    "text", ["id >= 1 and id <= 5", "id = 1 or id > 7", "truncate(10, id) = 0 and truncate(10, id) < 9"]
)
def test_several_conditions_on_a_column_that_was_not_analysed_are_estimated(tmp_path: Path, text: str) -> None:
    table = make_table(tmp_path, partition_by=[])
    table.analyze(["state"])
    found = table.estimate(text)
    assert found.rows_low <= found.rows <= found.rows_high
    assert found.rows_low <= table.scan(text).count() <= found.rows_high


def test_both_zeros_are_one_value_to_an_estimate(tmp_path: Path) -> None:
    values = [0.0] * 500 + [-0.0] * 400 + [float("nan")] * 50 + [None] * 10 + [1.0] * 40
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", pa.schema([("x", pa.float64())]))
    table.append(pa.table({"x": values}))
    table.analyze()
    for text, true in (("x = -0.0", 900), ("x <> 0.0", 90), ("x in (0.0, 1.0)", 940), ("isnan(x)", 50)):
        found = table.estimate(text)
        assert (found.rows_low, found.rows, found.rows_high) == (true, true, true), text


def test_numbers_that_doubles_do_not_tell_apart_are_between_the_bounds(tmp_path: Path) -> None:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    rows = pa.table(
        {
            "x": pa.array([2**60 + i for i in range(1_000)], pa.int64()),
            "d": pa.array([Decimal(10**30 + i) for i in range(1_000)], pa.decimal128(38, 0)),
        }
    )
    table = catalog.create_table("db.t", rows.schema)
    table.append(rows)
    table.analyze()
    for text in (f"x < {2**60 + 500}", f"x between {2**60 + 100} and {2**60 + 200}", f"d < {10**30 + 500}"):
        found = table.estimate(text)
        assert found.rows_low <= table.scan(text).count() <= found.rows_high, text


# -- freshness


@pytest.mark.parametrize(
    ("summary", "added", "removed"),
    [
        ({"operation": "append", "added-records": "7", "added-data-files": "1"}, 7, 0),
        ({"operation": "overwrite", "added-records": "7", "deleted-records": "4", "added-position-deletes": "2"}, 7, 6),
        ({"operation": "delete", "total-records": "9"}, 0, 0),
        ({"operation": "append"}, None, None),
        ({"operation": "append", "added-data-files": "1"}, None, 0),
        ({"operation": "append", "added-records": "many"}, None, 0),
        ({"operation": "delete", "added-equality-deletes": "1"}, 0, None),
        ({"operation": "delete", "added-delete-files": "1", "total-records": "9"}, 0, None),
    ],
)
def test_what_a_summary_does_not_tell_is_unknown(
    summary: dict[str, str], added: int | None, removed: int | None
) -> None:
    assert (rows_added(summary), rows_removed(summary)) == (added, removed)


def test_files_exchanged_for_others_with_the_same_rows_leave_statistics_fresh(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(ROWS)
    table.analyze()
    table.rewrite_manifests()
    found = table.statistics().freshness
    assert (found.snapshots_since, found.rows_added_since, found.rows_removed_since) == (1, 0, 0)


# -- the audit


def test_a_right_table_is_clean(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties={"write.delete.mode": "merge-on-read"})
    table.delete("id = 5")
    table.compute_partition_statistics()
    table.analyze(full=True)
    report = table.audit()
    assert report.is_clean and report.files == 4 and report.facts > 40


def test_wrong_facts_are_found_at_their_place(tmp_path: Path) -> None:
    table = make_table(tmp_path, partition_by=[])
    files = table.inspect.files()
    path = files.column("file_path")[0].as_py()
    wrong = pa.table({"id": pa.array([10_000], pa.int64()), "state": ["zz"], "point": [{"x": 99.0, "y": "q"}]},
                     ROWS.schema)  # fmt: skip
    old = pq.read_table(path)
    changed = pa.concat_tables([old.slice(1), wrong.cast(old.schema)])
    Path(path).unlink()
    pq.write_table(changed, path)
    report = table.audit()
    facts = {(f.about.partition(" of ")[0], f.fact) for f in report.findings}
    assert {("column 'id'", "upper_bound"), ("column 'state'", "upper_bound")} <= facts
    assert any(f.fact == "file_size_in_bytes" and f.about == path for f in report.findings)
    assert all(f.stored_in.endswith(".avro") for f in report.findings)
    assert set(report.metrics) == {path}


def test_wrong_partition_statistics_are_repaired(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    first = table.current_snapshot.snapshot_id
    table.compute_partition_statistics()
    table.append(ROWS)
    # The statistics of another snapshot, registered as if they were of this one.
    stale = replace(
        table.metadata.partition_statistics_by_snapshot[first], snapshot_id=table.current_snapshot.snapshot_id
    )
    table._apply(UpdateStatistics(set_partition=(stale,)))
    report = table.audit(repair=True)
    assert {f.fact for f in report.findings} >= {"partition data_record_count", "partition data_file_count"}
    assert table.audit().is_clean


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    Path(table.inspect.files().column("file_path")[0].as_py()).unlink()
    report = table.audit()
    assert [f.fact for f in report.findings] == ["file"]


# -- carried on


MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}


def grown_table(path: Path) -> Any:
    table = make_table(path, properties=MERGE_ON_READ)
    table.analyze()
    table.append(ROWS.slice(0, 100))
    return table


def said(table: Any) -> list[dict[str, Any]]:
    return [
        row | {"top": table.statistics().column(row["column"]).top_values()} for row in table.statistics().to_rows()
    ]


def planned(table: Any, **options: Any) -> Any:
    ids = analysed_ids(table.schema, None, table="t")
    return plan_analysis(table.metadata, table.storage, table.current_snapshot, field_ids=ids, **options)


def test_what_was_said_of_all_files_is_carried_on_when_some_are_added(tmp_path: Path) -> None:
    table = grown_table(tmp_path)
    work = planned(table)
    assert work.carried is not None and not work.known
    assert table.analyze().files_read == 4
    carried = said(table)
    table.analyze(full=True)
    assert said(table) == carried


def test_nothing_is_carried_on_from_files_that_are_gone_or_have_lost_rows(tmp_path: Path) -> None:
    table = grown_table(tmp_path)
    table.delete("id = 5")
    assert planned(table).carried is None
    table.analyze()
    assert table.statistics().column("id").ndv.accuracy is Accuracy.UPPER_ESTIMATE
    table.append(ROWS.slice(0, 1))
    assert planned(table).carried is not None
    table.analyze()
    assert table.statistics().column("id").ndv.accuracy is Accuracy.UPPER_ESTIMATE
    table.delete("state = 'ca'")
    assert planned(table).carried is None


def test_what_cannot_be_read_is_read_from_the_rows_again(tmp_path: Path) -> None:
    table = grown_table(tmp_path)
    table.delete("state = 'ca'")  # so that nothing can be carried on
    directory = Path(stats_directory(table.metadata))
    largest = max(directory.glob("*.summaries.parquet"), key=lambda p: p.stat().st_size)
    data = bytearray(largest.read_bytes())
    chunks = pq.ParquetFile(largest).metadata.row_group(0)
    places = {c.path_in_schema: c.data_page_offset for c in map(chunks.column, range(chunks.num_columns))}
    place = places["theta"]
    data[place : place + 16] = b"\xff" * 16
    largest.write_bytes(bytes(data))
    with pytest.warns(StatisticsIgnored, match="summaries"):
        assert table.analyze().files_known < 3
    rows = table.scan().to_arrow()
    assert table.statistics().column("id").ndv.value == len(set(rows.column("id").to_pylist()))


# -- from footers


def test_what_a_footer_proves_is_not_read(tmp_path: Path) -> None:
    table = make_table(tmp_path, partition_by=[])
    (path,) = table.scan().plan().files.column("file_path").to_pylist()
    data = Path(path).read_bytes()
    footer_bytes = int.from_bytes(data[-8:-4], "little") + 8
    Path(path).write_bytes(b"PAR1" + bytes(len(data) - footer_bytes - 4) + data[-footer_bytes:])
    assert table.analyze(["id"], sketches=False, full=True).files_read == 1
    number = table.statistics().column("id")
    assert (number.low, number.high, number.null_count) == (Labelled(0), Labelled(999), Labelled(0))
    assert number.ndv is None and number.histogram() is None
    with pytest.raises(skipstone.errors.SkipstoneError, match="damaged"):
        table.analyze(["state"], sketches=False)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_files_of_which_manifests_prove_all_are_not_opened(tmp_path: Path, file_format: str) -> None:
    table = make_table(tmp_path, properties={"write.format.default": file_format})
    for path in table.scan().plan().files.column("file_path").to_pylist():
        Path(path).unlink()
    done = table.analyze(["id"], sketches=False)
    assert (done.files_read, done.files_known) == (0, 4)
    number = table.statistics().column("id")
    assert (number.low, number.high, number.null_count) == (Labelled(0), Labelled(999), Labelled(0))
    assert table.analyze(["id"], sketches=False).files_read == 0
    with pytest.raises(NotFound, match="nothing is stored there"):
        table.analyze(["id"], sketches=False, full=True)


def test_manifests_prove_nothing_of_files_with_deletes_nor_of_a_float_that_may_be_zero(tmp_path: Path) -> None:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    properties = {"write.delete.mode": "merge-on-read"}
    table: Any = catalog.create_table("db.t", pa.schema([("x", pa.float64())]), format_version=3, properties=properties)
    for values in ([1.0, 2.0, None], [0.0, 3.0], [math.nan, 1.0], [5.0, 6.0]):
        table.append(pa.table({"x": values}, pa.schema([("x", pa.float64())])))
    table.delete("x = 5")
    done = table.analyze(sketches=False)
    assert (done.files_read, done.files_known) == (3, 1)
    number = table.statistics().column("x")
    assert (number.low.value, number.high.value, number.null_count.value, number.nan_count.value) == (0.0, 6.0, 1, 1)


def test_an_analysis_without_sketches_does_not_stand_in_for_one_with_them(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    assert table.analyze(sketches=False).files_read == 4
    assert table.metadata.statistics == ()
    assert table.analyze().files_read == 4
    assert table.analyze(sketches=False).files_read == 0
    assert table.statistics().column("id").ndv.value == 1_000


# -- registered sketches alone, as others find them


def without_own_files(table: Any) -> Any:
    for file in Path(stats_directory(table.metadata)).iterdir():
        file.unlink()
    return table.statistics().column("id").ndv


def test_a_registered_sketch_is_labelled_by_what_has_happened_since(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties=MERGE_ON_READ)
    table.analyze(["id"])
    assert without_own_files(table) == Labelled(1_000, Accuracy.ESTIMATE)
    table.delete("id = 5")
    assert table.statistics().column("id").ndv == Labelled(1_000, Accuracy.UPPER_ESTIMATE)
    table.append(ROWS.slice(0, 99))
    assert table.statistics().column("id").ndv == Labelled(1_000, Accuracy.ESTIMATE, 0.1)


def test_a_sketch_that_was_carried_over_deletes_is_an_upper_estimate_to_everyone(tmp_path: Path) -> None:
    table = make_table(tmp_path, properties=MERGE_ON_READ)
    table.analyze(["id"])
    table.delete("id = 5")
    table.analyze(["id"])
    assert without_own_files(table) == Labelled(1_000, Accuracy.UPPER_ESTIMATE)
    table.analyze(["id"], full=True)
    assert without_own_files(table) == Labelled(999, Accuracy.ESTIMATE)
