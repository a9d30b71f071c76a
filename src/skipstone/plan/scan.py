"""Planning a scan: which files of a snapshot to read, with which deletes, and what is left to check on their rows.

    manifest list -> manifests -> partitions -> files, each level only over what the one above kept

The law: a file that holds a matching row is kept. Everything is columnar; no Python object is made per file.

Spec: "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Value
from skipstone.plan.delete_entries import read_deletes
from skipstone.plan.deletes import match_deletes
from skipstone.plan.entries import (
    FILE_COLUMNS,
    empty_entries,
    partition_codes,
    schemas_of,
    unified_type,
)
from skipstone.plan.file_verdicts import BY_ALL, BY_PARTITION, judge_files, metrics_of
from skipstone.plan.index_zones import with_index
from skipstone.plan.indexed import IndexedEntries, count_rows, read_entries
from skipstone.plan.levels import LevelReport, as_text
from skipstone.plan.live_rows import UNKNOWN_ROWS, live_rows
from skipstone.plan.question import Question
from skipstone.plan.remapped import without_remapped
from skipstone.plan.snapshot_manifests import manifests_of, prune_manifests, recent_manifests_of
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.predicate.project import residual
from skipstone.predicate.shown import shown
from skipstone.storage.protocol import Storage
from skipstone.zones.build.partitions import from_partitions
from skipstone.zones.levels import prove_partitions
from skipstone.zones.verdict import Verdict
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """What to read.

    `files` has one row a data file: its path, format, partition, counts, sequence numbers, `verdict` (the integers of
    `Verdict`) and `deletes`, the rows of the `deletes` table that apply to it. `facts` are what is known about the
    columns that were asked for, one zone a file; a column that is not there is unknown.
    """

    metadata: TableMetadata
    snapshot: Snapshot | None
    schema: Schema
    predicate: Predicate
    float_order: FloatOrder
    files: Any
    deletes: Any
    levels: tuple[LevelReport, ...]
    facts: ZoneMap | None = None
    notes: tuple[str, ...] = ()  # on parts of the index that could not be used
    _residuals: dict[Any, Predicate] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return int(self.files.num_rows)

    def residual_of(self, row: int) -> Predicate:
        """What is left to check on the rows of a file."""
        if self.files.column("verdict")[row].as_py() == Verdict.EVERY_ROW_MATCHES or self.predicate == TRUE:
            return TRUE
        spec_id = self.files.column("spec_id")[row].as_py()
        scalar = self.files.column("partition")[row]
        key = (spec_id, repr(scalar.as_py()))
        if key not in self._residuals:
            spec = self.metadata.spec(spec_id)
            self._residuals[key] = residual(self.predicate, spec, self.schema, self.partition_of(row), self.float_order)
        return self._residuals[key]

    def partition_of(self, row: int) -> Mapping[int, Value]:
        """A file's partition values by partition field id."""
        scalar = self.files.column("partition")[row]
        spec = self.metadata.spec(self.files.column("spec_id")[row].as_py())
        used = {f.field_id for f in spec.fields}
        fields = unified_type(self.metadata).fields
        return {f.id: arrow_to_value(f.type, scalar[i]) for i, f in enumerate(fields) if f.id in used}

    def count(self) -> int | None:
        """The number of matching rows where metadata alone proves it, else None."""
        verdicts = self.files.column("verdict").to_numpy()
        if (verdicts != Verdict.EVERY_ROW_MATCHES).any():
            return None
        rows = live_rows(self.files, self.deletes)
        return None if (rows == UNKNOWN_ROWS).any() else int(rows.sum())

    def limited(self, num_rows: int) -> ScanPlan:
        """A plan that reads only as many fully matching files as hold `num_rows` rows.

        If there are not that many, those files come first, so that reading can stop as soon as there are enough.
        """
        rows = live_rows(self.files, self.deletes)
        is_sure = (self.files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES) & (rows != UNKNOWN_ROWS)
        # Few large files before many small ones; files that are deleted whole hold nothing.
        order = np.flatnonzero(is_sure & (rows > 0))
        order = order[np.argsort(-rows[order], kind="stable")]
        enough = int(np.searchsorted(np.cumsum(rows[order]), num_rows)) if num_rows else -1
        if enough < len(order):
            return self.taking(order[: enough + 1], "limit", proven=enough + 1)
        return self.taking(np.concatenate([order, np.flatnonzero(~is_sure)]), "limit", proven=len(order))

    def taking(self, rows: Any, level: str | None = None, *, proven: int = 0) -> ScanPlan:
        """The plan of some of its files, in the order given; as a level of its own if it has a name."""
        indices = pa.array(rows, pa.int64())
        report = LevelReport(name=level or "", zones_in=len(self), skipped=len(self) - len(indices), proven=proven)
        return replace(
            self,
            files=self.files.take(indices).combine_chunks(),
            facts=None if self.facts is None else self.facts.take(indices),
            levels=self.levels if level is None else (*self.levels, report),
        )

    def unfiltered(self) -> ScanPlan:
        """The same files with nothing to check on their rows."""
        return replace(self, predicate=TRUE, _residuals={})

    def explain(self) -> str:
        """What was skipped at each level, as text."""
        size = pc.sum(self.files.column("file_size_in_bytes")).as_py() or 0
        facts = [("bytes to read", f"{size:,}"), ("delete files", f"{self.deletes.num_rows:,}")]
        return as_text(shown(self.predicate), self.levels, facts)

    def to_json(self) -> dict[str, Any]:
        return {
            "filter": shown(self.predicate),
            "snapshot-id": None if self.snapshot is None else self.snapshot.snapshot_id,
            "levels": [level.to_json() for level in self.levels],
            "files": self.files.num_rows,
            "delete-files": self.deletes.num_rows,
            "bytes": pc.sum(self.files.column("file_size_in_bytes")).as_py() or 0,
        }


def plan_scan(
    metadata: TableMetadata,
    storage: Storage,
    *,
    snapshot: Snapshot | None,
    schema: Schema,
    predicate: Predicate = TRUE,
    float_order: FloatOrder = FloatOrder.IEEE,
    facts_of: Collection[int] = (),
    use_index: bool = True,
) -> ScanPlan:
    """Plan a snapshot (None: a table without any) for a predicate bound to `schema`.

    `facts_of` names further columns whose facts the plan shall have: pruning beyond filters looks at them.
    """
    listed = recent_manifests_of if use_index else manifests_of
    manifests = () if snapshot is None else listed(snapshot, metadata, storage)
    data = [m for m in manifests if m.content == ManifestContent.DATA]
    verdicts = prune_manifests(data, predicate, metadata, schema, float_order)
    kept = [m for m, v in zip(data, verdicts) if v != Verdict.NO_ROW_MATCHES]
    levels = [
        LevelReport(
            name="manifests",
            zones_in=len(data),
            skipped=len(data) - len(kept),
            proven=sum(v == Verdict.EVERY_ROW_MATCHES for v in verdicts),
        )
    ]
    index_of = snapshot if use_index else None
    deletes = read_deletes(manifests, metadata, storage, predicate, schema, float_order, data=kept, index_of=index_of)
    equality_ids = pc.unique(pc.list_flatten(deletes.column("equality_ids"))).to_pylist() if deletes.num_rows else ()
    if snapshot is None:
        nothing = empty_entries(metadata, FILE_COLUMNS)
        judging: dict[str, Any] = {"predicate": predicate, "metadata": metadata, "schema": schema}
        found = IndexedEntries(files=judge_files(nothing, **judging, float_order=float_order))
    else:
        question = Question(
            metadata=metadata,
            storage=storage,
            snapshot=snapshot,
            schema=schema,
            predicate=predicate,
            float_order=float_order,
            needed=(*equality_ids, *facts_of),
        )
        asked = np.array(verdicts, np.int8) != Verdict.NO_ROW_MATCHES
        found = read_entries(data, question, use_index=use_index, asked=asked)
    plan = finish(
        found.files,
        deletes,
        metadata=metadata,
        snapshot=snapshot,
        schema=schema,
        predicate=predicate,
        float_order=float_order,
        levels=levels,
        facts_of=facts_of,
    )
    levels_seen = plan.levels if found.levels is None else with_index(plan.levels, found.levels)
    return replace(plan, levels=levels_seen, notes=found.notes)


def count_by_index(
    metadata: TableMetadata,
    storage: Storage,
    *,
    snapshot: Snapshot | None,
    schema: Schema,
    predicate: Predicate = TRUE,
    float_order: FloatOrder = FloatOrder.IEEE,
) -> int | None:
    """The number of matching rows, if zones above files prove it and no delete can matter; no file is looked at."""
    if snapshot is None:
        return 0
    manifests = recent_manifests_of(snapshot, metadata, storage)
    data = [m for m in manifests if m.content == ManifestContent.DATA]
    verdicts = prune_manifests(data, predicate, metadata, schema, float_order)
    kept = [m for m, v in zip(data, verdicts) if v != Verdict.NO_ROW_MATCHES and not m.has_no_live_files]
    deletes = read_deletes(manifests, metadata, storage, predicate, schema, float_order, data=kept, index_of=snapshot)
    if _can_reach_a_match(deletes, predicate, metadata, schema, float_order):
        return None
    question = Question(
        metadata=metadata,
        storage=storage,
        snapshot=snapshot,
        schema=schema,
        predicate=predicate,
        float_order=float_order,
    )
    return count_rows(data, question)


def _can_reach_a_match(
    deletes: Any, predicate: Predicate, metadata: TableMetadata, schema: Schema, float_order: FloatOrder
) -> bool:
    """False if the partition of every delete file proves that nothing matches in it."""
    spec_ids = deletes.column("spec_id").to_numpy()
    for spec_id in np.unique(spec_ids).tolist():
        spec = metadata.spec(spec_id)
        tuples = deletes.column("partition").combine_chunks().take(pa.array(np.flatnonzero(spec_ids == spec_id)))
        zones = from_partitions(tuples, unified_type(metadata))
        # Deletes of an unpartitioned spec reach every partition.
        if (
            spec.is_unpartitioned
            or not pc.all(prove_partitions(predicate, spec, schema, zones, float_order).none).as_py()
        ):
            return True
    return False


def finish(
    files: Any,
    deletes: Any,
    *,
    metadata: TableMetadata,
    snapshot: Snapshot | None,
    schema: Schema,
    predicate: Predicate,
    float_order: FloatOrder,
    levels: list[LevelReport],
    facts_of: Collection[int] = (),
) -> ScanPlan:
    """The plan over entries that were read and judged: files pruned, deletes matched."""
    files = _prune_files(files, predicate, levels)
    facts = _facts(files, metadata, schema, set(facts_of))
    files, deletes = _with_deletes(files, deletes, metadata, schema)
    return ScanPlan(
        metadata=metadata,
        snapshot=snapshot,
        schema=schema,
        predicate=predicate,
        float_order=float_order,
        files=files,
        deletes=deletes,
        levels=tuple(levels),
        facts=facts,
    )


def _facts(files: Any, metadata: TableMetadata, schema: Schema, field_ids: Collection[int]) -> ZoneMap:
    """What is known about some columns of the files."""
    if not field_ids:
        return ZoneMap(num_zones=files.num_rows)
    facts = metrics_of(files, metadata, schema)
    return replace(facts, columns={i: f for i, f in facts.columns.items() if i in field_ids})


def _prune_files(files: Any, predicate: Predicate, levels: list[LevelReport]) -> Any:
    """The files that can hold a match, with one verdict; partitions and files are counted as levels."""
    if predicate == TRUE:
        by_partition = by_all = np.full(files.num_rows, np.int8(Verdict.EVERY_ROW_MATCHES))
    else:
        by_partition, by_all = (files.column(n).to_numpy() for n in (BY_PARTITION, BY_ALL))
    codes = partition_codes(files.column("spec_id"), files.column("partition"))
    in_left = by_partition != Verdict.NO_ROW_MATCHES
    num_partitions, left, proven = (
        len(np.unique(codes[of])) for of in (..., in_left, by_partition == Verdict.EVERY_ROW_MATCHES)
    )
    levels.append(LevelReport(name="partitions", zones_in=num_partitions, skipped=num_partitions - left, proven=proven))
    kept = by_all != Verdict.NO_ROW_MATCHES
    levels.append(
        LevelReport(
            name="files",
            zones_in=int(in_left.sum()),
            skipped=int((in_left & ~kept).sum()),
            proven=int((by_all == Verdict.EVERY_ROW_MATCHES).sum()),
        )
    )
    files = files.append_column("verdict", pa.array(by_all, pa.int8()))
    return files if kept.all() else files.filter(pa.array(kept)).combine_chunks()


def _with_deletes(files: Any, deletes: Any, metadata: TableMetadata, schema: Schema) -> tuple[Any, Any]:
    """The files with the deletes that apply to them; deletes that apply to none are left out."""
    plain = [n for n in files.column_names if "." not in n and n not in ("status", "manifest")]
    kept_columns = [n for n in deletes.column_names if "." not in n and n not in ("status", "manifest")]
    if deletes.num_rows == 0:
        empty = pa.ListArray.from_arrays(pa.array(np.zeros(files.num_rows + 1, np.int32)), _NO_IDS)
        return files.select(plain).append_column("deletes", empty), deletes.select(kept_columns)
    spec_ids = pa.concat_arrays([c for t in (files, deletes) for c in t.column("spec_id").chunks] or [_NO_IDS])
    chunks = [c for t in (files, deletes) for c in t.column("partition").chunks]
    partitions = pa.concat_arrays(chunks) if chunks else None
    if partitions is None:
        codes = np.empty(0, np.int64)
    else:
        codes = partition_codes(spec_ids, partitions)
    unpartitioned = [s.spec_id for s in metadata.partition_specs if s.is_unpartitioned]
    lists = match_deletes(
        without_remapped(files, metadata),
        without_remapped(deletes, metadata),
        data_codes=codes[: files.num_rows],
        delete_codes=codes[files.num_rows :],
        unpartitioned_specs=unpartitioned,
        schemas=schemas_of(metadata, schema),
    )
    used = np.unique(lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64))
    renumbered = np.searchsorted(used, lists.flatten().to_numpy(zero_copy_only=False))
    lists = pa.ListArray.from_arrays(lists.offsets, pa.array(renumbered, pa.int32()))
    return (
        files.select(plain).append_column("deletes", lists),
        deletes.select(kept_columns).take(pa.array(used)).combine_chunks(),
    )


_NO_IDS = pa.array([], pa.int32())
