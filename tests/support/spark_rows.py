"""Rows of Spark DataFrames as values of the table format, and scans that mean an exact snapshot and schema."""

from __future__ import annotations

import uuid
from typing import Any

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import (
    ListType,
    MapType,
    StructType,
    TimestampNsType,
    TimestamptzNsType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    VariantType,
    walk,
)
from skipstone.predicate import FloatOrder
from skipstone.scan import Scan
from skipstone.storage.protocol import Storage

NOT_IN_SPARK = (TimeType, TimestampNsType, TimestamptzNsType)


def spark_has(type_: Type) -> bool:
    """Whether Spark has a type for a column."""
    return not isinstance(type_, NOT_IN_SPARK) and not any(isinstance(f.type, NOT_IN_SPARK) for f in walk(type_))


def exact_scan(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot | None, schema: Schema, wanted: StructType
) -> Scan:
    """A scan of a snapshot under any schema of the table, floats compared as Spark does."""
    scan = Scan(name="table", metadata=metadata, storage=storage, float_order=FloatOrder.SPARK)
    scan.__dict__.update(snapshot=snapshot, schema=schema, wanted=wanted)
    return scan


def values_of(frame: Any, struct: StructType) -> list[list[Any]]:
    """The rows of a frame, each as the values of its columns, which are the struct's fields."""
    if any(isinstance(f.type, VariantType) for f in walk(struct)):
        return [[_collected(f.type, v) for f, v in zip(struct.fields, row, strict=True)] for row in frame.collect()]
    table = frame.toArrow()
    assert table.column_names == [f.name for f in struct.fields]
    columns = [[_value(f.type, s) for s in table.column(i)] for i, f in enumerate(struct.fields)]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[]] * table.num_rows


def _value(type_: Type, scalar: Any) -> Any:
    if not scalar.is_valid:
        return None
    match type_:
        case UnknownType():
            return None
        case UuidType():
            return uuid.UUID(scalar.as_py())
        case VariantType():
            return {n: bytes(scalar[n].as_py()) for n in ("metadata", "value")}
        case StructType(fields):
            return {f.id: _value(f.type, scalar[i]) for i, f in enumerate(fields)}
        case ListType():
            return [_value(type_.element, e) for e in scalar.values]
        case MapType():
            pairs = scalar.values
            return [
                (_value(type_.key, k), _value(type_.value, v))
                for k, v in zip(pairs.field(0), pairs.field(1), strict=True)
            ]
        case _:
            return arrow_to_value(type_, scalar)


def _collected(type_: Type, value: Any) -> Any:
    """A value of a collected row: Arrow cannot take null variants out of Spark."""
    if value is None:
        return None
    match type_:
        case VariantType():
            return {"metadata": bytes(value.metadata), "value": bytes(value.value)}
        case StructType(fields):
            return {f.id: _collected(f.type, v) for f, v in zip(fields, value, strict=True)}
        case ListType():
            return [_collected(type_.element, e) for e in value]
        case _:
            return value
