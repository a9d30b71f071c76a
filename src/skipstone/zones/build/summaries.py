"""Manifests as zones: field summaries of a manifest list, one zone a manifest, columns by partition field id.

The rows of such a zone are the partition tuples of the manifest's files. A summary has no counts; what follows from it
is told as the smallest counts that say the same: no nulls is a null count of 0, "all null" is one null of one value.

Spec: "Manifest Lists", `field_summary`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from skipstone.metadata.manifests.manifest import FieldSummary, ManifestFile
from skipstone.metadata.types import DoubleType, FloatType, PrimitiveType, StructType, UnknownType, UuidType
from skipstone.metadata.values import parse_bounds_array
from skipstone.zones.arrow import Array, pa
from skipstone.zones.zone_map import ColumnFacts, ZoneMap


def from_field_summaries(
    manifests: Sequence[ManifestFile],
    partition_type: StructType,
    *,
    source: str = "manifest list",
    on_bad_bound: Literal["raise", "unknown"] = "unknown",
) -> ZoneMap:
    """One zone a manifest. All manifests must be of the one partition spec that `partition_type` belongs to.

    A manifest without summaries, or with another number of them than the spec has fields, has no facts.
    """
    num_fields = len(partition_type.fields)
    listed = [m.partitions if m.partitions is not None and len(m.partitions) == num_fields else None for m in manifests]
    columns: dict[int, ColumnFacts] = {}
    for place, field in enumerate(partition_type.fields):
        if isinstance(field.type, PrimitiveType) and not isinstance(field.type, UnknownType):
            chosen = [None if summaries is None else summaries[place] for summaries in listed]
            where = f"partitions[{place}]"
            columns[field.id] = _facts(chosen, field.type, source=source, where=where, on_bad=on_bad_bound)
    # Where a live file is left, how many tuples there are does not matter, and is not told.
    row_count = pa.array([0 if m.has_no_live_files else None for m in manifests], pa.int64())
    return ZoneMap(num_zones=len(manifests), row_count=row_count, columns=columns)


def _facts(
    summaries: Sequence[FieldSummary | None],
    type_: PrimitiveType,
    *,
    source: str,
    where: str,
    on_bad: Literal["raise", "unknown"],
) -> ColumnFacts:
    raw = {
        "lower_bound": [None if s is None else s.lower_bound for s in summaries],
        "upper_bound": [None if s is None else s.upper_bound for s in summaries],
    }
    lower, upper = (
        parse_bounds_array(type_, pa.array(bounds, pa.binary()), source=source, place=f"{where}.{name}", on_bad=on_bad)
        for name, bounds in raw.items()
    )
    if isinstance(type_, UuidType):
        lower, upper = _in_either_order(lower, upper)
    is_float = isinstance(type_, FloatType | DoubleType)
    counts = [_counts(s, is_float=is_float) for s in summaries]
    nulls, nans, values = (pa.array([c[i] for c in counts], pa.int64()) for i in range(3))
    return ColumnFacts(type=type_, lower=lower, upper=upper, null_count=nulls, nan_count=nans, value_count=values)


def _counts(summary: FieldSummary | None, *, is_float: bool) -> tuple[int | None, int | None, int | None]:
    """How many nulls, NaNs and values: 0 where a kind is absent, 1 where it is all there is to count, else unknown."""
    some_null = None if summary is None else summary.contains_null
    some_nan = False if not is_float else None if summary is None else summary.contains_nan
    has_bounds = summary is not None and (summary.lower_bound is not None or summary.upper_bound is not None)
    # Without bounds all values are null or NaN; and there is at least one of the kinds the summary admits to.
    if some_null is not None and some_nan is not None and not has_bounds and (some_null or some_nan):
        return int(some_null), int(some_nan), int(some_null) + int(some_nan)
    return (0 if some_null is False else None), (0 if some_nan is False else None), None


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
