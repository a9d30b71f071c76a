"""The contract of catalogs, asked of the Hive catalog over our own metastore service.

What a metastore has no notion of (namespaces in namespaces, names that differ in case only) is not asked.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contract import test_catalog as contract

from skipstone.catalog import Catalog
from skipstone.errors import CommitOutcomeUnknown, CommitRejected, InvalidInput, NotFound, Unsupported
from skipstone.hive.catalog import HiveCatalog
from skipstone.hive.client import HiveClient
from skipstone.hive.publish import import_statistics
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.service.reading import ReadingCalls
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import api
from skipstone.lake import Lake
from skipstone.storage import LocalStorage
from skipstone.storage.faulty import FaultyStorage

LAWS: list[Callable[[Any], None]] = [
    contract.test_it_keeps_the_protocol,
    contract.test_a_created_table_is_loaded_and_listed,
    contract.test_a_published_change_is_the_current_metadata,
    contract.test_a_loaded_table_is_what_the_file_says,
    contract.test_a_change_of_an_old_state_is_rejected_and_leaves_no_file,
    contract.test_a_change_of_a_dropped_table_is_rejected,
    contract.test_a_change_after_drop_and_create_is_rejected,
    contract.test_a_change_of_a_table_that_was_replaced_under_its_name_is_rejected,
    contract.test_a_table_recreated_under_a_name_is_loaded_anew,
    contract.test_a_name_is_taken_once,
    contract.test_another_tables_metadata_is_refused,
    contract.test_a_table_in_no_namespace_is_refused,
    contract.test_a_missing_table_is_not_found_and_the_others_are_named,
    contract.test_metadata_that_is_gone_is_not_found_by_table_and_path,
    contract.test_gzip_metadata_has_gz_in_its_name,
    contract.test_a_dropped_table_is_gone,
    contract.test_a_namespace_is_made_once,
    contract.test_a_missing_namespace_is_not_found,
    contract.test_a_key_both_set_and_removed_is_refused,
    contract.test_a_renamed_table_keeps_its_files,
    contract.test_a_rename_needs_a_table_and_a_free_name_and_a_namespace,
    contract.test_a_registered_table_is_the_same_table,
    contract.test_of_many_threads_each_commit_is_one_step,
    contract.test_of_many_creators_one_wins,
]


@pytest.fixture
def service() -> HiveService:
    return HiveService(HiveStore("sqlite://"), allow_writes=True)


@pytest.fixture
def catalog(tmp_path: Path, service: HiveService) -> Iterator[HiveCatalog]:
    """An empty catalog with the namespace `db`."""
    storage = FaultyStorage(LocalStorage(is_durable=False))
    with HiveServer(service, ServerSettings(port=0)) as server:
        made = HiveCatalog(f"thrift://127.0.0.1:{server.port}", warehouse=str(tmp_path / "lake"), storage=storage)
        made.create_namespace(("db",))
        yield made
        made.close()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("test_"))
def test_law(catalog: Catalog, law: Callable[[Any], None]) -> None:
    law(catalog)


@pytest.mark.parametrize(
    "identifier", [("t",), (), ("db", ""), ("", "t"), ("a.b", "t"), ("db", "x\n"), ("a", "b", "t")]
)
def test_a_name_that_a_metastore_cannot_hold_is_refused(catalog: Catalog, identifier: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        catalog.load(identifier)


def test_namespace_properties_are_set_changed_and_removed(catalog: Catalog) -> None:
    catalog.create_namespace(("p",), {"owner": "me", "comment": "ä", "location": "/far/p"})
    assert catalog.namespace_properties(("p",)) == {"owner": "me", "comment": "ä", "location": "/far/p"}
    catalog.update_namespace_properties(("p",), {"owner": "you", "new": ""}, ["comment", "never there"])
    assert catalog.namespace_properties(("p",)) == {"owner": "you", "new": "", "location": "/far/p"}
    assert catalog.default_location(("p", "t")) == "/far/p/t"


def test_an_entry_is_what_other_engines_expect(catalog: HiveCatalog) -> None:
    first = contract.created(catalog)
    second = catalog.publish(("db", "t"), first, contract.changed(first.metadata, a="1"))
    with HiveClient(catalog._client.uri) as client:
        entry = client.call("get_table", dbname="db", tbl_name="t")
    assert entry.tableType == "EXTERNAL_TABLE"
    assert entry.parameters["EXTERNAL"] == "TRUE"
    assert entry.parameters["table_type"] == "ICEBERG"
    assert entry.parameters["metadata_location"] == second.metadata_location
    assert entry.parameters["previous_metadata_location"] == first.metadata_location
    assert entry.parameters["a"] == "1"
    assert [column.name for column in entry.sd.cols] == [f.name for f in second.metadata.current_schema.fields]


def test_an_entry_says_nothing_of_a_state_that_is_gone(catalog: HiveCatalog, service: HiveService) -> None:
    first = contract.created(catalog, kept="1", removed="1")
    entry = service._store.table("db", "t")
    stale = {
        "current-snapshot-id": "7",
        "current-schema": "{}",
        "numRows": "5",
        "default-sort-order": "{}",
        "theirs": "x",
    }
    service._store.alter_table("db", "t", contract.replace(entry, parameters={**entry.parameters, **stale}))
    properties = {key: value for key, value in first.metadata.properties.items() if key != "removed"}
    catalog.publish(("db", "t"), first, contract.replace(first.metadata, properties=properties))
    found = service._store.table("db", "t").parameters
    assert (found["kept"], found["theirs"]) == ("1", "x")
    assert not found.keys() & {"removed", "current-snapshot-id", "numRows"}
    assert json.loads(found["default-sort-order"])["fields"]
    assert [f["name"] for f in json.loads(found["current-schema"])["fields"]] == [
        field.name for field in first.metadata.current_schema.fields
    ]


@pytest.mark.parametrize("uses_locks", [True, False])
def test_a_connection_that_breaks_before_the_change_rejects_it(
    catalog: HiveCatalog, monkeypatch: pytest.MonkeyPatch, uses_locks: bool
) -> None:
    first = contract.created(catalog)
    catalog._uses_locks = uses_locks
    call = HiveClient.call

    def broken(self: HiveClient, name: str, /, **arguments: Any) -> Any:
        if name == "get_table_req":
            raise ConnectionError("broken")
        return call(self, name, **arguments)

    monkeypatch.setattr(HiveClient, "call", broken)
    with pytest.raises(CommitRejected, match=r"Nothing was published\. Retry is safe"):
        catalog.publish(("db", "t"), first, contract.changed(first.metadata, a="1"))
    monkeypatch.undo()
    assert catalog.load(("db", "t")) == first
    assert catalog.publish(("db", "t"), first, contract.changed(first.metadata, a="1")).metadata.properties["a"] == "1"


def test_a_commit_leaves_no_statistics_marked_as_accurate(catalog: HiveCatalog, service: HiveService) -> None:
    first = contract.created(catalog)
    table = service._store.table("db", "t")
    marked = {**table.parameters, "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'}
    service._store.alter_table("db", "t", contract.replace(table, parameters=marked))
    catalog.publish(("db", "t"), first, contract.changed(first.metadata, a="1"))
    assert "COLUMN_STATS_ACCURATE" not in service._store.table("db", "t").parameters


def test_a_metastore_of_hive_4_has_all_that_is_asked_for(catalog: HiveCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    # What Hive 4.0 and 4.1 have dropped of what Hive 2 had.
    for name in ("get_table", "get_table_objects_by_name"):
        monkeypatch.delattr(ReadingCalls, name)
        with pytest.raises(Unsupported):
            catalog._client.call(name, dbname="db")
    contract.test_a_published_change_is_the_current_metadata(catalog)
    assert catalog.list_tables(("db",)) == [("db", "t")]
    catalog.rename(("db", "t"), ("db", "u"))
    assert import_statistics(catalog._client, "db", "u") == []
    catalog.drop(("db", "u"))


def test_a_table_of_another_kind_is_not_loaded_and_not_listed(catalog: HiveCatalog) -> None:
    with HiveClient(catalog._client.uri) as client:
        client.call("create_table", tbl=api.Table(tableName="plain", dbName="db", tableType="MANAGED_TABLE"))
    assert catalog.list_tables(("db",)) == []
    with pytest.raises(NotFound, match="expected an Iceberg table"):
        catalog.load(("db", "plain"))
    with pytest.raises(NotFound, match="expected an Iceberg table"):
        catalog.rename(("db", "plain"), ("db", "other"))
    with pytest.raises(NotFound, match="expected an Iceberg table"):
        catalog.drop(("db", "plain"))
    assert catalog._client.call("get_all_tables", db_name="db") == ["plain"]


@pytest.mark.parametrize("uses_locks", [True, False])
def test_a_commit_during_a_rename_is_not_undone(
    catalog: HiveCatalog, monkeypatch: pytest.MonkeyPatch, uses_locks: bool
) -> None:
    first = contract.created(catalog)
    renaming = HiveCatalog(
        catalog._client.uri, warehouse=catalog.warehouse, storage=LocalStorage(is_durable=False), uses_locks=uses_locks
    )
    wanted = contract.changed(first.metadata, a="1")
    call, moment = HiveClient.call, "lock" if uses_locks else "alter_table_with_environment_context"

    def late(self: HiveClient, name: str, /, **arguments: Any) -> Any:
        if self is renaming._client and name == moment:
            catalog.publish(("db", "t"), first, wanted)
        return call(self, name, **arguments)

    monkeypatch.setattr(HiveClient, "call", late)
    if uses_locks:
        renaming.rename(("db", "t"), ("db", "u"))
        assert catalog.load(("db", "u")).metadata == wanted
    else:
        with pytest.raises(CommitRejected, match="has been modified"):
            renaming.rename(("db", "t"), ("db", "u"))
        assert catalog.load(("db", "t")).metadata == wanted
    renaming.close()


def test_without_locks_the_metastore_decides_who_was_first(catalog: HiveCatalog) -> None:
    contract.created(catalog, count="0")
    unlocked = HiveCatalog(
        catalog._client.uri, warehouse=catalog.warehouse, storage=LocalStorage(is_durable=False), uses_locks=False
    )
    threads = [threading.Thread(target=contract._count_up, args=(unlocked, 8)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unlocked.load(("db", "t")).metadata.properties["count"] == "24"
    unlocked.close()


@pytest.mark.parametrize("is_done", [True, False])
def test_an_answer_that_is_lost_is_settled_by_looking(
    catalog: HiveCatalog, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    first = contract.created(catalog)
    call = HiveClient.call

    def losing(self: HiveClient, name: str, /, **arguments: Any) -> Any:
        if name == "alter_table_with_environment_context":
            if is_done:
                call(self, name, **arguments)
            raise ConnectionError("lost")
        return call(self, name, **arguments)

    monkeypatch.setattr(HiveClient, "call", losing)
    wanted = contract.changed(first.metadata, a="1")
    if is_done:
        assert catalog.publish(("db", "t"), first, wanted).metadata == wanted
        return
    with pytest.raises(CommitOutcomeUnknown, match="the new files are kept"):
        catalog.publish(("db", "t"), first, wanted)
    assert catalog.load(("db", "t")) == first


def test_a_metastore_that_is_gone_is_a_clear_error(catalog: HiveCatalog, tmp_path: Path) -> None:
    gone = HiveCatalog("thrift://127.0.0.1:1", warehouse=str(tmp_path), storage=LocalStorage())
    with pytest.raises(ConnectionError, match=r"Cannot connect to the metastore thrift://127\.0\.0\.1:1"):
        gone.load(("db", "t"))
    with pytest.raises(InvalidInput, match="expected thrift://host:port"):
        HiveClient("http://x")


def test_a_lock_that_another_holds_is_waited_for_and_then_refused(
    catalog: HiveCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = contract.created(catalog)
    monkeypatch.setattr("skipstone.hive.table_lock._LOCK_SECONDS_MAX", 0.1)
    other = HiveCatalog(catalog._client.uri, warehouse=catalog.warehouse, storage=catalog.storage)
    with other._locked(("db", "t")), pytest.raises(CommitRejected, match="expected a lock within"):
        catalog.publish(("db", "t"), first, contract.changed(first.metadata, a="1"))
    assert catalog.publish(("db", "t"), first, contract.changed(first.metadata, a="1")).metadata.properties["a"] == "1"
    other.close()


def test_columns_that_differ_in_case_alone_are_refused_before_anything_is_stored(
    catalog: HiveCatalog, tmp_path: Path
) -> None:
    lake = Lake(catalog)
    with pytest.raises(InvalidInput, match=r"Cannot keep db\.t in a metastore: .* got 'a' and 'A'"):
        lake.create_table("db.t", [("a", "int"), ("A", "int")])
    assert not lake.table_exists("db.t")
    made = lake.create_table("db.t", [("a", "int")])
    with pytest.raises(InvalidInput, match="Rename one of them"), made.update_schema() as update:
        update.add_column("A", "int")
    assert lake.load_table("db.t").metadata == made.metadata


def test_what_an_entry_has_no_room_for_is_in_the_metadata(catalog: HiveCatalog) -> None:
    table = Lake(catalog).create_table("db.t", [("a", "int")], properties={"k" * 257: "v", "long": "v" * 4001})
    with table.update_schema() as update:
        update.add_column("b", "int", doc="x" * 257)
    entry = catalog._client.call("get_table", dbname="db", tbl_name="t")
    assert not {"k" * 257, "long"} & entry.parameters.keys()
    assert [column.comment for column in entry.sd.cols] == [None, "x" * 256]
    assert Lake(catalog).load_table("db.t").properties.items() >= {"k" * 257: "v", "long": "v" * 4001}.items()


def test_a_column_name_that_no_metastore_holds_is_refused_before_anything_is_stored(
    catalog: HiveCatalog, tmp_path: Path
) -> None:
    lake = Lake(catalog)
    with pytest.raises(InvalidInput, match="at most 767 characters, got one of 768"):
        lake.create_table("db.t", [("x" * 768, "int")])
    with pytest.raises(InvalidInput, match="got one of 768"):
        lake.create_table("db.t", [("\U0001f600" * 384, "int")])
    assert not list((tmp_path / "lake").rglob("*.json"))
    table = lake.create_table("db.t", [("x" * 767, "int")])
    with pytest.raises(InvalidInput, match="got one of 800"), table.update_schema() as update:
        update.add_column("y" * 800, "int")
    assert [field.name for field in lake.load_table("db.t").metadata.current_schema.fields] == ["x" * 767]


def test_a_namespaces_comment_is_changed_and_removed(catalog: HiveCatalog) -> None:
    for comment in ("one", "two ' \" ü", ""):
        catalog.update_namespace_properties(("db",), {"comment": comment, "k": "v"})
        assert catalog.namespace_properties(("db",)).get("comment", "") == comment
    catalog.update_namespace_properties(("db",), {"comment": "three"})
    catalog.update_namespace_properties(("db",), removals=["comment"])
    assert "comment" not in catalog.namespace_properties(("db",))
    assert catalog.namespace_properties(("db",))["k"] == "v"
