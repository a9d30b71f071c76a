"""One connection pool to a catalog's database, safe across threads and fork, and what its failures mean.

SQLite runs in write-ahead mode, so that readers and the one writer do not wait for each other, and a write takes the
lock at its start, so that check and put are one step. An in-memory database is one connection behind one lock.

A write ends in one of three ways: it happened, it did not (CommitRejected), or the answer to COMMIT was lost
(CommitOutcomeUnknown).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from skipstone.catalog.watch import CommitWatch
from skipstone.errors import CommitOutcomeUnknown, CommitRejected, InvalidInput, Unsupported

_WRITE: Final = "skipstone_write"
_BUSY_TIMEOUT_MS: Final = 60_000
_SQLITE_MEMORY: Final = ("", ":memory:")
# A server that answers COMMIT with one of these has rolled back: conflicts and broken constraints. 40003 means that it
# does not know itself.
_ROLLED_BACK: Final = ("40", "23")
_COMPLETION_UNKNOWN: Final = "40003"
# Connections of the process that forked: closing them here would disturb that process, so they are never collected.
_inherited: list[object] = []


class Database:
    """A SQLite file or a PostgreSQL database, by its URI."""

    def __init__(self, uri: str, *, has_foreign_keys: bool = False) -> None:
        self.uri = _parse_uri(uri)
        self._has_foreign_keys = has_foreign_keys
        self.is_sqlite = self.uri.get_backend_name() == "sqlite"
        self._is_memory = self.is_sqlite and self.uri.database in (None, *_SQLITE_MEMORY)
        self._guard: AbstractContextManager[object] = threading.RLock() if self._is_memory else nullcontext()
        self._fork_lock = threading.Lock()
        self._process_id = os.getpid()
        self._engine = self._create_engine()
        self._watch = CommitWatch(self._engine_here) if self.is_sqlite and not self._is_memory else None

    def __str__(self) -> str:
        return self.uri.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for one read."""
        with self._guard, self._connected() as connection:
            try:
                yield connection
            except sa.exc.DBAPIError as error:
                raise ConnectionError(f"Cannot read the catalog {self}: {error.orig}") from error

    @contextmanager
    def writing(self, what: str) -> Iterator[sa.Connection]:
        """A transaction, committed when the block ends well. `what` begins the message when it cannot be done."""
        with self._guard, self._connected(what) as plain:
            connection = plain.execution_options(**{_WRITE: True})
            try:
                connection.begin()
                yield connection
            except sa.exc.IntegrityError:
                raise
            except sa.exc.DBAPIError as error:
                raise CommitRejected(f"{what}: the database refused: {error.orig}. Nothing was published.") from error
            self._commit(connection, what)

    def state(self) -> object | None:
        """What changes as soon as anybody has committed anything; None where the database does not tell.

        What was read after one call is still so if the next call gives an equal value.
        """
        return None if self._watch is None else self._watch.state()

    def close(self) -> None:
        """Close all connections; the next use opens new ones."""
        if self._watch is not None:
            self._watch.close()
        self._engine.dispose()

    def _commit(self, connection: sa.Connection, what: str) -> None:
        try:
            connection.commit()
        except sa.exc.DBAPIError as error:
            self._end(connection)
            state = getattr(error.orig, "sqlstate", None) or ""
            if state.startswith(_ROLLED_BACK) and state != _COMPLETION_UNKNOWN:
                raise CommitRejected(
                    f"{what}: the database rolled back: {error.orig}. Nothing was published."
                ) from error
            raise CommitOutcomeUnknown(
                f"{what}: the database did not say whether it committed: {error.orig}. "
                f"Load the table again to see; the new files are kept."
            ) from error

    def _end(self, connection: sa.Connection) -> None:
        """Leave no open transaction: whoever gets the connection next would see what was never committed."""
        if self._is_memory:
            # Its one connection is the database.
            driver: Any = connection.connection.dbapi_connection
            driver.rollback()
        elif not connection.invalidated:
            connection.invalidate()

    @contextmanager
    def _connected(self, what: str | None = None) -> Iterator[sa.Connection]:
        try:
            connection = self._engine_here().connect()
        except sa.exc.DBAPIError as error:
            if what is not None:
                raise CommitRejected(
                    f"{what}: the catalog {self} is not to be reached: {error.orig}. Nothing was published."
                ) from error
            raise ConnectionError(f"Cannot connect to the catalog {self}: {error.orig}") from error
        with connection:
            yield connection

    def _engine_here(self) -> sa.Engine:
        if self._process_id != os.getpid():
            with self._fork_lock:
                if self._process_id != os.getpid():
                    _inherited.append(self._engine.pool)
                    self._engine.dispose(close=False)
                    self._process_id = os.getpid()
        return self._engine

    def _create_engine(self) -> sa.Engine:
        if not self.is_sqlite:
            try:
                return sa.create_engine(self.uri, pool_pre_ping=True)
            except ImportError as error:
                raise Unsupported(
                    f"Cannot open the catalog {self}: the driver for PostgreSQL is missing. "
                    f"Install it with: pip install 'skipstone[postgres]'."
                ) from error
        options: dict[str, Any] = {"connect_args": {"check_same_thread": False, "timeout": _BUSY_TIMEOUT_MS / 1000}}
        if self._is_memory:
            options["poolclass"] = StaticPool
        elif self.uri.database is not None:
            Path(self.uri.database).parent.mkdir(parents=True, exist_ok=True)
        engine = sa.create_engine(self.uri, **options)
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        if self._has_foreign_keys:
            sa.event.listen(engine, "connect", _check_foreign_keys)
        return engine


def _parse_uri(uri: str) -> sa.URL:
    try:
        parsed = sa.make_url(uri)
    except sa.exc.ArgumentError as error:
        raise InvalidInput(
            f"Invalid catalog URI {uri!r}: expected sqlite:///file.db or postgresql://host/database."
        ) from error
    match parsed.get_backend_name():
        case "sqlite":
            if parsed.database not in (None, *_SQLITE_MEMORY):
                # Absolute, so that a change of the working directory does not move the catalog.
                parsed = parsed.set(database=str(Path(parsed.database).expanduser().absolute()))
            return parsed
        case "postgresql" | "postgres":
            return parsed if "+" in parsed.drivername else parsed.set(drivername="postgresql+psycopg")
    raise Unsupported(
        f"Cannot open the catalog {parsed.render_as_string(hide_password=True)}: "
        f"expected sqlite or postgresql, got {parsed.get_backend_name()}."
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver must not begin transactions on its own: it would begin them without the lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    # Another process may be in the middle of it, or the file may not be written: the database works either way.
    with suppress(connection.OperationalError):
        cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _check_foreign_keys(connection: Any, _record: object) -> None:
    # SQLite ignores them unless it is told, connection by connection.
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: sa.Connection) -> None:
    if connection.get_execution_options().get(_WRITE):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
