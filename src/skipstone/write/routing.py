"""Which partition each row belongs to.

Law: two rows share a group exactly when the spec says that their partition tuples are equal: bit by bit, so that NaN
equals NaN and 0.0 differs from -0.0. Groups come in the order of their first rows, and rows keep their order.

Spec: "Partitioning", "Partition Transforms".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.partitions.partitioning import PartitionSpec, partition_key
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DoubleType, FloatType, StructType, Type, UuidType, Value

_compute: Any = pc
_Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition tuple: values by partition field id, a key that is equal for equal tuples, and its directory."""

    values: dict[int, Value]
    key: Hashable
    path: str


UNPARTITIONED_KEY: Hashable = ()


class Router:
    """Splits batches of rows by partition. Rows are in the shape of the schema's Arrow schema."""

    def __init__(self, schema: Schema, spec: PartitionSpec, struct: StructType) -> None:
        spec.check_writable()
        self._schema = schema
        self._spec = spec
        self._struct = struct
        self.partition_type = spec.partition_type(schema)
        self._known: dict[Hashable, Partition] = {}

    def route(self, batch: pa.RecordBatch) -> Iterator[tuple[Partition, pa.RecordBatch]]:
        """The batch's rows by partition."""
        if not batch.num_rows:
            return
        if not self._spec.fields:
            yield self._partition([]), batch
            return
        columns = [self._partition_column(batch, i) for i in range(len(self._spec.fields))]
        codes = _group_codes([_codes(c, f.type) for c, f in zip(columns, self.partition_type.fields, strict=True)])
        order: Any = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        if len(starts) == 1:
            yield self._partition([c[0] for c in columns]), batch
            return
        ends = np.append(starts[1:], len(codes))
        sorted_batch = batch.take(order)
        # Sorting by code puts groups in no useful order; the first row of each tells which came first.
        for g in np.argsort(order[starts], kind="stable"):
            start, end = int(starts[g]), int(ends[g])
            first = int(order[start])
            yield self._partition([c[first] for c in columns]), sorted_batch.slice(start, end - start)

    def _partition_column(self, batch: pa.RecordBatch, i: int) -> Any:
        field = self._spec.fields[i]
        if field.is_void:
            return pa.nulls(batch.num_rows)
        source = self._schema.field(field.source_id)
        return apply_arrow(field.transform, source.type, source_column(batch, self._struct, field.source_id))

    def _partition(self, scalars: list[Any]) -> Partition:
        types = self.partition_type.fields
        values = {f.id: arrow_to_value(f.type, s) for f, s in zip(types, scalars, strict=True)}
        key = partition_key(self.partition_type, values)
        found = self._known.get(key)
        if found is None:
            path = self._spec.partition_path(self._schema, values)
            found = self._known[key] = Partition(values=values, key=key, path=path)
        return found


def source_column(batch: Any, struct: StructType, field_id: int) -> Any:
    """The column of a field at any depth of structs, null where a struct above it is null."""
    path = path_to(struct, field_id)
    column = batch.column(path[0])
    return column if len(path) == 1 else _compute.struct_field(column, list(path[1:]))


def path_to(struct: StructType, field_id: int) -> tuple[int, ...]:
    """The ordinals that lead from the root to a field outside lists and maps; empty when it is not there."""
    for i, f in enumerate(struct.fields):
        if f.id == field_id:
            return (i,)
        if isinstance(f.type, StructType) and (below := path_to(f.type, field_id)):
            return (i, *below)
    return ()


def _codes(column: Any, type_: Type) -> tuple[_Codes, int]:
    """A small number per row, equal for equal values, and how many there are. Null is a value of its own."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), 1
    if isinstance(type_, UuidType) and isinstance(column, pa.ExtensionArray):
        column = column.storage
    if isinstance(type_, FloatType | DoubleType):
        column = _float_bits(column)
    encoded = column.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return codes, len(encoded.dictionary) + 1


def _float_bits(column: Any) -> Any:
    values = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
    values[np.isnan(values)] = np.nan
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values.view(np.int64), mask=nulls)


def _group_codes(columns: list[tuple[_Codes, int]]) -> _Codes:
    """One number per row for the whole tuple."""
    codes, count = columns[0]
    for more, more_count in columns[1:]:
        if count * more_count >= 2**62:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
            count = int(codes.max()) + 1
        codes = codes * more_count + more
        count *= more_count
    return codes
