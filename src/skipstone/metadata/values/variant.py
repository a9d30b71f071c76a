"""The Variant encoding, version 1: a dictionary of names (metadata) and a value that refers to it.

A value is taken apart into small frozen classes that keep the physical type, because bounds must be of one physical
type. Objects are written with sorted unique names; on reading, order is not relied upon (writers have sorted by
UTF-16), but a name that occurs twice is refused.

No input makes the reader allocate more than a fixed multiple of its size (some 60 bytes a byte, for arrays of small
numbers): every byte is read at most once, so values that overlap are refused. Size and nesting have limits.

Spec: "Bounds for Variant, Geometry, and Geography"; Apache Parquet, "Variant Binary Encoding".
"""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from itertools import pairwise
from typing import Any, Final, TypeAlias

from skipstone.errors import FormatViolation, InvalidInput

DEPTH_MAX: Final = 200
SIZE_MAX: Final = 128 * 1024 * 1024

_VERSION: Final = 1
_SORTED: Final = 0x10
_SHORT_STRING_MAX: Final = 63


class VariantKind(IntEnum):
    """The primitive types, by their type id."""

    NULL = 0
    TRUE = 1
    FALSE = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    DOUBLE = 7
    DECIMAL4 = 8
    DECIMAL8 = 9
    DECIMAL16 = 10
    DATE = 11
    TIMESTAMPTZ = 12
    TIMESTAMP = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    TIME = 17
    TIMESTAMPTZ_NS = 18
    TIMESTAMP_NS = 19
    UUID = 20


@dataclass(frozen=True, slots=True)
class VariantPrimitive:
    """A value with its physical type. Dates and times are integers, as everywhere in this package."""

    kind: VariantKind
    value: Any = None


@dataclass(frozen=True, slots=True)
class VariantArray:
    elements: tuple[VariantValue, ...] = ()


@dataclass(frozen=True, slots=True)
class VariantObject:
    """Names and values, sorted by the UTF-8 bytes of the name."""

    fields: tuple[tuple[str, VariantValue], ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.fields, key=lambda f: f[0]))  # code points order like their UTF-8 bytes
        for (name, _), (following, _) in pairwise(ordered):
            if name == following:
                raise InvalidInput(f"Invalid variant object: expected unique names, got {name!r} twice.")
        object.__setattr__(self, "fields", ordered)

    def get(self, name: str) -> VariantValue | None:
        return next((v for n, v in self.fields if n == name), None)


VariantValue: TypeAlias = VariantPrimitive | VariantArray | VariantObject

_KINDS: Final = {kind.value: kind for kind in VariantKind}
_NUMBERS: Final[dict[VariantKind, struct.Struct]] = {
    VariantKind.INT8: struct.Struct("<b"),
    VariantKind.INT16: struct.Struct("<h"),
    VariantKind.INT32: struct.Struct("<i"),
    VariantKind.INT64: struct.Struct("<q"),
    VariantKind.DOUBLE: struct.Struct("<d"),
    VariantKind.FLOAT: struct.Struct("<f"),
    VariantKind.DATE: struct.Struct("<i"),
    VariantKind.TIMESTAMPTZ: struct.Struct("<q"),
    VariantKind.TIMESTAMP: struct.Struct("<q"),
    VariantKind.TIME: struct.Struct("<q"),
    VariantKind.TIMESTAMPTZ_NS: struct.Struct("<q"),
    VariantKind.TIMESTAMP_NS: struct.Struct("<q"),
}
# Bytes of the unscaled value, and the digits they may hold.
_DECIMALS: Final = {VariantKind.DECIMAL4: (4, 9), VariantKind.DECIMAL8: (8, 18), VariantKind.DECIMAL16: (16, 38)}
_SCALE_MAX: Final = 38


# -- reading ---------------------------------------------------------------------------------------------------------


def parse_variant(metadata: bytes, value: bytes, *, source: str = "variant") -> VariantValue:
    """The value that a pair of metadata and value bytes holds."""
    names, size = parse_metadata(metadata, source=source)
    if size != len(metadata):
        raise FormatViolation(f"Invalid {source}: expected variant metadata of {size} bytes, got {len(metadata)}.")
    return _parse_whole(names, value, source)


def parse_concatenated(data: bytes, *, source: str = "variant") -> VariantValue:
    """The value of metadata bytes directly followed by value bytes, as bounds are stored."""
    names, size = parse_metadata(data, source=source)
    return _parse_whole(names, data[size:], source)


def parse_metadata(data: bytes, *, source: str = "variant") -> tuple[tuple[str, ...], int]:
    """The dictionary of names at the start of `data`, and how many bytes it takes."""
    _check_size(data, source)
    if not data:
        raise FormatViolation(f"Invalid {source}: expected variant metadata, got 0 bytes.")
    header = data[0]
    if header & 0x0F != _VERSION:
        raise FormatViolation(f"Invalid {source}: expected variant metadata version 1, got {header & 0x0F}.")
    width = (header >> 6) + 1
    reader = _Reader(data, (), source)
    count = reader.uint(1, width, "the dictionary size")
    reader.need(1 + width, (count + 1) * width, "dictionary offsets")
    offsets = [reader.uint(1 + width * (i + 1), width, "an offset") for i in range(count + 1)]
    start = 1 + width * (count + 2)
    if offsets[0] != 0 or any(a > b for a, b in pairwise(offsets)):
        raise FormatViolation(f"Invalid {source}: expected variant dictionary offsets that rise from 0.")
    reader.need(start, offsets[-1], "dictionary names")
    names = tuple(reader.text(start + a, b - a) for a, b in pairwise(offsets))
    if header & _SORTED and any(a >= b for a, b in pairwise(names)):
        raise FormatViolation(f"Invalid {source}: expected sorted unique variant names, as the header says.")
    return names, start + offsets[-1]


def _parse_whole(names: tuple[str, ...], data: bytes, source: str) -> VariantValue:
    _check_size(data, source)
    value, end = _Reader(data, names, source).value(0, len(data), 0)
    if end != len(data):
        raise FormatViolation(f"Invalid {source}: expected a variant value of {end} bytes, got {len(data)}.")
    return value


def _check_size(data: bytes, source: str) -> None:
    if len(data) > SIZE_MAX:
        raise FormatViolation(f"Invalid {source}: expected at most {SIZE_MAX} bytes of variant, got {len(data)}.")


class _Reader:
    """Random access to one variant value. `unread` falls with every byte interpreted: it cannot go below zero."""

    def __init__(self, data: bytes, names: tuple[str, ...], source: str) -> None:
        self.data = data
        self.names = names
        self.source = source
        self.unread = len(data)

    def violation(self, at: int, expected_and_got: str) -> FormatViolation:
        return FormatViolation(f"Invalid {self.source}: at variant byte {at}: expected {expected_and_got}.")

    def need(self, at: int, size: int, what: str, end: int | None = None) -> None:
        left = (len(self.data) if end is None else end) - at
        if size > left:
            raise self.violation(at, f"{size} bytes of {what}, got {max(left, 0)}")

    def spend(self, at: int, size: int) -> None:
        self.unread -= size
        if self.unread < 0:
            raise self.violation(at, "values that do not overlap, got bytes used twice")

    def uint(self, at: int, width: int, what: str) -> int:
        self.need(at, width, what)
        return int.from_bytes(self.data[at : at + width], "little")

    def text(self, at: int, size: int) -> str:
        try:
            return self.data[at : at + size].decode()
        except UnicodeDecodeError as e:
            raise self.violation(at + e.start, f"UTF-8, got byte 0x{self.data[at + e.start]:02x}") from None

    def value(self, at: int, end: int, depth: int) -> tuple[VariantValue, int]:
        """The value that starts at `at` and lies before `end`, and where it ends."""
        if depth > DEPTH_MAX:
            raise self.violation(at, f"at most {DEPTH_MAX} levels of nesting, got more")
        self.need(at, 1, "a variant value", end)
        header, basic_type = self.data[at] >> 2, self.data[at] & 3
        if basic_type == 0:
            value, after = self.primitive(at, end, header)
        elif basic_type == 1:
            self.need(at + 1, header, "short string", end)
            value, after = VariantPrimitive(VariantKind.STRING, self.text(at + 1, header)), at + 1 + header
        else:
            return self.container(at, end, header, depth, is_object=basic_type == 2)
        self.spend(at, after - at)
        return value, after

    def primitive(self, at: int, end: int, header: int) -> tuple[VariantPrimitive, int]:
        kind, body = _KINDS.get(header), at + 1
        if kind is None:
            raise self.violation(at, f"a variant type id from 0 to 20, got {header}")
        if (number := _NUMBERS.get(kind)) is not None:
            self.need(body, number.size, kind.name, end)
            return VariantPrimitive(kind, number.unpack_from(self.data, body)[0]), body + number.size
        match kind:
            case VariantKind.NULL:
                return VariantPrimitive(kind), body
            case VariantKind.TRUE | VariantKind.FALSE:
                return VariantPrimitive(kind, kind is VariantKind.TRUE), body
            case VariantKind.UUID:
                self.need(body, 16, kind.name, end)
                return VariantPrimitive(kind, uuid.UUID(bytes=self.data[body : body + 16])), body + 16
            case VariantKind.BINARY | VariantKind.STRING:
                self.need(body, 4, "length", end)
                size, body = self.uint(body, 4, "length"), body + 4
                self.need(body, size, kind.name, end)
                is_text = kind is VariantKind.STRING
                content = self.text(body, size) if is_text else self.data[body : body + size]
                return VariantPrimitive(kind, content), body + size
            case _:
                return self.decimal(kind, body, end)

    def decimal(self, kind: VariantKind, body: int, end: int) -> tuple[VariantPrimitive, int]:
        size, digits = _DECIMALS[kind]
        self.need(body, 1 + size, kind.name, end)
        scale = self.data[body]
        unscaled = int.from_bytes(self.data[body + 1 : body + 1 + size], "little", signed=True)
        if scale > _SCALE_MAX:
            raise self.violation(body, f"a scale from 0 to {_SCALE_MAX}, got {scale}")
        if abs(unscaled) >= 10**digits:
            raise self.violation(body, f"at most {digits} digits for {kind.name}, got {unscaled}")
        return VariantPrimitive(kind, Decimal(f"{unscaled}E-{scale}")), body + 1 + size

    def container(self, at: int, end: int, header: int, depth: int, *, is_object: bool) -> tuple[VariantValue, int]:
        offset_width = (header & 3) + 1
        id_width = (header >> 2 & 3) + 1 if is_object else 0
        count_width = 4 if header >> (4 if is_object else 2) & 1 else 1
        self.need(at + 1, count_width, "an element count", end)
        count = self.uint(at + 1, count_width, "an element count")
        ids_at = at + 1 + count_width
        offsets_at = ids_at + count * id_width
        first = offsets_at + (count + 1) * offset_width
        self.need(ids_at, first - ids_at, f"ids and offsets of {count} elements", end)
        self.spend(at, first - at)
        last = first + self.uint(offsets_at + count * offset_width, offset_width, "an offset")
        self.need(first, last - first, "elements", end)
        values: list[VariantValue] = []
        for i in range(count):
            start = first + self.uint(offsets_at + i * offset_width, offset_width, "an offset")
            values.append(self.value(start, last, depth + 1)[0])
        if not is_object:
            return VariantArray(tuple(values)), last
        names = [self.name(ids_at + i * id_width, id_width) for i in range(count)]
        if len(set(names)) != count:
            raise self.violation(at, "unique names in an object, got one twice")
        return VariantObject(tuple(zip(names, values, strict=True))), last

    def name(self, at: int, width: int) -> str:
        index = self.uint(at, width, "a field id")
        if index >= len(self.names):
            raise self.violation(at, f"a field id below {len(self.names)}, got {index}")
        return self.names[index]


# -- writing ---------------------------------------------------------------------------------------------------------


def serialize_variant(value: VariantValue) -> tuple[bytes, bytes]:
    """Metadata and value bytes, in the narrowest widths, with a sorted dictionary."""
    found: set[str] = set()
    _collect_names(value, found, 0)
    names = sorted(found)
    return _serialize_metadata(names), _serialize(value, {n: i for i, n in enumerate(names)})


def _collect_names(value: VariantValue, names: set[str], depth: int) -> None:
    if depth > DEPTH_MAX:
        raise InvalidInput(f"Invalid variant: expected at most {DEPTH_MAX} levels of nesting.")
    match value:
        case VariantArray(elements):
            for element in elements:
                _collect_names(element, names, depth + 1)
        case VariantObject(fields):
            for name, child in fields:
                names.add(name)
                _collect_names(child, names, depth + 1)


def _serialize_metadata(names: list[str]) -> bytes:
    encoded = [_utf8(n) for n in names]
    offsets = _running_offsets(encoded)
    width = _width(max(offsets[-1], len(names)))
    header = _VERSION | (_SORTED if names else 0) | (width - 1) << 6
    return bytes([header]) + _uints([len(names), *offsets], width) + b"".join(encoded)


def _serialize(value: VariantValue, ids: dict[str, int]) -> bytes:
    match value:
        case VariantPrimitive():
            return _serialize_primitive(value)
        case VariantArray(elements):
            encoded = [_serialize(e, ids) for e in elements]
            offsets = _running_offsets(encoded)
            width, large = _width(offsets[-1]), len(encoded) > 255
            header = large << 2 | width - 1
            id_bytes = b""
        case VariantObject(fields):
            encoded = [_serialize(v, ids) for _, v in fields]
            offsets = _running_offsets(encoded)
            width, large = _width(offsets[-1]), len(encoded) > 255
            field_ids = [ids[n] for n, _ in fields]
            id_width = _width(max(field_ids, default=0))
            header = large << 4 | (id_width - 1) << 2 | width - 1
            id_bytes = _uints(field_ids, id_width)
    count = len(encoded).to_bytes(4 if large else 1, "little")
    basic_type = 3 if isinstance(value, VariantArray) else 2
    return bytes([header << 2 | basic_type]) + count + id_bytes + _uints(offsets, width) + b"".join(encoded)


def _serialize_primitive(primitive: VariantPrimitive) -> bytes:
    kind, value = primitive.kind, primitive.value
    header = bytes([kind << 2])
    try:
        if (number := _NUMBERS.get(kind)) is not None:
            return header + number.pack(value)
        match kind:
            case VariantKind.NULL | VariantKind.TRUE | VariantKind.FALSE:
                return header
            case VariantKind.UUID:
                return header + bytes(value.bytes)
            case VariantKind.STRING:
                text = _utf8(value)
                if len(text) <= _SHORT_STRING_MAX:
                    return bytes([len(text) << 2 | 1]) + text
                return header + len(text).to_bytes(4, "little") + text
            case VariantKind.BINARY:
                return header + len(value).to_bytes(4, "little") + bytes(value)
            case _:
                return header + _serialize_decimal(kind, value)
    except (struct.error, OverflowError, AttributeError, TypeError):
        raise InvalidInput(f"Invalid variant value: expected a value of {kind.name}, got {value!r}.") from None


def _serialize_decimal(kind: VariantKind, value: Decimal) -> bytes:
    size, digits = _DECIMALS[kind]
    sign, unscaled_digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or not -_SCALE_MAX <= exponent <= 0 or len(unscaled_digits) > digits:
        raise InvalidInput(
            f"Invalid variant value: expected at most {digits} digits and a scale from 0 to {_SCALE_MAX} "
            f"for {kind.name}, got {value}."
        )
    magnitude = int("".join(map(str, unscaled_digits)))
    return bytes([-exponent]) + (-magnitude if sign else magnitude).to_bytes(size, "little", signed=True)


def _running_offsets(pieces: list[bytes]) -> list[int]:
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return offsets


def _width(largest: int) -> int:
    return max(1, (largest.bit_length() + 7) // 8)


def _uints(values: list[int], width: int) -> bytes:
    return b"".join(v.to_bytes(width, "little") for v in values)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"Invalid variant text: expected Unicode without lone surrogates, got {text!r}.") from None
