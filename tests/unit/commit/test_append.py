"""Appends: files come, nothing goes, numbers are inherited."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.commits import Lake, data_files, entries, equality_deletes, joined

import skipstone
from skipstone.commit import Append, Committed, Delete, SetRef, UpdateSpec, UpgradeFormat
from skipstone.errors import InvalidInput
from skipstone.metadata.tables.refs import tag
from skipstone.write import write_rows


@pytest.fixture
def lake() -> Lake:
    return Lake()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_files_of_each_append_are_live_with_their_own_sequence_number(lake: Lake, version: int) -> None:
    lake.create(format_version=version)
    lake.commit(Append(files=data_files("a", "b"))).unwrap()
    lake.commit(Append(files=data_files("c"))).unwrap()
    numbers = {path: row["sequence_number"] for path, row in lake.live().items()}
    assert numbers == ({"a": 0, "b": 0, "c": 0} if version == 1 else {"a": 1, "b": 1, "c": 2})


def test_row_ids_of_v3_files_follow_each_other_without_gaps(lake: Lake) -> None:
    lake.create(format_version=3)
    lake.commit(Append(files=data_files("a", "b", rows=7))).unwrap()
    lake.commit(Append(files=data_files("c", rows=5))).unwrap()
    assert {path: row["first_row_id"] for path, row in lake.live().items()} == {"a": 0, "b": 7, "c": 14}
    assert lake.metadata.next_row_id == 19
    current = lake.metadata.current_snapshot
    assert current is not None and (current.first_row_id, current.added_rows) == (14, 5)


def test_a_row_id_range_of_the_callers_file_is_not_taken_over(lake: Lake) -> None:
    lake.create(format_version=3)
    files = data_files("a")
    place = files.schema.get_field_index("first_row_id")
    files = files.set_column(place, "first_row_id", [[500]])
    lake.commit(Append(files=files)).unwrap()
    assert lake.live()["a"]["first_row_id"] == 0


def test_summary_counts_the_change_and_the_totals(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a", "b"))).unwrap()
    lake.commit(Append(files=data_files("c"), summary={"team": "ops"})).unwrap()
    current = lake.metadata.current_snapshot
    assert current is not None and current.summary is not None
    expected = {
        "operation": "append",
        "added-data-files": "1",
        "added-records": "10",
        "total-data-files": "3",
        "total-records": "30",
        "engine-name": "skipstone",
        "team": "ops",
        "manifests-created": "1",
        "manifests-kept": "1",
    }
    assert {key: current.summary.get(key) for key in expected} == expected
    assert current.schema_id == lake.metadata.current_schema_id


def test_files_of_several_specs_and_unified_partitions_go_to_one_manifest_a_spec(lake: Lake) -> None:
    lake.create(partition_by=["state"])
    lake.commit(UpdateSpec(change=lambda u: u.add_field("id", "bucket[4]"))).unwrap()
    old = data_files("a", state="CA")
    new = data_files("b", spec_id=1, state="WA", id_bucket_4=3)
    lake.commit(Append(files=joined(old, new))).unwrap()
    live = lake.live()
    assert live["a"]["partition"] == {"state": "CA"} and live["a"]["spec_id"] == 0
    assert live["b"]["partition"] == {"state": "WA", "id_bucket_4": 3} and live["b"]["spec_id"] == 1


def test_a_partitioned_table_wants_partition_values(lake: Lake) -> None:
    lake.create(partition_by=["state"])
    with pytest.raises(InvalidInput, match="expected a column partition with the fields state"):
        lake.commit(Append(files=data_files("a")))
    assert not [path for path in lake.stored() if path.endswith(".avro")]


def test_delete_files_and_duplicates_are_refused(lake: Lake) -> None:
    lake.create()
    with pytest.raises(InvalidInput, match="Cannot append delete files"):
        lake.commit(Append(files=equality_deletes("d")))
    with pytest.raises(InvalidInput, match="Cannot add file a: expected it once, got it 2 times"):
        lake.commit(Append(files=data_files("a", "a")))


def test_a_branch_is_made_from_the_current_snapshot_and_main_stays(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(Append(files=data_files("b"), ref="audit")).unwrap()
    lake.commit(Append(files=data_files("c"), ref="audit")).unwrap()
    lake.commit(Append(files=data_files("d"))).unwrap()
    assert set(lake.live()) == {"a", "d"}
    assert set(lake.live("audit")) == {"a", "b", "c"}


def test_a_tag_is_not_committed_to(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    assert lake.metadata.current_snapshot_id is not None
    lake.commit(SetRef(name="v1", ref=tag(lake.metadata.current_snapshot_id))).unwrap()
    with pytest.raises(InvalidInput, match="tag 'v1'"):
        lake.commit(Append(files=data_files("b"), ref="v1"))


def test_a_staged_snapshot_is_in_the_table_and_no_ref_shows_it(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    before = lake.metadata.current_snapshot_id
    outcome = lake.commit(Append(files=data_files("b"), stage_only=True))
    assert isinstance(outcome, Committed)
    assert lake.metadata.current_snapshot_id == before
    staged = lake.metadata.snapshot(outcome.snapshot_ids[0])
    assert staged.parent_snapshot_id == before
    # Its sequence number is taken all the same: the next commit gets another.
    lake.commit(Append(files=data_files("c"))).unwrap()
    assert lake.live()["c"]["sequence_number"] == 3


def test_a_wap_id_stages_only_where_the_table_allows_it(lake: Lake) -> None:
    lake.create()
    with pytest.raises(InvalidInput, match=r"write\.wap\.enabled"):
        lake.commit(Append(files=data_files("a"), wap_id="w1"))
    lake = Lake()
    lake.create(properties={"write.wap.enabled": "true"})
    outcome = lake.commit(Append(files=data_files("a"), wap_id="w1"))
    assert isinstance(outcome, Committed) and lake.metadata.current_snapshot_id is None
    summary = lake.metadata.snapshot(outcome.snapshot_ids[0]).summary
    assert summary is not None and summary["wap.id"] == "w1"


def test_a_fast_append_never_merges_and_a_merging_one_does(lake: Lake) -> None:
    lake.create(properties={"commit.manifest.min-count-to-merge": "3"})
    for name in "abcd":
        lake.commit(Append(files=data_files(name), is_fast=True)).unwrap()
    assert len({row["snapshot_id"] for row in entries(lake.catalog.storage, lake.metadata, _current(lake))}) == 4
    lake.commit(Append(files=data_files("e"))).unwrap()
    summary = _current(lake).summary
    assert (summary["manifests-created"], summary["manifests-kept"], summary["manifests-replaced"]) == ("1", "0", "4")
    assert set(lake.live()) == set("abcde")


def test_an_upgrade_that_wins_the_race_does_not_leave_a_v1_manifest_in_a_v2_list(lake: Lake) -> None:
    base = lake.create(format_version=1)
    lake.catalog.before_publish.append(lambda: lake.commit(UpgradeFormat(format_version=2)))
    outcome = lake.commit(Append(files=data_files("a")), base=base)
    assert isinstance(outcome, Committed) and outcome.attempts == 2
    assert lake.live()["a"]["sequence_number"] == 1


def test_a_table_upgraded_from_v1_to_v3_gives_row_ids_to_old_files_on_the_next_commit(lake: Lake) -> None:
    lake.create(format_version=1)
    lake.commit(Append(files=data_files("a", rows=3))).unwrap()
    lake.commit(UpgradeFormat(format_version=3)).unwrap()
    lake.commit(Append(files=data_files("b", rows=4))).unwrap()
    assert {p: r["first_row_id"] for p, r in lake.live().items()} == {"b": 0, "a": 4}
    assert {p: r["sequence_number"] for p, r in lake.live().items()} == {"b": 1, "a": 0}


def _current(lake: Lake):  # type: ignore[no-untyped-def]
    return lake.metadata.current_snapshot


def test_a_file_that_is_in_the_table_is_not_added_again(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("file:///d/a", "file:///d/b"))).unwrap()
    before = lake.metadata
    again = Append(files=data_files("/d/b", "/d/c"), refuses_known=True)
    with pytest.raises(InvalidInput, match="Cannot add file /d/b: it is in the table already"):
        lake.commit(again)
    assert lake.metadata == before
    lake.commit(Delete(files=["file:///d/b"])).unwrap()
    lake.commit(again).unwrap()
    assert set(lake.live()) == {"file:///d/a", "/d/b", "/d/c"}


def test_a_file_that_somebody_added_meanwhile_is_not_added_again(lake: Lake) -> None:
    lake.create()
    base = lake.table
    lake.commit(Append(files=data_files("a"))).unwrap()
    with pytest.raises(InvalidInput, match="Cannot add file a: it is in the table already"):
        lake.commit(Append(files=data_files("a"), refuses_known=True), base=base)
    lake.commit(Append(files=data_files("b"), refuses_known=True), base=base).unwrap()
    assert set(lake.live()) == {"a", "b"}


def test_add_files_refuses_what_is_there_unless_told_not_to_look(tmp_path: Path) -> None:
    table = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "w")).create_table(
        "db.t", [("id", "long")]
    )
    files = write_rows(pa.table({"id": [1, 2]}), metadata=table.metadata, storage=table.storage)
    table.add_files(files)
    with pytest.raises(InvalidInput, match="its rows would be there twice"):
        table.add_files(files)
    with pytest.raises(InvalidInput, match="its rows would be there twice"), table.transaction() as tx:
        tx.delete("id = 1")
        tx.add_files(files)  # the delete wrote its rows anew
        tx.add_files(files)
    assert table.refresh().scan().count() == 2
    table.add_files(files, check_duplicate_files=False)
    assert table.scan().count() == 4


@pytest.mark.parametrize(("codec", "stored"), [(None, b"deflate"), ("zstd", b"zstandard"), ("uncompressed", b"null")])
def test_manifests_are_compressed_as_the_table_says_and_lists_as_always(codec: str | None, stored: bytes) -> None:
    lake = Lake()
    lake.create(properties={} if codec is None else {"write.manifest.compression-codec": codec})
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(Append(files=data_files("b"))).unwrap()
    assert set(lake.live()) == {"a", "b"}
    for path in lake.referenced():
        data = lake.catalog.storage.read(path)
        named = data[data.index(b"avro.codec") + len(b"avro.codec") + 1 :]
        assert named.startswith(b"deflate" if "/snap-" in path else stored), path
