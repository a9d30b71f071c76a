"""The partition column of a manifest: the file's struct, typed by the partition spec.

Law: fields are found by partition field id (by name only where the file has no ids); a value that does not fit its type
is refused. Day partitions are dates whether the writer said date or int. Values of a transform that is not known here
come as text, whatever they are in the file: they can only be shown and compared.

Spec: "Partition Transforms", "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from skipstone.metadata.avro.container import AvroContainer
from skipstone.metadata.avro.schema_tree import RecordField, id_metadata
from skipstone.metadata.manifests.manifest_layout import null_column
from skipstone.metadata.types import Field, PrimitiveType, StructType, UnknownType
from skipstone.metadata.values.bound_types import bound_type


def partition_column(
    container: AvroContainer,
    array: Any,
    fields: Sequence[RecordField],
    type_: StructType | None,
    count: int,
    unknown_ids: Collection[int] = (),
) -> pa.Array[Any]:
    """The struct of partition values, with one child for each field of the spec; without a spec as the file has it.

    `unknown_ids` are the fields whose transform is not known.
    """
    if array is None:
        array = pa.Array.from_buffers(pa.struct([]), count, [None], 0, children=[])
    if type_ is None:
        found: pa.Array[Any] = array
        return found
    children: list[pa.Array[Any]] = []
    arrow_fields: list[pa.Field[Any]] = []
    for f in type_.fields:
        child = _child(container, array, fields, f, count, f.id in unknown_ids)
        children.append(child)
        arrow_fields.append(pa.field(f.name, child.type, metadata=id_metadata(f.id)))
    return pa.Array.from_buffers(pa.struct(arrow_fields), count, [None], 0, children=children)


def _child(
    container: AvroContainer, array: Any, fields: Sequence[RecordField], field: Field, count: int, is_unknown: bool
) -> pa.Array[Any]:
    wanted = None if _keeps_file_type(field) else bound_type(field.type)  # type: ignore[arg-type]
    place = next((i for i, f in enumerate(fields) if f.field_id == field.id), -1)
    if place < 0:
        place = next((i for i, f in enumerate(fields) if f.field_id is None and f.name == field.name), -1)
    if place < 0:
        return null_column(count, wanted or pa.null())
    child: pa.Array[Any] = array.field(place)
    if wanted is None or child.type == wanted:
        return child
    if is_unknown:
        return _texts(child)
    try:
        return _cast(child, wanted)
    except pa.ArrowException as error:
        container.fail(f"partition.{field.name}: expected values of {field.type}, got {child.type} ({error})")


def _keeps_file_type(field: Field) -> bool:
    """Where the spec does not tell the type (its source column is gone), the file does."""
    return isinstance(field.type, UnknownType) or not isinstance(field.type, PrimitiveType)


def _texts(child: Any) -> pa.Array[Any]:
    if pa.types.is_temporal(child.type):  # as counts, so that moments beyond Python's calendar have a text too
        child = child.view(pa.int32() if child.type.bit_width == 32 else pa.int64())
    texts = (None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in child.to_pylist())
    return pa.array(list(texts), pa.string())


def _cast(child: pa.Array[Any], wanted: pa.DataType) -> pa.Array[Any]:
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(child.type):
        if wanted.unit == child.type.unit:  # the same instants, whatever the file says about the zone
            return child.view(wanted)
        return child.cast(pa.timestamp(wanted.unit, tz=child.type.tz)).view(wanted)
    if pa.types.is_int64(child.type) and (pa.types.is_timestamp(wanted) or pa.types.is_time64(wanted)):
        return child.view(wanted)
    return child.cast(wanted)
