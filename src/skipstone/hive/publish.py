"""Statistics between our tables and a metastore.

What goes out is marked accurate there only when it was computed from the table's current rows. What comes in is an
estimate: Hive's lows and highs may be rounded and nobody proves that no row was written since, so it never prunes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skipstone.hive.accurate import KEY, accurate_columns, with_columns, without_columns
from skipstone.hive.client import HiveClient
from skipstone.hive.statistics import ColumnStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedStatistics:
    """A column's statistics from a metastore: an estimate, even where the metastore calls it accurate."""

    statistics: ColumnStatistics
    partition: str | None
    is_accurate: bool


def publish_statistics(
    client: HiveClient,
    database: str,
    table: str,
    statistics: Sequence[ColumnStatistics],
    *,
    partitions: Mapping[str, Sequence[ColumnStatistics]] | None = None,
    is_current: bool = True,
) -> None:
    """Store statistics in a metastore, of the table and of partitions that it knows.

    With `is_current` the columns are marked accurate, else no longer so.
    """
    if statistics:
        client.put_table_statistics(database, table, [one.checked() for one in statistics])
        entry = client.call("get_table", dbname=database, tbl_name=table)
        if _mark(entry, statistics, is_current):
            client.call("alter_table", dbname=database, tbl_name=table, new_tbl=entry)
    if not partitions:
        return
    checked = {name: [one.checked() for one in values] for name, values in partitions.items()}
    client.put_partition_statistics(database, table, checked)
    for name, values in checked.items():
        entry = client.call("get_partition_by_name", db_name=database, tbl_name=table, part_name=name)
        if _mark(entry, values, is_current):
            client.call("alter_partition", db_name=database, tbl_name=table, new_part=entry)


def import_statistics(
    client: HiveClient, database: str, table: str, *, partitions: Sequence[str] = ()
) -> list[ImportedStatistics]:
    """All statistics that a metastore has of a table's columns, and of those partitions."""
    entry = client.call("get_table", dbname=database, tbl_name=table)
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


def _mark(entry: Any, statistics: Sequence[ColumnStatistics], is_current: bool) -> bool:
    """Put the columns' accuracy into an entry's parameters; whether that changed anything."""
    names = [one.column for one in statistics]
    before = dict(entry.parameters or {})
    entry.parameters = with_columns(before, names) if is_current else without_columns(before, names)
    return bool(entry.parameters.get(KEY) != before.get(KEY))
