"""Row groups as zones: footers of Parquet files."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.support.parquet_zones import ParquetZones

from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import IDENTITY
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    DecimalType,
    Field,
    StructType,
)
from skipstone.predicate import FloatOrder

NAN = math.nan


def test_row_groups_outside_the_literal_are_skipped() -> None:
    file = ParquetZones({"a": list(range(30))}, row_group_size=10)
    assert file.by_statistics("a = 15") == [0, 1, 0]
    assert file.by_statistics("a >= 10") == [0, 2, 2]
    assert file.by_statistics("a BETWEEN 5 AND 12") == [1, 1, 0]
    assert file.by_statistics("a IS NOT NULL") == [2, 2, 2]


def test_one_over_long_string_leaves_no_statistics_and_the_row_group_is_kept() -> None:
    file = ParquetZones({"x": ["apple", "x" * 5000, "pear"]}, row_group_size=2)
    facts = file.zones.columns[1]
    assert facts.lower.to_pylist() == [None, "pear"]
    assert facts.null_count.to_pylist() == [0, 0]
    assert file.by_statistics("x = 'apple'") == [1, 0]
    assert file.by_statistics("x IS NULL") == [0, 0]


def test_missing_statistics_are_unknown() -> None:
    file = ParquetZones({"a": [1, 2]}, write_statistics=False)
    assert file.zones.columns[1].null_count.to_pylist() == [None]
    assert file.by_statistics("a = 9") == [1]
    assert file.by_statistics("a IS NULL") == [1]


def test_a_group_of_nulls_is_known_to_be_null() -> None:
    file = ParquetZones({"a": pa.array([None, None, 1], pa.int32())}, row_group_size=2)
    assert file.by_statistics("a IS NULL") == [2, 0]
    assert file.by_statistics("a = 1") == [0, 2]


def test_nan_may_hide_in_every_float_column() -> None:
    file = ParquetZones({"d": [1.0, NAN, 2.0, NAN, NAN]}, row_group_size=2)
    assert file.by_statistics("d > 5") == [1, 1, 1]
    assert file.by_statistics("d > 5", FloatOrder.IEEE) == [0, 0, 1]
    assert file.by_statistics("d = 2") == [0, 1, 1]
    assert file.by_statistics("isnan(d)") == [1, 1, 1]


def test_zeros_of_both_signs_are_equal() -> None:
    file = ParquetZones({"d": [-0.0, -0.0, 0.0, 0.0]}, row_group_size=2)
    assert file.by_statistics("d = 0.0", FloatOrder.IEEE) == [1, 1]
    assert file.by_statistics("d < 0.0", FloatOrder.IEEE) == [0, 0]


def test_struct_leaf_counts_rows_under_null_parents_as_null() -> None:
    rows = [{"x": 1}, None, {"x": None}, {"x": 5}]
    struct = pa.struct([pa.field("x", pa.int32(), metadata={"PARQUET:field_id": "2"})])
    file = ParquetZones({"s": pa.array(rows, struct)}, row_group_size=3)
    assert file.zones.columns[2].null_count.to_pylist() == [2, 0]
    assert file.by_statistics("s.x IS NULL") == [1, 0]
    assert file.by_statistics("s.x = 5") == [0, 2]


def test_a_column_added_later_is_null_or_its_default() -> None:
    schema = Schema(
        fields=(
            Field(id=1, name="i", type=LONG),
            Field(id=2, name="z", type=LONG),
            Field(id=3, name="d", type=LONG, initial_default=7),
            Field(id=4, name="s", type=StructType((Field(id=5, name="x", type=STRING),))),
        )
    )
    file = ParquetZones({"i": [1, 2, 3, 4]}, schema, row_group_size=2)
    assert file.by_statistics("z IS NULL OR i = 1") == [2, 2]
    assert file.by_statistics("z = 0") == [0, 0]
    assert file.by_statistics("d = 7") == [2, 2]
    assert file.by_statistics("d IN (1, 2)") == [0, 0]
    assert file.by_statistics("s.x IS NULL") == [2, 2]


def test_a_default_inside_a_struct_that_may_be_null_is_not_in_every_row() -> None:
    stored = pa.struct([pa.field("x", pa.int32(), metadata={"PARQUET:field_id": "2"})])
    inner = (Field(id=2, name="x", type=INT), Field(id=3, name="y", type=INT, initial_default=7))
    schema = Schema(fields=(Field(id=1, name="s", type=StructType(inner)),))
    file = ParquetZones({"s": pa.array([{"x": 1}, None], stored)}, schema)
    assert file.by_statistics("s.y = 7") == [1]
    assert file.by_statistics("s.y = 8") == [0]
    assert file.by_statistics("s.y IS NULL") == [1]


def test_an_identity_partition_value_fills_a_column_that_the_file_lacks() -> None:
    schema = Schema(fields=(Field(id=1, name="i", type=LONG), Field(id=2, name="state", type=STRING)))
    spec = PartitionSpec(fields=(PartitionField(source_ids=(2,), field_id=1000, name="state", transform=IDENTITY),))
    file = ParquetZones({"i": [1]}, schema, spec=spec, partition={1000: "CA"})
    assert file.by_statistics("state = 'CA'") == [2]
    assert file.by_statistics("state = 'NY'") == [0]


def _promoted(array: Any, type_: Any) -> ParquetZones:
    return ParquetZones({"a": array}, Schema(fields=(Field(id=1, name="a", type=type_),)))


def _stored(file: ParquetZones) -> tuple[Any, Any]:
    facts = file.zones.columns[1]
    lower, upper = facts.lower, facts.upper
    if pa.types.is_temporal(lower.type):
        lower, upper = lower.view(pa.int64()), upper.view(pa.int64())
    return lower[0].as_py(), upper[0].as_py()


def test_bounds_are_promoted_as_values_are() -> None:
    day = 86_400_000_000
    assert _stored(_promoted(pa.array([-3, 5], pa.int32()), LONG)) == (-3, 5)
    assert _stored(_promoted(pa.array([1.5, 2.5], pa.float32()), DOUBLE)) == (1.5, 2.5)
    assert _stored(_promoted(pa.array([-1, 2], pa.date32()), TIMESTAMP)) == (-day, 2 * day)
    assert _stored(_promoted(pa.array([-1, 2], pa.date32()), TIMESTAMP_NS)) == (-1000 * day, 2000 * day)
    cents = pa.array([Decimal("-1.25"), Decimal("3.50")], pa.decimal128(5, 2))
    assert _stored(_promoted(cents, DecimalType(9, 2))) == (Decimal("-1.25"), Decimal("3.50"))


def test_units_of_other_writers_are_converted_and_rounded_down() -> None:
    assert _stored(_promoted(pa.array([-1500, 1999], pa.timestamp("ns")), TIMESTAMP)) == (-2, 1)
    assert _stored(_promoted(pa.array([-2, 3], pa.timestamp("ms")), TIMESTAMP)) == (-2000, 3000)


def test_unsigned_numbers_keep_their_order() -> None:
    file = ParquetZones({"u": pa.array([1, 2**32 - 1], pa.uint32())})
    assert _stored(file) == (1, 2**32 - 1)
    assert file.by_statistics("u = 4294967295") == [1]


def test_a_bound_beyond_the_range_of_its_type_is_unknown() -> None:
    file = _promoted(pa.array([0, 2**31 - 1], pa.date32()), TIMESTAMP_NS)
    assert _stored(file) == (0, None)


def test_int96_timestamps_have_no_statistics() -> None:
    moments = pa.array([1, 2], pa.timestamp("us"))
    file = ParquetZones({"t": moments}, use_deprecated_int96_timestamps=True)
    facts = file.zones.columns[1]
    assert facts.lower is None and facts.upper is None


@pytest.mark.parametrize("as_integer", [True, False])
def test_decimals_are_ordered_by_number(as_integer: bool) -> None:
    values = [Decimal("-1.00"), Decimal("2.00")]
    file = ParquetZones({"d": pa.array(values, pa.decimal128(9, 2))}, store_decimal_as_integer=as_integer)
    assert _stored(file) == (Decimal("-1.00"), Decimal("2.00"))


def test_only_the_columns_asked_for_are_built() -> None:
    file = ParquetZones({"a": [1], "b": [2]})
    assert list(file.zones.columns) == [1, 2]
    assert file.by_statistics("b = 1") == [0]
