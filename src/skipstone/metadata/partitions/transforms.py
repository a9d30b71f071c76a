"""Partition transforms, one value at a time: the reference that the array form is tested against.

Laws: a transform maps null to null. `apply` is exact: where the result of `truncate` or `hour` lies outside its result
type it is returned as it is, and the writer refuses it; wrapping around would put the row where no filter finds it.
A transform this version does not know is kept word for word, ignored when filtering, and refused when writing.

Spec: "Partition Transforms", "Bucket Transform Details", "Truncate Transform Details".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.partitions.hashing import hash_value
from skipstone.metadata.types import (
    DATE,
    INT,
    STRING,
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IntType,
    LongType,
    PrimitiveType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    Value,
    VariantType,
)
from skipstone.metadata.values.civil import months_from_days, years_from_days
from skipstone.metadata.values.decimals import from_unscaled, unscaled
from skipstone.metadata.values.human import human_day, human_hour, human_month, human_value, human_year

BUCKETS_MAX: Final = 2**31 - 1
WIDTH_MAX: Final = 2**63 - 1

_MICROS: Final = (TimestampType, TimestamptzType)
_NANOS: Final = (TimestampNsType, TimestamptzNsType)
_NOT_IDENTITY: Final = (GeometryType, GeographyType, VariantType)
_BUCKETABLE: Final = (
    IntType, LongType, DecimalType, DateType, TimeType, *_MICROS, *_NANOS, StringType, UuidType, FixedType, BinaryType,
)  # fmt: skip
_TRUNCATABLE: Final = (IntType, LongType, DecimalType, StringType, BinaryType)

MICROS_PER_HOUR: Final = 3_600_000_000
HOURS_PER_DAY: Final = 24


def units_per_hour(type_: Type) -> int:
    """How many units of a timestamp type make an hour."""
    return MICROS_PER_HOUR * 1000 if isinstance(type_, _NANOS) else MICROS_PER_HOUR


class Transform:
    """Base of all transforms. `str` gives the text that JSON holds."""

    __slots__ = ()

    # Whether a <= b implies apply(a) <= apply(b).
    preserves_order: ClassVar[bool] = False

    def can_transform(self, type_: Type) -> bool:
        """Whether the spec allows this transform on a source of this type."""
        raise NotImplementedError

    def result_type(self, type_: Type) -> Type:
        """The type of the results. A dropped source is passed as `unknown`."""
        raise NotImplementedError

    def apply(self, type_: Type, value: Value) -> Value:
        """The result for one value of the source type."""
        if not self.can_transform(type_):
            raise InvalidInput(
                f"Cannot apply transform {self} to type {type_}: the spec does not allow it. Choose another transform."
            )
        return None if value is None else self._apply(type_, value)

    def _apply(self, type_: Type, value: Value) -> Value:
        raise NotImplementedError

    def to_human(self, type_: Type, value: Value) -> str:
        """A result as partition paths show it; `type_` is the source type."""
        return "null" if value is None else self._to_human(type_, value)

    def _to_human(self, type_: Type, value: Value) -> str:
        return human_value(self.result_type(type_), value)

    def satisfies_order_of(self, other: Transform, type_: Type | None = None) -> bool:
        """Whether rows ordered by this transform's result are also ordered by the other's.

        Without a source type only what holds for every type is claimed.
        """
        return self == other or isinstance(other, VoidTransform)


@dataclass(frozen=True, slots=True)
class IdentityTransform(Transform):
    preserves_order: ClassVar[bool] = True

    def can_transform(self, type_: Type) -> bool:
        return isinstance(type_, PrimitiveType) and not isinstance(type_, _NOT_IDENTITY)

    def result_type(self, type_: Type) -> Type:
        return type_

    def _apply(self, type_: Type, value: Value) -> Value:
        return value

    def satisfies_order_of(self, other: Transform, type_: Type | None = None) -> bool:
        return other.preserves_order or isinstance(other, VoidTransform)

    def __str__(self) -> str:
        return "identity"


@dataclass(frozen=True, slots=True)
class BucketTransform(Transform):
    num_buckets: int

    def __post_init__(self) -> None:
        if not 1 <= self.num_buckets <= BUCKETS_MAX:
            raise InvalidInput(f"Invalid transform {self}: expected from 1 to {BUCKETS_MAX} buckets.")

    def can_transform(self, type_: Type) -> bool:
        return isinstance(type_, _BUCKETABLE)

    def result_type(self, type_: Type) -> Type:
        return INT

    def _apply(self, type_: Type, value: Value) -> Value:
        hashed = hash_value(type_, value)
        return None if hashed is None else (hashed & 0x7FFFFFFF) % self.num_buckets

    def __str__(self) -> str:
        return f"bucket[{self.num_buckets}]"


@dataclass(frozen=True, slots=True)
class TruncateTransform(Transform):
    width: int
    preserves_order: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 1 <= self.width <= WIDTH_MAX:
            raise InvalidInput(f"Invalid transform {self}: expected a width from 1 to {WIDTH_MAX}.")

    def can_transform(self, type_: Type) -> bool:
        return isinstance(type_, _TRUNCATABLE)

    def result_type(self, type_: Type) -> Type:
        return type_

    def _apply(self, type_: Type, value: Value) -> Value:
        match type_:
            case IntType() | LongType():
                return value - value % self.width
            case DecimalType(scale=scale):
                number = unscaled(value, scale)
                return from_unscaled(number - number % self.width, scale)
            case _:  # code points of a str, bytes of a binary
                return value[: self.width]

    def satisfies_order_of(self, other: Transform, type_: Type | None = None) -> bool:
        if isinstance(other, TruncateTransform) and isinstance(type_, _TRUNCATABLE):
            if isinstance(type_, StringType | BinaryType):
                return self.width >= other.width
            return other.width % self.width == 0
        return self == other or isinstance(other, VoidTransform)

    def __str__(self) -> str:
        return f"truncate[{self.width}]"


class TimeTransform(Transform):
    """Base of year, month, day and hour: floors, so that 1969-12-31 lies in year, month and day -1."""

    __slots__ = ()
    preserves_order: ClassVar[bool] = True
    granularity: ClassVar[int]  # finer ones are smaller

    def can_transform(self, type_: Type) -> bool:
        return isinstance(type_, DateType | TimestampType | TimestamptzType | TimestampNsType | TimestamptzNsType)

    def result_type(self, type_: Type) -> Type:
        return INT

    def satisfies_order_of(self, other: Transform, type_: Type | None = None) -> bool:
        if isinstance(other, TimeTransform):
            return self.granularity <= other.granularity
        return isinstance(other, VoidTransform)


def _days(type_: Type, value: int) -> int:
    return value if isinstance(type_, DateType) else value // (units_per_hour(type_) * HOURS_PER_DAY)


@dataclass(frozen=True, slots=True)
class YearTransform(TimeTransform):
    granularity: ClassVar[int] = 4

    def _apply(self, type_: Type, value: Value) -> Value:
        return years_from_days(_days(type_, value))

    def _to_human(self, type_: Type, value: Value) -> str:
        return human_year(value)

    def __str__(self) -> str:
        return "year"


@dataclass(frozen=True, slots=True)
class MonthTransform(TimeTransform):
    granularity: ClassVar[int] = 3

    def _apply(self, type_: Type, value: Value) -> Value:
        return months_from_days(_days(type_, value))

    def _to_human(self, type_: Type, value: Value) -> str:
        return human_month(value)

    def __str__(self) -> str:
        return "month"


@dataclass(frozen=True, slots=True)
class DayTransform(TimeTransform):
    """The spec says the result is an int; every engine writes it as the date it is, and reads both."""

    granularity: ClassVar[int] = 2

    def result_type(self, type_: Type) -> Type:
        return DATE

    def _apply(self, type_: Type, value: Value) -> Value:
        return _days(type_, value)

    def _to_human(self, type_: Type, value: Value) -> str:
        return human_day(value)

    def __str__(self) -> str:
        return "day"


@dataclass(frozen=True, slots=True)
class HourTransform(TimeTransform):
    granularity: ClassVar[int] = 1

    def can_transform(self, type_: Type) -> bool:
        return isinstance(type_, (*_MICROS, *_NANOS))

    def _apply(self, type_: Type, value: Value) -> Value:
        return value // units_per_hour(type_)

    def _to_human(self, type_: Type, value: Value) -> str:
        return human_hour(value)

    def __str__(self) -> str:
        return "hour"


@dataclass(frozen=True, slots=True)
class VoidTransform(Transform):
    """Always null: what a dropped field of a v1 spec becomes."""

    def can_transform(self, type_: Type) -> bool:
        return True

    def result_type(self, type_: Type) -> Type:
        # A field without a primitive source still needs a type that every version can store.
        return type_ if isinstance(type_, PrimitiveType) and not isinstance(type_, UnknownType) else INT

    def _apply(self, type_: Type, value: Value) -> Value:
        return None

    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True, slots=True)
class UnknownTransform(Transform):
    """A transform of a later version or another engine. Its results cannot be computed here, only compared."""

    text: str

    def can_transform(self, type_: Type) -> bool:
        return True

    def result_type(self, type_: Type) -> Type:
        return STRING

    def apply(self, type_: Type, value: Value) -> Value:
        raise Unsupported(
            f"Cannot apply transform {self.text!r}: this version does not know it. "
            "Such a table can be read, but not written; evolve the partition spec first."
        )

    def _to_human(self, type_: Type, value: Value) -> str:
        return str(value)

    def __str__(self) -> str:
        return self.text


IDENTITY: Final = IdentityTransform()
YEAR: Final = YearTransform()
MONTH: Final = MonthTransform()
DAY: Final = DayTransform()
HOUR: Final = HourTransform()
VOID: Final = VoidTransform()

_PLAIN: Final[dict[str, Transform]] = {str(t): t for t in (IDENTITY, YEAR, MONTH, DAY, HOUR, VOID)}
_WITH_NUMBER: Final = re.compile(r"(bucket|truncate)\[(-?[0-9]+)\]", re.IGNORECASE)


def parse_transform(text: str) -> Transform:
    """The transform a JSON text names, in any case; one that is not known is kept as `UnknownTransform`."""
    if (plain := _PLAIN.get(text.lower())) is not None:
        return plain
    found = _WITH_NUMBER.fullmatch(text)
    if found is None:
        return UnknownTransform(text)
    if len(found[2]) > len(str(WIDTH_MAX)):
        raise InvalidInput(f"Invalid transform {text[:40]!r}: expected a number up to {WIDTH_MAX}.")
    number = int(found[2])
    return BucketTransform(number) if found[1].lower() == "bucket" else TruncateTransform(number)
