"""Where benchmarks of many small files put them.

For some minutes after a file was deleted ext4 gives its place in the table of files to nobody, and passes over all such
places again for every new file. After a test run that is half a millisecond a file, whoever makes it: a benchmark of
small files would time what was deleted before it. So directories are spread: each begins in a part of the disk of its
own, as those at the top of a file system do.
"""

from __future__ import annotations

import fcntl
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_GET_FLAGS: Final = 0x80086601  # FS_IOC_GETFLAGS and FS_IOC_SETFLAGS
_SET_FLAGS: Final = 0x40086602
_TOP_DIRECTORY: Final = 0x00020000  # FS_TOPDIR_FL


@contextmanager
def spread_directory() -> Iterator[Path]:
    """A temporary directory, gone at the end; `new_home` makes the ones in it."""
    with tempfile.TemporaryDirectory(prefix="skipstone-benchmark-") as folder:
        # Another file system has no such flag, nor the trouble.
        with suppress(OSError):
            _mark_as_top(folder)
        yield Path(folder)


def new_home(directory: Path) -> Path:
    # The name decides where on the disk it begins: another one for each run.
    return Path(tempfile.mkdtemp(dir=directory))


def _mark_as_top(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        (flags,) = struct.unpack("l", fcntl.ioctl(handle, _GET_FLAGS, struct.pack("l", 0)))
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack("l", flags | _TOP_DIRECTORY))
    finally:
        os.close(handle)
