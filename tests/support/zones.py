"""Random zones for the laws of skipping: rows of every type, exact facts about them, looser and forgotten facts.

Everything is drawn from one `random.Random`, so a seed repeats a failure. A row is a dict by field id; a field that is
missing from a row lies under a null parent. Values come from small pools per batch, so that bounds, literals and rows
meet often, and the pools prefer trouble: the ends of ranges, NaN, -0.0, astral and over-long text, bytes of FF.
"""

from __future__ import annotations

import math
import random
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from skipstone.metadata.schema import Schema
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
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    Field,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IntType,
    PrimitiveType,
    StringType,
    StructType,
    TimeType,
    UnknownType,
    UuidType,
    Value,
    VariantType,
)
from skipstone.metadata.values import parse_bounds_array, serialize_bound, truncate_lower, truncate_upper
from skipstone.metadata.values.geo import Geometry, GeometryKind, GeoPoint, bounding_box, serialize_wkb
from skipstone.metadata.values.iso import DAY_US
from skipstone.metadata.values.variant import VariantArray, VariantKind, VariantObject, VariantPrimitive, VariantValue
from skipstone.metadata.values.variant_paths import format_path
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

Row = dict[int, Value]
Rows = list[Row]

TYPES: tuple[PrimitiveType, ...] = (
    BOOLEAN, INT, LONG, FLOAT, DOUBLE, DecimalType(9, 2), DecimalType(18, 0), DecimalType(38, 10), DATE, TIME,
    TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS, STRING, UUID, FixedType(3), BINARY,
    GeometryType(), GeographyType(), VARIANT, UNKNOWN,
)  # fmt: skip


def _schema() -> Schema:
    top = [Field(id=i, name=f"c{i}", type=t, required=False) for i, t in enumerate(TYPES, 1)]
    inner = tuple(Field(id=100 + i, name=f"n{i}", type=t, required=i % 2 == 0) for i, t in enumerate(TYPES[:-1], 1))
    required = Field(id=90, name="required", type=LONG, required=True)
    return Schema(fields=(*top, required, Field(id=99, name="s", type=StructType(inner), required=False)))


SCHEMA = _schema()
LEAVES: dict[int, Field] = {f.id: f for f in SCHEMA.primitive_leaves}
NAMES: dict[int, str] = {i: SCHEMA.name_of(i) for i in LEAVES}


def is_nested(field_id: int) -> bool:
    return field_id > 99


# -- values


def some_value(rng: random.Random, type_: PrimitiveType) -> Value:
    """A value of the type, never null."""
    match type_:
        case BooleanType():
            return rng.random() < 0.5
        case FloatType():
            return _float32(_some_float(rng))
        case DoubleType():
            return _some_float(rng)
        case DecimalType(precision=precision, scale=scale):
            top = 10**precision - 1
            # Neighbours with all digits set: what rounds to fewer digits mixes them up.
            near_top = [top // 9 * 8 + rng.randint(-20, 20), top // 7 * -3 + rng.randint(-20, 20)]
            return Decimal(f"{rng.choice((_some_int(rng, -top, top), _some_int(rng, -top, top), *near_top))}E-{scale}")
        case StringType():
            return _some_text(rng)
        case BinaryType():
            return _some_bytes(rng, rng.choice((0, 1, 2, 3, 8, 12)))
        case FixedType(length=length):
            return _some_bytes(rng, length)
        case UuidType():
            return uuid.UUID(bytes=_some_bytes(rng, 16))
        case IntType() | DateType():
            return _some_int(rng, -(2**31), 2**31 - 1)
        case TimeType():
            return _some_int(rng, 0, DAY_US - 1)
        case GeometryType() | GeographyType():
            return _some_shape(rng)
        case VariantType():
            return _some_variant(rng)
        case UnknownType():
            return None
        case _:
            return _some_int(rng, -(2**63), 2**63 - 1)


def _some_int(rng: random.Random, low: int, high: int) -> int:
    kind = rng.random()
    if kind < 0.6:
        return max(low, min(high, rng.randint(-20, 20)))
    if kind < 0.75:
        return rng.choice((low, low + 1, low + 3, high - 1, high))
    if kind < 0.9:
        return max(low, min(high, rng.randint(-400, 400) * DAY_US + rng.randint(-1, 1)))
    return rng.randint(low, high)


def _some_float(rng: random.Random) -> float:
    if rng.random() < 0.4:
        return rng.choice((0.0, -0.0, math.inf, -math.inf, math.nan, math.nan, 5e-324, 1.7e308))
    return rng.choice((float(rng.randint(-5, 5)), rng.uniform(-3, 3)))


def _float32(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _some_text(rng: random.Random) -> str:
    letters = rng.choice(("ab", "ab", "a\x00", "aé\ud7ff\ue000", "a\uffff\U00010000\U0010ffff"))
    start = rng.choice(("", "", "", "customer#000", "\U0010ffff" * 3))
    return start + "".join(rng.choice(letters) for _ in range(rng.choice((0, 1, 2, 3, 3, 12, 40))))


def _some_bytes(rng: random.Random, length: int) -> bytes:
    return bytes(rng.choice((0, 0, 1, 0x7F, 0x80, 0xFF, 0xFF)) for _ in range(length))


def _some_shape(rng: random.Random) -> bytes:
    def coordinate() -> float:
        return rng.choice((float(rng.randint(-5, 5)), float(rng.randint(-180, 180)), math.nan))

    kind = rng.choice((GeometryKind.POINT, GeometryKind.LINESTRING))
    count = 1 if kind is GeometryKind.POINT else rng.choice((0, 2, 3))
    positions = tuple((coordinate(), coordinate()) for _ in range(count))
    if kind is GeometryKind.POINT and all(math.isnan(c) for c in positions[0]):
        positions = ()
    return serialize_wkb(Geometry(kind=kind, has_z=False, has_m=False, positions=positions, parts=()))


VARIANT_KINDS: tuple[tuple[VariantKind, PrimitiveType], ...] = (
    (VariantKind.INT8, INT), (VariantKind.INT64, LONG), (VariantKind.DOUBLE, DOUBLE), (VariantKind.FLOAT, FLOAT),
    (VariantKind.STRING, STRING), (VariantKind.DATE, DATE), (VariantKind.TIMESTAMP, TIMESTAMP),
    (VariantKind.DECIMAL4, DecimalType(9, 2)), (VariantKind.DECIMAL16, DecimalType(38, 10)),
    (VariantKind.TRUE, BOOLEAN), (VariantKind.BINARY, BINARY), (VariantKind.UUID, UUID),
)  # fmt: skip
VARIANT_PATHS: tuple[tuple[str, ...], ...] = ((), ("a",), ("a", "b"), ("x.y",))


def _some_primitive(rng: random.Random, kinds: Sequence[tuple[VariantKind, PrimitiveType]]) -> VariantPrimitive:
    if rng.random() < 0.1:
        return VariantPrimitive(VariantKind.NULL)
    kind, type_ = rng.choice(kinds)
    value = some_value(rng, type_)
    if kind is VariantKind.INT8:
        value = max(-128, min(127, value))
    if kind is VariantKind.TRUE and not value:
        kind = VariantKind.FALSE
    return VariantPrimitive(kind, value)


def _some_variant(rng: random.Random) -> VariantValue:
    kinds = [rng.choice(VARIANT_KINDS[: rng.choice((1, 2, 4, 12))])]
    shape = rng.random()
    if shape < 0.2:
        return _some_primitive(rng, kinds)
    if shape < 0.3:
        return VariantArray((_some_primitive(rng, kinds),))
    inner: VariantValue = _some_primitive(rng, kinds)
    if rng.random() < 0.4:
        inner = VariantObject((("b", _some_primitive(rng, kinds)),))
    fields: list[tuple[str, VariantValue]] = [("a", inner)]
    if rng.random() < 0.5:
        fields.append(("x.y", _some_primitive(rng, kinds)))
    return VariantObject(tuple(fields))


# -- rows and zones


@dataclass(frozen=True, slots=True)
class Batch:
    """Zones over a few columns, with the pools their values came from."""

    field_ids: tuple[int, ...]
    pools: dict[int, list[Value]]
    zones: list[Rows]


def some_batch(rng: random.Random, *, num_zones: int, columns_max: int = 4) -> Batch:
    field_ids = tuple(sorted(rng.sample(sorted(LEAVES), rng.randint(1, columns_max))))
    pools = {i: [some_value(rng, LEAVES[i].type) for _ in range(rng.choice((1, 2, 4, 8)))] for i in field_ids}
    zones = [_some_zone(rng, field_ids, pools) for _ in range(num_zones)]
    return Batch(field_ids, pools, zones)


def _some_zone(rng: random.Random, field_ids: tuple[int, ...], pools: dict[int, list[Value]]) -> Rows:
    # Each zone sees a part of a pool, else all zones would have the same bounds.
    parts = {i: rng.sample(pools[i], min(len(pools[i]), rng.choice((1, 1, 2, 8)))) for i in field_ids}
    null_share = {i: 0.0 if LEAVES[i].required else rng.choice((0.0, 0.0, 0.4, 1.0)) for i in field_ids}
    null_parents = rng.choice((0.0, 0.0, 0.5, 1.0))
    return [
        _some_row(rng, field_ids, parts, null_share, has_parent=rng.random() >= null_parents)
        for _ in range(rng.choice((0, 1, 1, 2, 3, 6)))
    ]


def _some_row(
    rng: random.Random,
    field_ids: tuple[int, ...],
    parts: dict[int, list[Value]],
    null_share: dict[int, float],
    *,
    has_parent: bool,
) -> Row:
    return {
        i: None if rng.random() < null_share[i] else rng.choice(parts[i])
        for i in field_ids
        if has_parent or not is_nested(i)
    }


# -- facts


def collect(zones: list[Rows], field_ids: Sequence[int]) -> ZoneMap:
    """Exact facts about rows."""
    return ZoneMap(
        num_zones=len(zones),
        row_count=pa.array([len(rows) for rows in zones], pa.int64()),
        columns={
            i: column_facts(LEAVES[i].type, [[r[i] for r in rows if i in r] for rows in zones]) for i in field_ids
        },
    )


def column_facts(type_: PrimitiveType, zones: list[list[Value]]) -> ColumnFacts:
    """Exact facts about the values of one column, zone by zone."""
    bounds = [bounds_of(type_, values) for values in zones]
    return ColumnFacts(
        type=type_,
        lower=bounds_array(type_, [low for low, _ in bounds]),
        upper=bounds_array(type_, [high for _, high in bounds]),
        null_count=pa.array([sum(v is None for v in values) for values in zones], pa.int64()),
        nan_count=pa.array([sum(_is_nan(v) for v in values) for values in zones], pa.int64()),
        value_count=pa.array([len(values) for values in zones], pa.int64()),
    )


def bounds_array(type_: PrimitiveType, values: Sequence[Value]) -> Any:
    """Bounds as a zone map holds them, None for unknown."""
    packed = pa.array([None if v is None else serialize_bound(type_, v) for v in values], pa.binary())
    return parse_bounds_array(type_, packed)


def bounds_of(type_: PrimitiveType, values: list[Value]) -> tuple[Value, Value]:
    """The tightest bounds, or a pair of None."""
    ordinary = [v for v in values if v is not None and not _is_nan(v)]
    match type_:
        case GeometryType() | GeographyType():
            box = bounding_box(ordinary)
            return box if box is not None else (None, None)
        case VariantType():
            return _variant_bounds(ordinary)
        case _:
            return (min(ordinary), max(ordinary)) if ordinary else (None, None)


def _variant_bounds(values: list[VariantValue]) -> tuple[Value, Value]:
    lower: dict[str, VariantPrimitive] = {}
    upper: dict[str, VariantPrimitive] = {}
    for path in VARIANT_PATHS:
        found = [v for value in values for v in _at_path(value, path)]
        found = [v for v in found if not (isinstance(v, VariantPrimitive) and v.kind is VariantKind.NULL)]
        kinds = {_family(v.kind) if isinstance(v, VariantPrimitive) else None for v in found}
        ordinary = [v for v in found if isinstance(v, VariantPrimitive) and not _is_nan(v.value)]
        if len(kinds) == 1 and None not in kinds and ordinary:
            lower[format_path(path)] = min(ordinary, key=lambda v: v.value)
            upper[format_path(path)] = max(ordinary, key=lambda v: v.value)
    return (lower, upper) if lower else (None, None)


def _family(kind: VariantKind) -> VariantKind:
    return VariantKind.TRUE if kind is VariantKind.FALSE else kind


def _at_path(value: VariantValue, path: tuple[str, ...]) -> list[VariantValue]:
    for name in path:
        if not isinstance(value, VariantObject):
            return []
        inner = value.get(name)
        if inner is None:
            return []
        value = inner
    return [value]


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


# -- facts that say less


def forgotten(rng: random.Random, zones: ZoneMap, share: float | None = None) -> ZoneMap:
    """The same zones with some facts unknown: for single zones, for whole columns, or a column with all its facts."""
    part = rng.choice((0.1, 0.5, 0.9)) if share is None else share

    def forget(array: Any) -> Any:
        if array is None or rng.random() < 0.2:
            return None
        keep = pa.array([rng.random() >= part for _ in range(len(array))], pa.bool_())
        return pa.compute.if_else(keep, array, pa.scalar(None, array.type))

    columns = {
        i: replace(
            f, **{n: forget(getattr(f, n)) for n in ("lower", "upper", "null_count", "nan_count", "value_count")}
        )
        for i, f in zones.columns.items()
        if rng.random() >= 0.1
    }
    return replace(zones, row_count=forget(zones.row_count), columns=columns)


def loosened(rng: random.Random, zones: list[Rows], exact: ZoneMap) -> ZoneMap:
    """The same zones with wider bounds, as truncation, rounding and promotion leave them."""
    columns = dict(exact.columns)
    for i, facts in exact.columns.items():
        pairs = [bounds_of(facts.type, [r[i] for r in rows if i in r]) for rows in zones]
        wider = [_wider(rng, facts.type, low, high) for low, high in pairs]
        columns[i] = replace(
            facts,
            lower=bounds_array(facts.type, [low for low, _ in wider]),
            upper=bounds_array(facts.type, [high for _, high in wider]),
        )
    return replace(exact, columns=columns)


def _wider(rng: random.Random, type_: PrimitiveType, low: Value, high: Value) -> tuple[Value, Value]:
    if low is None or high is None or rng.random() < 0.2:
        return low, high
    match type_:
        case StringType() | BinaryType():
            width = rng.choice((1, 2, 16))
            return truncate_lower(type_, low, width), truncate_upper(type_, high, width)
        case GeographyType():
            return _across(rng, low, high)
        case GeometryType():
            return GeoPoint(x=low.x - 1, y=low.y), GeoPoint(x=high.x, y=high.y + 1)
        case FloatType() | DoubleType():
            return (0.0 if low == 0.0 else -math.inf), (-0.0 if high == 0.0 else high)
        case BooleanType():
            return False, high
        case VariantType() | UnknownType():
            return low, high
        case _:
            other = some_value(rng, type_)
            return min(low, other), max(high, other)


def _across(rng: random.Random, low: GeoPoint, high: GeoPoint) -> tuple[GeoPoint, GeoPoint]:
    """A box across the antimeridian that covers the whole given one, or nearly all of the globe."""
    if low.x > 0:
        return GeoPoint(x=low.x, y=low.y), GeoPoint(x=rng.choice((-170.0, -1.0)), y=high.y)
    if high.x < 0:
        return GeoPoint(x=rng.choice((170.0, 1.0)), y=low.y), GeoPoint(x=high.x, y=high.y)
    return low, high


def garbage(rng: random.Random, zones: ZoneMap) -> ZoneMap:
    """Facts that contradict each other: crossed and NaN bounds, negative counts, more nulls than values."""

    def counts(array: Any) -> Any:
        return pa.array([rng.choice((None, -1, 0, 1, 2, v.as_py(), v.as_py())) for v in array], pa.int64())

    def mixed(own: Any, other: Any, type_: PrimitiveType) -> Any:
        picked = [rng.choice((own, own, other))[i] for i in range(len(own))]
        if isinstance(type_, FloatType | DoubleType):
            picked = [pa.scalar(math.nan, own.type) if rng.random() < 0.1 else s for s in picked]
        return pa.array(picked, own.type) if picked else own

    columns = {
        i: replace(
            f,
            lower=mixed(f.lower, f.upper, f.type),
            upper=mixed(f.upper, f.lower, f.type),
            null_count=counts(f.null_count),
            nan_count=counts(f.nan_count),
            value_count=counts(f.value_count),
        )
        for i, f in zones.columns.items()
    }
    return replace(zones, row_count=counts(zones.row_count), columns=columns)


def hand_made(type_: PrimitiveType, *zones: dict[str, Any], field_id: int = 1) -> ZoneMap:
    """Zones of one column, each given by the facts that are known: lower, upper, nulls, nans, values, rows."""

    def counts(name: str) -> Any:
        return pa.array([zone.get(name) for zone in zones], pa.int64())

    facts = ColumnFacts(
        type=type_,
        lower=bounds_array(type_, [zone.get("lower") for zone in zones]),
        upper=bounds_array(type_, [zone.get("upper") for zone in zones]),
        null_count=counts("nulls"),
        nan_count=counts("nans"),
        value_count=counts("values"),
    )
    return ZoneMap(num_zones=len(zones), row_count=counts("rows"), columns={field_id: facts})
