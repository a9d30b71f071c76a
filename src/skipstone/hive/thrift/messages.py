"""Thrift messages: a call, its reply, an exception; as they are, or in frames that say their length first.

Only the strict form of the binary protocol is spoken: its first byte tells it from a frame's length, from the compact
protocol and from HTTP.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from skipstone.hive.thrift.binary import Input, ProtocolViolation, Truncated, read_i32, read_string, write_string

_VERSION: Final = 0x80010000
_VERSION_MASK: Final = 0xFFFF0000
_HEAD: Final = struct.Struct(">I")
_NAME_BYTES_MAX: Final = 256

__all__ = ["Message", "MessageKind", "ProtocolViolation", "Truncated", "read_head", "write_head"]


class MessageKind(IntEnum):
    CALL = 1
    REPLY = 2
    EXCEPTION = 3
    ONEWAY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The head of a message; its struct follows."""

    name: str
    kind: MessageKind
    sequence: int
    is_framed: bool = False


def read_head(source: Input) -> Message:
    """The head of the next message, in a frame or not."""
    first = _HEAD.unpack_from(source.data, source.need(4))[0]
    is_framed = first & _VERSION_MASK != _VERSION and first < 1 << 31
    if is_framed:
        source.begin_frame(first)
        first = _HEAD.unpack_from(source.data, source.need(4))[0]
    if first & _VERSION_MASK != _VERSION:
        raise ProtocolViolation(
            f"Invalid Thrift message: expected the binary protocol, its first bytes 80 01, got "
            f"{bytes(source.data[:8]).hex(' ')}."
        )
    try:
        kind = MessageKind(first & 0xFF)
    except ValueError:
        raise ProtocolViolation(f"Invalid Thrift message: expected a kind from 1 to 4, got {first & 0xFF}.") from None
    at = source.at
    if not 0 < read_i32(source) <= _NAME_BYTES_MAX:
        raise ProtocolViolation(f"Invalid Thrift message: expected a method's name of 1 to {_NAME_BYTES_MAX} bytes.")
    source.at = at
    return Message(name=read_string(source), kind=kind, sequence=read_i32(source), is_framed=is_framed)


def write_head(message: Message) -> bytearray:
    """The bytes of a message's head. With a frame, `close_frame` has the last word."""
    out = bytearray(4 if message.is_framed else 0)
    out += _HEAD.pack(_VERSION | message.kind)
    write_string(out, message.name)
    out += struct.pack(">i", message.sequence)
    return out


def write_message(message: Message, body: Callable[[bytearray], Any]) -> bytearray:
    """A whole message; `body` writes its struct."""
    out = write_head(message)
    body(out)
    if message.is_framed:
        out[:4] = _HEAD.pack(len(out) - 4)
    return out
