"""Row-level changes through Arrow: delete, overwrite, update and upsert as file changes.

A file of which every row matches is dropped by metadata alone. The others are rewritten (copy-on-write) or get deletes
(merge-on-read: deletion vectors in v3, position deletes in v2), as the table's properties say. Rows that move keep
their ids; rows that change get a new last-updated number.

Spec: "Row Lineage Assignment", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.commit import Append, Change, Isolation, Overwrite, RowDelta
from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import constant_array, to_arrow_schema
from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.reserved import FILE, LAST_UPDATED_SEQUENCE_NUMBER, POS, ROW_ID
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.properties import DELETE_MODE, property_value
from skipstone.metadata.tables.refs import MAIN
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.metadata.values import from_python
from skipstone.plan import ScanPlan, plan_scan
from skipstone.predicate import FloatOrder, Predicate
from skipstone.predicate.arrow_filter import matches
from skipstone.predicate.nodes import TRUE
from skipstone.read import read_plan
from skipstone.read.position_deletes import PositionDeletes
from skipstone.storage.protocol import Storage
from skipstone.write import write_deletion_vectors, write_position_deletes, write_rows
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLevel:
    """Where row-level changes are computed: a state of the table, and a branch of it."""

    metadata: TableMetadata
    storage: Storage
    ref: str = MAIN
    float_order: FloatOrder = FloatOrder.IEEE

    @property
    def schema(self) -> Schema:
        return self.metadata.current_schema

    def delete(self, predicate: Predicate) -> Change | None:
        """Remove the rows that match; None if there are none."""
        return self._exchange(predicate, None)

    def overwrite(self, predicate: Predicate, files: Any) -> Change:
        """Remove the rows that match and add files."""
        change = self._exchange(predicate, files, copy_on_write=True)
        return change if change is not None else Append(files=files, ref=self.ref)

    def update(self, predicate: Predicate, values: Mapping[str, Any]) -> Change | None:
        """Set columns of the rows that match; None if there are none."""
        plan = self.plan(predicate)
        wanted = self._with_lineage(self.schema.struct)
        rows = pa.Table.from_batches(list(read_plan(plan, self.storage, wanted=wanted)), schema=to_arrow_schema(wanted))
        if rows.num_rows == 0:
            return None
        changed = self._assigned(rows, values)
        files = self._write(changed, with_lineage=self._has_lineage)
        return self._exchange(predicate, files)

    def replace_positions(self, gone: Mapping[str, Any], plan: ScanPlan, files: Any, predicate: Predicate) -> Change:
        """Add files and delete the rows at positions of data files, for changes that found the rows themselves."""
        if self._merges_on_read:
            return self.deltas(plan, gone, [], files, predicate)
        return self._rewritten_at(plan, gone, files, predicate)

    # -- how

    @property
    def _merges_on_read(self) -> bool:
        mode = property_value(self.metadata.properties, DELETE_MODE)
        return self.metadata.format_version >= 2 and mode == "merge-on-read"

    @property
    def _has_lineage(self) -> bool:
        return self.metadata.format_version >= 3

    def plan(self, predicate: Predicate) -> ScanPlan:
        return plan_scan(
            self.metadata,
            self.storage,
            snapshot=self._snapshot(),
            schema=self.schema,
            predicate=predicate,
            float_order=self.float_order,
        )

    def _snapshot(self) -> Any:
        # A branch that is not there yet starts where main is.
        return self.metadata.ref_snapshot(self.ref if self.ref in self.metadata.refs else MAIN)

    def _exchange(self, predicate: Predicate, files: Any, *, copy_on_write: bool = False) -> Change | None:
        plan = self.plan(predicate)
        whole = plan.files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES
        paths = plan.files.column("file_path").to_pylist()
        dropped = [p for p, every in zip(paths, whole) if every]
        partial = _only(plan, np.flatnonzero(~whole))
        if self._merges_on_read and not copy_on_write:
            gone = self._matching_positions(partial)
            if not gone and not dropped and files is None:
                return None
            return self.deltas(plan, gone, dropped, files, predicate)
        rewritten, removed = self._rewrite(partial, predicate)
        removed = [*dropped, *removed]
        if not removed and files is None:
            return None
        added = _joined([rewritten, files])
        return Overwrite(
            files=added, remove_files=removed, conflict_filter=predicate, ref=self.ref, float_order=self.float_order
        )

    def _matching_positions(self, plan: ScanPlan) -> dict[str, Any]:
        """Positions of the live rows that match, by data file."""
        found: dict[str, list[Any]] = {}
        for batch in read_plan(plan, self.storage, wanted=StructType((FILE, POS))):
            found.setdefault(batch.column(0)[0].as_py(), []).append(batch.column(1).to_numpy())
        return {path: np.concatenate(parts) for path, parts in found.items()}

    def deltas(
        self, plan: ScanPlan, gone: Mapping[str, Any], dropped: Sequence[str], files: Any, predicate: Predicate
    ) -> Change:
        """Deletes for positions. A vector takes in all earlier position deletes of its file and replaces them."""
        replaced: Any = None
        deletes: Any = None
        if gone and self.metadata.format_version >= 3:
            previous, replaced = self._previous(plan, gone)
            deletes = write_deletion_vectors(
                gone, data_files=plan.files, metadata=self.metadata, storage=self.storage, previous=previous
            )
        elif gone:
            deletes = write_position_deletes(gone, data_files=plan.files, metadata=self.metadata, storage=self.storage)
        added = _joined([deletes, files])
        if added is None:
            return Overwrite(
                remove_files=dropped, conflict_filter=predicate, ref=self.ref, float_order=self.float_order
            )
        return RowDelta(
            files=added,
            remove_files=list(dropped),
            remove_delete_files=replaced,
            conflict_filter=predicate,
            isolation=Isolation.SERIALIZABLE,
            ref=self.ref,
            float_order=self.float_order,
        )

    def _previous(self, plan: ScanPlan, gone: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Positions deleted before, by data file, and the deletion vectors that held them."""
        reader = PositionDeletes(plan, self.storage)
        content = plan.deletes.column("content").to_pylist()
        offsets = plan.deletes.column("content_offset").to_pylist()
        previous: dict[str, Any] = {}
        vectors: list[int] = []
        for path, rows in zip(plan.files.column("file_path").to_pylist(), plan.files.column("deletes").to_pylist()):
            by_position = [r for r in rows if content[r] == FileContent.POSITION_DELETES]
            if path in gone and by_position:
                previous[path] = reader.of(path, by_position)
                vectors += [r for r in by_position if offsets[r] is not None]
        chosen = plan.deletes.take(pa.array(sorted(set(vectors)), pa.int64()))
        return previous, chosen if chosen.num_rows else None

    def _rewrite(self, plan: ScanPlan, predicate: Predicate) -> tuple[Any, list[str]]:
        """The rows that stay of files that lose some, as new files; and the paths of those files."""
        removed: list[str] = []

        def staying() -> Iterator[Any]:
            wanted = self._with_lineage(self.schema.struct)
            for row in range(len(plan)):
                one = replace(_only(plan, np.array([row])), predicate=TRUE)
                batches = list(read_plan(one, self.storage, wanted=wanted, threads=1))
                masks = [matches(predicate, b, float_order=self.float_order) for b in batches]
                if any(pc.any(m).as_py() for m in masks):
                    removed.append(plan.files.column("file_path")[row].as_py())
                    yield from (b.filter(pc.invert(m)) for b, m in zip(batches, masks))

        files = self._write_all(staying())
        return files, removed

    def _rewritten_at(self, plan: ScanPlan, gone: Mapping[str, Any], files: Any, predicate: Predicate) -> Change:
        """The files without the rows at the given positions, and more files."""
        wanted = self._with_lineage(self.schema.struct)
        paths = plan.files.column("file_path").to_pylist()
        rows = [i for i, p in enumerate(paths) if p in gone]

        def staying() -> Iterator[Any]:
            for row in rows:
                one = replace(_only(plan, np.array([row])), predicate=TRUE)
                for batch in read_plan(one, self.storage, wanted=StructType((*wanted.fields, POS)), threads=1):
                    keep = ~np.isin(batch.column(batch.num_columns - 1).to_numpy(), gone[paths[row]])
                    yield batch.select(list(range(batch.num_columns - 1))).filter(pa.array(keep))

        added = _joined([self._write_all(staying()), files])
        removed = [paths[r] for r in rows]
        return Overwrite(
            files=added, remove_files=removed, conflict_filter=predicate, ref=self.ref, float_order=self.float_order
        )

    def _write_all(self, batches: Iterator[Any]) -> Any:
        first = next(batches, None)
        if first is None:
            return None

        def stream() -> Iterator[Any]:
            yield first
            yield from batches

        reader = pa.RecordBatchReader.from_batches(first.schema, stream())
        files = self._write(reader, with_lineage=self._has_lineage)
        return files if files.num_rows else None

    def _write(self, rows: Any, *, with_lineage: bool = False) -> Any:
        return write_rows(rows, metadata=self.metadata, storage=self.storage, with_lineage=with_lineage)

    def _with_lineage(self, struct: StructType) -> StructType:
        if not self._has_lineage:
            return struct
        return StructType((*struct.fields, ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER))

    def _assigned(self, rows: Any, values: Mapping[str, Any]) -> Any:
        """Rows with some columns set; a changed row gets a new last-updated number by having none."""
        for name, value in values.items():
            field = self.schema.field(name)
            if self.schema.parents_by_id.get(field.id) is not None:
                raise InvalidInput(f"Cannot set {name!r}: expected a top-level column, got a field inside one.")
            if value is None and field.required:
                raise InvalidInput(f"Cannot set required column {name!r} to null.")
            converted = None if value is None else from_python(field.type, value)
            place = rows.schema.get_field_index(field.name)
            column = constant_array(field.type, converted, rows.num_rows)
            rows = rows.set_column(place, rows.schema.field(place), column)
        if self._has_lineage:
            place = rows.schema.get_field_index(LAST_UPDATED_SEQUENCE_NUMBER.name)
            rows = rows.set_column(place, rows.schema.field(place), pa.nulls(rows.num_rows, pa.int64()))
        return rows


def _only(plan: ScanPlan, rows: Any) -> ScanPlan:
    return replace(plan, files=plan.files.take(pa.array(rows, pa.int64())), _residuals={})


def _joined(parts: Sequence[Any]) -> Any:
    """Tables of added files as one; None if there is nothing."""
    tables = [p for p in parts if p is not None and p.num_rows]
    if not tables:
        return None
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
