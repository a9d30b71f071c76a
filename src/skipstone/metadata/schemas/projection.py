"""Column projection: where the value of each wanted field comes from, in one data file.

Law: fields are found by id and never by name or position. A field that the file does not carry by id is resolved in
the spec's order: identity partition value, name mapping, initial-default, null. A required field that none of these
gives a value is a violation, not a null. The answer is a tree of sources in the order of the wanted fields; nothing
here touches rows.

Spec: "Column Projection", "Default values", "Reserved Field IDs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.parquet_types import is_variant_group
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.transforms import IdentityTransform
from skipstone.metadata.reserved import LAST_UPDATED_SEQUENCE_NUMBER, METADATA_COLUMNS, PARTITION_ID, ROW_ID
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.defaults import effective_default
from skipstone.metadata.schemas.fresh_ids import NO_ID, has_any_id
from skipstone.metadata.schemas.name_mapping import NameMapping, apply_name_mapping
from skipstone.metadata.types import (
    UUID,
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    Field,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IntType,
    ListType,
    LongType,
    MapType,
    PrimitiveType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    Type,
    UnknownType,
    Value,
    VariantType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """A primitive column of the file; `index` is its place in the file's struct around it."""

    field: Field
    index: int
    file_type: Type

    @property
    def is_promoted(self) -> bool:
        return self.file_type != self.field.type


@dataclass(frozen=True, slots=True, kw_only=True)
class StructColumn:
    """A struct of the file, its fields resolved one by one."""

    field: Field
    index: int
    fields: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListColumn:
    field: Field
    index: int
    element: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class MapColumn:
    field: Field
    index: int
    key: Source
    value: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionConstant:
    """The value that the file's partition tuple has for the field."""

    field: Field
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultValue:
    """The effective initial-default of the field."""

    field: Field
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class NullValue:
    field: Field


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataColumn:
    """A value the reader supplies. Row lineage may also be stored in the file: a null there means inherited."""

    field: Field
    stored: FileColumn | None = None


Source: TypeAlias = (
    FileColumn | StructColumn | ListColumn | MapColumn | PartitionConstant | DefaultValue | NullValue | MetadataColumn
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """Where every wanted field comes from, in the order wanted."""

    fields: tuple[Source, ...]
    source: str = "data file"

    @property
    def struct(self) -> StructType:
        """The wanted fields."""
        return StructType(tuple(s.field for s in self.fields))

    @property
    def file_columns(self) -> tuple[int, ...]:
        """The top-level columns of the file that must be read, in the file's order."""
        columns: set[int] = set()
        for s in self.fields:
            match s:
                case FileColumn() | StructColumn() | ListColumn() | MapColumn():
                    columns.add(s.index)
                case MetadataColumn(stored=FileColumn(index=index)):
                    columns.add(index)
                case _:
                    pass
        return tuple(sorted(columns))


_SUPPLIED_IDS: Final = frozenset({PARTITION_ID, *(f.id for f in METADATA_COLUMNS.values())})
_LINEAGE_IDS: Final = frozenset({ROW_ID.id, LAST_UPDATED_SEQUENCE_NUMBER.id})


def resolve(
    wanted: Schema | StructType,
    file_struct: StructType,
    *,
    partition_spec: PartitionSpec | None = None,
    partition: Mapping[int, Value] | None = None,
    name_mapping: NameMapping | None = None,
    source: str = "data file",
) -> Projection:
    """Resolve the wanted fields in a file.

    `file_struct` is the file's own schema with NO_ID where it has no id; `partition` is the file's partition tuple by
    partition field id, under `partition_spec`.
    """
    mapped = apply_name_mapping(name_mapping, file_struct) if name_mapping is not None else file_struct
    resolver = _Resolver(
        constants=identity_constants(partition_spec, partition or {}),
        source=source,
        has_mapping=name_mapping is not None,
        has_ids=has_any_id(file_struct),
    )
    return Projection(fields=resolver.struct(tuple(wanted.fields), file_struct, mapped, ""), source=source)


def identity_constants(spec: PartitionSpec | None, partition: Mapping[int, Value]) -> dict[int, Value]:
    """Column values that a partition tuple tells: source field id to value, for identity transforms only."""
    if spec is None:
        return {}
    return {
        f.source_ids[0]: partition[f.field_id]
        for f in spec.fields
        if isinstance(f.transform, IdentityTransform) and f.field_id in partition
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolver:
    constants: Mapping[int, Value]
    source: str
    has_mapping: bool
    has_ids: bool

    def struct(
        self, wanted: tuple[Field, ...], in_file: StructType, mapped: StructType, path: str
    ) -> tuple[Source, ...]:
        by_id, by_mapping = self.index(in_file, mapped, path)
        return tuple(self.field(f, in_file, mapped, by_id, by_mapping, _join(path, f.name)) for f in wanted)

    def index(self, in_file: StructType, mapped: StructType, path: str) -> tuple[dict[int, int], dict[int, int]]:
        """Places in the file's struct by the ids it carries, and by the ids only the name mapping gives."""
        by_id: dict[int, int] = {}
        by_mapping: dict[int, int] = {}
        for i, (f, m) in enumerate(zip(in_file.fields, mapped.fields, strict=True)):
            found = by_id if f.id != NO_ID else by_mapping
            if m.id == NO_ID:
                continue
            if m.id in found:
                raise FormatViolation(
                    f"Invalid columns in {self.source}, {path or 'top level'}: expected each field id once, got "
                    f"{m.id} for both '{in_file.fields[found[m.id]].name}' and '{f.name}'."
                )
            found[m.id] = i
        return by_id, by_mapping

    def field(
        self,
        f: Field,
        in_file: StructType,
        mapped: StructType,
        by_id: Mapping[int, int],
        by_mapping: Mapping[int, int],
        path: str,
    ) -> Source:
        if isinstance(f.type, UnknownType):
            # A stored column of an unknown one is ignored.
            return self.missing(f, path)
        index = by_id.get(f.id)
        if f.id in _LINEAGE_IDS and index is not None:
            stored = self.found(f, index, in_file.fields[index].type, mapped.fields[index].type, path)
            return MetadataColumn(field=f, stored=stored if isinstance(stored, FileColumn) else None)
        if index is None and f.id in _SUPPLIED_IDS:
            return MetadataColumn(field=f)
        if index is None and f.id in self.constants:
            return self.constant(f, path)
        if index is None:
            index = by_mapping.get(f.id)
        if index is None:
            return self.missing(f, path)
        return self.found(f, index, in_file.fields[index].type, mapped.fields[index].type, path)

    def constant(self, f: Field, path: str) -> Source:
        value = self.constants[f.id]
        if value is None and f.required:
            raise self.no_value(f, path, "a null partition value")
        return PartitionConstant(field=f, value=value)

    def missing(self, f: Field, path: str) -> Source:
        value = effective_default(f, "initial", where=path)
        if value is not None:
            return DefaultValue(field=f, value=value)
        if f.required:
            raise self.no_value(f, path, "none")
        return NullValue(field=f)

    def found(self, f: Field, index: int, file_type: Type, mapped_type: Type, path: str) -> Source:
        match f.type, file_type, mapped_type:
            case StructType(wanted), StructType(), StructType():
                fields = self.struct(wanted, file_type, mapped_type, path)
                return StructColumn(field=f, index=index, fields=fields)
            case ListType(), ListType(), ListType():
                element = self.part(
                    f.type.element_field, file_type.element_field, mapped_type.element_field, 0, f"{path}.element"
                )
                return ListColumn(field=f, index=index, element=element)
            case MapType(), MapType(), MapType():
                key = self.part(f.type.key_field, file_type.key_field, mapped_type.key_field, 0, f"{path}.key")
                value = self.part(
                    f.type.value_field, file_type.value_field, mapped_type.value_field, 1, f"{path}.value"
                )
                return MapColumn(field=f, index=index, key=key, value=value)
            case _ if isinstance(file_type, UnknownType):
                # Promoted from unknown: the file's column holds nothing but nulls.
                return self.missing(f, path)
            case _ if can_read_as(file_type, f.type):
                return FileColumn(field=f, index=index, file_type=file_type)
        raise FormatViolation(
            f"Invalid column '{path}' (id {f.id}) in {self.source}: expected {f.type} or a type that promotes to it, "
            f"got {file_type}."
        )

    def part(self, wanted: Field, in_file: Field, mapped: Field, index: int, path: str) -> Source:
        """An element, key or value. Its parent has only one, so it is found even where the file gives it no id."""
        if mapped.id not in (NO_ID, wanted.id):
            raise FormatViolation(
                f"Invalid column '{path}' in {self.source}: expected field id {wanted.id}, got {mapped.id}."
            )
        if isinstance(wanted.type, UnknownType):
            return NullValue(field=wanted)
        return self.found(wanted, index, in_file.type, mapped.type, path)

    def no_value(self, f: Field, path: str, got: str) -> FormatViolation:
        hint = ""
        if not self.has_ids and not self.has_mapping:
            hint = " The file has no field ids: set the table property schema.name-mapping.default."
        return FormatViolation(
            f"Invalid data in {self.source}: expected a value for required column '{path}' (id {f.id}) in the file, "
            f"its partition or an initial-default, got {got}.{hint}"
        )


def can_read_as(file_type: Type, wanted: Type) -> bool:
    """Whether values stored as one type are values of another: promotions, and other spellings of the same bytes."""
    if file_type == wanted:
        return True
    match file_type, wanted:
        case (IntType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType(), DecimalType():
            return file_type.scale == wanted.scale and file_type.precision <= wanted.precision
        case DateType(), TimestampType() | TimestampNsType():
            return True
        # Files of other writers may hold more digits of time than the table keeps.
        case (TimestampNsType(), TimestampType()) | (TimestamptzNsType(), TimestamptzType()):
            return True
        # Text and geometry written without their annotation, and the reverse.
        case (
            (BinaryType() | StringType() | GeometryType() | GeographyType()),
            (BinaryType() | StringType() | GeometryType() | GeographyType()),
        ):
            return not (isinstance(file_type, StringType) and isinstance(wanted, GeometryType | GeographyType))
        case FixedType(length), _ if wanted == UUID:
            return length == 16
        case PrimitiveType(), FixedType(length) if file_type == UUID:
            return length == 16
        case StructType(fields), VariantType():
            return is_variant_group(fields)
        case _:
            return False


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
