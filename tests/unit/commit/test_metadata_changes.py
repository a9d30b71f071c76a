"""Changes of schema, spec, order, properties, refs and statistics: what they do, and when others are in their way."""

from __future__ import annotations

import pytest
from tests.support.commits import Lake, data_files

from skipstone.commit import (
    Append,
    Change,
    ChangeMetadata,
    Committed,
    Rejected,
    RemoveRef,
    RemoveSnapshots,
    SetLocation,
    SetRef,
    UpdateProperties,
    UpdateSchema,
    UpdateSortOrder,
    UpdateSpec,
    UpdateStatistics,
    UpgradeFormat,
)
from skipstone.errors import AlreadyExists, InvalidInput, NotFound
from skipstone.metadata.partitions.sorting import build_sort_order
from skipstone.metadata.tables.metadata_changes import set_properties
from skipstone.metadata.tables.refs import branch, tag
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.types import STRING


@pytest.fixture
def lake() -> Lake:
    lake = Lake()
    lake.create()
    lake.commit(Append(files=data_files("a"))).unwrap()
    return lake


def add_column(name: str) -> UpdateSchema:
    return UpdateSchema(change=lambda u: u.add_column(name, STRING))


PARTITION = UpdateSpec(change=lambda u: u.add_field("state"))
SORT = UpdateSortOrder(build=lambda schema: build_sort_order(schema, ["id desc"]))
PROPERTY = UpdateProperties(updates={"k": "v"})


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        (add_column("x"), add_column("y"), "schema 1 replaced schema 0 meanwhile"),
        (PARTITION, add_column("y"), "schema 1 replaced schema 0 meanwhile"),
        (SORT, add_column("y"), "schema 1 replaced schema 0 meanwhile"),
        (PARTITION, UpdateSpec(change=lambda u: u.add_field("id")), "the partition specs were changed meanwhile"),
        (SORT, UpdateSortOrder(build=lambda s: build_sort_order(s, ["id"])), "the sort order was changed meanwhile"),
        (SetLocation(location="memory://x"), SetLocation(location="memory://y"), "the location became memory://y"),
        (add_column("x"), Append(files=data_files("b")), None),
        (add_column("x"), PROPERTY, None),
        (PROPERTY, add_column("x"), None),
        (PROPERTY, UpdateProperties(updates={"k": "w"}), None),
        (UpgradeFormat(format_version=3), UpgradeFormat(format_version=3), None),
        (Append(files=data_files("b")), add_column("x"), None),
    ],
)
def test_structure_changes_hold_only_while_the_structure_is_as_it_was(
    lake: Lake, ours: Change, theirs: Change, conflict: str | None
) -> None:
    base = lake.table
    lake.commit(theirs).unwrap()
    outcome = lake.commit(ours, base=base)
    if conflict is None:
        assert isinstance(outcome, Committed)
    else:
        assert isinstance(outcome, Rejected) and conflict in outcome.message


def test_two_schema_changes_in_one_commit_build_on_each_other(lake: Lake) -> None:
    base = lake.table
    lake.commit(PROPERTY).unwrap()
    lake.commit(
        add_column("x"), UpdateSchema(change=lambda u: u.rename_column("x", "z").add_column("x", STRING)), base=base
    ).unwrap()
    assert [f.name for f in lake.metadata.current_schema.fields] == ["id", "state", "z", "x"]
    assert lake.metadata.last_column_id == 4


def test_a_schema_change_that_changes_nothing_publishes_nothing(lake: Lake) -> None:
    published = lake.catalog.published
    lake.commit(UpdateSchema(change=lambda u: None)).unwrap()
    lake.commit(UpdateSpec(change=lambda u: None)).unwrap()
    lake.commit(UpdateSortOrder(build=lambda s: build_sort_order(s, []))).unwrap()
    assert lake.catalog.published == published


def test_a_name_mapping_follows_the_schema(lake: Lake) -> None:
    mapping = '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["state"]}]'
    lake.commit(UpdateProperties(updates={"schema.name-mapping.default": mapping})).unwrap()
    lake.commit(UpdateSchema(change=lambda u: u.rename_column("state", "region").add_column("zip", STRING))).unwrap()
    assert lake.metadata.properties["schema.name-mapping.default"] == (
        '[{"field-id":1,"names":["id"]},{"field-id":2,"names":["region","state"]},{"field-id":3,"names":["zip"]}]'
    )


def test_a_column_that_the_sort_order_needs_is_not_dropped(lake: Lake) -> None:
    lake.commit(SORT).unwrap()
    with pytest.raises(InvalidInput, match="sort"):
        lake.commit(UpdateSchema(change=lambda u: u.delete_column("id"), allow_incompatible=True))


def test_properties_are_checked_set_and_removed(lake: Lake) -> None:
    lake.commit(UpdateProperties(updates={"a": "1", "b": "2"})).unwrap()
    lake.commit(UpdateProperties(updates={"a": "3"}, removals=["b", "never-set"])).unwrap()
    assert lake.metadata.properties.get("a") == "3" and "b" not in lake.metadata.properties
    with pytest.raises(InvalidInput, match="num-retries"):
        lake.commit(UpdateProperties(updates={"commit.retry.num-retries": "many"}))
    with pytest.raises(InvalidInput, match="got both"):
        lake.commit(UpdateProperties(updates={"a": "1"}, removals=["a"]))


def test_setting_the_format_version_property_upgrades(lake: Lake) -> None:
    lake.commit(UpdateProperties(updates={"format-version": "3"})).unwrap()
    assert lake.metadata.format_version == 3 and "format-version" not in lake.metadata.properties
    with pytest.raises(InvalidInput, match="downgrade"):
        lake.commit(UpgradeFormat(format_version=2))


def test_refs_are_set_as_the_caller_saw_them(lake: Lake) -> None:
    first = lake.metadata.current_snapshot_id
    assert first is not None
    lake.commit(SetRef(name="v1", ref=tag(first), is_new=True)).unwrap()
    with pytest.raises(AlreadyExists, match="'v1'"):
        lake.commit(SetRef(name="v1", ref=tag(first), is_new=True))
    lake.commit(Append(files=data_files("b"), ref="dev")).unwrap()
    lake.commit(SetRef(name="main", ref=lake.metadata.refs["dev"])).unwrap()
    assert set(lake.live()) == {"a", "b"} and set(lake.live("v1")) == {"a"}


def test_a_ref_that_others_moved_is_a_conflict(lake: Lake) -> None:
    first = lake.metadata.current_snapshot_id
    assert first is not None
    lake.commit(Append(files=data_files("b"))).unwrap()
    base = lake.table
    lake.commit(Append(files=data_files("c"))).unwrap()
    outcome = lake.commit(SetRef(name="main", ref=branch(first)), base=base)
    assert isinstance(outcome, Rejected) and "ref 'main' was set to snapshot" in outcome.message
    lake.commit(SetRef(name="main", ref=branch(first))).unwrap()
    assert set(lake.live()) == {"a"}


def test_a_ref_made_meanwhile_under_the_same_name_is_a_conflict(lake: Lake) -> None:
    first = lake.metadata.current_snapshot_id
    assert first is not None
    base = lake.table
    lake.commit(SetRef(name="dev", ref=branch(first), is_new=True)).unwrap()
    lake.commit(Append(files=data_files("b"), ref="dev")).unwrap()
    outcome = lake.commit(SetRef(name="dev", ref=branch(first), is_new=True), base=base)
    assert isinstance(outcome, Rejected) and "ref 'dev' was set" in outcome.message
    lake.commit(RemoveRef(name="dev")).unwrap()
    assert "dev" not in lake.metadata.refs
    with pytest.raises(NotFound, match="dev"):
        lake.commit(RemoveRef(name="dev"))


def test_snapshots_that_a_ref_needs_are_not_removed(lake: Lake) -> None:
    first = lake.metadata.current_snapshot_id
    assert first is not None
    lake.commit(Append(files=data_files("b"))).unwrap()
    base = lake.table
    lake.commit(SetRef(name="keep", ref=tag(first))).unwrap()
    outcome = lake.commit(RemoveSnapshots(snapshot_ids=[first]), base=base)
    assert isinstance(outcome, Rejected) and f"ref 'keep' points to snapshot {first}" in outcome.message
    lake.commit(RemoveSnapshots(snapshot_ids=[first], refs=["keep"])).unwrap()
    assert [s.snapshot_id for s in lake.metadata.snapshots] == [lake.metadata.current_snapshot_id]
    assert "keep" not in lake.metadata.refs


def test_statistics_are_registered_for_snapshots_that_are_there(lake: Lake) -> None:
    first = lake.metadata.current_snapshot_id
    assert first is not None
    table = StatisticsFile(
        snapshot_id=first,
        statistics_path="memory://s.puffin",
        file_size_in_bytes=9,
        file_footer_size_in_bytes=5,
        blob_metadata=(),
    )
    partition = PartitionStatisticsFile(snapshot_id=first, statistics_path="memory://p.parquet", file_size_in_bytes=3)
    lake.commit(UpdateStatistics(set_table=[table], set_partition=[partition])).unwrap()
    assert lake.metadata.statistics == (table,) and lake.metadata.partition_statistics == (partition,)
    lake.commit(UpdateStatistics(remove_table=[first], remove_partition=[first])).unwrap()
    assert lake.metadata.statistics == () and lake.metadata.partition_statistics == ()
    lake.commit(Append(files=data_files("b"))).unwrap()
    base = lake.table
    lake.commit(RemoveSnapshots(snapshot_ids=[first])).unwrap()
    outcome = lake.commit(UpdateStatistics(set_table=[table]), base=base)
    assert isinstance(outcome, Rejected) and "was removed meanwhile" in outcome.message


def test_any_other_change_is_a_function(lake: Lake) -> None:
    change = ChangeMetadata(
        operation="note", change=lambda base, m, context: set_properties(m, {"note": context.table})
    )
    lake.commit(change).unwrap()
    assert lake.metadata.properties["note"] == "db.sales"
