"""Explaining a plan: its levels judged again, part by part of the filter.

Only a plan that is asked to explain itself pays for this. Manifests, partitions and files are judged from the manifests
themselves, so that the numbers of parts and levels fit together whatever index the plan was made with; an index that
skipped more manifests, without opening them, is noted. A partition is judged by its tuple and by the bounds of its
files together, as a roll-up of the index has them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.tables.properties import METRICS_COLUMN, METRICS_DEFAULT, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import partition_codes, read_live_entries, unified_type
from skipstone.plan.explanation import Explanation, LevelExplanation, PartReport
from skipstone.plan.levels import LevelReport
from skipstone.plan.loosened import loosened_paths
from skipstone.plan.reasons import CUT_WIDTH, facts_used, why_kept
from skipstone.plan.remapped import remapped_ids
from skipstone.plan.scan import ScanPlan
from skipstone.plan.snapshot_manifests import manifests_of, partition_type_of, spec_of
from skipstone.predicate.nodes import Column, Predicate, column_of, field_ids, leaves
from skipstone.predicate.one_term import parts_of
from skipstone.predicate.shown import shown
from skipstone.storage.protocol import Storage
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.build.summaries import from_field_summaries
from skipstone.zones.judge import prove
from skipstone.zones.levels import prove_partitions
from skipstone.zones.merge import merge_zones
from skipstone.zones.verdict import Proofs
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute

Mask = npt.NDArray[np.bool_]

NOT_PARTITIONED = "no partition field is made of it"
PARTITION_VALUE = "partition value"
PARTITION_RANGE = "partition bounds of the manifest"
OVERLAP_PARTITIONS = "its partitions can hold a match"


def explain_plan(plan: ScanPlan, storage: Storage, *, indexed_ids: Collection[int] | None = None) -> Explanation:
    """What each part of a plan's filter skipped at each level. `indexed_ids`: columns of an index, if there is one."""
    parts = parts_of(plan.predicate)
    by_level: dict[str, LevelExplanation] = {}
    if parts and plan.snapshot is not None:
        listed = manifests_of(plan.snapshot, plan.metadata, storage)
        by_level = _Levels(plan, parts).explain([m for m in listed if m.content == ManifestContent.DATA], storage)
    return Explanation(
        filter=shown(plan.predicate),
        snapshot_id=None if plan.snapshot is None else plan.snapshot.snapshot_id,
        files=len(plan),
        rows=pc.sum(plan.files.column("record_count")).as_py() or 0,
        bytes=pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0,
        delete_files=plan.deletes.num_rows,
        levels=tuple(by_level.get(r.name) or LevelExplanation(report=r) for r in plan.levels),
        notes=(*_notes(plan, indexed_ids), *_skipped_by_index(plan, by_level), *plan.notes),
    )


def _notes(plan: ScanPlan, indexed_ids: Collection[int] | None) -> list[str]:
    outside = [] if indexed_ids is None else sorted(field_ids(plan.predicate) - set(indexed_ids))
    notes = [f"{plan.schema.name_of(i)} is not indexed: its metrics are read from the manifests" for i in outside]
    odd = int((plan.files.column("record_count").to_numpy() < 0).sum())
    if odd:
        notes.append(f"{odd:,} files do not say how many rows they have")
    return notes


def _skipped_by_index(plan: ScanPlan, by_level: dict[str, LevelExplanation]) -> list[str]:
    planned = next((r for r in plan.levels if r.name == "manifests"), None)
    judged = by_level.get("manifests")
    if planned is None or judged is None or planned.skipped <= judged.report.skipped:
        return []
    more = planned.skipped - judged.report.skipped
    if more == 1:
        return ["the index skipped 1 more manifest by the bounds of its files, without opening it"]
    return [f"the index skipped {more:,} more manifests by the bounds of their files, without opening them"]


class _Levels:
    """The levels of one plan, judged part by part."""

    def __init__(self, plan: ScanPlan, parts: list[Predicate]) -> None:
        self.plan = plan
        self.parts = parts
        self.order = plan.float_order
        self.remapped = remapped_ids(plan.metadata)

    def explain(self, manifests: list[ManifestFile], storage: Storage) -> dict[str, LevelExplanation]:
        metadata = self.plan.metadata
        skip_manifests, of_manifests = self._manifests(manifests)
        kept = [m for m, none in zip(manifests, skip_manifests) if not none]
        ids = tuple(field_ids(self.plan.predicate))
        columns = ("file_path", "record_count", "file_format", "partition")
        files = read_live_entries(kept, metadata, storage, columns=columns, metrics=ids, schema=self.plan.schema)
        skip_files, of_partitions = self._partitions(files)
        of_files = self._files(files.filter(pa.array(~skip_files)))
        loosened = self._loosened(files)
        return {
            e.report.name: replace(e, loosened=n)
            for e, n in zip((of_manifests, of_partitions, of_files), loosened, strict=True)
        }

    def _loosened(self, files: Any) -> tuple[int, int, int]:
        """How many manifests, partitions and files that are kept have bounds around deleted rows."""
        paths = loosened_paths(self.plan)
        found = files.filter(pc.is_in(files.column("file_path"), value_set=paths)).combine_chunks()
        codes = partition_codes(found.column("spec_id"), found.column("partition"))
        manifests = np.unique(found.column("manifest").to_numpy())
        return len(manifests), len(np.unique(codes)), found.num_rows

    def _manifests(self, manifests: list[ManifestFile]) -> tuple[Mask, LevelExplanation]:
        spec_ids = np.array([m.partition_spec_id for m in manifests], np.int64)
        zones: dict[int, tuple[PartitionSpec, ZoneMap]] = {}
        for spec_id in np.unique(spec_ids).tolist():
            chosen = [m for m in manifests if m.partition_spec_id == spec_id]
            spec = spec_of(chosen[0], self.plan.metadata)
            zones[spec_id] = (spec, from_field_summaries(chosen, partition_type_of(spec, self.plan.metadata)))
        return self._by_partition("manifests", spec_ids, zones, PARTITION_RANGE)

    def _partitions(self, files: Any) -> tuple[Mask, LevelExplanation]:
        """Each tuple is judged once; the mask is for the files."""
        codes = partition_codes(files.column("spec_id"), files.column("partition"))
        first, where = np.unique(codes, return_index=True, return_inverse=True)[1:]
        tuples = files.select(["spec_id", "partition"]).take(pa.array(first)).combine_chunks()
        spec_ids = tuples.column("spec_id").to_numpy().astype(np.int64)
        structs = tuples.column("partition").combine_chunks()
        unified = unified_type(self.plan.metadata)
        zones: dict[int, tuple[PartitionSpec, ZoneMap]] = {}
        for spec_id in np.unique(spec_ids).tolist():
            rows = pa.array(np.flatnonzero(spec_ids == spec_id))
            zones[spec_id] = (self.plan.metadata.spec(spec_id), from_partitions(structs.take(rows), unified))
        columns = merge_zones(self._metrics(files), pa.array(where), len(first))
        none, level = self._by_partition("partitions", spec_ids, zones, PARTITION_VALUE, columns)
        return none[where], level

    def _by_partition(
        self,
        name: str,
        spec_ids: npt.NDArray[np.int64],
        zones: dict[int, tuple[PartitionSpec, ZoneMap]],
        fact: str,
        columns: ZoneMap | None = None,
    ) -> tuple[Mask, LevelExplanation]:
        """Zones judged by partition values, and by facts of their columns where there are any."""

        def by_values(predicate: Predicate) -> tuple[Mask, Mask]:
            none, every = np.zeros(len(spec_ids), bool), np.zeros(len(spec_ids), bool)
            for spec_id, (spec, zone_map) in zones.items():
                proofs = prove_partitions(predicate, spec, self.plan.schema, zone_map, self.order)
                none[spec_ids == spec_id], every[spec_ids == spec_id] = _masks(proofs)
            return none, every

        def judged(predicate: Predicate, told: tuple[Mask, Mask]) -> tuple[Mask, Mask]:
            """With what the columns add to what the values told."""
            if columns is None:
                return told
            none_too, every_too = _masks(prove(predicate, columns, self.order))
            return told[0] | none_too, told[1] | every_too

        sources = {i: {s for f in spec.fields for s in f.source_ids} for i, (spec, _) in zones.items()}
        told = [by_values(part) for part in self.parts]
        found = [judged(part, of_values) for part, of_values in zip(self.parts, told)]
        reports = []
        for part, (skipped, _), (none, every), alone in zip(self.parts, told, found, _alone([n for n, _ in found])):
            helping = [i for i, ids in sources.items() if field_ids(part) & ids]
            helps = np.isin(spec_ids, helping)
            undecided = ~none & ~every
            facts = {fact: int(skipped.sum())}
            reasons = {OVERLAP_PARTITIONS: int((undecided & helps).sum())}
            if columns is None:
                reasons[NOT_PARTITIONED] = int((undecided & ~helps).sum())
            else:
                facts |= facts_used(part, columns, none & ~skipped, self.order)
                reasons |= self._why_kept(part, columns, undecided & ~helps)
            reports.append(_report(part, none, every, alone, facts, reasons))
        none, every = judged(self.plan.predicate, by_values(self.plan.predicate))
        return none, _level(name, none, every, reports)

    def _files(self, files: Any) -> LevelExplanation:
        zones = self._metrics(files)
        found = [_masks(prove(part, zones, self.order)) for part in self.parts]
        reports = []
        for part, (none, every), alone in zip(self.parts, found, _alone([n for n, _ in found])):
            facts = facts_used(part, zones, none, self.order)
            reasons = self._why_kept(part, zones, ~none & ~every)
            reports.append(_report(part, none, every, alone, facts, reasons))
        return _level("files", *_masks(prove(self.plan.predicate, zones, self.order)), reports)

    def _metrics(self, files: Any) -> ZoneMap:
        zones = from_manifest_table(files, self.plan.schema)
        for field_id in self.remapped:
            zones = zones.forget(field_id)
        return zones

    def _why_kept(self, part: Predicate, zones: ZoneMap, undecided: Mask) -> dict[str, int]:
        widths = {i: _cut_width(self.plan.metadata, self.plan.schema.name_of(i)) for i in zones.columns}
        return why_kept(part, zones, undecided, self.order, remapped=self.remapped, cut_widths=widths)


def _cut_width(metadata: TableMetadata, name: str) -> int | None:
    """What the writers of this table cut the bounds of a column to; None if they keep them whole."""
    key = METRICS_COLUMN.prefix + name
    text = metadata.properties.get(key)
    mode = property_value(metadata.properties, METRICS_DEFAULT) if text is None else METRICS_COLUMN.value(key, text)
    return None if mode.kind == "full" else mode.width or CUT_WIDTH


def _level(name: str, none: Mask, every: Mask, parts: list[PartReport]) -> LevelExplanation:
    proven = int((every & ~none).sum())
    report = LevelReport(name=name, zones_in=len(none), skipped=int(none.sum()), proven=proven)
    return LevelExplanation(report=report, parts=tuple(parts))


def _masks(proofs: Proofs) -> tuple[Mask, Mask]:
    return proofs.none.to_numpy(zero_copy_only=False), proofs.every.to_numpy(zero_copy_only=False)


def _alone(skipped: list[Mask]) -> list[Mask]:
    """For each part, the zones that only it skips."""
    times = np.sum(skipped, axis=0) if skipped else np.zeros(0)
    return [mask & (times == 1) for mask in skipped]


def _report(
    part: Predicate, none: Mask, every: Mask, alone: Mask, facts: dict[str, int], reasons: dict[str, int]
) -> PartReport:
    names = {c.name for leaf in leaves(part) if isinstance(c := column_of(leaf.term), Column)}
    return PartReport(
        predicate=shown(part),
        columns=tuple(sorted(names)),
        skipped=int(none.sum()),
        skipped_alone=int(alone.sum()),
        proven=int((every & ~none).sum()),
        facts={name: zones for name, zones in facts.items() if zones},
        reasons={name: zones for name, zones in reasons.items() if zones},
    )
