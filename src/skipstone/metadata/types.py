"""The types of a table: primitives of v1 to v3, and struct, list and map.

Types are values: equal when they mean the same, hashable, picklable. A field is identified by its id, never
by its name. JSON is in `schema_json`, evolution in `evolution`.

Spec: "Schemas and Data Types".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from skipstone.errors import InvalidInput

# A single value of any type, as Python holds it below the edge of the library:
#   boolean bool · int, long int · float, double float · decimal decimal.Decimal · string str · uuid uuid.UUID
#   fixed, binary bytes · date int days · time int microseconds · timestamp(tz) int microseconds
#   timestamp(tz)_ns int nanoseconds · geometry, geography bytes (WKB)
#   struct dict by field id · list list · map list of (key, value) pairs
# Dates and times stay integers so that every value the format can hold fits; `values.display` makes them readable.
Value: TypeAlias = Any

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1
DECIMAL_PRECISION_MAX: Final = 38
DEFAULT_CRS: Final = "OGC:CRS84"
EDGE_ALGORITHMS: Final = ("spherical", "vincenty", "thomas", "andoyer", "karney")


class Type:
    """Base of all types."""

    __slots__ = ()

    min_format_version: ClassVar[int] = 1

    @property
    def is_primitive(self) -> bool:
        return isinstance(self, PrimitiveType)

    @property
    def is_nested(self) -> bool:
        return not isinstance(self, PrimitiveType)


class PrimitiveType(Type):
    """A type without children. The spec treats variant as semi-structured; it has no field ids inside either."""

    __slots__ = ()
    name: ClassVar[str] = ""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True, repr=False)
class UnknownType(PrimitiveType):
    name: ClassVar[str] = "unknown"
    min_format_version: ClassVar[int] = 3


@dataclass(frozen=True, slots=True, repr=False)
class BooleanType(PrimitiveType):
    name: ClassVar[str] = "boolean"


@dataclass(frozen=True, slots=True, repr=False)
class IntType(PrimitiveType):
    name: ClassVar[str] = "int"


@dataclass(frozen=True, slots=True, repr=False)
class LongType(PrimitiveType):
    name: ClassVar[str] = "long"


@dataclass(frozen=True, slots=True, repr=False)
class FloatType(PrimitiveType):
    name: ClassVar[str] = "float"


@dataclass(frozen=True, slots=True, repr=False)
class DoubleType(PrimitiveType):
    name: ClassVar[str] = "double"


@dataclass(frozen=True, slots=True, repr=False)
class DateType(PrimitiveType):
    name: ClassVar[str] = "date"


@dataclass(frozen=True, slots=True, repr=False)
class TimeType(PrimitiveType):
    name: ClassVar[str] = "time"


@dataclass(frozen=True, slots=True, repr=False)
class TimestampType(PrimitiveType):
    name: ClassVar[str] = "timestamp"


@dataclass(frozen=True, slots=True, repr=False)
class TimestamptzType(PrimitiveType):
    name: ClassVar[str] = "timestamptz"


@dataclass(frozen=True, slots=True, repr=False)
class TimestampNsType(PrimitiveType):
    name: ClassVar[str] = "timestamp_ns"
    min_format_version: ClassVar[int] = 3


@dataclass(frozen=True, slots=True, repr=False)
class TimestamptzNsType(PrimitiveType):
    name: ClassVar[str] = "timestamptz_ns"
    min_format_version: ClassVar[int] = 3


@dataclass(frozen=True, slots=True, repr=False)
class StringType(PrimitiveType):
    name: ClassVar[str] = "string"


@dataclass(frozen=True, slots=True, repr=False)
class UuidType(PrimitiveType):
    name: ClassVar[str] = "uuid"


@dataclass(frozen=True, slots=True, repr=False)
class BinaryType(PrimitiveType):
    name: ClassVar[str] = "binary"


@dataclass(frozen=True, slots=True, repr=False)
class VariantType(PrimitiveType):
    name: ClassVar[str] = "variant"
    min_format_version: ClassVar[int] = 3


@dataclass(frozen=True, slots=True, repr=False)
class DecimalType(PrimitiveType):
    name: ClassVar[str] = "decimal"
    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not 1 <= self.precision <= DECIMAL_PRECISION_MAX:
            raise InvalidInput(
                f"Invalid type {self}: expected a precision from 1 to {DECIMAL_PRECISION_MAX}, got {self.precision}."
            )
        if not 0 <= self.scale <= self.precision:
            raise InvalidInput(f"Invalid type {self}: expected a scale from 0 to {self.precision}, got {self.scale}.")

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True, repr=False)
class FixedType(PrimitiveType):
    name: ClassVar[str] = "fixed"
    length: int

    def __post_init__(self) -> None:
        if self.length < 0:
            raise InvalidInput(f"Invalid type fixed[{self.length}]: expected a length of 0 or more.")

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True, slots=True, repr=False)
class GeometryType(PrimitiveType):
    """`crs` is None when the type was written without one; `effective_crs` fills in the default."""

    name: ClassVar[str] = "geometry"
    min_format_version: ClassVar[int] = 3
    crs: str | None = None

    @property
    def effective_crs(self) -> str:
        return self.crs or DEFAULT_CRS

    def __str__(self) -> str:
        return "geometry" if self.crs is None else f"geometry({self.crs})"


@dataclass(frozen=True, slots=True, repr=False)
class GeographyType(PrimitiveType):
    """`crs` and `algorithm` are None when the type was written without them."""

    name: ClassVar[str] = "geography"
    min_format_version: ClassVar[int] = 3
    crs: str | None = None
    algorithm: str | None = None

    def __post_init__(self) -> None:
        if self.algorithm is not None and self.algorithm not in EDGE_ALGORITHMS:
            raise InvalidInput(
                f"Invalid type geography: expected an edge algorithm of {', '.join(EDGE_ALGORITHMS)}, "
                f"got {self.algorithm!r}."
            )

    @property
    def effective_crs(self) -> str:
        return self.crs or DEFAULT_CRS

    @property
    def effective_algorithm(self) -> str:
        return self.algorithm or "spherical"

    def __str__(self) -> str:
        if self.algorithm is not None:
            return f"geography({self.effective_crs}, {self.algorithm})"
        return "geography" if self.crs is None else f"geography({self.crs})"


UNKNOWN: Final = UnknownType()
BOOLEAN: Final = BooleanType()
INT: Final = IntType()
LONG: Final = LongType()
FLOAT: Final = FloatType()
DOUBLE: Final = DoubleType()
DATE: Final = DateType()
TIME: Final = TimeType()
TIMESTAMP: Final = TimestampType()
TIMESTAMPTZ: Final = TimestamptzType()
TIMESTAMP_NS: Final = TimestampNsType()
TIMESTAMPTZ_NS: Final = TimestamptzNsType()
STRING: Final = StringType()
UUID: Final = UuidType()
BINARY: Final = BinaryType()
VARIANT: Final = VariantType()

_PLAIN: Final[dict[str, PrimitiveType]] = {
    str(t): t
    for t in (
        UNKNOWN, BOOLEAN, INT, LONG, FLOAT, DOUBLE, DATE, TIME, TIMESTAMP, TIMESTAMPTZ,
        TIMESTAMP_NS, TIMESTAMPTZ_NS, STRING, UUID, BINARY, VARIANT,
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A named, numbered place in a struct.

    `initial_default` fills rows written before the field existed, `write_default` rows whose writer does not
    supply the field. None means no default, which the spec equates with a null default.
    """

    id: int
    name: str
    type: Type
    required: bool = False
    doc: str | None = None
    initial_default: Value = field(default=None, hash=False)
    write_default: Value = field(default=None, hash=False)

    @property
    def optional(self) -> bool:
        return not self.required

    def __str__(self) -> str:
        need = "required" if self.required else "optional"
        return f"{self.id}: {self.name}: {need} {self.type}"


@dataclass(frozen=True, slots=True)
class StructType(Type):
    fields: tuple[Field, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))

    def field_by_id(self, field_id: int) -> Field | None:
        return next((f for f in self.fields if f.id == field_id), None)

    def field_by_name(self, name: str) -> Field | None:
        return next((f for f in self.fields if f.name == name), None)

    def __str__(self) -> str:
        return f"struct<{', '.join(str(f) for f in self.fields)}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListType(Type):
    element_id: int
    element: Type
    element_required: bool = False

    @property
    def element_field(self) -> Field:
        return Field(id=self.element_id, name="element", type=self.element, required=self.element_required)

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapType(Type):
    key_id: int
    key: Type
    value_id: int
    value: Type
    value_required: bool = False

    @property
    def key_field(self) -> Field:
        return Field(id=self.key_id, name="key", type=self.key, required=True)

    @property
    def value_field(self) -> Field:
        return Field(id=self.value_id, name="value", type=self.value, required=self.value_required)

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


def children(type_: Type) -> tuple[Field, ...]:
    """The fields directly below a type: a struct's own, a list's element, a map's key and value."""
    match type_:
        case StructType(fields):
            return fields
        case ListType():
            return (type_.element_field,)
        case MapType():
            return (type_.key_field, type_.value_field)
        case _:
            return ()


def walk(type_: Type) -> Iterator[Field]:
    """Every field below a type, parents before children, in order."""
    for child in children(type_):
        yield child
        yield from walk(child.type)


def map_types(type_: Type, change: Callable[[Field], Field]) -> Type:
    """The same shape with `change` applied to every field below, children before parents."""
    match type_:
        case StructType(fields):
            return StructType(tuple(_map_field(f, change) for f in fields))
        case ListType():
            element = _map_field(type_.element_field, change)
            return ListType(element_id=element.id, element=element.type, element_required=element.required)
        case MapType():
            key, value = _map_field(type_.key_field, change), _map_field(type_.value_field, change)
            return MapType(
                key_id=key.id,
                key=key.type,
                value_id=value.id,
                value=value.type,
                value_required=value.required,
            )
        case _:
            return type_


def _map_field(f: Field, change: Callable[[Field], Field]) -> Field:
    return change(
        Field(
            id=f.id,
            name=f.name,
            type=map_types(f.type, change),
            required=f.required,
            doc=f.doc,
            initial_default=f.initial_default,
            write_default=f.write_default,
        )
    )


_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")
# As in Iceberg Java, a CRS is any text up to the bracket.
_GEOMETRY = re.compile(r"geometry\s*(?:\(\s*([^)]+?)\s*\))?", re.IGNORECASE)
_GEOGRAPHY = re.compile(r"geography\s*(?:\(\s*([^,)]+?)\s*(?:,\s*(\w+)\s*)?\))?", re.IGNORECASE)


def parse_primitive(text: str) -> PrimitiveType:
    """The primitive type a text names, as the spec writes it in JSON."""
    lowered = text.strip().lower()
    if (plain := _PLAIN.get(lowered)) is not None:
        return plain
    if m := _DECIMAL.fullmatch(lowered):
        return DecimalType(int(m[1]), int(m[2]))
    if m := _FIXED.fullmatch(lowered):
        return FixedType(int(m[1]))
    # The CRS keeps its case: it may name a table property.
    if m := _GEOMETRY.fullmatch(text.strip()):
        return GeometryType(m[1])
    if m := _GEOGRAPHY.fullmatch(text.strip()):
        return GeographyType(m[1], m[2].lower() if m[2] else None)
    known = ", ".join(_PLAIN)
    raise InvalidInput(
        f"Invalid type {text!r}: expected one of {known}, decimal(P, S), fixed[L], geometry(C), geography(C, A)."
    )
