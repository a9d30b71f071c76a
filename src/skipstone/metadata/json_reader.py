"""JSON from storage, read member by member with the place of every fault.

A `JsonObject` knows which file it came from and where in it, so that a wrong member becomes one FormatViolation
with the file, the JSON path, what was expected and what was found. A member that is null counts as absent.

Spec: "Appendix C: JSON serialization".
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from skipstone.errors import FormatViolation
from skipstone.metadata.types import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

T = TypeVar("T")

# Metadata of a long-lived table has tens of MB. What inflates beyond this is an attack or damage, and parsed JSON takes
# a multiple of its text in memory.
INFLATED_BYTES_MAX: Final = 2**28
_GZIP_MAGIC: Final = b"\x1f\x8b"
# A gzip file is a series of members. Writers make one; a huge number of tiny ones would be slow to follow.
_GZIP_MEMBERS_MAX: Final = 1000
_CHUNK_BYTES: Final = 2**16
_SHOWN_CHARS_MAX: Final = 80


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object at a place in a file: `label` names the file, `place` is the JSON path."""

    members: Mapping[str, Any]
    label: str
    place: str = "$"

    @staticmethod
    def of(value: object, *, label: str, place: str = "$") -> JsonObject:
        if not isinstance(value, dict):
            fail(label, place, "an object", value)
        return JsonObject(value, label, place)

    def at(self, key: str) -> str:
        return f"{self.place}.{key}"

    def has(self, key: str) -> bool:
        return self.members.get(key) is not None

    def fail(self, key: str, expected: str, got: object) -> NoReturn:
        fail(self.label, self.at(key), expected, got)

    def required(self, key: str) -> Any:
        """The member, whatever it is; absent or null is a violation."""
        value = self.members.get(key)
        if value is None:
            raise FormatViolation(f"Invalid {self.label}: {self.at(key)}: expected a value, got nothing.")
        return value

    def int_(self, key: str, *, low: int = INT_MIN, high: int = INT_MAX) -> int:
        return self._integer(key, self.required(key), low, high)

    def long(self, key: str, *, low: int = LONG_MIN) -> int:
        return self._integer(key, self.required(key), low, LONG_MAX)

    def optional_int(self, key: str, *, low: int = INT_MIN, high: int = INT_MAX) -> int | None:
        return self.int_(key, low=low, high=high) if self.has(key) else None

    def optional_long(self, key: str, *, low: int = LONG_MIN) -> int | None:
        return self.long(key, low=low) if self.has(key) else None

    def _integer(self, key: str, value: object, low: int, high: int) -> int:
        # A bool is an int to Python, not to JSON.
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.fail(key, f"an integer from {low} to {high}", value)
        return value

    def text(self, key: str) -> str:
        value = self.required(key)
        if not isinstance(value, str):
            self.fail(key, "a string", value)
        return value

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def boolean(self, key: str) -> bool:
        value = self.required(key)
        if not isinstance(value, bool):
            self.fail(key, "true or false", value)
        return value

    def object(self, key: str) -> JsonObject:
        return JsonObject.of(self.required(key), label=self.label, place=self.at(key))

    def list_(self, key: str) -> list[Any]:
        value = self.required(key)
        if not isinstance(value, list):
            self.fail(key, "a list", value)
        return value

    def ints(self, key: str) -> tuple[int, ...]:
        return tuple(self._integer(f"{key}[{i}]", v, INT_MIN, INT_MAX) for i, v in enumerate(self.list_(key)))

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.list_(key)
        for i, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"{key}[{i}]", "a string", value)
        return tuple(values)

    def text_map(self, key: str) -> dict[str, str]:
        """A string to string map; empty when absent."""
        if not self.has(key):
            return {}
        inner = self.object(key)
        for name in inner.members:
            inner.text(name)
        return dict(inner.members)

    def objects(self, key: str) -> Iterator[JsonObject]:
        """The objects of a required list."""
        for i, value in enumerate(self.list_(key)):
            yield JsonObject.of(value, label=self.label, place=f"{self.at(key)}[{i}]")

    def optional_objects(self, key: str) -> Iterator[JsonObject]:
        return self.objects(key) if self.has(key) else iter(())

    def guard(self, build: Callable[[], T]) -> T:
        """Build a value from this object; a rule it breaks is reported at this place of this file."""
        try:
            return build()
        except FormatViolation as error:
            if error.args and str(error).startswith(f"Invalid {self.label}:"):
                raise
            raise FormatViolation(f"Invalid {self.label}: {self.place}: {error}") from error
        except ValueError as error:  # InvalidInput is one: the value rules are the same for callers and for files
            raise FormatViolation(f"Invalid {self.label}: {self.place}: {error}") from error


def fail(label: str, place: str, expected: str, got: object) -> NoReturn:
    raise FormatViolation(f"Invalid {label}: {place}: expected {expected}, got {shown(got)}.")


def shown(value: object) -> str:
    """A short form of any JSON value for a message."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "an object"
        case list():
            return "a list"
        case int() if value.bit_length() > 128:
            return "a huge integer"
        case _:
            text = repr(value)
            return text if len(text) <= _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}…"


def parse_json(data: bytes | bytearray | memoryview | str, *, label: str) -> Any:
    """The JSON value in these bytes."""
    try:
        return msgspec.json.decode(data)
    except RecursionError as error:
        raise FormatViolation(f"Invalid {label}: expected JSON of moderate depth, got very deep nesting.") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise FormatViolation(f"Invalid {label}: expected JSON, got damaged bytes: {error}.") from error


def inflate(data: bytes, *, label: str, inflated_bytes_max: int = INFLATED_BYTES_MAX) -> bytes:
    """The bytes as they are, or inflated when they are gzip (told by the magic bytes, not by a file name)."""
    if data[:2] != _GZIP_MAGIC:
        return data
    parts: list[bytes] = []
    left, at, members = inflated_bytes_max, 0, 0
    member = zlib.decompressobj(wbits=31)
    while at < len(data):
        if member.eof:
            member = zlib.decompressobj(wbits=31)
            members += 1
        if members > _GZIP_MEMBERS_MAX:
            raise FormatViolation(f"Invalid {label}: expected at most {_GZIP_MEMBERS_MAX} gzip members, got more.")
        chunk = data[at : at + _CHUNK_BYTES]
        try:
            # One byte over the cap is enough to tell; a bomb is never inflated further.
            part = member.decompress(chunk, left + 1)
        except zlib.error as error:
            raise FormatViolation(f"Invalid {label}: expected gzip data, got damaged bytes: {error}.") from error
        left -= len(part)
        if left < 0:
            raise FormatViolation(f"Invalid {label}: expected at most {inflated_bytes_max} inflated bytes, got more.")
        parts.append(part)
        at += len(chunk) - len(member.unused_data)
    if not member.eof:
        raise FormatViolation(f"Invalid {label}: expected a complete gzip stream, got a truncated one.")
    return b"".join(parts)
