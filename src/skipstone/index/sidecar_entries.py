"""Entries out of sidecars, in the shape `read_manifest` gives them: inherited values filled in, metrics typed.

Sidecars that store the same columns are read as one: their chunks are decoded together, and entries are put together
once for all of them.

Spec: "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import FormatViolation
from skipstone.index.entry_facts import ENTRY, FACT_KINDS, ROW_OFFSET
from skipstone.index.sidecar_read import Sidecar
from skipstone.index.zone_rows import can_promote, promoted
from skipstone.metadata.manifests.manifest import (
    ENTRY_COLUMNS,
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    ManifestContent,
    ManifestFile,
)
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.types import PrimitiveType, StructType, Type
from skipstone.metadata.values import bound_type
from skipstone.predicate.nodes import Predicate, field_ids

pa: Any = pyarrow
pc: Any = pyarrow.compute

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to read: columns of entries, metrics by field id with the type that the reader's schema gives them.

    Entries are judged by all of these metrics, and come with those that are `needed`.
    """

    columns: Collection[str]
    metrics: dict[int, Type]
    needed: Collection[int]
    partition_type: StructType

    def judging(self, predicate: Predicate) -> Wish:
        """The same, with entries judged by a part of the predicate."""
        asked = {*self.needed, *field_ids(predicate)}
        return replace(self, metrics={i: type_ for i, type_ in self.metrics.items() if i in asked})

    def is_covered_by(self, sidecar: Sidecar) -> bool:
        """Whether the sidecar has all that the manifest could tell."""
        header = sidecar.header
        if not set(header.other_ids).isdisjoint(self.metrics):
            return False
        if {f.id for f in self.partition_type.fields} != set(header.partition_ids):
            return False
        return all(isinstance(type_, PrimitiveType) for type_ in self.metrics.values())

    def misfit(self, stored: Any) -> str | None:
        """The name of a stored column whose type does not fit the reader's; None if all do."""
        tuples = zip(self.partition_type.fields, partition_arrow_type(self.partition_type))
        wanted = {f"partition.{field.id}": arrow.type for field, arrow in tuples}
        for field_id, type_ in self.metrics.items():
            if isinstance(type_, PrimitiveType):
                wanted |= dict.fromkeys((f"{field_id}.lower", f"{field_id}.upper"), bound_type(type_))
        names = (f.name for f in stored if f.name in wanted and not can_promote(f.type, wanted[f.name]))
        return next(names, None)

    def fact_columns(self) -> list[str]:
        names = [f"partition.{f.id}" for f in self.partition_type.fields]
        names += [f"{i}.{kind}" for i in self.metrics for kind in FACT_KINDS]
        return [*names, "record_count", "file_format"]

    def file_columns(self, sources: Sequence[Source]) -> list[str]:
        has_row_ids = any(s.manifest.first_row_id is not None for s in sources)
        return [*(c for c in self.columns if c != "partition"), "status", ENTRY, *([ROW_OFFSET] if has_row_ids else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A sidecar to read some blocks of; `place` is that of its manifest among those that are planned."""

    place: int
    manifest: ManifestFile
    sidecar: Sidecar
    blocks: Sequence[int]

    @property
    def block_files(self) -> list[int]:
        files = self.sidecar.header.block_files
        return [files[b] for b in self.blocks]


class Columns:
    """Columns of entries of some sources; one that is not stored is constant in each of them, or null.

    `owner` has the number of the source of each entry, and `tables` what was read, all with the same entries.
    """

    def __init__(self, sources: Sequence[Source], owner: Ints, tables: Sequence[Any]) -> None:
        self.sources = sources
        self.owner = owner
        self.tables = tables

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, rows: Ints) -> Columns:
        chosen = pa.array(rows)
        return Columns(self.sources, self.owner[rows], [t.take(chosen) for t in self.tables])

    def beside(self, other: Columns) -> Columns:
        """These columns and those of another, of the same entries."""
        return Columns(self.sources, self.owner, [*self.tables, *other.tables])

    def column(self, name: str, arrow: Any) -> Any:
        for table in self.tables:
            place = table.schema.get_field_index(name)
            if place >= 0:
                column = table.column(place)
                column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
                return column if column.type == arrow or arrow is None else column.cast(arrow)
        return self.of_source([s.sidecar.header.constants.get(name) for s in self.sources], arrow)

    def of_source(self, values: Sequence[Any], arrow: Any) -> Any:
        """A column with one value for all entries of a source."""
        if all(value == values[0] for value in values[1:]):
            return (
                pa.nulls(len(self), arrow)
                if not values or values[0] is None
                else pa.repeat(pa.scalar(values[0], arrow), len(self))
            )
        return pa.array(values, arrow).take(pa.array(self.owner))

    def has(self, name: str) -> bool:
        """Whether a column is stored: in one source if it is in all, as they are read as one."""
        return bool(self.sources) and name in self.sources[0].sidecar.places


def assembled(block: Columns, wish: Wish, beside: Any = None) -> Any:
    """Entries as a manifest has them, in the order of manifests and within them; `manifest` is the place of theirs.

    The columns `beside` them, if there are any, come last.
    """
    wanted = {"status", *wish.columns}
    arrays: dict[str, Any] = {}
    for name, arrow in ENTRY_COLUMNS.items():
        if name == "partition" and name in wanted:
            arrays[name] = _partition(block, wish.partition_type)
        elif name in wanted:
            arrays[name] = block.column(name, arrow)
    _inherit(arrays, block)
    for field_id, type_ in wish.metrics.items():
        if field_id in wish.needed:
            arrays |= _metrics(block, field_id, type_)
    arrays["manifest"] = block.of_source([s.place for s in block.sources], pa.int32())
    if beside is not None:
        arrays |= {name: beside.column(name) for name in beside.column_names}
    table = pa.table(arrays)
    places = np.array([s.place for s in block.sources], np.int64)[block.owner]
    order = places << 32 | block.column(ENTRY, pa.int32()).to_numpy(zero_copy_only=False)
    return table if bool(np.all(order[1:] > order[:-1])) else table.take(pa.array(np.argsort(order, kind="stable")))


def facts_of(block: Columns, wish: Wish) -> Any:
    """What entries are judged by, in the order of the index."""
    arrays = {n: block.column(n, ENTRY_COLUMNS[n]) for n in ("record_count", "file_format")}
    arrays["partition"] = _partition(block, wish.partition_type)
    for field_id, type_ in wish.metrics.items():
        arrays |= _metrics(block, field_id, type_)
    return pa.table(arrays)


def _inherit(arrays: dict[str, Any], block: Columns) -> None:
    """Values that entries take from their manifests, put in place of nulls."""
    manifests = [s.manifest for s in block.sources]
    for name in ("sequence_number", "file_sequence_number"):
        if name in arrays and arrays[name].null_count:
            _check_status(arrays, name, block)
            numbers = [
                None if m.sequence_number == UNASSIGNED_SEQUENCE_NUMBER else m.sequence_number for m in manifests
            ]
            arrays[name] = _filled(arrays[name], block.of_source(numbers, pa.int64()))
    if "snapshot_id" in arrays:
        ids = block.of_source([m.added_snapshot_id for m in manifests], pa.int64())
        arrays["snapshot_id"] = _filled(arrays["snapshot_id"], ids)
    if "first_row_id" in arrays and any(m.first_row_id is not None for m in manifests):
        firsts = [m.first_row_id if m.content == ManifestContent.DATA else None for m in manifests]
        ids = pc.add(block.column(ROW_OFFSET, pa.int64()), block.of_source(firsts, pa.int64()))
        arrays["first_row_id"] = _filled(arrays["first_row_id"], ids)


def _filled(column: Any, values: Any) -> Any:
    return values if column.null_count == len(column) else pc.coalesce(column, values)


def _check_status(arrays: dict[str, Any], name: str, block: Columns) -> None:
    """Only added entries inherit; reading the manifest itself tells what is wrong."""
    if block.has("status") or any(
        s.sidecar.header.constants.get("status") != EntryStatus.ADDED and s.manifest.sequence_number
        for s in block.sources
    ):
        numbers = np.array([s.manifest.sequence_number for s in block.sources], np.int64)[block.owner]
        is_open = arrays[name].is_null().to_numpy(zero_copy_only=False) & (numbers != 0)
        if bool((is_open & (arrays["status"].to_numpy(zero_copy_only=False) != EntryStatus.ADDED)).any()):
            raise FormatViolation(f"Invalid sidecar {block.sources[0].sidecar.path}: {name} of an old entry is null.")


def _partition(block: Columns, type_: StructType) -> Any:
    arrow = partition_arrow_type(type_)
    if not len(arrow):
        return pa.StructArray.from_buffers(arrow, len(block), [None])
    children = []
    for field, arrow_field in zip(type_.fields, arrow):
        name = f"partition.{field.id}"
        child = block.column(name, None if block.has(name) else arrow_field.type)
        children.append(promoted(child, arrow_field.type))
    return pa.StructArray.from_arrays(children, fields=list(arrow))


def _metrics(block: Columns, field_id: int, type_: Type) -> dict[str, Any]:
    assert isinstance(type_, PrimitiveType)
    found: dict[str, Any] = {}
    for kind in FACT_KINDS:
        name = f"{field_id}.{kind}"
        if kind in ("lower", "upper"):
            column = block.column(name, None if block.has(name) else bound_type(type_))
            found[name] = promoted(column, bound_type(type_))
        elif kind == "value_count" and is_row_count(block.sources[0].sidecar, field_id):
            found[name] = block.column("record_count", pa.int64())
        else:
            found[name] = block.column(name, pa.int64())
    return found


def is_row_count(sidecar: Sidecar, field_id: int) -> bool:
    """A value count of an indexed column that is neither stored nor constant is the number of rows."""
    name = f"{field_id}.value_count"
    return field_id in sidecar.header.ids and name not in sidecar.places and name not in sidecar.header.constants
