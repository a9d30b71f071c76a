"""Opening a data file by its format."""

from __future__ import annotations

from typing import Any, Final

import pyarrow

from skipstone.errors import FormatViolation, SkipstoneError, Unsupported
from skipstone.metadata.blobs.encryption import decrypt_file, parse_key_metadata
from skipstone.read.avro import AvroDataFile
from skipstone.read.opened import BATCH_ROWS_MAX, OpenedFile
from skipstone.read.orc import OrcDataFile
from skipstone.read.parquet import ParquetDataFile
from skipstone.storage.memory import MemoryStorage
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_FORMATS: Final[dict[str, Any]] = {"parquet": ParquetDataFile, "orc": OrcDataFile, "avro": AvroDataFile}


def open_file(
    storage: Storage,
    path: str,
    file_format: str,
    *,
    key_metadata: bytes | None = None,
    batch_rows_max: int = BATCH_ROWS_MAX,
    use_threads: bool = False,
    checks_pages: bool = False,
    partition: str | None = None,
) -> OpenedFile:
    """The file, opened; a damaged one is a FormatViolation that names it. `use_threads` decodes columns in parallel.

    `partition` names a column of partition tuples, which Avro files of Java hold in a form of their own.
    `checks_pages` holds the pages of a Parquet file against their checksums, where its writer gave them any.
    `key_metadata` opens an encrypted file: Parquet by its own means, any other as a stream that is encrypted whole.
    """
    kind = _FORMATS.get(file_format.lower())
    if kind is None:
        raise Unsupported(f"Cannot read {path}: expected format parquet, orc or avro, got {file_format!r}.")
    more: dict[str, Any] = {"checks_pages": True} if checks_pages and kind is ParquetDataFile else {}
    if kind is AvroDataFile:
        more["partition"] = partition
    if key_metadata is not None and kind is ParquetDataFile:
        more["key"] = parse_key_metadata(key_metadata, source=path)
    elif key_metadata is not None:
        storage = _decrypted(storage, path, key_metadata)
    try:
        opened: OpenedFile = kind(storage, path, batch_rows_max=batch_rows_max, use_threads=use_threads, **more)
    except SkipstoneError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FormatViolation(
            f"Cannot read {path}: expected a {file_format.lower()} file, got: {reason}. "
            "The file is cut short or damaged."
        ) from error
    return opened


def _decrypted(storage: Storage, path: str, key_metadata: bytes) -> Storage:
    """A storage that holds nothing but this file, in plain bytes."""
    plain = MemoryStorage()
    plain.write_new(path, decrypt_file(storage.read(path), key_metadata, source=path))
    return plain
