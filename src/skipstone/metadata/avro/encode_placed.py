"""Nodes to Avro bytes, a whole column at a time.

Two passes. The first measures every value, which gives each row its place in the output; the second writes each column
into those places. Nothing is written past what was measured. The loops are `Kernels`: in NumPy for tables of hundreds
of rows, compiled for more. Equal to `encode_python` byte for byte.

Avro: "Binary encoding".
"""

from __future__ import annotations

from typing import Protocol, assert_never

import numpy as np

from skipstone.metadata.avro.encode_columns import (
    ArrayNode,
    BytesNode,
    Ints,
    Node,
    NullNode,
    OptionalNode,
    RawBytes,
    RawNode,
    RecordNode,
    VarintNode,
)


class Kernels(Protocol):
    """What is done for each value. `places` says where each value begins in `out`, which holds zeros."""

    def measure_varints(self, values: Ints, /) -> Ints: ...

    def fill_varints(self, values: Ints, places: Ints, out: RawBytes, /) -> None: ...

    def measure_bytes(self, offsets: Ints, /) -> Ints: ...

    def fill_bytes(self, offsets: Ints, data: RawBytes, places: Ints, out: RawBytes, /) -> None: ...

    def fill_raw(self, data: RawBytes, width: int, places: Ints, out: RawBytes, /) -> None: ...

    def measure_items(self, offsets: Ints, item_sizes: Ints, /) -> Ints:
        """Items come in one block with its count in front; a zero count ends the array."""

    def fill_counts(self, offsets: Ints, item_sizes: Ints, places: Ints, out: RawBytes, /) -> Ints:
        """Write the counts and end markers; return where each item goes."""


def encode_rows(node: Node, kernels: Kernels) -> tuple[RawBytes, Ints]:
    """All elements one after another, and where each one ends."""
    measured = _Measured(node, kernels)
    ends = np.cumsum(measured.sizes)
    total = int(ends[-1]) if len(ends) else 0
    out = np.zeros(total, dtype=np.uint8)
    measured.fill(ends - measured.sizes, out)
    return out, ends


class _Measured:
    """A node with the encoded size of each of its elements."""

    __slots__ = ("children", "kernels", "node", "sizes")

    def __init__(self, node: Node, kernels: Kernels) -> None:
        self.node = node
        self.kernels = kernels
        self.children: tuple[_Measured, ...] = ()
        match node:
            case NullNode():
                self.sizes: Ints = np.zeros(node.length, dtype=np.int64)
            case VarintNode():
                self.sizes = kernels.measure_varints(node.values)
            case RawNode():
                self.sizes = np.full(node.length, node.width, dtype=np.int64)
            case BytesNode():
                self.sizes = kernels.measure_bytes(node.offsets)
            case OptionalNode():
                self.sizes = np.ones(node.length, dtype=np.int64)
                if node.child is not None:
                    child = _Measured(node.child, kernels)
                    self.children = (child,)
                    if node.valid is None:
                        self.sizes += child.sizes
                    else:
                        self.sizes[node.valid] += child.sizes
            case RecordNode():
                self.children = tuple(_Measured(child, kernels) for child in node.children)
                self.sizes = np.zeros(node.length, dtype=np.int64)
                for child in self.children:
                    self.sizes += child.sizes
            case ArrayNode():
                self.children = (_Measured(node.child, kernels),)
                self.sizes = kernels.measure_items(node.offsets, self.children[0].sizes)
            case _:
                assert_never(node)

    def fill(self, places: Ints, out: RawBytes) -> None:
        """Write every element, the i-th one from places[i] on."""
        node = self.node
        match node:
            case NullNode():
                pass
            case VarintNode():
                self.kernels.fill_varints(node.values, places, out)
            case RawNode():
                self.kernels.fill_raw(node.data, node.width, places, out)
            case BytesNode():
                self.kernels.fill_bytes(node.offsets, node.data, places, out)
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
                items.fill(self.kernels.fill_counts(node.offsets, items.sizes, places, out), out)
            case _:
                assert_never(node)
