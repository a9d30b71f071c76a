"""Entries of manifests read through the skip index, as far as it goes.

    roll-up: manifests -> partitions -> blocks, then of the blocks that are left the sidecars' facts, then their files

Every manifest falls back on its own: without a sidecar, with a damaged one, or with one that does not cover the columns
of a filter, the manifest itself is read. Law: the same entries are kept that reading all manifests would keep.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.errors import SkipstoneError
from skipstone.index.columns import is_enabled
from skipstone.index.loading import find_sidecar, rollups_of
from skipstone.index.places import index_directory
from skipstone.index.sidecar_entries import BlockReader, Wish
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
from skipstone.zones.arrow import unpacked
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_partitions

pa: Any = pyarrow

Mask = npt.NDArray[np.bool_]
_FEW_SIDECARS: Final = 2
_NEAR: Final = ("/", "file:")
_FAR_THREADS: Final = 8


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
    columns: tuple[str, ...] = FILE_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedEntries:
    """Entries that may match, with what the index skipped before and notes on what in it could not be used."""

    files: Any
    levels: IndexLevels | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    """One manifest's turn: the entries if the index has them, else None."""

    manifest: ManifestFile
    reader: BlockReader | None = None
    facts: Any = None
    table: Any = None
    notes: list[str] = field(default_factory=list)

    def attempt(self, work: Callable[[], None]) -> None:
        """Do some of the reading; where it fails, the manifest itself will be read."""
        try:
            work()
        except (SkipstoneError, OSError, pa.ArrowException) as error:
            self.notes.append(str(error))
            self.reader = self.table = None


def read_entries(manifests: Sequence[ManifestFile], question: Question, *, use_index: bool) -> IndexedEntries:
    """The live entries of manifests that can hold a match, in the order of the manifests."""
    metadata = question.metadata
    directory = index_directory(metadata) if use_index and manifests and is_enabled(metadata) else None
    if directory is None:
        return IndexedEntries(files=_read_whole(manifests, question))
    notes: list[str] = []
    rollups = rollups_of(question.snapshot, metadata, question.storage, directory, notes)
    judged = judge_rollups(rollups, manifests, question.predicate, metadata, question.schema, question.float_order)
    left = [i for i, found in enumerate(judged.blocks) if found is None or len(found)]
    readings = {i: _Reading(manifests[i]) for i in left}
    _read_sidecars([(readings[i], judged.blocks[i]) for i in left if judged.has_sidecar(i)], question, directory)
    notes += [note for r in readings.values() for note in r.notes]
    whole = [i for i in left if readings[i].table is None]
    tables = _placed(readings, question)
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
        manifests, question.metadata, question.storage, columns=question.columns, metrics=question.metrics
    )


def _read_sidecars(turns: Sequence[tuple[_Reading, Blocks | None]], question: Question, directory: str) -> None:
    """Facts of all sidecars first; then one judgement; then the files that are left."""
    wishes = {r.manifest.partition_spec_id: _wish(r.manifest, question) for r, _ in turns}
    reads_all = question.predicate == TRUE

    def open_(turn: tuple[_Reading, Blocks | None]) -> None:
        reading, blocks = turn
        wish = wishes[reading.manifest.partition_spec_id]
        sidecar = find_sidecar(question.storage, directory, reading.manifest, reading.notes)
        if sidecar is None or wish is None:
            return
        if not wish.is_covered_by(sidecar):
            reading.notes.append(f"Cannot use {sidecar.path}: it does not cover all columns of the filter.")
            return
        numbers = None if blocks is None or blocks.is_all else blocks.numbers
        reader = BlockReader(sidecar, question.storage, reading.manifest, wish, numbers)
        if reads_all:
            reading.table = reader.all_entries()
        else:
            reading.facts, reading.reader = reader.facts(), reader

    _spread(lambda turn: turn[0].attempt(lambda: open_(turn)), turns, directory, is_heavy=reads_all)
    if reads_all:
        return
    opened = [r for r, _ in turns if r.reader is not None]
    masks = _keep(opened, wishes, question)

    def finish(turn: tuple[_Reading, Mask]) -> None:
        reading, mask = turn
        assert reading.reader is not None
        reading.table = reading.reader.entries(mask)

    chosen = list(zip(opened, masks, strict=True))
    _spread(lambda turn: turn[0].attempt(lambda: finish(turn)), chosen, directory)


def _spread(work: Callable[[Any], None], turns: Sequence[Any], directory: str, *, is_heavy: bool = False) -> None:
    """In threads where there is storage to wait for, or much to decode: else small reads get in each other's way."""
    if len(turns) <= _FEW_SIDECARS:
        threads: int | None = 1
    elif directory.startswith(_NEAR):
        threads = None if is_heavy else 1
    else:
        threads = _FAR_THREADS
    in_parallel(work, turns, threads=threads)


def _wish(manifest: ManifestFile, question: Question) -> Wish | None:
    metadata = question.metadata
    known = known_metrics(metadata, question.metrics)
    typed = schema_for(metadata, known)
    if any(typed.find(i) is None for i in known):
        return None  # no one schema types them all; each manifest's own does
    return Wish(
        columns=question.columns,
        metrics={i: metric_type(i, (typed,), manifest.manifest_path) for i in known},
        partition_type=partition_type_of(spec_of(manifest, metadata), metadata),
    )


def _keep(readings: Sequence[_Reading], wishes: Mapping[int, Wish | None], question: Question) -> list[Mask]:
    """Which entries of each manifest can match, all manifests of a spec judged together."""
    masks: dict[int, Mask] = {}
    for spec_id, wish in wishes.items():
        places = [i for i, r in enumerate(readings) if r.manifest.partition_spec_id == spec_id]
        if not places or wish is None:
            continue
        facts = pa.concat_tables([readings[i].facts for i in places]).combine_chunks()
        ends = np.cumsum([readings[i].facts.num_rows for i in places])
        parts = np.split(_may_match(facts, spec_id, wish, question), ends[:-1])
        masks.update(zip(places, parts, strict=True))
    return [masks[i] for i in range(len(readings))]


def _may_match(facts: Any, spec_id: int, wish: Wish, question: Question) -> Mask:
    metrics = from_manifest_table(facts, question.schema)
    for field_id in remapped_ids(question.metadata):
        metrics = metrics.forget(field_id)
    none = unpacked(prove(question.predicate, metrics, question.float_order).none).copy()
    spec = question.metadata.spec(spec_id)
    if not spec.is_unpartitioned:
        tuples = from_partitions(facts.column("partition"), wish.partition_type)
        none |= unpacked(prove_partitions(question.predicate, spec, question.schema, tuples, question.float_order).none)
    return ~none


def _placed(readings: Mapping[int, _Reading], question: Question) -> list[Any]:
    """Entries with the columns that tell where they come from."""
    unified = unified_type(question.metadata)
    found = []
    for place, reading in readings.items():
        table = reading.table
        if table is None:
            continue
        spec = spec_of(reading.manifest, question.metadata)
        tuples = unify_partition(table.column("partition"), partition_type_of(spec, question.metadata), unified)
        found.append(
            table.set_column(table.schema.get_field_index("partition"), "partition", tuples)
            .append_column("spec_id", pa.repeat(pa.scalar(spec.spec_id, pa.int32()), table.num_rows))
            .append_column("manifest", pa.repeat(pa.scalar(place, pa.int32()), table.num_rows))
        )
    return found


def _in_order(tables: Sequence[Any], question: Question) -> Any:
    if not tables:
        return empty_entries(question.metadata, question.columns)
    joined = pa.concat_tables(tables).combine_chunks()
    places = joined.column("manifest").to_numpy()
    if bool(np.all(places[1:] >= places[:-1])):
        return joined
    return joined.take(pa.array(np.argsort(places, kind="stable")))


def count_rows(manifests: Sequence[ManifestFile], question: Question) -> int | None:
    """How many rows match, if the roll-up of the snapshot proves it; delete files are not looked at."""
    metadata, storage = question.metadata, question.storage
    directory = index_directory(metadata) if is_enabled(metadata) else None
    if directory is None:
        return None
    live = [m for m in manifests if not m.has_no_live_files]
    rollups = rollups_of(question.snapshot, metadata, storage, directory, [])
    return judge_rollups(rollups, live, question.predicate, metadata, question.schema, question.float_order).count()
