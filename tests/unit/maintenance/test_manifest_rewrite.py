"""Manifests rewritten: fewer of them, clustered by partition, and nothing else changed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.support.commits import Lake, data_files, entries, position_deletes

from skipstone.commit import Append, Delete, Rejected, RowDelta, SetRef, UpdateProperties, UpdateSpec
from skipstone.commit.manifests import manifests_of
from skipstone.errors import InvalidInput
from skipstone.maintenance import ManifestReport, RewriteManifests, rewrite_manifests
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.tables.refs import tag
from skipstone.metadata.tables.snapshots import Operation

KEPT = (
    "file_path",
    "snapshot_id",
    "sequence_number",
    "file_sequence_number",
    "first_row_id",
    "record_count",
    "partition",
)


@pytest.fixture(params=[1, 2, 3])
def lake(request: pytest.FixtureRequest) -> Lake:
    return filled(request.param)


def filled(format_version: int, **properties: str) -> Lake:
    """Six appends to two partitions in turn, a manifest each, and a file deleted again."""
    lake = Lake()
    lake.create(
        format_version=format_version,
        partition_by=["state"],
        properties={"commit.manifest-merge.enabled": "false", **properties},
    )
    for i in range(6):
        lake.commit(Append(files=data_files(f"f{i}", rows=i + 1, state="CN"[i % 2]))).unwrap()
    lake.commit(Delete(files=["f3"])).unwrap()
    return lake


def listed(lake: Lake) -> tuple[ManifestFile, ...]:
    return manifests_of(lake.catalog.storage, lake.metadata, lake.metadata.current_snapshot)


def live(lake: Lake) -> dict[str, dict[str, Any]]:
    return {path: {name: row[name] for name in KEPT} for path, row in lake.live().items()}


def rewrite(lake: Lake, **options: Any) -> ManifestReport:
    return rewrite_manifests(lake.catalog, lake.table, RewriteManifests(**options))[1]


def test_small_manifests_become_one_and_every_entry_keeps_its_numbers(lake: Lake) -> None:
    before, old = live(lake), lake.metadata.current_snapshot
    assert rewrite(lake) == ManifestReport(rewritten=6, added=1)
    assert live(lake) == before
    (manifest,) = listed(lake)
    assert (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count) == (0, 5, 0)
    rows = entries(lake.catalog.storage, lake.metadata, lake.metadata.current_snapshot)
    assert [row["file_path"] for row in rows] == ["f0", "f2", "f4", "f1", "f5"], "by partition, then by age"
    assert {row["status"] for row in rows} == {0}
    new = lake.metadata.current_snapshot
    assert old is not None and new is not None
    assert (new.operation, new.parent_snapshot_id) == (Operation.REPLACE, old.snapshot_id)
    assert new.summary is not None and old.summary is not None
    assert (new.summary["entries-processed"], new.summary["manifests-created"]) == ("5", "1")
    totals = {k: v for k, v in old.summary.items() if k.startswith("total-")}
    assert {k: new.summary[k] for k in totals} == totals


def test_row_ids_of_later_appends_stay_unique() -> None:
    lake = filled(3)
    rewrite(lake)
    lake.commit(Append(files=data_files("g", rows=4, state="C"))).unwrap()
    taken: list[int] = []
    for row in lake.live().values():
        taken += range(row["first_row_id"], row["first_row_id"] + row["record_count"])
    assert len(taken) == len(set(taken))
    assert max(taken) < lake.metadata.next_row_id


def test_a_tidy_table_is_left_alone(lake: Lake) -> None:
    rewrite(lake)
    snapshot = lake.metadata.current_snapshot_id
    published = lake.catalog.published
    assert rewrite(lake) == ManifestReport()
    assert (lake.metadata.current_snapshot_id, lake.catalog.published) == (snapshot, published)
    assert rewrite_manifests(lake.catalog, lake.table, RewriteManifests())[1] == ManifestReport()


def test_a_table_without_snapshots_is_left_alone() -> None:
    lake = Lake()
    lake.create()
    assert rewrite(lake) == ManifestReport()
    assert lake.metadata.current_snapshot is None


def test_contents_and_specs_are_not_mixed() -> None:
    lake = filled(2)
    for i, state in ((0, "C"), (1, "N")):
        lake.commit(RowDelta(files=position_deletes(f"d{i}", f"f{i}", state=state))).unwrap()
    lake.commit(UpdateSpec(change=lambda spec: spec.add_term("bucket(4, id)"))).unwrap()
    spec_id = lake.metadata.default_spec_id
    for i in range(2):
        lake.commit(Append(files=data_files(f"g{i}", spec_id=spec_id, state="C", id_bucket_4=i))).unwrap()
    before = live(lake)
    assert rewrite(lake) == ManifestReport(rewritten=9, added=3)
    assert live(lake) == before
    kinds = {(m.content, m.partition_spec_id): m.existing_files_count for m in listed(lake)}
    assert kinds == {(ManifestContent.DATA, 0): 5, (ManifestContent.DATA, spec_id): 2, (ManifestContent.DELETES, 0): 2}


def test_what_others_append_meanwhile_stays_beside_the_rewritten_manifests(lake: Lake) -> None:
    stale = lake.table
    lake.commit(Append(files=data_files("late", state="C"))).unwrap()
    before = live(lake)
    staged = lake.stored()
    table, report = rewrite_manifests(lake.catalog, stale, RewriteManifests())
    assert report == ManifestReport(rewritten=5, added=1), "what has no live files was not listed any more"
    assert table.metadata == lake.metadata
    assert live(lake) == before
    assert sorted(m.manifest_path not in staged for m in listed(lake)) == [False, True], (
        "rewritten once, and used again"
    )
    assert {p for p in lake.stored() if p.endswith(".avro")} == lake.referenced()


def test_manifests_that_others_replaced_meanwhile_are_rewritten_anew(lake: Lake) -> None:
    stale = lake.table
    lake.commit(Delete(files=["f4"])).unwrap()
    before = live(lake)
    rewrite_manifests(lake.catalog, stale, RewriteManifests())
    assert live(lake) == before
    assert sorted(before) == ["f0", "f1", "f2", "f5"]
    assert {p for p in lake.stored() if p.endswith(".avro")} == lake.referenced()


def test_a_rewrite_is_no_conflict_for_others(lake: Lake) -> None:
    stale = lake.table
    rewrite(lake)
    outcome = lake.commit(Delete(files=["f4"]), base=stale)
    assert not isinstance(outcome, Rejected)
    assert sorted(lake.live()) == ["f0", "f1", "f2", "f5"]


def test_manifests_larger_than_the_target_are_split_by_partition() -> None:
    lake = Lake()
    lake.create(partition_by=["state"], properties={"commit.manifest-merge.enabled": "false"})
    for start in (0, 1500):
        of_states = [data_files(*(f"{s}{i}" for i in range(start, start + 1500)), state=s) for s in ("A", "B")]
        lake.commit(Append(files=pa.concat_tables(of_states))).unwrap()
    lake.commit(UpdateProperties(updates={"commit.manifest.target-size-bytes": "8000"})).unwrap()
    before = live(lake)
    report = rewrite(lake)
    assert report.rewritten == 2
    assert report.added > 2
    assert live(lake) == before
    mixed = [m for m in listed(lake) if m.partitions and m.partitions[0].lower_bound != m.partitions[0].upper_bound]
    assert len(mixed) <= 1, "at most one manifest holds the border between two partitions"


def test_a_branch_is_rewritten_alone_and_a_tag_never(lake: Lake) -> None:
    lake.commit(Append(files=data_files("dev", state="C"), ref="dev")).unwrap()
    main = lake.metadata.current_snapshot_id
    rewrite(lake, ref="dev")
    assert lake.metadata.current_snapshot_id == main
    assert sorted(lake.live("dev")) == ["dev", "f0", "f1", "f2", "f4", "f5"]

    assert main is not None
    lake.commit(SetRef(name="v1", ref=tag(main))).unwrap()
    with pytest.raises(InvalidInput, match="Tags never move"):
        rewrite(lake, ref="v1")
