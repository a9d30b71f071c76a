"""The metrics of a snapshot's summary, computed from the files a commit adds and removes.

Law: computed, not guessed. A total is the previous total plus what was added minus what was removed; when the previous
one is missing or a part of the change is unknown, the total is left out until `totals_of` counts the live files.
A deletion vector's size is that of its blob: several share one file.

Spec: Appendix F, "Optional Snapshot Summary Fields".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import OPERATION, Operation
from skipstone.metadata.types import Value

DATA: Final = 0
POSITION_DELETES: Final = 1
EQUALITY_DELETES: Final = 2

_THREADS_FILES_MIN: Final = 100_000


@dataclass(slots=True)
class _Counts:
    """What a set of files holds, by the kind of file."""

    data_files: int = 0
    records: int = 0
    position_delete_files: int = 0
    dvs: int = 0
    position_deletes: int = 0
    equality_delete_files: int = 0
    equality_deletes: int = 0
    delete_files: int = 0
    files_size: int = 0

    def count(self, group: _Group) -> None:
        self.files_size += group.size
        if group.content == DATA:
            self.data_files += group.files
            self.records += group.records
            return
        self.delete_files += group.files
        if group.content == EQUALITY_DELETES:
            self.equality_delete_files += group.files
            self.equality_deletes += group.records
        else:
            self.position_deletes += group.records
            if group.is_dv:
                self.dvs += group.files
            else:
                self.position_delete_files += group.files

    def merge(self, other: _Counts) -> None:
        for name in _COUNT_NAMES:
            if more := getattr(other, name):
                setattr(self, name, getattr(self, name) + more)


_COUNT_NAMES: Final = tuple(f.name for f in fields(_Counts))


# (name when added, name when removed, field), in the order the reference implementation writes them.
_CHANGES: Final = (
    ("added-data-files", "deleted-data-files", "data_files"),
    ("added-equality-delete-files", "removed-equality-delete-files", "equality_delete_files"),
    ("added-position-delete-files", "removed-position-delete-files", "position_delete_files"),
    ("added-delete-files", "removed-delete-files", "delete_files"),
    ("added-dvs", "removed-dvs", "dvs"),
    ("added-records", "deleted-records", "records"),
    ("added-files-size", "removed-files-size", "files_size"),
    ("added-position-deletes", "removed-position-deletes", "position_deletes"),
    ("added-equality-deletes", "removed-equality-deletes", "equality_deletes"),
)
_TOTALS: Final = (
    ("total-records", "records"),
    ("total-files-size", "files_size"),
    ("total-data-files", "data_files"),
    ("total-delete-files", "delete_files"),
    ("total-position-deletes", "position_deletes"),
    ("total-equality-deletes", "equality_deletes"),
)
# What a manifest's counts in a manifest list do not tell, by the manifest's content.
_NOT_IN_DATA_MANIFEST: Final = frozenset({"files_size"})
_NOT_IN_DELETE_MANIFEST: Final = frozenset(
    {"files_size", "position_delete_files", "dvs", "position_deletes", "equality_delete_files", "equality_deletes"}
)


class SummaryCollector:
    """Takes in the changes of one commit, then gives the summary.

    `partition_limit` is the table property `write.summary.partition-limit`: summaries per partition are included
    when no more partitions than this have changed.
    """

    def __init__(self, *, partition_limit: int = 0) -> None:
        self._partition_limit = partition_limit
        self._added: dict[str, _Counts] = {}
        self._removed: dict[str, _Counts] = {}
        self._changed: set[Hashable] = set()
        self._added_in_manifests = _Counts()
        self._removed_in_manifests = _Counts()
        self._unknown: set[str] = set()
        self._has_partitions = True
        self._deleted_duplicate_files = 0
        self._operational: dict[str, str] = {}

    def add(self, files: pa.Table, *, spec: PartitionSpec, schema: Schema, schemas: Iterable[Schema] = ()) -> None:
        """Count files added under one partition spec: rows of a manifest table.

        `schemas` are the table's older ones, for partition fields whose column was dropped.
        """
        self._take_in(self._added, files, spec, schema, tuple(schemas))

    def remove(self, files: pa.Table, *, spec: PartitionSpec, schema: Schema, schemas: Iterable[Schema] = ()) -> None:
        """Count files removed under one partition spec."""
        self._take_in(self._removed, files, spec, schema, tuple(schemas))

    def _take_in(
        self,
        by_path: dict[str, _Counts],
        files: pa.Table,
        spec: PartitionSpec,
        schema: Schema,
        schemas: tuple[Schema, ...],
    ) -> None:
        if self._partition_limit > 0:
            _count_by_path(by_path, files, spec, schema, schemas)
            self._changed = {*self._added, *self._removed}
            return
        # Nobody will read a path: partitions only have to be told apart.
        counts = by_path.setdefault("", _Counts())
        for group in _groups(files, 0):
            counts.count(group)
        self._changed.update((spec.spec_id, text) for text in _partition_texts(files))

    def add_manifest(
        self,
        *,
        is_delete_manifest: bool,
        added_files_count: int,
        added_rows_count: int,
        deleted_files_count: int,
        deleted_rows_count: int,
    ) -> None:
        """Count a whole manifest by its counts alone; partitions and sizes become unknown."""
        self._has_partitions = False
        if is_delete_manifest:
            self._unknown |= _NOT_IN_DELETE_MANIFEST
            self._added_in_manifests.delete_files += added_files_count
            self._removed_in_manifests.delete_files += deleted_files_count
        else:
            self._unknown |= _NOT_IN_DATA_MANIFEST
            self._added_in_manifests.merge(_Counts(data_files=added_files_count, records=added_rows_count))
            self._removed_in_manifests.merge(_Counts(data_files=deleted_files_count, records=deleted_rows_count))

    def count_duplicates(self, files: int) -> None:
        """Files listed more than once that the commit removed."""
        self._deleted_duplicate_files += files

    def set_manifests(self, *, created: int, kept: int, replaced: int, entries_processed: int | None = None) -> None:
        self._operational |= {
            "manifests-created": str(created),
            "manifests-kept": str(kept),
            "manifests-replaced": str(replaced),
        }
        if entries_processed is not None:
            self._operational["entries-processed"] = str(entries_processed)

    def summary(
        self,
        operation: Operation,
        previous: Mapping[str, str] | None,
        *,
        totals: Mapping[str, str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> dict[str, str]:
        """The whole summary.

        `previous` is the parent's summary, None when there is no parent, empty when it has none. `totals`, from
        `totals_of` the live files, replace whatever the previous summary says. `properties` are the caller's own.
        """
        added, removed = _sum(self._added), _sum(self._removed)
        added.merge(self._added_in_manifests)
        removed.merge(self._removed_in_manifests)
        own = {k: v for k, v in (properties or {}).items() if k != OPERATION}
        built = {OPERATION: operation.value, **own, **self._operational}
        built |= _changes(added, removed, self._unknown)
        if self._deleted_duplicate_files:
            built["deleted-duplicate-files"] = str(self._deleted_duplicate_files)
        if self._has_partitions:
            built |= self._partitions()
        built |= totals if totals is not None else _next_totals(previous, added, removed, self._unknown)
        return built

    def _partitions(self) -> dict[str, str]:
        built = {"changed-partition-count": str(len(self._changed))}
        if not self._partition_limit:
            return built
        paths = sorted(self._added.keys() | self._removed.keys())
        # The empty path is the one partition of an unpartitioned table: not worth a summary.
        if len(paths) <= self._partition_limit and any(paths):
            built["partition-summaries-included"] = "true"
            for path in filter(None, paths):
                changes = _changes(self._added.get(path, _Counts()), self._removed.get(path, _Counts()), ())
                built[f"partitions.{path}"] = ",".join(f"{name}={count}" for name, count in changes.items())
        return built


# The columns of live entries that totals are counted from; the plan's reader always wants the partition.
TOTALLED: Final = (
    "content", "partition", "record_count", "file_size_in_bytes", "content_offset", "content_size_in_bytes",
)  # fmt: skip


def totals_of(files: pa.Table) -> dict[str, str]:
    """The totals of a snapshot, counted from all of its live files."""
    counts = _Counts()
    for group in _groups(files, 0):
        counts.count(group)
    return {total: str(getattr(counts, name)) for total, name in _TOTALS}


def _changes(added: _Counts, removed: _Counts, unknown: set[str] | tuple[()]) -> dict[str, str]:
    built: dict[str, str] = {}
    for added_name, removed_name, name in _CHANGES:
        if name in unknown:
            continue
        if count := getattr(added, name):
            built[added_name] = str(count)
        if count := getattr(removed, name):
            built[removed_name] = str(count)
    return built


def _next_totals(
    previous: Mapping[str, str] | None, added: _Counts, removed: _Counts, unknown: set[str]
) -> dict[str, str]:
    built: dict[str, str] = {}
    for total, name in _TOTALS:
        before = "0" if previous is None else previous.get(total, "")
        if name in unknown or not (before.isascii() and before.isdigit() and len(before) < 20):
            continue
        after = int(before) + getattr(added, name) - getattr(removed, name)
        # Below zero, the previous total was wrong: better none than one known to be false.
        if after >= 0:
            built[total] = str(after)
    return built


def _sum(by_path: Mapping[str, _Counts]) -> _Counts:
    total = _Counts()
    for counts in by_path.values():
        total.merge(counts)
    return total


def _partition_texts(files: pa.Table) -> set[str]:
    """The different partition tuples of files, as text in which NaN equals NaN."""
    if files.num_rows == 0:
        return set()
    column: Any = files["partition"].combine_chunks()
    if not column.type.num_fields:
        return {""}
    children = {f"p{i}": column.field(i) for i in range(column.type.num_fields)}
    keys = [name for name, child in children.items() if not pa.types.is_null(child.type)]
    different = _grouped(children, keys, []) if keys and files.num_rows > 1 else pa.table(children)
    return {repr(row) for row in zip(*(different[name].to_pylist() for name in keys))} if keys else {""}


def _count_by_path(
    by_path: dict[str, _Counts], files: pa.Table, spec: PartitionSpec, schema: Schema, schemas: tuple[Schema, ...]
) -> None:
    partition_type = spec.partition_type(schema, schemas=schemas)
    for group in _groups(files, len(partition_type.fields)):
        values: dict[int, Value] = {
            f.id: arrow_to_value(f.type, scalar) for f, scalar in zip(partition_type.fields, group.partition)
        }
        path = spec.partition_path(schema, values, schemas=schemas)
        by_path.setdefault(path, _Counts()).count(group)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Files of one partition and kind, counted together."""

    partition: list[pa.Scalar[Any]]
    content: int
    is_dv: bool
    files: int
    records: int
    size: int


def _groups(files: pa.Table, partition_width: int) -> Iterator[_Group]:
    """The files by partition and kind, so that Python sees one row a group, not one a file."""
    if files.num_rows == 0:
        return
    columns = _counted_columns(files)
    keys = ["content", "is_dv"]
    partition: Any = files["partition"].combine_chunks() if partition_width else None
    children = [pc.struct_field(partition, i) for i in range(partition_width)]
    for i, child in enumerate(children):
        columns[f"p{i}"] = child
        # A column of the null type is the same everywhere, and cannot be grouped by.
        if not pa.types.is_null(child.type):
            keys.append(f"p{i}")
    aggregates: list[Any] = [("records", "sum"), ("size", "sum"), ([], "count_all")]
    grouped = _grouped(columns, keys, aggregates)
    tuples: list[Any] = [
        grouped[f"p{i}"] if f"p{i}" in keys else [pa.scalar(None, child.type)] * grouped.num_rows
        for i, child in enumerate(children)
    ]
    counted = (grouped[name].to_pylist() for name in ("content", "is_dv", "count_all", "records_sum", "size_sum"))
    partitions = zip(*tuples) if tuples else ((),) * grouped.num_rows
    for partition, content, is_dv, files_count, records, size in zip(partitions, *counted):
        yield _Group(
            partition=list(partition),
            content=content,
            is_dv=is_dv,
            files=files_count,
            records=records or 0,
            size=size or 0,
        )


def _grouped(columns: dict[str, Any], keys: list[str], aggregates: list[Any]) -> pa.Table:
    table = pa.table(columns)
    # To wake threads for the files of a small commit takes longer than to count them.
    return table.group_by(keys, use_threads=table.num_rows >= _THREADS_FILES_MIN).aggregate(aggregates)


def _counted_columns(files: pa.Table) -> dict[str, Any]:
    content: Any = files["content"]
    found = pc.min_max(content)
    low, high = found["min"].as_py(), found["max"].as_py()
    if not (low >= DATA and high <= EQUALITY_DELETES):
        raise InvalidInput(f"Cannot summarise files: expected content 0, 1 or 2, got {low} to {high}.")
    is_dv = pc.and_(pc.equal(content, pa.scalar(POSITION_DELETES)), pc.is_valid(files["content_offset"]))
    blob_size = pc.if_else(is_dv, files["content_size_in_bytes"], pa.scalar(None, pa.int64()))
    return {
        "content": content,
        "is_dv": is_dv,
        "records": files["record_count"],
        "size": pc.coalesce(blob_size, files["file_size_in_bytes"]),
    }
