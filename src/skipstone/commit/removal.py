"""Files leave the table: manifests that list them are rewritten with the entries marked deleted.

Laws: a manifest is rewritten only if an entry of it goes. What stays keeps its snapshot id, sequence numbers and row
ids, written out. With a data file go the deletes that point to it and to nothing else: deletion vectors, and position
deletes of that one file.

Spec: "Manifest Entry Fields", "Deletion Vectors", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.commit.added import by_spec, partition_column
from skipstone.commit.context import CommitContext
from skipstone.commit.manifests import entries_of, integers, is_live, is_remembered, rows_at
from skipstone.commit.matching import (
    Partitions,
    in_partitions,
    manifests_that_may_hold,
    may_hold_match,
    metric_ids,
    tuples_of,
    verdicts_of_files,
    verdicts_of_partitions,
)
from skipstone.commit.writing import store_entries
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import EntryStatus, FileContent, ManifestContent, ManifestFile
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.reserved import DELETE_FILE_PATH
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.snapshot_manifests import partition_type_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate
from skipstone.zones.verdict import Verdict

# A delete file by its path, and its offset there if it is a deletion vector.
DeleteKey = tuple[str, int | None]

_DATA_COLUMNS: Final = ("status", "file_path", "file_format", "partition", "record_count")
_DELETE_COLUMNS: Final = ("status", "content", "file_path", "partition", "referenced_data_file", "content_offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Which files shall go. A file goes if any of these names it."""

    data_paths: frozenset[str] = frozenset()
    data_partitions: Partitions | None = None  # where the data paths are, if that is known
    delete_files: frozenset[DeleteKey] = frozenset()
    predicate: Predicate | None = None  # bound and normalised: files of which every row matches
    partitions: Mapping[int, frozenset[Hashable]] = field(default_factory=dict)  # keys by spec id
    float_order: FloatOrder = FloatOrder.IEEE

    @property
    def removes_data(self) -> bool:
        return bool(self.data_paths or self.partitions) or self.predicate is not None

    @property
    def is_empty(self) -> bool:
        return not self.removes_data and not self.delete_files


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedFiles:
    """Entries, complete, that went from one manifest."""

    spec: PartitionSpec
    content: ManifestContent
    entries: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining:
    """What is left: the manifests, in order, some of them rewritten; and what went."""

    manifests: tuple[ManifestFile, ...]
    removed: tuple[RemovedFiles, ...] = ()
    # A file of which the predicate may match some rows and not others: it cannot be removed, and may not stay.
    partly_matching: str | None = None

    def paths(self, content: ManifestContent) -> set[str]:
        """The paths of removed data files, or of removed delete files."""
        found: set[str] = set()
        for part in self.removed:
            if part.content == content:
                column: Any = part.entries.column("file_path")
                found.update(column.to_pylist())
        return found

    def delete_keys(self) -> set[DeleteKey]:
        keys: set[DeleteKey] = set()
        for part in self.removed:
            if part.content == ManifestContent.DELETES:
                keys.update(delete_keys(part.entries))
        return keys


def remove_files(
    manifests: Iterable[ManifestFile],
    removal: Removal,
    *,
    metadata: TableMetadata,
    context: CommitContext,
    snapshot_id: int,
) -> Remaining:
    """The manifests without the files that shall go."""
    listed = list(manifests)
    if removal.is_empty:
        return Remaining(manifests=tuple(listed))
    step = _Step(removal, metadata, context, snapshot_id)
    kept: dict[int, list[ManifestFile]] = {}
    data = [m for m in listed if m.content == ManifestContent.DATA]
    worth_reading = step.data_manifests(data) if removal.removes_data else set()
    for i, manifest in enumerate(listed):
        if manifest.content == ManifestContent.DATA:
            is_worth = manifest.manifest_path in worth_reading
            kept[i] = step.filter_data(manifest) if is_worth else [manifest]
    gone = step.paths_gone()
    worth_reading = step.delete_manifests([m for m in listed if m.content == ManifestContent.DELETES])
    for i, manifest in enumerate(listed):
        if manifest.content == ManifestContent.DELETES:
            is_worth = manifest.manifest_path in worth_reading
            kept[i] = step.filter_deletes(manifest, gone) if is_worth else [manifest]
    return Remaining(
        manifests=tuple(m for i in range(len(listed)) for m in kept[i]),
        removed=tuple(step.removed),
        partly_matching=step.partly_matching,
    )


class _Step:
    """One pass over the manifests of a snapshot."""

    def __init__(self, removal: Removal, metadata: TableMetadata, context: CommitContext, snapshot_id: int) -> None:
        self.removal = removal
        self.metadata = metadata
        self.context = context
        self.snapshot_id = snapshot_id
        self.removed: list[RemovedFiles] = []
        self.partly_matching: str | None = None
        self._paths = pa.array(sorted(removal.data_paths), pa.string())

    def data_manifests(self, manifests: list[ManifestFile]) -> set[str]:
        """The manifests that may hold data files to remove."""
        r = self.removal
        if r.data_partitions is None or r.predicate is not None or r.partitions:
            return {m.manifest_path for m in manifests}
        return manifests_that_may_hold(r.data_partitions, manifests, self.metadata)

    def delete_manifests(self, manifests: list[ManifestFile]) -> set[str]:
        """The manifests that may hold deletes to remove. Deletes of one file are in the partition of the file."""
        r = self.removal
        if r.delete_files or r.predicate is not None or r.partitions:
            return {m.manifest_path for m in manifests}
        partitions: dict[int, list[dict[int, Any]]] = {}
        for part in self.removed:
            partitions.setdefault(part.spec.spec_id, []).extend(tuples_of(part.entries, self.metadata, part.spec))
        return manifests_that_may_hold(partitions, manifests, self.metadata) if manifests else set()

    def paths_gone(self) -> frozenset[str]:
        paths: set[str] = set()
        for part in self.removed:
            column: Any = part.entries.column("file_path")
            paths.update(column.to_pylist())
        return frozenset(paths)

    def filter_data(self, manifest: ManifestFile) -> list[ManifestFile]:
        if manifest.has_no_live_files or not self._may_hold_data(manifest):
            return [manifest]
        return self._filter(manifest, ("data",), self._data_mask)

    def filter_deletes(self, manifest: ManifestFile, gone: frozenset[str]) -> list[ManifestFile]:
        r = self.removal
        if manifest.has_no_live_files or not (gone or r.delete_files or r.predicate is not None or r.partitions):
            return [manifest]
        return self._filter(manifest, ("deletes", gone), lambda m, data: self._delete_mask(m, data, gone))

    def _filter(self, manifest: ManifestFile, key: tuple[Hashable, ...], mask_of: Any) -> list[ManifestFile]:
        # Numbers that the manifest's entries inherit are part of the manifest file, and so of the key.
        whole_key = (self.snapshot_id, self.metadata.format_version, manifest, *key)
        kept, removed = self.context.staging.once(whole_key, lambda: self._rewrite(manifest, mask_of))
        if removed is not None:
            self.removed.append(removed)
        found: list[ManifestFile] = kept
        return found

    def _rewrite(self, manifest: ManifestFile, mask_of: Any) -> tuple[list[ManifestFile], RemovedFiles | None]:
        data = None if is_remembered(manifest) else self.context.storage.read(manifest.manifest_path)
        mask = mask_of(manifest, data)
        if not mask.any():
            return [manifest], None
        spec = self.metadata.spec(manifest.partition_spec_id)
        entries = entries_of(self.context.storage, self.metadata, manifest, maps=True, data=data)
        live = is_live(entries)
        removed = RemovedFiles(spec=spec, content=manifest.content, entries=rows_at(entries, mask))
        rewritten = store_entries(
            rows_at(_with_status(entries, mask, self.snapshot_id), live),
            spec=spec,
            content=manifest.content,
            metadata=self.metadata,
            staging=self.context.staging,
            snapshot_id=self.snapshot_id,
        )
        return rewritten, removed

    def _may_hold_data(self, manifest: ManifestFile) -> bool:
        r = self.removal
        if r.data_paths or manifest.partition_spec_id in r.partitions:
            return True
        return r.predicate is not None and may_hold_match(r.predicate, manifest, self.metadata, r.float_order)

    def _data_mask(self, manifest: ManifestFile, data: bytes | None) -> Any:
        r, metadata = self.removal, self.metadata
        spec = metadata.spec(manifest.partition_spec_id)
        metrics = metric_ids(r.predicate, metadata) if r.predicate is not None else None
        entries = entries_of(
            self.context.storage, metadata, manifest, columns=_DATA_COLUMNS, metrics=metrics, data=data
        )
        live = is_live(entries)
        mask = np.zeros(entries.num_rows, np.bool_)
        if r.data_paths:
            mask |= _bools(pc.is_in(entries.column("file_path"), value_set=self._paths))
        if spec.spec_id in r.partitions:
            mask |= in_partitions(entries, metadata, spec, r.partitions[spec.spec_id])
        if r.predicate is not None:
            verdicts = verdicts_of_files(r.predicate, entries, metadata, spec, r.float_order)
            partly = np.flatnonzero(live & ~mask & (verdicts == Verdict.UNKNOWN))
            if len(partly):
                self.partly_matching = entries.column("file_path")[int(partly[0])].as_py()
            mask |= verdicts == Verdict.EVERY_ROW_MATCHES
        return mask & live

    def _delete_mask(self, manifest: ManifestFile, data: bytes | None, gone: frozenset[str]) -> Any:
        r, metadata = self.removal, self.metadata
        spec = metadata.spec(manifest.partition_spec_id)
        needs_bounds = bool(gone)
        columns = (*_DELETE_COLUMNS, "lower_bounds", "upper_bounds") if needs_bounds else _DELETE_COLUMNS
        entries = entries_of(self.context.storage, metadata, manifest, columns=columns, data=data)
        mask = np.zeros(entries.num_rows, np.bool_)
        if r.delete_files:
            mask |= np.array([key in r.delete_files for key in delete_keys(entries)], np.bool_)
        if gone:
            mask |= np.array([path in gone for path in referenced_files(entries)], np.bool_)
        if spec.spec_id in r.partitions:
            going = in_partitions(entries, metadata, spec, r.partitions[spec.spec_id])
            if spec.is_unpartitioned:
                # Equality deletes without a partition are about files of every spec, and some of those stay.
                going &= integers(entries, "content") != FileContent.EQUALITY_DELETES
            mask |= going
        if r.predicate is not None:
            # Metrics of deletes say nothing about the rows they delete: only the whole partition going is a proof.
            verdicts = verdicts_of_partitions(r.predicate, entries, metadata, spec, r.float_order)
            mask |= verdicts == Verdict.EVERY_ROW_MATCHES
        return mask & is_live(entries)


def _with_status(entries: pa.Table, removed: Any, snapshot_id: int) -> pa.Table:
    """Entries as they are carried over: existing, or deleted by this snapshot."""
    status = np.where(removed, int(EntryStatus.DELETED), int(EntryStatus.EXISTING)).astype(np.int32)
    ids = np.where(removed, snapshot_id, integers(entries, "snapshot_id"))
    names = entries.schema
    entries = entries.set_column(names.get_field_index("status"), "status", pa.array(status))
    return entries.set_column(names.get_field_index("snapshot_id"), "snapshot_id", pa.array(ids, pa.int64()))


def delete_keys(entries: pa.Table) -> list[DeleteKey]:
    """What tells delete files apart."""
    paths: Any = entries.column("file_path")
    offsets: Any = entries.column("content_offset")
    return list(zip(paths.to_pylist(), offsets.to_pylist(), strict=True))


def referenced_files(entries: pa.Table) -> list[str | None]:
    """The one data file that each delete file is about, None if it may be about several.

    Position deletes without `referenced_data_file` tell it by equal bounds of their file paths: a bound that was cut
    never equals the other one.
    """
    named: Any = entries.column("referenced_data_file")
    paths: list[str | None] = named.to_pylist()
    content = integers(entries, "content")
    open_rows = [i for i, path in enumerate(paths) if path is None and content[i] == FileContent.POSITION_DELETES]
    if open_rows and "lower_bounds" in entries.column_names:
        chosen = entries.select(["lower_bounds", "upper_bounds"]).take(pa.array(open_rows))
        for row, lower, upper in zip(open_rows, *(_path_bounds(chosen, n) for n in chosen.column_names), strict=True):
            if lower is not None and lower == upper:
                paths[row] = lower.decode("utf-8", "replace")
    return paths


def _path_bounds(table: pa.Table, name: str) -> list[bytes | None]:
    column: Any = table.column(name)
    return [None if m is None else dict(m).get(DELETE_FILE_PATH.id) for m in column.to_pylist()]


def _bools(column: Any) -> Any:
    return column.fill_null(False).to_numpy()


def paths_of(files: Any) -> frozenset[str]:
    """The paths in whatever the caller names files by: a table with `file_path`, an array, or a sequence of text."""
    if files is None:
        return frozenset()
    if isinstance(files, pa.Table | pa.RecordBatch):
        files = files.column("file_path")
    found: list[Any] = files.to_pylist() if isinstance(files, pa.Array | pa.ChunkedArray) else list(files)
    for path in found:
        if not isinstance(path, str):
            raise InvalidInput(f"Cannot remove files: expected paths as text, got {path!r}.")
    return frozenset(found)


def partitions_of(files: Any, metadata: TableMetadata) -> Partitions | None:
    """Where the files are, if the caller's table tells it by `spec_id` and `partition`, as a plan's files do."""
    if not isinstance(files, pa.Table) or not {"spec_id", "partition"} <= set(files.column_names):
        return None
    found: dict[int, list[dict[int, Any]]] = {}
    for spec, chosen in by_spec(files, metadata):
        entries = pa.table({"partition": partition_column(chosen, partition_type_of(spec, metadata))})
        found[spec.spec_id] = tuples_of(entries, metadata, spec)
    return found


def delete_keys_of(files: Any) -> frozenset[DeleteKey]:
    """The delete files the caller names: a table with `file_path` and `content_offset`, or pairs of them, or paths."""
    if files is None:
        return frozenset()
    if isinstance(files, pa.Table):
        if "content_offset" in files.column_names:
            return frozenset(delete_keys(files))
        return frozenset((path, None) for path in paths_of(files))
    if isinstance(files, pa.Array | pa.ChunkedArray):
        return frozenset((path, None) for path in paths_of(files))
    return frozenset((f, None) if isinstance(f, str) else (f[0], f[1]) for f in files)


def missing_of(wanted: Collection[str], found: Collection[str]) -> list[str]:
    """Which files were not there, in a stable order."""
    return sorted(set(wanted) - set(found))
