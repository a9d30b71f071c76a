"""Type promotion: the spec's table per version, partition fields, and the values."""

from __future__ import annotations

from decimal import Decimal

import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schemas.promotion import (
    is_promotion_allowed,
    partition_refusal,
    promote_value,
    promotion_refusal,
)
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    StructType,
)

PRIMITIVES = (
    UNKNOWN, BOOLEAN, INT, LONG, FLOAT, DOUBLE, DecimalType(9, 2), DecimalType(10, 2), DecimalType(10, 3), DATE, TIME,
    TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS, STRING, UUID, FixedType(4), FixedType(5), BINARY, VARIANT,
    GeometryType(), GeographyType(),
)  # fmt: skip

ALWAYS = {(INT, LONG), (FLOAT, DOUBLE), (DecimalType(9, 2), DecimalType(10, 2))}
FROM_V3 = {(DATE, TIMESTAMP), (DATE, TIMESTAMP_NS)} | {(UNKNOWN, t) for t in PRIMITIVES if t != UNKNOWN}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_exactly_the_listed_promotions_are_allowed(version):
    allowed = {
        (a, b) for a in PRIMITIVES for b in PRIMITIVES if a != b and is_promotion_allowed(a, b, format_version=version)
    }
    assert allowed == (ALWAYS | FROM_V3 if version == 3 else ALWAYS)


def test_a_type_may_stay_what_it_is():
    assert all(is_promotion_allowed(t, t, 1) for t in PRIMITIVES)


STRUCT = StructType((Field(id=2, name="a", type=INT),))
LIST = ListType(element_id=3, element=INT)


@pytest.mark.parametrize(("source", "target"), [(INT, STRUCT), (STRUCT, INT), (STRUCT, LIST), (LIST, INT), (INT, LIST)])
def test_primitives_and_nested_types_never_become_each_other(source, target):
    assert not is_promotion_allowed(source, target, 3)


def test_unknown_becomes_any_type_in_v3():
    assert is_promotion_allowed(UNKNOWN, STRUCT, 3)
    assert is_promotion_allowed(UNKNOWN, LIST, 3)


@pytest.mark.parametrize(
    ("source", "target", "version", "reason"),
    [
        (DATE, TIMESTAMP, 2, "needs table format v3"),
        (DATE, TIMESTAMPTZ, 3, "no time zone"),
        (DecimalType(9, 2), DecimalType(10, 3), 2, "scale of a decimal is fixed at 2"),
        (DecimalType(10, 2), DecimalType(9, 2), 2, "may only grow"),
        (LONG, INT, 2, "long may become no other type"),
        (INT, STRING, 2, "int may become long"),
        (INT, STRUCT, 3, "changed through its fields"),
    ],
)
def test_a_refusal_says_why(source, target, version, reason):
    assert reason in promotion_refusal(source, target, version)


def spec(transform: str, source_id: int = 7) -> PartitionSpec:
    field = PartitionField(source_ids=(source_id,), field_id=1000, name="part", transform=parse_transform(transform))
    return PartitionSpec(spec_id=4, fields=(field,))


@pytest.mark.parametrize("target", [TIMESTAMP, TIMESTAMP_NS])
@pytest.mark.parametrize("transform", ["identity", "bucket[16]", "truncate[3]", "something_new"])
def test_date_stays_a_date_where_a_partition_value_would_change(transform, target):
    refusal = partition_refusal(7, DATE, target, [spec("year"), spec(transform)])
    assert "partition field 'part' of spec 4" in refusal
    assert transform in refusal


@pytest.mark.parametrize("transform", ["year", "month", "day", "void"])
def test_date_becomes_timestamp_where_the_partition_value_stays(transform):
    assert partition_refusal(7, DATE, TIMESTAMP, [spec(transform)]) is None


def test_partition_fields_of_other_columns_do_not_matter():
    assert partition_refusal(8, DATE, TIMESTAMP, [spec("identity")]) is None


@pytest.mark.parametrize(("source", "target"), [(INT, LONG), (FLOAT, DOUBLE), (DecimalType(9, 2), DecimalType(10, 2))])
def test_widening_is_allowed_under_every_transform(source, target):
    specs = [spec(t) for t in ("identity", "bucket[4]", "truncate[10]", "something_new")]
    assert partition_refusal(7, source, target, specs) is None


@pytest.mark.parametrize(
    ("source", "target", "value", "promoted"),
    [
        (INT, LONG, -5, -5),
        (FLOAT, DOUBLE, 0.5, 0.5),
        (DecimalType(9, 2), DecimalType(38, 2), Decimal("1.20"), Decimal("1.20")),
        (DATE, TIMESTAMP, -1, -86_400_000_000),
        (DATE, TIMESTAMP_NS, 1, 86_400_000_000_000),
        (DATE, TIMESTAMP, None, None),
        (UNKNOWN, STRING, None, None),
    ],
)
def test_a_promoted_value_says_the_same(source, target, value, promoted):
    assert promote_value(source, target, value) == promoted


@pytest.mark.parametrize(("target", "days"), [(TIMESTAMP, 106_751_992), (TIMESTAMP_NS, 106_752), (TIMESTAMP, -(2**31))])
def test_a_date_outside_the_range_of_the_timestamp_fails(target, days):
    with pytest.raises(InvalidInput, match="does not fit"):
        promote_value(DATE, target, days)


def test_a_value_is_not_promoted_against_the_table():
    with pytest.raises(InvalidInput, match="expected a promotion from int to long"):
        promote_value(INT, STRING, 34)
