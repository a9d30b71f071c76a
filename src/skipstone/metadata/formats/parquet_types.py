"""Parquet schemas of Iceberg types, both ways.

Laws: every column carries its field id, also inside lists and maps; lists and maps use three levels; a decimal is
stored in the narrowest of int32, int64 and fixed that holds its precision; unknown columns are not stored. A file's
own schema is read as it is: a column without an id has NO_ID, a type that no Iceberg column can be read from is
described, not refused, because a reader may never ask for it.

Spec: "Appendix A: Format-specific Requirements", Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.formats.arrow_intake import FIELD_ID_KEY, from_arrow_type
from skipstone.metadata.formats.arrow_types import to_arrow_type
from skipstone.metadata.formats.avro_names import sanitize_siblings
from skipstone.metadata.formats.avro_types import decimal_bytes_min
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DEFAULT_CRS,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
    UnknownType,
    VariantType,
)

Repetition: TypeAlias = Literal["required", "optional", "repeated"]

# How pyarrow must be called so that the file says what `to_parquet_schema` says.
WRITE_OPTIONS: Final[dict[str, Any]] = {"store_decimal_as_integer": True, "store_schema": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetNode:
    """One element of a Parquet schema; a group has children and no physical type."""

    name: str
    repetition: Repetition = "optional"
    field_id: int | None = None
    physical: str | None = None
    length: int | None = None
    logical: str | None = None
    children: tuple[ParquetNode, ...] = ()

    def leaves(self, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ParquetNode]]:
        """Every column with its dotted path."""
        for child in self.children:
            inside = (*path, child.name)
            if child.physical is not None:
                yield ".".join(inside), child
            yield from child.leaves(inside)


_PLAIN: Final[dict[Type, tuple[str, str | None]]] = {
    BOOLEAN: ("BOOLEAN", None),
    INT: ("INT32", None),
    LONG: ("INT64", None),
    FLOAT: ("FLOAT", None),
    DOUBLE: ("DOUBLE", None),
    DATE: ("INT32", "DATE"),
    TIME: ("INT64", "TIME(MICROS, adjustToUtc=false)"),
    TIMESTAMP: ("INT64", "TIMESTAMP(MICROS, adjustToUtc=false)"),
    TIMESTAMPTZ: ("INT64", "TIMESTAMP(MICROS, adjustToUtc=true)"),
    TIMESTAMP_NS: ("INT64", "TIMESTAMP(NANOS, adjustToUtc=false)"),
    TIMESTAMPTZ_NS: ("INT64", "TIMESTAMP(NANOS, adjustToUtc=true)"),
    STRING: ("BYTE_ARRAY", "STRING"),
    BINARY: ("BYTE_ARRAY", None),
}


def to_parquet_schema(schema: Schema | StructType, *, name: str = "table") -> ParquetNode:
    """What a Parquet file of this schema must look like."""
    return ParquetNode(name=name, repetition="required", children=_nodes(tuple(schema.fields)))


def _stored(fields: tuple[Field, ...]) -> list[Field]:
    return [f for f in fields if not isinstance(f.type, UnknownType)]


def _nodes(fields: tuple[Field, ...]) -> tuple[ParquetNode, ...]:
    stored = _stored(fields)
    names = sanitize_siblings((f.name for f in stored), (f.id for f in stored))
    return tuple(_node(f, name) for f, name in zip(stored, names, strict=True))


def _node(f: Field, name: str) -> ParquetNode:
    repetition: Repetition = "required" if f.required else "optional"
    field_id = None if f.id == NO_ID else f.id

    def group(logical: str | None, *children: ParquetNode) -> ParquetNode:
        return ParquetNode(name=name, repetition=repetition, field_id=field_id, logical=logical, children=children)

    def column(physical: str, logical: str | None, length: int | None = None) -> ParquetNode:
        return ParquetNode(
            name=name, repetition=repetition, field_id=field_id, physical=physical, length=length, logical=logical
        )

    match f.type:
        case StructType(fields):
            return group(None, *_nodes(fields))
        case ListType():
            middle = ParquetNode(name="list", repetition="repeated", children=_nodes((f.type.element_field,)))
            return group("LIST", middle)
        case MapType():
            entry = _nodes((f.type.key_field, f.type.value_field))
            return group("MAP", ParquetNode(name="key_value", repetition="repeated", children=entry))
        case VariantType():
            parts = (ParquetNode(name=n, repetition="required", physical="BYTE_ARRAY") for n in ("metadata", "value"))
            return group("VARIANT(1)", *parts)
        case DecimalType(precision, scale):
            physical, length = decimal_storage(precision)
            return column(physical, f"DECIMAL({precision}, {scale})", length)
        case FixedType(length):
            return column("FIXED_LEN_BYTE_ARRAY", None, length)
        case GeometryType():
            return column("BYTE_ARRAY", f"GEOMETRY({f.type.effective_crs})")
        case GeographyType():
            return column("BYTE_ARRAY", f"GEOGRAPHY({f.type.effective_crs}, {f.type.effective_algorithm})")
        case _ if f.type == UUID:
            return column("FIXED_LEN_BYTE_ARRAY", "UUID", 16)
        case _:
            return column(*_PLAIN[f.type])


def decimal_storage(precision: int) -> tuple[str, int | None]:
    """Physical type and, for fixed, the length of a decimal column."""
    if precision <= 9:
        return "INT32", None
    if precision <= 18:
        return "INT64", None
    return "FIXED_LEN_BYTE_ARRAY", decimal_bytes_min(precision)


class WkbType(pa.ExtensionType):  # type: ignore[misc,unused-ignore]
    """GeoArrow's WKB type, never registered: it only tells pyarrow to write GEOMETRY or GEOGRAPHY."""

    def __init__(self, metadata: bytes) -> None:
        self._metadata = metadata
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self) -> bytes:
        return self._metadata

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> WkbType:
        return cls(serialized)


def parquet_write_schema(schema: Schema | StructType) -> pa.Schema:
    """The Arrow schema to hand to pyarrow's Parquet writer, together with WRITE_OPTIONS.

    It differs from `to_arrow_schema` where a file differs from memory: names are made safe, unknown columns are left
    out, geometry columns announce themselves. pyarrow cannot announce a variant, nor a geography whose edges are not
    spherical: those are stored right but without the annotation.
    """
    return pa.schema(_write_fields(tuple(schema.fields)))


def _write_fields(fields: tuple[Field, ...]) -> list[pa.Field[Any]]:
    stored = _stored(fields)
    names = sanitize_siblings((f.name for f in stored), (f.id for f in stored))
    return [_write_field(f, name) for f, name in zip(stored, names, strict=True)]


def _write_field(f: Field, name: str) -> pa.Field[Any]:
    metadata: dict[bytes | str, bytes | str] | None = None if f.id == NO_ID else {FIELD_ID_KEY: str(f.id).encode()}
    return pa.field(name, _write_type(f.type), nullable=f.optional, metadata=metadata)


def _write_type(type_: Type) -> pa.DataType:
    match type_:
        case StructType(fields):
            return pa.struct(_write_fields(fields))
        case ListType():
            return pa.list_(_write_field(type_.element_field, "element"))
        case MapType():
            key: Any = _write_field(type_.key_field, "key")
            value: Any = _write_field(type_.value_field, "value")
            return pa.map_(key, value)
        case GeometryType():
            return WkbType(_geoarrow(type_.effective_crs, None))
        case GeographyType() if type_.effective_algorithm == "spherical":
            return WkbType(_geoarrow(type_.effective_crs, "spherical"))
        case _:
            return to_arrow_type(type_)


def _geoarrow(crs: str, edges: str | None) -> bytes:
    told = {"crs": crs} if edges is None else {"crs": crs, "edges": edges}
    return json.dumps(told).encode()


def from_parquet_schema(schema: Any, *, source: str = "Parquet file") -> StructType:
    """The struct of a file, from pyarrow's `ParquetFile.schema`; `schema_arrow` would hide the file's own types."""
    try:
        arrow: pa.Schema = schema.to_arrow_schema()
        columns = [schema.column(i) for i in range(len(schema.names))]
    except (pa.ArrowException, OSError) as e:
        raise FormatViolation(f"Invalid Parquet schema in {source}: expected one that Arrow can read, got: {e}.") from e
    reader = _SchemaReader(columns=iter(columns), source=source)
    return StructType(tuple(reader.field(arrow.field(i)) for i in range(len(arrow))))


@dataclass(slots=True, kw_only=True)
class _SchemaReader:
    """Walks Arrow's view of the schema and the file's columns side by side: both list the leaves in the same order."""

    columns: Iterator[Any]
    source: str

    def field(self, f: pa.Field[Any]) -> Field:
        text = (f.metadata or {}).get(FIELD_ID_KEY)
        type_ = self.type(f.type)
        if text is not None and isinstance(type_, StructType) and is_variant_group(type_.fields):
            type_ = VARIANT
        return Field(id=NO_ID if text is None else int(text), name=f.name, type=type_, required=not f.nullable)

    def type(self, t: pa.DataType) -> Type:
        if isinstance(t, pa.StructType):
            return StructType(tuple(self.field(t.field(i)) for i in range(t.num_fields)))
        if isinstance(t, pa.MapType):
            key, value = self.field(t.key_field), self.field(t.item_field)
            return MapType(
                key_id=key.id, key=key.type, value_id=value.id, value=value.type, value_required=value.required
            )
        if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
            element = self.field(t.value_field)
            return ListType(element_id=element.id, element=element.type, element_required=element.required)
        column = next(self.columns, None)
        if column is None:
            raise FormatViolation(
                f"Invalid Parquet schema in {self.source}: expected a column for each leaf, got fewer."
            )
        return _leaf(t, column)


def is_variant_group(fields: tuple[Field, ...]) -> bool:
    """Whether a group is a variant: `metadata` and `value` (and perhaps shredded `typed_value`), none with an id.

    pyarrow does not tell the annotation of a group. A struct of a table cannot look like this where the group itself
    has an id; in a file without ids the table's schema says whether a struct or a variant is meant.
    """
    names = [f.name for f in fields]
    return (
        sorted(names) in (["metadata", "value"], ["metadata", "typed_value", "value"], ["metadata", "typed_value"])
        and all(f.id == NO_ID for f in fields)
        and all(f.type == BINARY for f in fields if f.name != "typed_value")
        and next(f for f in fields if f.name == "metadata").required
    )


def _leaf(t: pa.DataType, column: Any) -> Type:
    if column.physical_type == "INT96":
        # Written by Impala, Hive and old Spark, always as an instant.
        return TIMESTAMPTZ
    logical = json.loads(column.logical_type.to_json())
    kind = logical.get("Type")
    if kind in ("Geometry", "Geography"):
        crs = logical.get("crs") or None
        crs = None if crs == DEFAULT_CRS else crs
        return GeometryType(crs) if kind == "Geometry" else GeographyType(crs, logical.get("algorithm"))
    if kind == "UUID":
        return UUID  # Arrow tells it only in files that Arrow itself wrote
    if pa.types.is_uint64(t):
        return DecimalType(20, 0)
    if t == pa.time64("ns"):
        return TIME
    try:
        return from_arrow_type(t)
    except InvalidInput:
        return FixedType(column.length) if column.length > 0 else BINARY
