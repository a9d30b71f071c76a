"""xxHash of 64 bits with seed 0, the hash of Parquet's Bloom filters.

Source: the xxHash specification, XXH64.
"""

from __future__ import annotations

import struct
from typing import Final

_MASK: Final = (1 << 64) - 1
_P1: Final = 0x9E3779B185EBCA87
_P2: Final = 0xC2B2AE3D27D4EB4F
_P3: Final = 0x165667B19E3779F9
_P4: Final = 0x85EBCA77C2B2AE63
_P5: Final = 0x27D4EB2F165667C5
_STRIPE: Final = struct.Struct("<4Q")
_LANE: Final = struct.Struct("<Q")
_HALF: Final = struct.Struct("<I")


def xxh64(data: bytes) -> int:
    length = len(data)
    position = 0
    if length >= 32:
        lanes = [(_P1 + _P2) & _MASK, _P2, 0, -_P1 & _MASK]
        while position + 32 <= length:
            for i, word in enumerate(_STRIPE.unpack_from(data, position)):
                lanes[i] = _round(lanes[i], word)
            position += 32
        a, b, c, d = lanes
        result = (_rotl(a, 1) + _rotl(b, 7) + _rotl(c, 12) + _rotl(d, 18)) & _MASK
        for lane in lanes:
            result = ((result ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        result = _P5
    result = (result + length) & _MASK
    while position + 8 <= length:
        result ^= _round(0, _LANE.unpack_from(data, position)[0])
        result = (_rotl(result, 27) * _P1 + _P4) & _MASK
        position += 8
    if position + 4 <= length:
        result ^= (_HALF.unpack_from(data, position)[0] * _P1) & _MASK
        result = (_rotl(result, 23) * _P2 + _P3) & _MASK
        position += 4
    for byte in data[position:]:
        result ^= (byte * _P5) & _MASK
        result = (_rotl(result, 11) * _P1) & _MASK
    return _avalanche(result)


def _round(lane: int, word: int) -> int:
    return (_rotl((lane + word * _P2) & _MASK, 31) * _P1) & _MASK


def _rotl(value: int, count: int) -> int:
    return ((value << count) | (value >> (64 - count))) & _MASK


def _avalanche(value: int) -> int:
    value = ((value ^ (value >> 33)) * _P2) & _MASK
    value = ((value ^ (value >> 29)) * _P3) & _MASK
    return value ^ (value >> 32)
