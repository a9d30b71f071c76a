"""What every catalog does, asked of each one."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.metadata_builder import empty_table, table

from skipstone.catalog import Catalog, FilesystemCatalog, LoadedTable, SqlCatalog
from skipstone.errors import (
    AlreadyExists,
    CommitOutcomeUnknown,
    CommitRejected,
    FormatViolation,
    InvalidInput,
    NotFound,
    Unsupported,
)
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage import LocalStorage
from skipstone.storage.faulty import Fault, FaultyStorage

KINDS = ["sqlite", "sqlite in memory", "postgres", "filesystem"]
SQL = ["sqlite", "sqlite in memory", "postgres"]
SHARED = ["sqlite", "postgres", "filesystem"]
T = ("db", "t")


@pytest.fixture
def storage() -> FaultyStorage:
    return FaultyStorage(LocalStorage(is_durable=False))


@pytest.fixture
def catalog(request: pytest.FixtureRequest, tmp_path: Path, storage: FaultyStorage) -> Iterator[Catalog]:
    """An empty catalog with the namespace `db`."""
    warehouse = str(tmp_path / "lake")
    match request.param:
        case "sqlite":
            made: Catalog = SqlCatalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=warehouse, storage=storage)
        case "sqlite in memory":
            made = SqlCatalog("sqlite://", warehouse=warehouse, storage=storage)
        case "postgres":
            made = SqlCatalog(request.getfixturevalue("postgres_uri"), warehouse=warehouse, storage=storage)
        case _:
            made = FilesystemCatalog(warehouse=warehouse, storage=storage)
    made.create_namespace(("db",))
    yield made
    if isinstance(made, SqlCatalog):
        made.close()


every = pytest.mark.parametrize("catalog", KINDS, indirect=True)
sql = pytest.mark.parametrize("catalog", SQL, indirect=True)
shared = pytest.mark.parametrize("catalog", SHARED, indirect=True)


def created(catalog: Catalog, identifier: tuple[str, ...] = T, **changes: str) -> LoadedTable:
    metadata = replace(empty_table(3), location=catalog.default_location(identifier))
    return catalog.publish(identifier, None, changed(metadata, **changes))


def changed(metadata: TableMetadata, **properties: str) -> TableMetadata:
    return replace(metadata, properties={**metadata.properties, **properties})


@every
def test_it_keeps_the_protocol(catalog: Catalog) -> None:
    assert isinstance(catalog, Catalog)


@every
def test_a_created_table_is_loaded_and_listed(catalog: Catalog) -> None:
    assert not catalog.table_exists(T)
    made = created(catalog)
    assert catalog.table_exists(T)
    assert catalog.list_tables(("db",)) == [T]
    assert catalog.load(T) == made
    assert made.metadata_location.startswith(f"{catalog.default_location(T)}/metadata/")
    assert catalog.storage.exists(made.metadata_location)


@every
def test_a_published_change_is_the_current_metadata(catalog: Catalog) -> None:
    first = created(catalog)
    second = catalog.publish(T, first, changed(first.metadata, a="1"))
    third = catalog.publish(T, second, changed(second.metadata, a="2"))
    assert catalog.load(T) == third
    assert third.metadata.properties["a"] == "2"
    assert len({first.metadata_location, second.metadata_location, third.metadata_location}) == 3
    assert catalog.storage.exists(first.metadata_location)


@every
def test_a_loaded_table_is_what_the_file_says(catalog: Catalog) -> None:
    metadata = replace(table(3), location=catalog.default_location(T))
    made = catalog.publish(T, None, metadata)
    again = pickle.loads(pickle.dumps(metadata))
    assert made.metadata == again
    assert json.loads(catalog.storage.read(made.metadata_location))["location"] == catalog.default_location(T)


@every
def test_a_change_of_an_old_state_is_rejected_and_leaves_no_file(catalog: Catalog) -> None:
    first = created(catalog)
    second = catalog.publish(T, first, changed(first.metadata, a="1"))
    files = {info.path for info in catalog.storage.list(catalog.warehouse)}
    with pytest.raises(CommitRejected, match="Retry is safe"):
        catalog.publish(T, first, changed(first.metadata, a="2"))
    assert catalog.load(T) == second
    assert {info.path for info in catalog.storage.list(catalog.warehouse)} == files


@every
def test_a_change_of_a_dropped_table_is_rejected(catalog: Catalog) -> None:
    first = created(catalog)
    catalog.drop(T)
    with pytest.raises(CommitRejected, match="dropped"):
        catalog.publish(T, first, changed(first.metadata, a="2"))
    assert not catalog.table_exists(T)


@every
def test_a_change_after_drop_and_create_is_rejected(catalog: Catalog) -> None:
    first = created(catalog)
    second = catalog.publish(T, first, changed(first.metadata, a="1"))
    catalog.drop(T)
    again = created(catalog, b="1")
    with pytest.raises(CommitRejected):
        catalog.publish(T, second, changed(second.metadata, a="2"))
    assert catalog.load(T) == again


@every
def test_a_change_of_a_table_that_was_replaced_under_its_name_is_rejected(catalog: Catalog) -> None:
    first = created(catalog)
    catalog.drop(T)
    other = replace(first.metadata, table_uuid=uuid.uuid4())
    again = catalog.publish(T, None, other)
    with pytest.raises(CommitRejected):
        catalog.publish(T, first, changed(first.metadata, a="2"))
    assert catalog.load(T) == again


@every
def test_a_table_recreated_under_a_name_is_loaded_anew(catalog: Catalog) -> None:
    created(catalog, a="old")
    catalog.load(T)
    catalog.drop(T)
    created(catalog, a="new")
    assert catalog.load(T).metadata.properties["a"] == "new"


@every
def test_a_name_is_taken_once(catalog: Catalog) -> None:
    made = created(catalog)
    files = {info.path for info in catalog.storage.list(catalog.warehouse)}
    with pytest.raises(AlreadyExists, match=r"db\.t: the name is taken"):
        created(catalog)
    assert catalog.load(T) == made
    assert {info.path for info in catalog.storage.list(catalog.warehouse)} == files


@every
def test_another_tables_metadata_is_refused(catalog: Catalog) -> None:
    first = created(catalog)
    stranger = replace(first.metadata, table_uuid=uuid.uuid4())
    with pytest.raises(InvalidInput, match="The table was replaced"):
        catalog.publish(T, first, stranger)
    assert catalog.load(T) == first


@every
def test_a_table_in_no_namespace_is_refused(catalog: Catalog) -> None:
    metadata = replace(empty_table(), location=f"{catalog.warehouse}/nowhere/t")
    with pytest.raises(NotFound, match=r"Cannot find namespace nowhere\. Namespaces: db\."):
        catalog.publish(("nowhere", "t"), None, metadata)


@every
def test_a_missing_table_is_not_found_and_the_others_are_named(catalog: Catalog) -> None:
    created(catalog, ("db", "shipping"))
    with pytest.raises(NotFound, match=r"Cannot find table db\.shiping\. Tables of db: shipping\. Did you mean"):
        catalog.load(("db", "shiping"))
    with pytest.raises(NotFound, match=r"Cannot find table db\.nothing"):
        catalog.drop(("db", "nothing"))
    with pytest.raises(NotFound, match="Cannot find namespace d"):
        catalog.load(("d", "t"))


@every
@pytest.mark.parametrize(
    "identifier", [("t",), (), ("db", ""), ("", "t"), ("a.b", "t"), ("db", "x\n"), ("db", "x" * 256)]
)
def test_a_name_that_no_catalog_can_hold_is_refused(catalog: Catalog, identifier: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput):
        catalog.load(identifier)
    with pytest.raises(InvalidInput):
        catalog.publish(identifier, None, empty_table())


@every
def test_metadata_that_is_gone_is_not_found_by_table_and_path(catalog: Catalog) -> None:
    first = created(catalog)
    other = pickle.loads(pickle.dumps(first))
    catalog.storage.delete(first.metadata_location)
    if isinstance(catalog, FilesystemCatalog):
        with pytest.raises(NotFound, match=r"Cannot find table db\.t"):
            catalog.load(T)
    else:
        catalog._store._kept.clear()  # type: ignore[attr-defined]
        with pytest.raises(NotFound, match=rf"table db\.t: its metadata file {other.metadata_location} does not exist"):
            catalog.load(T)


@every
def test_damaged_metadata_is_a_violation_that_names_the_file(catalog: Catalog) -> None:
    first = created(catalog)
    catalog.storage.write_over(first.metadata_location, b'{"format-version": 2')
    if isinstance(catalog, SqlCatalog):
        catalog._store._kept.clear()
    with pytest.raises(FormatViolation, match=first.metadata_location):
        catalog.load(T)


@every
def test_metadata_from_the_future_is_unsupported(catalog: Catalog) -> None:
    first = created(catalog)
    catalog.storage.write_over(first.metadata_location, b'{"format-version": 99}')
    if isinstance(catalog, SqlCatalog):
        catalog._store._kept.clear()
    with pytest.raises(Unsupported, match="Use a newer release"):
        catalog.load(T)


@every
def test_gzip_metadata_has_gz_in_its_name(catalog: Catalog) -> None:
    first = created(catalog, **{"write.metadata.compression-codec": "gzip"})
    second = catalog.publish(T, first, changed(first.metadata, a="1"))
    assert second.metadata_location.endswith(".gz.metadata.json")
    assert catalog.storage.read(second.metadata_location)[:2] == b"\x1f\x8b"
    third = catalog.publish(T, second, changed(second.metadata, **{"write.metadata.compression-codec": "none"}))
    fourth = catalog.publish(T, third, changed(third.metadata, a="2"))
    assert not fourth.metadata_location.endswith(".gz.metadata.json")
    assert catalog.load(T) == fourth


@every
def test_a_dropped_table_is_gone(catalog: Catalog) -> None:
    created(catalog)
    catalog.drop(T)
    assert not catalog.table_exists(T)
    assert catalog.list_tables(("db",)) == []


# --- namespaces


@every
def test_namespaces_are_made_listed_and_dropped(catalog: Catalog) -> None:
    catalog.create_namespace(("db2",))
    catalog.create_namespace(("db", "inner"))
    assert catalog.list_namespaces() == [("db",), ("db2",)]
    assert catalog.list_namespaces(("db",)) == [("db", "inner")]
    assert catalog.list_namespaces(("db2",)) == []
    assert catalog.namespace_exists(("db", "inner"))
    assert not catalog.namespace_exists(("db", "other"))
    assert not catalog.namespace_exists(("d",))
    assert not catalog.namespace_exists(("inner",))
    catalog.drop_namespace(("db", "inner"))
    catalog.drop_namespace(("db2",))
    assert catalog.list_namespaces() == [("db",)]
    assert catalog.list_namespaces(("db",)) == []


@every
def test_a_namespace_is_made_once(catalog: Catalog) -> None:
    with pytest.raises(AlreadyExists, match="namespace db"):
        catalog.create_namespace(("db",))


@every
def test_a_namespace_with_something_in_it_is_kept(catalog: Catalog) -> None:
    created(catalog)
    with pytest.raises(InvalidInput, match="got 1 tables and 0 namespaces"):
        catalog.drop_namespace(("db",))
    catalog.drop(T)
    catalog.create_namespace(("db", "inner"))
    with pytest.raises(InvalidInput, match="got 0 tables and 1 namespaces"):
        catalog.drop_namespace(("db",))
    catalog.drop_namespace(("db", "inner"))
    catalog.drop_namespace(("db",))
    assert not catalog.namespace_exists(("db",))


@every
def test_a_missing_namespace_is_not_found(catalog: Catalog) -> None:
    for ask in (
        catalog.drop_namespace,
        catalog.list_tables,
        catalog.list_namespaces,
        catalog.namespace_properties,
        catalog.update_namespace_properties,
    ):
        with pytest.raises(NotFound, match=r"Cannot find namespace dbs\. Namespaces: db\."):
            ask(("dbs",))  # type: ignore[operator]


@every
def test_tables_are_listed_by_their_own_namespace(catalog: Catalog) -> None:
    catalog.create_namespace(("db", "inner"))
    created(catalog, ("db", "b"))
    created(catalog, ("db", "a"))
    created(catalog, ("db", "inner", "c"))
    assert catalog.list_tables(("db",)) == [("db", "a"), ("db", "b")]
    assert catalog.list_tables(("db", "inner")) == [("db", "inner", "c")]
    assert catalog.list_namespaces(("db",)) == [("db", "inner")]


@every
def test_names_with_wildcards_and_case_are_kept_apart(catalog: Catalog) -> None:
    for name in ("d_", "d%", "dbx", "DB"):
        catalog.create_namespace((name,))
    catalog.create_namespace(("d_", "one"))
    catalog.create_namespace(("DB", "two"))
    assert catalog.list_namespaces() == [("DB",), ("d%",), ("d_",), ("db",), ("dbx",)]
    assert catalog.list_namespaces(("d%",)) == []
    assert catalog.list_namespaces(("d_",)) == [("d_", "one")]
    assert catalog.list_namespaces(("db",)) == []
    catalog.drop_namespace(("db",))
    assert catalog.namespace_exists(("DB",))


@sql
def test_namespace_properties_are_set_changed_and_removed(catalog: Catalog) -> None:
    catalog.create_namespace(("p",), {"owner": "me", "comment": "ä"})
    assert catalog.namespace_properties(("p",)) == {"owner": "me", "comment": "ä"}
    catalog.update_namespace_properties(("p",), {"owner": "you", "new": ""}, ["comment", "never there"])
    assert catalog.namespace_properties(("p",)) == {"owner": "you", "new": ""}
    catalog.update_namespace_properties(("p",), removals=["owner", "new", "exists"])
    assert catalog.namespace_properties(("p",)) == {}
    assert catalog.namespace_exists(("p",))


@sql
def test_a_key_both_set_and_removed_is_refused(catalog: Catalog) -> None:
    with pytest.raises(InvalidInput, match="got a both to set and to remove"):
        catalog.update_namespace_properties(("db",), {"a": "1"}, ["a"])


@sql
@pytest.mark.parametrize("properties", [{"a": "x" * 1001}, {"k" * 256: "x"}, {"": "x"}, {"exists": "no"}, {"a": 1}])
def test_namespace_properties_that_do_not_fit_are_refused(catalog: Catalog, properties: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="Invalid namespace property"):
        catalog.update_namespace_properties(("db",), properties)
    assert catalog.namespace_properties(("db",)) == {}


@sql
def test_tables_go_to_their_namespaces_location(catalog: Catalog) -> None:
    catalog.create_namespace(("far",), {"location": "s3://elsewhere/far/"})
    assert catalog.default_location(("far", "t")) == "s3://elsewhere/far/t"
    assert catalog.default_location(T) == f"{catalog.warehouse}/db/t"


@every
@pytest.mark.parametrize("name", ["..", ".", "a/b"])
def test_a_name_that_leaves_the_warehouse_gives_no_location(catalog: Catalog, name: str) -> None:
    with pytest.raises(InvalidInput, match="Cannot derive a location"):
        catalog.default_location(("db", name))


# --- rename and register


@sql
def test_a_renamed_table_keeps_its_files(catalog: Catalog) -> None:
    catalog.create_namespace(("db2",))
    made = created(catalog)
    catalog.rename(T, ("db2", "u"))
    assert not catalog.table_exists(T)
    assert catalog.load(("db2", "u")) == replace(made, identifier=("db2", "u"))
    renamed = catalog.load(("db2", "u"))
    assert catalog.publish(("db2", "u"), renamed, changed(renamed.metadata, a="1")).metadata.location == (
        made.metadata.location
    )


@sql
def test_a_rename_needs_a_table_and_a_free_name_and_a_namespace(catalog: Catalog) -> None:
    made = created(catalog)
    created(catalog, ("db", "u"))
    with pytest.raises(AlreadyExists, match=r"rename db\.t to table db\.u"):
        catalog.rename(T, ("db", "u"))
    with pytest.raises(NotFound, match=r"Cannot find table db\.x"):
        catalog.rename(("db", "x"), ("db", "y"))
    with pytest.raises(NotFound, match="Cannot find namespace nowhere"):
        catalog.rename(T, ("nowhere", "t"))
    assert catalog.load(T) == made


@sql
def test_a_registered_table_is_the_same_table(catalog: Catalog) -> None:
    made = created(catalog)
    catalog.drop(T)
    assert catalog.register(("db", "again"), made.metadata_location).metadata == made.metadata
    again = catalog.load(("db", "again"))
    assert again.metadata_location == made.metadata_location
    later = catalog.publish(("db", "again"), again, changed(again.metadata, a="1"))
    assert later.metadata_location.rsplit("/", 1)[1].startswith("00001-")


@sql
def test_registering_needs_a_metadata_file_and_a_free_name(catalog: Catalog, tmp_path: Path) -> None:
    made = created(catalog)
    with pytest.raises(AlreadyExists, match=r"register table db\.t"):
        catalog.register(T, made.metadata_location)
    with pytest.raises(NotFound, match="does not exist"):
        catalog.register(("db", "u"), f"{tmp_path}/nowhere.metadata.json")
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(FormatViolation):
        catalog.register(("db", "u"), f"{tmp_path}/x.json")
    assert catalog.list_tables(("db",)) == [T]


@pytest.mark.parametrize("catalog", ["filesystem"], indirect=True)
def test_a_directory_is_the_table_so_it_is_not_renamed_or_registered(catalog: Catalog) -> None:
    made = created(catalog)
    with pytest.raises(Unsupported, match="directory is the table"):
        catalog.rename(T, ("db", "u"))
    with pytest.raises(Unsupported, match="directory is the table"):
        catalog.register(("db", "u"), made.metadata_location)
    with pytest.raises(Unsupported, match="directories only"):
        catalog.create_namespace(("p",), {"a": "1"})
    with pytest.raises(InvalidInput, match="expected location"):
        catalog.publish(T, made, replace(made.metadata, location="/elsewhere"))


# --- several writers


@every
def test_of_many_threads_each_commit_is_one_step(catalog: Catalog) -> None:
    created(catalog, count="0")
    rejected = [0]

    def count_up() -> None:
        for _ in range(10):
            while True:
                now = catalog.load(T)
                try:
                    catalog.publish(T, now, changed(now.metadata, count=str(int(now.metadata.properties["count"]) + 1)))
                except CommitRejected:
                    rejected[0] += 1
                    continue
                break

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert catalog.load(T).metadata.properties["count"] == "40"


@every
def test_of_many_creators_one_wins(catalog: Catalog) -> None:
    won: list[LoadedTable] = []
    start = threading.Barrier(4)

    def create(number: int) -> None:
        codec = "gzip" if number % 2 else "none"
        start.wait()
        try:
            won.append(created(catalog, n=str(number), **{"write.metadata.compression-codec": codec}))
        except AlreadyExists:
            return

    threads = [threading.Thread(target=create, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [catalog.load(T)] == won


def _count_up(catalog: Catalog, times: int) -> None:
    for _ in range(times):
        while True:
            now = catalog.load(T)
            try:
                catalog.publish(T, now, changed(now.metadata, count=str(int(now.metadata.properties["count"]) + 1)))
            except CommitRejected:
                continue
            break


@pytest.mark.parametrize(
    ("catalog", "method"), [*((kind, "fork") for kind in SHARED), ("sqlite", "spawn")], indirect=["catalog"]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_of_many_processes_each_commit_is_one_step(catalog: Catalog, method: str) -> None:
    created(catalog, count="0")
    unfaulty: Catalog
    if isinstance(catalog, SqlCatalog):
        uri = catalog._database.uri.render_as_string(hide_password=False)
        unfaulty = SqlCatalog(uri, warehouse=catalog.warehouse, storage=LocalStorage(is_durable=False))
    else:
        unfaulty = FilesystemCatalog(warehouse=catalog.warehouse, storage=LocalStorage(is_durable=False))
    unfaulty.load(T)
    context = multiprocessing.get_context(method)
    processes = [context.Process(target=_count_up, args=(unfaulty, 8)) for _ in range(3)]
    for process in processes:
        process.start()
    _count_up(unfaulty, 8)
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    assert unfaulty.load(T).metadata.properties["count"] == "32"
    if isinstance(unfaulty, SqlCatalog):
        unfaulty.close()


# --- failures


@every
@pytest.mark.parametrize("is_answer_lost", [False, True])
def test_a_fault_at_any_call_of_a_commit_leaves_the_old_or_the_new_state(
    catalog: Catalog, storage: FaultyStorage, is_answer_lost: bool
) -> None:
    first = created(catalog)
    storage.plan([])
    catalog.publish(T, first, changed(first.metadata, a="0"))
    calls = len(storage.calls)
    assert calls >= 1
    for number in range(1, calls + 1):
        before = catalog.load(T)
        files = {info.path for info in storage.list(catalog.warehouse)}
        wanted = changed(before.metadata, a=str(number))
        storage.plan([Fault(number=number, is_answer_lost=is_answer_lost)])
        try:
            catalog.publish(T, before, wanted)
            outcome = "done"
        except CommitOutcomeUnknown:
            outcome = "unknown"
        except (OSError, CommitRejected):
            outcome = "not done"
        assert storage.faults_ahead == 0
        if outcome == "not done":
            stored = {info.path for info in storage.list(catalog.warehouse)}
            assert stored <= files | {path for path in stored if path.endswith("version-hint.text")}
        storage.plan([])
        now = catalog.load(T).metadata
        assert now in {"done": [wanted], "unknown": [before.metadata, wanted], "not done": [before.metadata]}[outcome]
        latest = catalog.load(T)
        retried = changed(latest.metadata, a=f"{number} again")
        assert catalog.publish(T, latest, retried).metadata == catalog.load(T).metadata == retried


@shared
def test_a_second_opening_sees_the_same_tables(catalog: Catalog) -> None:
    made = created(catalog)
    reopened: Catalog
    if isinstance(catalog, SqlCatalog):
        uri = catalog._database.uri.render_as_string(hide_password=False)
        reopened = SqlCatalog(uri, warehouse=catalog.warehouse, storage=LocalStorage())
    else:
        reopened = FilesystemCatalog(warehouse=catalog.warehouse, storage=LocalStorage())
    assert reopened.load(T) == made
    again = pickle.loads(pickle.dumps(reopened))
    assert again.load(T) == made
    for opened in (reopened, again):
        if isinstance(opened, SqlCatalog):
            opened.close()
