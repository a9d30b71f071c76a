"""Entries out of a sidecar, in the shape `read_manifest` gives them: inherited values filled in, metrics typed.

Spec: "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.index.entry_facts import ENTRY, FACT_KINDS, ROW_OFFSET
from skipstone.index.sidecar_read import Sidecar
from skipstone.index.zone_rows import promoted
from skipstone.metadata.manifests.inheritance import inherit
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.types import PrimitiveType, StructType, Type
from skipstone.metadata.values import bound_type
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

Mask = npt.NDArray[np.bool_]
_SMALL: Final = {ENTRY: pa.int32(), ROW_OFFSET: pa.int64()}


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
        stored = {n: f.type for n, f in zip(header.leaves, _leaf_fields(sidecar), strict=True)}
        for field_id, type_ in self.metrics.items():
            if not isinstance(type_, PrimitiveType):
                return False
            for kind in ("lower", "upper"):
                arrow = stored.get(f"{field_id}.{kind}")
                if arrow is not None and promoted(pa.nulls(0, arrow), bound_type(type_)) is None:
                    return False
        wanted = partition_arrow_type(self.partition_type)
        if {f.id for f in self.partition_type.fields} != set(header.partition_ids):
            return False
        for field, arrow_field in zip(self.partition_type.fields, wanted):
            arrow = stored.get(f"partition.{field.id}")
            if arrow is not None and promoted(pa.nulls(0, arrow), arrow_field.type) is None:
                return False
        return True


def read_entries(
    sidecar: Sidecar,
    storage: Storage,
    manifest: ManifestFile,
    wish: Wish,
    *,
    blocks: Sequence[int] | None = None,
    keep: Callable[[Any], Mask] | None = None,
) -> Any:
    """The live entries of some blocks (all by default), in the manifest's order.

    `keep` sees the partition and the metrics of every entry, and says which are wanted; the other columns are read of
    the blocks that hold one of them only.
    """
    chosen = list(range(len(sidecar.header.block_files))) if blocks is None else list(blocks)
    facts_only = _facts_wanted(sidecar, wish)
    if keep is None or len(chosen) <= 1:
        table = _Block(sidecar, storage, chosen, (*facts_only, *_file_columns(wish)))
        mask = None if keep is None else keep(_assembled(table, manifest, wish, facts_alone=True))
        return _assembled(table if mask is None else table.filter(mask), manifest, wish)
    facts = _Block(sidecar, storage, chosen, facts_only)
    mask = keep(_assembled(facts, manifest, wish, facts_alone=True))
    sizes = [sidecar.header.block_files[b] for b in chosen]
    ends = np.cumsum(sizes, dtype=np.int64)
    holds = np.add.reduceat(mask, ends - sizes) > 0 if len(mask) else np.zeros(len(sizes), bool)
    left = [b for b, h in zip(chosen, holds.tolist(), strict=True) if h]
    mask = mask[np.repeat(holds, sizes)]
    if not left:
        return _assembled(facts.filter(np.zeros(len(facts), bool)), manifest, wish)
    return _assembled(_Block(sidecar, storage, left, (*facts_only, *_file_columns(wish))).filter(mask), manifest, wish)


class _Block:
    """Columns of some blocks; one that is not stored is constant, or null."""

    def __init__(self, sidecar: Sidecar, storage: Storage, blocks: Sequence[int], names: Sequence[str]) -> None:
        self.header = sidecar.header
        stored = [n for n in dict.fromkeys(names) if n in self.header.leaves]
        self._length = sum(self.header.block_files[b] for b in blocks)
        self._table = sidecar.read(storage, stored, blocks) if stored and blocks else None

    def __len__(self) -> int:
        return self._length

    def filter(self, mask: Mask) -> _Block:
        found = _Block.__new__(_Block)
        found.header = self.header
        found._table = None if self._table is None else self._table.filter(pa.array(mask))
        found._length = int(mask.sum())
        return found

    def column(self, name: str, arrow: Any) -> Any:
        if self._table is not None and name in self._table.column_names:
            column = self._table.column(name).combine_chunks()
            return column if column.type == arrow or arrow is None else column.cast(arrow)
        value = self.header.constants.get(name)
        if value is None:
            return pa.nulls(self._length, arrow)
        return pa.repeat(pa.scalar(value, arrow), self._length)


def _facts_wanted(sidecar: Sidecar, wish: Wish) -> list[str]:
    names = [f"partition.{i}" for i in sidecar.header.partition_ids]
    names += [f"{i}.{kind}" for i in wish.metrics for kind in FACT_KINDS]
    return [*names, "record_count", "file_format"]


def _file_columns(wish: Wish) -> list[str]:
    return [*(c for c in wish.columns if c != "partition"), "status", ENTRY, ROW_OFFSET]


def _assembled(block: _Block, manifest: ManifestFile, wish: Wish, *, facts_alone: bool = False) -> Any:
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


def _inherited(arrays: dict[str, Any], block: _Block, manifest: ManifestFile) -> dict[str, Any]:
    if "first_row_id" in arrays and manifest.content == ManifestContent.DATA and manifest.first_row_id is not None:
        offsets = block.column(ROW_OFFSET, pa.int64())
        arrays["first_row_id"] = pc.coalesce(
            arrays["first_row_id"], pc.add(offsets, pa.scalar(manifest.first_row_id, pa.int64()))
        )
    # First row ids are done; what is null now stays null.
    without = {n: a for n, a in arrays.items() if n != "first_row_id"}
    done = inherit(pa.table(without), manifest)
    return {n: done.column(n) if n in without else arrays[n] for n in arrays}


def _partition(block: _Block, type_: StructType) -> Any:
    arrow = partition_arrow_type(type_)
    if not len(arrow):
        return pa.StructArray.from_buffers(arrow, len(block), [None])
    children = []
    for field, arrow_field in zip(type_.fields, arrow):
        child = block.column(f"partition.{field.id}", None if _is_stored(block, field.id) else arrow_field.type)
        children.append(promoted(child, arrow_field.type))
    return pa.StructArray.from_arrays(children, fields=list(arrow))


def _is_stored(block: _Block, field_id: int) -> bool:
    return f"partition.{field_id}" in block.header.leaves


def _metrics(block: _Block, field_id: int, type_: Type) -> dict[str, Any]:
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


def _is_left_out(block: _Block, name: str) -> bool:
    """A value count that is neither stored nor constant is the number of rows."""
    return name not in block.header.leaves and name not in block.header.constants


def _leaf_fields(sidecar: Sidecar) -> list[Any]:
    return list(sidecar.metadata.schema.to_arrow_schema())
