"""The reference decoder: runs a program in plain Python, and words every error.

Law: each read is checked against the end of the block, and each list count against the bytes left, so work and memory
are bounded by the inflated bytes. The compiled decoder finds the same errors; it sends the failing record here to have
them told.

Spec (Apache Avro): "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from skipstone.metadata.avro.caps import Caps
from skipstone.metadata.avro.schema_program import Op, Program, SlotKind, SlotSpec
from skipstone.metadata.avro.slots import Decoded, Slot
from skipstone.metadata.avro.varint import Damage, read_length, read_long

# Plain integers: looking an enum member up costs as much as decoding a value.
(
    LONG, INT, BOOLEAN, FIXED, BYTES, ENUM, DECIMAL, NULL, OPEN_STRUCT, FILL, JUMP, OPEN_LIST, CLOSE_LIST, COUNTS,
    BOUNDS, SKIP_VARINTS, SKIP_BYTES, SKIP_FIXED, SKIP_OPTIONAL, SKIP_LIST, SKIP_LIST_CLOSE,
) = (int(op) for op in Op)  # fmt: skip
_INT_MIN: Final = -(2**31)
_INT_MAX: Final = 2**31 - 1
_DECIMAL_BYTES: Final = 16
_NO_UNION: Final = -2
_SURE_VARINT_BYTES: Final = 9  # so many never hold more than 64 bits


class Place(Exception):
    """Damage with its record and the path inside it."""

    def __init__(self, record: int | None, path: str, text: str) -> None:
        super().__init__(text)
        self.record = record
        self.path = path


class PythonDecoder:
    """Decodes blocks one after another; `finish` gives the columns."""

    def __init__(self, program: Program, decoded_bytes_max: int = Caps().decoded_bytes_max) -> None:
        self.program = program
        self.decoded_bytes_max = decoded_bytes_max
        self.list_bytes = 0  # what list items take so far
        self.items: list[list[Any]] = [[] for _ in program.slots]
        self.valid: list[list[int]] = [[] for _ in program.slots]
        self.record_count = 0
        self.wished = frozenset(program.ids)
        self.flat_lists = _flat_lists(program)
        self._blank: list[Any] = [_blank(spec) for spec in program.slots]

    def block(self, data: bytes, count: int) -> None:
        """All records of one block, which must fill it exactly."""
        check_block(self.program, data, count, self.record_count)
        check_decoded(self.list_bytes + (self.record_count + count) * self.program.row_bytes, self.decoded_bytes_max)
        pos = 0
        for _ in range(count):
            pos = self.record(data, pos, len(data))
        if pos != len(data):
            raise Place(None, "", left_over(self.record_count - 1, len(data) - pos))

    def record(self, data: bytes, pos: int, end: int) -> int:
        """One record from `pos`; the position after it."""
        run = _Run(self, data, end)
        try:
            pos = run.record(pos)
        except Damage as damage:
            raise Place(self.record_count, run.place(), str(damage)) from None
        self.record_count += 1
        return pos

    def finish(self) -> Decoded:
        slots = zip(self.program.slots, self.items, self.valid, strict=True)
        return Decoded(record_count=self.record_count, slots=tuple(_finished(*s) for s in slots))


def decode_blocks(program: Program, blocks: Iterable[tuple[bytes, int]], decoded_bytes_max: int) -> Decoded:
    decoder = PythonDecoder(program, decoded_bytes_max)
    for data, count in blocks:
        decoder.block(data, count)
    return decoder.finish()


def check_block(program: Program, data: bytes, count: int, record: int) -> None:
    """A count that the bytes cannot hold is refused before any memory is taken for it."""
    if count * program.min_bytes > len(data):
        text = f"expected at most {len(data) // program.min_bytes} records in a block of {len(data)} bytes, got {count}"
        raise Place(None, "", f"block after record {record}: {text}")


def check_decoded(size: int, size_max: int) -> None:
    """The slots may not take more than the cap, whatever the bytes say."""
    if size > size_max:
        raise Place(None, "", f"expected records that take at most {size_max} bytes when decoded, got more")


def left_over(record: int, count: int) -> str:
    return f"block that ends with record {record}: expected it to end there, got {count} bytes more"


class _Run:
    """One record: where it stands (for messages), the lists it is in, and one method an op."""

    __slots__ = ("counts", "data", "decoder", "end", "indexes", "key", "limits", "row", "row_at")

    def __init__(self, decoder: PythonDecoder, data: bytes, end: int) -> None:
        self.decoder = decoder
        self.data = data
        self.end = end
        self.row_at = 0
        self.counts: list[int] = []  # items left in the block of each open list
        self.limits: list[int] = []  # where that block must end, -1 when it does not say
        self.indexes: list[int] = []
        self.key: int | None = None

    def place(self) -> str:
        path = self.decoder.program.paths[self.row_at]
        for index in self.indexes:
            path = path.replace("[]", f"[{index}]", 1)
        path = path.replace("[]", "")
        return path if self.key is None else f"{path}[{self.key}]"

    def record(self, pos: int) -> int:
        rows = self.decoder.program.rows
        items, valid = self.decoder.items, self.decoder.valid
        flat_lists = self.decoder.flat_lists
        data, end = self.data, self.end
        row_count = len(rows)
        at = 0
        while at < row_count:
            self.row_at = at
            op, slot, arg, null, jump, min_bytes = rows[at]
            at += 1
            if null != _NO_UNION:
                # Both branches of an ordinary union take one byte.
                if null >= 0 and op != NULL and pos < end and (tag := data[pos]) in (0, 2):
                    pos += 1
                    is_null = tag >> 1 == null
                else:
                    pos, is_null = self.union(pos, null)
                if op == NULL:
                    continue
                if op in (COUNTS, BOUNDS):
                    if is_null:
                        self.fill(slot, arg)
                        continue
                elif op != SKIP_OPTIONAL and null >= 0:
                    valid[slot].append(0 if is_null else 1)
                if is_null:
                    if op == OPEN_LIST:
                        items[slot].append(0)
                    if op in (OPEN_LIST, OPEN_STRUCT, SKIP_OPTIONAL):
                        at = jump
                    else:
                        items[slot].append(self.decoder._blank[slot])
                    continue
                if op == OPEN_STRUCT and null < 0:
                    valid[slot].append(1)
            if op == LONG:
                value, pos = read_long(self.data, pos, self.end)
                items[slot].append(value)
            elif op == BYTES:
                length, pos = read_length(self.data, pos, self.end)
                items[slot].append(self.data[pos : pos + length])
                pos += length
            elif op in (COUNTS, BOUNDS):
                pos = self.metrics(op, slot, min_bytes, pos)
            elif op == OPEN_LIST:
                items[slot].append(0)
                pos, at = self.open_list(pos, at, jump, min_bytes, slot)
            elif op == CLOSE_LIST:
                pos, at = self.close_list(pos, at, arg, min_bytes, slot)
            elif op == SKIP_LIST:
                after = skip_flat_list(data, pos, end, *flat_lists[at - 1]) if at - 1 in flat_lists else -1
                if after >= 0:
                    pos, at = after, jump
                else:
                    pos, at = self.open_list(pos, at, jump, min_bytes, -1)
            elif op == SKIP_LIST_CLOSE:
                pos, at = self.close_list(pos, at, arg, min_bytes, -1)
            elif op == SKIP_VARINTS:
                for _ in range(arg):
                    _, pos = read_long(self.data, pos, self.end)
            elif op == SKIP_BYTES:
                length, pos = read_length(self.data, pos, self.end)
                pos += length
            elif op == JUMP:
                at = jump
            elif op == FILL:
                self.fill(slot, 1)
            elif op in (FIXED, SKIP_FIXED):
                self.need(pos, arg)
                if op == FIXED:
                    items[slot].append(self.data[pos : pos + arg])
                pos += arg
            elif op not in (OPEN_STRUCT, SKIP_OPTIONAL):
                value, pos = self.scalar(op, arg, pos)
                items[slot].append(value)
        return pos

    def scalar(self, op: int, arg: int, pos: int) -> tuple[Any, int]:
        if op == BOOLEAN:
            self.need(pos, 1)
            value = self.data[pos]
            if value > 1:
                raise Damage(f"expected a boolean of 0 or 1, got {value}")
            return value, pos + 1
        if op == DECIMAL:
            return self.decimal(arg, pos)
        value, pos = read_long(self.data, pos, self.end)
        if op == INT and not _INT_MIN <= value <= _INT_MAX:
            raise Damage(f"expected an int of 32 bits, got {value}")
        if op == ENUM and not 0 <= value < arg:
            raise Damage(f"expected an enum index from 0 to {arg - 1}, got {value}")
        return value, pos

    def decimal(self, size: int, pos: int) -> tuple[bytes, int]:
        if size == 0:
            size, pos = read_length(self.data, pos, self.end)
        self.need(pos, size)
        value = int.from_bytes(self.data[pos : pos + size], "big", signed=True)
        try:
            return value.to_bytes(_DECIMAL_BYTES, "little", signed=True), pos + size
        except OverflowError:
            raise Damage(f"expected a decimal of at most {_DECIMAL_BYTES} bytes, got {size}") from None

    def need(self, pos: int, size: int) -> None:
        if self.end - pos < size:
            raise Damage(f"expected {size} bytes, got the {self.end - pos} left")

    def union(self, pos: int, null: int) -> tuple[int, bool]:
        index, pos = read_long(self.data, pos, self.end)
        branches = 2 if null >= 0 else 1
        if self.decoder.program.rows[self.row_at][0] == NULL:
            branches = 1
        if not 0 <= index < branches:
            raise Damage(f"expected a union index from 0 to {branches - 1}, got {index}")
        return pos, index == null

    def fill(self, slot: int, count: int) -> None:
        for s in range(slot, slot + count):
            self.decoder.items[s].append(self.decoder._blank[s])
            if self.decoder.program.slots[s].nullable:
                self.decoder.valid[s].append(0)

    def list_block(self, pos: int, min_bytes: int) -> tuple[int, int, int]:
        """Count of the next block of a list, where it must end (-1: unsaid), position after its head."""
        count, pos = read_long(self.data, pos, self.end)
        limit = -1
        if count < 0:
            count = -count
            size, pos = read_long(self.data, pos, self.end)
            if not 0 <= size <= self.end - pos:
                raise Damage(f"expected a list block of 0 to the {self.end - pos} bytes left, got {size}")
            limit = pos + size
        room = (self.end - pos) // min_bytes
        if count > room:
            raise Damage(f"expected at most {room} items in the {self.end - pos} bytes left, got {count}")
        return count, limit, pos

    def open_list(self, pos: int, at: int, jump: int, min_bytes: int, slot: int) -> tuple[int, int]:
        count, limit, pos = self.list_block(pos, min_bytes)
        if count == 0:
            _check_limit(pos, limit)
            return pos, jump
        if slot >= 0:
            self.decoder.items[slot][-1] = count
            self.take(slot, count)
        self.counts.append(count)
        self.limits.append(limit)
        self.indexes.append(0)
        return pos, at

    def close_list(self, pos: int, at: int, opened: int, min_bytes: int, slot: int) -> tuple[int, int]:
        self.counts[-1] -= 1
        self.indexes[-1] += 1
        if self.counts[-1] == 0:
            _check_limit(pos, self.limits[-1])
            count, limit, pos = self.list_block(pos, min_bytes)
            if count == 0:
                _check_limit(pos, limit)
                self.counts.pop()
                self.limits.pop()
                self.indexes.pop()
                return pos, at
            self.counts[-1] = count
            self.limits[-1] = limit
            if slot >= 0:
                self.decoder.items[slot][-1] += count
                self.take(slot, count)
        return pos, opened + 1

    def take(self, slot: int, count: int) -> None:
        """Account for list items before they are decoded."""
        decoder = self.decoder
        decoder.list_bytes += count * decoder.program.slots[slot].item_bytes
        check_decoded(decoder.list_bytes, decoder.decoded_bytes_max)

    def metrics(self, op: int, first: int, min_bytes: int, pos: int) -> int:
        """A whole map from field id; wished ids go to their slots, the rest is skipped."""
        ids = self.decoder.program.ids
        wished_ids = self.decoder.wished
        found: dict[int, Any] = {}
        while True:
            count, limit, pos = self.list_block(pos, min_bytes)
            if count == 0:
                _check_limit(pos, limit)
                break
            for _ in range(count):
                key, pos = read_long(self.data, pos, self.end)
                self.key = key
                if not _INT_MIN <= key <= _INT_MAX:
                    raise Damage(f"expected an int key of 32 bits, got {key}")
                value: Any
                if op == COUNTS:
                    value, pos = read_long(self.data, pos, self.end)
                else:
                    length, pos = read_length(self.data, pos, self.end)
                    value = self.data[pos : pos + length]
                    pos += length
                if key in found:
                    raise Damage("expected each key once, got it twice")
                if key in wished_ids:
                    found[key] = value
            self.key = None
            _check_limit(pos, limit)
        for number, wished in enumerate(ids):
            slot = first + number
            self.decoder.valid[slot].append(1 if wished in found else 0)
            self.decoder.items[slot].append(found.get(wished, self.decoder._blank[slot]))
        return pos


def _flat_lists(program: Program) -> dict[int, tuple[int, bool]]:
    """The lists to skip whose items are integers, then perhaps a byte string, by the place they begin in the program.

    Metrics of columns nobody asked for are such lists, and most of a manifest.
    """
    found: dict[int, tuple[int, bool]] = {}
    for at, (op, *_, jump, _) in enumerate(program.rows):
        if op == SKIP_LIST:
            inside = program.rows[at + 1 : jump - 1]
            has_bytes = bool(inside) and inside[-1][0] == SKIP_BYTES
            varints = inside[:-1] if has_bytes else inside
            is_plain = all(row[3] == _NO_UNION for row in inside) and program.rows[jump - 1][0] == SKIP_LIST_CLOSE
            if is_plain and all(row[0] == SKIP_VARINTS for row in varints):
                found[at] = (sum(row[2] for row in varints), has_bytes)
    return found


def skip_flat_list(data: bytes, pos: int, end: int, varints: int, has_bytes: bool) -> int:
    """Where a list of flat items ends; -1 if anything about it is unusual, which the careful way then looks at."""
    try:
        while True:
            count = data[pos]
            pos += 1
            if count == 0:
                return pos if pos <= end else -1
            if count & 0x81:  # the count takes more bytes, or says how long the block is
                return -1
            for _ in range(count >> 1):
                for _ in range(varints):
                    start = pos
                    while data[pos] >= 0x80:
                        pos += 1
                    pos += 1
                    if pos - start > _SURE_VARINT_BYTES:
                        return -1
                if has_bytes:
                    length = data[pos]
                    if length & 0x81:
                        return -1
                    pos += 1 + (length >> 1)
    except IndexError:
        return -1


def _check_limit(pos: int, limit: int) -> None:
    if limit >= 0 and pos != limit:
        more_or_less = f"{pos - limit} bytes more" if pos > limit else f"{limit - pos} bytes less"
        raise Damage(f"expected a list block of the size it says, got {more_or_less}")


def _blank(spec: SlotSpec) -> Any:
    if spec.kind == SlotKind.BYTES:
        return b""
    if spec.kind == SlotKind.VALUES and not spec.is_integer:
        return bytes(spec.width)
    return 0


def _finished(spec: SlotSpec, items: list[Any], valid: list[int]) -> Slot:
    marks = np.array(valid, dtype=np.uint8) if spec.nullable else None
    match spec.kind:
        case SlotKind.STRUCT:
            return Slot(valid=marks)
        case SlotKind.LIST:
            return Slot(valid=marks, offsets=_offsets(items))
        case SlotKind.BYTES:
            lengths = [len(item) for item in items]
            return Slot(valid=marks, offsets=_offsets(lengths), data=np.frombuffer(b"".join(items), np.uint8))
        case SlotKind.VALUES:
            if spec.is_integer:
                typed = np.array(items, dtype=f"<i{spec.width}" if spec.width > 1 else np.uint8)
                return Slot(valid=marks, values=typed.view(np.uint8))
            return Slot(valid=marks, values=np.frombuffer(b"".join(items), np.uint8))


def _offsets(lengths: list[int]) -> npt.NDArray[np.int32]:
    offsets = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
