"""DESCRIBE in Hive's own lay-out: columns of 20 characters with tabs between, and its names for everything."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.java_doubles import java_double
from skipstone.hive.java_text import (
    escaped,
    escaped_to_ascii,
    java_date,
    java_decimal,
    java_moment,
    java_struct,
    padded,
)
from skipstone.hive.objects import Column, HivePartition, HiveTable, Storage
from skipstone.hive.service.conversion import partition_to_wire, table_to_wire
from skipstone.hive.statistics import BOUNDED, COUNTED, MEASURED, Bound, ColumnStatistics
from skipstone.hive.types import Kind

COMMENT_DEFAULT: Final = "from deserializer"
_BLANK: Final = ("", " ", " ")
_HEADER: Final = ("# col_name", "data_type", "comment")
_DETAILS: Final = ("Detailed Table Information", "Detailed Partition Information")
_OWNER_IS_USER: Final = 1
_LINE_END: Final = re.compile(r"[\n\r]")
_WRITTEN_END: Final = re.compile(r"\\[nr]")
_AS_WRITTEN: Final = ("Partition Parameters:", "Storage Desc Params:")

Row = tuple[str, ...]


def describe_column(
    column: Column,
    statistics: ColumnStatistics | None,
    *,
    parameters: Mapping[str, str] | None = None,
    comment_default: str = COMMENT_DEFAULT,
) -> list[Row]:
    """The rows of DESCRIBE FORMATTED for one column. `parameters` are the table's, none for a partition."""
    rows = [("col_name", column.name), ("data_type", column.type)]
    rows += list(_values(statistics).items())
    rows.append(("comment", column.comment or comment_default))
    if parameters is not None and ACCURATE in parameters:
        rows.append((ACCURATE, escaped_to_ascii(parameters[ACCURATE])))
    return rows  # type: ignore[return-value]


def describe_columns_plain(columns: Sequence[Column], *, parameters: Mapping[str, str]) -> list[Row]:
    """The rows of DESCRIBE and DESCRIBE EXTENDED for one column, or for the fields of one that is a struct."""
    rows: list[Row] = [(column.name, column.type, column.comment or COMMENT_DEFAULT) for column in columns]
    return [*rows, (ACCURATE, escaped(parameters[ACCURATE]))] if ACCURATE in parameters else rows


def describe_plain(table: HiveTable) -> list[Row]:
    """The rows of DESCRIBE: columns, then the partition keys once more."""
    keys = [_column_row(key) for key in table.partition_keys]
    rows = [_column_row(column) for column in table.columns] + keys
    if keys:
        rows += [_BLANK, ("# Partition Information", " ", " "), _HEADER, *keys]
    return rows


def describe_table(table: HiveTable, partition: HivePartition | None = None) -> list[Row]:
    """The rows of DESCRIBE FORMATTED for a table, or one of its partitions."""
    rows: list[Row] = [_HEADER, *(_column_row(c) for c in table.columns)]
    if table.partition_keys:
        rows += [_BLANK, ("# Partition Information", " ", " "), _HEADER]
        rows += [_column_row(key) for key in table.partition_keys]
    rows.append(_BLANK)
    rows += _table_details(table) if partition is None else _partition_details(table, partition)
    storage = partition.storage if partition is not None and partition.storage != Storage() else table.storage
    return rows + _storage_details(storage)


def describe_extended(table: HiveTable, partition: HivePartition | None = None) -> list[Row]:
    """The rows of DESCRIBE EXTENDED: those of DESCRIBE, and all that the metastore has in one long line."""
    if partition is None:
        shown = table_to_wire(table)
        shown.rewriteEnabled, shown.ownerType = False, _OWNER_IS_USER
        detail = (_DETAILS[0], escaped(java_struct(shown)), "")
    else:
        text = java_struct(partition_to_wire(partition, table))
        detail = (_DETAILS[1], _LINE_END.sub(" ", text), "")
    return [*describe_plain(table), _BLANK, detail]


def render(rows: Sequence[Row]) -> str:
    """Rows as the command line prints them. Where a value says `\\n` the line ends, but in some parameters."""
    lines, is_as_written = [], False
    for row in rows:
        is_as_written = is_as_written or row[0] in _AS_WRITTEN
        shown = row if is_as_written or row[0] in _DETAILS else (*row[:-1], _WRITTEN_END.sub("\n", row[-1]))
        lines.append("\t".join(_cells(shown)) + "\n")
    return "".join(lines)


def _values(statistics: ColumnStatistics | None) -> dict[str, str]:
    names = ("min", "max", "num_nulls", "distinct_count", "avg_col_len", "max_col_len", "num_trues", "num_falses")
    values = dict.fromkeys((*names, "bit_vector"), "")
    if statistics is None:
        return values
    kind = statistics.kind
    values["num_nulls"] = str(statistics.num_nulls)
    if kind in BOUNDED:
        values["min"], values["max"] = (_bound(kind, value) for value in (statistics.low, statistics.high))
    if kind in COUNTED:
        values["distinct_count"] = str(statistics.num_distincts or 0)
    if kind in MEASURED:
        values["avg_col_len"] = java_double(statistics.avg_length or 0.0)
        values["max_col_len"] = str(statistics.max_length or 0)
    if kind is Kind.BOOLEAN:
        values["num_trues"], values["num_falses"] = str(statistics.num_trues or 0), str(statistics.num_falses or 0)
    return values


def _bound(kind: Kind, value: Bound | None) -> str:
    """A low or high; Hive shows a missing number as 0, and any other missing value as nothing."""
    match kind:
        case Kind.LONG:
            return str(value or 0)
        case Kind.DOUBLE:
            return java_double(0.0 if value is None else float(value))
        case _ if value is None:
            return ""
        case Kind.DECIMAL:
            return java_decimal(Decimal(value))
        case Kind.DATE:
            return java_date(int(value))
        case _:
            return java_moment(int(value))


def _table_details(table: HiveTable) -> list[Row]:
    return [
        ("# Detailed Table Information", " ", " "),
        ("Database:", table.database, " "),
        ("OwnerType:", "USER", " "),
        ("Owner:", "null" if table.owner is None else table.owner, " "),
        ("CreateTime:", _created(table.create_time), " "),
        ("LastAccessTime:", "UNKNOWN", " "),
        ("Retention:", "0", " "),
        ("Location:", table.storage.location or "", " "),
        ("Table Type:", table.table_type, " "),
        *_parameter_rows("Table Parameters:", table.parameters, escaped),
        _BLANK,
    ]


def _partition_details(table: HiveTable, partition: HivePartition) -> list[Row]:
    return [
        ("# Detailed Partition Information", " ", " "),
        ("Partition Value:", f"[{', '.join(partition.values)}]", " "),
        ("Database:", table.database, " "),
        ("Table:", table.name, " "),
        ("CreateTime:", _created(partition.create_time), " "),
        ("LastAccessTime:", "UNKNOWN", " "),
        ("Location:", partition.storage.location or "", " "),
        *_parameter_rows("Partition Parameters:", partition.parameters, escaped_to_ascii),
        _BLANK,
    ]


def _storage_details(storage: Storage) -> list[Row]:
    return [
        ("# Storage Information", " ", " "),
        ("SerDe Library:", storage.serde or "null", " "),
        ("InputFormat:", storage.input_format or "null", " "),
        ("OutputFormat:", storage.output_format or "null", " "),
        ("Compressed:", "No", " "),
        ("Num Buckets:", "-1", " "),
        ("Bucket Columns:", "[]", " "),
        ("Sort Columns:", "[]", " "),
        *_parameter_rows("Storage Desc Params:", storage.serde_parameters, escaped_to_ascii),
    ]


def _parameter_rows(title: str, parameters: Mapping[str, str], escape: Callable[[str], str]) -> list[Row]:
    if not parameters:
        return []
    # Hive is silent about erasure coding where there is none, and about how a table came to be.
    shown = sorted(key for key in parameters if (key, parameters[key]) != ("numFilesErasureCoded", "0"))
    rows = [("", key, escape(parameters[key])) for key in shown if key != "created_with_ctas"]
    return [(title, " ", " "), *rows]


def _column_row(column: Column) -> Row:
    return (column.name, column.type, column.comment or "")


def _created(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%a %b %d %H:%M:%S UTC %Y") if seconds else "UNKNOWN"


def _cells(row: Row) -> list[str]:
    """The cells of a row as they are printed; further lines of the last one are indented below its first."""
    first, *further = _lines(row[-1])
    cells = [_padded((*row[:-1], first), at) for at in range(len(row))]
    if not further:
        return cells
    widths = [max(20, len(cell)) if cell else 0 for cell in row[:-1]]
    indent = "\n" + "".join(" " * width + "\t" for width in widths)
    return [*cells[:-1], indent.join(padded(line) for line in (first, *further))]


def _lines(text: str) -> list[str]:
    """A text cut at every line feed and every carriage return, as Java cuts it: without empty ends."""
    first, *further = _LINE_END.split(text)
    while further and not further[-1]:
        further.pop()
    return [first, *further]


def _padded(row: Row, at: int) -> str:
    cell = row[at]
    is_title = row[1:2] == (" ",)
    if cell == " " or row[0] in _DETAILS or (at == 0 and (not cell or is_title)):
        return cell
    return f"# {padded(cell[2:])}" if row == _HEADER and at == 0 else padded(cell)
