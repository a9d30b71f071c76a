"""Calls that change databases, tables and partitions, and the locks that clients take around a change."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Final

from skipstone.errors import InvalidInput, NotFound
from skipstone.hive.partition_names import partition_name
from skipstone.hive.service.conversion import (
    database_from_wire,
    partition_from_wire,
    partition_to_wire,
    table_from_wire,
)
from skipstone.hive.service.reading import plain_name
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Struct, api

_ACQUIRED: Final = 1
_WAITING: Final = 2
_EXCLUSIVE: Final = 3
_LOCK_SECONDS_MAX: Final = 300
# A change is made only if a parameter still has a value: how clients without locks are kept apart.
_EXPECTED_KEY: Final = "expected_parameter_key"
_EXPECTED_VALUE: Final = "expected_parameter_value"


class WritingCalls:
    """Method names are the interface's."""

    _store: HiveStore

    def create_database(self, arguments: Struct) -> None:
        self._store.create_database(database_from_wire(arguments.database or api.Database()))

    def alter_database(self, arguments: Struct) -> None:
        self._store.alter_database(plain_name(arguments.dbname), database_from_wire(arguments.db))

    def drop_database(self, arguments: Struct) -> None:
        self._store.drop_database(plain_name(arguments.name), cascade=bool(arguments.cascade))

    def drop_database_req(self, arguments: Struct) -> None:
        try:
            self._store.drop_database(plain_name(arguments.req.name), cascade=bool(arguments.req.cascade))
        except NotFound:
            if not arguments.req.ignoreUnknownDb:
                raise

    def create_table(self, arguments: Struct) -> None:
        self._store.create_table(table_from_wire(arguments.tbl or api.Table()))

    create_table_with_environment_context = create_table

    def create_table_req(self, arguments: Struct) -> None:
        self._store.create_table(table_from_wire(arguments.request.table))

    def alter_table(self, arguments: Struct) -> None:
        self._alter(arguments.dbname, arguments.tbl_name, arguments.new_tbl, None)

    alter_table_with_cascade = alter_table

    def alter_table_with_environment_context(self, arguments: Struct) -> None:
        self._alter(arguments.dbname, arguments.tbl_name, arguments.new_tbl, arguments.environment_context)

    def alter_table_req(self, arguments: Struct) -> Struct:
        request = arguments.req
        context = request.environmentContext
        if request.expectedParameterKey:
            expected = {
                _EXPECTED_KEY: request.expectedParameterKey,
                _EXPECTED_VALUE: request.expectedParameterValue,
            }
            context = api.EnvironmentContext(properties=expected)
        self._alter(request.dbName, request.tableName, request.table, context)
        return api.AlterTableResponse()  # type: ignore[no-any-return]

    def drop_table(self, arguments: Struct) -> None:
        self._store.drop_table(plain_name(arguments.dbname), arguments.name)

    drop_table_with_environment_context = drop_table

    def drop_table_req(self, arguments: Struct) -> None:
        self._store.drop_table(plain_name(arguments.dropTableReq.dbName), arguments.dropTableReq.tableName)

    def add_partition(self, arguments: Struct) -> Struct:
        new = arguments.new_part
        database = plain_name(new.dbName)
        table = self._store.table(database, new.tableName or "")
        self._store.add_partitions(table.database, table.name, [partition_from_wire(new)])
        return partition_to_wire(partition_from_wire(new), table)

    def add_partitions(self, arguments: Struct) -> int:
        new = arguments.new_parts or []
        if len({(part.dbName, part.tableName) for part in new}) > 1:
            raise InvalidInput("Cannot add partitions: expected those of one table.")
        if new:
            parts = [partition_from_wire(part) for part in new]
            self._store.add_partitions(plain_name(new[0].dbName), new[0].tableName or "", parts)
        return len(new)

    def alter_partition(self, arguments: Struct) -> None:
        changed = partition_from_wire(arguments.new_part)
        self._store.alter_partitions(plain_name(arguments.db_name), arguments.tbl_name, [changed])

    def alter_partitions(self, arguments: Struct) -> None:
        changed = [partition_from_wire(part) for part in arguments.new_parts or ()]
        self._store.alter_partitions(plain_name(arguments.db_name), arguments.tbl_name, changed)

    def drop_partition(self, arguments: Struct) -> bool:
        table = self._store.table(plain_name(arguments.db_name), arguments.tbl_name)
        name = partition_name([key.name for key in table.partition_keys], arguments.part_vals or [])
        self._store.drop_partitions(table.database, table.name, [name])
        return True

    def drop_partition_by_name(self, arguments: Struct) -> bool:
        self._store.drop_partitions(plain_name(arguments.db_name), arguments.tbl_name, [arguments.part_name])
        return True

    def _alter(self, database: str, name: str, table: Struct, context: Struct | None) -> None:
        properties = (context.properties if context is not None else None) or {}
        key = properties.get(_EXPECTED_KEY)
        expected = {key: properties.get(_EXPECTED_VALUE)} if key else None
        self._store.alter_table(plain_name(database), name, table_from_wire(table), expected=expected)


@dataclass(slots=True)
class _Lock:
    number: int
    names: frozenset[tuple[str, str | None]]
    request: Struct
    touched: float
    is_acquired: bool = False


class LockCalls:
    """Exclusive locks on tables, kept in memory: they order writers, the check of parameters protects them.

    A lock that nobody has asked about for a while is given up, so a client that died holds nobody back.
    """

    def __init__(self) -> None:
        self._locks: dict[int, _Lock] = {}
        self._next = 1
        self._guard = threading.Lock()

    def lock(self, arguments: Struct) -> Struct:
        names = frozenset((c.dbname.lower(), c.tablename and c.tablename.lower()) for c in arguments.rqst.component)
        with self._guard:
            made = _Lock(number=self._next, names=names, request=arguments.rqst, touched=time.monotonic())
            self._next += 1
            self._locks[made.number] = made
            return self._state(made)

    def check_lock(self, arguments: Struct) -> Struct:
        with self._guard:
            return self._state(self._known(arguments.rqst.lockid))

    def unlock(self, arguments: Struct) -> None:
        with self._guard:
            del self._locks[self._known(arguments.rqst.lockid).number]

    def heartbeat(self, arguments: Struct) -> None:
        with self._guard:
            if arguments.ids.lockid:
                self._known(arguments.ids.lockid).touched = time.monotonic()

    def show_locks(self, _: Struct) -> Struct:
        with self._guard:
            shown = [
                api.ShowLocksResponseElement(
                    lockid=lock.number,
                    dbname=database,
                    tablename=table,
                    state=_ACQUIRED if lock.is_acquired else _WAITING,
                    type=_EXCLUSIVE,
                    lastheartbeat=0,
                    user=lock.request.user,
                    hostname=lock.request.hostname,
                    agentInfo=lock.request.agentInfo,
                )
                for lock in self._locks.values()
                for database, table in lock.names
            ]
        return api.ShowLocksResponse(locks=shown)  # type: ignore[no-any-return]

    def _known(self, number: int) -> _Lock:
        if number not in self._locks:
            raise api.NoSuchLockException(message=f"Cannot find lock {number}: it was given up or has expired.")
        return self._locks[number]

    def _state(self, lock: _Lock) -> Struct:
        now = time.monotonic()
        lock.touched = now
        for other in [o for o in self._locks.values() if now - o.touched > _LOCK_SECONDS_MAX]:
            del self._locks[other.number]
        older = (o for o in self._locks.values() if o.number < lock.number or o.is_acquired)
        lock.is_acquired = lock.is_acquired or not any(o.names & lock.names for o in older if o is not lock)
        state = _ACQUIRED if lock.is_acquired else _WAITING
        return api.LockResponse(lockid=lock.number, state=state)  # type: ignore[no-any-return]
