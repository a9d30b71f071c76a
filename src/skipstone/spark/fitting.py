"""Columns of a DataFrame turned into exactly the columns of a table.

Laws: those of `write.conform`, as Spark expressions. Columns match by name, with or without regard to case as the
session says. What the types alone can tell is refused before any job starts; a value that would be changed, or a null
where there must be a value, ends the job with the same error, and nothing of it is visible.

Spec: "Default values", "Schemas and Data Types".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.schemas.defaults import MISSING, merge_missing
from skipstone.metadata.types import Field, ListType, MapType, StructType, Type
from skipstone.spark.default_values import constant
from skipstone.spark.failures import refuse
from skipstone.spark.fitting_values import fit_value, shown
from skipstone.spark.stored import stored_type
from skipstone.spark.types import FIELD_ID_KEY


def fit_columns(
    schema: T.StructType, fields: Sequence[Field], names: Sequence[str], *, case_sensitive: bool
) -> list[Any]:
    """An expression for each field, under the names given, over a frame of this schema."""
    fitting = _Fitting(case_sensitive=case_sensitive)
    places = fitting.places(schema.names, fields, where="")
    made = []
    for f, name in zip(fields, names, strict=True):
        place = places.get(f.id)
        if place is None:
            column = _missing(f, f.name)
        else:
            given = schema.fields[place]
            column = fitting.fit(F.col(_quoted(given.name)), given.dataType, given.nullable, f, f.name)
        made.append(column.cast(stored_type(f.type)).alias(name, metadata={FIELD_ID_KEY: f.id}))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitting:
    case_sensitive: bool

    def places(self, names: Sequence[str], fields: Sequence[Field], where: str) -> dict[int, int]:
        """The ordinal of the column for each field that has one, by field id."""
        found: dict[int, int] = {}
        for i, name in enumerate(names):
            f = self._field(name, fields, where)
            if f.id in found:
                raise InvalidInput(
                    f"Cannot write column {where + name!r}: expected it once, got {names[found[f.id]]!r} and {name!r}. "
                    "Rename or drop one."
                )
            found[f.id] = i
        return found

    def _field(self, name: str, fields: Sequence[Field], where: str) -> Field:
        exact = next((f for f in fields if f.name == name), None)
        if exact is not None:
            return exact
        alike = [] if self.case_sensitive else [f for f in fields if f.name.lower() == name.lower()]
        if len(alike) == 1:
            return alike[0]
        known = [f.name for f in fields]
        kind = "Fields" if where else "Columns"
        raise InvalidInput(
            f"Cannot write column {where + name!r}: the table does not have it. {what_exists(kind, name, known)} "
            "Add it to the schema first (merge_schema=True does), or leave it out."
        )

    def fit(self, column: Any, given: Any, nullable: bool, f: Field, where: str) -> Any:
        """The column in the type that `f` is written from, null only where `f` may be."""
        if isinstance(given, T.NullType):
            if f.required:
                raise _required(f, where)
            return constant(f.type, None)
        return _checked(self._value(column, given, f.type, where), nullable, f, where)

    def _value(self, column: Any, given: Any, type_: Type, where: str) -> Any:
        match type_:
            case StructType(fields):
                if not isinstance(given, T.StructType):
                    raise _refused(given, where, "a struct")
                return self._struct(column, given, fields, where)
            case ListType():
                if not isinstance(given, T.ArrayType):
                    raise _refused(given, where, "a list")
                return self._list(column, given, type_, where)
            case MapType():
                if not isinstance(given, T.MapType):
                    raise _refused(given, where, "a map")
                return self._map(column, given, type_, where)
            case _:
                return fit_value(column, given, type_, where)

    def _struct(self, column: Any, given: T.StructType, fields: tuple[Field, ...], where: str) -> Any:
        places = self.places(given.names, fields, f"{where}.")
        if not self._changes(given, StructType(fields)):
            return column
        made = []
        for f in fields:
            place, path = places.get(f.id), f"{where}.{f.name}"
            if place is None:
                made.append(_missing(f, path).alias(f.name))
                continue
            child = given.fields[place]
            made.append(self.fit(column.getField(child.name), child.dataType, child.nullable, f, path).alias(f.name))
        return F.when(column.isNotNull(), F.struct(*made))

    def _list(self, column: Any, given: T.ArrayType, type_: ListType, where: str) -> Any:
        def one(element: Any) -> Any:
            return self.fit(
                element, given.elementType, given.containsNull, type_.element_field, f"{where}.element"
            ).cast(stored_type(type_.element))

        one(F.lit(None))  # refuses by type, even where nothing needs a change
        return F.transform(column, one) if self._changes(given, type_) else column

    def _map(self, column: Any, given: T.MapType, type_: MapType, where: str) -> Any:
        def key(k: Any) -> Any:
            return self.fit(k, given.keyType, False, type_.key_field, f"{where}.key").cast(stored_type(type_.key))

        def value(v: Any) -> Any:
            fitted = self.fit(v, given.valueType, given.valueContainsNull, type_.value_field, f"{where}.value")
            return fitted.cast(stored_type(type_.value))

        key(F.lit(None)), value(F.lit(None))
        if self._changes(given.keyType, type_.key):
            column = F.transform_keys(column, lambda k, _: key(k))
        is_changed = self._changes(given, type_)
        return F.transform_values(column, lambda _, v: value(v)) if is_changed else column

    def _changes(self, given: Any, type_: Type) -> bool:
        """Whether values must be taken apart: names, order, types or nulls differ from what is written."""
        match type_:
            case StructType(fields):
                if not isinstance(given, T.StructType) or given.names != [f.name for f in fields]:
                    return True
                pairs = zip(given.fields, fields, strict=True)
                return any((f.required and g.nullable) or self._changes(g.dataType, f.type) for g, f in pairs)
            case ListType():
                lacks = type_.element_required and given.containsNull
                return lacks or self._changes(given.elementType, type_.element)
            case MapType():
                lacks = type_.value_required and given.valueContainsNull
                return lacks or self._changes(given.keyType, type_.key) or self._changes(given.valueType, type_.value)
            case _:
                return bool(given != stored_type(type_))


def _missing(f: Field, where: str) -> Any:
    return constant(f.type, merge_missing(f, MISSING, "write", where=where))


def _checked(column: Any, nullable: bool, f: Field, where: str) -> Any:
    if not (f.required and nullable):
        return column
    message = str(_required(f, where))
    if isinstance(f.type, StructType | ListType | MapType):
        return F.when(column.isNotNull(), column).otherwise(refuse(message).cast(stored_type(f.type)))
    # The last part is never reached; it tells Spark that the column holds no nulls, so that the file says so too.
    return F.coalesce(column, refuse(message).cast(stored_type(f.type)), _something(f.type))


def _something(type_: Type) -> Any:
    target = stored_type(type_)
    if isinstance(target, T.BinaryType):
        return F.lit(bytearray(1))
    if isinstance(target, T.DateType | T.TimestampType | T.TimestampNTZType):
        return F.lit("1970-01-01").cast(target)
    return F.lit("0" if isinstance(target, T.StringType) else 0).cast(target)


def _required(f: Field, where: str) -> InvalidInput:
    return InvalidInput(
        f"Cannot write column '{where}' (id {f.id}): it is required, expected a value in every row, got null."
    )


def _refused(given: Any, where: str, wanted: str) -> InvalidInput:
    return InvalidInput(f"Cannot write column '{where}': expected {wanted}, got {shown(given)}. Cast the column first.")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
