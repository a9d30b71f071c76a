"""The audit: a wrong fact of each kind is planted, found at its place, and repaired."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skipstone
from skipstone.analysis.sketches import store_sketches
from skipstone.analysis.store import AnalysisStore
from skipstone.commit import UpdateStatistics
from skipstone.index.loading import forget_opened
from skipstone.index.places import index_directory
from skipstone.maintenance.metrics_repair import with_facts
from skipstone.stats.places import stats_directory
from skipstone.stats.theta import ThetaBuilder
from skipstone.write import write_rows

ROWS = pa.table(
    {
        "id": pa.array(range(100), pa.int64()),
        "state": ["CA", None] * 50,
        "x": [float("nan") if i % 10 == 0 else float(i) for i in range(100)],
        "inside": pa.array([None if i % 5 == 0 else {"y": i} for i in range(100)], pa.struct([("y", pa.int64())])),
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Any:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    made = catalog.create_table(
        "db.t",
        ROWS.schema,
        partition_by=["state"],
        format_version=3,
        properties={"skipstone.index.sidecar-min-files": "1"},
    )
    made.append(ROWS)
    made.append(ROWS)
    made.compute_partition_statistics()
    made.analyze()
    return made


def audited(table: Any) -> set[str]:
    """The facts that are wrong; after a repair none is."""
    report = table.audit(repair=True)
    left = table.audit()
    assert left.is_clean, [str(f) for f in left.findings]
    return {f.fact for f in report.findings}


def test_a_right_table_is_clean_with_an_index_and_an_analysis(table: Any) -> None:
    assert table.audit().is_clean


def test_offsets_that_are_no_row_groups_are_put_right(table: Any) -> None:
    entries = write_rows(ROWS, metadata=table.metadata, storage=table.storage)
    paths = entries.column("file_path").to_pylist()
    right = entries.column("split_offsets").to_pylist()
    table.add_files(with_facts(entries, {paths[0]: {"split_offsets": [4, 77]}}))
    assert audited(table) == {"split_offsets"}
    stored = {f["file_path"]: f["split_offsets"] for f in table.inspect.files().to_pylist()}
    assert stored[paths[0]] == right[0]


def _puffin_of(table: Any) -> Path:
    return Path(table.metadata.statistics[-1].statistics_path.removeprefix("file:"))


def test_a_damaged_file_of_sketches_is_a_finding(table: Any) -> None:
    _puffin_of(table).write_bytes(b"PFA1 and nothing more")
    with pytest.warns(UserWarning, match=r"\.stats"):
        assert audited(table) == {"ndv file"}


def test_a_number_of_distinct_values_in_the_metadata_alone_is_found(table: Any) -> None:
    file = table.metadata.statistics[-1]
    first = replace(file.blob_metadata[0], properties={"ndv": "12345"})
    wrong = replace(file, file_size_in_bytes=7, blob_metadata=(first, *file.blob_metadata[1:]))
    table._apply(UpdateStatistics(set_table=(wrong,)))
    assert audited(table) == {"ndv", "ndv file size"}


def test_a_sketch_of_other_rows_is_found(table: Any) -> None:
    builder = ThetaBuilder()
    builder.add(table.schema.field("id").type, pa.array(range(5_000), pa.int64()))
    file = store_sketches({1: builder.finish()}, table.metadata, table.storage, table.current_snapshot)
    table._apply(UpdateStatistics(set_table=(file,)))
    assert audited(table) == {"ndv"}


def _with_zone(facts: dict[str, Any]) -> Callable[[Any], Any]:
    def change(rows: Any) -> Any:
        zone = rows.column("zone_1").combine_chunks()
        children = [
            pa.array([facts[f.name]] * len(zone), f.type) if f.name in facts else zone.field(i)
            for i, f in enumerate(zone.type)
        ]
        at = rows.schema.get_field_index("zone_1")
        return rows.set_column(at, rows.schema.field(at), pa.StructArray.from_arrays(children, fields=list(zone.type)))

    return change


def _with_total(rows: Any) -> Any:
    at = rows.schema.get_field_index("total_record_count")
    return rows.set_column(at, rows.schema.field(at), pa.array([3] * rows.num_rows, pa.int64()))


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        (_with_zone({"upper": 50}), {"partition upper_bound"}),
        (_with_zone({"lower": 50}), {"partition lower_bound"}),
        (_with_zone({"null_count": 9, "value_count": 1}), {"partition null_count", "partition value_count"}),
        (_with_total, {"partition total_record_count"}),
        (lambda rows: pa.concat_tables([rows, rows]), {"partition rows"}),
        (lambda rows: rows.slice(1), {"partition"}),
    ],
)
def test_every_column_of_partition_statistics_is_audited(table: Any, change: Any, facts: set[str]) -> None:
    path = Path(table.metadata.partition_statistics[-1].statistics_path.removeprefix("file:"))
    pq.write_table(change(pq.read_table(path)), path)
    assert audited(table) == facts


def _rewritten(table: Any, **columns: int | None) -> None:
    """The registered file with other values in some columns."""
    path = Path(table.metadata.partition_statistics[-1].statistics_path.removeprefix("file:"))
    rows = pq.read_table(path)
    for name, value in columns.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), pa.array([value] * rows.num_rows, pa.int64()))
    pq.write_table(rows, path)


def test_a_change_that_was_overlooked_or_never_happened_is_found(table: Any) -> None:
    first, last = table.metadata.snapshots
    when, who = "last_updated_at", "last_updated_snapshot_id"
    for planted, fact in (
        ({when: last.timestamp_ms + 1}, when),
        ({when: 0}, when),
        ({who: first.snapshot_id}, who),
        ({who: first.snapshot_id, when: first.timestamp_ms}, who),
        ({who: 7, when: first.timestamp_ms - 1}, when),
        ({who: 7, when: last.timestamp_ms + 1}, when),
    ):
        _rewritten(table, **planted)
        assert audited(table) == {f"partition {fact}"}, planted
    _rewritten(table, **{when: None, who: None})
    assert table.audit().is_clean
    # A snapshot that has touched other partitions alone.
    table.append(ROWS.filter(pa.compute.field("id") == 1))
    table.compute_partition_statistics()
    _rewritten(table, **{who: table.current_snapshot.snapshot_id, when: table.current_snapshot.timestamp_ms})
    report = table.audit(repair=True)
    (finding,) = report.findings
    assert finding.fact == f"partition {who}" and "'CA'" in finding.about and finding.actual == last.snapshot_id
    assert table.audit().is_clean


def test_a_change_that_only_its_own_snapshot_proves_is_right(table: Any) -> None:
    more = ROWS.slice(0, 2)
    table.append(more.set_column(0, "id", pa.array([1_000, 1_000])))
    table.delete("id = 1000")
    deleting = table.current_snapshot
    table.rewrite_manifests()
    table.compute_partition_statistics()
    # Manifests written since have no entries of files that are gone.
    _rewritten(table, last_updated_snapshot_id=deleting.snapshot_id, last_updated_at=deleting.timestamp_ms)
    assert table.audit().is_clean
    rewriting = table.current_snapshot
    assert rewriting != deleting
    _rewritten(table, last_updated_snapshot_id=rewriting.snapshot_id, last_updated_at=rewriting.timestamp_ms)
    assert audited(table) == {"partition last_updated_snapshot_id"}
    table.expire_snapshots(older_than=timedelta(0), retain_last=1)
    assert len(table.metadata.snapshots) == 1 and table.audit().is_clean


def test_a_wrong_summary_of_an_analysis_is_found(table: Any) -> None:
    store = AnalysisStore(table.metadata, table.storage)
    record = store.find(table.current_snapshot)
    assert record is not None
    path = Path(stats_directory(table.metadata).removeprefix("file:")) / record.summaries[0]
    rows = pq.read_table(path)
    at = rows.schema.get_field_index("null_count")
    pq.write_table(rows.set_column(at, rows.schema.field(at), pa.array([7] * rows.num_rows, pa.int64())), path)
    assert audited(table) == {"analysed null_count"}
    assert table.statistics().column("id").null_count.value == 0


def test_a_damaged_index_file_is_found_and_built_again(table: Any) -> None:
    directory = index_directory(table.metadata)
    assert directory is not None
    files = [p for p in Path(directory.removeprefix("file:")).iterdir() if p.is_file()]
    assert files
    for path in files:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(bytes(data))
    forget_opened()
    assert audited(table) == {"index file"}


def test_what_nobody_stored_is_not_wrong(table: Any) -> None:
    Path(stats_directory(table.metadata).removeprefix("file:")).rename(table.location.removeprefix("file:") + "-gone")
    table.index.drop()
    assert table.audit().is_clean
