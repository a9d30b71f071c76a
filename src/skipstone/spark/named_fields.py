"""Values with structs inside, under a column's type: Spark finds the fields of a struct by name, not by their place.

Law: a field is never given the value of another one because both have the same type.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from pyspark.sql import types as T

from skipstone.errors import InvalidInput
from skipstone.spark.scan_names import quoted


class Fields(Enum):
    """How fields of structs are found: by name, by their place, or as Spark does it after a list of columns.

    There it goes by place in structs, and by name in those that are inside of lists and maps.
    """

    BY_NAME = "name"
    BY_PLACE = "place"
    LISTED = "list"


def in_order(given: Any, wanted: Any, how: Fields, *, is_sensitive: bool, where: str) -> Any:
    """The type given, with fields in the order in which those of the wanted type are. Other types stay as they are."""

    def inside(a: Any, b: Any, below: str, how: Fields = how) -> Any:
        return in_order(a, b, how, is_sensitive=is_sensitive, where=f"{where}.{below}")

    in_lists = Fields.BY_NAME if how is Fields.LISTED else how
    match given, wanted:
        case T.StructType(), T.StructType() if how is Fields.BY_NAME:
            fields = [_named(given, f.name, is_sensitive, where) for f in wanted.fields]
            _refuse_more(given, fields, where)
            pairs = zip(fields, wanted.fields, strict=True)
            return T.StructType([T.StructField(f.name, inside(f.dataType, w.dataType, w.name)) for f, w in pairs])
        case T.StructType(), T.StructType() if len(given.fields) == len(wanted.fields):
            pairs = zip(given.fields, wanted.fields, strict=True)
            return T.StructType([T.StructField(f.name, inside(f.dataType, w.dataType, w.name)) for f, w in pairs])
        case T.ArrayType(), T.ArrayType():
            return T.ArrayType(inside(given.elementType, wanted.elementType, "element", in_lists), given.containsNull)
        case T.MapType(), T.MapType():
            key = inside(given.keyType, wanted.keyType, "key", in_lists)
            value = inside(given.valueType, wanted.valueType, "value", in_lists)
            return T.MapType(key, value, given.valueContainsNull)
        case _:
            return given


def in_order_sql(text: str, given: Any, ordered: Any, depth: int = 0) -> str:
    """An expression of a type, with its fields in the order of the type that `in_order` made of it."""
    if not _is_moved(given, ordered):
        return text
    item = f"__item_{depth}"
    match given, ordered:
        case T.StructType(), T.StructType():
            parts = ", ".join(
                f"{in_order_sql(f'{text}.{quoted(f.name)}', given[f.name].dataType, f.dataType, depth)} "
                f"AS {quoted(f.name)}"
                for f in ordered.fields
            )
            return f"IF({text} IS NULL, NULL, struct({parts}))"
        case T.ArrayType(), T.ArrayType():
            inner = in_order_sql(item, given.elementType, ordered.elementType, depth + 1)
            return f"transform({text}, {item} -> {inner})"
        case _:
            key = in_order_sql(f"{item}k", given.keyType, ordered.keyType, depth + 1)
            value = in_order_sql(f"{item}v", given.valueType, ordered.valueType, depth + 1)
            keyed = text if key == f"{item}k" else f"transform_keys({text}, ({item}k, {item}v) -> {key})"
            return keyed if value == f"{item}v" else f"transform_values({keyed}, ({item}k, {item}v) -> {value})"


def _is_moved(given: Any, ordered: Any) -> bool:
    match given, ordered:
        case T.StructType(), T.StructType():
            pairs = zip(given.fields, ordered.fields, strict=True)
            return given.names != ordered.names or any(_is_moved(g.dataType, o.dataType) for g, o in pairs)
        case T.ArrayType(), T.ArrayType():
            return _is_moved(given.elementType, ordered.elementType)
        case T.MapType(), T.MapType():
            return _is_moved(given.keyType, ordered.keyType) or _is_moved(given.valueType, ordered.valueType)
        case _:
            return False


def _named(struct: Any, name: str, is_sensitive: bool, where: str) -> Any:
    found = [f for f in struct.fields if f.name == name or (not is_sensitive and f.name.lower() == name.lower())]
    if len(found) != 1:
        raise InvalidInput(
            f"Cannot write to column {where}: expected one field {name!r}, got {struct.simpleString()}. "
            "Fields of structs are found by name."
        )
    return found[0]


def _refuse_more(struct: Any, fields: list[Any], where: str) -> None:
    for f in struct.fields:
        if all(f is not known for known in fields):
            raise InvalidInput(f"Cannot write to column {where}: it has no field {f.name!r}. Leave it out, or add it.")
