"""The compiled encoder: nodes to Avro bytes, a whole column at a time.

Two passes. The first measures every value, which gives each row its place in the output; the second writes each column
into those places. Nothing is written past what was measured. Importing this module imports Numba, which takes a
moment: `encode` does it only for tables worth it. Equal to `encode_python` byte for byte.

Avro: "Binary encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, assert_never

import numba as nb
import numpy as np
import numpy.typing as npt

from skipstone.metadata.avro.encode_columns import (
    ArrayNode,
    BytesNode,
    Node,
    NullNode,
    OptionalNode,
    RawNode,
    RecordNode,
    VarintNode,
)

_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
_Function = TypeVar("_Function", bound=Callable[..., Any])

# Arrow buffers are read-only; the types say so, so that one compiled version serves every caller.
_INTS = nb.types.Array(nb.int64, 1, "C", readonly=True)
_DATA = nb.types.Array(nb.uint8, 1, "C", readonly=True)
_INTS_OUT = nb.types.Array(nb.int64, 1, "C")
_DATA_OUT = nb.types.Array(nb.uint8, 1, "C")


def encode_rows(node: Node) -> tuple[_Bytes, _Ints]:
    """All elements one after another, and where each one ends."""
    measured = _Measured(node)
    ends = np.cumsum(measured.sizes)
    total = int(ends[-1]) if len(ends) else 0
    out = np.zeros(total, dtype=np.uint8)
    measured.fill(ends - measured.sizes, out)
    return out, ends


class _Measured:
    """A node with the encoded size of each of its elements."""

    __slots__ = ("children", "node", "sizes")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.children: tuple[_Measured, ...] = ()
        match node:
            case NullNode():
                self.sizes: _Ints = np.zeros(node.length, dtype=np.int64)
            case VarintNode():
                self.sizes = _measure_varints(node.values)
            case RawNode():
                self.sizes = np.full(node.length, node.width, dtype=np.int64)
            case BytesNode():
                self.sizes = _measure_bytes(node.offsets)
            case OptionalNode():
                self.sizes = np.ones(node.length, dtype=np.int64)
                if node.child is not None:
                    child = _Measured(node.child)
                    self.children = (child,)
                    if node.valid is None:
                        self.sizes += child.sizes
                    else:
                        self.sizes[node.valid] += child.sizes
            case RecordNode():
                self.children = tuple(_Measured(child) for child in node.children)
                self.sizes = np.zeros(node.length, dtype=np.int64)
                for child in self.children:
                    self.sizes += child.sizes
            case ArrayNode():
                self.children = (_Measured(node.child),)
                self.sizes = _measure_items(node.offsets, self.children[0].sizes)
            case _:
                assert_never(node)

    def fill(self, places: _Ints, out: _Bytes) -> None:
        """Write every element, the i-th one from places[i] on."""
        node = self.node
        match node:
            case NullNode():
                pass
            case VarintNode():
                _fill_varints(node.values, places, out)
            case RawNode():
                _fill_raw(node.data, node.width, places, out)
            case BytesNode():
                _fill_bytes(node.offsets, node.data, places, out)
            case OptionalNode():
                # Union branches 0 and 1 are written as 0 and 2.
                null, tag = 2 * node.null_tag, 2 * (1 - node.null_tag)
                out[places] = tag if node.valid is None else np.where(node.valid, tag, null)
                for child in self.children:
                    child.fill((places if node.valid is None else places[node.valid]) + 1, out)
            case RecordNode():
                places = places.copy()
                for child in self.children:
                    child.fill(places, out)
                    places += child.sizes
            case ArrayNode():
                (items,) = self.children
                items.fill(_fill_counts(node.offsets, items.sizes, places, out), out)
            case _:
                assert_never(node)


def _njit(signature: Any) -> Callable[[_Function], _Function]:
    compiled: Callable[[_Function], _Function] = nb.njit(signature, cache=True, nogil=True)
    return compiled


@_njit(nb.int64(nb.int64))
def _varint_size(value: int) -> int:
    rest = np.uint64((value << 1) ^ (value >> 63))
    size = 1
    while rest >= np.uint64(128):
        rest >>= np.uint64(7)
        size += 1
    return size


@_njit(nb.int64(nb.int64, nb.int64, _DATA_OUT))
def _put_varint(value: int, place: int, out: _Bytes) -> int:
    rest = np.uint64((value << 1) ^ (value >> 63))
    while rest >= np.uint64(128):
        out[place] = (rest & np.uint64(127)) | np.uint64(128)
        rest >>= np.uint64(7)
        place += 1
    out[place] = rest
    return place + 1


@_njit(_INTS_OUT(_INTS))
def _measure_varints(values: _Ints) -> _Ints:
    sizes = np.empty(len(values), dtype=np.int64)
    for i in range(len(values)):
        sizes[i] = _varint_size(values[i])
    return sizes


@_njit(nb.void(_INTS, _INTS, _DATA_OUT))
def _fill_varints(values: _Ints, places: _Ints, out: _Bytes) -> None:
    for i in range(len(values)):
        _put_varint(values[i], places[i], out)


@_njit(_INTS_OUT(_INTS))
def _measure_bytes(offsets: _Ints) -> _Ints:
    sizes = np.empty(len(offsets) - 1, dtype=np.int64)
    for i in range(len(sizes)):
        length = offsets[i + 1] - offsets[i]
        sizes[i] = length + _varint_size(length)
    return sizes


@_njit(nb.void(_INTS, _DATA, _INTS, _DATA_OUT))
def _fill_bytes(offsets: _Ints, data: _Bytes, places: _Ints, out: _Bytes) -> None:
    for i in range(len(places)):
        start = offsets[i]
        length = offsets[i + 1] - start
        place = _put_varint(length, places[i], out)
        for j in range(length):
            out[place + j] = data[start + j]


@_njit(nb.void(_DATA, nb.int64, _INTS, _DATA_OUT))
def _fill_raw(data: _Bytes, width: int, places: _Ints, out: _Bytes) -> None:
    for i in range(len(places)):
        for j in range(width):
            out[places[i] + j] = data[i * width + j]


@_njit(_INTS_OUT(_INTS, _INTS))
def _measure_items(offsets: _Ints, item_sizes: _Ints) -> _Ints:
    sizes = np.empty(len(offsets) - 1, dtype=np.int64)
    for i in range(len(sizes)):
        count = offsets[i + 1] - offsets[i]
        # Items come in one block with its count in front; a zero count ends the array.
        size = 1 if count == 0 else 1 + _varint_size(count)
        for j in range(offsets[i], offsets[i + 1]):
            size += item_sizes[j]
        sizes[i] = size
    return sizes


@_njit(_INTS_OUT(_INTS, _INTS, _INTS, _DATA_OUT))
def _fill_counts(offsets: _Ints, item_sizes: _Ints, places: _Ints, out: _Bytes) -> _Ints:
    """Write the counts and end markers; return where each item goes."""
    item_places = np.empty(len(item_sizes), dtype=np.int64)
    for i in range(len(places)):
        count = offsets[i + 1] - offsets[i]
        place = places[i]
        if count > 0:
            place = _put_varint(count, place, out)
            for j in range(offsets[i], offsets[i + 1]):
                item_places[j] = place
                place += item_sizes[j]
        out[place] = 0
    return item_places
