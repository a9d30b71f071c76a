"""Where index files are, and what they are called.

They live beside, not under, the table's location, where no engine looks for orphan files; in a hidden directory, which
catalogs of directories pass over. A sidecar is named after its manifest, a roll-up after the manifest list of its
snapshot, each with a digest of the full path, as manifests of two directories may share a name.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from skipstone.metadata.tables.properties import INDEX_PATH, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.beside import directory_beside
from skipstone.storage.paths import join

HIDDEN: Final = ".skipstone-index"
SIDECAR: Final = ".zones.parquet"
ROLLUP: Final = ".rollup"
_NEAR: Final = ("/", "file:")


def index_directory(metadata: TableMetadata) -> str | None:
    """The directory of a table's index; None where the table has no neighbourhood to keep one in."""
    return directory_beside(metadata, HIDDEN, told=property_value(metadata.properties, INDEX_PATH))


def is_near(path: str) -> bool:
    """Whether a path is on this machine, where many small reads cost less than the bytes between them."""
    return path.startswith(_NEAR)


def is_index_file(path: str) -> bool:
    return path.endswith((SIDECAR, ROLLUP))


def sidecar_path(directory: str, manifest_path: str) -> str:
    return join(directory, _named_after(manifest_path) + SIDECAR)


def rollup_path(directory: str, manifest_list: str) -> str:
    return join(directory, _named_after(manifest_list) + ROLLUP)


def _named_after(path: str) -> str:
    name = path.rpartition("/")[2].removesuffix(".avro")
    return f"{name[:120]}-{_digest(path)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
