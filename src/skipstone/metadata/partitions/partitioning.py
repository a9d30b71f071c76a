"""Partition specs: how a row's values become the partition tuple of its data file.

Laws: a field is identified by its partition field id, and field ids and names are unique in a spec. A spec stays
readable when a source column is dropped later or a transform is not known here. Partition values are equal when
their bits are: NaN equals NaN, and 0.0 differs from -0.0.

Spec: "Partitioning", "Partition Transforms", "Scan Planning", "Partition Statistics File".
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from skipstone.errors import InvalidInput, NotFound, Unsupported, what_exists
from skipstone.metadata.partitions.transforms import (
    IdentityTransform,
    Transform,
    UnknownTransform,
    VoidTransform,
)
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import UNKNOWN, Field, PrimitiveType, StructType, Type, Value
from skipstone.metadata.values.human import path_escape

PARTITION_FIELD_ID_START: Final = 1000
_CANONICAL_NAN: Final = 0x7FF8000000000000

# A partition tuple: values by partition field id, or in the order of the spec's fields.
PartitionValues: TypeAlias = Mapping[int, Value] | Sequence[Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """One value of the partition tuple. Several source ids belong to a multi-argument transform."""

    source_ids: tuple[int, ...]
    field_id: int
    name: str
    transform: Transform

    def __post_init__(self) -> None:
        object.__setattr__(self, "source_ids", tuple(self.source_ids))
        if not self.name:
            raise InvalidInput(f"Invalid partition field {self.field_id}: expected a name, got an empty one.")
        if not self.source_ids:
            raise InvalidInput(f"Invalid partition field '{self.name}': expected a source column id, got none.")
        if len(self.source_ids) > 1 and not isinstance(self.transform, UnknownTransform | VoidTransform):
            raise InvalidInput(
                f"Invalid partition field '{self.name}': expected one source column for {self.transform}, "
                f"got {len(self.source_ids)}."
            )

    @property
    def source_id(self) -> int:
        """The source column of a single-argument transform; the first one of others."""
        return self.source_ids[0]

    @property
    def is_multi_argument(self) -> bool:
        return len(self.source_ids) > 1

    @property
    def is_void(self) -> bool:
        return isinstance(self.transform, VoidTransform)

    @property
    def is_unknown(self) -> bool:
        return isinstance(self.transform, UnknownTransform)

    def equivalent_to(self, other: PartitionField) -> bool:
        """Same sources, transform and name; field ids do not count."""
        return (self.source_ids, self.transform, self.name) == (other.source_ids, other.transform, other.name)

    def __str__(self) -> str:
        return f"{self.field_id}: {self.name}: {self.transform}({', '.join(map(str, self.source_ids))})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec:
    spec_id: int = 0
    fields: tuple[PartitionField, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        names: set[str] = set()
        ids: set[int] = set()
        for f in self.fields:
            if f.field_id in ids:
                raise InvalidInput(
                    f"Invalid partition spec {self.spec_id}: expected unique ids, got {f.field_id} twice."
                )
            if f.name in names:
                raise InvalidInput(
                    f"Invalid partition spec {self.spec_id}: expected unique names, got '{f.name}' twice."
                )
            ids.add(f.field_id)
            names.add(f.name)

    @property
    def is_unpartitioned(self) -> bool:
        """Whether every tuple is the same: no fields, or only void ones."""
        return all(f.is_void for f in self.fields)

    @property
    def has_unknown_transform(self) -> bool:
        return any(f.is_unknown for f in self.fields)

    @property
    def highest_field_id(self) -> int:
        """The highest partition field id; the one before the first when there is none."""
        return max((f.field_id for f in self.fields), default=PARTITION_FIELD_ID_START - 1)

    def find(self, field: int | str) -> PartitionField | None:
        """The field with this partition field id or name, or None."""
        return next((f for f in self.fields if field == (f.field_id if isinstance(field, int) else f.name)), None)

    def field(self, field: int | str) -> PartitionField:
        found = self.find(field)
        if found is None:
            names = [f.name for f in self.fields]
            raise NotFound(
                f"Cannot find partition field {field!r} in spec {self.spec_id}. "
                + what_exists("Partition fields", str(field), names)
            )
        return found

    def fields_by_source(self, source_id: int) -> tuple[PartitionField, ...]:
        return tuple(f for f in self.fields if source_id in f.source_ids)

    def source_type(self, field: PartitionField, schema: Schema, *, schemas: Iterable[Schema] = ()) -> Type:
        """The type of a field's source column, looked up in older schemas when it was dropped; else `unknown`."""
        if field.is_multi_argument:
            return UNKNOWN
        for candidate in (schema, *sorted(schemas, key=lambda s: s.schema_id, reverse=True)):
            if (source := candidate.find(field.source_id)) is not None:
                return source.type
        return UNKNOWN

    def partition_type(self, schema: Schema, *, schemas: Iterable[Schema] = ()) -> StructType:
        """The struct of the partition tuple. `schemas` are where dropped source columns are looked up, latest first."""
        history = tuple(schemas)
        return StructType(
            tuple(
                Field(
                    id=f.field_id,
                    name=f.name,
                    type=f.transform.result_type(self.source_type(f, schema, schemas=history)),
                )
                for f in self.fields
            )
        )

    def partition_path(self, schema: Schema, values: PartitionValues, *, schemas: Iterable[Schema] = ()) -> str:
        """The directory of a partition, such as `state=CA/ts_day=2026-11-16`. For people; never parse it."""
        history = tuple(schemas)
        parts: list[str] = []
        for f, value in zip(self.fields, _in_order([f.field_id for f in self.fields], values)):
            text = f.transform.to_human(self.source_type(f, schema, schemas=history), value)
            parts.append(f"{path_escape(f.name)}={path_escape(text)}")
        return "/".join(parts)

    def compatible_with(self, other: PartitionSpec) -> bool:
        """Equivalent as the spec defines it: field by field the same sources, transform and name."""
        return len(self.fields) == len(other.fields) and all(
            mine.equivalent_to(theirs) for mine, theirs in zip(self.fields, other.fields)
        )

    def with_id(self, spec_id: int) -> PartitionSpec:
        return replace(self, spec_id=spec_id)

    def check(self, schema: Schema) -> None:
        """Refuse a spec that cannot partition rows of this schema."""
        for f in self.fields:
            check_field(f, schema)

    def check_writable(self) -> None:
        """Refuse a spec that data cannot be committed with."""
        for f in self.fields:
            if f.is_unknown:
                raise Unsupported(
                    f"Cannot write with partition spec {self.spec_id}: field '{f.name}' has the unknown transform "
                    f"{str(f.transform)!r}. Evolve the spec to one without it first."
                )

    def check_format_version(self, format_version: int) -> None:
        for f in self.fields:
            if f.is_multi_argument and format_version < 3:
                raise InvalidInput(
                    f"Invalid partition spec {self.spec_id} for a v{format_version} table: field '{f.name}' has "
                    "several source columns, which needs v3. Upgrade the table."
                )

    def __str__(self) -> str:
        return f"[{', '.join(str(f) for f in self.fields)}]"


UNPARTITIONED: Final = PartitionSpec(spec_id=0)


def check_field(field: PartitionField, schema: Schema) -> None:
    """Refuse a field whose sources are not primitives of the schema outside lists and maps, or of a wrong type."""
    for source_id in field.source_ids:
        source = schema.find(source_id)
        if source is None:
            if field.is_void:  # a void field survives its column: it stands for one dropped in v1
                continue
            raise InvalidInput(
                f"Cannot find source column {source_id} of partition field '{field.name}' in schema "
                f"{schema.schema_id}. " + what_exists("Columns", field.name, [f.name for f in schema.fields])
            )
        where = f"partition field '{field.name}': source column '{schema.name_of(source_id)}' (id {source_id})"
        if schema.is_in_list_or_map(source_id):
            raise InvalidInput(f"Invalid {where}: expected a column outside lists and maps, got one inside.")
        if field.is_void:
            continue
        if not isinstance(source.type, PrimitiveType):
            raise InvalidInput(f"Invalid {where}: expected a primitive type, got {source.type}.")
        if not field.transform.can_transform(source.type):
            raise InvalidInput(
                f"Invalid {where}: the spec does not allow transform {field.transform} on type {source.type}."
            )


def check_name(field: PartitionField, schema: Schema) -> None:
    """Refuse a new name that is a column's, unless the field is that column unchanged."""
    column = schema.find(field.name)
    if column is None:
        return
    same = field.source_ids == (column.id,) and isinstance(field.transform, IdentityTransform | VoidTransform)
    if not same:
        raise InvalidInput(
            f"Invalid partition field '{field.name}': the name is taken by column {column.id}, which only its own "
            "identity may share. Choose another name."
        )


def _in_order(field_ids: Sequence[int], values: PartitionValues) -> list[Value]:
    if isinstance(values, Mapping):
        return [values.get(i) for i in field_ids]
    if len(values) != len(field_ids):
        raise InvalidInput(f"Invalid partition tuple: expected {len(field_ids)} values, got {len(values)}.")
    return list(values)


def partition_key(type_: StructType, values: PartitionValues) -> Hashable:
    """A key that is equal for two tuples exactly when the spec says that the partitions are equal."""
    return tuple(_value_key(v) for v in _in_order([f.id for f in type_.fields], values))


def _value_key(value: Value) -> Hashable:
    match value:
        case float():
            # The bits of the double tell floats apart as well: widening is exact.
            bits: int = _CANONICAL_NAN if value != value else struct.unpack("<q", struct.pack("<d", value))[0]
            return bits
        case bytearray() | memoryview():
            return bytes(value)
        case _:
            hashable: Hashable = value
            return hashable


# -- the type over all specs ----------------------------------------------------------------------------------------


def unified_partition_type(
    specs: Iterable[PartitionSpec],
    schema: Schema,
    *,
    schemas: Iterable[Schema] = (),
    only_live_sources: bool = False,
) -> StructType:
    """Every field that was ever part of a spec, by ascending field id, with its latest name.

    A field dropped in v1 is void in later specs; its type comes from the spec where it was not. `only_live_sources`
    leaves out fields whose source column is no longer in `schema`, as Iceberg Java does.

    Spec: "Partition Statistics File".
    """
    history = tuple(schemas)
    chosen: dict[int, tuple[PartitionField, Type]] = {}
    names: dict[int, str] = {}
    for spec in sorted(specs, key=lambda s: s.spec_id, reverse=True):
        for f in spec.fields:
            if only_live_sources and any(schema.find(i) is None for i in f.source_ids):
                continue
            names.setdefault(f.field_id, f.name)
            known = chosen.get(f.field_id)
            if known is None or (known[0].is_void and not f.is_void):
                chosen[f.field_id] = (f, f.transform.result_type(spec.source_type(f, schema, schemas=history)))
            _check_same_field(f, known[0] if known else None)
    unique = _unique_names(names)
    return StructType(tuple(Field(id=i, name=unique[i], type=chosen[i][1]) for i in sorted(chosen)))


def _check_same_field(field: PartitionField, known: PartitionField | None) -> None:
    if known is None or (known.source_ids == field.source_ids and known.transform == field.transform):
        return
    if known.source_ids == field.source_ids and (known.is_void or field.is_void):
        return
    raise Unsupported(
        f"Cannot unify the partition specs: id {field.field_id} stands for both '{field}' and '{known}', as old v1 "
        "writers could leave it. Handle the files of each spec apart."
    )


def _unique_names(names: Mapping[int, str]) -> dict[int, str]:
    """Names by field id; where an old field lost its name to a newer one, its id is appended."""
    taken = set(names.values())
    used: set[str] = set()
    unique: dict[int, str] = {}
    for field_id, name in names.items():  # newest spec first
        chosen = name
        while chosen in used or (chosen != name and chosen in taken):
            chosen = f"{chosen}_{field_id}"
        used.add(chosen)
        unique[field_id] = chosen
    return unique
