"""HiveQL statements carried out against a store: what a user types, and the rows that come back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from skipstone.errors import NotFound, Unsupported, what_exists
from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.accurate import accurate_columns, with_columns
from skipstone.hive.describe import (
    Row,
    describe_column,
    describe_columns_plain,
    describe_extended,
    describe_plain,
    describe_table,
)
from skipstone.hive.errors import (
    COLUMN_NOT_FOUND,
    DATABASE_NOT_FOUND,
    NO_PRIMITIVE_COLUMN,
    PARTITION_COLUMN,
    PARTITION_NOT_FOUND,
    TABLE_NOT_FOUND,
    HiveInvalid,
    HiveNotFound,
)
from skipstone.hive.objects import Column, HiveTable
from skipstone.hive.partition_keys import comparable, key_statistics, with_totals
from skipstone.hive.partition_names import parse_partition_name, partition_name
from skipstone.hive.statements import (
    Analyze,
    Describe,
    DescribeForm,
    DropStatistics,
    PartitionKey,
    TableName,
    UpdateStatistics,
    parse_statement,
)
from skipstone.hive.statistics import ColumnStatistics, updated
from skipstone.hive.store import HiveStore
from skipstone.hive.types import kind_of


class Analyzer(Protocol):
    """Computes statistics from rows. The session says of what; the analyzer stores them."""

    def refresh(self, database: str, table: str) -> None:
        """Bring what the store knows of a table up to date, if the analyzer knows the table."""

    def analyze(
        self, table: HiveTable, partitions: Sequence[str] | None, columns: Sequence[str] | None, *, is_scanned: bool
    ) -> None:
        """Of these partitions, or the whole table; of these columns, or without columns basic statistics only."""


class HiveSession:
    """Runs statements. Tables without a database are in `database`."""

    def __init__(self, store: HiveStore, *, database: str = "default", analyzer: Analyzer | None = None) -> None:
        self._store = store
        self._default = database
        self._analyzer = analyzer

    def run(self, text: str) -> list[Row]:
        """Carry out one statement; the rows of a DESCRIBE, else none."""
        match parse_statement(text):
            case Describe() as statement:
                return self._describe(statement)
            case Analyze() as statement:
                self._analyze(statement)
            case UpdateStatistics() as statement:
                self._update(statement)
            case DropStatistics() as statement:
                self._drop(statement)
        return []

    def _describe(self, statement: Describe) -> list[Row]:
        table = self._table(statement.table)
        partition = self._one_partition(table, statement.partition) if statement.partition else None
        if statement.column:
            return self._describe_column(statement, table, partition)
        if statement.form is DescribeForm.PLAIN:
            return describe_plain(table)
        held = self._store.partition(table.database, table.name, partition) if partition else None
        if table.partition_keys and held is None:
            partitions = self._store.partitions(table.database, table.name)
            table = replace(table, parameters=with_totals(table.parameters, partitions))
        return (
            describe_table(table, held) if statement.form is DescribeForm.FORMATTED else describe_extended(table, held)
        )

    def _describe_column(self, statement: Describe, table: HiveTable, partition: str | None) -> list[Row]:
        name, *path = statement.column
        key = next((k for k in table.partition_keys if k.name.lower() == name.lower()), None)
        if key is not None and table.column(name) is None:
            return self._describe_key(statement, table, key)
        column = self._column(table, name)
        described = _fields(replace(_nested(column, path), name=statement.column[-1]))
        if statement.form is not DescribeForm.FORMATTED:
            return describe_columns_plain(described, parameters=table.parameters)
        if path or kind_of(column.type) is None:
            return describe_column(described[0], None, parameters=None if partition else table.parameters)
        statistics, accuracy = self._statistics(table, partition, column), self._accuracy(table, column)
        return describe_column(described[0], statistics, parameters=None if partition else accuracy)

    def _describe_key(self, statement: Describe, table: HiveTable, key: Column) -> list[Row]:
        if statement.form is not DescribeForm.FORMATTED:
            return describe_columns_plain([key], parameters=table.parameters)
        found = key_statistics(table, key, self._store.partitions(table.database, table.name))
        accurate = with_columns(table.parameters, [key.name] if found is not None else [])
        return describe_column(key, found, parameters=accurate, comment_default="")

    def _accuracy(self, table: HiveTable, column: Column) -> Mapping[str, str]:
        """The table's parameters; a partitioned one is accurate where all its partitions are."""
        if not table.partition_keys or ACCURATE in table.parameters:
            return table.parameters
        partitions = self._store.partitions(table.database, table.name)
        is_accurate = partitions and all(column.name in accurate_columns(part.parameters) for part in partitions)
        return with_columns({}, [column.name] if is_accurate else [])

    def _statistics(self, table: HiveTable, partition: str | None, column: Column) -> ColumnStatistics | None:
        names = (table.database, table.name)
        if partition is not None:
            found = self._store.partition_statistics(*names, [partition], [column.name]).get(partition, [])
            return next(iter(found), None)
        own = self._store.table_statistics(*names, [column.name])
        if own or not table.partition_keys:
            return next(iter(own), None)
        everything = self._store.partition_names(*names)
        return next(iter(self._store.aggregate(*names, everything, [column.name]).statistics), None)

    def _analyze(self, statement: Analyze) -> None:
        table = self._table(statement.table)
        columns = [self._column(table, name).name for name in statement.columns]
        if statement.is_for_columns and not columns:
            columns = [column.name for column in table.columns]
        if statement.is_for_columns:
            columns = self._with_statistics(table, columns)
        partitions = self._partitions(table, statement.partition) if statement.partition else None
        if self._analyzer is None:
            raise Unsupported("Cannot run ANALYZE TABLE: this session has nothing to read rows with.")
        wanted = columns if statement.is_for_columns else None
        self._analyzer.analyze(table, partitions, wanted, is_scanned=not statement.is_without_scan)

    def _with_statistics(self, table: HiveTable, columns: Sequence[str]) -> list[str]:
        """The columns of types that have statistics; Hive passes over others, unless there are only such."""
        found = [c.name for c in table.columns if c.name in columns and kind_of(c.type) is not None]
        if not found:
            raise HiveInvalid(
                f"Cannot analyse {table.database}.{table.name} for columns {', '.join(columns)}: expected a column of "
                "a primitive type, got none.",
                code=NO_PRIMITIVE_COLUMN,
            )
        return found

    def _update(self, statement: UpdateStatistics) -> None:
        table = self._table(statement.table)
        column = self._column(table, statement.column)
        now, names = int(time.time()), (table.database, table.name)
        if not statement.partition:
            old = self._store.table_statistics(*names, [column.name])
            changed = updated(next(iter(old), None), column.name, column.type, dict(statement.values))
            self._store.put_table_statistics(*names, [changed], now=now)
            return
        partition = self._one_partition(table, statement.partition)
        known = self._store.partition_statistics(*names, [partition], [column.name]).get(partition, [])
        changed = updated(next(iter(known), None), column.name, column.type, dict(statement.values))
        self._store.put_partition_statistics(*names, {partition: [changed]}, now=now)

    def _drop(self, statement: DropStatistics) -> None:
        table = self._table(statement.table)
        columns = [self._column(table, name).name for name in statement.columns] or None
        names = (table.database, table.name)
        if statement.partition:
            self._store.delete_partition_statistics(*names, self._partitions(table, statement.partition), columns)
            return
        self._store.delete_table_statistics(*names, columns)
        if table.partition_keys and columns is None:
            self._store.delete_partition_statistics(*names, self._store.partition_names(*names))

    def _table(self, name: TableName) -> HiveTable:
        database = name.database or self._default
        if self._analyzer is not None:
            self._analyzer.refresh(database, name.table)
        try:
            self._store.database(database)
        except NotFound as error:
            raise HiveNotFound(str(error), code=DATABASE_NOT_FOUND) from None
        try:
            return self._store.table(database, name.table)
        except NotFound as error:
            raise HiveNotFound(str(error), code=TABLE_NOT_FOUND) from None

    def _column(self, table: HiveTable, name: str) -> Column:
        column = table.column(name)
        if column is not None:
            return column
        if any(key.name.lower() == name.lower() for key in table.partition_keys):
            raise HiveInvalid(
                f"Cannot use column {name!r} of {table.database}.{table.name}: it is a partition key, which has no "
                f"statistics. Leave it out.",
                code=PARTITION_COLUMN,
            )
        known = [c.name for c in table.columns]
        raise HiveNotFound(
            f"Cannot find column {name!r} in {table.database}.{table.name}. {what_exists('Columns', name, known)}",
            code=COLUMN_NOT_FOUND,
        )

    def _one_partition(self, table: HiveTable, keys: Sequence[PartitionKey]) -> str:
        is_whole = len(keys) == len(table.partition_keys) and all(key.value is not None for key in keys)
        if table.partition_keys and not is_whole:
            expected = ", ".join(f"{key.name}='...'" for key in table.partition_keys)
            raise HiveInvalid(
                f"Invalid partition of {table.database}.{table.name}: expected a value for every key: "
                f"PARTITION({expected})."
            )
        return self._partitions(table, keys)[0]

    def _partitions(self, table: HiveTable, keys: Sequence[PartitionKey]) -> list[str]:
        """The partitions that a clause names: all that have its values."""
        if not table.partition_keys:
            raise HiveInvalid(f"Invalid partition of {table.database}.{table.name}: the table has no partition keys.")
        known = {key.name.lower(): key.name for key in table.partition_keys}
        fixed: dict[str, str] = {}
        for key in keys:
            if key.name.lower() not in known:
                raise HiveInvalid(
                    f"Invalid partition key {key.name!r} of {table.database}.{table.name}. "
                    f"{what_exists('Partition keys', key.name, list(known.values()))}"
                )
            if key.value is not None:
                fixed[known[key.name.lower()]] = key.value
        names = self._store.partition_names(table.database, table.name)
        wanted = {name: parse_partition_name(partition_name([name], [value]))[name] for name, value in fixed.items()}
        found = [name for name in names if _has_values(table, parse_partition_name(name), wanted)]
        if not found:
            asked = ", ".join(f"{name}={value!r}" for name, value in fixed.items()) or "any"
            raise HiveNotFound(
                f"Cannot find partition ({asked}) of {table.database}.{table.name}. "
                f"{what_exists('Partitions', '/'.join(fixed.values()), names)}",
                code=PARTITION_NOT_FOUND,
            )
        return found


def _has_values(table: HiveTable, values: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether a partition has the values that a clause asks for, however they are written."""
    types = {key.name: key.type for key in table.partition_keys}
    return all(
        values[name] == text or comparable(types[name], values[name]) == comparable(types[name], text)
        for name, text in wanted.items()
    )


def _nested(column: Column, path: Sequence[str]) -> Column:
    """A field within a column; its type is found in the column's type text."""
    described = column
    for name in path:
        inner = _inner_types(described.type).get(name.lower())
        if inner is None:
            raise HiveNotFound(
                f"Cannot find field {name!r} in column {column.name!r} of type {column.type}.", code=COLUMN_NOT_FOUND
            )
        described = replace(described, name=name, type=inner, comment=None)
    return described


def _fields(described: Column) -> list[Column]:
    """What Hive describes in the place of a column: of a struct its fields, of which FORMATTED shows the first."""
    inner = _inner_types(described.type) if described.type.lower().startswith("struct<") else {}
    return [replace(described, name=name, type=kind, comment=None) for name, kind in inner.items()] or [described]


def _inner_types(type_text: str) -> dict[str, str]:
    head, _, rest = type_text.partition("<")
    parts = _split(rest.removesuffix(">"))
    match head.lower():
        case "array" if parts:
            return {"$elem$": parts[0]}
        case "map" if len(parts) == 2:
            return {"$key$": parts[0], "$value$": parts[1]}
        case "struct":
            return {name.lower(): kind for name, _, kind in (part.partition(":") for part in parts)}
    return {}


def _split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]] if text else []
