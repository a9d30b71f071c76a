"""Entries of data manifests read through the skip index, as far as it goes.

    roll-up: manifests -> partitions -> blocks, then of the blocks that are left the sidecars' facts, then their files

Every manifest falls back on its own: without a sidecar, with a damaged one, or with one that does not cover the columns
of a filter, the manifest itself is read. Law: the same entries are kept that reading all manifests would keep.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.errors import SkipstoneError
from skipstone.index.columns import is_enabled
from skipstone.index.loading import find_sidecar, rollups_of
from skipstone.index.places import index_directory
from skipstone.index.sidecar_entries import Wish, read_entries
from skipstone.index.sidecar_read import Sidecar
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_metrics import metric_type
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import (
    FILE_COLUMNS,
    empty_entries,
    in_parallel,
    known_metrics,
    read_live_entries,
    schema_for,
    unified_type,
    unify_partition,
)
from skipstone.plan.index_zones import Blocks, IndexLevels, judge_rollups
from skipstone.plan.remapped import remapped_ids
from skipstone.plan.snapshot_manifests import partition_type_of, spec_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.storage.protocol import Storage
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_partitions

pa: Any = pyarrow

Mask = npt.NDArray[np.bool_]
_ALL: Final = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is planned: a predicate on a snapshot, and the columns whose metrics matter."""

    metadata: TableMetadata
    storage: Storage
    snapshot: Snapshot
    schema: Schema
    predicate: Predicate
    float_order: FloatOrder
    metrics: Collection[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedEntries:
    """Entries that may match, with what the index skipped before and notes on what in it could not be used."""

    files: Any
    levels: IndexLevels | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """One manifest's turn: the entries if the index had them, else None."""

    table: Any | None = None
    notes: list[str] = field(default_factory=list)


def read_data_entries(manifests: Sequence[ManifestFile], question: Question, *, use_index: bool) -> IndexedEntries:
    """The entries of data manifests that can hold a match, in the order of the manifests."""
    metadata, storage = question.metadata, question.storage
    directory = index_directory(metadata) if use_index and manifests and is_enabled(metadata) else None
    if directory is None:
        return IndexedEntries(files=_read_whole(manifests, question))
    notes: list[str] = []
    rollups = rollups_of(question.snapshot, metadata, storage, directory, notes)
    judged = judge_rollups(rollups, manifests, question.predicate, metadata, question.schema, question.float_order)
    left = [i for i, found in enumerate(judged.blocks) if found is None or len(found)]

    def read(place: int) -> _Reading:
        if not judged.has_sidecar(place):
            return _Reading()
        return _read_sidecar(manifests[place], judged.blocks[place], question, directory)

    readings = dict(zip(left, in_parallel(read, left), strict=True))
    notes += [note for r in readings.values() for note in r.notes]
    whole = [i for i in left if readings[i].table is None]
    tables = _placed(readings, manifests, question)
    if whole:
        decoded = _read_whole([manifests[i] for i in whole], question)
        at = decoded.schema.get_field_index("manifest")
        places = np.array(whole, np.int32)[decoded.column(at).to_numpy()]
        tables.append(decoded.set_column(at, "manifest", pa.array(places, pa.int32())))
    return IndexedEntries(
        files=_in_order(tables, question), levels=judged.levels(left, whole), notes=tuple(dict.fromkeys(notes))
    )


def _read_whole(manifests: Sequence[ManifestFile], question: Question) -> Any:
    return read_live_entries(
        manifests, question.metadata, question.storage, columns=FILE_COLUMNS, metrics=question.metrics
    )


def _read_sidecar(manifest: ManifestFile, blocks: Blocks | None, question: Question, directory: str) -> _Reading:
    reading = _Reading()
    sidecar = find_sidecar(question.storage, directory, manifest, reading.notes)
    if sidecar is None:
        return reading
    try:
        reading.table = _entries(sidecar, manifest, blocks, question, reading.notes)
    except (SkipstoneError, OSError, pa.ArrowException) as error:
        reading.notes.append(str(error))
    return reading


def _entries(
    sidecar: Sidecar, manifest: ManifestFile, blocks: Blocks | None, question: Question, notes: list[str]
) -> Any | None:
    metadata = question.metadata
    spec = spec_of(manifest, metadata)
    known = known_metrics(metadata, question.metrics)
    typed = schema_for(metadata, known)
    wish = Wish(
        columns=FILE_COLUMNS,
        metrics={i: metric_type(i, (typed,), manifest.manifest_path) for i in known},
        partition_type=partition_type_of(spec, metadata),
    )
    if not wish.is_covered_by(sidecar):
        notes.append(f"Cannot use {sidecar.path}: it does not cover all columns of the filter.")
        return None

    def keep(facts: Any) -> Mask:
        metrics = from_manifest_table(facts, question.schema)
        for field_id in remapped_ids(metadata):
            metrics = metrics.forget(field_id)
        tuples = from_partitions(facts.column("partition"), wish.partition_type)
        none = prove_partitions(question.predicate, spec, question.schema, tuples, question.float_order).none
        by_metrics = prove(question.predicate, metrics, question.float_order).none
        mask: Mask = ~(none.to_numpy(zero_copy_only=False) | by_metrics.to_numpy(zero_copy_only=False))
        return mask

    return read_entries(
        sidecar,
        question.storage,
        manifest,
        wish,
        blocks=None if blocks is None or blocks.is_all else blocks.numbers,
        keep=None if question.predicate == TRUE else keep,
    )


def _placed(readings: dict[int, _Reading], manifests: Sequence[ManifestFile], question: Question) -> list[Any]:
    """Entries with the columns that tell where they come from."""
    unified = unified_type(question.metadata)
    found = []
    for place, reading in readings.items():
        table = reading.table
        if table is None:
            continue
        spec = spec_of(manifests[place], question.metadata)
        tuples = unify_partition(table.column("partition"), partition_type_of(spec, question.metadata), unified)
        found.append(
            table.set_column(table.schema.get_field_index("partition"), "partition", tuples)
            .append_column("spec_id", pa.repeat(pa.scalar(spec.spec_id, pa.int32()), table.num_rows))
            .append_column("manifest", pa.repeat(pa.scalar(place, pa.int32()), table.num_rows))
        )
    return found


def _in_order(tables: Sequence[Any], question: Question) -> Any:
    if not tables:
        return empty_entries(question.metadata, FILE_COLUMNS)
    joined = pa.concat_tables(tables).combine_chunks()
    places = joined.column("manifest").to_numpy()
    if bool(np.all(places[1:] >= places[:-1])):
        return joined
    return joined.take(pa.array(np.argsort(places, kind="stable")))
