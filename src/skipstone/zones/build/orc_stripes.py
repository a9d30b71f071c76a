"""Stripes as zones: the stripe statistics of an ORC file, one zone a stripe.

Laws: ORC counts values without nulls, and inside a struct without rows whose struct is null. Bounds of doubles are
believed only where the sum shows that no NaN came in between. Timestamps are kept in milliseconds: bounds are a
millisecond wider. What is kept in the writer's own time zone, or may lie before the Gregorian calendar in a file that
still counts by the Julian one, proves nothing.

Source: the ORC specification, "Column Statistics".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from skipstone.errors import FormatViolation, SkipstoneError
from skipstone.metadata.formats.arrow_types import values_to_array
from skipstone.metadata.schemas.projection import (
    DefaultValue,
    FileColumn,
    NullValue,
    PartitionConstant,
    Projection,
    Source,
    StructColumn,
)
from skipstone.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
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
    UnknownType,
    VariantType,
)
from skipstone.metadata.values import bound_type
from skipstone.zones.arrow import Array, pa
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.footers import constant_column
from skipstone.zones.build.orc_tail import OrcTail, read_orc_tail
from skipstone.zones.build.parquet_columns import constant_columns
from skipstone.zones.build.protobuf import Message, parse_message, parse_packed, zigzag
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

Bounds: TypeAlias = tuple[Any, Any]
_NOTHING: Final[Bounds] = (None, None)
_DAY_US: Final = 86_400_000_000
_GREGORIAN_START_DAY: Final = -141_427  # 1582-10-15
# Before this version of the writer, strings were compared wrongly.
_WRITER_WITH_RIGHT_STRINGS: Final = 1


def from_orc_stripes(
    file: FileBytes, projection: Projection, *, field_ids: Collection[int] | None = None, strict: bool = False
) -> ZoneMap | None:
    """One zone for each stripe, or None where the tail cannot be read: then nothing is known, not even the stripes.

    `projection` says where the table's columns are in the file. With `strict`, a damaged tail is a FormatViolation.
    """
    try:
        return _zones(read_orc_tail(file), projection, field_ids)
    except FormatViolation:
        if strict:
            raise
        return None


def _zones(tail: OrcTail, projection: Projection, field_ids: Collection[int] | None) -> ZoneMap:
    rows = pa.array(tail.stripe_rows, pa.int64())
    columns: dict[int, ColumnFacts] = {}
    for source in projection.fields:
        found = dict(_columns(source, 0, tail, rows, is_nested=False))
        columns |= {i: facts for i, facts in found.items() if field_ids is None or i in field_ids}
    return ZoneMap(num_zones=len(rows), row_count=rows, columns=columns)


def _columns(
    source: Source, parent: int, tail: OrcTail, rows: Array, *, is_nested: bool
) -> Iterator[tuple[int, ColumnFacts]]:
    match source:
        case FileColumn(field=field, index=index):
            number = _child(tail, parent, index)
            if number is not None and isinstance(field.type, PrimitiveType) and _has_facts(field.type):
                yield field.id, _stored(_Column(number, field.type, is_nested), tail, rows)
        case StructColumn(index=index, fields=fields):
            number = _child(tail, parent, index)
            if number is not None:
                for child in fields:
                    yield from _columns(child, number, tail, rows, is_nested=True)
        case PartitionConstant(field=field, value=value) | DefaultValue(field=field, value=value):
            for c in constant_columns(field, value, is_nested=is_nested):
                yield c.field_id, constant_column(c, rows)
        case NullValue(field=field):
            for c in constant_columns(field, None, is_nested=is_nested):
                yield c.field_id, constant_column(c, rows)
        case _:
            return


def _child(tail: OrcTail, parent: int, index: int) -> int | None:
    """The number of a struct's child, if the file has it."""
    if parent >= len(tail.types) or index >= len(tail.types[parent].children):
        return None
    number = tail.types[parent].children[index]
    return number if number < len(tail.types) else None


def _has_facts(type_: PrimitiveType) -> bool:
    return not isinstance(type_, UnknownType | VariantType | GeometryType | GeographyType)


@dataclass(frozen=True, slots=True)
class _Column:
    number: int
    type: PrimitiveType
    is_nested: bool


def _stored(column: _Column, tail: OrcTail, rows: Array) -> ColumnFacts:
    stripes = [_message(tail, stripe, column.number) for stripe in range(len(rows))]
    counts = [_counts(m, n, column.is_nested) for m, n in zip(stripes, rows.to_pylist(), strict=True)]
    bounds = [_NOTHING if m is None else _bounds(m, column, tail) for m in stripes]
    return ColumnFacts(
        type=column.type,
        lower=_array(column.type, [b[0] for b in bounds]),
        upper=_array(column.type, [b[1] for b in bounds]),
        null_count=pa.array([c[0] for c in counts], pa.int64()),
        nan_count=None,
        value_count=pa.array([c[1] for c in counts], pa.int64()),
    )


def _message(tail: OrcTail, stripe: int, number: int) -> Message | None:
    if stripe >= len(tail.stripe_statistics) or number >= len(tail.stripe_statistics[stripe]):
        return None
    return tail.stripe_statistics[stripe][number]


def _counts(message: Message | None, rows: int, is_nested: bool) -> tuple[int | None, int | None]:
    """Nulls and values of a column, where they are known."""
    told = _number(message or {}, 1)
    if told is None or told > rows:
        return None, None
    if told == 0:
        return rows, rows
    if not is_nested:
        return rows - told, rows
    # How many rows have no struct around the value is not told, but a value without nulls of its own is counted.
    return (0, told) if _number(message or {}, 10) == 0 else (None, None)


def _array(type_: PrimitiveType, values: list[Any]) -> Array:
    array = values_to_array(type_, values)
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    return storage if storage.type == bound_type(type_) else storage.cast(bound_type(type_))


def _bounds(message: Message, column: _Column, tail: OrcTail) -> Bounds:
    read = _READERS.get((tail.types[column.number].kind, type(column.type)))
    if read is None:
        return _NOTHING
    if isinstance(column.type, StringType) and tail.writer_version < _WRITER_WITH_RIGHT_STRINGS:
        return _NOTHING
    try:
        lower, upper = read(message, column.type)
        _array(column.type, [lower, upper])
        if tail.is_julian and lower is not None and lower < _gregorian_start(column.type):
            return _NOTHING
    except (SkipstoneError, struct.error, UnicodeDecodeError, InvalidOperation, OverflowError, pa.ArrowException):
        return _NOTHING  # damaged statistics never lose rows
    return (lower, upper)


def _gregorian_start(type_: PrimitiveType) -> Any:
    """The first value from which on both calendars agree; other types have no calendar."""
    match type_:
        case DateType():
            return _GREGORIAN_START_DAY
        case TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return _GREGORIAN_START_DAY * _DAY_US * _per_microsecond(type_)
        case StringType():
            return ""
        case _:
            return float("-inf")


def _inside(message: Message, number: int) -> Message:
    content = message.get(number, [b""])[0]
    return parse_message(content, source="ORC statistics") if isinstance(content, bytes) else {}


def _number(message: Message, number: int) -> int | None:
    value = message.get(number, [None])[0]
    return value if isinstance(value, int) else None


def _signed(message: Message, number: int) -> int | None:
    value = _number(message, number)
    return None if value is None else zigzag(value)


def _integers(message: Message, _: PrimitiveType) -> Bounds:
    inside = _inside(message, 2)
    return _signed(inside, 1), _signed(inside, 2)


def _doubles(message: Message, _: PrimitiveType) -> Bounds:
    inside = _inside(message, 3)
    raw = [inside.get(n, [None])[0] for n in (1, 2, 3)]
    if not all(isinstance(r, bytes) and len(r) == 8 for r in raw):
        return _NOTHING
    lower, upper, total = (struct.unpack("<d", r)[0] for r in raw)
    return _NOTHING if lower != lower or upper != upper or total != total else (lower, upper)


def _strings(message: Message, _: PrimitiveType) -> Bounds:
    inside = _inside(message, 4)

    def text(*numbers: int) -> str | None:
        found = next((inside[n][0] for n in numbers if n in inside), None)
        return found.decode("utf-8") if isinstance(found, bytes) else None

    # A bound too long to be kept is cut, and then told in a field of its own.
    return text(4, 1), text(5, 2)


def _booleans(message: Message, _: PrimitiveType) -> Bounds:
    trues = parse_packed(_inside(message, 5).get(1, []), source="ORC statistics")
    values = _number(message, 1)
    if len(trues) != 1 or values is None or not 0 <= trues[0] <= values or values == 0:
        return _NOTHING
    return trues[0] == values, trues[0] > 0


def _decimals(message: Message, type_: PrimitiveType) -> Bounds:
    assert isinstance(type_, DecimalType)
    inside = _inside(message, 6)
    raw = [inside.get(n, [None])[0] for n in (1, 2)]
    if not all(isinstance(r, bytes) and 0 < len(r) < 100 for r in raw):
        return _NOTHING
    lower, upper = (Decimal(r.decode("ascii")) for r in raw)
    return (lower, upper) if lower.is_finite() and upper.is_finite() else _NOTHING


def _days(message: Message, _: PrimitiveType) -> Bounds:
    inside = _inside(message, 7)
    return _signed(inside, 1), _signed(inside, 2)


def _days_as_moments(message: Message, type_: PrimitiveType) -> Bounds:
    lower, upper = _days(message, type_)
    unit = _DAY_US * _per_microsecond(type_)
    return None if lower is None else lower * unit, None if upper is None else upper * unit


def _moments(message: Message, type_: PrimitiveType) -> Bounds:
    inside = _inside(message, 9)
    lower, upper = _signed(inside, 3), _signed(inside, 4)  # in UTC; the older fields follow the writer's time zone
    if lower is None or upper is None:
        return _NOTHING
    if -1_000 <= upper < 0:
        upper += 1_000  # the Java writer stores moments of the last second before 1970 one second late
    unit = 1_000 * _per_microsecond(type_)
    return (lower - 1) * unit, (upper + 1) * unit


def _per_microsecond(type_: PrimitiveType) -> int:
    return 1_000 if isinstance(type_, TimestampNsType | TimestamptzNsType) else 1


_Reader: TypeAlias = Callable[[Message, PrimitiveType], Bounds]
_WHOLE: Final = ("byte", "short", "int", "long")
_READERS: Final[dict[tuple[str, type[PrimitiveType]], _Reader]] = {
    **{(kind, t): _integers for kind in _WHOLE for t in (IntType, LongType, TimeType)},
    **{(kind, t): _doubles for kind in ("float", "double") for t in (FloatType, DoubleType)},
    ("string", StringType): _strings,
    ("varchar", StringType): _strings,
    ("boolean", BooleanType): _booleans,
    ("decimal", DecimalType): _decimals,
    ("date", DateType): _days,
    ("date", TimestampType): _days_as_moments,
    ("date", TimestampNsType): _days_as_moments,
    ("timestamp", TimestampType): _moments,
    ("timestamp", TimestampNsType): _moments,
    ("timestamp_instant", TimestamptzType): _moments,
    ("timestamp_instant", TimestamptzNsType): _moments,
}
