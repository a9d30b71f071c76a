"""Summaries of files as an Arrow table, one row a file and column: how they travel between processes and are stored.

Law: `summaries_from_arrow(summaries_to_arrow(s))` gives back `s`. Sketches are in their own serialized forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import pyarrow

from skipstone.errors import FormatViolation
from skipstone.metadata.schemas.schema_json import type_from_json
from skipstone.metadata.types import PrimitiveType, Value
from skipstone.metadata.values import parse_value, serialize_value
from skipstone.stats.heavy_values import HeavyValues
from skipstone.stats.hyperloglog import HyperLogLog
from skipstone.stats.quantiles import Quantiles
from skipstone.stats.summary import ColumnSummary, FileSummary
from skipstone.stats.theta import parse_theta

pa: Any = pyarrow

SUMMARY_SCHEMA: Final = pa.schema(
    [
        ("file_path", pa.string()),
        ("row_count", pa.int64()),
        ("deletes_key", pa.string()),
        ("field_id", pa.int32()),
        ("type", pa.string()),
        ("value_count", pa.int64()),
        ("null_count", pa.int64()),
        ("nan_count", pa.int64()),
        ("true_count", pa.int64()),
        ("lower", pa.binary()),
        ("upper", pa.binary()),
        ("length_total", pa.int64()),
        ("length_max", pa.int64()),
        ("theta", pa.binary()),
        ("bit_vector", pa.binary()),
        ("quantiles", pa.list_(pa.struct([("stride", pa.int32()), ("sketch", pa.binary())]))),
        ("heavy_values", pa.list_(pa.binary())),
        ("heavy_counts", pa.list_(pa.int64())),
        ("heavy_error", pa.int64()),
        ("heavy_is_sampled", pa.bool_()),
    ]
)
# A file without analysed columns has one row all the same.
_NO_COLUMN: Final = -1


def summaries_to_arrow(summaries: Iterable[FileSummary]) -> Any:
    rows = [row for summary in summaries for row in _rows(summary)]
    return pa.Table.from_pylist(rows, schema=SUMMARY_SCHEMA)


def _rows(summary: FileSummary) -> list[dict[str, Any]]:
    file = {"file_path": summary.file_path, "row_count": summary.row_count, "deletes_key": summary.deletes_key}
    return [{**file, **_row(c)} for c in summary.columns] or [{**file, "field_id": _NO_COLUMN}]


def _row(c: ColumnSummary) -> dict[str, Any]:
    row: dict[str, Any] = {
        "field_id": c.field_id,
        "type": str(c.type),
        "value_count": c.value_count,
        "null_count": c.null_count,
        "nan_count": c.nan_count,
        "true_count": c.true_count,
        "lower": _bytes(c.type, c.lower),
        "upper": _bytes(c.type, c.upper),
        "length_total": c.length_total,
        "length_max": c.length_max,
        "theta": None if c.theta is None else c.theta.serialize(),
        "bit_vector": None if c.bit_vector is None else c.bit_vector.serialize(),
    }
    if c.quantiles is not None:
        row["quantiles"] = [{"stride": stride, "sketch": data} for stride, data in c.quantiles.parts]
    if c.heavy is not None:
        row |= {"heavy_values": list(c.heavy.counts), "heavy_counts": list(c.heavy.counts.values())}
        row |= {"heavy_error": c.heavy.error, "heavy_is_sampled": c.heavy.is_sampled}
    return row


def summaries_from_arrow(table: Any, *, source: str = "summaries") -> list[FileSummary]:
    """The summaries of a table's files, in the order of their first rows."""
    check_summary_schema(table.schema, source=source)
    by_file: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        by_file.setdefault((row["file_path"], row["deletes_key"]), []).append(row)
    return [_summary(rows, source) for rows in by_file.values()]


def check_summary_schema(schema: Any, *, source: str) -> None:
    if not schema.equals(SUMMARY_SCHEMA):
        raise FormatViolation(f"Invalid {source}: expected the columns of file summaries, got {schema.names}.")


def _summary(rows: Sequence[dict[str, Any]], source: str) -> FileSummary:
    first = rows[0]
    return FileSummary(
        file_path=first["file_path"],
        row_count=first["row_count"],
        deletes_key=first["deletes_key"],
        columns=tuple(_column(row, source) for row in rows if row["field_id"] != _NO_COLUMN),
    )


def _column(row: dict[str, Any], source: str) -> ColumnSummary:
    type_ = type_from_json(row["type"], source=source)
    if not isinstance(type_, PrimitiveType):
        raise FormatViolation(f"Invalid {source}: expected a primitive type, got {type_}.")
    parts = row["quantiles"]
    heavy = row["heavy_values"]
    return ColumnSummary(
        field_id=row["field_id"],
        type=type_,
        value_count=row["value_count"],
        null_count=row["null_count"],
        nan_count=row["nan_count"],
        true_count=row["true_count"],
        lower=_value(type_, row["lower"], source),
        upper=_value(type_, row["upper"], source),
        length_total=row["length_total"],
        length_max=row["length_max"],
        theta=None if row["theta"] is None else parse_theta(row["theta"], source=f"theta sketch in {source}"),
        bit_vector=None if row["bit_vector"] is None else HyperLogLog.parse(row["bit_vector"]),
        quantiles=None if parts is None else Quantiles(tuple((p["stride"], p["sketch"]) for p in parts)),
        heavy=None
        if heavy is None
        else HeavyValues(
            counts=dict(zip(heavy, row["heavy_counts"])),
            error=row["heavy_error"],
            is_sampled=row["heavy_is_sampled"],
        ),
    )


def _bytes(type_: PrimitiveType, value: Value) -> bytes | None:
    return None if value is None else serialize_value(type_, value)


def _value(type_: PrimitiveType, data: bytes | None, source: str) -> Value:
    return None if data is None else parse_value(type_, data, source=source)
