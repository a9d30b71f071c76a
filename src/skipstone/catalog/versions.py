"""Which metadata file of a file system table is the current one.

Spec: "File System Tables".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.tables.metadata_files import parse_metadata_file_name
from skipstone.storage.paths import join
from skipstone.storage.protocol import Storage

VERSION_HINT: Final = "version-hint.text"
_SUFFIXES: Final = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")


def find_current(storage: Storage, directory: str) -> str | None:
    """The location of the newest version in a metadata directory; None if there is no version at all."""
    version = _hinted(storage, directory)
    found = None if version is None else find_version(storage, directory, version)
    if version is None or found is None:
        # No hint, or one that points at nothing: look at all there is.
        newest = max(version_files(storage, directory), default=None)
        if newest is None:
            return None
        version, found = newest
    # The hint is written after the version, so there may be newer ones.
    while (newer := find_version(storage, directory, version + 1)) is not None:
        version, found = version + 1, newer
    return found


def find_version(storage: Storage, directory: str, version: int) -> str | None:
    """The location of one version, plain or compressed."""
    locations = (join(directory, f"v{version}{suffix}") for suffix in _SUFFIXES)
    return next((location for location in locations if storage.exists(location)), None)


def version_files(storage: Storage, directory: str) -> Iterator[tuple[int, str]]:
    """All versions in a metadata directory, in no order."""
    for child in storage.children(directory):
        if child.is_directory or not child.name.startswith("v"):
            continue
        try:
            name = parse_metadata_file_name(child.name)
        except InvalidInput:
            continue
        if name.unique is None:
            yield name.version, join(directory, child.name)


def _hinted(storage: Storage, directory: str) -> int | None:
    try:
        text = storage.read(join(directory, VERSION_HINT))[:64].strip()
    except NotFound:
        return None
    # A damaged hint is no hint.
    return int(text) if text.isdigit() else None
