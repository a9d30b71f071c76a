"""Opening a data file by its format."""

from __future__ import annotations

from typing import Any, Final

import pyarrow

from skipstone.errors import FormatViolation, SkipstoneError, Unsupported
from skipstone.read.avro import AvroDataFile
from skipstone.read.opened import OpenedFile
from skipstone.read.orc import OrcDataFile
from skipstone.read.parquet import ParquetDataFile
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_FORMATS: Final[dict[str, Any]] = {"parquet": ParquetDataFile, "orc": OrcDataFile, "avro": AvroDataFile}


def open_file(storage: Storage, path: str, file_format: str, *, use_threads: bool = False) -> OpenedFile:
    """The file, opened; a damaged one is a FormatViolation that names it. `use_threads` decodes columns in parallel."""
    kind = _FORMATS.get(file_format.lower())
    if kind is None:
        raise Unsupported(f"Cannot read {path}: expected format parquet, orc or avro, got {file_format!r}.")
    try:
        opened: OpenedFile = kind(storage, path, use_threads=use_threads)
    except SkipstoneError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatViolation(
            f"Cannot read {path}: expected a {file_format.lower()} file, got: {reason}. "
            "The file is cut short or damaged."
        ) from error
    return opened
