"""The fast decoder: runs a program with the compiled machine, straight into Arrow's buffers.

Laws: it gives what the reference decoder gives, column by column and error by error. Only a few blocks are inflated at
any time. Buffers are sized from what the first records needed, so that they rarely grow twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from skipstone.metadata.avro import machine
from skipstone.metadata.avro.decode_python import Place, PythonDecoder, check_block, check_decoded, left_over
from skipstone.metadata.avro.schema_program import Program, SlotKind, SlotSpec
from skipstone.metadata.avro.slots import Decoded, Slot

_CHUNK_BYTES: Final = 64 * 1024
_FIRST_ITEMS: Final = 1024
_GROWTH_MAX: Final = 8
_TOLD_BYTES_MAX: Final = 4 * 1024 * 1024
_PLACES_MAX: Final = 1 << 16


class _Buffers:
    """The growing buffers of one slot."""

    __slots__ = ("data", "offsets", "spec", "valid", "values")

    def __init__(self, spec: SlotSpec, items: int) -> None:
        self.spec = spec
        has_offsets = spec.kind in (SlotKind.BYTES, SlotKind.LIST)
        self.valid = np.empty(items if spec.nullable else 0, np.uint8)
        self.values = np.empty(items * spec.width if spec.kind == SlotKind.VALUES else 0, np.uint8)
        self.offsets = np.zeros(items + 1 if has_offsets else 0, np.int32)
        self.data = np.empty(8 * items if spec.kind == SlotKind.BYTES else 0, np.uint8)

    def grow_items(self, items: int) -> None:
        if self.spec.nullable:
            _resize(self.valid, items)
        if self.spec.kind == SlotKind.VALUES:
            _resize(self.values, items * self.spec.width)
        if len(self.offsets):
            _resize(self.offsets, items + 1)

    def addresses(self) -> list[int]:
        return [_address(b) for b in (self.values, self.valid, self.offsets, self.data)]

    def finish(self, items: int, filled: int) -> Slot:
        self.grow_items(items)
        _resize(self.data, filled if self.spec.kind == SlotKind.BYTES else 0)
        kind = self.spec.kind
        return Slot(
            valid=self.valid if self.spec.nullable else None,
            values=self.values if kind == SlotKind.VALUES else None,
            offsets=self.offsets if kind in (SlotKind.BYTES, SlotKind.LIST) else None,
            data=self.data if kind == SlotKind.BYTES else None,
        )


class NumbaDecoder:
    """Decodes chunks of blocks one after another; `finish` gives the columns."""

    def __init__(self, program: Program, record_count: int, decoded_bytes_max: int) -> None:
        self.program = program
        self.decoded_bytes_max = decoded_bytes_max
        self.item_bytes = np.array([spec.item_bytes for spec in program.slots], np.int64)
        self.record_total = record_count
        self.record_count = 0
        self.buffers = [_Buffers(spec, min(record_count, _FIRST_ITEMS)) for spec in program.slots]
        self.table = np.zeros((len(program.slots), machine.SLOT_BYTES // 8), np.int64)
        for slot, spec in enumerate(program.slots):
            self.table[slot, : machine.VALUES // 8] = (spec.kind, spec.width, spec.nullable)
            self._publish(slot, min(record_count, _FIRST_ITEMS))
        self.ids = np.array(program.ids, np.int64)
        self.places = _places(program.ids)
        self.stack = np.zeros((program.list_depth + 1, 2), np.int64)

    def chunk(self, blocks: list[tuple[bytes, int]]) -> None:
        for data, count in blocks:
            check_block(self.program, data, count, self.record_count)
        records = self.record_count + sum(count for _, count in blocks)
        check_decoded(self._list_bytes() + records * self.program.row_bytes, self.decoded_bytes_max)
        joined = blocks[0][0] if len(blocks) == 1 else b"".join(data for data, _ in blocks)
        source = np.frombuffer(joined, np.uint8)  # keeps the bytes alive while the machine reads them
        ends = np.cumsum([len(data) for data, _ in blocks], dtype=np.int64)
        counts = np.array([count for _, count in blocks], np.int64)
        state = np.zeros(machine.STATE_SIZE, np.int64)
        code = self.program.code
        while True:
            status = machine.run(
                _address(source), _address(ends), _address(counts), len(blocks), _address(code), len(code),
                _address(self.table), _address(self.ids), len(self.ids), _address(self.places),
                len(self.places), _address(self.stack), _address(state),
            )  # fmt: skip
            if status == machine.DONE:
                break
            if status != machine.FULL:
                self._tell(status, joined, ends, counts, state)
            self._make_room(counts, state)
        self.record_count += int(counts.sum())

    def finish(self) -> Decoded:
        sizes = self.table[:, [machine.ITEMS // 8, machine.FILLED // 8]].tolist()
        slots = tuple(b.finish(items, filled) for b, (items, filled) in zip(self.buffers, sizes))
        return Decoded(record_count=self.record_count, slots=slots)

    def _make_room(self, counts: npt.NDArray[np.int64], state: npt.NDArray[np.int64]) -> None:
        """Room for what all records will need if the rest is like those so far; at least half as much again."""
        slot = (int(state[machine.FULL_SLOT]) - _address(self.table)) // machine.SLOT_BYTES
        need = int(state[machine.FULL_NEED])
        done = self.record_count + int(counts[: state[machine.BLOCK]].sum() + state[machine.RECORD]) + 1
        expected = need * self.record_total // done + 64 if done >= _FIRST_ITEMS // 2 else 0
        expected = min(expected, need * _GROWTH_MAX)  # the total is what the file claims, not what it holds
        if state[machine.FULL_OF_DATA]:
            check_decoded(need, self.decoded_bytes_max)
            data = self.buffers[slot].data
            _resize(data, max(need + 16, expected, len(data) * 3 // 2))
            self._publish(slot, int(self.table[slot, machine.ITEMS_MAX // 8]))
            return
        check_decoded(max(self._list_bytes(), need * self.program.slots[slot].own_bytes), self.decoded_bytes_max)
        parent = self.program.slots[slot].parent
        items_max = max(need, expected, int(self.table[slot, machine.ITEMS_MAX // 8]) * 3 // 2)
        if parent < 0:
            items_max = max(need, min(items_max, self.record_total))
        for other, spec in enumerate(self.program.slots):
            if spec.parent == parent:
                self.buffers[other].grow_items(items_max)
                self._publish(other, items_max)

    def _list_bytes(self) -> int:
        """What list items take so far."""
        return int(self.table[:, machine.FILLED // 8] @ self.item_bytes)

    def _publish(self, slot: int, items_max: int) -> None:
        buffers = self.buffers[slot]
        self.table[slot, machine.VALUES // 8 : machine.ITEMS // 8] = (
            *buffers.addresses(),
            items_max,
            len(buffers.data),
        )

    def _tell(self, status: int, joined: bytes, ends: Any, counts: Any, state: Any) -> None:
        """Raise what the reference decoder says about the record where the machine stopped."""
        block, at = int(state[machine.BLOCK]), int(state[machine.AT])
        record = self.record_count + int(counts[:block].sum() + state[machine.RECORD])
        end = int(ends[block])
        if status == machine.LEFT_OVER:
            raise Place(None, "", left_over(record - 1, end - at))
        if end - at > _TOLD_BYTES_MAX:  # the reference decoder would take minutes to find the place
            raise Place(record, "", f"expected a readable record, got damage somewhere in {end - at} bytes")
        reference = PythonDecoder(self.program)
        reference.record_count = record
        reference.record(joined, at, end)
        raise AssertionError(f"the decoders disagree about record {record}")


def decode_blocks(
    program: Program, blocks: Iterable[tuple[bytes, int]], record_count: int, decoded_bytes_max: int
) -> Decoded:
    decoder = NumbaDecoder(program, record_count, decoded_bytes_max)
    for chunk in _chunks(blocks):
        decoder.chunk(chunk)
    return decoder.finish()


def _chunks(blocks: Iterable[tuple[bytes, int]]) -> Iterator[list[tuple[bytes, int]]]:
    """Small blocks together, so that a call of the machine always has something to do."""
    chunk: list[tuple[bytes, int]] = []
    size = 0
    for data, count in blocks:
        if not data and not count:
            continue
        chunk.append((data, count))
        size += len(data)
        if size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _places(ids: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The place of each wished id by id, where ids are small enough for a table."""
    if not ids or ids[0] < 0 or ids[-1] >= _PLACES_MAX:
        return np.empty(0, np.int64)
    places = np.full(ids[-1] + 1, -1, np.int64)
    places[list(ids)] = np.arange(len(ids))
    return places


def _address(array: npt.NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _resize(array: npt.NDArray[Any], size: int) -> None:
    if len(array) != size:
        array.resize(size, refcheck=False)
