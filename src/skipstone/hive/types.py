"""Hive's types: which kind of statistics a column of a type has, and what an Iceberg type is called in Hive."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from skipstone.metadata import types as iceberg


class Kind(Enum):
    """The kinds of statistics. The value is the member's name in Hive's union."""

    BOOLEAN = "booleanStats"
    LONG = "longStats"
    DOUBLE = "doubleStats"
    STRING = "stringStats"
    BINARY = "binaryStats"
    DECIMAL = "decimalStats"
    DATE = "dateStats"
    TIMESTAMP = "timestampStats"


_KINDS: Final[Mapping[str, Kind]] = {
    "boolean": Kind.BOOLEAN,
    "tinyint": Kind.LONG,
    "smallint": Kind.LONG,
    "int": Kind.LONG,
    "integer": Kind.LONG,
    "bigint": Kind.LONG,
    "float": Kind.DOUBLE,
    "double": Kind.DOUBLE,
    "string": Kind.STRING,
    "char": Kind.STRING,
    "varchar": Kind.STRING,
    "binary": Kind.BINARY,
    "decimal": Kind.DECIMAL,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamp with local time zone": Kind.TIMESTAMP,
}
# Hive before 3 kept dates and timestamps as long statistics.
_ALSO: Final[Mapping[Kind, frozenset[Kind]]] = {
    Kind.DATE: frozenset({Kind.LONG}),
    Kind.TIMESTAMP: frozenset({Kind.LONG}),
}
_PARAMETERS: Final = re.compile(r"\s*\(.*\)\s*$")


def kind_of(hive_type: str) -> Kind | None:
    """The kind of statistics of a type by its Hive name; None for types that have none, such as arrays."""
    return _KINDS.get(_PARAMETERS.sub("", hive_type.strip().lower()))


def fits(kind: Kind, hive_type: str) -> bool:
    """Whether statistics of a kind can be of a column of a type."""
    proper = kind_of(hive_type)
    return proper is not None and (kind is proper or kind in _ALSO.get(proper, ()))


def hive_type(kind: iceberg.Type, *, has_zones: bool = True) -> str:
    """What a column of an Iceberg type is called in Hive; text where Hive has no such type.

    Hive 2 has no timestamp with a zone: without `has_zones` it is a plain one.
    """
    match kind:
        case iceberg.StructType():
            inner = ",".join(f"{field.name}:{hive_type(field.type, has_zones=has_zones)}" for field in kind.fields)
            return f"struct<{inner}>"
        case iceberg.ListType():
            return f"array<{hive_type(kind.element, has_zones=has_zones)}>"
        case iceberg.MapType():
            key, value = hive_type(kind.key, has_zones=has_zones), hive_type(kind.value, has_zones=has_zones)
            return f"map<{key},{value}>"
        case iceberg.DecimalType():
            return f"decimal({kind.precision},{kind.scale})"
        case iceberg.TimestamptzType() | iceberg.TimestamptzNsType():
            return "timestamp with local time zone" if has_zones else "timestamp"
        case iceberg.PrimitiveType():
            return _PRIMITIVES.get(kind.name, "string")
    return "string"


_PRIMITIVES: Final[Mapping[str, str]] = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ns": "timestamp",
    "binary": "binary",
    "fixed": "binary",
    "variant": "binary",
    "geometry": "binary",
    "geography": "binary",
}
