"""Equality deletes become position deletes (v2) or deletion vectors (v3): the same rows, cheaper to read.

An equality delete makes every later read look up every row; a position costs next to nothing. No data file is touched,
so row ids and last-updated numbers stay as they are.

Laws: the rows of the table are the same before and after. Deletes that others add meanwhile stay; a data file that
others remove, or give a deletion vector, meanwhile is a conflict, and nothing is published.

Spec: "Equality Delete Files", "Deletion Vectors", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.commit import RowDelta
from skipstone.commit.history import parent_of
from skipstone.commit.producer import Effect
from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.reserved import DELETED, FILE, POS
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.plan.delete_entries import read_deletes
from skipstone.plan.scan import ScanPlan, plan_scan
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE
from skipstone.read import read_plan
from skipstone.read.position_deletes import PositionDeletes
from skipstone.storage.protocol import Storage
from skipstone.write import write_deletion_vectors, write_position_deletes

pa: Any = pyarrow
pc: Any = pyarrow.compute

# Positions by data file, ascending.
Positions: TypeAlias = Mapping[str, Any]
Finder: TypeAlias = Callable[[ScanPlan], Positions]

FOUND_COLUMNS = StructType((FILE, POS, DELETED))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionReport:
    """What a conversion did: equality delete files that went, rows they had deleted, data files these rows are in."""

    equality_delete_files: int
    data_files: int
    rows: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplaceDeletes(RowDelta):
    """Exchange delete files for others that delete the same rows."""

    @property
    def operation(self) -> str:
        return "conversion of deletes"

    def kind(self, effect: Effect) -> Operation:
        return Operation.REPLACE


def convert_equality_deletes(
    metadata: TableMetadata, storage: Storage, *, ref: str, find: Finder | None = None
) -> tuple[ReplaceDeletes | None, ConversionReport]:
    """The change that converts all equality deletes of a branch; None if it has none.

    `find` reads the files that have such deletes, by default here.
    """
    snapshot = parent_of(metadata, ref)
    equality = None if snapshot is None else _equality_deletes(snapshot, metadata, storage)
    if equality is None or equality.num_rows == 0:
        return None, ConversionReport(equality_delete_files=0, data_files=0, rows=0)
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=metadata.current_schema)
    find = find or (lambda touched: found_positions(touched, storage))
    touched = by_equality(plan)
    before, vectors = _already_deleted(plan, storage, find(touched) if len(touched) else {})
    gone = {path: np.setdiff1d(found, old) for path, (found, old) in before.items()}
    gone = {path: positions for path, positions in gone.items() if len(positions)}
    change = ReplaceDeletes(
        files=_written(gone, {p: old for p, (_, old) in before.items()}, plan, metadata, storage),
        remove_delete_files=_joined(equality, plan.deletes.take(_rows([v for p in gone for v in vectors[p]]))),
        ref=ref,
    )
    rows = sum(len(positions) for positions in gone.values())
    return change, ConversionReport(equality_delete_files=equality.num_rows, data_files=len(gone), rows=rows)


def by_equality(plan: ScanPlan) -> ScanPlan:
    """The plan of the files that equality deletes apply to, with no other deletes."""
    content = plan.deletes.column("content").to_numpy()
    lists = plan.files.column("deletes").combine_chunks()
    owner, applied = pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists).to_numpy()
    keep = content[applied] == FileContent.EQUALITY_DELETES
    counts = np.bincount(owner[keep], minlength=len(plan))
    offsets = np.concatenate(([0], np.cumsum(counts)))
    only = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(applied[keep], pa.int32()))
    place = plan.files.schema.get_field_index("deletes")
    files = plan.files.set_column(place, plan.files.schema.field(place), only)
    return replace(plan, files=files).taking(np.flatnonzero(counts))


def found_positions(plan: ScanPlan, storage: Storage) -> dict[str, Any]:
    """The positions that the deletes of a plan remove, by data file. Only the delete columns are read."""
    found: dict[str, list[Any]] = {}
    for batch in read_plan(plan, storage, wanted=FOUND_COLUMNS):
        hit = batch.column(2).to_numpy(zero_copy_only=False).astype(bool)
        if hit.any():
            found.setdefault(batch.column(0)[0].as_py(), []).append(batch.column(1).to_numpy()[hit])
    return {path: np.sort(np.concatenate(parts)) for path, parts in found.items()}


def _equality_deletes(snapshot: Snapshot, metadata: TableMetadata, storage: Storage) -> Any:
    """All live equality delete files, those that apply to no data file as well."""
    manifests = manifests_of(snapshot, metadata, storage)
    deletes = read_deletes(manifests, metadata, storage, TRUE, metadata.current_schema, FloatOrder.IEEE)
    return deletes.filter(pc.equal(deletes.column("content"), int(FileContent.EQUALITY_DELETES)))


def _already_deleted(
    plan: ScanPlan, storage: Storage, found: Positions
) -> tuple[dict[str, tuple[Any, Any]], dict[str, list[int]]]:
    """Beside the found positions of each file those that were deleted by position before, and the file's vectors."""
    reader = PositionDeletes(plan, storage)
    content = plan.deletes.column("content").to_pylist()
    offsets = plan.deletes.column("content_offset").to_pylist()
    both: dict[str, tuple[Any, Any]] = {}
    vectors: dict[str, list[int]] = {}
    hit = plan.files.filter(pc.is_in(plan.files.column("file_path"), value_set=pa.array(list(found), pa.string())))
    for path, rows in zip(hit.column("file_path").to_pylist(), hit.column("deletes").to_pylist(), strict=True):
        by_position = [r for r in rows if content[r] == FileContent.POSITION_DELETES]
        both[path] = found[path], reader.of(path, by_position)
        vectors[path] = [r for r in by_position if offsets[r] is not None]
    return both, vectors


def _written(gone: Positions, before: Positions, plan: ScanPlan, metadata: TableMetadata, storage: Storage) -> Any:
    """New deletes for the positions. A vector takes in all that was deleted by position before."""
    if not gone:
        return None
    if metadata.format_version == 2:
        return write_position_deletes(gone, data_files=plan.files, metadata=metadata, storage=storage)
    return write_deletion_vectors(gone, data_files=plan.files, metadata=metadata, storage=storage, previous=before)


def _rows(rows: list[int]) -> Any:
    return pa.array(sorted(set(rows)), pa.int64())


def _joined(*parts: Any) -> list[tuple[str, int | None]]:
    """Delete files as the pairs that a commit removes them by."""
    return [
        pair
        for part in parts
        for pair in zip(part.column("file_path").to_pylist(), part.column("content_offset").to_pylist(), strict=True)
    ]
