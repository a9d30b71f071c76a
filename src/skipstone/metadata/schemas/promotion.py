"""Which primitive type may become which, and what a stored value becomes then.

Law: a promotion never changes what a row says. It is refused when the spec's table does not list it, and when a
partition field derives another value from the promoted column than it did before, since partition values in
manifests are not rewritten.

Spec: "Schema Evolution".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.transforms import DayTransform, MonthTransform, VoidTransform, YearTransform
from skipstone.metadata.types import (
    LONG_MAX,
    LONG_MIN,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    Type,
    UnknownType,
    Value,
)
from skipstone.metadata.values.iso import DAY_NS, DAY_US

# Transforms that give a date and the midnight that starts it the same partition value.
_SAME_FOR_DATE_AND_MIDNIGHT: Final = (YearTransform, MonthTransform, DayTransform, VoidTransform)


def is_promotion_allowed(source: Type, target: Type, format_version: int) -> bool:
    """Whether a column of type `source` may become `target`. A type may always stay what it is."""
    return promotion_refusal(source, target, format_version) is None


def promotion_refusal(source: Type, target: Type, format_version: int) -> str | None:
    """Why `source` may not become `target`, or None when it may."""
    if source == target:
        return None
    match source, target:
        case UnknownType(), _:
            return _needs_v3(source, target, format_version)
        case (IntType(), LongType()) | (FloatType(), DoubleType()):
            return None
        case DecimalType(), DecimalType():
            return _decimal_refusal(source, target)
        case DateType(), TimestampType() | TimestampNsType():
            return _needs_v3(source, target, format_version)
        case DateType(), TimestamptzType() | TimestamptzNsType():
            return "a date has no time zone, so it cannot become a point in time"
        case PrimitiveType(), PrimitiveType():
            return _not_listed(source, format_version)
        case _:
            return "a nested type is changed through its fields, and never becomes a primitive or another nested type"


def allowed_promotions(source: Type, format_version: int) -> str:
    """What a column of this type may become, in words, for messages."""
    match source:
        case UnknownType() if format_version >= 3:
            return "any type"
        case IntType():
            return "long"
        case FloatType():
            return "double"
        case DecimalType(precision, scale):
            return f"decimal(P, {scale}) with P > {precision}"
        case DateType() if format_version >= 3:
            return "timestamp or timestamp_ns"
        case _:
            return "no other type"


def partition_refusal(field_id: int, source: Type, target: Type, specs: Iterable[PartitionSpec]) -> str | None:
    """Why partition fields forbid the promotion of the column `field_id`, or None when they do not.

    Every spec counts, not only the current one: files of older specs keep their partition values.
    """
    if not (isinstance(source, DateType) and isinstance(target, TimestampType | TimestampNsType)):
        # The other promotions keep the value itself, and the hash of a value does not depend on its width.
        return None
    for spec in specs:
        for f in spec.fields:
            if field_id in f.source_ids and not isinstance(f.transform, _SAME_FOR_DATE_AND_MIDNIGHT):
                return (
                    f"partition field '{f.name}' of spec {spec.spec_id} would derive another value by "
                    f"{f.transform} from {target} than from {source}"
                )
    return None


def promote_value(source: Type, target: Type, value: Value) -> Value:
    """The same value, as the promoted type holds it."""
    if value is None or source == target:
        return value
    match source, target:
        case (IntType(), LongType()) | (FloatType(), DoubleType()):
            return value
        case DecimalType(), DecimalType() if _decimal_refusal(source, target) is None:
            return value
        case DateType(), TimestampType():
            return _midnight(value, DAY_US, target)
        case DateType(), TimestampNsType():
            return _midnight(value, DAY_NS, target)
        case _:
            raise InvalidInput(
                f"Cannot promote value {value!r}: expected a promotion from {source} to "
                f"{allowed_promotions(source, 3)}, got {target}."
            )


def _midnight(days: int, units_per_day: int, target: Type) -> int:
    promoted = days * units_per_day
    if not LONG_MIN <= promoted <= LONG_MAX:
        days_max = LONG_MAX // units_per_day
        raise InvalidInput(
            f"Cannot promote date {days} (days since 1970-01-01) to {target}: expected {-days_max} to {days_max} days. "
            f"The value does not fit the promoted type."
        )
    return promoted


def _needs_v3(source: Type, target: Type, format_version: int) -> str | None:
    if format_version >= 3:
        return None
    return f"{source} to {target} needs table format v3, the table is v{format_version}"


def _decimal_refusal(source: DecimalType, target: DecimalType) -> str | None:
    if source.scale != target.scale:
        return f"the scale of a decimal is fixed at {source.scale}, got {target.scale}"
    if target.precision < source.precision:
        return f"the precision of a decimal may only grow, got {source.precision} to {target.precision}"
    return None


def _not_listed(source: Type, format_version: int) -> str:
    return f"in a v{format_version} table {source} may become {allowed_promotions(source, format_version)}"
