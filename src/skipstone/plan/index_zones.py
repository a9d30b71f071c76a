"""Roll-ups judged: which blocks of which manifests can hold a match, and how many zones of each level were skipped.

A zone is skipped if its partition values or the facts of its columns prove that no row matches. Levels are intersected:
a block is left only if its manifest is, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skipstone.index.rollup import Rollup
from skipstone.index.zone_rows import ZoneKind
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.plan.levels import LevelReport
from skipstone.plan.question import Question
from skipstone.plan.remapped import remapped_ids
from skipstone.plan.rollup_zones import RollupZones, zones_of
from skipstone.plan.snapshot_manifests import partition_type_of
from skipstone.predicate.nodes import Predicate, and_, field_ids
from skipstone.predicate.one_term import parts_of
from skipstone.zones.arrow import unpacked
from skipstone.zones.judge import prove
from skipstone.zones.levels import every_by_partition, none_by_partition
from skipstone.zones.verdict import Proofs, both

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """The blocks of a manifest that are left; `is_all` where it has no zones smaller than itself, or all are left.

    The numbers are those of one `cut` of the manifest, and of no other.
    """

    numbers: Sequence[int]
    is_all: bool
    cut: str | None = None

    def __len__(self) -> int:
        return 1 if self.is_all else len(self.numbers)

    def of(self, cut: str | None, num_blocks: int) -> Sequence[int]:
        """The numbers of the blocks that are left in a sidecar; all, where it is not known to be cut like this."""
        return self.numbers if self.is_of(cut) and not self.is_all else range(num_blocks)

    def is_of(self, cut: str | None) -> bool:
        """Whether the numbers mean blocks of a manifest that is cut like this."""
        return cut is not None and cut == self.cut


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLevels:
    """What the index skipped. `partitions` is None where it does not know all of them."""

    manifests_skipped: int
    partitions: int | None
    partitions_skipped: int
    files: int | None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """`blocks` has, for each manifest, what is left of it; None where the roll-ups know nothing about it.

    `asked` are the manifests that were not skipped before; `kept` has a bit for each zone. `unproven` is the predicate
    without the parts that are proven for every row of what is left of manifests that the roll-ups know.
    """

    zones: RollupZones
    asked: Mask
    kept: Mask
    blocks: Sequence[Blocks | None]
    unproven: Predicate

    def has_sidecar(self, place: int) -> bool:
        """Whether to look for one: there is, or nobody knows."""
        return self.zones.sidecars[place] is not False

    @cached_property
    def left(self) -> list[int]:
        """The places of manifests that can hold a match."""
        return [
            i
            for i, (blocks, asked) in enumerate(zip(self.blocks, self.asked.tolist(), strict=True))
            if asked and (blocks is None or len(blocks))
        ]

    def levels(self) -> IndexLevels:
        skipped = int(self.asked.sum()) - len(self.left)
        partitions = self.zones.partitions
        if not partitions.is_known[self.asked].all():
            return IndexLevels(manifests_skipped=skipped, partitions=None, partitions_skipped=0, files=None)
        asked = self.asked[self.zones.place[partitions.rows]]
        kept = self.kept[partitions.rows]
        num_codes = int(partitions.codes.max(initial=-1)) + 1
        there, left = (np.bincount(partitions.codes[of], minlength=num_codes) > 0 for of in (asked, kept))
        # A partition that one manifest keeps is kept with its files in all of them.
        return IndexLevels(
            manifests_skipped=skipped,
            partitions=int(there.sum()),
            partitions_skipped=int(there.sum()) - int(left.sum()),
            files=int(partitions.files[asked & left[partitions.codes]].sum()),
        )


def judge_rollups(
    rollups: Sequence[Rollup], manifests: Sequence[ManifestFile], asked: Mask, question: Question
) -> Judged:
    """What is left of each manifest, of those that are asked for."""
    zones = zones_of(rollups, manifests)
    by_columns = _by_columns(zones, question)
    kept = ~_proven(zones, question, by_columns, every=False) & asked[zones.place]
    return Judged(
        zones=zones, asked=asked, kept=kept, blocks=_left(zones, kept), unproven=_unproven(zones, kept, by_columns)
    )


def count_by_rollups(rollups: Sequence[Rollup], manifests: Sequence[ManifestFile], question: Question) -> int | None:
    """How many rows match, where zones prove it: each manifest decided whole, by its partitions, or its blocks."""
    zones = zones_of(rollups, manifests)
    if None in zones.sidecars:
        return None
    if not len(zones):
        return 0
    by_columns = _by_columns(zones, question)
    kept, counts = ~_proven(zones, question, by_columns, every=False), zones.row_counts
    known = ~counts.is_null().to_numpy()
    rows = np.where(kept, counts.fill_null(0).to_numpy(), 0)
    decided = ~kept | (_proven(zones, question, by_columns, every=True) & known)
    total, open_ = 0, np.ones(len(manifests), bool)
    for level in ZoneKind:
        of_level = (zones.kind == level) & open_[zones.place]
        undecided = np.bincount(zones.place[of_level & ~decided], minlength=len(open_)) > 0
        settled = (np.bincount(zones.place[of_level], minlength=len(open_)) > 0) & ~undecided
        total += int(rows[of_level & settled[zones.place]].sum())
        open_ &= ~settled
    return None if open_.any() else total


def _by_columns(zones: RollupZones, question: Question) -> list[tuple[Predicate, Proofs]]:
    """What facts of columns prove about each part of the predicate."""
    if not len(zones):
        return []
    columns = zones.columns(field_ids(question.predicate), question.schema)
    for field_id in remapped_ids(question.metadata):
        columns = columns.forget(field_id)
    return [(part, prove(part, columns, question.float_order)) for part in parts_of(question.predicate)]


def _proven(
    zones: RollupZones, question: Question, by_columns: Sequence[tuple[Predicate, Proofs]], *, every: bool
) -> Mask:
    """Which zones hold no match, or nothing else."""
    predicate, order, metadata = question.predicate, question.float_order, question.metadata
    if not by_columns:
        return np.full(len(zones), every)
    proofs = both([proofs for _, proofs in by_columns])
    found = unpacked(proofs.every if every else proofs.none).copy()
    for spec in metadata.partition_specs:
        rows = zones.of_spec(spec.spec_id)
        if spec.is_unpartitioned or not len(rows):
            continue
        tuples = zones.tuples(spec.spec_id, partition_type_of(spec, metadata))
        by_partition = every_by_partition if every else none_by_partition
        found[rows] |= unpacked(by_partition(predicate, spec, question.schema, tuples, order))
    return found


def _unproven(zones: RollupZones, kept: Mask, by_columns: Sequence[tuple[Predicate, Proofs]]) -> Predicate:
    """The parts of the predicate that some row of the smallest zones that are kept may not match."""
    is_block = zones.kind == ZoneKind.BLOCK
    is_cut = np.zeros(len(zones.sidecars), bool)
    is_cut[zones.place[is_block]] = True
    smallest = kept & (is_block | ((zones.kind == ZoneKind.MANIFEST) & ~is_cut[zones.place]))
    return and_(*(part for part, proofs in by_columns if not unpacked(proofs.every)[smallest].all()))


def _left(zones: RollupZones, kept: Mask) -> list[Blocks | None]:
    num_manifests = len(zones.sidecars)
    manifest_kept = np.zeros(num_manifests, bool)
    is_manifest = zones.kind == ZoneKind.MANIFEST
    manifest_kept[zones.place[is_manifest]] = kept[is_manifest]
    is_block = zones.kind == ZoneKind.BLOCK
    num_blocks = np.bincount(zones.place[is_block], minlength=num_manifests)
    left = np.flatnonzero(is_block & kept)
    left = left[np.argsort(zones.place[left], kind="stable")]
    starts = np.searchsorted(zones.place[left], np.arange(num_manifests + 1))
    numbers = zones.number[left]
    found: list[Blocks | None] = []
    for i, known in enumerate(zones.sidecars):
        if known is None:
            found.append(None)
        elif not manifest_kept[i]:
            found.append(Blocks(numbers=(), is_all=False))
        else:
            chosen = numbers[starts[i] : starts[i + 1]].tolist()
            is_all = bool(num_blocks[i] == 0 or len(chosen) == num_blocks[i])
            found.append(Blocks(numbers=chosen, is_all=is_all, cut=zones.cuts[i]))
    return found


def with_index(levels: Sequence[LevelReport], index: IndexLevels) -> tuple[LevelReport, ...]:
    """The levels of planning with what the index had skipped before any entry was read."""
    changed = []
    for level in levels:
        match level.name:
            case "manifests":
                changed.append(replace(level, skipped=level.skipped + index.manifests_skipped))
            case "partitions" if index.partitions is not None:
                skipped = max(index.partitions_skipped, 0)
                changed.append(replace(level, zones_in=index.partitions, skipped=skipped))
            case "files" if index.files is not None:
                changed.append(replace(level, zones_in=index.files, skipped=index.files - level.kept))
            case _:
                changed.append(level)
    return tuple(changed)
