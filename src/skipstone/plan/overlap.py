"""Whether an equality delete file can hold a key of a data file, by what is known about their delete columns.

The keys of a delete file are equal to rows of a data file only if, in each delete column, the two can share a value:
a null, a NaN, or an ordinary value within both bounds. Unknown facts, and odd ones, keep the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.schema import Schema
from skipstone.zones.arrow import Array, Bits, certain
from skipstone.zones.bounds import Between
from skipstone.zones.build.manifests import from_manifest_table
from skipstone.zones.kinds import Kinds
from skipstone.zones.zone_map import ColumnFacts

pa: Any = pyarrow
pc: Any = pyarrow.compute

_OF_FILES: Final = ("record_count", "file_format")
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def columns_may_meet(data: Any, deletes: Any, data_rows: Ints, delete_rows: Ints, schemas: Sequence[Schema]) -> Mask:
    """For each pair: false only if one delete column proves that no row can be equal.

    A column is typed by the first schema that has it.
    """
    meets = np.ones(len(data_rows), bool)
    if len(data_rows) == 0:
        return meets
    ids = deletes.column("equality_ids").combine_chunks()
    for field_id in pc.unique(pc.list_flatten(ids)).to_pylist():
        schema = next((s for s in schemas if s.find(field_id) is not None), None)
        sides = [None if schema is None else _side(table, field_id, schema) for table in (data, deletes)]
        if sides[0] is None or sides[1] is None:
            continue
        used = np.array([field_id in (row or ()) for row in ids.to_pylist()])[delete_rows]
        meets &= ~(used & _apart(sides[0].take(data_rows), sides[1].take(delete_rows)))
    return meets


@dataclass(frozen=True, slots=True)
class _Side:
    """What one column of some files holds: ordinary values between bounds, and the kinds it has none of."""

    lower: Array
    upper: Array
    no_null: Bits
    no_nan: Bits

    def take(self, rows: Ints) -> _Side:
        chosen = pa.array(rows)
        return _Side(*(part.take(chosen) for part in (self.lower, self.upper, self.no_null, self.no_nan)))


def _side(files: Any, field_id: int, schema: Schema) -> _Side | None:
    names = [n for n in files.column_names if n in _OF_FILES or n.startswith(f"{field_id}.")]
    zones = from_manifest_table(files.select(names), schema)
    facts = zones.columns.get(field_id)
    if facts is None or not _has_order(facts):
        return None
    between = Between.of(facts)
    kinds = Kinds(facts, zones, is_nested=schema.parents_by_id.get(field_id) is not None)
    if between.lower is None or between.upper is None:
        return None
    return _Side(between.lower, between.upper, kinds.no_null, kinds.no_nan)


def _has_order(facts: ColumnFacts) -> bool:
    """Whether both bounds are there, and plain values."""
    return facts.lower is not None and facts.upper is not None and not pa.types.is_nested(facts.lower.type)


def _apart(data: _Side, keys: _Side) -> Mask:
    apart = pc.or_(certain(pc.less(keys.upper, data.lower)), certain(pc.greater(keys.lower, data.upper)))
    apart = pc.and_(apart, pc.or_(data.no_null, keys.no_null))
    proven: Mask = pc.and_(apart, pc.or_(data.no_nan, keys.no_nan)).to_numpy(zero_copy_only=False)
    return proven
