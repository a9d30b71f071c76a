"""The compiled interpreter of a program: one function for every schema, kept on disk once compiled.

Laws: no byte is read at or beyond the end of its buffer, none taken from beyond the end of its block, and none written
beyond a slot's capacity; every list count is checked against the bytes left. On damage it stops, and the reference
decoder words the error; when a slot is full it stops before the op that needs room, and goes on with that op once the
caller has made some. Slots directly inside the same record or list have room for the same number of items.

Everything is an address and a number: one signature serves every schema, so that it compiles once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from skipstone.metadata.avro.machine_bytes import (
    BAD,
    copy,
    get_8,
    get_64,
    inlined,
    inner,
    length,
    list_head,
    place_of,
    put_8,
    put_32,
    put_64,
    short_varint,
    skip_varint,
    varint,
)  # fmt: skip

# Changes with machine_bytes.py, so that a copy compiled from an older one is not used.
BYTES_STAMP: Final = "21b37c57"
# Columns of the slot table, as byte offsets in a row. ITEMS counts the items so far, FILLED their bytes or list items,
# FILLED_KEPT what FILLED was before an op that may have to start again.
KIND, WIDTH, NULLABLE, VALUES, VALID, OFFSETS, DATA = range(0, 56, 8)
ITEMS_MAX, DATA_MAX, ITEMS, FILLED, FILLED_KEPT = range(56, 96, 8)
SLOT_BYTES: Final = 128
CODE_BYTES: Final = 48
# What `run` returns.
DONE, DAMAGED, LEFT_OVER, FULL = range(4)
# Its state: where it stands (block, record and where that starts; op, position and list depth inside it; op 0 between
# records), and which slot is full, of items or of data, with how much it needs.
BLOCK, RECORD, AT, OP, POSITION, DEPTH, FULL_SLOT, FULL_OF_DATA, FULL_NEED = range(9)
STATE_SIZE: Final = 9

_FULL: Final = -2  # a position below zero: a slot is full
_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1

# Ops and slot kinds as in `schema_program`, spelled out because the compiler freezes globals (a test compares them).
LONG, INT, BOOLEAN, FIXED, BYTES, ENUM, DECIMAL, NULL, OPEN_STRUCT, FILL, JUMP = range(11)
OPEN_LIST, CLOSE_LIST, COUNTS, BOUNDS, SKIP_VARINTS, SKIP_BYTES, SKIP_FIXED = range(11, 18)
SKIP_OPTIONAL, SKIP_LIST, SKIP_LIST_CLOSE = range(18, 21)
KIND_VALUES, KIND_BYTES, KIND_LIST, KIND_STRUCT = range(4)


@inner
def _full(state: Any, slot: Any, of_data: Any, need: Any) -> Any:
    put_64(state + 8 * FULL_SLOT, slot)
    put_64(state + 8 * FULL_OF_DATA, of_data)
    put_64(state + 8 * FULL_NEED, need)
    return np.int64(_FULL)


@inner
def _suspend(state: Any, row: Any, p: Any, depth: Any) -> Any:
    """Stop before an op for want of room."""
    put_64(state + 8 * OP, row)
    put_64(state + 8 * POSITION, p)
    put_64(state + 8 * DEPTH, depth)
    return np.int64(_FULL)


@inner
def _start_again(first: Any, id_count: Any) -> Any:
    """Take back what a map of bounds has written."""
    for slot in range(first, first + SLOT_BYTES * id_count, SLOT_BYTES):
        put_64(slot + ITEMS, get_64(slot + ITEMS) - 1)
        put_64(slot + FILLED, get_64(slot + FILLED_KEPT))
    return np.int64(_FULL)


@inlined
def _append_bytes(base: Any, p: Any, size: Any, readable: Any, slot: Any, state: Any) -> Any:
    """`size` bytes at `p` go to the data of a slot; the next position, or -2."""
    at = get_64(slot + FILLED)
    room = get_64(slot + DATA_MAX) - at
    if size > room:
        return _full(state, slot, 1, at + size)
    to = get_64(slot + DATA) + at
    if size <= 16 and room >= 16 and p + 16 <= readable:
        put_64(to, get_64(base + p))
        put_64(to + 8, get_64(base + p + 8))
    else:
        copy(to, base + p, size)
    put_64(slot + FILLED, at + size)
    return p + size


@inner
def _blank(slot: Any, state: Any) -> Any:
    """One null (or zero) item; 0, or -2."""
    item = get_64(slot + ITEMS)
    if item >= get_64(slot + ITEMS_MAX):
        return _full(state, slot, 0, item + 1)
    kind = get_64(slot + KIND)
    if kind == KIND_VALUES:
        width = get_64(slot + WIDTH)
        to = get_64(slot + VALUES) + item * width
        if width == 8:
            put_64(to, 0)
        else:
            for i in range(width):
                put_8(to + i, np.uint8(0))
    elif kind != KIND_STRUCT:
        put_32(get_64(slot + OFFSETS) + 4 * (item + 1), np.int32(get_64(slot + FILLED)))
    if get_64(slot + NULLABLE) != 0:
        put_8(get_64(slot + VALID) + item, np.uint8(0))
    put_64(slot + ITEMS, item + 1)
    return np.int64(0)


@inner
def _counts(
    base: Any, p: Any, end: Any, readable: Any, first: Any, min_bytes: Any, ids: Any, id_count: Any,
    places: Any, place_count: Any, state: Any,
) -> Any:  # fmt: skip
    """A whole map from field id to long. Each wished slot gets one item, null unless its id is found."""
    for i in range(id_count):
        if _blank(first + SLOT_BYTES * i, state) < 0:
            return np.int64(_FULL)
    while True:
        count, limit, p = list_head(base, p, end, min_bytes)
        if p < 0:
            return p
        for _ in range(count):
            key, p = short_varint(base, p, end)
            if p < 0 or key < _INT_MIN or key > _INT_MAX:
                return np.int64(BAD)
            place = place_of(key, ids, id_count, places, place_count)
            if place < 0:
                p = skip_varint(base, p, end, readable)
                if p < 0:
                    return p
            else:
                value, p = varint(base, p, end, readable)
                slot = first + SLOT_BYTES * place
                item = get_64(slot + ITEMS) - 1
                mark = get_64(slot + VALID) + item
                if p < 0 or get_8(mark) != np.uint8(0):
                    return np.int64(BAD)
                put_64(get_64(slot + VALUES) + 8 * item, value)
                put_8(mark, np.uint8(1))
        if limit >= 0 and p != limit:
            return np.int64(BAD)
        if count == 0:
            return p


@inner
def _bounds(
    base: Any, p: Any, end: Any, readable: Any, first: Any, min_bytes: Any, ids: Any, id_count: Any,
    places: Any, place_count: Any, state: Any,
) -> Any:  # fmt: skip
    """The same for a map from field id to bytes."""
    for slot in range(first, first + SLOT_BYTES * id_count, SLOT_BYTES):
        if _blank(slot, state) < 0:
            return np.int64(_FULL)
        put_64(slot + FILLED_KEPT, get_64(slot + FILLED))
    while True:
        count, limit, p = list_head(base, p, end, min_bytes)
        if p < 0:
            return p
        for _ in range(count):
            key, p = short_varint(base, p, end)
            if p < 0 or key < _INT_MIN or key > _INT_MAX:
                return np.int64(BAD)
            size, p = length(base, p, end)
            if p < 0:
                return p
            place = place_of(key, ids, id_count, places, place_count)
            if place < 0:
                p += size
            else:
                slot = first + SLOT_BYTES * place
                item = get_64(slot + ITEMS) - 1
                mark = get_64(slot + VALID) + item
                if get_8(mark) != np.uint8(0):
                    return np.int64(BAD)
                p = _append_bytes(base, p, size, readable, slot, state)
                if p < 0:
                    return _start_again(first, id_count)
                put_32(get_64(slot + OFFSETS) + 4 * (item + 1), np.int32(get_64(slot + FILLED)))
                put_8(mark, np.uint8(1))
        if limit >= 0 and p != limit:
            return np.int64(BAD)
        if count == 0:
            return p


@inner
def _decimal(base: Any, p: Any, size: Any, to: Any) -> Any:
    """Big-endian two's complement to 16 bytes little-endian; false when it does not fit."""
    sign = np.uint8(0)
    if size > 0 and get_8(base + p) >= np.uint8(0x80):
        sign = np.uint8(0xFF)
    while size > 16:
        if get_8(base + p) != sign:
            return False
        p += 1
        size -= 1
    for i in range(16):
        if i < size:
            put_8(to + i, get_8(base + p + size - 1 - i))
        else:
            put_8(to + i, sign)
    return (get_8(to + 15) >= np.uint8(0x80)) == (sign != np.uint8(0))


@inner
def _scalar(op: Any, arg: Any, base: Any, p: Any, end: Any, values: Any, item: Any) -> Any:
    """The rarer values; the next position, or -1."""
    if op == FIXED:
        if end - p < arg:
            return np.int64(BAD)
        copy(values + arg * item, base + p, arg)
        return p + arg
    if op == BOOLEAN:
        if p >= end or get_8(base + p) > np.uint8(1):
            return np.int64(BAD)
        put_8(values + item, get_8(base + p))
        return p + 1
    if op == ENUM:
        value, p = short_varint(base, p, end)
        if p < 0 or value < 0 or value >= arg:
            return np.int64(BAD)
        put_32(values + 4 * item, np.int32(value))
        return p
    size = arg
    if size == 0:
        size, p = length(base, p, end)
        if p < 0:
            return p
    if end - p < size or not _decimal(base, p, size, values + 16 * item):
        return np.int64(BAD)
    return p + size


@inner
def _record(
    base: Any, p: Any, end: Any, readable: Any, code: Any, row_count: Any, table: Any, ids: Any, id_count: Any,
    places: Any, place_count: Any, stack: Any, row: Any, depth: Any, state: Any,
) -> Any:  # fmt: skip
    """One record from op `row` on; the position after it, or a negative one.

    `stack` holds the items left and the limit of each open list; `depth` is where its top is.
    """
    code_end = code + CODE_BYTES * row_count
    while row < code_end:
        op_row = row
        op_p = p
        op = get_64(row)
        slot = table + SLOT_BYTES * get_64(row + 8)
        arg = get_64(row + 16)
        null = get_64(row + 24)
        jump = code + CODE_BYTES * get_64(row + 32)
        min_bytes = get_64(row + 40)
        row += CODE_BYTES
        is_null = False
        if null != -2:
            index, p = short_varint(base, p, end)
            if p < 0:
                return p
            if index < 0 or index > 1 or (index == 1 and (null < 0 or op == NULL)):
                return np.int64(BAD)
            is_null = index == null
        if op == SKIP_VARINTS:
            for _ in range(arg):
                p = skip_varint(base, p, end, readable)
                if p < 0:
                    return p
        elif op == SKIP_BYTES:
            size, p = length(base, p, end)
            if p < 0:
                return p
            p += size
        elif op == SKIP_FIXED:
            if end - p < arg:
                return np.int64(BAD)
            p += arg
        elif op == SKIP_OPTIONAL:
            if is_null:
                row = jump
        elif op == SKIP_LIST or (op == OPEN_LIST and not is_null):
            item = np.int64(0)
            if op == OPEN_LIST:
                item = get_64(slot + ITEMS)
                if item >= get_64(slot + ITEMS_MAX):
                    _full(state, slot, 0, item + 1)
                    return _suspend(state, op_row, op_p, depth)
            count, limit, p = list_head(base, p, end, min_bytes)
            if p < 0:
                return p
            if op == OPEN_LIST:
                filled = get_64(slot + FILLED) + count
                put_64(slot + FILLED, filled)
                put_64(slot + ITEMS, item + 1)
                put_32(get_64(slot + OFFSETS) + 4 * (item + 1), np.int32(filled))
                if get_64(slot + NULLABLE) != 0:
                    put_8(get_64(slot + VALID) + item, np.uint8(1))
            if count == 0:
                if limit >= 0 and p != limit:
                    return np.int64(BAD)
                row = jump
            else:
                depth += 16
                put_64(stack + depth, count)
                put_64(stack + depth + 8, limit)
        elif op in (CLOSE_LIST, SKIP_LIST_CLOSE):
            left = get_64(stack + depth) - 1
            if left == 0:
                limit = get_64(stack + depth + 8)
                if limit >= 0 and p != limit:
                    return np.int64(BAD)
                left, limit, p = list_head(base, p, end, min_bytes)
                if p < 0:
                    return p
                if left == 0:
                    if limit >= 0 and p != limit:
                        return np.int64(BAD)
                    depth -= 16
                    continue
                put_64(stack + depth + 8, limit)
                if op == CLOSE_LIST:
                    filled = get_64(slot + FILLED) + left
                    put_64(slot + FILLED, filled)
                    put_32(get_64(slot + OFFSETS) + 4 * get_64(slot + ITEMS), np.int32(filled))
            put_64(stack + depth, left)
            row = code + CODE_BYTES * (arg + 1)
        elif op in (COUNTS, BOUNDS):
            if is_null:
                for i in range(arg):
                    if _blank(slot + SLOT_BYTES * i, state) < 0:
                        return _suspend(state, op_row, op_p, depth)
            elif op == COUNTS:
                p = _counts(base, p, end, readable, slot, min_bytes, ids, id_count, places, place_count, state)
            else:
                p = _bounds(base, p, end, readable, slot, min_bytes, ids, id_count, places, place_count, state)
            if p == _FULL:
                return _suspend(state, op_row, op_p, depth)
            if p < 0:
                return p
        elif op == JUMP:
            row = jump
        elif op == NULL:
            pass
        elif is_null or op == FILL:
            if _blank(slot, state) < 0:
                return _suspend(state, op_row, op_p, depth)
            if op in (OPEN_STRUCT, OPEN_LIST):
                row = jump
        else:
            item = get_64(slot + ITEMS)
            if item >= get_64(slot + ITEMS_MAX):
                _full(state, slot, 0, item + 1)
                return _suspend(state, op_row, op_p, depth)
            if get_64(slot + NULLABLE) != 0:
                put_8(get_64(slot + VALID) + item, np.uint8(1))
            put_64(slot + ITEMS, item + 1)
            if op == LONG:
                value, p = varint(base, p, end, readable)
                put_64(get_64(slot + VALUES) + 8 * item, value)
            elif op == INT:
                value, p = short_varint(base, p, end)
                if value < _INT_MIN or value > _INT_MAX:
                    return np.int64(BAD)
                put_32(get_64(slot + VALUES) + 4 * item, np.int32(value))
            elif op == BYTES:
                size, p = length(base, p, end)
                if p < 0:
                    return p
                p = _append_bytes(base, p, size, readable, slot, state)
                if p < 0:
                    put_64(slot + ITEMS, item)
                    return _suspend(state, op_row, op_p, depth)
                put_32(get_64(slot + OFFSETS) + 4 * (item + 1), np.int32(get_64(slot + FILLED)))
            elif op != OPEN_STRUCT:
                p = _scalar(op, arg, base, p, end, get_64(slot + VALUES), item)
            if p < 0:
                return p
    return p


def _kept_on_disk(function: Any) -> Any:
    """Compiled once for all processes; where no folder can be written to, once for each."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)


@_kept_on_disk
def run(
    base: Any, ends: Any, record_counts: Any, block_count: Any, code: Any, row_count: Any, table: Any,
    ids: Any, id_count: Any, places: Any, place_count: Any, stack: Any, state: Any,
) -> Any:  # fmt: skip
    """All records of the blocks that lie one behind the other from `base`, from where `state` stands."""
    readable = get_64(ends + 8 * (block_count - 1))
    block = get_64(state + 8 * BLOCK)
    record = get_64(state + 8 * RECORD)
    p = get_64(state + 8 * AT)
    status = np.int64(DONE)
    while block < block_count:
        end = get_64(ends + 8 * block)
        record_count = get_64(record_counts + 8 * block)
        while record < record_count:
            row, at, depth = code, p, np.int64(-16)
            if get_64(state + 8 * OP) != 0:
                row, at, depth = get_64(state + 8 * OP), get_64(state + 8 * POSITION), get_64(state + 8 * DEPTH)
                put_64(state + 8 * OP, 0)
            after = _record(
                base, at, end, readable, code, row_count, table, ids, id_count, places, place_count, stack, row, depth,
                state,
            )  # fmt: skip
            if after < 0:
                status = np.int64(FULL if after == _FULL else DAMAGED)
                break
            p = after
            record += 1
        if status == DONE and p != end:
            status = np.int64(LEFT_OVER)
        if status != DONE:
            break
        block += 1
        record = np.int64(0)
    put_64(state + 8 * BLOCK, block)
    put_64(state + 8 * RECORD, record)
    put_64(state + 8 * AT, p)
    return status
