"""Manifests as zones: field summaries of a manifest list, one zone a manifest, columns by partition field id.

The rows of such a zone are the partition tuples of the manifest's files. A summary has no counts; what follows from it
is told as the smallest counts that say the same: no nulls is a null count of 0, "all null" is one null of one value.

Spec: "Manifest Lists", `field_summary`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_list import manifests_to_arrow
from skipstone.metadata.types import DoubleType, FloatType, PrimitiveType, StructType, UnknownType, UuidType
from skipstone.metadata.values import parse_bounds_array
from skipstone.zones.arrow import Array, Bits, Counts, pa, pc
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

_NEEDED: Final = ("added_files_count", "existing_files_count", "partitions")


def from_field_summaries(
    manifests: pa.Table | Sequence[ManifestFile],
    partition_type: StructType,
    *,
    source: str = "manifest list",
    on_bad_bound: Literal["raise", "unknown"] = "unknown",
) -> ZoneMap:
    """One zone a manifest. All manifests must be of the one partition spec that `partition_type` belongs to.

    `manifests` is the Arrow table of `manifest_list.manifest_list_to_arrow`, or the values read from it. A manifest
    without summaries, or with another number of them than the spec has fields, has no facts.
    """
    table = manifests if isinstance(manifests, pa.Table) else manifests_to_arrow(manifests, names=_NEEDED)
    summaries = table.column("partitions").combine_chunks()
    columns: dict[int, ColumnFacts] = {}
    for place, field in enumerate(partition_type.fields):
        if isinstance(field.type, PrimitiveType) and not isinstance(field.type, UnknownType):
            chosen = _at(summaries, place, len(partition_type.fields))
            where = f"partitions[{place}]"
            columns[field.id] = _facts(chosen, field.type, source=source, where=where, on_bad=on_bad_bound)
    return ZoneMap(num_zones=table.num_rows, row_count=_row_count(table), columns=columns)


def _row_count(table: pa.Table) -> Counts:
    """Zero where no live file is left; otherwise how many tuples there are does not matter, and is not told."""
    added, existing = (table.column(n).combine_chunks() for n in ("added_files_count", "existing_files_count"))
    empty = pc.fill_null(pc.and_kleene(pc.equal(added, 0), pc.equal(existing, 0)), False)
    return pc.if_else(empty, pa.scalar(0, pa.int64()), pa.scalar(None, pa.int64()))


def _at(summaries: Array, place: int, num_fields: int) -> Array:
    """The summary of one field for every manifest, null where there is none."""
    lengths = pc.fill_null(pc.list_value_length(summaries), -1).to_numpy(zero_copy_only=False)
    starts = np.asarray(summaries.offsets)[:-1].astype(np.int64)
    usable = lengths == num_fields
    return summaries.values.take(pa.array(np.where(usable, starts + place, 0), mask=~usable))


def _facts(
    summary: Array, type_: PrimitiveType, *, source: str, where: str, on_bad: Literal["raise", "unknown"]
) -> ColumnFacts:
    raw = {n: pc.struct_field(summary, n) for n in ("contains_null", "contains_nan", "lower_bound", "upper_bound")}
    lower, upper = (
        parse_bounds_array(type_, raw[n], source=source, place=f"{where}.{n}", on_bad=on_bad)
        for n in ("lower_bound", "upper_bound")
    )
    if isinstance(type_, UuidType):
        lower, upper = _in_either_order(lower, upper)
    has_bounds = pc.or_(raw["lower_bound"].is_valid(), raw["upper_bound"].is_valid())
    is_float = isinstance(type_, FloatType | DoubleType)
    some_null = raw["contains_null"]
    some_nan = raw["contains_nan"] if is_float else pa.repeat(pa.scalar(False), len(summary))
    # Without bounds all values are null or NaN; and there is at least one of the kinds the summary admits to.
    counted = pc.fill_null(pc.and_kleene(pc.invert(has_bounds), pc.or_kleene(some_null, some_nan)), False)
    counted = pc.and_(counted, pc.and_(some_null.is_valid(), some_nan.is_valid()))
    nulls, nans = some_null.cast(pa.int64()), some_nan.cast(pa.int64())
    return ColumnFacts(
        type=type_,
        lower=lower,
        upper=upper,
        null_count=_zero_or(nulls, counted),
        nan_count=_zero_or(nans, counted),
        value_count=pc.if_else(counted, pc.add(nulls, nans), pa.scalar(None, pa.int64())),
    )


def _zero_or(present: Counts, counted: Bits) -> Counts:
    """0 where the kind is absent; 1 where it is all there is to count; else unknown."""
    return pc.if_else(pc.or_kleene(counted, pc.equal(present, 0)), present, pa.scalar(None, pa.int64()))


def _in_either_order(lower: Array, upper: Array) -> tuple[Array, Array]:
    """UUID bounds widened so that they hold whether the writer compared bytes or, as Java does, signed halves.

    Where the first halves have the same sign both orders agree on them; the second half is then left open. Where they
    differ, a lower bound from the signed order lies above its upper one, which makes both unknown.
    """
    return _half_open(lower, upper, b"\x00" * 8), _half_open(upper, lower, b"\xff" * 8)


def _half_open(bound: Array, other: Array, second_half: bytes) -> Array:
    widened = [
        b if b is None or b == o else b[:8] + second_half
        for b, o in zip(bound.to_pylist(), other.to_pylist(), strict=True)
    ]
    return pa.array(widened, bound.type)
