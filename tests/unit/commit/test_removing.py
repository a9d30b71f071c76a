"""Deletes, overwrites and replacements: which files go, and what the others keep."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.support.commits import (
    SCHEMA,
    Lake,
    data_files,
    entries,
    equality_deletes,
    joined,
    position_deletes,
    vectors,
)

from skipstone.commit import (
    Append,
    Delete,
    Isolation,
    Overwrite,
    Rejected,
    Replace,
    ReplacePartitions,
    RowDelta,
    UpdateSchema,
    UpdateSpec,
    UpgradeFormat,
)
from skipstone.errors import InvalidInput
from skipstone.metadata.types import STRING
from skipstone.predicate import as_predicate, bind


@pytest.fixture
def lake() -> Lake:
    return Lake()


def where(text: str) -> Any:
    return bind(as_predicate(text), SCHEMA)


def operation(lake: Lake) -> str:
    summary = lake.metadata.current_snapshot.summary  # type: ignore[union-attr]
    assert summary is not None
    return summary["operation"]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_stays_in_a_rewritten_manifest_keeps_its_numbers_and_row_ids(lake: Lake, version: int) -> None:
    lake.create(format_version=version)
    lake.commit(Append(files=data_files("x"))).unwrap()
    lake.commit(Append(files=data_files("a", "b", "c"))).unwrap()
    before = lake.live()
    lake.commit(Delete(files=["b"])).unwrap()
    kept = ("snapshot_id", "sequence_number", "file_sequence_number", "first_row_id")
    after = lake.live()
    assert set(after) == {"x", "a", "c"}
    for path, row in after.items():
        assert {k: row[k] for k in kept} == {k: before[path][k] for k in kept}
    assert operation(lake) == "delete"


def test_the_removed_entry_is_marked_deleted_by_this_snapshot_and_gone_after_the_next_rewrite(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a", "b", "c"))).unwrap()
    lake.commit(Delete(files=pa.array(["b"]))).unwrap()
    m = lake.metadata
    deleted = [r for r in entries(lake.catalog.storage, m, m.current_snapshot) if r["status"] == 2]
    assert [(r["file_path"], r["snapshot_id"]) for r in deleted] == [("b", m.current_snapshot_id)]
    assert deleted[0]["sequence_number"] == 1
    lake.commit(Delete(files=["c"])).unwrap()
    m = lake.metadata
    assert [r["file_path"] for r in entries(lake.catalog.storage, m, m.current_snapshot) if r["status"] == 2] == ["c"]


def test_a_manifest_without_live_files_leaves_the_list_with_the_next_commit(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(Delete(files=["a"])).unwrap()
    lake.commit(Append(files=data_files("b"))).unwrap()
    assert [r["file_path"] for r in entries(lake.catalog.storage, lake.metadata, lake.metadata.current_snapshot)] == [
        "b"
    ]


def test_manifests_that_hold_nothing_to_remove_are_kept_as_they_are(lake: Lake) -> None:
    lake.create()
    for name in "abc":
        lake.commit(Append(files=data_files(name))).unwrap()
    lake.commit(Delete(files=["b"])).unwrap()
    summary = lake.metadata.current_snapshot.summary  # type: ignore[union-attr]
    assert summary is not None
    assert (summary["manifests-created"], summary["manifests-kept"], summary["manifests-replaced"]) == ("1", "2", "1")


def test_a_file_that_is_not_in_the_table_is_the_callers_mistake(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    before = lake.stored()
    with pytest.raises(InvalidInput, match=r"db\.sales: data file b, and 1 more: expected a file of the table"):
        lake.commit(Delete(files=["a", "b", "c"]))
    assert lake.stored() == before


def test_with_a_data_file_goes_its_deletion_vector(lake: Lake) -> None:
    lake.create(format_version=3)
    lake.commit(Append(files=data_files("a", "b"))).unwrap()
    lake.commit(RowDelta(files=vectors("p", "a", "b"))).unwrap()
    lake.commit(Delete(files=["a"])).unwrap()
    assert set(lake.live()) == {"b", "p#54"}
    summary = lake.metadata.current_snapshot.summary  # type: ignore[union-attr]
    assert summary is not None and summary["removed-dvs"] == "1" and summary["total-delete-files"] == "1"


@pytest.mark.parametrize("by_bounds", [True, False])
def test_with_a_data_file_go_position_deletes_of_it_alone(lake: Lake, by_bounds: bool) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a", "b"))).unwrap()
    lake.commit(RowDelta(files=position_deletes("da", "a", by_bounds=by_bounds))).unwrap()
    lake.commit(RowDelta(files=position_deletes("db", "b", by_bounds=by_bounds))).unwrap()
    lake.commit(RowDelta(files=equality_deletes("e"))).unwrap()
    lake.commit(Delete(files=["a"])).unwrap()
    assert set(lake.live()) == {"b", "db", "e"}


def test_a_filter_removes_files_of_which_every_row_matches(lake: Lake) -> None:
    lake.create(partition_by=["state"])
    lake.commit(Append(files=data_files("ca", state="CA", ids=(1, 5)))).unwrap()
    lake.commit(Append(files=data_files("wa", state="WA", ids=(3, 9)))).unwrap()
    lake.commit(RowDelta(files=equality_deletes("e-ca", state="CA"))).unwrap()
    lake.commit(RowDelta(files=equality_deletes("e-wa", state="WA"))).unwrap()
    lake.commit(Delete(predicate=where("state = 'CA'"))).unwrap()
    assert set(lake.live()) == {"wa", "e-wa"}
    lake.commit(Delete(predicate=where("id <= 9"))).unwrap()
    # The metrics prove it for the data; that no later row matches is not proven for the deletes.
    assert set(lake.live()) == {"e-wa"}


def test_a_filter_that_may_split_a_file_is_refused(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a", ids=(1, 5)))).unwrap()
    with pytest.raises(InvalidInput, match="Cannot remove file a by filter id < 3: expected a file of which all rows"):
        lake.commit(Delete(predicate=where("id < 3")))
    lake.commit(Delete(predicate=where("id > 7"))).unwrap()
    assert set(lake.live()) == {"a"}


def test_overwrite_by_filter_replaces_everything_with_true(lake: Lake) -> None:
    lake.create(format_version=3)
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(RowDelta(files=vectors("p", "a"))).unwrap()
    lake.commit(Overwrite(files=data_files("b"), predicate=where("true"))).unwrap()
    assert set(lake.live()) == {"b"} and operation(lake) == "overwrite"


def test_the_operation_of_an_overwrite_says_what_it_did(lake: Lake) -> None:
    lake.create()
    lake.commit(Overwrite(files=data_files("a"), predicate=where("true"))).unwrap()
    assert operation(lake) == "append"
    lake.commit(Overwrite(files=data_files("b"), remove_files=["a"])).unwrap()
    assert operation(lake) == "overwrite"
    lake.commit(Overwrite(remove_files=["b"])).unwrap()
    assert operation(lake) == "delete"


def test_replacing_partitions_leaves_other_partitions_alone(lake: Lake) -> None:
    lake.create(partition_by=["state"])
    lake.commit(Append(files=joined(data_files("ca", state="CA"), data_files("wa", state="WA")))).unwrap()
    lake.commit(Append(files=data_files("none", state=None))).unwrap()
    lake.commit(RowDelta(files=equality_deletes("e", state="CA"))).unwrap()
    lake.commit(ReplacePartitions(files=data_files("ca2", state="CA"))).unwrap()
    assert set(lake.live()) == {"ca2", "wa", "none"}
    lake.commit(ReplacePartitions(files=data_files("none2", state=None))).unwrap()
    assert set(lake.live()) == {"ca2", "wa", "none2"}


def test_replacing_partitions_of_an_unpartitioned_table_replaces_all(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a", "b"))).unwrap()
    lake.commit(ReplacePartitions(files=data_files("c"))).unwrap()
    assert set(lake.live()) == {"c"} and operation(lake) == "overwrite"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_replacing_all_after_the_table_had_partitions_replaces_files_of_every_spec(lake: Lake, version: int) -> None:
    """Files without partitions take the place of all, however the others are partitioned."""
    lake.create(format_version=version)
    lake.commit(Append(files=data_files("was"))).unwrap()
    lake.commit(UpdateSpec(change=lambda u: u.add_field("state"))).unwrap()
    lake.commit(Append(files=data_files("ca", spec_id=1, state="CA"))).unwrap()
    lake.commit(ReplacePartitions(files=data_files("new"))).unwrap()
    assert set(lake.live()) == {"new"} and operation(lake) == "overwrite"


@pytest.mark.parametrize("isolation", [None, *Isolation])
def test_replacing_all_minds_what_others_added_under_another_spec(lake: Lake, isolation: Isolation | None) -> None:
    lake.create()
    lake.commit(UpdateSpec(change=lambda u: u.add_field("state"))).unwrap()
    base = lake.table
    lake.commit(Append(files=data_files("theirs", spec_id=1, state="CA"))).unwrap()
    outcome = lake.commit(ReplacePartitions(files=data_files("new"), isolation=isolation), base=base)
    assert isinstance(outcome, Rejected) == (isolation == Isolation.SERIALIZABLE)
    assert set(lake.live()) == ({"theirs"} if isolation == Isolation.SERIALIZABLE else {"new"})


def test_equality_deletes_for_every_spec_stay_while_files_of_another_spec_do(lake: Lake) -> None:
    """A spec whose fields are all void has one partition, but its equality deletes reach the whole table."""
    lake.create(format_version=1, partition_by=["state"])
    lake.commit(Append(files=data_files("ca", state="CA"))).unwrap()
    lake.commit(UpdateSpec(change=lambda u: u.remove_field("state"))).unwrap()
    assert [f.is_void for f in lake.metadata.default_spec.fields] == [True]
    lake.commit(UpgradeFormat(format_version=2)).unwrap()
    void = lake.metadata.default_spec_id
    lake.commit(Append(files=data_files("a", spec_id=void, state=None))).unwrap()
    lake.commit(RowDelta(files=equality_deletes("e", spec_id=void, state=None))).unwrap()
    lake.commit(ReplacePartitions(files=data_files("b", spec_id=void, state=None))).unwrap()
    assert set(lake.live()) == {"ca", "b", "e"}


def test_replace_keeps_the_sequence_number_so_that_newer_equality_deletes_apply(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(Append(files=data_files("b"))).unwrap()
    lake.commit(RowDelta(files=equality_deletes("e"))).unwrap()
    lake.commit(Replace(files=data_files("ab"), remove_files=["a", "b"], data_sequence_number=2)).unwrap()
    live = lake.live()
    assert set(live) == {"ab", "e"} and operation(lake) == "replace"
    assert (live["ab"]["sequence_number"], live["ab"]["file_sequence_number"]) == (2, 4)
    assert live["e"]["sequence_number"] == 3


def test_a_new_vector_takes_the_place_of_the_old_one(lake: Lake) -> None:
    lake.create(format_version=3)
    lake.commit(Append(files=data_files("a", "b"))).unwrap()
    lake.commit(RowDelta(files=vectors("p", "a", "b"))).unwrap()
    with pytest.raises(InvalidInput, match="Cannot add a deletion vector to data file a: expected it to take in"):
        lake.commit(RowDelta(files=vectors("q", "a")))
    lake.commit(RowDelta(files=vectors("q", "a"), remove_delete_files=[("p", 4)])).unwrap()
    assert set(lake.live()) == {"a", "b", "q#4", "p#54"} and operation(lake) == "delete"


def test_two_vectors_for_one_file_in_one_delta_are_refused(lake: Lake) -> None:
    lake.create(format_version=3)
    lake.commit(Append(files=data_files("a"))).unwrap()
    with pytest.raises(InvalidInput, match="data file a: expected one, got 2"):
        lake.commit(RowDelta(files=joined(vectors("p", "a"), vectors("q", "a"))))


def test_position_delete_files_are_refused_in_v3_and_vectors_before(lake: Lake) -> None:
    lake.create(format_version=3)
    lake.commit(Append(files=data_files("a"))).unwrap()
    with pytest.raises(InvalidInput, match="new position deletes of v3 are deletion vectors"):
        lake.commit(RowDelta(files=position_deletes("d", "a")))
    old = Lake()
    old.create(format_version=2)
    old.commit(Append(files=data_files("a"))).unwrap()
    with pytest.raises(InvalidInput, match="null before v3"):
        old.commit(RowDelta(files=vectors("p", "a")))


def test_a_row_delta_of_data_and_deletes_is_an_overwrite(lake: Lake) -> None:
    lake.create(format_version=3)
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(RowDelta(files=joined(data_files("b"), vectors("p", "a")))).unwrap()
    assert operation(lake) == "overwrite" and set(lake.live()) == {"a", "b", "p#4"}
    assert {row["sequence_number"] for row in lake.live().values()} == {1, 2}


def test_partition_values_of_a_dropped_column_survive_a_rewrite(lake: Lake) -> None:
    lake.create(partition_by=["state"], properties={"commit.manifest.min-count-to-merge": "2"})
    lake.commit(Append(files=data_files("a", "b", state="CA"))).unwrap()
    lake.commit(UpdateSpec(change=lambda u: u.remove_field("state"))).unwrap()
    lake.commit(
        UpdateSchema(change=lambda u: u.delete_column("state").add_column("other", STRING), allow_incompatible=True)
    ).unwrap()
    lake.commit(Delete(files=["a"])).unwrap()
    assert lake.live()["b"]["partition"] == {"state": "CA"}


def test_a_transaction_removes_what_it_has_added_itself(lake: Lake) -> None:
    lake.create(format_version=3)
    base = lake.table
    lake.commit(Append(files=data_files("other"))).unwrap()
    # The second change rewrites the first one's manifest; on the retry its numbers are others.
    lake.commit(Append(files=data_files("a", "b")), Delete(files=["a"]), base=base).unwrap()
    live = lake.live()
    assert set(live) == {"other", "b"}
    assert (live["b"]["sequence_number"], live["b"]["first_row_id"]) == (2, 20)
    assert lake.metadata.last_sequence_number == 3


def test_where_the_caller_tells_the_partition_other_manifests_are_not_read(lake: Lake) -> None:
    lake.create(partition_by=["state"])
    states = ["CA", "WA", None, "OR"]
    for state in states:
        # Too many to be kept in memory.
        names = [f"{state}-{i}" for i in range(150)]
        lake.commit(Append(files=data_files(*names, state=state))).unwrap()
        lake.commit(RowDelta(files=position_deletes(f"d-{state}", f"{state}-7", state=state))).unwrap()
    reads: list[str] = []
    real = lake.catalog.storage.read
    lake.catalog.storage.read = lambda path: (reads.append(path), real(path))[1]
    lake.commit(Delete(files=data_files("None-7", state=pa.scalar(None, pa.string()).as_py()))).unwrap()
    assert len([p for p in reads if "-m" in p.rsplit("/", 1)[1]]) == 1
    reads.clear()
    lake.commit(Delete(files=data_files("WA-7", state="WA"))).unwrap()
    assert len([p for p in reads if "-m" in p.rsplit("/", 1)[1]]) == 1
    del lake.catalog.storage.read
    assert set(lake.live()) == {f"{s}-{i}" for s in states for i in range(150)} - {"None-7", "WA-7"} | {"d-CA", "d-OR"}


def test_a_file_that_was_added_twice_goes_from_both_manifests(lake: Lake) -> None:
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    lake.commit(Append(files=data_files("a", "b"))).unwrap()
    lake.commit(Delete(files=["a"])).unwrap()
    assert set(lake.live()) == {"b"}
