"""Partition tuples as zones: each tuple is a zone of one row whose columns are the partition fields.

Law: nothing is unknown here. A judged predicate on partition fields therefore says exactly whether a tuple matches.

Spec: "Partition Values", "Scan Planning".
"""

from __future__ import annotations

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.types import DoubleType, FloatType, PrimitiveType, StructType, UnknownType
from skipstone.metadata.values import bound_type
from skipstone.zones.arrow import Array, pa, pc
from skipstone.zones.zone_map import ColumnFacts, ZoneMap


def from_partitions(
    partition: pa.StructArray, partition_type: StructType, spec: PartitionSpec | None = None
) -> ZoneMap:
    """One zone a tuple, facts by partition field id.

    Fields whose type is not known (their source column is gone) are left out, and with `spec` also those whose
    transform is not known: nothing may be concluded from them.
    """
    if isinstance(partition, pa.ChunkedArray):
        partition = partition.combine_chunks()
    if partition.type.num_fields < len(partition_type.fields):
        raise InvalidInput(
            f"Cannot make zones of partition tuples: expected {len(partition_type.fields)} fields, "
            f"got {partition.type.num_fields}."
        )
    unread = {f.field_id for f in spec.fields if f.is_unknown} if spec is not None else set()
    columns: dict[int, ColumnFacts] = {}
    for place, field in enumerate(partition_type.fields):
        if field.id in unread or not isinstance(field.type, PrimitiveType) or isinstance(field.type, UnknownType):
            continue
        values = _typed(pc.struct_field(partition, place), field.type)
        if values is not None:
            columns[field.id] = _facts(values, field.type)
    return ZoneMap(num_zones=len(partition), row_count=_counts(len(partition), 1), columns=columns)


def one_value_zones(field_id: int, type_: PrimitiveType, values: Array) -> ZoneMap:
    """One zone of one row for each value of one column."""
    return ZoneMap(num_zones=len(values), row_count=_counts(len(values), 1), columns={field_id: _facts(values, type_)})


def _facts(values: Array, type_: PrimitiveType) -> ColumnFacts:
    count = len(values)
    bounds, nans = values, _counts(count, 0)
    if isinstance(type_, FloatType | DoubleType):
        is_nan = pc.fill_null(pc.is_nan(values), False)
        nans = is_nan.cast(pa.int64())
        bounds = pc.if_else(is_nan, pa.scalar(None, values.type), values)
    certain = pa.repeat(pa.scalar(True), count)
    return ColumnFacts(
        type=type_,
        lower=bounds,
        upper=bounds,
        null_count=values.is_null().cast(pa.int64()) if values.null_count else _counts(count, 0),
        nan_count=nans,
        value_count=_counts(count, 1),
        lower_exact=certain,
        upper_exact=certain,
    )


def _typed(values: Array, type_: PrimitiveType) -> Array | None:
    """The values as bounds are held; None where the manifest holds another kind of value."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    wanted = bound_type(type_)
    if values.type == wanted:
        return values
    try:
        return values.cast(wanted)
    except pa.ArrowException:
        return None


def _counts(length: int, value: int) -> Array:
    return pa.repeat(pa.scalar(value, pa.int64()), length)
