"""Default values of struct fields: which are allowed, and what value they stand for.

Laws: a stored default of a struct is null or the empty struct, since each sub-field keeps its own default; the
effective default is built from these. A non-finite float is no default: JSON cannot hold it and other engines
could never load the table again.

Spec: "Default values", and the rules for defaults in "Schema Evolution".
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Final, Literal, TypeAlias

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.types import (
    Field,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
    UnknownType,
    Value,
    VariantType,
)
from skipstone.metadata.values import from_python

Which: TypeAlias = Literal["initial", "write"]


class Missing(Enum):
    """A value that is not there at all, as opposed to a null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING

_NULL_ONLY: Final = (UnknownType, VariantType, GeometryType, GeographyType)


def default_of(type_: Type, value: Value, *, where: str) -> Value:
    """A default given by a caller, checked and in the form values have below the edge of the library."""
    if value is None:
        return None
    if isinstance(type_, StructType):
        if value != {}:
            raise InvalidInput(
                f"Invalid default for {where}: expected null or an empty struct {{}}, got {value!r}. "
                f"Set the defaults of its fields on the fields."
            )
        return {}
    if isinstance(type_, _NULL_ONLY):
        raise InvalidInput(f"Invalid default for {where}: expected null for type {type_}, got {value!r}.")
    try:
        converted = from_python(type_, value)
    except InvalidInput as e:
        raise InvalidInput(f"Invalid default for {where}: expected a value of type {type_}, got {value!r}. {e}") from e
    _check_storable(type_, converted, where)
    return converted


def check_field_defaults(field: Field, *, where: str, default_needed: bool = False) -> None:
    """Refuse stored or new defaults that break the rules, for the field and everything below it.

    `default_needed` is set for a required field that is added to a table with rows.
    """
    if isinstance(field.type, UnknownType) and field.required:
        raise InvalidInput(f"Invalid column '{where}': expected optional for type unknown, got required.")
    if default_needed and (field.initial_default is None or field.write_default is None):
        raise InvalidInput(
            f"Cannot add required column '{where}': expected a default that is not null, got none. Rows written before "
            f"would have no value: pass a default or make the column optional."
        )
    for which, value in (("initial-default", field.initial_default), ("write-default", field.write_default)):
        default_of(field.type, value, where=f"column '{where}' ({which})")
    match field.type:
        case StructType(fields):
            for f in fields:
                check_field_defaults(f, where=f"{where}.{f.name}")
            _check_struct_can_be_built(field, where)
        case ListType():
            check_field_defaults(field.type.element_field, where=f"{where}.element")
        case MapType():
            check_field_defaults(field.type.key_field, where=f"{where}.key")
            check_field_defaults(field.type.value_field, where=f"{where}.value")
        case _:
            pass


def effective_default(field: Field, which: Which, *, where: str | None = None) -> Value:
    """The value a missing field takes; null when it has no default.

    `initial` is for rows written before the field existed, `write` for rows whose writer does not supply it.
    """
    stored = field.initial_default if which == "initial" else field.write_default
    return None if stored is None else _complete(field.type, stored, which, where or field.name)


def required_default(field: Field, which: Which, *, where: str | None = None) -> Value:
    """The effective default of a field that must have a value: a required one without a default fails."""
    value = effective_default(field, which, where=where)
    if value is None and field.required:
        place = where or field.name
        if which == "write":
            raise InvalidInput(
                f"Cannot write without a value for required column '{place}' (id {field.id}): expected a value or a "
                f"write-default, got neither. Supply the column."
            )
        raise FormatViolation(
            f"Invalid data for required column '{place}' (id {field.id}): expected a stored value or an "
            f"initial-default, got neither."
        )
    return value


def merge_missing(field: Field, value: Value | Missing, which: Which = "initial", *, where: str | None = None) -> Value:
    """The value with everything missing filled in: the whole field, or sub-fields of a struct that is there.

    A struct value is a dict by field id; an id that is not in it is missing, a None in it is a null.
    """
    place = where or field.name
    if value is MISSING:
        return required_default(field, which, where=place)
    return None if value is None else _complete(field.type, value, which, place)


def _complete(type_: Type, value: Value, which: Which, where: str) -> Value:
    match type_:
        case StructType(fields):
            return {f.id: merge_missing(f, value.get(f.id, MISSING), which, where=f"{where}.{f.name}") for f in fields}
        case ListType():
            element = type_.element_field
            return [merge_missing(element, v, which, where=f"{where}.element") for v in value]
        case MapType():
            key, val = type_.key_field, type_.value_field
            return [
                (
                    merge_missing(key, k, which, where=f"{where}.key"),
                    merge_missing(val, v, which, where=f"{where}.value"),
                )
                for k, v in value
            ]
        case _:
            return value


def _check_struct_can_be_built(field: Field, where: str) -> None:
    """A default of {} needs a value for every required sub-field."""
    try:
        effective_default(field, "initial", where=where)
        effective_default(field, "write", where=where)
    except FormatViolation as e:
        raise InvalidInput(f"Invalid default {{}} for column '{where}': {e} Set a default on the field.") from e


def _check_storable(type_: Type, value: Value, where: str) -> None:
    """No part of a default is a value that may not be a default, or that JSON cannot hold."""
    if value is None:
        return
    match type_:
        case StructType(fields):
            for f in fields:
                _check_storable(f.type, value.get(f.id), f"{where}.{f.name}")
        case ListType():
            for v in value:
                _check_storable(type_.element, v, f"{where}.element")
        case MapType():
            for k, v in value:
                _check_storable(type_.key, k, f"{where}.key")
                _check_storable(type_.value, v, f"{where}.value")
        case _:
            if isinstance(type_, _NULL_ONLY):
                raise InvalidInput(f"Invalid default for {where}: expected null for type {type_}, got {value!r}.")
            if isinstance(value, float) and not math.isfinite(value):
                raise InvalidInput(
                    f"Invalid default for {where}: expected a finite {type_}, got {value!r}. Other engines could not "
                    f"load the table again."
                )
