"""The SQL catalog's database: what others left in it, and what its failures mean."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.metadata_builder import empty_table

from skipstone.catalog import LoadedTable, SqlCatalog
from skipstone.catalog.sql_schema import TABLES
from skipstone.errors import (
    AlreadyExists,
    CommitOutcomeUnknown,
    CommitRejected,
    FormatViolation,
    InvalidInput,
    NotFound,
    Unsupported,
)
from skipstone.storage import MemoryStorage

T = ("db", "t")


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    made = SqlCatalog(f"sqlite:///{tmp_path}/deep/er/c.db", warehouse="memory://lake", storage=MemoryStorage())
    made.create_namespace(("db",))
    return made


def created(catalog: SqlCatalog, name: tuple[str, ...] = T) -> LoadedTable:
    return catalog.publish(name, None, replace(empty_table(), location=catalog.default_location(name)))


def insert(catalog: SqlCatalog, **row: str | None) -> None:
    with catalog._database.writing("test") as connection:
        connection.execute(sa.insert(TABLES).values(catalog_name="default", **row))


def test_the_database_is_in_write_ahead_mode(catalog: SqlCatalog) -> None:
    with catalog._database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_views_are_not_tables_but_hold_their_names(catalog: SqlCatalog) -> None:
    insert(catalog, table_namespace="db", table_name="v", metadata_location="memory://x", iceberg_type="VIEW")
    assert catalog.list_tables(("db",)) == []
    assert not catalog.table_exists(("db", "v"))
    for ask in (catalog.load, catalog.drop):
        with pytest.raises(NotFound):
            ask(("db", "v"))
    with pytest.raises(AlreadyExists):
        created(catalog, ("db", "v"))
    created(catalog)
    with pytest.raises(AlreadyExists):
        catalog.rename(T, ("db", "v"))
    catalog.drop(T)
    with pytest.raises(InvalidInput, match="expected it to be empty"):
        catalog.drop_namespace(("db",))
    assert len(list(catalog.storage.list("memory://lake"))) == 1


def test_a_row_without_a_type_is_a_table(catalog: SqlCatalog) -> None:
    made = created(catalog)
    insert(catalog, table_namespace="x.y", table_name="old", metadata_location=made.metadata_location)
    assert catalog.load(("x", "y", "old")).metadata == made.metadata
    assert catalog.list_namespaces() == [("db",), ("x",)]
    assert catalog.list_namespaces(("x",)) == [("x", "y")]
    assert catalog.namespace_properties(("x",)) == {}
    catalog.publish(("x", "y", "old"), catalog.load(("x", "y", "old")), made.metadata)


def test_views_are_told_apart_as_soon_as_another_engine_has_made_the_database_new(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.execute(
            "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255), table_namespace VARCHAR(255), "
            "table_name VARCHAR(255), metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), "
            "PRIMARY KEY (catalog_name, table_namespace, table_name))"
        )
        catalog = SqlCatalog(f"sqlite:///{tmp_path}/old.db", warehouse="memory://lake", storage=MemoryStorage())
        catalog.create_namespace(("db",))
        made = created(catalog)
        connection.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
        connection.execute("INSERT INTO iceberg_tables VALUES ('default', 'db', 'v', 'memory://v.json', NULL, 'VIEW')")
        connection.commit()
        assert catalog.list_tables(("db",)) == [T]
        assert not catalog.table_exists(("db", "v"))
        with pytest.raises(NotFound):
            catalog.drop(("db", "v"))
        catalog.publish(T, made, replace(made.metadata, properties={"a": "1"}))
        assert catalog.load(T).metadata.properties == {"a": "1"}
        catalog.close()


def test_a_row_that_points_nowhere_says_so(catalog: SqlCatalog) -> None:
    insert(catalog, table_namespace="db", table_name="a", metadata_location="memory://gone.metadata.json")
    insert(catalog, table_namespace="db", table_name="b", metadata_location=None)
    with pytest.raises(NotFound, match=r"table db\.a: its metadata file memory://gone\.metadata\.json does not exist"):
        catalog.load(("db", "a"))
    with pytest.raises(FormatViolation, match=r"row of table db\.b: expected a metadata location, got none"):
        catalog.load(("db", "b"))
    assert catalog.list_tables(("db",)) == [("db", "a"), ("db", "b")]
    catalog.drop(("db", "a"))


def test_a_lost_answer_to_commit_is_unknown_and_keeps_the_file(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = created(catalog)
    dialect = catalog._database._engine.dialect
    real = dialect.do_commit

    def lose(connection: Any) -> None:
        real(connection)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(dialect, "do_commit", lose)
    with pytest.raises(CommitOutcomeUnknown, match="the new files are kept"):
        catalog.publish(T, made, replace(made.metadata, properties={"a": "1"}))
    monkeypatch.undo()
    now = catalog.load(T)
    assert now.metadata.properties == {"a": "1"}
    assert catalog.storage.exists(now.metadata_location)


def test_a_database_that_stays_locked_rejects_and_leaves_no_file(tmp_path: Path, catalog: SqlCatalog) -> None:
    made = created(catalog)
    with catalog._database.reading() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 10")
        blocker = sqlite3.connect(tmp_path / "deep" / "er" / "c.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(CommitRejected, match="database is locked"):
        catalog.publish(T, made, made.metadata)
    assert [i.path for i in catalog.storage.list("memory://lake")] == [made.metadata_location]
    # Readers do not wait for the writer.
    assert catalog.load(T) == made
    blocker.execute("ROLLBACK")
    blocker.close()
    catalog.publish(T, made, made.metadata)


def test_a_name_too_long_for_the_database_is_refused_before_anything_is_written(catalog: SqlCatalog) -> None:
    metadata = replace(empty_table(), location="memory://" + "x" * 1000)
    with pytest.raises(InvalidInput, match="expected at most 1000 characters"):
        catalog.publish(T, None, metadata)
    assert list(catalog.storage.list("memory://lake")) == []


def test_metadata_goes_where_the_table_says(catalog: SqlCatalog) -> None:
    made = created(catalog)
    moved = replace(made.metadata, properties={"write.metadata.path": "memory://elsewhere/m/"})
    location = catalog.publish(T, made, moved).metadata_location
    assert location.startswith("memory://elsewhere/m/00001-")


def test_parsed_metadata_is_read_once(catalog: SqlCatalog) -> None:
    made = created(catalog)
    assert catalog.load(T).metadata is made.metadata
    other = SqlCatalog(str(catalog._database.uri), warehouse="memory://lake", storage=catalog.storage)
    first = other.load(T)
    assert first.metadata is not made.metadata
    assert other.load(T).metadata is first.metadata


@pytest.mark.parametrize("uri", ["nonsense", "", "sqlite", "://x"])
def test_what_is_no_uri_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected sqlite:///file\.db or postgresql://"):
        SqlCatalog(uri, warehouse="/x", storage=MemoryStorage())


def test_another_database_is_unsupported_and_the_password_not_shown() -> None:
    with pytest.raises(Unsupported, match="got mysql") as caught:
        SqlCatalog("mysql://me:secret@host/db", warehouse="/x", storage=MemoryStorage())
    assert "secret" not in str(caught.value)


def test_a_database_that_is_not_there_is_a_connection_error(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises((ConnectionError, CommitRejected), match="atalog"):
        SqlCatalog(f"sqlite:///{tmp_path}/d", warehouse="/x", storage=MemoryStorage())


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database, but long enough to be looked at" * 10)
    with pytest.raises((ConnectionError, FormatViolation), match=r"x\.db"):
        SqlCatalog(f"sqlite:///{tmp_path}/x.db", warehouse="/x", storage=MemoryStorage())
