"""Values of the table format as Spark literals, in SQL text: the same text serves filters and column defaults.

Law: a literal has exactly the column's type, so that Spark never casts the column instead, and no setting of the
session (time zone, string escapes, ANSI mode) changes it.
"""

from __future__ import annotations

import math
from typing import Any

from pyspark.sql import functions as F

from skipstone.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IntType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
    Value,
)
from skipstone.metadata.values import iso


def literal(type_: Type, value: Value) -> Any:
    """A value that is not null as a Spark column."""
    return F.lit(value) if isinstance(type_, StringType) else F.expr(literal_sql(type_, value))


def literal_sql(type_: Type, value: Value) -> str:
    """A value that is not null as SQL text. A uuid is its bytes: columns are compared as they are stored."""
    match type_:
        case BooleanType():
            return "true" if value else "false"
        case IntType():
            return f"CAST({int(value)}L AS INT)"
        case LongType():
            return f"{int(value)}L"
        case FloatType() | DoubleType():
            return f"CAST('{_float_text(value)}' AS {'FLOAT' if isinstance(type_, FloatType) else 'DOUBLE'})"
        case DecimalType(precision, scale):
            return f"CAST('{value:f}' AS DECIMAL({precision},{scale}))"
        case DateType():
            return f"DATE'{iso.format_date(value)}'"
        case TimestampType():
            return f"TIMESTAMP_NTZ'{iso.format_timestamp(value)}'"
        case TimestamptzType():
            return f"TIMESTAMP_LTZ'{iso.format_timestamp(value)}Z'"
        case StringType():
            # As bytes: how quotes and backslashes are read depends on the session.
            return f"CAST(X'{value.encode().hex()}' AS STRING)"
        case UuidType():
            return f"X'{value.bytes.hex()}'"
        case FixedType() | BinaryType() | GeometryType() | GeographyType():
            return f"X'{bytes(value).hex()}'"
    raise NoLiteral(f"Spark has no literal of type {type_}")


class NoLiteral(Exception):
    """A value that Spark cannot write down: whoever asks reads another way."""


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(float(value))
