"""Column projection carried out on Arrow batches: the reference that faster readers are held against.

Law: the result has exactly the wanted fields, in their order and types, whatever the file looked like; a null in a
required column is a violation. Columns of the file that nobody wants are never looked at.

Spec: "Column Projection".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.formats.arrow_convert import convert_array, decoded
from skipstone.metadata.formats.arrow_types import (
    constant_array,
    nested_array,
    struct_array,
    to_arrow_schema,
    to_arrow_type,
)
from skipstone.metadata.schemas.projection import (
    DefaultValue,
    FileColumn,
    ListColumn,
    MapColumn,
    MetadataColumn,
    NullValue,
    PartitionConstant,
    Projection,
    Source,
    StructColumn,
)
from skipstone.metadata.types import Field, ListType, MapType, PrimitiveType, Value

_compute: Any = pc


def project_arrow(
    projection: Projection,
    batch: pa.RecordBatch,
    *,
    columns: Sequence[int] | None = None,
    metadata: Mapping[int, Value | pa.Array[Any]] | None = None,
) -> pa.RecordBatch:
    """The wanted columns of a batch read from the file.

    `columns` says which top-level columns of the file the batch holds, in order; all of them if not given.
    `metadata` supplies the metadata columns by field id: one value for the whole batch, or an array.
    """
    held = range(batch.num_columns) if columns is None else columns
    if len(held) != batch.num_columns:
        raise InvalidInput(
            f"Cannot project a batch of {projection.source}: expected {len(held)} columns, got {batch.num_columns}."
        )
    places = dict(zip(held, batch.columns, strict=True))
    maker = _Maker(metadata=metadata or {}, source=projection.source)
    arrays = [maker.array(s, places, batch.num_rows, s.field.name) for s in projection.fields]
    for s, array in zip(projection.fields, arrays, strict=True):
        maker.check_nulls(s.field, array, s.field.name)
    if not arrays:
        # A batch made of no arrays would forget how many rows there are.
        return batch.select([])
    return pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(projection.struct))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Maker:
    metadata: Mapping[int, Any]
    source: str

    def array(self, s: Source, places: Mapping[int, Any], length: int, path: str) -> pa.Array[Any]:
        match s:
            case FileColumn():
                return self.column(s, places, path)
            case StructColumn():
                return self.struct(s, decoded(self.at(places, s.index, path)), path)
            case ListColumn():
                return self.list(s, decoded(self.at(places, s.index, path)), path)
            case MapColumn():
                return self.map(s, decoded(self.at(places, s.index, path)), path)
            case PartitionConstant(value=value) | DefaultValue(value=value):
                return constant_array(s.field.type, value, length)
            case NullValue():
                return constant_array(s.field.type, None, length)
            case MetadataColumn():
                return self.supplied(s, places, length, path)

    def at(self, places: Mapping[int, Any], index: int, path: str) -> pa.Array[Any]:
        try:
            return places[index]  # type: ignore[no-any-return]
        except KeyError:
            raise InvalidInput(
                f"Cannot project column '{path}' of {self.source}: expected column {index} of the file in the batch, "
                f"got {sorted(places)}."
            ) from None

    def column(self, s: FileColumn, places: Mapping[int, Any], path: str) -> pa.Array[Any]:
        assert isinstance(s.field.type, PrimitiveType)
        where = f"column '{path}' (id {s.field.id}) of {self.source}"
        return convert_array(self.at(places, s.index, path), s.field.type, where=where)

    def struct(self, s: StructColumn, array: Any, path: str) -> pa.Array[Any]:
        below = {i: array.field(i) for i in range(array.type.num_fields)}
        parts = []
        for child in s.fields:
            inside = f"{path}.{child.field.name}"
            made = self.array(child, below, len(array), inside)
            self.check_nulls(child.field, made, inside, inside_valid=array.is_valid())
            parts.append(made)
        return struct_array(to_arrow_type(s.field.type), parts, array.is_null())

    def list(self, s: ListColumn, array: Any, path: str) -> pa.Array[Any]:
        assert isinstance(s.field.type, ListType)
        if not pa.types.is_list(array.type):
            array = array.cast(pa.list_(array.type.value_field))
        offsets, start, stop = _offsets(array)
        values = array.values.slice(start, stop - start)
        made = self.array(s.element, {0: values}, len(values), f"{path}.element")
        result = nested_array(to_arrow_type(s.field.type), offsets, [made], array.is_null())
        self.check_part(s.field.type.element_field, result, f"{path}.element")
        return result

    def map(self, s: MapColumn, array: Any, path: str) -> pa.Array[Any]:
        assert isinstance(s.field.type, MapType)
        offsets, start, stop = _offsets(array)
        below = {0: array.keys.slice(start, stop - start), 1: array.items.slice(start, stop - start)}
        keys = self.array(s.key, below, stop - start, f"{path}.key")
        items = self.array(s.value, below, stop - start, f"{path}.value")
        if keys.null_count:
            raise self.null_in(s.field.type.key_field, f"{path}.key")
        result = nested_array(to_arrow_type(s.field.type), offsets, [keys, items], array.is_null())
        self.check_part(s.field.type.value_field, result, f"{path}.value")
        return result

    def supplied(self, s: MetadataColumn, places: Mapping[int, Any], length: int, path: str) -> pa.Array[Any]:
        value = self.metadata.get(s.field.id)
        if value is None and s.stored is None and s.field.id not in self.metadata:
            raise InvalidInput(f"Cannot project metadata column '{path}' of {self.source}: expected a value, got none.")
        array = value if isinstance(value, pa.Array) else constant_array(s.field.type, value, length)
        if s.stored is None:
            return array
        stored = self.column(s.stored, places, path)
        return _compute.coalesce(stored, array)  # type: ignore[no-any-return]

    def check_nulls(self, f: Field, array: Any, path: str, *, inside_valid: Any = None) -> None:
        """A null where its struct is null is no null of the field."""
        if f.optional or array.null_count == 0:
            return
        nulls = array.is_null()
        if inside_valid is not None:
            nulls = _compute.and_(nulls, inside_valid)
        if _compute.any(nulls).as_py():
            raise self.null_in(f, path)

    def check_part(self, f: Field, array: Any, path: str) -> None:
        """The same for elements and map values: flattening leaves out what lies under null lists and maps."""
        if f.optional:
            return
        flat = array.flatten() if pa.types.is_list(array.type) else array.filter(array.is_valid()).items
        if flat.null_count:
            raise self.null_in(f, path)

    def null_in(self, f: Field, path: str) -> FormatViolation:
        return FormatViolation(
            f"Invalid data in {self.source}: expected no null in required column '{path}' (id {f.id}), got one."
        )


def _offsets(array: Any) -> tuple[pa.Array[Any], int, int]:
    """Offsets that start at 0, and the range of child values they cover, also for a slice of a larger array."""
    raw = np.asarray(array.offsets)
    start, stop = int(raw[0]), int(raw[-1])
    return pa.array(raw - start, pa.int32()), start, stop
