"""Join pruning: the keys of a build side, known before the probe side is read, skip files of the probe side.

A few keys become a filter like any other, so that every level down to pages and Bloom filters uses them. Many keys are
searched, sorted, by the bounds of all files at once, and their partition values are looked up among the transformed
keys. Both only skip what cannot join.

The law: a row whose key is among the keys is kept. Rows that find no partner may be kept as well.
"""

from __future__ import annotations

import uuid
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionField
from skipstone.metadata.partitions.transforms import UnknownTransform, VoidTransform
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.types import UuidType, Value
from skipstone.plan.column_facts import zones_of
from skipstone.plan.entries import unified_type
from skipstone.plan.join_keys import JoinKeys
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.arrow_values import comparable
from skipstone.predicate.nodes import (
    FALSE,
    Column,
    Compare,
    In,
    IsNan,
    Op,
    Predicate,
    and_,
    or_,
)
from skipstone.zones.bounds import Between
from skipstone.zones.in_lists import judge_among
from skipstone.zones.kinds import Kinds

pa: Any = pyarrow
pc: Any = pyarrow.compute

Mask = npt.NDArray[np.bool_]

FILTERED_KEYS_MAX: Final = 1_000  # more than these are searched by the bounds of files, not put into a filter
_TUPLES_MAX: Final = 64


def join_predicate(keys: JoinKeys) -> Predicate:
    """A filter that is true for every row that can join: exact for few keys, a range for many."""
    if len(keys) == 0:
        return FALSE
    if len(keys.columns) > 1 and len(keys) <= _TUPLES_MAX:
        values = [_values(c, a) for c, a in zip(keys.columns, keys.arrays)]
        return or_(*(and_(*(_equal(c, v) for c, v in zip(keys.columns, row))) for row in zip(*values)))
    return and_(*(_one_column(c, a) for c, a in zip(keys.columns, keys.arrays)))


def prune_by_join(plan: ScanPlan, keys: JoinKeys) -> ScanPlan:
    """The files of a plan that can hold a row that joins. The plan needs facts of the key columns."""
    if len(keys) <= FILTERED_KEYS_MAX:
        return plan  # the filter has said all that can be said
    skip = np.zeros(len(plan), bool)
    for column, array in zip(keys.columns, keys.arrays):
        skip |= _by_bounds(plan, column, array) | _by_partition(plan, column, array)
    return plan.taking(np.flatnonzero(~skip), "join")


def _one_column(column: Column, array: Any) -> Predicate:
    distinct = pc.unique(array)
    ordinary, has_nan = _ordinary(column, distinct)
    nan: list[Predicate] = [IsNan(column)] if has_nan else []
    if len(distinct) > FILTERED_KEYS_MAX and len(ordinary):
        ends = pc.min_max(comparable(column.type, ordinary))
        low, high = (_value(column, ends[end]) for end in ("min", "max"))
        return or_(and_(Compare(Op.GE, column, low), Compare(Op.LE, column, high)), *nan)
    values = _values(column, ordinary)
    if len(values) == 1:
        return or_(Compare(Op.EQ, column, values[0]), *nan)
    return or_(*([In(column, tuple(values))] if values else []), *nan)


def _equal(column: Column, value: Value) -> Predicate:
    return IsNan(column) if isinstance(value, float) and value != value else Compare(Op.EQ, column, value)


def _ordinary(column: Column, array: Any) -> tuple[Any, bool]:
    """The keys in their order without NaN, and whether it was among them."""
    if pa.types.is_floating(array.type):
        is_nan = pc.is_nan(array)
        array, has_nan = array.filter(pc.invert(is_nan)), bool(pc.any(is_nan).as_py())
    else:
        has_nan = False
    return array.take(pc.array_sort_indices(comparable(column.type, array))), has_nan


def _values(column: Column, array: Any) -> list[Value]:
    return [_value(column, v) for v in comparable(column.type, array)]


def _value(column: Column, scalar: Any) -> Value:
    plain = scalar.as_py()
    return uuid.UUID(bytes=plain) if isinstance(column.type, UuidType) else plain


def _by_bounds(plan: ScanPlan, column: Column, array: Any) -> Mask:
    """Files whose bounds enclose no key. Null joins nothing, so files of nulls are skipped too."""
    ordinary, has_nan = _ordinary(column, pc.unique(array))
    zones = zones_of(plan, column)
    facts = zones.columns[column.field_id]
    kinds = Kinds(facts, zones, is_nested=column.is_nested)
    none = judge_among(Between.of(facts), comparable(column.type, ordinary), len(plan)).none
    none = pc.or_(none, kinds.no_ordinary)
    if has_nan:
        none = pc.and_(none, kinds.no_nan)
    skip: Mask = none.to_numpy(zero_copy_only=False)
    return skip


def _by_partition(plan: ScanPlan, column: Column, array: Any) -> Mask:
    """Files whose partition value is that of no key."""
    skip = np.zeros(len(plan), bool)
    if pa.types.is_floating(array.type):
        return skip
    unified = unified_type(plan.metadata)
    spec_ids = plan.files.column("spec_id").to_numpy()
    tuples = plan.files.column("partition").combine_chunks()
    for spec_id in np.unique(spec_ids).tolist():
        for field in plan.metadata.spec(spec_id).fields:
            wanted = _transformed(field, column, array)
            if wanted is None:
                continue
            place = next(i for i, f in enumerate(unified.fields) if f.id == field.field_id)
            stored = pc.struct_field(tuples, [place])
            stored = stored.storage if isinstance(stored, pa.ExtensionArray) else stored
            if stored.type == wanted.type:
                found = pc.is_in(stored, value_set=wanted).to_numpy(zero_copy_only=False)
                skip |= (spec_ids == spec_id) & ~found
    return skip


def _transformed(field: PartitionField, column: Column, array: Any) -> Any | None:
    """The partition values of the keys; None if the field says nothing about the column."""
    if field.source_ids != (column.field_id,) or isinstance(field.transform, VoidTransform | UnknownTransform):
        return None
    if not field.transform.can_transform(column.type):
        return None
    try:
        made: Any = apply_arrow(field.transform, column.type, array)
    except InvalidInput:  # a key whose partition value leaves its type
        return None
    made = made.storage if isinstance(made, pa.ExtensionArray) else made
    return pc.unique(made)
