"""Columns of ORC stripes decoded without pyarrow, for those that hold timestamps it refuses.

Whole columns are decoded, so structs, lists and maps bring the other types in them along. Laws: a stream that
contradicts the format is one FormatViolation; what is inflated is bounded by the values expected of it.

Source: the ORC specification, "Stripes", "Column Encodings".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.errors import FormatViolation, Unsupported
from skipstone.read.orc_decimals import VALUE_BYTES_MAX as DECIMAL_BYTES_MAX
from skipstone.read.orc_decimals import decimals
from skipstone.read.orc_runs import Integers, read_booleans, read_integers
from skipstone.read.orc_timestamps import timestamps
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.orc_tail import OrcTail, inflated
from skipstone.zones.build.protobuf import Message, parse_message

pa: Any = pyarrow

_PRESENT, _DATA, _LENGTH, _DICTIONARY, _SECONDARY = 0, 1, 2, 3, 5
_STREAM_BYTES_MAX: Final = 1 << 30
_VALUE_BYTES_MAX: Final = 11  # the widest encoding of one integer, with its share of a run's header
_ITEMS_MAX: Final = (1 << 31) - 1
_TIMESTAMPS: Final = ("timestamp", "timestamp_instant")
_INTEGERS: Final = {"short": pa.int16(), "int": pa.int32(), "long": pa.int64(), "date": pa.date32()}
_FLOATS: Final[dict[str, np.dtype[Any]]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}
_TEXTS: Final = {"string": pa.string(), "varchar": pa.string(), "char": pa.string(), "binary": pa.binary()}

Mask = npt.NDArray[np.bool_]


class OrcColumns:
    """Decodes columns of one file."""

    def __init__(self, file: FileBytes, tail: OrcTail) -> None:
        self._file = file
        self._tail = tail

    def holds_timestamps(self, column: int) -> bool:
        """Whether a top-level column, by its place, is a timestamp or has one inside."""
        return self._holds_timestamps(self._number(column), 0)

    def _holds_timestamps(self, number: int, depth: int) -> bool:
        if number >= len(self._tail.types) or depth > len(self._tail.types):
            raise FormatViolation(f"Invalid ORC types in {self._file.source}: expected a tree, got type {number}.")
        node = self._tail.types[number]
        return node.kind in _TIMESTAMPS or any(self._holds_timestamps(c, depth + 1) for c in node.children)

    def read(self, stripe: int, column: int) -> Any:
        number = self._number(column)
        source = f"column {number}, stripe {stripe} of {self._file.source}"
        try:
            return _Stripe(self._file, self._tail, stripe, source).column(number, self._tail.stripe_rows[stripe])
        except pa.ArrowException as error:
            raise FormatViolation(f"Invalid {source}: {str(error).splitlines()[0]}.") from error

    def _number(self, column: int) -> int:
        children = self._tail.types[0].children if self._tail.types else ()
        if column >= len(children):
            raise FormatViolation(f"Invalid ORC types in {self._file.source}: expected a column {column}, got none.")
        return children[column]


@dataclass(frozen=True, slots=True)
class _Span:
    offset: int
    length: int


class _Stripe:
    def __init__(self, file: FileBytes, tail: OrcTail, stripe: int, source: str) -> None:
        self._file = file
        self._tail = tail
        self._source = source
        place = tail.stripes[stripe]
        data = file.piece(place.offset + place.index_length + place.data_length, place.footer_length, source)
        footer = parse_message(inflated(data, tail.codec, tail.block_size, source), source=source)
        self._zone = _text(footer, 3, source)
        self._encodings = footer.get(2, [])
        # Streams lie one after the other, in the order in which the footer lists them.
        self._streams: dict[tuple[int, int], _Span] = {}
        offset = place.offset
        for raw in footer.get(1, []):
            stream = parse_message(_bytes(raw, source), source=source)
            span = _Span(offset, _integer(stream, 3))
            self._streams[(_integer(stream, 2), _integer(stream, 1))] = span
            offset += span.length

    def column(self, number: int, count: int) -> Any:
        """A column of `count` values, nulls among them."""
        valid = self._present(number, count)
        stored = count if valid is None else int(valid.sum())
        node = self._tail.types[number]
        match node.kind, node.children:
            case "struct", children:
                parts = [_spread(self.column(c, stored), valid) for c in children]
                names = [str(c) for c in children]
                mask = None if valid is None else pa.array(~valid)
                return pa.StructArray.from_arrays(parts, names, mask=mask)
            case "list", (child,):
                offsets = self._offsets(number, stored, valid)
                items = self.column(child, int(offsets[-1]))
                return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, mask=_nulls(valid))
            case "map", (key, value):
                offsets = self._offsets(number, stored, valid)
                keys, items = (self.column(c, int(offsets[-1])) for c in (key, value))
                return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, items, mask=_nulls(valid))
            case kind, ():
                return _spread(self._leaf(number, kind, stored), valid)
            case kind, children:
                return self._fail(f"a type whose children fit it, got {kind} with {len(children)}")

    def _leaf(self, number: int, kind: str, count: int) -> Any:
        if kind in _TIMESTAMPS:
            return timestamps(
                self._integers(number, _DATA, count, is_signed=True),
                self._integers(number, _SECONDARY, count, is_signed=False),
                zone=self._zone,
                is_instant=kind == "timestamp_instant",
                source=self._source,
            )
        if kind in _INTEGERS:
            values = self._integers(number, _DATA, count, is_signed=True)
            return pa.array(values).cast(pa.int32() if kind == "date" else _INTEGERS[kind]).view(_INTEGERS[kind])
        if kind in _FLOATS:
            return pa.array(self._fixed(number, _FLOATS[kind], count))
        if kind == "boolean":
            return pa.array(read_booleans(self._stream(number, _DATA, count), count, source=self._source))
        if kind in _TEXTS:
            return self._texts(number, count).cast(_TEXTS[kind])
        if kind == "decimal":
            node = self._tail.types[number]
            data = self._stream(number, _DATA, count, value_bytes_max=DECIMAL_BYTES_MAX)
            scales = self._integers(number, _SECONDARY, count, is_signed=True)
            return decimals(data, scales, precision=node.precision, scale=node.scale, source=self._source)
        raise Unsupported(
            f"Cannot read {self._source}: a {kind} beside a timestamp beyond the range of nanoseconds is not read. "
            "Leave that column out."
        )

    def _texts(self, number: int, count: int) -> Any:
        is_dictionary = self._encoding(number) in (1, 3)
        if not is_dictionary:
            return self._byte_strings(number, _DATA, count)
        words = self._byte_strings(number, _DICTIONARY, self._dictionary_size(number))
        codes = self._integers(number, _DATA, count, is_signed=False)
        if len(codes) and not 0 <= codes.min() <= codes.max() < len(words):
            self._fail(f"codes of {len(words)} words, got {codes.min()} to {codes.max()}")
        return words.take(pa.array(codes))

    def _byte_strings(self, number: int, kind: int, count: int) -> Any:
        data = self._stream(number, kind, None)
        offsets = self._sums(self._integers(number, _LENGTH, count, is_signed=False))
        if offsets[-1] > len(data):
            self._fail(f"{offsets[-1]} bytes of text, got {len(data)}")
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.binary(), count, buffers)

    def _offsets(self, number: int, stored: int, valid: Mask | None) -> Integers:
        lengths = self._integers(number, _LENGTH, stored, is_signed=False)
        if valid is not None:
            every = np.zeros(len(valid), np.int64)
            every[valid] = lengths
            lengths = every
        return self._sums(lengths)

    def _sums(self, lengths: Integers) -> Integers:
        # No single length is so large that the sum could wrap before it is looked at.
        if len(lengths) and (lengths.min() < 0 or lengths.max() > _ITEMS_MAX or lengths.sum() > _ITEMS_MAX):
            self._fail(f"lengths that add up to at most {_ITEMS_MAX}, got more")
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])

    def _present(self, number: int, count: int) -> Mask | None:
        if (number, _PRESENT) not in self._streams:
            return None
        return read_booleans(self._stream(number, _PRESENT, count), count, source=self._source)

    def _integers(self, number: int, kind: int, count: int, *, is_signed: bool) -> Integers:
        version = 1 if self._encoding(number) < 2 else 2
        data = self._stream(number, kind, count)
        return read_integers(data, count, is_signed=is_signed, version=version, source=self._source)

    def _fixed(self, number: int, dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
        data = self._stream(number, _DATA, count)
        if len(data) != dtype.itemsize * count:
            self._fail(f"{dtype.itemsize * count} bytes of numbers, got {len(data)}")
        return np.frombuffer(data, dtype)

    def _stream(self, number: int, kind: int, count: int | None, *, value_bytes_max: int = _VALUE_BYTES_MAX) -> bytes:
        """The content of a stream, of so many values if that is known; one that is left out is empty."""
        span = self._streams.get((number, kind))
        if span is None:
            return b""
        size_max = _STREAM_BYTES_MAX if count is None else min(_STREAM_BYTES_MAX, value_bytes_max * count + 1024)
        data = self._file.piece(span.offset, span.length, self._source, length_max=_STREAM_BYTES_MAX)
        return inflated(data, self._tail.codec, self._tail.block_size, self._source, size_max=size_max)

    def _encoding(self, number: int) -> int:
        """DIRECT, DICTIONARY, DIRECT_V2 or DICTIONARY_V2, by their numbers."""
        kind = _integer(self._encoding_message(number), 1)
        if kind > 3:
            self._fail(f"an encoding from 0 to 3, got {kind}")
        return kind

    def _dictionary_size(self, number: int) -> int:
        return _integer(self._encoding_message(number), 2)

    def _encoding_message(self, number: int) -> Message:
        if number >= len(self._encodings):
            self._fail(f"an encoding, got {len(self._encodings)} encodings")
        return parse_message(_bytes(self._encodings[number], self._source), source=self._source)

    def _fail(self, expected: str) -> Any:
        raise FormatViolation(f"Invalid {self._source}: expected {expected}.")


def _spread(values: Any, valid: Mask | None) -> Any:
    """Values with nulls where none is stored."""
    if valid is None:
        return values
    return values.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


def _nulls(valid: Mask | None) -> Any:
    return None if valid is None else pa.array(~valid)


def _text(message: Message, number: int, source: str) -> str:
    raw = message.get(number, [b""])[0]
    try:
        return _bytes(raw, source).decode("ascii")
    except UnicodeDecodeError:
        raise FormatViolation(f"Invalid {source}: expected a time zone, got {raw!r}.") from None


def _integer(message: Message, number: int) -> int:
    value = message.get(number, [0])[0]
    return value if isinstance(value, int) else 0


def _bytes(value: Any, source: str) -> bytes:
    if not isinstance(value, bytes):
        raise FormatViolation(f"Invalid {source}: expected a message, got a number.")
    return value
