"""What a database server and many first openers do to the SQL catalog."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from tests.support.metadata_builder import empty_table
from tests.support.postgres import Postgres

from skipstone.catalog import SqlCatalog
from skipstone.errors import CommitOutcomeUnknown, CommitRejected
from skipstone.storage import MemoryStorage

T = ("db", "t")


@pytest.fixture
def catalog(postgres_uri: str) -> Iterator[SqlCatalog]:
    made = SqlCatalog(postgres_uri, warehouse="memory://lake", storage=MemoryStorage())
    made.create_namespace(("db",))
    made.publish(T, None, replace(empty_table(), location="memory://lake/db/t"))
    yield made
    made.close()


def _end(postgres_uri: str, server_process_id: int) -> None:
    with psycopg.connect(postgres_uri, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [server_process_id])


def test_a_connection_lost_at_commit_leaves_the_outcome_unknown(catalog: SqlCatalog, postgres_uri: str) -> None:
    before = catalog.load(T)
    lost: list[bool] = []

    def lose(connection: sa.Connection) -> None:
        if lost:
            return
        lost.append(True)
        _end(postgres_uri, connection.connection.dbapi_connection.info.backend_pid)

    sa.event.listen(catalog._database._engine, "commit", lose)
    with pytest.raises(CommitOutcomeUnknown, match="did not say whether it committed"):
        catalog.publish(T, before, replace(before.metadata, properties={"a": "1"}))
    assert len(list(catalog.storage.list("memory://lake"))) == 2
    assert catalog.load(T) == before
    catalog.publish(T, before, replace(before.metadata, properties={"a": "2"}))


def test_a_connection_lost_before_commit_is_a_rejection(catalog: SqlCatalog, postgres_uri: str) -> None:
    before = catalog.load(T)
    lost: list[bool] = []

    def lose(connection: sa.Connection, _cursor: object, statement: str, *_: object) -> None:
        if lost or not statement.startswith("UPDATE"):
            return
        lost.append(True)
        _end(postgres_uri, connection.connection.dbapi_connection.info.backend_pid)

    sa.event.listen(catalog._database._engine, "before_cursor_execute", lose)
    with pytest.raises(CommitRejected, match="Nothing was published"):
        catalog.publish(T, before, replace(before.metadata, properties={"a": "1"}))
    assert catalog.load(T) == before
    assert len(list(catalog.storage.list("memory://lake"))) == 1
    catalog.publish(T, before, replace(before.metadata, properties={"a": "2"}))


def test_a_server_that_was_restarted_is_found_again(catalog: SqlCatalog, postgres: Postgres) -> None:
    before = catalog.load(T)
    postgres.restart()
    assert catalog.load(T) == before
    catalog.publish(T, before, replace(before.metadata, properties={"a": "2"}))


def test_a_server_that_is_not_there_is_a_connection_error() -> None:
    with pytest.raises(ConnectionError, match="Cannot connect to the catalog") as caught:
        SqlCatalog("postgresql://me:secret@127.0.0.1:1/x", warehouse="/x", storage=MemoryStorage())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_of_many_first_openers_all_get_the_same_tables(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    uri = f"sqlite:///{tmp_path}/c.db" if kind == "sqlite" else request.getfixturevalue("postgres_uri")
    opened: list[SqlCatalog] = []
    start = threading.Barrier(8)

    def open_it(number: int) -> None:
        start.wait()
        catalog = SqlCatalog(uri, warehouse="memory://lake", storage=MemoryStorage())
        catalog.create_namespace((f"n{number}",))
        opened.append(catalog)

    threads = [threading.Thread(target=open_it, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 8
    for catalog in opened:
        assert catalog.list_namespaces() == [(f"n{i}",) for i in range(8)]
        catalog.close()
