"""ORC's decimals as Arrow decimals.

A value is a signed integer of up to 128 bits, in bytes of seven bits, the lowest first, and a scale of its own, which
may be smaller than the type's: writers leave trailing zeros out.

Source: the ORC specification, "Decimal Columns".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow

from skipstone.errors import FormatViolation
from skipstone.metadata.types import DECIMAL_PRECISION_MAX
from skipstone.read.orc_runs import Integers

pa: Any = pyarrow

VALUE_BYTES_MAX: Final = 19  # 128 bits, seven in a byte
_LAST: Final = 0x80  # bytes below it end a value


def decimals(data: bytes, scales: Integers, *, precision: int, scale: int, source: str) -> Any:
    """As many decimals as there are scales. A file without a precision has the greatest."""
    precision = precision or DECIMAL_PRECISION_MAX
    if precision > DECIMAL_PRECISION_MAX or scale > precision:
        raise FormatViolation(f"Invalid {source}: expected a decimal of at most 38 digits, got {precision}, {scale}.")
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) < _LAST) + 1
    if len(ends) != len(scales) or (int(ends[-1]) if len(ends) else 0) != len(data):
        raise FormatViolation(f"Invalid {source}: expected {len(scales)} decimals, got {len(ends)}.")
    if len(ends) and np.diff(ends, prepend=0).max() > VALUE_BYTES_MAX:
        raise FormatViolation(f"Invalid {source}: expected decimals of at most 128 bits, got a longer one.")
    limit = 10**precision
    values = bytearray()
    start = 0
    for end, own_scale in zip(ends.tolist(), scales.tolist(), strict=True):
        shift = scale - own_scale
        if not 0 <= shift <= DECIMAL_PRECISION_MAX:
            raise FormatViolation(f"Invalid {source}: expected scales up to {scale}, got {own_scale}.")
        value = _signed(data[start:end]) * 10**shift
        if not -limit < value < limit:
            raise FormatViolation(f"Invalid {source}: expected at most {precision} digits, got more.")
        values += value.to_bytes(16, "little", signed=True)
        start = end
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(scales), [None, pa.py_buffer(bytes(values))])


def _signed(data: bytes) -> int:
    raw = 0
    for i, byte in enumerate(data):
        raw |= (byte & 0x7F) << (7 * i)
    return (raw >> 1) ^ -(raw & 1)
