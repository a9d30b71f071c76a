"""Hypothesis strategies for the things of the table format. Every test that draws data draws it here.

What each gives:

    primitive_types(...)    any primitive type; switch off families with the arguments
    types(...)              any type, nested to a small depth
    values(type)            a value of a type as the library holds it (see `skipstone.metadata.types.Value`)
    nullable(type)          the same, or None
    bounds(type)            a value that may be a lower or upper bound (no NaN; GeoPoint, variant dict)
    schemas(...)            a valid schema with nested fields and unique ids
    arrow_arrays(type)      an Arrow array of `bound_type(type)` with nulls, sometimes a slice with an offset
    geometries()            a Geometry of any kind and dimensions; wkbs() the bytes of one
    variants()              a VariantValue; variant_primitives() one without children

Values are chosen for trouble: -0.0, NaN, infinities, subnormals, the ends of every integer range, dates far outside
the years 1 to 9999, empty and over-long strings, code points on both sides of the surrogates and above U+FFFF,
decimals with all digits nine, byte strings of FF.
"""

from __future__ import annotations

import math
import struct
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

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
    ListType,
    LongType,
    MapType,
    PrimitiveType,
    StringType,
    StructType,
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
from skipstone.metadata.values import bound_type
from skipstone.metadata.values.geo import PART_KINDS, Geometry, GeometryKind, GeoPoint, serialize_wkb
from skipstone.metadata.values.iso import DAY_US
from skipstone.metadata.values.variant import VariantArray, VariantKind, VariantObject, VariantPrimitive, VariantValue
from skipstone.metadata.values.variant_paths import format_path

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

# One of each primitive, for parametrized unit tests.
PRIMITIVES: tuple[PrimitiveType, ...] = (
    BOOLEAN, INT, LONG, FLOAT, DOUBLE, DecimalType(9, 2), DecimalType(18, 0), DecimalType(38, 10), DATE, TIME,
    TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS, STRING, UUID, FixedType(5), BINARY,
)  # fmt: skip
GEO_TYPES: tuple[PrimitiveType, ...] = (GeometryType(), GeographyType())


# -- types -----------------------------------------------------------------------------------------------------------


def decimal_types(*, precision_max: int = 38) -> st.SearchStrategy[DecimalType]:
    return st.integers(1, precision_max).flatmap(lambda p: st.builds(DecimalType, st.just(p), st.integers(0, p)))


def fixed_types() -> st.SearchStrategy[FixedType]:
    return st.builds(FixedType, st.one_of(st.just(16), st.integers(1, 20)))


def primitive_types(
    *, v3: bool = True, geo: bool = False, variant: bool = False, unknown: bool = False
) -> st.SearchStrategy[PrimitiveType]:
    """Primitive types that have values of their own; geometries, variant and unknown only when asked for."""
    plain: list[PrimitiveType] = [BOOLEAN, INT, LONG, FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, STRING]
    plain += [UUID, BINARY]
    plain += [TIMESTAMP_NS, TIMESTAMPTZ_NS] * v3 + [VARIANT] * variant + [UNKNOWN] * unknown
    families: list[st.SearchStrategy[Any]] = [st.sampled_from(plain), decimal_types(), fixed_types()]
    if geo:
        families.append(st.sampled_from([GeometryType(), GeometryType("srid:3857"), GeographyType()]))
    return st.one_of(families)


def types(*, depth: int = 2, primitives: st.SearchStrategy[PrimitiveType] | None = None) -> st.SearchStrategy[Type]:
    """Any type, with structs, lists and maps nested up to `depth`. Field ids are unique within the type."""
    leaf = primitives if primitives is not None else primitive_types()
    return _shapes(leaf, depth).map(lambda shape: _number(shape, _Ids()))


def schemas(
    *, fields_max: int = 5, depth: int = 2, primitives: st.SearchStrategy[PrimitiveType] | None = None
) -> st.SearchStrategy[Schema]:
    """A valid schema: unique ids (not in order), unique sibling names, odd names among them."""
    leaf = primitives if primitives is not None else primitive_types()
    return st.tuples(
        st.lists(_fields(_shapes(leaf, depth)), min_size=1, max_size=fields_max, unique_by=lambda f: f.name),
        st.integers(1, 1000),
        st.integers(0, 9),
    ).map(_schema)


def names() -> st.SearchStrategy[str]:
    """Column names, some of them odd."""
    odd = ["a b", "a.b", "é😀", "UPPER", "123", "select", "a-b", "ns:x", "_"]
    return st.one_of(st.text("abcxyz_", min_size=1, max_size=6), st.sampled_from(odd))


class _Ids:
    def __init__(self, first: int = 1) -> None:
        self.next = first

    def take(self) -> int:
        taken, self.next = self.next, self.next + 1
        return taken


def _shapes(leaf: st.SearchStrategy[PrimitiveType], depth: int) -> st.SearchStrategy[Type]:
    """Types whose ids are all zero; `_number` gives them ids."""
    if depth == 0:
        return leaf
    inner = _shapes(leaf, depth - 1)
    structs = st.lists(_fields(inner), min_size=1, max_size=3, unique_by=lambda f: f.name)
    return st.one_of(
        leaf,
        structs.map(lambda fields: StructType(tuple(fields))),
        st.builds(
            lambda e, r: ListType(element_id=0, element=e, element_required=r and not isinstance(e, UnknownType)),
            inner,
            st.booleans(),
        ),
        st.builds(
            lambda k, v, r: MapType(
                key_id=0, key=k, value_id=0, value=v, value_required=r and not isinstance(v, UnknownType)
            ),
            leaf.filter(lambda t: not isinstance(t, VariantType | UnknownType)),
            inner,
            st.booleans(),
        ),
    )


def _fields(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Field]:
    return st.builds(
        lambda name, type_, required, doc: Field(
            id=0, name=name, type=type_, required=required and not isinstance(type_, UnknownType), doc=doc
        ),
        names(),
        inner,
        st.booleans(),
        st.none() | st.just("what it is"),
    )


def _number(type_: Type, ids: _Ids) -> Type:
    match type_:
        case StructType(fields):
            return StructType(tuple(_number_field(f, ids) for f in fields))
        case ListType():
            return ListType(
                element_id=ids.take(), element=_number(type_.element, ids), element_required=type_.element_required
            )
        case MapType():
            return MapType(
                key_id=ids.take(),
                key=type_.key,
                value_id=ids.take(),
                value=_number(type_.value, ids),
                value_required=type_.value_required,
            )
        case _:
            return type_


def _number_field(f: Field, ids: _Ids) -> Field:
    field_id = ids.take()
    return Field(id=field_id, name=f.name, type=_number(f.type, ids), required=f.required, doc=f.doc)


def _schema(drawn: tuple[list[Field], int, int]) -> Schema:
    fields, first_id, schema_id = drawn
    struct = _number(StructType(tuple(fields)), _Ids(first_id))
    assert isinstance(struct, StructType)
    return Schema(fields=struct.fields, schema_id=schema_id)


# -- values ----------------------------------------------------------------------------------------------------------


def ints(lowest: int, highest: int) -> st.SearchStrategy[int]:
    edges = {lowest, lowest + 1, -1, 0, 1, highest - 1, highest}
    return st.one_of(st.sampled_from(sorted(e for e in edges if lowest <= e <= highest)), st.integers(lowest, highest))


def floats(*, width: int = 64, nan: bool = True) -> st.SearchStrategy[float]:
    odd = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, *([math.nan] if nan else [])]
    drawn = st.floats(width=32, allow_nan=nan) if width == 32 else st.floats(width=64, allow_nan=nan)
    return st.one_of(st.sampled_from(odd), drawn)


def strings(*, size_max: int = 30) -> st.SearchStrategy[str]:
    """Unicode text without lone surrogates: empty, long, at the edges of code point ranges."""
    edges = "\x00\x7f\x80\ud7ff\ue000\uffff\U00010000\U0010fffe\U0010ffff😀é'\\\"\n"
    anything = st.characters(exclude_categories=["Cs"])
    return st.one_of(
        st.text(st.sampled_from("ab"), max_size=size_max),
        st.text(st.sampled_from(edges), max_size=size_max),
        st.text(anything, max_size=size_max),
        st.sampled_from(["", "\U0010ffff" * 20, "iceberg " * 10, "ap", "apple"]),
    )


def byte_strings(*, size_max: int = 24) -> st.SearchStrategy[bytes]:
    return st.one_of(st.binary(max_size=size_max), st.sampled_from([b"", b"\x00", b"\xff", b"\xff" * 20, b"\x80" * 17]))


def decimals(type_: DecimalType) -> st.SearchStrategy[Decimal]:
    highest = 10**type_.precision - 1
    return ints(-highest, highest).map(lambda n: Decimal(f"{n}E-{type_.scale}"))


def dates() -> st.SearchStrategy[int]:
    """Days: around 1970, at the ends of what datetime knows, and far outside."""
    return st.one_of(
        st.integers(-3, 3),
        st.integers(-800_000, 2_932_896),
        st.sampled_from([-719_163, -719_162]),
        ints(INT_MIN, INT_MAX),
    )


def micros() -> st.SearchStrategy[int]:
    second = 1_000_000
    near_epoch = st.integers(-3 * DAY_US, 3 * DAY_US)
    whole_days = st.integers(-106_751_991, 106_751_991).map(lambda d: d * DAY_US)
    return st.one_of(near_epoch, whole_days, ints(LONG_MIN, LONG_MAX), st.integers(-(10**9), 10**9).map(second.__mul__))


def values(type_: Type) -> st.SearchStrategy[Value]:
    """A value of the type, never null itself; optional parts of nested values may be null."""
    match type_:
        case BooleanType():
            return st.booleans()
        case IntType():
            return ints(INT_MIN, INT_MAX)
        case LongType():
            return ints(LONG_MIN, LONG_MAX)
        case FloatType():
            return floats(width=32)
        case DoubleType():
            return floats()
        case DecimalType():
            return decimals(type_)
        case DateType():
            return dates()
        case TimeType():
            return ints(0, DAY_US - 1)
        case TimestampType() | TimestamptzType():
            return micros()
        case TimestampNsType() | TimestamptzNsType():
            return st.one_of(micros(), micros().filter(lambda u: abs(u) < LONG_MAX // 1000).map(lambda u: u * 1000))
        case StringType():
            return strings()
        case UuidType():
            return st.one_of(st.uuids(), st.sampled_from([uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)]))
        case FixedType(length=length):
            return st.one_of(st.binary(min_size=length, max_size=length), st.just(b"\xff" * length))
        case BinaryType():
            return byte_strings()
        case GeometryType() | GeographyType():
            return wkbs()
        case VariantType():
            return variants()
        case UnknownType():
            return st.none()
        case _:
            return _nested_values(type_)


def nullable(type_: Type) -> st.SearchStrategy[Value]:
    return st.one_of(st.none(), values(type_))


def _nested_values(type_: Type) -> st.SearchStrategy[Value]:
    match type_:
        case StructType(fields):
            return st.fixed_dictionaries({f.id: values(f.type) if f.required else nullable(f.type) for f in fields})
        case ListType():
            element = values(type_.element) if type_.element_required else nullable(type_.element)
            return st.lists(element, max_size=3)
        case MapType():
            value = values(type_.value) if type_.value_required else nullable(type_.value)
            return st.lists(st.tuples(values(type_.key), value), max_size=3, unique_by=lambda kv: repr(kv[0]))
        case _:
            raise AssertionError(f"no values of {type_}")


def bounds(type_: PrimitiveType) -> st.SearchStrategy[Value]:
    """A value that may stand as a lower or upper bound."""
    match type_:
        case FloatType():
            return floats(width=32, nan=False)
        case DoubleType():
            return floats(nan=False)
        case GeometryType() | GeographyType():
            coordinate, maybe = floats(nan=False), st.none() | floats(nan=False)
            return st.builds(GeoPoint, x=coordinate, y=coordinate, z=maybe, m=maybe)
        case VariantType():
            paths = st.lists(strings(size_max=5), max_size=3).map(format_path)
            return st.dictionaries(paths, variant_primitives(), max_size=4)
        case _:
            return values(type_)


def same(a: Value, b: Value) -> bool:
    """Equal, with NaN equal to itself and -0.0 apart from 0.0, at any depth."""
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return a == b and a.as_tuple().exponent == b.as_tuple().exponent
    if isinstance(a, VariantPrimitive) and isinstance(b, VariantPrimitive):
        return a.kind == b.kind and same(a.value, b.value)
    if isinstance(a, VariantArray) and isinstance(b, VariantArray):
        return same(a.elements, b.elements)
    if isinstance(a, VariantObject) and isinstance(b, VariantObject):
        return same(a.fields, b.fields)
    if isinstance(a, Geometry) and isinstance(b, Geometry):
        shape_a, shape_b = (a.kind, a.has_z, a.has_m), (b.kind, b.has_z, b.has_m)
        return shape_a == shape_b and same(a.positions, b.positions) and same(a.parts, b.parts)
    return type(a) is type(b) and bool(a == b)


# -- Arrow -----------------------------------------------------------------------------------------------------------


def to_arrow(type_: PrimitiveType, items: list[Value]) -> pa.Array[Any]:
    """An Arrow array of `bound_type(type_)`; dates and times go in as integers, so that every value fits."""
    arrow_type = bound_type(type_)
    match type_:
        case DateType():
            return pa.array(items, pa.int32()).cast(arrow_type)
        case TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return pa.array(items, pa.int64()).cast(arrow_type)
        case UuidType():
            return pa.array([None if v is None else v.bytes for v in items], arrow_type)
        case GeometryType() | GeographyType():
            points = [None if v is None else {"x": v.x, "y": v.y, "z": v.z, "m": v.m} for v in items]
            return pa.array(points, arrow_type)
        case _:
            return pa.array(items, arrow_type)


def arrow_arrays(type_: PrimitiveType, *, size_max: int = 20) -> st.SearchStrategy[pa.Array[Any]]:
    """Arrow arrays of the type with nulls and NaN; some are slices, so that their offset is not zero."""
    item = bounds(type_) if isinstance(type_, GeometryType | GeographyType) else values(type_)
    lists = st.lists(st.one_of(st.none(), item), max_size=size_max)
    return st.builds(
        lambda items, skip: to_arrow(type_, items).slice(min(skip, len(items))), lists, st.sampled_from([0, 0, 1, 3])
    )


# -- geometries and variants -----------------------------------------------------------------------------------------


def geometries(*, depth: int = 2) -> st.SearchStrategy[Geometry]:
    """A geometry of any kind; empty ones and NaN coordinates too."""
    return st.tuples(st.booleans(), st.booleans()).flatmap(lambda zm: _geometries(zm[0], zm[1], depth))


def _geometries(has_z: bool, has_m: bool, depth: int) -> st.SearchStrategy[Geometry]:
    kinds = [k for k in GeometryKind if depth > 0 or k is not GeometryKind.GEOMETRYCOLLECTION]
    return st.sampled_from(kinds).flatmap(lambda kind: _geometry(kind, has_z, has_m, depth))


def _geometry(kind: GeometryKind, has_z: bool, has_m: bool, depth: int) -> st.SearchStrategy[Geometry]:
    # One NaN only: text cannot tell the bit patterns of NaN apart.
    coordinate = st.one_of(st.integers(-180, 180).map(float), floats(nan=False), st.just(math.nan))
    position = st.tuples(*[coordinate] * (2 + has_z + has_m))
    if kind is GeometryKind.POINT:
        # All-NaN is how an empty point is stored, so it is not a position.
        given_position = position.filter(lambda p: not all(math.isnan(c) for c in p))
        positions = st.lists(given_position, max_size=1)
        parts: st.SearchStrategy[list[Geometry]] = st.just([])
    elif kind is GeometryKind.LINESTRING:
        positions, parts = st.lists(position, max_size=3), st.just([])
    elif kind is GeometryKind.GEOMETRYCOLLECTION:
        positions, parts = st.just([]), st.lists(_geometries(has_z, has_m, depth - 1), max_size=2)
    else:
        positions, parts = st.just([]), st.lists(_geometry(PART_KINDS[kind], has_z, has_m, depth), max_size=2)
    return st.builds(
        lambda ps, gs: Geometry(kind=kind, has_z=has_z, has_m=has_m, positions=tuple(ps), parts=tuple(gs)),
        positions,
        parts,
    )


def wkbs() -> st.SearchStrategy[bytes]:
    return geometries().map(serialize_wkb)


def variant_primitives() -> st.SearchStrategy[VariantPrimitive]:
    def primitive(kind: VariantKind, drawn: st.SearchStrategy[Any]) -> st.SearchStrategy[VariantPrimitive]:
        return drawn.map(lambda v: VariantPrimitive(kind, v))

    def scaled(digits: int) -> st.SearchStrategy[Decimal]:
        highest = 10**digits - 1
        return st.builds(lambda n, s: Decimal(f"{n}E-{s}"), ints(-highest, highest), st.integers(0, 38))

    longs = ints(LONG_MIN, LONG_MAX)
    return st.one_of(
        st.just(VariantPrimitive(VariantKind.NULL)),
        st.just(VariantPrimitive(VariantKind.TRUE, True)),
        st.just(VariantPrimitive(VariantKind.FALSE, False)),
        primitive(VariantKind.INT8, ints(-128, 127)),
        primitive(VariantKind.INT16, ints(-32768, 32767)),
        primitive(VariantKind.INT32, ints(INT_MIN, INT_MAX)),
        primitive(VariantKind.INT64, longs),
        primitive(VariantKind.DOUBLE, floats()),
        primitive(VariantKind.FLOAT, floats(width=32)),
        primitive(VariantKind.DECIMAL4, scaled(9)),
        primitive(VariantKind.DECIMAL8, scaled(18)),
        primitive(VariantKind.DECIMAL16, scaled(38)),
        primitive(VariantKind.DATE, dates()),
        primitive(VariantKind.TIME, ints(0, DAY_US - 1)),
        primitive(VariantKind.TIMESTAMP, longs),
        primitive(VariantKind.TIMESTAMPTZ, longs),
        primitive(VariantKind.TIMESTAMP_NS, longs),
        primitive(VariantKind.TIMESTAMPTZ_NS, longs),
        primitive(VariantKind.BINARY, byte_strings()),
        primitive(VariantKind.STRING, strings(size_max=80)),
        primitive(VariantKind.UUID, st.uuids()),
    )


def variants() -> st.SearchStrategy[VariantValue]:
    """Variants of any shape: primitives of every kind, arrays, objects with odd names."""
    return st.recursive(
        variant_primitives(),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda es: VariantArray(tuple(es))),
            st.dictionaries(strings(size_max=5), inner, max_size=4).map(lambda d: VariantObject(tuple(d.items()))),
        ),
        max_leaves=12,
    )
