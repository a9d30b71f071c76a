"""Calls about column statistics."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from skipstone.errors import InvalidInput, NotFound
from skipstone.hive.objects import HiveTable
from skipstone.hive.service.conversion import CATALOG
from skipstone.hive.service.encoding import encode_partitions
from skipstone.hive.service.reading import plain_name
from skipstone.hive.statistics import ColumnStatistics
from skipstone.hive.store import HiveStore
from skipstone.hive.store.layout import ENGINE_DEFAULT
from skipstone.hive.thrift import Struct, api
from skipstone.hive.thrift.interface import Encoded
from skipstone.hive.wire import for_old_metastores, from_wire, to_wire


class StatisticsReadingCalls:
    """Method names are the interface's."""

    _store: HiveStore
    _for_hive_2: bool

    def get_table_column_statistics(self, arguments: Struct) -> Struct:
        table, column = self._described(arguments)
        names = (table.database, table.name)
        found = self._store.table_statistics(*names, [column])
        if not found:
            raise NotFound(f"Cannot find statistics of column {column!r} of {'.'.join(names)}. Compute them first.")
        return self._answer(names, None, column, found)

    def get_partition_column_statistics(self, arguments: Struct) -> Struct:
        table, column = self._described(arguments)
        names, partition = (table.database, table.name), _given(arguments.part_name)
        self._store.partition(*names, partition)
        found = self._store.partition_statistics(*names, [partition], [column])
        if not found:
            raise NotFound(
                f"Cannot find statistics of column {column!r} of partition {partition} of {'.'.join(names)}. "
                f"Compute them first."
            )
        return self._answer(names, partition, column, found[partition])

    def _described(self, arguments: Struct) -> tuple[HiveTable, str]:
        """The table and the column that are asked about, under the names that they have."""
        wanted = _given(arguments.col_name)
        table = self._store.table(plain_name(arguments.db_name), arguments.tbl_name)
        column = table.column(wanted)
        if column is None:
            known = ", ".join(c.name for c in table.columns)
            raise NotFound(f"Cannot find column {wanted!r} in {table.database}.{table.name}. Columns: {known}.")
        return table, column.name

    def _answer(
        self, names: tuple[str, str], partition: str | None, column: str, found: Iterable[ColumnStatistics]
    ) -> Struct:
        description = api.ColumnStatisticsDesc(
            isTblLevel=partition is None,
            dbName=names[0],
            tableName=names[1],
            partName=partition,
            lastAnalyzed=self._store.last_analyzed(*names, column, partition),
            catName=CATALOG,
        )
        return api.ColumnStatistics(statsDesc=description, statsObj=self._wired(found))  # type: ignore[no-any-return]

    def get_table_statistics_req(self, arguments: Struct) -> Struct:
        request = arguments.request
        found = self._store.table_statistics(
            plain_name(request.dbName), request.tblName, request.colNames, engine=request.engine or ENGINE_DEFAULT
        )
        wired = self._wired(found, is_old=self._is_old(request))
        return api.TableStatsResult(tableStats=wired)  # type: ignore[no-any-return]

    def get_partitions_statistics_req(self, arguments: Struct) -> Struct:
        request = arguments.request
        rows = self._store.partition_rows(
            plain_name(request.dbName),
            request.tblName,
            request.partNames,
            request.colNames,
            engine=request.engine or ENGINE_DEFAULT,
        )
        encoded = encode_partitions(rows, self._store.layout, for_hive_2=self._is_old(request))
        return api.PartitionsStatsResult(partStats=encoded)  # type: ignore[no-any-return]

    def get_aggr_stats_for(self, arguments: Struct) -> Encoded:
        request = arguments.request
        database, table = plain_name(request.dbName), request.tblName
        described = self._store.table(database, table)
        columns = [column.name for wanted in request.colNames if (column := described.column(wanted)) is not None]
        added = self._store.aggregate(
            database, table, request.partNames, columns, engine=request.engine or ENGINE_DEFAULT
        )
        answer: Struct = api.AggrStats(
            colStats=self._wired(added.statistics, is_old=self._is_old(request)),
            partsFound=added.partitions_found,
            isStatsCompliant=None if added.is_complete else False,
        )
        out = bytearray()
        answer.write(out)
        return Encoded(out)

    def _wired(self, found: Iterable[ColumnStatistics], *, is_old: bool | None = None) -> list[Struct]:
        is_old = self._for_hive_2 if is_old is None else is_old
        return [to_wire(for_old_metastores(one) if is_old else one) for one in found]

    def _is_old(self, request: Struct) -> bool:
        """Whether a request is of a client before Hive 3.

        Hive's own client says its user's name first; since Hive 3 it names the catalog in its requests, and since
        Hive 4 the engine. Clients of other makes that do neither get what Hive 4 would say.
        """
        is_without_names = request.catName is None and request.engine is None
        return self._for_hive_2 or (is_without_names and self._has_named_user())

    def _has_named_user(self) -> bool:
        raise NotImplementedError


class StatisticsWritingCalls:
    """Method names are the interface's."""

    _store: HiveStore

    def update_table_column_statistics(self, arguments: Struct) -> bool:
        self._put([arguments.stats_obj], is_table=True)
        return True

    def update_partition_column_statistics(self, arguments: Struct) -> bool:
        self._put([arguments.stats_obj], is_table=False)
        return True

    def update_table_column_statistics_req(self, arguments: Struct) -> Struct:
        self._put(arguments.req.colStats, is_table=True, request=arguments.req)
        return api.SetPartitionsStatsResponse(result=True)  # type: ignore[no-any-return]

    def update_partition_column_statistics_req(self, arguments: Struct) -> Struct:
        self._put(arguments.req.colStats, is_table=False, request=arguments.req)
        return api.SetPartitionsStatsResponse(result=True)  # type: ignore[no-any-return]

    def set_aggr_stats_for(self, arguments: Struct) -> bool:
        self._put(arguments.request.colStats, is_table=None, request=arguments.request)
        return True

    def delete_table_column_statistics(self, arguments: Struct) -> bool:
        columns = [arguments.col_name] if arguments.col_name else None
        self._store.delete_table_statistics(
            plain_name(arguments.db_name), arguments.tbl_name, columns, engine=arguments.engine
        )
        return True

    def delete_partition_column_statistics(self, arguments: Struct) -> bool:
        columns = [arguments.col_name] if arguments.col_name else None
        self._store.delete_partition_statistics(
            plain_name(arguments.db_name),
            arguments.tbl_name,
            [_given(arguments.part_name)],
            columns,
            engine=arguments.engine,
        )
        return True

    def delete_column_statistics_req(self, arguments: Struct) -> bool:
        request = arguments.req
        database, table, columns = plain_name(request.db_name), request.tbl_name, request.col_names or None
        if request.part_names:
            self._store.delete_partition_statistics(database, table, request.part_names, columns, engine=request.engine)
        elif request.tableLevel is False:
            names = self._store.partition_names(database, table)
            self._store.delete_partition_statistics(database, table, names, columns, engine=request.engine)
        else:
            self._store.delete_table_statistics(database, table, columns, engine=request.engine)
        return True

    def _put(self, sent: Iterable[Struct], *, is_table: bool | None, request: Struct | None = None) -> None:
        """Store what was sent, each table's in one transaction; several tables in one call are refused."""
        given = list(sent)
        if not given:
            return
        levels = {one.statsDesc.isTblLevel for one in given}
        targets = {(plain_name(one.statsDesc.dbName), one.statsDesc.tableName) for one in given}
        if len(levels) > 1 or len(targets) > 1:
            raise InvalidInput("Invalid statistics: expected those of one table, and of one level, in a call.")
        if is_table is not None and levels != {is_table}:
            level = "a table" if is_table else "a partition"
            raise InvalidInput(f"Invalid statistics: expected those of {level}, got isTblLevel={not is_table}.")
        (database, table), is_table_level = targets.pop(), levels.pop()
        options: dict[str, Any] = {
            "now": int(time.time()),  # whatever the client says, as in Hive
            "engine": (request.engine if request is not None else None) or given[0].engine or ENGINE_DEFAULT,
            "is_merged": bool(request is not None and request.needMerge),
        }
        if is_table_level:
            found = [statistics for one in given for statistics in _statistics(one)]
            self._store.put_table_statistics(database, table, found, **options)
            return
        by_partition: dict[str, list[ColumnStatistics]] = {}
        for one in given:
            name = one.statsDesc.partName
            if not name:
                raise InvalidInput("Invalid statistics of a partition: expected its name in statsDesc, got none.")
            by_partition.setdefault(name, []).extend(_statistics(one))
        self._store.put_partition_statistics(database, table, by_partition, **options)


def _statistics(sent: Struct) -> list[ColumnStatistics]:
    if not sent.statsObj:
        raise InvalidInput("Invalid statistics: expected at least one column, got none.")
    return [from_wire(obj) for obj in sent.statsObj]


def _given(name: str | None) -> str:
    if not name:
        raise api.InvalidInputException(
            message="Invalid request: expected the name of a column or partition, got none."
        )
    return name
