"""Names of metadata files: `v3.metadata.json` in file system tables, `00003-<uuid>.metadata.json` elsewhere.

A gzip file has `.gz` in its name, because some readers go by it: `.gz.metadata.json` is written, and
`.metadata.json.gz` is read too. Here, content decides.

Spec: "File System Tables", "Metastore Tables", Appendix F "Naming for GZIP compressed Metadata JSON files".
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Final

from skipstone.errors import InvalidInput

_NAME: Final = re.compile(
    r"(?:v(?P<hadoop>[0-9]{1,18})|(?P<version>[0-9]{1,18})-(?P<unique>[^/]+?))"
    r"(?:(?P<gz>\.gz)?\.metadata\.json|\.metadata\.json(?P<gz_last>\.gz))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFileName:
    """`unique` is the text that makes a metastore table's file name unique; None in file system tables."""

    version: int
    unique: str | None = None
    is_gzip: bool = False

    def __str__(self) -> str:
        suffix = ".gz.metadata.json" if self.is_gzip else ".metadata.json"
        stem = f"v{self.version}" if self.unique is None else f"{self.version:05d}-{self.unique}"
        return stem + suffix

    def next_name(self, *, is_gzip: bool = False) -> MetadataFileName:
        """The name of the file that replaces this one, unique anew in a metastore table."""
        unique = None if self.unique is None else str(uuid.uuid4())
        return MetadataFileName(version=self.version + 1, unique=unique, is_gzip=is_gzip)


def first_metadata_file_name(*, is_gzip: bool = False) -> MetadataFileName:
    """The name of a new metastore table's first metadata file."""
    return MetadataFileName(version=0, unique=str(uuid.uuid4()), is_gzip=is_gzip)


def parse_metadata_file_name(location: str) -> MetadataFileName:
    """The parts of a metadata file's name, from its name or whole location."""
    name = location.rsplit("/", 1)[-1]
    found = _NAME.fullmatch(name)
    if found is None:
        raise InvalidInput(
            f"Invalid metadata file name {name!r}: expected v<N>.metadata.json or <N>-<uuid>.metadata.json, "
            f"with .gz before or after when compressed."
        )
    return MetadataFileName(
        version=int(found["hadoop"] or found["version"]),
        unique=found["unique"],
        is_gzip=bool(found["gz"] or found["gz_last"]),
    )
