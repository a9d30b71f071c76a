"""Entries that may match, out of sidecars: facts first, then one judgement, then the files that are left.

Law: what a sidecar gives is what its manifest would give; one that cannot be used is left to its manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.errors import SkipstoneError
from skipstone.index.columns import is_enabled
from skipstone.index.loading import find_sidecar
from skipstone.index.places import index_directory, is_near
from skipstone.index.sidecar_entries import Source, Wish
from skipstone.index.sidecar_group import SidecarGroup, groups_of
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_metrics import metric_type
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel, known_metrics, schemas_of, tuple_runs, unified_type, unify_partition
from skipstone.plan.file_verdicts import Verdicts, joined, metrics_of, verdict_columns
from skipstone.plan.index_zones import Blocks
from skipstone.plan.question import Question
from skipstone.plan.recent import Recent
from skipstone.plan.snapshot_manifests import partition_type_of, spec_of
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.storage.protocol import Storage
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_partitions
from skipstone.zones.verdict import Verdict
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow

# A manifest by its place among those that are planned, and what zones left of it.
Turn = tuple[int, ManifestFile, Blocks | None]

Lengths = npt.NDArray[np.int64]

_FEW_SIDECARS: Final = 2
_FAR_THREADS: Final = 8
_DERIVED_BYTES_MAX: Final = 4 * 1024 * 1024
_derived: Final = Recent(4)


def read_sidecars(
    turns: Sequence[Turn], question: Question, directory: str, notes: list[str], *, unproven: Predicate
) -> tuple[list[Any], set[int]]:
    """Entries that may match, and the places of the manifests that need not be read for them.

    `unproven` is the part of the predicate that is not proven for all blocks that are left: metrics of entries cannot
    say more about the rest.
    """
    tables: list[Any] = []
    done: set[int] = set()
    for spec_id in dict.fromkeys(m.partition_spec_id for _, m, _ in turns):
        of_spec = [turn for turn in turns if turn[1].partition_spec_id == spec_id]
        wish = _wish(
            of_spec[0][1],
            question.metadata,
            question.columns,
            question.metrics,
            question.needed,
            schema=question.schema,
        )
        sources = _opened(of_spec, wish, question, directory, notes)
        left = {place: blocks for place, _, blocks in of_spec}
        are_left = all(_are_left(source, left[source.place]) for source in sources)
        by_metrics = unproven if are_left else question.predicate
        wish = wish.judging(by_metrics)
        for table, places in _read(sources, wish, question, by_metrics, directory, notes):
            done |= places
            if table is not None and table.num_rows:
                tables.append(_placed(table, of_spec[0][1], question))
    return tables, done


def all_entries(
    manifest: ManifestFile,
    metadata: TableMetadata,
    storage: Storage,
    *,
    columns: Collection[str],
    metrics: Collection[int],
) -> Any | None:
    """Every entry of a manifest, as reading it would give them; None where its sidecar cannot tell.

    Sidecars leave deleted entries out.
    """
    directory = index_directory(metadata) if is_enabled(metadata) and manifest.deleted_files_count == 0 else None
    sidecar = None if directory is None else find_sidecar(storage, directory, manifest, [])
    wish = _wish(manifest, metadata, columns, metrics, metrics)
    if sidecar is None or not wish.is_covered_by(sidecar):
        return None
    source = Source(place=0, manifest=manifest, sidecar=sidecar, blocks=range(len(sidecar.header.block_files)))
    try:
        return SidecarGroup([source], storage, wish, _alone).all_entries()
    except (SkipstoneError, OSError, pa.ArrowException):
        return None


def _are_left(source: Source, blocks: Blocks | None) -> bool:
    """Whether the blocks to read are those that zones left, and no others."""
    return blocks is not None and (blocks.is_all or blocks.is_of(source.sidecar.header.cut))


def _wish(
    manifest: ManifestFile,
    metadata: TableMetadata,
    columns: Collection[str],
    metrics: Collection[int],
    needed: Collection[int],
    *,
    schema: Schema | None = None,
) -> Wish:
    schemas = schemas_of(metadata, schema)
    return Wish(
        columns=columns,
        metrics={i: metric_type(i, schemas, manifest.manifest_path) for i in known_metrics(metadata, metrics)},
        needed=needed,
        partition_type=partition_type_of(spec_of(manifest, metadata), metadata),
    )


def _opened(turns: Sequence[Turn], wish: Wish, question: Question, directory: str, notes: list[str]) -> list[Source]:
    """The sidecars that are there, can be trusted and cover what is asked for."""

    def open_(turn: Turn) -> Source | None:
        place, manifest, blocks = turn
        sidecar = find_sidecar(question.storage, directory, manifest, notes)
        if sidecar is None:
            return None
        if not wish.is_covered_by(sidecar):
            notes.append(f"Cannot use {sidecar.path}: it does not cover all columns of the filter.")
            return None
        header = sidecar.header
        every = range(len(header.block_files))
        numbers = every if blocks is None else blocks.of(header.cut, len(every))
        return Source(place=place, manifest=manifest, sidecar=sidecar, blocks=numbers)

    return [source for source in in_parallel(open_, turns, _threads(directory, len(turns))) if source is not None]


def _threads(directory: str, num_sidecars: int) -> int:
    """Several where there is storage to wait for: else small reads get in each other's way."""
    return 1 if num_sidecars <= _FEW_SIDECARS or is_near(directory) else _FAR_THREADS


def _read(
    sources: Sequence[Source],
    wish: Wish,
    question: Question,
    by_metrics: Predicate,
    directory: str,
    notes: list[str],
) -> list[tuple[Any | None, set[int]]]:
    """For each group that can be read as one its entries, and which places they are all of."""
    threads = _threads(directory, len(sources))

    def spread(work: Callable[[Source], Any], of: Sequence[Source]) -> list[Any]:
        return in_parallel(work, of, threads)

    def attempt(group: SidecarGroup) -> tuple[Any | None, set[int]]:
        try:
            table = group.all_entries() if question.predicate == TRUE else _chosen(group, wish, question, by_metrics)
        except (SkipstoneError, OSError, pa.ArrowException) as error:
            notes.append(str(error))
            return None, set()
        notes.extend(group.failed.values())
        return table, group.places

    if question.predicate == TRUE:
        # Much to decode, each on its own.
        every = [SidecarGroup([source], question.storage, wish, _alone) for source in sources]
        return in_parallel(attempt, every, 1 if len(every) <= _FEW_SIDECARS else None)
    return [attempt(SidecarGroup(g, question.storage, wish, spread)) for g in groups_of(sources, wish)]


def _alone(work: Callable[[Source], Any], of: Sequence[Source]) -> list[Any]:
    return [work(source) for source in of]


def _chosen(group: SidecarGroup, wish: Wish, question: Question, by_metrics: Predicate) -> Any | None:
    if not group.read_facts():
        return None
    by_partition, by_all = _verdicts(*_zones(group, wish, question), group.spec_id, question, by_metrics)
    may_match = by_all != Verdict.NO_ROW_MATCHES
    return group.entries(may_match, verdict_columns(by_partition, by_all))


def _zones(group: SidecarGroup, wish: Wish, question: Question) -> tuple[ZoneMap, ZoneMap, Lengths]:
    """The entries as zones by their metrics; runs of equal partition tuples as zones, and how many entries each has.

    They are kept for the next plan if they are few.
    """

    def make() -> tuple[ZoneMap, ZoneMap, Lengths]:
        facts = group.facts()
        tuples, lengths = tuple_runs(facts.column("partition"))
        zones = from_partitions(tuples, wish.partition_type)
        return metrics_of(facts, question.metadata, question.schema), zones, lengths

    if group.facts_size_in_bytes > _DERIVED_BYTES_MAX:
        return make()
    what = (group.blocks, tuple(wish.metrics.items()), wish.partition_type)
    return _derived.derived(what, [*group.facts_source, question.schema, question.metadata], make)


def _verdicts(
    metrics: ZoneMap, tuples: ZoneMap, lengths: Lengths, spec_id: int, question: Question, by_metrics: Predicate
) -> tuple[Verdicts, Verdicts]:
    """What the partition of each entry proves, and what it proves together with the metrics."""
    proven = prove(by_metrics, metrics, question.float_order).verdicts()
    spec = question.metadata.spec(spec_id)
    if spec.is_unpartitioned:
        return np.full(len(proven), np.int8(Verdict.UNKNOWN)), proven
    proofs = prove_partitions(question.predicate, spec, question.schema, tuples, question.float_order)
    by_partition = np.repeat(proofs.verdicts(), lengths)
    return by_partition, joined(by_partition, proven)


def _placed(table: Any, manifest: ManifestFile, question: Question) -> Any:
    """Entries with their partition in the table's unified type, and their spec."""
    spec = spec_of(manifest, question.metadata)
    tuples = unify_partition(
        table.column("partition"), partition_type_of(spec, question.metadata), unified_type(question.metadata)
    )
    spec_ids = pa.repeat(pa.scalar(spec.spec_id, pa.int32()), table.num_rows)
    place = table.schema.get_field_index("partition")
    table = table.set_column(place, "partition", tuples)
    return table.add_column(table.schema.get_field_index("manifest"), "spec_id", spec_ids)
