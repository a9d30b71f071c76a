"""Orphan files: under a table's location, old enough, and named by no version of its metadata that it remembers.

Laws: the files are listed before the metadata is loaded, so a commit in between is seen. Younger files may belong to a
commit that is under way, and are never touched. What cannot be read is never taken for unused: the search stops.
A path that differs from a known one only in scheme or authority is not guessed about.

Spec: "Table Metadata Fields" (`metadata-log`), "Snapshots".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from skipstone.catalog.metadata_store import metadata_directory
from skipstone.catalog.protocol import LoadedTable
from skipstone.catalog.versions import VERSION_HINT
from skipstone.errors import InvalidInput, NotFound
from skipstone.index.cleaning import index_files, name_of, needed_index_files
from skipstone.maintenance.expire import check_deletable
from skipstone.maintenance.reachable import list_paths, live_files, manifests_by_path, statistics_paths
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.storage.paths import FILE, join, local_path, scheme_of, split_authority
from skipstone.storage.protocol import FileInfo, Storage

AGE_MS_DEFAULT: Final = 3 * 24 * 60 * 60 * 1000
# Other names of one file system.
EQUAL_SCHEMES: Final[Mapping[str, str]] = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
# Where a Spark job of ours keeps the files of its tasks until it commits: all that it leaves when it is killed.
_UNCOMMITTED: Final = re.compile(r"/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/_temporary/")
_SHOWN_MAX: Final = 5


class PrefixMismatch(StrEnum):
    """What to do with a file whose path is known with another scheme or authority."""

    ERROR = "error"
    IGNORE = "ignore"  # it is no orphan
    DELETE = "delete"  # it is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Where to look, and what counts as the same place."""

    older_than_ms: int
    location: str | None = None  # the table's own by default
    prefix_mismatch: PrefixMismatch = PrefixMismatch.ERROR
    equal_schemes: Mapping[str, str] = field(default_factory=lambda: EQUAL_SCHEMES)
    equal_authorities: Mapping[str, str] = field(default_factory=dict)

    def split(self, path: str) -> tuple[tuple[str, str], str]:
        """Scheme and authority, each by the name it goes under here, and the rest of a path."""
        try:
            scheme = scheme_of(path)
            if scheme == FILE:
                return (scheme, ""), local_path(path)
            authority, rest = split_authority(path)
        except InvalidInput:
            return ("", ""), path
        return (self.equal_schemes.get(scheme, scheme), self.equal_authorities.get(authority, authority)), "/" + rest


def find_orphans(load: Callable[[], LoadedTable], storage: Storage, search: Search) -> list[FileInfo]:
    """The orphan files of a table, by path. `load` gives the table as it is now."""
    first = load()
    check_deletable(first.metadata, "remove orphan files")
    location = search.location or first.metadata.location
    hidden = _hidden_partitions(first.metadata)
    above = len(search.split(location)[1].rstrip("/"))
    candidates = [
        info
        for info in storage.list(location)
        if info.modified_ms < search.older_than_ms and not _is_hidden(search.split(info.path)[1][above:], hidden)
    ]
    index = [] if search.location is not None else _old(index_files(first.metadata, storage), search)
    if not candidates and not index:
        return []
    table = load()
    needed = needed_paths(table, storage)
    known: dict[str, set[tuple[str, str]]] = {}
    for path in needed:
        prefix, rest = search.split(path)
        known.setdefault(rest, set()).add(prefix)
    orphans = [*_chosen(candidates, known, search), *_unneeded_index(index, needed, table, storage)]
    return sorted(orphans, key=lambda info: info.path)


def _old(found: list[FileInfo], search: Search) -> list[FileInfo]:
    return [info for info in found if info.modified_ms < search.older_than_ms]


def _unneeded_index(index: list[FileInfo], needed: set[str], table: LoadedTable, storage: Storage) -> list[FileInfo]:
    """Index files of manifests and manifest lists that no metadata names."""
    if not index:
        return []
    avro = [path for path in needed if path.endswith(".avro")]
    # By name, which is unique in the one directory: a listing may spell its path in another way.
    useful = {name_of(path) for path in needed_index_files(table.metadata, storage, avro, avro)}
    return [info for info in index if name_of(info.path) not in useful]


def _chosen(
    candidates: list[FileInfo], known: Mapping[str, set[tuple[str, str]]], search: Search
) -> Iterator[FileInfo]:
    mismatches = []
    for info in candidates:
        prefix, rest = search.split(info.path)
        prefixes = known.get(rest)
        if prefixes is None:
            yield info
        elif prefix not in prefixes:
            mismatches.append(info)
    if mismatches and search.prefix_mismatch == PrefixMismatch.ERROR:
        shown = ", ".join(info.path for info in mismatches[:_SHOWN_MAX])
        raise InvalidInput(
            f"Cannot tell whether {len(mismatches)} files are orphans: the table names them with another scheme or "
            f"authority: {shown}. Say which schemes or authorities are equal, or what to do about a prefix mismatch."
        )
    if search.prefix_mismatch == PrefixMismatch.DELETE:
        yield from mismatches


def needed_paths(table: LoadedTable, storage: Storage) -> set[str]:
    """All files that the table's metadata names, now or in a version that its log remembers."""
    current = table.metadata
    paths = {table.metadata_location, join(metadata_directory(current), VERSION_HINT)}
    paths.update(e.metadata_file for e in current.metadata_log)
    paths |= _named(current, current.snapshots, storage, may_be_missing=False)
    # A list is read once, however many versions have its snapshot.
    seen = set(list_paths(current.snapshots))
    for version in _remembered(current, storage):
        paths |= set(statistics_paths(version).values())
        older = {key: s for s in version.snapshots for key in list_paths([s]) if key not in seen}
        embedded = [s for s in version.snapshots if s.manifest_list is None]
        seen |= older.keys()
        # Their clean-up may have begun: what is missing is no orphan either.
        paths |= _named(version, [*older.values(), *embedded], storage, may_be_missing=True)
    return paths


def _remembered(metadata: TableMetadata, storage: Storage) -> Iterator[TableMetadata]:
    for entry in metadata.metadata_log:
        try:
            data = storage.read(entry.metadata_file)
        except NotFound:
            continue
        yield parse_table_metadata(data, source=entry.metadata_file)


def _named(
    metadata: TableMetadata, snapshots: list[Snapshot] | tuple[Snapshot, ...], storage: Storage, *, may_be_missing: bool
) -> set[str]:
    manifests = manifests_by_path(snapshots, metadata, storage, may_be_missing=may_be_missing)
    files = live_files(manifests.values(), metadata, storage, may_be_missing=may_be_missing)
    return {
        *list_paths(snapshots).values(),
        *statistics_paths(metadata).values(),
        *(m.manifest_path for m in manifests.values()),
        *(path for path, _ in files.values()),
    }


def _hidden_partitions(metadata: TableMetadata) -> tuple[str, ...]:
    """Starts of directory names that look hidden and are partitions."""
    names = {f.name for spec in metadata.partition_specs for f in spec.fields}
    return tuple(f"{name}=" for name in names if name.startswith(("_", ".")))


def _is_hidden(path: str, partitions: tuple[str, ...]) -> bool:
    """Whether a file or a directory above it is hidden: other programs keep their own things there."""
    if _UNCOMMITTED.search(path):
        return False
    return any(part.startswith(("_", ".")) and not part.startswith(partitions or ("\0",)) for part in path.split("/"))
