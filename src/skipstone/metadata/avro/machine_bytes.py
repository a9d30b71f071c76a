"""How the compiled machine reads and writes memory: loads, stores, varints, list heads, wished ids.

Law: a varint is read only within its block, and eight bytes at once only within the buffer; a list count is believed
only as far as the bytes left could hold it.

Numba keeps `machine.run` on disk and watches `machine.py` alone: a change here must change `BYTES_STAMP` there, and a
test sees to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

BAD: Final = -1  # a position below zero: damage

Function: TypeAlias = Callable[..., Any]

# Only `machine.run` is called from Python and kept on disk; the rest is compiled into it.
inner: Callable[[Function], Function] = cast("Any", njit)(no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined: Callable[[Function], Function] = cast("Any", njit)(
    no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True
)


def _store(llvm: Any, numba_type: Any) -> Any:
    def typer(context: Any, address: Any, value: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address, value = arguments
            builder.store(value, builder.inttoptr(address, llvm.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, numba_type), build

    return intrinsic(typer)


def _load(llvm: Any, numba_type: Any) -> Any:
    def typer(context: Any, address: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], llvm.as_pointer()), align=1)

        return numba_type(types.int64), build

    return intrinsic(typer)


put_8 = _store(ir.IntType(8), types.uint8)
put_32 = _store(ir.IntType(32), types.int32)
put_64 = _store(ir.IntType(64), types.int64)
get_8 = _load(ir.IntType(8), types.uint8)
get_64 = _load(ir.IntType(64), types.int64)
get_word = _load(ir.IntType(64), types.uint64)


def _copy_typer(context: Any, to: Any, source: Any, size: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, source, size = arguments
        byte = ir.IntType(8).as_pointer()
        cast("Any", cgutils.raw_memcpy)(builder, builder.inttoptr(to, byte), builder.inttoptr(source, byte), size, 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), build


copy: Any = intrinsic(_copy_typer)


def _trailing_zeros_typer(context: Any, word: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), build


_trailing_zeros: Any = intrinsic(_trailing_zeros_typer)


@inner
def _slow_varint(base: Any, p: Any, end: Any) -> Any:
    """Byte by byte: at the end of the buffer, and for more than eight bytes."""
    raw = np.uint64(0)
    shift = np.uint64(0)
    for _ in range(10):
        if p >= end:
            return np.int64(0), np.int64(BAD)
        byte = np.uint64(get_8(base + p))
        p += 1
        raw |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            if shift == np.uint64(63) and byte > np.uint64(1):
                return np.int64(0), np.int64(BAD)
            return np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1)), p
        shift += np.uint64(7)
    return np.int64(0), np.int64(BAD)


@inlined
def varint(base: Any, p: Any, end: Any, readable: Any) -> Any:
    """Value and next position; position -1 on damage. Eight bytes are looked at together."""
    if p + 8 <= readable:
        word = get_word(base + p)
        stops = ~word & np.uint64(0x8080808080808080)
        if stops != np.uint64(0):
            stop = _trailing_zeros(stops)
            after = p + np.int64(stop >> np.uint64(3)) + 1
            if after > end:
                return np.int64(0), np.int64(BAD)
            word &= (np.uint64(2) << stop) - np.uint64(1)
            word = (word & np.uint64(0x007F007F007F007F)) | ((word & np.uint64(0x7F007F007F007F00)) >> np.uint64(1))
            word = (word & np.uint64(0x00003FFF00003FFF)) | ((word & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
            word = (word & np.uint64(0x000000000FFFFFFF)) | ((word & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))
            return np.int64(word >> np.uint64(1)) ^ -np.int64(word & np.uint64(1)), after
    return _slow_varint(base, p, end)


@inlined
def skip_varint(base: Any, p: Any, end: Any, readable: Any) -> Any:
    if p + 8 <= readable:
        stops = ~get_word(base + p) & np.uint64(0x8080808080808080)
        if stops != np.uint64(0):
            after = p + np.int64(_trailing_zeros(stops) >> np.uint64(3)) + 1
            return after if after <= end else np.int64(BAD)
    return _slow_varint(base, p, end)[1]


@inlined
def short_varint(base: Any, p: Any, end: Any) -> Any:
    """For field ids, lengths and counts, which mostly take one byte."""
    if p < end:
        byte = np.int64(get_8(base + p))
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), p + 1
    return _slow_varint(base, p, end)


@inlined
def length(base: Any, p: Any, end: Any) -> Any:
    size, p = short_varint(base, p, end)
    if p < 0 or size < 0 or size > end - p:
        return np.int64(0), np.int64(BAD)
    return size, p


@inner
def _sized_list_head(base: Any, p: Any, end: Any, count: Any, min_bytes: Any) -> Any:
    """A negative count comes with the block's size in bytes."""
    size, p = short_varint(base, p, end)
    # The most negative count has no positive counterpart.
    if p < 0 or size < 0 or size > end - p or -count < 0 or -count > (end - p) // min_bytes:
        return np.int64(0), np.int64(-1), np.int64(BAD)
    return -count, p + size, p


@inlined
def list_head(base: Any, p: Any, end: Any, min_bytes: Any) -> Any:
    """Count, limit (-1: unsaid) and next position of a list block."""
    count, p = short_varint(base, p, end)
    if p < 0:
        return np.int64(0), np.int64(-1), p
    if count < 0:
        return _sized_list_head(base, p, end, count, min_bytes)
    # Every item takes a byte at least; the division is only needed for counts that come near.
    if count > end - p or (count > 64 and count > (end - p) // min_bytes):
        return np.int64(0), np.int64(-1), np.int64(BAD)
    return count, np.int64(-1), p


@inner
def _search(key: Any, ids: Any, id_count: Any) -> Any:
    low = np.int64(0)
    high = id_count
    while low < high:
        middle = (low + high) // 2
        if get_64(ids + 8 * middle) < key:
            low = middle + 1
        else:
            high = middle
    if low < id_count and get_64(ids + 8 * low) == key:
        return low
    return np.int64(-1)


@inlined
def place_of(key: Any, ids: Any, id_count: Any, places: Any, place_count: Any) -> Any:
    """The place of a wished id, or -1: by table where ids are small, else by search."""
    if place_count > 0:
        return get_64(places + 8 * key) if 0 <= key < place_count else np.int64(-1)
    return _search(key, ids, id_count)
