"""Entries out of a sidecar, in the shape `read_manifest` gives them: inherited values filled in, metrics typed.

Spec: "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.index.entry_facts import ENTRY, FACT_KINDS, ROW_OFFSET
from skipstone.index.opened import opened
from skipstone.index.sidecar_read import Sidecar
from skipstone.index.sidecar_write import Header
from skipstone.index.zone_rows import can_promote, promoted
from skipstone.metadata.manifests.inheritance import inherit
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.types import PrimitiveType, StructType, Type
from skipstone.metadata.values import bound_type
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

Mask = npt.NDArray[np.bool_]
_KEPT_BYTES_MAX: Final = 2 * 1024 * 1024  # of one read: large ones would push out all others


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to read: columns of entries, metrics by field id with the type that the reader's schema gives them."""

    columns: Collection[str]
    metrics: dict[int, Type]
    partition_type: StructType

    def is_covered_by(self, sidecar: Sidecar) -> bool:
        """Whether the sidecar has all that the manifest could tell."""
        header = sidecar.header
        if not set(header.other_ids).isdisjoint(self.metrics):
            return False
        stored = sidecar.arrow_types
        for field_id, type_ in self.metrics.items():
            if not isinstance(type_, PrimitiveType):
                return False
            for kind in ("lower", "upper"):
                arrow = stored.get(f"{field_id}.{kind}")
                if arrow is not None and not can_promote(arrow, bound_type(type_)):
                    return False
        wanted = partition_arrow_type(self.partition_type)
        if {f.id for f in self.partition_type.fields} != set(header.partition_ids):
            return False
        for field, arrow_field in zip(self.partition_type.fields, wanted):
            arrow = stored.get(f"partition.{field.id}")
            if arrow is not None and not can_promote(arrow, arrow_field.type):
                return False
        return True


class BlockReader:
    """Entries of some blocks of a sidecar (all by default), read in two steps.

    `facts` gives the partition and the metrics of every entry in the order of the index; `entries` all columns of those
    that a mask over them chooses. Of blocks without a chosen entry nothing more is read.
    """

    def __init__(
        self,
        sidecar: Sidecar,
        storage: Storage,
        manifest: ManifestFile,
        wish: Wish,
        blocks: Sequence[int] | None = None,
    ) -> None:
        self._sidecar, self._storage, self._manifest, self._wish = sidecar, storage, manifest, wish
        self._blocks = list(range(len(sidecar.header.block_files))) if blocks is None else list(blocks)
        self._facts = _Columns(sidecar.header, 0, [])

    def facts(self) -> Any:
        self._facts = self._read(_fact_columns(self._sidecar, self._wish), self._blocks)
        return _assembled(self._facts, self._manifest, self._wish, facts_alone=True)

    def all_entries(self) -> Any:
        """Everything at once, in the manifest's order."""
        names = (*_fact_columns(self._sidecar, self._wish), *_file_columns(self._wish))
        return _assembled(self._read(names, self._blocks), self._manifest, self._wish)

    def entries(self, mask: Mask) -> Any:
        """The chosen entries, in the manifest's order; `facts` was read before."""
        sizes = np.array([self._sidecar.header.block_files[b] for b in self._blocks], np.int64)
        holds = np.add.reduceat(mask, np.cumsum(sizes) - sizes) > 0 if len(mask) else np.zeros(len(sizes), bool)
        left = [b for b, h in zip(self._blocks, holds.tolist(), strict=True) if h]
        known = set(_fact_columns(self._sidecar, self._wish))
        more = self._read([n for n in _file_columns(self._wish) if n not in known], left)
        joined = self._facts.filter(mask).beside(more.filter(mask[np.repeat(holds, sizes)]))
        return _assembled(joined, self._manifest, self._wish)

    def _read(self, names: Sequence[str], blocks: Sequence[int]) -> _Columns:
        header = self._sidecar.header
        stored = [n for n in dict.fromkeys(names) if n in header.leaves]
        tables = [self._stored(stored, blocks)] if stored and blocks else []
        return _Columns(header, sum(header.block_files[b] for b in blocks), tables)

    def _stored(self, names: Sequence[str], blocks: Sequence[int]) -> Any:
        """Columns from storage; what was read last is still there for the next plan with the same columns."""
        # A sidecar that is made anew may order its entries otherwise: the footer tells one from the other.
        which = f"{self._sidecar.path}?{zlib.crc32(self._sidecar.footer)}"
        key = f"{which}?{','.join(names)}?{','.join(map(str, blocks))}"
        found = opened.find(self._storage, key)
        if found is None:
            found = self._sidecar.read(self._storage, names, blocks)
            if found.nbytes <= _KEPT_BYTES_MAX:
                opened.keep(self._storage, key, found, found.nbytes)
        return found


class _Columns:
    """Columns of some entries; one that is not stored is constant, or null."""

    def __init__(self, header: Header, length: int, tables: Sequence[Any]) -> None:
        self.header = header
        self._length = length
        self._tables = tables

    def __len__(self) -> int:
        return self._length

    def filter(self, mask: Mask) -> _Columns:
        chosen = pa.array(mask)
        return _Columns(self.header, int(mask.sum()), [t.filter(chosen) for t in self._tables])

    def beside(self, other: _Columns) -> _Columns:
        """These columns and those of another, of the same entries."""
        return _Columns(self.header, self._length, [*self._tables, *other._tables])

    def column(self, name: str, arrow: Any) -> Any:
        for table in self._tables:
            place = table.schema.get_field_index(name)
            if place >= 0:
                column = table.column(place)
                column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
                return column if column.type == arrow or arrow is None else column.cast(arrow)
        value = self.header.constants.get(name)
        if value is None:
            return pa.nulls(self._length, arrow)
        return pa.repeat(pa.scalar(value, arrow), self._length)


def _fact_columns(sidecar: Sidecar, wish: Wish) -> list[str]:
    names = [f"partition.{i}" for i in sidecar.header.partition_ids]
    names += [f"{i}.{kind}" for i in wish.metrics for kind in FACT_KINDS]
    return [*names, "record_count", "file_format"]


def _file_columns(wish: Wish) -> list[str]:
    return [*(c for c in wish.columns if c != "partition"), "status", ENTRY, ROW_OFFSET]


def _assembled(block: _Columns, manifest: ManifestFile, wish: Wish, *, facts_alone: bool = False) -> Any:
    flat = ("record_count", "file_format") if facts_alone else {"status", *wish.columns}
    arrays: dict[str, Any] = {}
    for name, arrow in ENTRY_COLUMNS.items():
        if name == "partition" and (facts_alone or name in flat):
            arrays[name] = _partition(block, wish.partition_type)
        elif name in flat:
            arrays[name] = block.column(name, arrow)
    if not facts_alone:
        arrays = _inherited(arrays, block, manifest)
    for field_id, type_ in wish.metrics.items():
        arrays |= _metrics(block, field_id, type_)
    table = pa.table(arrays)
    if facts_alone:
        return table
    places = block.column(ENTRY, pa.int32()).to_numpy(zero_copy_only=False)
    return table if _is_sorted(places) else table.take(pa.array(np.argsort(places, kind="stable")))


def _is_sorted(places: Any) -> bool:
    return bool(np.all(places[1:] > places[:-1]))


def _inherited(arrays: dict[str, Any], block: _Columns, manifest: ManifestFile) -> dict[str, Any]:
    if "first_row_id" in arrays and manifest.content == ManifestContent.DATA and manifest.first_row_id is not None:
        offsets = block.column(ROW_OFFSET, pa.int64())
        arrays["first_row_id"] = pc.coalesce(
            arrays["first_row_id"], pc.add(offsets, pa.scalar(manifest.first_row_id, pa.int64()))
        )
    # First row ids are done; what is null now stays null.
    without = {n: a for n, a in arrays.items() if n != "first_row_id"}
    done = inherit(pa.table(without), manifest)
    return {n: done.column(n) if n in without else arrays[n] for n in arrays}


def _partition(block: _Columns, type_: StructType) -> Any:
    arrow = partition_arrow_type(type_)
    if not len(arrow):
        return pa.StructArray.from_buffers(arrow, len(block), [None])
    children = []
    for field, arrow_field in zip(type_.fields, arrow):
        child = block.column(f"partition.{field.id}", None if _is_stored(block, field.id) else arrow_field.type)
        children.append(promoted(child, arrow_field.type))
    return pa.StructArray.from_arrays(children, fields=list(arrow))


def _is_stored(block: _Columns, field_id: int) -> bool:
    return f"partition.{field_id}" in block.header.leaves


def _metrics(block: _Columns, field_id: int, type_: Type) -> dict[str, Any]:
    assert isinstance(type_, PrimitiveType)
    found: dict[str, Any] = {}
    for kind in FACT_KINDS:
        name = f"{field_id}.{kind}"
        if kind in ("lower", "upper"):
            is_stored = name in block.header.leaves
            column = block.column(name, None if is_stored else bound_type(type_))
            found[name] = promoted(column, bound_type(type_))
        elif kind == "value_count" and field_id in block.header.ids and _is_left_out(block, name):
            found[name] = block.column("record_count", pa.int64())
        else:
            found[name] = block.column(name, pa.int64())
    return found


def _is_left_out(block: _Columns, name: str) -> bool:
    """A value count that is neither stored nor constant is the number of rows."""
    return name not in block.header.leaves and name not in block.header.constants
