"""The keys of a join's build side, in the types of the probe side's columns.

A key that no value of the column can equal is dropped: one out of the column's range, one with more digits, a null,
and NaN unless it equals itself. Conversions that would change what equals what are refused.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_convert import decoded
from skipstone.metadata.types import DoubleType, FloatType, PrimitiveType
from skipstone.metadata.values import bound_type
from skipstone.plan.order import check_sortable
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Column

pa: Any = pyarrow
pc: Any = pyarrow.compute
types: Any = pa.types


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinKeys:
    """Distinct keys, one Arrow array a column, in the form of bounds. NaN may be among the keys of a float column."""

    columns: tuple[Column, ...]
    arrays: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.arrays[0])


def join_keys(columns: Sequence[Column], values: Any, float_order: FloatOrder, *, table: str) -> JoinKeys:
    """Keys from an Arrow array, a sequence, or for several columns an Arrow table with one column each, in order."""
    given = _columns(values, len(columns), table)
    arrays = []
    for column, array in zip(columns, given, strict=True):
        check_sortable(column.type, f"join {table} on {column.name!r}")
        arrays.append(_converted(column, array, float_order, table))
    if len({len(a) for a in arrays}) != 1:
        raise InvalidInput(f"Cannot join {table}: expected key columns of one length, got {[len(a) for a in arrays]}.")
    keep = functools.reduce(pc.and_, (a.is_valid() for a in arrays))
    names = [str(n) for n in range(len(arrays))]
    distinct = pa.table([a.filter(keep) for a in arrays], names=names).group_by(names).aggregate([]).combine_chunks()
    return JoinKeys(columns=tuple(columns), arrays=tuple(_one(distinct.column(n)) for n in names))


def _columns(values: Any, count: int, table: str) -> list[Any]:
    if isinstance(values, pa.Table | pa.RecordBatch):
        given = [_one(c) for c in values.columns]
    elif count == 1:
        given = [_one(values) if isinstance(values, pa.Array | pa.ChunkedArray) else _from_python(values, table)]
    else:
        raise InvalidInput(
            f"Cannot join {table} on {count} columns: expected an Arrow table of keys, got {type(values).__name__}."
        )
    if len(given) != count:
        raise InvalidInput(f"Cannot join {table} on {count} columns: expected as many key columns, got {len(given)}.")
    return given


def _from_python(values: Any, table: str) -> Any:
    try:
        return pa.array(list(values))
    except (TypeError, pa.ArrowException) as error:
        raise InvalidInput(f"Cannot join {table}: expected keys of one type, got {values!r:.80}.") from error


def _one(array: Any) -> Any:
    return decoded(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)


def _converted(column: Column, array: Any, float_order: FloatOrder, table: str) -> Any:
    target: Any = bound_type(column.type)
    if array.type != target and not types.is_null(array.type) and not _is_comparable(array.type, target):
        raise InvalidInput(
            f"Cannot join {table} on {column.name!r}: the column is {column.type}, the keys are {array.type}. "
            "Cast the keys to the column's type first."
        )
    converted = array if array.type == target else _lossless(array, target)
    if isinstance(column.type, FloatType | DoubleType):
        converted = _canonical(converted, column.type, float_order)
    return converted


def _canonical(array: Any, type_: PrimitiveType, float_order: FloatOrder) -> Any:
    """One zero and one NaN; NaN equals nothing unless the engine says so."""
    is_nan = pc.fill_null(pc.is_nan(array), False)
    nan = float("nan") if float_order is FloatOrder.SPARK else None
    plain = pc.add(array, pa.scalar(0.0, array.type))
    return pc.if_else(is_nan, pa.scalar(nan, array.type), plain)


def _is_comparable(source: Any, target: Any) -> bool:
    """Whether engines compare the two types without rounding either side."""
    whole_or_decimal = types.is_integer(source) or types.is_decimal(source)
    if types.is_integer(target) or types.is_decimal(target):
        return bool(whole_or_decimal)
    if types.is_floating(target):
        return bool(types.is_floating(source) or types.is_integer(source))
    if types.is_timestamp(target):
        return bool(types.is_timestamp(source) and (source.tz is None) == (target.tz is None))
    if types.is_time(target):
        return bool(types.is_time(source))
    if types.is_string(target):
        return bool(types.is_large_string(source) or types.is_string_view(source))
    if types.is_binary(target) or types.is_fixed_size_binary(target):
        return bool(types.is_binary(source) or types.is_large_binary(source) or types.is_fixed_size_binary(source))
    return bool(types.is_date(target) and types.is_date(source))


def _lossless(array: Any, target: Any) -> Any:
    """The values in another type; null where it cannot hold them."""
    try:
        return array.cast(target)
    except pa.ArrowException:
        pass
    if types.is_decimal(target) or types.is_decimal(array.type) or types.is_fixed_size_binary(target):
        return pa.array([_or_none(v, target) for v in array], target)
    cast = array.cast(target, safe=False)
    same = pc.equal(cast.cast(array.type, safe=False), array)
    return pc.if_else(pc.fill_null(same, False), cast, pa.scalar(None, target))


def _or_none(value: Any, target: Any) -> Any:
    try:
        return value.cast(target).as_py()
    except pa.ArrowException:
        return None
