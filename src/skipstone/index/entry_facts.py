"""The live entries of a manifest as the index keeps them: every fact a typed column of its own.

Values that entries inherit are left open, for a sidecar is written before the commit knows them. What a first row id
adds to that of its manifest depends on the entries before it, so it is written down.

Spec: "Manifest Entry Fields", "First Row ID Inheritance", "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, METRIC_COLUMNS, EntryStatus
from skipstone.metadata.manifests.manifest_metrics import METRIC_KINDS, metric_type
from skipstone.metadata.reserved import DELETE_FILE_PATH
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    DateType,
    DecimalType,
    FloatType,
    IntType,
    PrimitiveType,
    StructType,
    UnknownType,
)
from skipstone.metadata.values import parse_bounds_array

pa: Any = pyarrow
pc: Any = pyarrow.compute

ENTRY: Final = "entry"  # the place in the manifest
ROW_OFFSET: Final = "row_offset"  # what is added to the manifest's first row id
FACT_KINDS: Final = ("lower", "upper", "null_count", "nan_count", "value_count")
FILE_COLUMNS: Final = tuple(n for n in ENTRY_COLUMNS if n not in METRIC_COLUMNS and n != "partition")
_BOUNDS: Final = ("lower", "upper")
_FLOAT_BYTES: Final = 4
_PROMOTABLE: Final = (IntType, DateType, DecimalType, UnknownType)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEntries:
    """One row a live entry. `table` has the columns of the entry and "4.lower" and the like of the indexed ones.

    `partition` holds the tuples; `other_ids` names columns of which the manifest may tell more: those that have metrics
    and are not indexed, and those with a bound that does not fit the type of today and may fit a later one.
    """

    table: Any
    partition: Any
    partition_type: StructType
    ids: tuple[int, ...]
    other_ids: tuple[int, ...]

    def __len__(self) -> int:
        return int(self.table.num_rows)


def live_entries(
    entries: Any, *, ids: Sequence[int], schema: Schema, partition_type: StructType, source: str
) -> LiveEntries | None:
    """The live entries of a manifest's table with metric maps; None where something about them is odd."""
    status = _ints(entries, "status")
    live = status != EntryStatus.DELETED
    if bool(np.any(_nulls(entries, "sequence_number") & (status != EntryStatus.ADDED))):
        return None  # reading the manifest itself tells what is wrong
    rows = pa.array(np.flatnonzero(live))
    columns: dict[str, Any] = {n: _one(entries.column(n)).take(rows) for n in FILE_COLUMNS}
    columns[ENTRY] = rows.cast(pa.int32())
    columns[ROW_OFFSET] = _row_offsets(entries, live).take(rows)
    maps = {kind: _one(entries.column(METRIC_KINDS[kind])).take(rows) for kind in FACT_KINDS}
    found = set().union(*(np.unique(m.keys.to_numpy()).tolist() for m in maps.values()))
    wanted = tuple(i for i in (DELETE_FILE_PATH.id, *ids) if i in found or i in ids)
    misfits = set()
    for field_id in wanted:
        type_ = metric_type(field_id, (schema,), source)
        if not isinstance(type_, PrimitiveType):
            return None
        for kind, whole in maps.items():
            column = column_of_map(whole, field_id)
            if kind in _BOUNDS:
                parsed = parse_bounds_array(type_, column, source=source, place=f"[{field_id}]", on_bad="unknown")
                if _may_fit_later(type_, column, parsed):
                    misfits.add(field_id)
                column = parsed
            columns[f"{field_id}.{kind}"] = column
    return LiveEntries(
        table=pa.table(columns),
        partition=_one(entries.column("partition")).take(rows),
        partition_type=partition_type,
        ids=wanted,
        other_ids=tuple(sorted(found - set(wanted) | misfits)),
    )


def _may_fit_later(type_: PrimitiveType, raw: Any, parsed: Any) -> bool:
    """Whether a bound that does not fit a type can fit one that the type may be promoted to."""
    if isinstance(type_, FloatType):  # NaN is no bound of any type
        return bool(pc.any(pc.not_equal(pc.binary_length(raw), _FLOAT_BYTES)).as_py())
    return isinstance(type_, _PROMOTABLE) and parsed.null_count > raw.null_count


def column_of_map(array: Any, field_id: int) -> Any:
    """The values of one key of a map column, null where a row has no such key."""
    offsets = array.offsets.to_numpy()
    start = int(offsets[0]) if len(offsets) else 0
    keys = array.keys.to_numpy()[start : int(offsets[-1])]
    hits = np.flatnonzero(keys == field_id) + start
    taken = np.full(len(array), -1, dtype=np.int64)
    taken[np.searchsorted(offsets, hits, side="right") - 1] = hits
    return array.items.take(pa.array(taken, mask=taken < 0))


def _row_offsets(entries: Any, live: npt.NDArray[np.bool_]) -> Any:
    takes_ids = _nulls(entries, "first_row_id") & live
    rows = np.where(takes_ids, _ints(entries, "record_count"), 0)
    return pa.array(np.cumsum(rows) - rows, pa.int64(), mask=~takes_ids)


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _ints(table: Any, name: str) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = table.column(name).fill_null(0).to_numpy().astype(np.int64)
    return values


def _nulls(table: Any, name: str) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = table.column(name).is_null().to_numpy()
    return nulls
