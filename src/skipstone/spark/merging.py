"""The columns of a DataFrame as they are merged into a table's schema.

Laws: a column that the table has is found as the writer finds it, with or without regard to case as the session says,
and keeps the table's name. What the table requires stays required: a null ends the job. Text for a uuid and bytes for
a fixed fit as they are.

Spec: "Schema Evolution".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BINARY,
    STRING,
    UNKNOWN,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
    UuidType,
)
from skipstone.spark.frames_in import optional
from skipstone.spark.types import from_spark_struct

CASE_SENSITIVE: Final = "spark.sql.caseSensitive"


def schema_to_merge(frame: Any, table: Schema, *, format_version: int) -> Schema:
    """The frame's columns under the table's names; those that it does not have are new and optional."""
    ids = count(1)
    struct = optional(from_spark_struct(frame.schema, lambda: next(ids)))
    merging = _Merging(case_sensitive=frame.sparkSession.conf.get(CASE_SENSITIVE).lower() == "true")
    schema = Schema(fields=merging.fields(struct.fields, table.fields, ""))
    schema.check_format_version(format_version)
    return schema


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merging:
    case_sensitive: bool

    def fields(self, given: Sequence[Field], there: Sequence[Field], where: str) -> tuple[Field, ...]:
        named: dict[str, Field] = {}
        for f in given:
            known = self._known(f.name, there)
            merged = f if known is None else self._merged(f, known, f"{where}{known.name}")
            key = merged.name if self.case_sensitive else merged.name.lower()
            if key in named:
                raise InvalidInput(
                    f"Cannot merge column {where + f.name!r}: expected it once, got it again. Rename or drop one."
                )
            named[key] = merged
        return tuple(named.values())

    def _known(self, name: str, there: Sequence[Field]) -> Field | None:
        exact = next((f for f in there if f.name == name), None)
        if exact is not None or self.case_sensitive:
            return exact
        alike = [f for f in there if f.name.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None

    def _merged(self, given: Field, known: Field, where: str) -> Field:
        return replace(given, name=known.name, required=known.required, type=self._type(given.type, known.type, where))

    def _type(self, given: Type, known: Type, where: str) -> Type:
        match given, known:
            case StructType(), StructType():
                return StructType(self.fields(given.fields, known.fields, f"{where}."))
            case ListType(), ListType():
                element = self._type(given.element, known.element, f"{where}.element")
                return replace(given, element=element, element_required=known.element_required)
            case MapType(), MapType():
                key = self._type(given.key, known.key, f"{where}.key")
                value = self._type(given.value, known.value, f"{where}.value")
                return replace(given, key=key, value=value, value_required=known.value_required)
        return known if _fits(given, known) else given


def _fits(given: Type, known: Type) -> bool:
    """Whether a type that Spark has stands for one that it has not."""
    if isinstance(known, UuidType):
        return given in (STRING, UNKNOWN)
    if isinstance(known, FixedType | GeometryType | GeographyType):
        return given in (BINARY, UNKNOWN)
    return given == UNKNOWN
