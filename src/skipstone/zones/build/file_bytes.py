"""The bytes of a data file, read piece by piece.

Law: no more than the caller asks for, and never more than a cap, is held in memory, whatever the file says about its
own sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from skipstone.errors import FormatViolation

# No structure that statistics need is larger than this; a file that says so is not believed.
STRUCTURE_BYTES_MAX: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class FileBytes:
    """`read(offset, length)` gives bytes of the file, `size` is the length of it, `source` its name in messages."""

    read: Callable[[int, int], bytes]
    size: int
    source: str = "file"

    @staticmethod
    def of_buffer(data: bytes | memoryview, source: str = "file") -> FileBytes:
        view = memoryview(data)
        return FileBytes(lambda offset, length: bytes(view[offset : offset + length]), len(view), source)

    @staticmethod
    def of_arrow(file: Any, source: str = "file") -> FileBytes:
        """From a pyarrow file that can be read at any place."""
        return FileBytes(lambda offset, length: bytes(file.read_at(length, offset)), file.size(), source)

    def piece(self, offset: int, length: int, what: str, *, length_max: int = STRUCTURE_BYTES_MAX) -> bytes:
        """Exactly these bytes; a violation where the file does not have them or they are too many."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise FormatViolation(
                f"Invalid {what} in {self.source}: expected it within {self.size} bytes, "
                f"got offset {offset} and length {length}."
            )
        if length > length_max:
            raise FormatViolation(
                f"Invalid {what} in {self.source}: expected at most {length_max} bytes, got {length}."
            )
        data = self.read(offset, length)
        if len(data) != length:
            raise FormatViolation(f"Invalid {what} in {self.source}: expected {length} bytes, got {len(data)}.")
        return data
