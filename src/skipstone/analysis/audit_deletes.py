"""Delete files held against what manifests say about them.

Laws: the record count of a deletion vector is its cardinality, that of other delete files how many rows they have.
Plans subtract the counts of vectors, and a reader refuses a vector that has another number of positions.

Spec: "Deletion Vectors", "Position Delete Files", "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skipstone.analysis.audit import Finding
from skipstone.errors import SkipstoneError
from skipstone.metadata.blobs import deletion_vector
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.plan.entries import DELETE_COLUMNS, in_parallel, read_live_entries
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.read.whole_file import project_file
from skipstone.storage.protocol import Storage


def audit_deletes(
    metadata: TableMetadata, storage: Storage, snapshot: Snapshot, *, threads: int | None = None
) -> list[Finding]:
    """Every live delete file and deletion vector of the snapshot."""
    listed = [m for m in manifests_of(snapshot, metadata, storage) if m.content == ManifestContent.DELETES]
    if not listed:
        return []
    manifests = [m.manifest_path for m in listed]
    entries = read_live_entries(listed, metadata, storage, columns=DELETE_COLUMNS).to_pylist()

    def audit(entry: dict[str, Any]) -> Sequence[Finding]:
        return _of_file(entry, manifests[entry["manifest"]], storage)

    return [f for found in in_parallel(audit, entries, threads) for f in found]


def _of_file(entry: dict[str, Any], stored_in: str, storage: Storage) -> list[Finding]:
    path, offset = entry["file_path"], entry["content_offset"]
    about = path if offset is None else f"the deletion vector at {offset} of {path}"
    if entry["key_metadata"] is not None:
        return []  # nothing of an encrypted file can be told
    try:
        actual = {"record_count": _num_records(entry, storage), "file_size_in_bytes": storage.size(path)}
    except (SkipstoneError, OSError) as error:
        return [Finding(stored_in=stored_in, about=about, fact="file", stored="readable", actual=str(error))]
    where: Any = {"stored_in": stored_in, "about": about, "file_path": path, "content_offset": offset}
    return [
        Finding(fact=fact, stored=entry[fact], actual=value, is_about_deletes=True, **where)
        for fact, value in actual.items()
        if entry[fact] != value
    ]


def _num_records(entry: dict[str, Any], storage: Storage) -> int:
    path = entry["file_path"]
    if entry["content_offset"] is None:
        return sum(rows.num_rows for _, rows in project_file(storage, path, entry["file_format"], StructType(())))
    bitmap = deletion_vector.load(
        lambda start, length: storage.read_range(path, start, length),
        content_offset=entry["content_offset"],
        content_size_in_bytes=entry["content_size_in_bytes"],
        cardinality=None,
        source=path,
    )
    return len(bitmap)
