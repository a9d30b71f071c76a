"""ANALYZE TABLE on our tables: what an analysis finds, in Hive's form, in the store.

Laws: statistics are marked accurate only when they are those of the table's current rows; of partitions and of the
whole table, everything exact agrees. An analysis reads each file at most once, whatever is asked for of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import pyarrow
import pyarrow.compute

from skipstone.analysis.file_analysis import FileAnalysis
from skipstone.analysis.partition_groups import PartitionNaming, rows_by_name
from skipstone.analysis.table_statistics import analysed_statistics, statistics_by_name
from skipstone.catalog.identifiers import parse_namespace
from skipstone.errors import CommitRejected, NotFound
from skipstone.hive.accurate import accurate_columns, with_basic
from skipstone.hive.errors import TABLE_NOT_FOUND, HiveNotFound
from skipstone.hive.from_table import hive_statistics
from skipstone.hive.mirror import mirror_lake, mirror_table, partition_naming, refresh_table
from skipstone.hive.objects import HiveTable
from skipstone.hive.statistics import ColumnStatistics, all_null, of_whole_table
from skipstone.hive.store import HiveStore
from skipstone.lake import Lake
from skipstone.metadata.tables.properties import STATS_HIVE_HISTOGRAMS, property_value
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.stats.column_statistics import ColumnStatistics as OurStatistics
from skipstone.stats.column_statistics import TableStatistics
from skipstone.stats.hyperloglog import WITH_BIT_VECTOR
from skipstone.stats.quantiles import NUMERIC
from skipstone.table import Table

pc: Any = pyarrow.compute

# How often an analysis is tried again when others commit meanwhile; what was read is not read again.
_ATTEMPTS: Final = 5


class LakeAnalyzer:
    """Analyses the tables of a catalog into a store; with a Spark session its tasks read the files."""

    def __init__(self, lake: Lake, store: HiveStore, *, spark: Any = None) -> None:
        self._lake = lake
        self._store = store
        self._spark = spark

    def refresh(self, database: str, table: str) -> None:
        """Bring what the store knows of a table up to date."""
        refresh_table(self._lake, self._store, database, table)

    def analyze(
        self, table: HiveTable, partitions: Sequence[str] | None, columns: Sequence[str] | None, *, is_scanned: bool
    ) -> None:
        """Of these partitions, or the whole table; of these columns, or without columns basic statistics only."""
        ours = self._load(table)
        name_of = _chosen(partition_naming(ours.metadata), partitions)
        if columns is not None and ours.metadata.current_snapshot is not None and not _is_known(ours, columns):
            self._read(ours, columns, name_of if partitions is not None else None)
        table = mirror_table(ours, self._store, database=table.database, name=table.name)
        if columns is not None:
            self._put_columns(ours, table, columns, name_of, is_whole=partitions is None)
        self._put_basic(ours, table, name_of, is_whole=partitions is None, is_scanned=is_scanned)

    def publish(self) -> None:
        """Make the store what the catalog is, with the statistics that are known already; no row is read."""
        mirror_lake(self._lake, self._store)
        for namespace in self._lake.list_namespaces():
            for name in self._store.table_names(namespace):
                table = self._store.table(namespace, name)
                if self._lake.table_exists((*parse_namespace(namespace), name)):
                    self._publish(self._load(table), table)

    def _publish(self, ours: Table, table: HiveTable) -> None:
        known = known_columns(ours)
        columns = [c.name for c in table.columns if c.name in known]
        is_there = accurate_columns(table.parameters).issuperset(columns) and not self._lacks_histograms(ours, table)
        if columns and not is_there:
            self._put_columns(ours, table, columns, partition_naming(ours.metadata), is_whole=True)

    def _lacks_histograms(self, ours: Table, table: HiveTable) -> bool:
        """Whether histograms were asked for after the statistics had been stored."""
        if not (_has_histograms(ours) and self._store.layout.has_typed_bounds):
            return False
        stored = self._store.table_statistics(table.database, table.name)
        return any(one.low is not None and one.histogram is None for one in stored)

    def _load(self, table: HiveTable) -> Table:
        try:
            return self._lake.load_table((*parse_namespace(table.database), table.name))
        except NotFound as error:
            raise HiveNotFound(str(error), code=TABLE_NOT_FOUND) from None

    def _read(self, ours: Table, columns: Sequence[str], name_of: PartitionNaming | None) -> None:
        """Analyse until it is the current rows that were analysed."""
        wanted = {ours.metadata.current_schema.field(name).id for name in columns}
        full = False
        for _ in range(_ATTEMPTS):
            found = ours.analyze(columns, partitions=name_of, full=full, bit_vectors=True, spark=self._spark)
            # Of files that lost rows since they were read only bounds are known.
            full = bool(wanted & set(found.record.after_deletes)) and not full
            if not full and found.record.snapshot_id == ours.metadata.current_snapshot_id:
                return
        raise CommitRejected(
            f"Cannot analyse {ours.name}: other commits came in between {_ATTEMPTS} times. Retry is safe."
        )

    def _put_columns(
        self, ours: Table, table: HiveTable, columns: Sequence[str], name_of: PartitionNaming, *, is_whole: bool
    ) -> None:
        now, names, snapshot = int(time.time()), (table.database, table.name), ours.metadata.current_snapshot
        if table.partition_keys and snapshot is not None:
            named = statistics_by_name(ours.metadata, ours.storage, snapshot, name_of)
            found = {name: converted(ours, statistics, columns) for name, statistics in named}
            self._store.put_partition_statistics(*names, found, now=now)
            self._forget_partitions(names, found, columns)
        if not is_whole:
            return
        if snapshot is None:
            types = {column.name: column.type for column in table.columns}
            of_table = [all_null(name, types[name], 0) for name in columns]
        else:
            of_table = converted(ours, ours.statistics(), columns)
        self._store.put_table_statistics(*names, [of_whole_table(one) for one in of_table], now=now)
        for column in _missing(of_table, columns):
            with suppress(NotFound):
                self._store.delete_table_statistics(*names, [column])

    def _forget_partitions(
        self, names: tuple[str, str], found: Mapping[str, Sequence[ColumnStatistics]], columns: Sequence[str]
    ) -> None:
        """Hive keeps nothing of a float column with NaN, so what was kept before is not its own."""
        for column in columns:
            gone = [name for name, values in found.items() if column in _missing(values, columns)]
            if gone:
                with suppress(NotFound):
                    self._store.delete_partition_statistics(*names, gone, [column])

    def _put_basic(
        self, ours: Table, table: HiveTable, name_of: PartitionNaming, *, is_whole: bool, is_scanned: bool
    ) -> None:
        metadata = ours.metadata
        snapshot, names = metadata.current_snapshot, (table.database, table.name)
        plan = plan_scan(metadata, ours.storage, snapshot=snapshot, schema=metadata.current_schema)
        change = _basic_change(ours, is_scanned=is_scanned)
        if table.partition_keys:
            rows = rows_by_name(plan, metadata, name_of)
            found = {name: change(plan.taking(chosen)) for name, chosen in rows.items()}
            self._store.change_partition_parameters(
                *names, lambda name, known: found[name](known) if name in found else known
            )
        if is_whole:
            known = self._store.table(*names)
            changed = replace(known, parameters=change(plan)(dict(known.parameters)))
            self._store.alter_table(*names, changed)


def known_columns(ours: Table) -> dict[str, OurStatistics]:
    """The columns of which all is known of the current rows."""
    snapshot = ours.metadata.current_snapshot
    found = None if snapshot is None else analysed_statistics(ours.metadata, ours.storage, snapshot)
    if found is None or not found.freshness.is_current:
        return {}
    return {column.name: column for column in found.columns.values() if not column.is_after_deletes}


def _is_known(ours: Table, columns: Sequence[str]) -> bool:
    """Whether an analysis would find out nothing new."""
    known, has_histograms = known_columns(ours), _has_histograms(ours)

    def is_enough(column: OurStatistics) -> bool:
        has_vector = column.bit_vector is not None or not isinstance(column.type, WITH_BIT_VECTOR)
        has_quantiles = column.quantiles is not None or not isinstance(column.type, NUMERIC)
        return has_vector and (has_quantiles or not has_histograms)

    return all(name in known and is_enough(known[name]) for name in columns)


def _has_histograms(ours: Table) -> bool:
    """Whether histograms are wanted of a table; Hive, too, stores none unless it is told to."""
    return property_value(ours.metadata.properties, STATS_HIVE_HISTOGRAMS)


def _chosen(name_of: PartitionNaming, partitions: Collection[str] | None) -> PartitionNaming:
    if partitions is None:
        return name_of
    wanted = frozenset(partitions)

    def chosen(spec_id: int, values: Mapping[str, Any]) -> str | None:
        name = name_of(spec_id, values)
        return name if name in wanted else None

    return chosen


def converted(ours: Table, statistics: TableStatistics, columns: Iterable[str]) -> list[ColumnStatistics]:
    """The statistics of columns in Hive's form, of those that have one."""
    schema, has_histogram = ours.metadata.current_schema, _has_histograms(ours)
    known = (statistics.columns.get(schema.field(name).id) for name in columns)
    found = (hive_statistics(column, has_histogram=has_histogram) for column in known if column is not None)
    return [one for one in found if one is not None]


def _missing(values: Sequence[ColumnStatistics], columns: Sequence[str]) -> list[str]:
    there = {one.column for one in values}
    return [name for name in columns if name not in there]


def _basic_change(ours: Table, *, is_scanned: bool) -> Callable[[ScanPlan], Callable[[dict[str, str]], dict[str, str]]]:
    """What the files of a plan change in the parameters of a table or partition. Without a scan rows stay as told."""

    def of_plan(plan: ScanPlan) -> Callable[[dict[str, str]], dict[str, str]]:
        size = pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0
        told = {"numFiles": str(len(plan)), "totalSize": str(size)}
        if not is_scanned:
            return lambda known: {**known, **told}
        told["numRows"] = str(_rows(ours, plan))
        return lambda known: with_basic({**known, **told})

    return of_plan


def _rows(ours: Table, plan: ScanPlan) -> int:
    """The rows of a plan's files, read where metadata cannot tell what deletes have left."""
    known = plan.count()
    if known is not None:
        return known
    counting = FileAnalysis(plan=plan, storage=ours.storage, field_ids=())
    return sum(counting.analyse(row).row_count for row in range(len(plan)))
