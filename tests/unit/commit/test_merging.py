"""Merging of manifests: when, which, and that nothing of an entry is lost."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.support.commits import Lake, data_files, entries, vectors

from skipstone.commit import Append, Delete, RowDelta, UpdateSpec
from skipstone.commit.manifests import entries_of, is_remembered
from skipstone.metadata.manifests.manifest import METRIC_COLUMNS
from skipstone.metadata.manifests.manifest_list import read_manifest_list
from skipstone.metadata.manifests.manifest_read import read_manifest


def manifests(lake: Lake) -> list[Any]:
    current = lake.metadata.current_snapshot
    assert current is not None and current.manifest_list is not None
    return read_manifest_list(lake.catalog.storage.read(current.manifest_list), source="list")


def make(version: int = 2, count: int = 3, **properties: str) -> Lake:
    lake = Lake()
    named = {key.replace("_", "-"): value for key, value in properties.items()}
    lake.create(
        format_version=version,
        partition_by=["state"],
        properties={"commit.manifest.min-count-to-merge": str(count), **{f"commit.{k}": v for k, v in named.items()}},
    )
    return lake


def test_manifests_are_merged_when_there_are_as_many_as_the_table_says() -> None:
    lake = make(count=4)
    counts = []
    for name in "abcdefgh":
        lake.commit(Append(files=data_files(name, state="CA"))).unwrap()
        counts.append(len(manifests(lake)))
    assert counts == [1, 2, 3, 1, 2, 3, 1, 2]
    assert set(lake.live()) == set("abcdefgh")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_merged_entries_keep_their_numbers_row_ids_and_metrics(version: int) -> None:
    lake, merging = make(version, count=100), make(version, count=2)
    for table in (lake, merging):
        for i, name in enumerate("abcd"):
            table.commit(Append(files=data_files(name, rows=i + 1, ids=(i, i + 5), state="CA"))).unwrap()
    kept = ("sequence_number", "file_sequence_number", "record_count", "lower_bounds", "upper_bounds", "partition")
    plain = {p: {k: r[k] for k in kept} for p, r in lake.live().items()}
    assert {p: {k: r[k] for k in kept} for p, r in merging.live().items()} == plain
    if version >= 3:
        ranges = sorted((r["first_row_id"], r["record_count"]) for r in merging.live().values())
        assert all(a + n <= b for (a, n), (b, _) in itertools.pairwise(ranges))
        first = {p: r["first_row_id"] for p, r in merging.live().items()}
        merging.commit(Append(files=data_files("e", state="CA"))).unwrap()
        assert {p: r["first_row_id"] for p, r in merging.live().items() if p != "e"} == first


def test_manifests_of_different_specs_and_contents_are_not_mixed() -> None:
    lake = make(3, count=2)
    lake.commit(Append(files=data_files("a", "b", state="CA"))).unwrap()
    lake.commit(RowDelta(files=vectors("p", "a", state="CA"))).unwrap()
    lake.commit(RowDelta(files=vectors("q", "b", state="CA"))).unwrap()
    lake.commit(UpdateSpec(change=lambda u: u.remove_field("state"))).unwrap()
    spec_id = lake.metadata.default_spec_id
    lake.commit(Append(files=data_files("c", spec_id=spec_id))).unwrap()
    lake.commit(Append(files=data_files("d", spec_id=spec_id))).unwrap()
    assert sorted((int(m.content), m.partition_spec_id) for m in manifests(lake)) == [(0, 0), (0, 1), (1, 0)]
    assert set(lake.live()) == {"a", "b", "c", "d", "p#4", "q#4"}


def test_older_deleted_entries_are_left_out_and_this_commits_are_kept() -> None:
    lake = make(count=2)
    lake.commit(Append(files=data_files("a", "b", "c", state="CA"))).unwrap()
    lake.commit(Delete(files=["a"])).unwrap()
    lake.commit(Append(files=data_files("d", state="CA"))).unwrap()
    m = lake.metadata
    assert {(r["file_path"], r["status"]) for r in entries(lake.catalog.storage, m, m.current_snapshot)} == {
        ("b", 0),
        ("c", 0),
        ("d", 1),
    }


def test_full_manifests_are_left_alone() -> None:
    lake = make(count=2, **{"manifest.target_size_bytes": "1"})
    for name in "abc":
        lake.commit(Append(files=data_files(name, state="CA"))).unwrap()
    assert len(manifests(lake)) == 3


def test_merging_can_be_switched_off() -> None:
    lake = make(count=2, **{"manifest_merge.enabled": "false"})
    for name in "abc":
        lake.commit(Append(files=data_files(name, state="CA"))).unwrap()
    assert len(manifests(lake)) == 3


def test_many_files_are_split_over_manifests_of_the_target_size() -> None:
    lake = make(count=100, **{"manifest.target_size_bytes": "20000"})
    names = [f"file-{i}" for i in range(5_000)]
    lake.commit(Append(files=data_files(*names, state="CA"))).unwrap()
    assert len(manifests(lake)) > 1 and len(lake.live()) == 5_000


def test_entries_kept_in_memory_equal_those_read_back() -> None:
    lake = make(3)
    files = data_files("a", "b", rows=4, ids=(1, 9), state="CA")
    lake.commit(Append(files=files)).unwrap()
    lake.commit(RowDelta(files=vectors("p", "a", state="CA"))).unwrap()
    lake.commit(Delete(files=["b"])).unwrap()
    for manifest in manifests(lake):
        assert is_remembered(manifest)
        kept = entries_of(lake.catalog.storage, lake.metadata, manifest, maps=True)
        read = read_manifest(
            lake.catalog.storage.read(manifest.manifest_path),
            source="manifest",
            schema=lake.metadata.current_schema,
            spec=lake.metadata.spec(manifest.partition_spec_id),
            maps=True,
            inherit_from=manifest,
        )
        assert kept.schema == read.schema and kept.to_pylist() == read.to_pylist()
        light = entries_of(lake.catalog.storage, lake.metadata, manifest, columns=("file_path", "status"))
        assert light.column_names == ["status", "file_path"]
        assert not set(entries_of(lake.catalog.storage, lake.metadata, manifest).column_names) & set(METRIC_COLUMNS)
