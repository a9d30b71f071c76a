"""Parquet's plain encoding of values, both ways: page statistics, dictionaries, and what Bloom filters hash.

Source: Apache Parquet's `Encodings.md` (PLAIN) and `parquet.thrift` (ColumnIndex, Statistics).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from skipstone.errors import FormatViolation

_STRUCTS: Final = {"INT32": struct.Struct("<i"), "INT64": struct.Struct("<q")}
_FLOATS: Final = {"FLOAT": struct.Struct("<f"), "DOUBLE": struct.Struct("<d")}
FIXED_WIDTH: Final = {**_STRUCTS, **_FLOATS}
_DTYPES: Final = {"INT32": "<i4", "INT64": "<i8", "FLOAT": "<f4", "DOUBLE": "<f8"}


def parse_plain(physical: str, data: bytes) -> Any:
    """One value of a statistic; None where the bytes do not have the type's width."""
    if (layout := FIXED_WIDTH.get(physical)) is not None:
        return layout.unpack(data)[0] if len(data) == layout.size else None
    if physical == "BOOLEAN":
        return data != b"\x00" if len(data) == 1 else None
    return data


def parse_plain_page(physical: str, data: bytes, count: int, length: int, *, source: str) -> Sequence[Any]:
    """All values of a page."""
    if (dtype := _DTYPES.get(physical)) is not None:
        width = np.dtype(dtype).itemsize
        _check(len(data) == count * width, f"{count} values of {width} bytes", len(data), source)
        values: list[Any] = np.frombuffer(data, dtype).tolist()
        return values
    if physical == "FIXED_LEN_BYTE_ARRAY":
        _check(length > 0 and len(data) == count * length, f"{count} values of {length} bytes", len(data), source)
        return [data[i : i + length] for i in range(0, len(data), length)]
    if physical == "BYTE_ARRAY":
        return _byte_arrays(data, count, source)
    raise FormatViolation(f"Invalid {source}: expected values that a dictionary can hold, got {physical}.")


def _byte_arrays(data: bytes, count: int, source: str) -> list[bytes]:
    _check(count * 4 <= len(data), f"{count} values with lengths", len(data), source)
    found: list[bytes] = []
    position, end = 0, len(data)
    for _ in range(count):
        start = position + 4
        position = start + int.from_bytes(data[start - 4 : start], "little")
        _check(position <= end, f"a value that ends at byte {position}", end, source)
        found.append(data[start:position])
    _check(position == end, "values up to the end", end - position, source)
    return found


def _check(holds: bool, expected: str, got: int, source: str) -> None:
    if not holds:
        raise FormatViolation(f"Invalid {source}: expected {expected}, got {got} bytes.")
