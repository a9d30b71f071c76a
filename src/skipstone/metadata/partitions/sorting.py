"""Sort orders: how the rows of a file are ordered, and when one order implies another.

Laws: order id 0 is the unsorted order and has no fields; every other order has some. `satisfies` claims an order only
when every file in this order is certainly in the other one. Floats order as
-NaN < -Infinity < … < -0.0 < 0.0 < … < Infinity < NaN.

Spec: "Sorting", "Sort Orders" of Appendix C.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.json_reader import JsonObject
from skipstone.metadata.partitions.partition_json import sources_from_json, sources_to_json, transform_of_sources
from skipstone.metadata.partitions.terms import SortTerm, parse_sort_term
from skipstone.metadata.partitions.transforms import Transform, UnknownTransform, VoidTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import PrimitiveType, Type

UNSORTED_ORDER_ID: Final = 0


class SortDirection(StrEnum):
    ASC = "asc"
    DESC = "desc"


class NullOrder(StrEnum):
    NULLS_FIRST = "nulls-first"
    NULLS_LAST = "nulls-last"

    @staticmethod
    def default_for(direction: SortDirection) -> NullOrder:
        return NullOrder.NULLS_FIRST if direction is SortDirection.ASC else NullOrder.NULLS_LAST


@dataclass(frozen=True, slots=True, kw_only=True)
class SortField:
    source_ids: tuple[int, ...]
    transform: Transform
    direction: SortDirection
    null_order: NullOrder

    def __post_init__(self) -> None:
        object.__setattr__(self, "source_ids", tuple(self.source_ids))
        if not self.source_ids:
            raise InvalidInput("Invalid sort field: expected a source column id, got none.")
        if len(self.source_ids) > 1 and not isinstance(self.transform, UnknownTransform | VoidTransform):
            raise InvalidInput(
                f"Invalid sort field: expected one source column for {self.transform}, got {len(self.source_ids)}."
            )

    @property
    def source_id(self) -> int:
        """The source column of a single-argument transform; the first one of others."""
        return self.source_ids[0]

    def satisfies(self, other: SortField, type_: Type | None = None) -> bool:
        """Whether rows in the order of this field alone are also in the order of the other alone."""
        if self == other:
            return True
        mine = (self.source_ids, self.direction, self.null_order)
        theirs = (other.source_ids, other.direction, other.null_order)
        return mine == theirs and self.transform.satisfies_order_of(other.transform, type_)

    def __str__(self) -> str:
        return f"{self.transform}({', '.join(map(str, self.source_ids))}) {self.direction} {self.null_order}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SortOrder:
    order_id: int
    fields: tuple[SortField, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        if self.order_id == UNSORTED_ORDER_ID and self.fields:
            raise InvalidInput(f"Invalid sort order 0: expected no fields (it is the unsorted order), got {self}.")
        if self.order_id != UNSORTED_ORDER_ID and not self.fields:
            raise InvalidInput(f"Invalid sort order {self.order_id}: expected fields, got none; unsorted is order 0.")

    @property
    def is_unsorted(self) -> bool:
        return not self.fields

    def satisfies(self, other: SortOrder, schema: Schema | None = None) -> bool:
        """Whether every file in this order is also in the other order.

        All fields of the other order but its last must be equal here: rows ordered by (ts, x) are ordered by day(ts),
        yet not by (day(ts), x). A schema lets it judge truncations, whose order depends on the type.
        """
        wanted = [f for f in other.fields if not isinstance(f.transform, VoidTransform)]
        mine = [f for f in self.fields if not isinstance(f.transform, VoidTransform)]
        if not wanted:
            return True
        last = len(wanted) - 1
        if len(mine) < len(wanted) or mine[:last] != wanted[:last]:
            return False
        source = None if schema is None else schema.find(wanted[last].source_id)
        return mine[last].satisfies(wanted[last], source.type if source else None)

    def same_as(self, other: SortOrder) -> bool:
        """Equal but for the order id."""
        return self.fields == other.fields

    def with_id(self, order_id: int) -> SortOrder:
        return replace(self, order_id=order_id)

    def check(self, schema: Schema) -> None:
        """Refuse an order that rows of this schema cannot be sorted by."""
        for f in self.fields:
            _check_field(f, schema, self.order_id)

    def check_format_version(self, format_version: int) -> None:
        if format_version < 3 and any(len(f.source_ids) > 1 for f in self.fields):
            raise InvalidInput(
                f"Invalid sort order {self.order_id} for a v{format_version} table: a field has several source "
                "columns, which needs v3. Upgrade the table."
            )

    def __str__(self) -> str:
        return f"[{', '.join(str(f) for f in self.fields)}]"


UNSORTED: Final = SortOrder(order_id=UNSORTED_ORDER_ID)


def _check_field(field: SortField, schema: Schema, order_id: int) -> None:
    for source_id in field.source_ids:
        source = schema.find(source_id)
        if source is None:
            raise InvalidInput(
                f"Cannot find source column {source_id} of sort order {order_id} in schema {schema.schema_id}. "
                + what_exists("Columns", "", [f.name for f in schema.fields])
            )
        where = f"sort order {order_id}: source column '{schema.name_of(source_id)}' (id {source_id})"
        if schema.is_in_list_or_map(source_id):
            raise InvalidInput(f"Invalid {where}: expected a column outside lists and maps, got one inside.")
        if not isinstance(source.type, PrimitiveType):
            raise InvalidInput(f"Invalid {where}: expected a primitive type, got {source.type}.")
        if not field.transform.can_transform(source.type):
            raise InvalidInput(f"Invalid {where}: the spec does not allow {field.transform} on type {source.type}.")


def build_sort_order(
    schema: Schema, terms: Iterable[str | SortTerm], *, order_id: int = 1, case_sensitive: bool = True
) -> SortOrder:
    """An order from terms such as `zip_code` and `day(ts) desc nulls last`; unsorted when there are none.

    Nulls come first in ascending and last in descending order unless the term says otherwise.
    """
    fields: list[SortField] = []
    for given in terms:
        wanted = parse_sort_term(given) if isinstance(given, str) else given
        source = schema.field(wanted.term.column, case_sensitive=case_sensitive)
        direction = SortDirection.DESC if wanted.descending else SortDirection.ASC
        null_order = NullOrder.default_for(direction)
        if wanted.nulls_first is not None:
            null_order = NullOrder.NULLS_FIRST if wanted.nulls_first else NullOrder.NULLS_LAST
        fields.append(
            SortField(
                source_ids=(source.id,),
                transform=wanted.term.transform,
                direction=direction,
                null_order=null_order,
            )
        )
    order = SortOrder(order_id=order_id, fields=tuple(fields)) if fields else UNSORTED
    order.check(schema)
    return order


def reuse_or_number(orders: Iterable[SortOrder], wanted: SortOrder) -> SortOrder:
    """The order among `orders` with the same fields, or `wanted` under the next free id."""
    known = list(orders)
    if wanted.is_unsorted:
        return UNSORTED
    for order in known:
        if order.same_as(wanted):
            return order
    return wanted.with_id(max((o.order_id for o in known), default=UNSORTED_ORDER_ID) + 1)


# -- JSON -----------------------------------------------------------------------------------------------------------


def sort_order_to_json(order: SortOrder) -> dict[str, Any]:
    return {
        "order-id": order.order_id,
        "fields": [
            {
                "transform": str(f.transform),
                **sources_to_json(f.source_ids),
                "direction": str(f.direction),
                "null-order": str(f.null_order),
            }
            for f in order.fields
        ],
    }


def sort_order_from_json(value: object, *, source: str = "sort order", place: str = "$") -> SortOrder:
    obj = JsonObject.of(value, label=source, place=place)
    order_id = obj.int_("order-id", low=0)
    fields = tuple(_field_from_json(o) for o in obj.objects("fields"))
    return obj.guard(lambda: SortOrder(order_id=order_id, fields=fields))


def _field_from_json(obj: JsonObject) -> SortField:
    source_ids = sources_from_json(obj)
    text = obj.text("transform")
    direction = _word(obj, "direction", tuple(SortDirection))
    null_order = _word(obj, "null-order", tuple(NullOrder))
    return obj.guard(
        lambda: SortField(
            source_ids=source_ids,
            transform=transform_of_sources(text, source_ids),
            direction=SortDirection(direction),
            null_order=NullOrder(null_order),
        )
    )


def _word(obj: JsonObject, key: str, words: tuple[StrEnum, ...]) -> str:
    word = obj.text(key).lower()
    if word not in words:
        obj.fail(key, " or ".join(words), obj.text(key))
    return word


# -- the order of floats --------------------------------------------------------------------------------------------


def float_order_key(value: float) -> int:
    """An integer that orders doubles as the spec sorts them, signed NaNs and zeros included."""
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    # Negative doubles order against their magnitude: flip it.
    return bits if bits >= 0 else bits ^ 0x7FFFFFFFFFFFFFFF


def float_order_keys(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """`float_order_key` of every value."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    return np.where(bits >= 0, bits, bits ^ np.int64(0x7FFFFFFFFFFFFFFF))
