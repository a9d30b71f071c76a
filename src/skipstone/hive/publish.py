"""Statistics between our tables and a metastore.

What goes out is marked accurate there only when it was computed from the rows that the table has there; a commit that
comes in between is neither undone nor called analysed. What comes in is an estimate: Hive's lows and highs may be
rounded and nobody proves that no row was written since, so it never prunes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

from skipstone.analysis.table_statistics import statistics_by_name
from skipstone.hive.accurate import KEY, accurate_columns, with_columns, without_columns
from skipstone.hive.analyzer import converted, known_columns
from skipstone.hive.client import HiveClient
from skipstone.hive.errors import MetastoreError
from skipstone.hive.iceberg_tables import METADATA_LOCATION, MODIFIED, SNAPSHOT_ID, expecting, is_iceberg
from skipstone.hive.mirror import partition_naming
from skipstone.hive.statistics import Bound, ColumnStatistics, of_whole_table
from skipstone.hive.table_lock import locked, rejected
from skipstone.hive.thrift import api
from skipstone.hive.types import fits
from skipstone.stats.labels import Accuracy, Labelled
from skipstone.table import Table

_VALUES: Final = (
    "num_nulls", "num_distincts", "low", "high", "avg_length", "max_length", "num_trues", "num_falses",
)  # fmt: skip


# How often a mark is tried again when others commit meanwhile.
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedStatistics:
    """A column's statistics from a metastore: an estimate, even where the metastore calls it accurate."""

    statistics: ColumnStatistics
    partition: str | None
    is_accurate: bool

    def labelled(self) -> dict[str, Labelled[Bound]]:
        """Every value that there is, by its name, labelled as the estimate that it is."""
        given = {name: getattr(self.statistics, name) for name in _VALUES}
        return {name: Labelled(value, Accuracy.ESTIMATE) for name, value in given.items() if value is not None}


def publish_table(client: HiveClient, ours: Table, database: str, table: str, *, uses_locks: bool = True) -> list[str]:
    """Store in a metastore what an analysis of our table has found; the columns of which something was stored.

    Only statistics of the current rows are taken, and of the partitions those that the metastore knows by name. An
    entry that says to be of another snapshot gets them as what they are, not marked accurate. `uses_locks` as with a
    Hive catalog: where the metastore has no locks it must compare itself.
    """
    columns, snapshot = list(known_columns(ours)), ours.metadata.current_snapshot
    if not columns or snapshot is None:
        return []
    entry = client.table(database, table)
    there = {column.name.lower() for column in entry.sd.cols}
    columns = [name for name in columns if name.lower() in there]
    partitions: dict[str, list[ColumnStatistics]] = {}
    if entry.partitionKeys:
        names = set(client.call("get_partition_names", db_name=database, tbl_name=table, max_parts=-1))
        named = statistics_by_name(ours.metadata, ours.storage, snapshot, partition_naming(ours.metadata))
        partitions = {name: converted(ours, found, columns) for name, found in named if name in names}
    found = [of_whole_table(one) for one in converted(ours, ours.statistics(), columns)]
    partitions = {name: values for name, values in partitions.items() if values}
    _publish(client, (database, table), found, partitions, lambda entry: _is_at(entry, ours), uses_locks=uses_locks)
    return [one.column for one in found]


def publish_statistics(
    client: HiveClient,
    database: str,
    table: str,
    statistics: Sequence[ColumnStatistics],
    *,
    partitions: Mapping[str, Sequence[ColumnStatistics]] | None = None,
    is_current: bool = True,
    uses_locks: bool = True,
) -> None:
    """Store statistics in a metastore, of the table and of partitions that it knows.

    With `is_current` the columns are marked accurate, else no longer so.
    """
    _publish(client, (database, table), statistics, partitions or {}, lambda _: is_current, uses_locks=uses_locks)


def _publish(
    client: HiveClient,
    names: tuple[str, str],
    statistics: Sequence[ColumnStatistics],
    partitions: Mapping[str, Sequence[ColumnStatistics]],
    is_current: Callable[[Any], bool],
    *,
    uses_locks: bool,
) -> None:
    if not statistics and not partitions:
        return
    columns = client.table(*names).sd.cols
    if statistics:
        named = _as_there(statistics, columns)
        client.put_table_statistics(*names, named)
        _mark_table(client, names, named, is_current, uses_locks=uses_locks)
    if not partitions:
        return
    by_name = {name: _as_there(values, columns) for name, values in partitions.items()}
    client.put_partition_statistics(*names, by_name)
    is_still = is_current(client.table(*names))
    for name, values in by_name.items():
        entry = client.call("get_partition_by_name", db_name=names[0], tbl_name=names[1], part_name=name)
        if _mark(entry, values, is_still):
            client.call("alter_partition", db_name=names[0], tbl_name=names[1], new_part=entry)


def _mark_table(
    client: HiveClient,
    names: tuple[str, str],
    statistics: Sequence[ColumnStatistics],
    is_current: Callable[[Any], bool],
    *,
    uses_locks: bool,
) -> None:
    """Say of the columns whether they are accurate; an entry can only be changed whole, with the pointer in it."""
    entry = client.table(*names)
    if not _mark(entry, statistics, is_current(entry)):
        return
    if not is_iceberg(entry):
        # Without this the metastore would look at the files and take back what was just said.
        _alter(client, names, entry, {"DO_NOT_UPDATE_STATS": "true"})
        return
    with locked(client, names) if uses_locks else nullcontext():
        for _ in range(_ATTEMPTS):
            entry = client.table(*names)
            if not _mark(entry, statistics, is_current(entry)):
                return
            try:
                _alter(client, names, entry, expecting((entry.parameters or {}).get(METADATA_LOCATION, "")))
            except MetastoreError as error:
                if MODIFIED not in str(error):
                    raise
            else:
                return
    raise rejected(names, f"other commits came in between {_ATTEMPTS} times")


def _alter(client: HiveClient, names: tuple[str, str], entry: Any, context: dict[str, str]) -> None:
    client.call(
        "alter_table_with_environment_context",
        dbname=names[0],
        tbl_name=names[1],
        new_tbl=entry,
        environment_context=api.EnvironmentContext(properties=context),
    )


def _is_at(entry: Any, ours: Table) -> bool:
    """Whether an entry is of our table's current rows, as far as it says of which it is."""
    snapshot = (entry.parameters or {}).get(SNAPSHOT_ID) if is_iceberg(entry) else None
    return snapshot is None or snapshot == str(ours.metadata.current_snapshot_id)


def import_statistics(
    client: HiveClient, database: str, table: str, *, partitions: Sequence[str] = ()
) -> list[ImportedStatistics]:
    """All statistics that a metastore has of a table's columns, and of those partitions."""
    entry = client.table(database, table)
    columns = [column.name for column in entry.sd.cols]
    accurate = accurate_columns(entry.parameters or {})
    found = [
        ImportedStatistics(statistics=one, partition=None, is_accurate=one.column in accurate)
        for one in client.table_statistics(database, table, columns)
    ]
    if partitions:
        by_name = client.partition_statistics(database, table, partitions, columns)
        for name, values in by_name.items():
            part = client.call("get_partition_by_name", db_name=database, tbl_name=table, part_name=name)
            known = accurate_columns(part.parameters or {})
            found += [
                ImportedStatistics(statistics=one, partition=name, is_accurate=one.column in known) for one in values
            ]
    return found


def distinct_counts(imported: Iterable[ImportedStatistics], ours: Table) -> dict[str, int]:
    """What a metastore tells of the numbers of distinct values of a table's columns, as `Table.estimate` takes it."""
    names = {field.name.lower(): field.name for field in ours.metadata.current_schema.fields}
    found = (one.statistics for one in imported if one.partition is None)
    return {
        names[one.column.lower()]: one.num_distincts
        for one in found
        if one.num_distincts and one.column.lower() in names
    }


def _as_there(statistics: Sequence[ColumnStatistics], columns: Sequence[Any]) -> list[ColumnStatistics]:
    """The statistics under the names and types that the metastore has for their columns.

    It may have folded the case of a name, and may lack a type: a timestamp with a zone is a plain one in Hive 2.
    """
    exact = {column.name: column for column in columns}
    folded = {column.name.lower(): column for column in columns}
    named = []
    for one in statistics:
        column = exact.get(one.column) or folded.get(one.column.lower())
        if column is not None:
            kind = column.type if fits(one.kind, column.type) else one.type
            one = replace(one, column=column.name, type=kind)
        named.append(one.checked())
    return named


def _mark(entry: Any, statistics: Sequence[ColumnStatistics], is_current: bool) -> bool:
    """Put the columns' accuracy into an entry's parameters; whether that changed anything."""
    names = [one.column for one in statistics]
    before = dict(entry.parameters or {})
    entry.parameters = with_columns(before, names) if is_current else without_columns(before, names)
    return bool(entry.parameters.get(KEY) != before.get(KEY))
