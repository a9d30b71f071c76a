"""Roll-ups judged: which blocks of which manifests can hold a match, and how many zones of each level were skipped.

A zone is skipped if its partition values or the facts of its columns prove that no row matches. Levels are intersected:
a block is left only if its manifest is, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.index.rollup import Rollup, join_rows
from skipstone.index.zone_rows import FACT_NAMES, ZoneKind, column_zones, partition_zones
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import partition_codes
from skipstone.plan.levels import LevelReport
from skipstone.plan.remapped import remapped_ids
from skipstone.plan.snapshot_manifests import partition_type_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate, field_ids
from skipstone.zones.arrow import unpacked
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_partitions

pa: Any = pyarrow

_PLACE: Final = "place"
_NOTHING: Final = np.zeros(0, bool)
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
        is_known = cut is not None and cut == self.cut and not self.is_all
        return self.numbers if is_known else range(num_blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLevels:
    """What the index skipped. `partitions` is None where it does not know all of them."""

    manifests_skipped: int
    partitions: int | None
    partitions_skipped: int
    files: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """`blocks` has, for each manifest, what is left of it; None where the roll-ups know nothing about it."""

    blocks: Sequence[Blocks | None]
    sidecars: Sequence[bool | None]
    rows: Any
    kept: Mask
    every: Mask

    def has_sidecar(self, place: int) -> bool:
        """Whether to look for one: there is, or nobody knows."""
        return self.sidecars[place] is not False

    def levels(self, left: Sequence[int], whole: Sequence[int]) -> IndexLevels:
        skipped = len(self.blocks) - len(left)
        if any(b is None for b in self.blocks):
            return IndexLevels(manifests_skipped=skipped, partitions=None, partitions_skipped=0, files=None)
        kind, place = self.rows.column("kind").to_numpy(), self.rows.column(_PLACE).to_numpy()
        is_partition = kind == ZoneKind.PARTITION
        if len(np.unique(place[is_partition])) < len(self.blocks):
            return IndexLevels(manifests_skipped=skipped, partitions=None, partitions_skipped=0, files=None)
        rows = self.rows.filter(pa.array(is_partition))
        codes = _tuple_codes(rows)
        kept = self.kept[is_partition]
        left_codes = np.unique(codes[kept])
        # A partition that one manifest keeps is kept with its files in all of them.
        in_left = np.isin(codes, left_codes)
        return IndexLevels(
            manifests_skipped=skipped,
            partitions=len(np.unique(codes)),
            partitions_skipped=len(np.unique(codes)) - len(left_codes),
            files=int(rows.column("files").to_numpy()[in_left].sum()),
        )

    def count(self) -> int | None:
        """How many rows match, where zones prove it: each manifest decided whole, by its partitions, or its blocks."""
        if any(b is None for b in self.blocks):
            return None
        if self.rows is None:
            return 0
        kind, place = self.rows.column("kind").to_numpy(), self.rows.column(_PLACE).to_numpy()
        counts = self.rows.column("rows")
        known = ~counts.is_null().to_numpy()
        rows = np.where(self.kept, counts.fill_null(0).to_numpy(), 0)
        decided = ~self.kept | (self.every & known)
        total, open_ = 0, np.ones(len(self.blocks), bool)
        for level in ZoneKind:
            of_level = (kind == level) & open_[place]
            undecided = np.bincount(place[of_level & ~decided], minlength=len(open_)) > 0
            settled = (np.bincount(place[of_level], minlength=len(open_)) > 0) & ~undecided
            total += int(rows[of_level & settled[place]].sum())
            open_ &= ~settled
        return None if open_.any() else total


def _tuple_codes(rows: Any) -> npt.NDArray[np.int64]:
    """One number a partition tuple: the tuple is its own bound; null and NaN are told apart by their counts."""
    names = [n for n in rows.column_names if n.startswith("partition.") and n.endswith((".lower", ".nan_count"))]
    children = [rows.column(n).combine_chunks() for n in names]
    spec_ids = rows.column("spec_id")
    if not children:
        return np.unique(spec_ids.to_numpy(), return_inverse=True)[1].astype(np.int64)
    flags = [c.is_valid() if n.endswith(".lower") else pa.compute.greater(c, 0) for n, c in zip(names, children)]
    values = [c if n.endswith(".lower") else f for n, c, f in zip(names, children, flags)]
    return partition_codes(spec_ids, pa.StructArray.from_arrays(values, [str(i) for i in range(len(values))]))


def judge_rollups(
    rollups: Sequence[Rollup],
    manifests: Sequence[ManifestFile],
    predicate: Predicate,
    metadata: TableMetadata,
    schema: Schema,
    float_order: FloatOrder,
) -> Judged:
    """What is left of each manifest."""
    sidecars: list[bool | None] = [None] * len(manifests)
    cuts: list[str | None] = [None] * len(manifests)
    parts = []
    for rollup in rollups:
        numbers = {}
        for place, manifest in enumerate(manifests):
            if sidecars[place] is None and (number := rollup.find(manifest)) is not None:
                numbers[number] = place
                record = rollup.header.manifests[number]
                sidecars[place], cuts[place] = record.has_sidecar, record.cut
        if numbers:
            parts.append(_rows_about(rollup, numbers, _wanted(predicate, metadata)))
    if not parts:
        return Judged(blocks=[None] * len(manifests), sidecars=sidecars, rows=None, kept=_NOTHING, every=_NOTHING)
    # The base has the older rows, whose types give way.
    rows = join_rows(list(reversed(parts)))
    spec_ids = np.array([m.partition_spec_id for m in manifests], np.int32)[rows.column(_PLACE).to_numpy()]
    rows = rows.append_column("spec_id", pa.array(spec_ids, pa.int32()))
    none, every = _proofs(rows, predicate, metadata, schema, float_order)
    return Judged(blocks=_left(rows, ~none, sidecars, cuts), sidecars=sidecars, rows=rows, kept=~none, every=every)


def _wanted(predicate: Predicate, metadata: TableMetadata) -> list[str]:
    names = ["kind", "number", "files", "rows"]
    names += [f"{i}.{fact}" for i in field_ids(predicate) for fact in FACT_NAMES]
    fields = {f.field_id for s in metadata.partition_specs for f in s.fields}
    return [*names, *(f"partition.{i}.{fact}" for i in sorted(fields) for fact in FACT_NAMES)]


def _rows_about(rollup: Rollup, numbers: dict[int, int], names: Sequence[str]) -> Any:
    table = rollup.columns(names)
    places = np.full(len(rollup.header.manifests), -1, np.int32)
    places[list(numbers)] = list(numbers.values())
    owner = places[table.column("manifest").to_numpy()]
    table = table.drop_columns(["manifest"]).append_column(_PLACE, pa.array(owner, pa.int32()))
    return table if bool((owner >= 0).all()) else table.filter(pa.array(owner >= 0))


def _proofs(
    rows: Any, predicate: Predicate, metadata: TableMetadata, schema: Schema, float_order: FloatOrder
) -> tuple[Mask, Mask]:
    """Which zones hold no match, and which hold nothing else."""
    if predicate == TRUE:
        return np.zeros(rows.num_rows, bool), np.ones(rows.num_rows, bool)
    zones = column_zones(rows, field_ids(predicate), schema)
    for field_id in remapped_ids(metadata):
        zones = zones.forget(field_id)
    proofs = prove(predicate, zones, float_order)
    none, every = (unpacked(p).copy() for p in (proofs.none, proofs.every))
    spec_ids = rows.column("spec_id").to_numpy()
    for spec_id in np.unique(spec_ids).tolist():
        spec = metadata.specs_by_id.get(spec_id)
        if spec is None or spec.is_unpartitioned:
            continue
        of_spec = np.flatnonzero(spec_ids == spec_id)
        tuples = partition_zones(rows.take(pa.array(of_spec)), partition_type_of(spec, metadata))
        proofs = prove_partitions(predicate, spec, schema, tuples, float_order)
        none[of_spec] |= unpacked(proofs.none)
        every[of_spec] |= unpacked(proofs.every)
    return none, every


def _left(rows: Any, kept: Mask, sidecars: Sequence[bool | None], cuts: Sequence[str | None]) -> list[Blocks | None]:
    kind, place = rows.column("kind").to_numpy(), rows.column(_PLACE).to_numpy()
    number = rows.column("number").to_numpy()
    manifest_kept = np.zeros(len(sidecars), bool)
    is_manifest = kind == ZoneKind.MANIFEST
    manifest_kept[place[is_manifest]] = kept[is_manifest]
    is_block = kind == ZoneKind.BLOCK
    num_blocks = np.bincount(place[is_block], minlength=len(sidecars))
    left = is_block & kept
    order = np.argsort(place[left], kind="stable")
    starts = np.searchsorted(place[left][order], np.arange(len(sidecars) + 1))
    numbers = number[left][order]
    found: list[Blocks | None] = []
    for i, known in enumerate(sidecars):
        chosen = numbers[starts[i] : starts[i + 1]].tolist()
        if known is None:
            found.append(None)
        elif not manifest_kept[i]:
            found.append(Blocks(numbers=(), is_all=False))
        else:
            is_all = bool(num_blocks[i] == 0 or len(chosen) == num_blocks[i])
            found.append(Blocks(numbers=chosen, is_all=is_all, cut=cuts[i]))
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
