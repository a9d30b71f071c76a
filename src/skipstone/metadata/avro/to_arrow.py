"""Slots become Arrow arrays, without copying their buffers.

Law: what leaves here has passed Arrow's full validation where bytes could break it (UTF-8, decimal precision).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skipstone.metadata.avro.schema_program import (
    ChildPlan,
    KeysPlan,
    LeafPlan,
    ListPlan,
    MapPlan,
    Plan,
    StructPlan,
)
from skipstone.metadata.avro.slots import Decoded, Slot
from skipstone.metadata.avro.varint import Damage


class BadValue(Damage):
    """A value that Arrow refuses, with the top-level column and row it was found in."""

    def __init__(self, path: str, row: int, text: str) -> None:
        super().__init__(text)
        self.path = path
        self.row = row


def to_arrays(plan: StructPlan, decoded: Decoded) -> dict[str, pa.Array[Any]]:
    """The top-level columns by name."""
    return {c.name: build(c.plan, decoded, decoded.record_count, c.name) for c in plan.children}


def to_table(plan: StructPlan, decoded: Decoded) -> pa.Table:
    arrays = to_arrays(plan, decoded)
    fields = [_field(c, arrays[c.name].type) for c in plan.children]
    if not fields:
        return pa.table({}).select([])
    return pa.Table.from_arrays(list(arrays.values()), schema=pa.schema(fields))


def build(plan: Plan, decoded: Decoded, length: int, path: str) -> pa.Array[Any]:
    """The Arrow array of one plan node."""
    match plan:
        case LeafPlan(slot=-1):
            return pa.nulls(length)
        case LeafPlan():
            return _leaf(plan, decoded.slots[plan.slot], length, path)
        case StructPlan():
            slot = decoded.slots[plan.slot] if plan.slot >= 0 else None
            return _struct(plan, decoded, slot, length, path)
        case ListPlan():
            return _list(plan, decoded, length, path)
        case MapPlan():
            return _map(plan, decoded, length, path)
        case KeysPlan():
            return _keys(plan, decoded, length, path)


def _leaf(plan: LeafPlan, slot: Slot, length: int, path: str) -> pa.Array[Any]:
    nulls, validity = _validity(slot.valid)
    if plan.symbols:
        indices = pa.Array.from_buffers(pa.int32(), length, [validity, _buffer(slot.values)], nulls)
        return pa.array(plan.symbols, pa.string()).take(indices)
    if pa.types.is_boolean(plan.arrow):
        assert slot.values is not None
        return pa.Array.from_buffers(plan.arrow, length, [validity, _bits(slot.values)], nulls)
    if slot.offsets is not None:
        array = pa.Array.from_buffers(plan.arrow, length, [validity, _buffer(slot.offsets), _buffer(slot.data)], nulls)
    else:
        array = pa.Array.from_buffers(plan.arrow, length, [validity, _buffer(slot.values)], nulls)
    if pa.types.is_string(plan.arrow) or pa.types.is_decimal(plan.arrow):
        _check(array, path)
    return array


def _check(array: pa.Array[Any], path: str) -> None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        row = _first_bad(array)
        if pa.types.is_string(array.type):
            got = array.slice(row, 1).cast(pa.binary())[0].as_py()
            raise BadValue(path, row, f"expected UTF-8, got {got[:40]!r}") from None
        raise BadValue(path, row, f"expected a value that fits {array.type}, got a larger one") from None


def _first_bad(array: pa.Array[Any]) -> int:
    """The first row that does not pass, by halving."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            array.slice(low, middle - low).validate(full=True)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low


def _struct(plan: StructPlan, decoded: Decoded, slot: Slot | None, length: int, path: str) -> pa.Array[Any]:
    children = [build(c.plan, decoded, length, f"{path}.{c.name}") for c in plan.children]
    fields = [_field(c, a.type) for c, a in zip(plan.children, children)]
    nulls, validity = _validity(slot.valid if slot is not None else None)
    return pa.Array.from_buffers(pa.struct(fields), length, [validity], nulls, children=children)


def _list(plan: ListPlan, decoded: Decoded, length: int, path: str) -> pa.Array[Any]:
    slot = decoded.slots[plan.slot]
    assert slot.offsets is not None
    item = _inside(plan.item.plan, decoded, slot.offsets, path)
    nulls, validity = _validity(slot.valid)
    type_ = pa.list_(_field(plan.item, item.type))
    return pa.Array.from_buffers(type_, length, [validity, _buffer(slot.offsets)], nulls, children=[item])


def _map(plan: MapPlan, decoded: Decoded, length: int, path: str) -> pa.Array[Any]:
    slot = decoded.slots[plan.slot]
    assert slot.offsets is not None
    key = _inside(plan.key.plan, decoded, slot.offsets, path)
    value = _inside(plan.value.plan, decoded, slot.offsets, path)
    if key.null_count:
        raise BadValue(path, 0, "expected map keys that are not null, got a null key")
    key_field = _field(plan.key, key.type).with_nullable(False).with_name("key")
    type_: Any = pa.map_(key_field, _field(plan.value, value.type).with_name("value"))
    entries = pa.StructArray.from_arrays([key, value], fields=[type_.key_field, type_.item_field])
    nulls, validity = _validity(slot.valid)
    return pa.Array.from_buffers(type_, length, [validity, _buffer(slot.offsets)], nulls, children=[entries])


def _inside(plan: Plan, decoded: Decoded, offsets: npt.NDArray[np.int32], path: str) -> pa.Array[Any]:
    """The items of a list; a bad one is told by the row of its list."""
    try:
        return build(plan, decoded, int(offsets[-1]), path)
    except BadValue as bad:
        raise BadValue(bad.path, int(np.searchsorted(offsets, bad.row, side="right")) - 1, str(bad)) from None


def _keys(plan: KeysPlan, decoded: Decoded, length: int, path: str) -> pa.Array[Any]:
    children = [
        _leaf(LeafPlan(slot=plan.slot + i, arrow=plan.arrow), decoded.slots[plan.slot + i], length, f"{path}[{key}]")
        for i, key in enumerate(plan.ids)
    ]
    fields = [pa.field(str(key), plan.arrow) for key in plan.ids]
    return pa.Array.from_buffers(pa.struct(fields), length, [None], 0, children=children)


def _field(child: ChildPlan, type_: pa.DataType) -> pa.Field[Any]:
    nullable = child.plan.nullable
    return pa.field(child.name, type_, nullable=nullable, metadata=dict(child.metadata) or None)


def _validity(valid: npt.NDArray[np.uint8] | None) -> tuple[int, pa.Buffer | None]:
    if valid is None:
        return 0, None
    nulls = len(valid) - int(np.count_nonzero(valid))
    return nulls, _bits(valid) if nulls else None


def _bits(flags: npt.NDArray[np.uint8]) -> pa.Buffer:
    return _buffer(np.packbits(flags, bitorder="little"))


def _buffer(array: npt.NDArray[Any] | None) -> pa.Buffer:
    return pa.py_buffer(cast("Any", array))
