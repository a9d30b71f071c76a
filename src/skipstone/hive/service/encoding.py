"""Rows of statistics straight to Thrift's bytes, for answers with very many of them.

Each row becomes the bytes that `to_wire` and the codec would make; a test holds the two together.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from skipstone.hive.store import Layout
from skipstone.hive.store.rows import statistics_in
from skipstone.hive.thrift.interface import Encoded
from skipstone.hive.types import Kind, kind_of
from skipstone.hive.wire import decimal_to_wire, for_old_metastores, to_wire

_STRING: Final = b"\x0b"
_STRUCT: Final = b"\x0c"
_I64: Final = struct.Struct(">bhq").pack
_DOUBLE: Final = struct.Struct(">bhd").pack
_SIZE: Final = struct.Struct(">bhi").pack
_TAIL: Final = struct.Struct(">bhqbhq").pack
_INNER: Final = struct.Struct(">bhbhqb").pack
_MEMBERS: Final = {kind: number for number, kind in enumerate(Kind, start=1)}


class RowEncoder:
    """Makes ColumnStatisticsObj bytes from rows; what is the same for a column is made once."""

    def __init__(self, layout: Layout, *, for_hive_2: bool = False) -> None:
        self._layout = layout
        self._for_hive_2 = for_hive_2
        self._heads: dict[tuple[str, str], tuple[bytes, Kind | None]] = {}

    def encode(self, row: Mapping[Any, Any]) -> Encoded:
        if not self._layout.has_typed_bounds or self._for_hive_2:
            out, found = bytearray(), statistics_in(row, self._layout)
            to_wire(for_old_metastores(found) if self._for_hive_2 else found).write(out)
            return Encoded(out)
        key = (row["COLUMN_NAME"], row["COLUMN_TYPE"])
        known = self._heads.get(key)
        head, kind = known if known is not None else self._head(*key)
        return Encoded(head + _body(kind, row) + b"\0\0\0")

    def _head(self, name: str, type_: str) -> tuple[bytes, Kind | None]:
        kind = kind_of(type_)
        raw = [text.encode("utf-8") for text in (name, type_)]
        head = b"".join(_SIZE(11, number, len(data)) + data for number, data in enumerate(raw, start=1))
        # The field with the union, and the union's only member.
        head += b"\x0c\x00\x03" + (b"\x0c" + _MEMBERS[kind].to_bytes(2, "big") if kind is not None else b"")
        self._heads[name, type_] = head, kind
        return head, kind


def _body(kind: Kind | None, row: Mapping[Any, Any]) -> bytes:
    nulls, distincts = row["NUM_NULLS"], row["NUM_DISTINCTS"] or 0
    vector, histogram = row["BIT_VECTOR"], row["HISTOGRAM"]
    match kind:
        case Kind.LONG:
            body = _plain(row["LONG_LOW_VALUE"], row["LONG_HIGH_VALUE"], _I64, 10) + _TAIL(
                10, 3, nulls, 10, 4, distincts
            )
        case Kind.DOUBLE:
            body = _plain(row["DOUBLE_LOW_VALUE"], row["DOUBLE_HIGH_VALUE"], _DOUBLE, 4)
            body += _TAIL(10, 3, nulls, 10, 4, distincts)
        case Kind.STRING:
            body = _I64(10, 1, row["MAX_COL_LEN"] or 0) + _DOUBLE(4, 2, row["AVG_COL_LEN"] or 0.0)
            return body + _TAIL(10, 3, nulls, 10, 4, distincts) + _blob(5, vector)
        case Kind.DATE | Kind.TIMESTAMP:
            low, high = row["LONG_LOW_VALUE"], row["LONG_HIGH_VALUE"]
            body = b"" if low is None else _INNER(12, 1, 10, 1, low, 0)
            body += b"" if high is None else _INNER(12, 2, 10, 1, high, 0)
            body += _TAIL(10, 3, nulls, 10, 4, distincts)
        case Kind.DECIMAL:
            body = _decimal(1, row["BIG_DECIMAL_LOW_VALUE"]) + _decimal(2, row["BIG_DECIMAL_HIGH_VALUE"])
            body += _TAIL(10, 3, nulls, 10, 4, distincts)
        case Kind.BOOLEAN:
            body = _TAIL(10, 1, row["NUM_TRUES"] or 0, 10, 2, row["NUM_FALSES"] or 0)
            return body + _I64(10, 3, nulls) + _blob(4, vector)
        case Kind.BINARY:
            body = _I64(10, 1, row["MAX_COL_LEN"] or 0) + _DOUBLE(4, 2, row["AVG_COL_LEN"] or 0.0)
            return body + _I64(10, 3, nulls) + _blob(4, vector)
        case None:
            # A type without statistics: a union without a member, which readers refuse by themselves.
            return b""
    return body + _blob(5, vector) + _blob(6, histogram)


def _plain(low: Any, high: Any, pack: Any, code: int) -> bytes:
    first: bytes = b"" if low is None else pack(code, 1, low)
    second: bytes = b"" if high is None else pack(code, 2, high)
    return first + second


def _blob(number: int, data: bytes | None) -> bytes:
    return _SIZE(11, number, len(data)) + data if data else b""


def _decimal(number: int, text: str | None) -> bytes:
    if text is None:
        return b""
    out = bytearray(b"\x0c" + number.to_bytes(2, "big"))
    decimal_to_wire(Decimal(text)).write(out)
    return bytes(out)


def encode_partitions(
    rows: Iterable[tuple[str, Mapping[Any, Any]]], layout: Layout, *, for_hive_2: bool = False
) -> dict[str, list[Encoded]]:
    """Encoded statistics by partition."""
    encoder = RowEncoder(layout, for_hive_2=for_hive_2)
    by_name: dict[str, list[Encoded]] = {}
    for name, row in rows:
        by_name.setdefault(name, []).append(encoder.encode(row))
    return by_name
