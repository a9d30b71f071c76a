"""Files of our own analyses that nothing needs any more.

Laws: a record goes with its snapshot; a file of summaries with the last record that names it. A record that cannot be
read may name any file, so then only records go. Files that no record names are left alone: an analysis that is under
way may have just written them.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from skipstone.errors import SkipstoneError
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.places import RECORD, stats_directory
from skipstone.stats.records import parse_record
from skipstone.storage.protocol import FileInfo, Storage


def analysis_files(metadata: TableMetadata, storage: Storage) -> list[FileInfo]:
    """All files of a table's analyses; none where they cannot be reached."""
    try:
        return list(storage.list(stats_directory(metadata)))
    except (SkipstoneError, OSError):
        return []


def unused_analysis_files(before: TableMetadata, after: TableMetadata, storage: Storage) -> list[str]:
    """What analyses of snapshots that are gone leave behind."""
    stored = {info.path.rpartition("/")[2]: info for info in analysis_files(before, storage)}
    records = {name: int(text) for name in stored if (text := name.removesuffix(RECORD)) != name and text.isdecimal()}
    gone = [name for name, snapshot_id in records.items() if snapshot_id not in after.snapshots_by_id]
    if not gone:
        return []
    needed, candidates = (_named(names, stored, storage) for names in (sorted(records.keys() - set(gone)), gone))
    unused = set() if needed is None or candidates is None else candidates - needed
    return sorted(stored[name].path for name in {*gone, *unused} if name in stored)


def _named(records: Collection[str], stored: dict[str, FileInfo], storage: Storage) -> set[str] | None:
    """The files that records name; None where one cannot be read."""
    named: set[str] = set()
    for name in records:
        try:
            named.update(parse_record(storage.read(stored[name].path)).files)
        except (msgspec.MsgspecError, UnicodeDecodeError, SkipstoneError, OSError):
            return None
    return named
