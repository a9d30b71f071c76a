"""A client of the metastore's Thrift service: a real Hive's or ours.

One connection, opened on first use and again after a failure; calls of several threads take turns. What the service
throws is raised as our own errors.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final
from urllib.parse import urlsplit

from skipstone.errors import AlreadyExists, InvalidInput, NotFound, SkipstoneError, Unsupported
from skipstone.hive.errors import MetastoreError
from skipstone.hive.statistics import BOUNDED, ColumnStatistics
from skipstone.hive.thrift import Message, MessageKind, Struct, api, methods
from skipstone.hive.thrift.binary import Input, ProtocolViolation
from skipstone.hive.thrift.messages import read_head, write_message
from skipstone.hive.wire import for_old_metastores, from_wire, to_wire

PORT_DEFAULT: Final = 9083
_ANSWER_BYTES_MAX: Final = 1 << 30
_UNKNOWN_METHOD: Final = 1
_ERRORS: Final[Mapping[str, type[SkipstoneError]]] = {
    "NoSuchObjectException": NotFound,
    "UnknownDBException": NotFound,
    "UnknownTableException": NotFound,
    "NoSuchLockException": NotFound,
    "AlreadyExistsException": AlreadyExists,
    "InvalidObjectException": InvalidInput,
    "InvalidInputException": InvalidInput,
    "InvalidOperationException": InvalidInput,
}


class HiveClient:
    """Calls a metastore at `thrift://host:port`."""

    def __init__(self, uri: str, *, timeout_seconds: float = 60.0) -> None:
        self.uri = uri
        self._address = _parse_uri(uri)
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._source = Input()
        self._process_id = 0
        self._sequence = 0
        self._is_old: bool | None = None

    def __repr__(self) -> str:
        return f"HiveClient({self.uri!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_reopen, (self.uri, self._timeout_seconds))

    def __enter__(self) -> HiveClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        with self._lock:
            self._disconnect()

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call a method of the interface by its name, and return its result."""
        method = methods[name]
        with self._lock:
            answer = self._exchange(name, method.arguments(**arguments), method.answer)
        for error, field in method.throws.items():
            thrown = getattr(answer, field)
            if thrown is not None:
                kind = _ERRORS.get(error.__name__, MetastoreError)
                raise kind(thrown.message or f"{error.__name__} from {self.uri} without a message.")
        if method.is_void:
            return None
        if answer.success is None:
            raise MetastoreError(f"Cannot {name}: the metastore {self.uri} answered nothing.")
        return answer.success

    @property
    def is_old(self) -> bool:
        """Whether the metastore is older than Hive 3: no catalogs, no timestamp statistics, no bit vectors."""
        if self._is_old is None:
            try:
                self.call("get_catalogs")
                self._is_old = False
            except Unsupported:
                self._is_old = True
        return self._is_old

    # -- tables, by calls that Hive has had since 2.3: Hive 4 dropped those before them

    def table(self, database: str, name: str) -> Struct:
        """A table's entry."""
        request = api.GetTableRequest(dbName=database, tblName=name)
        entry: Struct = self.call("get_table_req", req=request).table
        return entry

    def tables(self, database: str, names: Sequence[str]) -> list[Struct]:
        """The entries of those of these tables that there are."""
        request = api.GetTablesRequest(dbName=database, tblNames=list(names))
        return list(self.call("get_table_objects_by_name_req", req=request).tables)

    # -- column statistics

    def table_statistics(self, database: str, table: str, columns: Sequence[str]) -> list[ColumnStatistics]:
        """The statistics there are of a table's columns."""
        request = api.TableStatsRequest(dbName=database, tblName=table, colNames=list(columns), engine="hive")
        return [from_wire(obj) for obj in self.call("get_table_statistics_req", request=request).tableStats]

    def partition_statistics(
        self, database: str, table: str, partitions: Sequence[str], columns: Sequence[str]
    ) -> dict[str, list[ColumnStatistics]]:
        """The statistics there are of columns of partitions."""
        request = self._partitions_request(database, table, partitions, columns)
        found = self.call("get_partitions_statistics_req", request=request).partStats
        return {name: [from_wire(obj) for obj in objects] for name, objects in found.items()}

    def aggregate(
        self, database: str, table: str, partitions: Sequence[str], columns: Sequence[str]
    ) -> tuple[list[ColumnStatistics], int]:
        """The statistics of columns over partitions, and how many partitions had them."""
        answer = self.call("get_aggr_stats_for", request=self._partitions_request(database, table, partitions, columns))
        return [from_wire(obj) for obj in answer.colStats], answer.partsFound

    def put_table_statistics(self, database: str, table: str, statistics: Sequence[ColumnStatistics]) -> None:
        """Replace the statistics of some columns of a table."""
        for one in self._left_standing(statistics):
            with suppress(NotFound):
                self.delete_table_statistics(database, table, one.column)
        self.call("update_table_column_statistics", stats_obj=self._wired(database, table, None, statistics))

    def put_partition_statistics(
        self, database: str, table: str, statistics: Mapping[str, Sequence[ColumnStatistics]]
    ) -> None:
        """Replace the statistics of some columns of many partitions."""
        for name, values in statistics.items():
            for one in self._left_standing(values):
                with suppress(NotFound):
                    self.delete_partition_statistics(database, table, name, one.column)
        wired = [self._wired(database, table, name, values) for name, values in statistics.items()]
        request = api.SetPartitionsStatsRequest(colStats=wired, needMerge=False, engine="hive")
        self.call("set_aggr_stats_for", request=request)

    def delete_table_statistics(self, database: str, table: str, column: str) -> None:
        self.call("delete_table_column_statistics", db_name=database, tbl_name=table, col_name=column, engine="hive")

    def delete_partition_statistics(self, database: str, table: str, partition: str, column: str) -> None:
        self.call(
            "delete_partition_column_statistics",
            db_name=database,
            tbl_name=table,
            part_name=partition,
            col_name=column,
            engine="hive",
        )

    def _left_standing(self, statistics: Sequence[ColumnStatistics]) -> list[ColumnStatistics]:
        """Those without a low or high: an old metastore would keep the low and high that it had."""
        if not self.is_old:
            return []
        return [one for one in statistics if one.kind in BOUNDED and (one.low is None or one.high is None)]

    def _partitions_request(
        self, database: str, table: str, partitions: Sequence[str], columns: Sequence[str]
    ) -> Struct:
        request: Struct = api.PartitionsStatsRequest(
            dbName=database, tblName=table, colNames=list(columns), partNames=list(partitions), engine="hive"
        )
        return request

    def _wired(
        self, database: str, table: str, partition: str | None, statistics: Sequence[ColumnStatistics]
    ) -> Struct:
        sent = [for_old_metastores(one) for one in statistics] if self.is_old else statistics
        wired: Struct = api.ColumnStatistics(
            statsDesc=api.ColumnStatisticsDesc(
                isTblLevel=partition is None, dbName=database, tableName=table, partName=partition
            ),
            statsObj=[to_wire(one) for one in sent],
            engine="hive",
        )
        return wired

    # -- the wire

    def _exchange(self, name: str, arguments: Struct, answer: type[Struct]) -> Any:
        connection = self._connect()
        self._sequence += 1
        call = Message(name=name, kind=MessageKind.CALL, sequence=self._sequence)
        try:
            connection.sendall(write_message(call, arguments.write))
            self._source.next_message()
            head = read_head(self._source)
            if head.kind is MessageKind.EXCEPTION:
                raise self._fault(name, api.TApplicationException.read(self._source))
            if head.name != name or head.sequence != self._sequence:
                raise ProtocolViolation(f"Invalid answer to {name}: expected its own, got one to {head.name}.")
            answered = answer.read(self._source)
            self._source.end_frame()
            return answered
        except (OSError, ProtocolViolation) as error:
            # Whether the call was done is not known, so it is not repeated here.
            self._disconnect()
            raise ConnectionError(
                f"Cannot {name} at the metastore {self.uri}: the connection broke: {error}"
            ) from error

    def _fault(self, name: str, thrown: Struct) -> SkipstoneError:
        if thrown.type == _UNKNOWN_METHOD:
            return Unsupported(f"Cannot {name}: the metastore {self.uri} does not know this call.")
        return MetastoreError(f"Cannot {name} at the metastore {self.uri}: {thrown.message}")

    def _connect(self) -> socket.socket:
        if self._socket is not None and self._process_id == os.getpid():
            return self._socket
        self._process_id = os.getpid()
        try:
            self._socket = socket.create_connection(self._address, timeout=self._timeout_seconds)
        except OSError as error:
            raise ConnectionError(f"Cannot connect to the metastore {self.uri}: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened = self._socket
        self._source = Input(more=lambda: opened.recv(1 << 18), limit=_ANSWER_BYTES_MAX)
        return opened

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _reopen(uri: str, timeout_seconds: float) -> HiveClient:
    return HiveClient(uri, timeout_seconds=timeout_seconds)


def _parse_uri(uri: str) -> tuple[str, int]:
    parsed = urlsplit(uri)
    try:
        port = parsed.port or PORT_DEFAULT
    except ValueError:
        port = 0
    if parsed.scheme != "thrift" or not parsed.hostname or not port:
        raise InvalidInput(f"Invalid metastore URI {uri!r}: expected thrift://host:port.")
    return parsed.hostname, port
