"""DESCRIBE in Hive's own lay-out: columns of 20 characters with tabs between, and its names for everything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.objects import Column, HivePartition, HiveTable, Storage
from skipstone.hive.statistics import BOUNDED, COUNTED, MEASURED, Bound, ColumnStatistics
from skipstone.hive.types import Kind

COMMENT_DEFAULT: Final = "from deserializer"
_BLANK: Final = ("", " ", " ")

Row = tuple[str, ...]


def describe_column(
    column: Column, statistics: ColumnStatistics | None, *, parameters: Mapping[str, str] | None = None
) -> list[Row]:
    """The rows of DESCRIBE FORMATTED for one column. `parameters` are the table's, none for a partition."""
    rows = [("col_name", column.name), ("data_type", column.type)]
    rows += list(_values(statistics).items())
    rows.append(("comment", column.comment or COMMENT_DEFAULT))
    if parameters is not None and ACCURATE in parameters:
        rows.append((ACCURATE, _escaped(parameters[ACCURATE])))
    return rows  # type: ignore[return-value]


def describe_plain(table: HiveTable) -> list[Row]:
    """The rows of DESCRIBE: columns, then the partition keys once more."""
    keys = [_column_row(key) for key in table.partition_keys]
    rows = [_column_row(column) for column in table.columns] + keys
    if keys:
        rows += [_BLANK, ("# Partition Information", " ", " "), ("# col_name", "data_type", "comment"), *keys]
    return rows


def describe_table(table: HiveTable, partition: HivePartition | None = None) -> list[Row]:
    """The rows of DESCRIBE FORMATTED for a table, or one of its partitions."""
    rows: list[Row] = [("# col_name", "data_type", "comment"), *(_column_row(c) for c in table.columns)]
    if table.partition_keys:
        rows += [_BLANK, ("# Partition Information", " ", " "), ("# col_name", "data_type", "comment")]
        rows += [_column_row(key) for key in table.partition_keys]
    rows.append(_BLANK)
    rows += _table_details(table) if partition is None else _partition_details(table, partition)
    storage = partition.storage if partition is not None and partition.storage != Storage() else table.storage
    return rows + _storage_details(storage)


def render(rows: Sequence[Row]) -> str:
    """Rows as the command line prints them."""
    return "".join("\t".join(_padded(row, at) for at in range(len(row))) + "\n" for row in rows)


def java_double(value: float) -> str:
    """A float as Java writes it: an exponent below 0.001 and from ten million on, always a fraction."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(float(value))
        return text if "e" not in text else format(value, "f")
    mantissa, _, exponent = repr(float(value)).partition("e")
    digits = mantissa.lstrip("-").replace(".", "")
    if exponent:
        power = int(exponent) + len(mantissa.lstrip("-").partition(".")[0]) - 1
    else:
        whole = mantissa.lstrip("-").partition(".")[0]
        power = len(whole) - 1 if whole != "0" else -(len(digits) - len(digits.lstrip("0")))
    significant = digits.strip("0") or "0"
    return f"{'-' if value < 0 else ''}{significant[0]}.{significant[1:] or '0'}E{power}"


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
            return java_double(float(value or 0.0))
        case _ if value is None:
            return ""
        case Kind.DECIMAL:
            return format(value, "f")
        case Kind.DATE:
            return _date(int(value))
        case _:
            return _moment(int(value))


def _date(days: int) -> str:
    try:
        return (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    except OverflowError:
        return str(days)


def _moment(seconds: int) -> str:
    try:
        return (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat(" ")
    except OverflowError:
        return str(seconds)


def _table_details(table: HiveTable) -> list[Row]:
    return [
        ("# Detailed Table Information", " ", " "),
        ("Database:", table.database, " "),
        ("OwnerType:", "USER", " "),
        ("Owner:", table.owner or "", " "),
        ("CreateTime:", _created(table.create_time), " "),
        ("LastAccessTime:", "UNKNOWN", " "),
        ("Retention:", "0", " "),
        ("Location:", table.storage.location or "", " "),
        ("Table Type:", table.table_type, " "),
        *_parameter_rows("Table Parameters:", table.parameters),
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
        *_parameter_rows("Partition Parameters:", partition.parameters),
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
        *(_parameter_rows("Storage Desc Params:", storage.serde_parameters) if storage.serde_parameters else ()),
    ]


def _parameter_rows(title: str, parameters: Mapping[str, str]) -> list[Row]:
    # Hive is silent about erasure coding where there is none.
    shown = sorted(key for key in parameters if (key, parameters[key]) != ("numFilesErasureCoded", "0"))
    return [(title, " ", " "), *(("", key, _escaped(parameters[key])) for key in shown)]


def _column_row(column: Column) -> Row:
    return (column.name, column.type, column.comment or "")


def _created(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")


def _escaped(value: str) -> str:
    """Quotes, backslashes and control characters as Hive escapes them; other characters as they are."""
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _padded(row: Row, at: int) -> str:
    cell = row[at]
    is_title = row[1:2] == (" ",)
    if cell == " " or (at == 0 and (not cell or is_title)):
        return cell
    return f"# {cell[2:]:<20}" if cell.startswith("# ") else f"{cell:<20}"
