"""Arrow batches of our own reader in the form that Spark takes: the types of `types`, exactly."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow
import pyarrow.compute
from pyspark.sql.pandas.types import to_arrow_schema

from skipstone.metadata.formats.arrow_types import nested_array, struct_array
from skipstone.metadata.types import (
    UUID,
    FixedType,
    ListType,
    MapType,
    StructType,
    Type,
    UnknownType,
    VariantType,
)
from skipstone.spark.types import to_spark_struct
from skipstone.write.reshape import list_parts

pa: Any = pyarrow
pc: Any = pyarrow.compute


def spark_arrow_schema(struct: StructType) -> Any:
    """The Arrow schema in which Spark takes rows of a struct."""
    return to_arrow_schema(to_spark_struct(struct, all_optional=True))


def shown_batch(batch: Any, struct: StructType, schema: Any) -> Any:
    """A batch whose columns are the struct's fields, in order, as Spark takes it."""
    arrays = [_shown(_plain(batch.column(i)), f.type, schema.field(i).type) for i, f in enumerate(struct.fields)]
    if not arrays:
        return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows)], ["none"]).select([])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _plain(array: Any) -> Any:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _shown(array: Any, type_: Type, target: Any) -> Any:
    array = _plain(array)
    match type_:
        case UnknownType():
            return pa.nulls(len(array), target)
        case VariantType():
            # Ours has the metadata first, Spark's the value; Spark names its own by a key in the field's metadata.
            parts = [pc.struct_field(array, n).cast(pa.binary()) for n in ("value", "metadata")]
            parts = [pc.fill_null(p, b"") for p in parts]
            return pa.StructArray.from_arrays(parts, fields=list(target), mask=array.is_null())
        case StructType(fields):
            return _struct(array, fields, target)
        case ListType():
            offsets, (values,) = list_parts(array)
            shown = _shown(values, type_.element, target.value_type)
            return nested_array(target, offsets, [shown], array.is_null())
        case MapType():
            offsets, (keys, items) = list_parts(array)
            key = _shown(keys, type_.key, target.key_type)
            value = _shown(items, type_.value, target.item_type)
            return nested_array(target, offsets, [key, value], array.is_null())
        case FixedType():
            return array.cast(pa.binary()).cast(target)
        case _ if type_ == UUID:
            texts = [None if v is None else str(uuid.UUID(bytes=v)) for v in array.to_pylist()]
            return pa.array(texts, target)
    return array if array.type == target else array.cast(target)


def _struct(array: Any, fields: tuple[Any, ...], target: Any) -> Any:
    children = [_shown(array.field(i), f.type, target.field(i).type) for i, f in enumerate(fields)]
    return struct_array(target, children, array.is_null())
