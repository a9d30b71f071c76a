"""Partition tuples held against the rows: every row of a file has the values that its tuple tells.

Laws: only columns that the file itself has are looked at; others are told by the tuple, or by defaults. Values are
equal if the spec says so: bit by bit. Early writers rounded moments before 1970 towards zero, and filters allow for it.

Spec: "Partitioning", "Partition Transforms", "Column Projection".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow
import pyarrow.compute

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.partitions.partitioning import PartitionField, partition_key
from skipstone.metadata.partitions.transforms import TimeTransform
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY, parse_name_mapping
from skipstone.metadata.schemas.projection import FileColumn, Projection, Source, StructColumn, resolve
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import Field, PrimitiveType, StructType, Value
from skipstone.plan.entries import unified_type
from skipstone.plan.scan import ScanPlan
from skipstone.read.formats import open_file
from skipstone.read.opened import Question
from skipstone.storage.protocol import Storage
from skipstone.write.routing import source_column

pa: Any = pyarrow
pc: Any = pyarrow.compute

# So many values that contradict a tuple are named.
_NAMED_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongValue:
    """A value of a tuple, and what some rows have instead."""

    name: str
    stored: Value
    actual: tuple[Value, ...]


def wrong_partition(plan: ScanPlan, row: int, storage: Storage) -> list[WrongValue]:
    """The values of a file's partition tuple that not all of its rows have."""
    spec = plan.metadata.spec(plan.files.column("spec_id")[row].as_py())
    types = {f.id: f for f in unified_type(plan.metadata).fields}
    fields = [f for f in spec.fields if _can_be_computed(f, plan)]
    if not fields:
        return []
    stored = plan.partition_of(row)
    others: dict[int, dict[Any, Value]] = {}
    for field, values in _values(plan, row, storage, fields):
        type_ = types[field.field_id]
        for value in (arrow_to_value(type_.type, v) for v in values):
            if not _is_told(field, type_, stored.get(field.field_id), value):
                others.setdefault(field.field_id, {}).setdefault(_key(type_, value), value)
    return [
        WrongValue(name=f.name, stored=stored.get(f.field_id), actual=tuple(others[f.field_id].values())[:_NAMED_MAX])
        for f in fields
        if f.field_id in others
    ]


def _can_be_computed(field: PartitionField, plan: ScanPlan) -> bool:
    if field.is_void or field.is_unknown or field.is_multi_argument:
        return False
    source = plan.schema.find(field.source_id)
    return (
        source is not None
        and isinstance(source.type, PrimitiveType)
        and not plan.schema.is_in_list_or_map(field.source_id)
        and field.transform.can_transform(source.type)
    )


def _values(
    plan: ScanPlan, row: int, storage: Storage, fields: Sequence[PartitionField]
) -> Iterator[tuple[PartitionField, Any]]:
    """Different results of each field's transform, batch by batch, of columns that are in the file."""
    schema = plan.schema
    path, file_format = (plan.files.column(n)[row].as_py() for n in ("file_path", "file_format"))
    wanted = StructType(tuple(schema.select([schema.name_of(f.source_id) for f in fields]).fields))
    text = plan.metadata.properties.get(NAME_MAPPING_PROPERTY)
    mapping = None if text is None else parse_name_mapping(text)
    opened = open_file(storage, path, file_format)
    try:
        projection = resolve(wanted, opened.struct, name_mapping=mapping, source=path)
        there = _in_file(projection)
        chosen = [f for f in fields if f.source_id in there]
        for stretch in opened.stretches(Question(projection=projection)) if chosen else ():
            for batch in opened.batches(projection.file_columns, stretch):
                rows = project_arrow(projection, batch.columns, columns=projection.file_columns)
                for field in chosen:
                    column = source_column(rows, wanted, field.source_id)
                    type_ = schema.field(field.source_id).type
                    yield field, _different(apply_arrow(field.transform, type_, column))
    finally:
        opened.close()


def _in_file(projection: Projection) -> set[int]:
    """The ids of primitive columns that come from the file."""

    def ids(sources: Sequence[Source]) -> Iterator[int]:
        for source in sources:
            match source:
                case FileColumn():
                    yield source.field.id
                case StructColumn():
                    yield from ids(source.fields)
                case _:
                    pass

    return set(ids(projection.fields))


def _different(values: Any) -> Any:
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if not pa.types.is_floating(values.type):
        return pc.unique(values)
    # 0.0 and -0.0 are two partitions.
    bits = values.view(pa.int32() if values.type == pa.float32() else pa.int64())
    return pc.unique(bits).view(values.type)


def _is_told(field: PartitionField, type_: Field, stored: Value, actual: Value) -> bool:
    if _key(type_, stored) == _key(type_, actual):
        return True
    is_early = isinstance(field.transform, TimeTransform) and isinstance(actual, int) and actual < 0
    return is_early and isinstance(stored, int) and stored == actual + 1


def _key(type_: Field, value: Value) -> Any:
    return partition_key(StructType((type_,)), {type_.id: value})
