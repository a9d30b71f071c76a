"""What a footer proves, and what it does not."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skipstone.analysis.footer_facts import ToldColumn, told_columns
from skipstone.metadata import types as t
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.schema import Schema


class Footer:
    """A footer with another writer's name."""

    def __init__(self, footer: Any, created_by: str) -> None:
        self._footer = footer
        self.created_by = created_by

    def __getattr__(self, name: str) -> Any:
        return getattr(self._footer, name)


def footer_of(array: pa.Array, **options: Any) -> Any:
    field = pa.field("x", array.type, metadata={"PARQUET:field_id": "1"})
    sink = io.BytesIO()
    pq.write_table(pa.table([array], schema=pa.schema([field])), sink, **options)
    return pq.read_metadata(sink)


def stored_in(footer: Any) -> dict[int, t.Field]:
    return {f.id: f for f in from_parquet_schema(footer.schema, source="f").fields}


def told(array: pa.Array, type_: t.PrimitiveType, **options: Any) -> ToldColumn | None:
    schema = Schema(fields=(t.Field(id=1, name="x", type=type_),))
    footer = footer_of(array, **options)
    return told_columns(footer, schema, [1], stored_in(footer)).get(1)


def test_whole_numbers_of_several_row_groups_are_told() -> None:
    array = pa.array([5, None, -3, None, None, 9])
    assert told(array, t.LONG, row_group_size=2) == ToldColumn(value_count=6, null_count=3, lower=-3, upper=9)
    assert told(pa.nulls(3, pa.int64()), t.LONG) == ToldColumn(value_count=3, null_count=3, lower=None, upper=None)


def test_decimals_are_told_where_they_are_stored_as_whole_numbers() -> None:
    array = pa.array([Decimal("1.50"), Decimal("-2.25")], pa.decimal128(9, 2))
    found = told(array, t.DecimalType(9, 2), store_decimal_as_integer=True)
    assert found is not None and (found.lower, found.upper) == (Decimal("-2.25"), Decimal("1.50"))
    assert told(array, t.DecimalType(9, 2)) is None


@pytest.mark.parametrize(
    ("array", "type_", "options"),
    [
        (pa.array([1.0, 2.0]), t.DOUBLE, {}),
        (pa.array(["a", "b"]), t.STRING, {}),
        (pa.array([True]), t.BOOLEAN, {}),
        (pa.array([1], pa.int32()), t.LONG, {}),
        (pa.array([1_000], pa.timestamp("us")), t.TIMESTAMP, {"coerce_timestamps": "ms"}),
        (pa.array([1], pa.timestamp("us")), t.TIMESTAMP, {"use_deprecated_int96_timestamps": True}),
        (pa.array([1]), t.LONG, {"write_statistics": False}),
    ],
    ids=["float", "text", "boolean", "promoted", "milliseconds", "int96", "no statistics"],
)
def test_what_is_not_certain_is_not_told(array: pa.Array, type_: t.PrimitiveType, options: dict[str, Any]) -> None:
    assert told(array, type_, **options) is None


def test_writers_that_nobody_knows_prove_nothing() -> None:
    schema = Schema(fields=(t.Field(id=1, name="x", type=t.LONG),))
    footer = footer_of(pa.array([1]))
    assert told_columns(footer, schema, [1], stored_in(footer)).keys() == {1}
    assert told_columns(Footer(footer, "someone's writer"), schema, [1], stored_in(footer)) == {}
