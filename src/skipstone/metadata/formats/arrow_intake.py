"""Arrow schemas as a caller or a file brings them, turned into Iceberg types.

Law: an Arrow type that cannot be stored without changing values is refused with what to do instead; everything else
maps to the one Iceberg type that holds all its values. Ids come from the field metadata that Parquet readers and
writers use; a field without one has NO_ID.

Spec: "Schemas and Data Types", "Appendix A: Format-specific Requirements".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from skipstone.errors import InvalidInput
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.fresh_ids import NO_ID, assign_fresh_ids, has_all_ids, has_any_id
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DECIMAL_PRECISION_MAX,
    DOUBLE,
    EDGE_ALGORITHMS,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    parse_primitive,
)

FIELD_ID_KEY: Final = b"PARQUET:field_id"
COMMENT_KEY: Final = b"comment"
TYPE_KEY: Final = b"iceberg.type"
EXTENSION_KEY: Final = b"ARROW:extension:name"
EXTENSION_METADATA_KEY: Final = b"ARROW:extension:metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowRules:
    """What to accept from Arrow: the version of the table, and whether nanoseconds may be cut to microseconds."""

    format_version: int = 3
    downcast_ns: bool = False


def from_arrow_schema(schema: pa.Schema, *, format_version: int = 3, downcast_ns: bool = False) -> Schema:
    """The table schema of an Arrow schema: ids from its metadata, or fresh ones when it has none at all."""
    struct = struct_from_arrow(schema, ArrowRules(format_version=format_version, downcast_ns=downcast_ns))
    if not has_any_id(struct):
        struct = assign_fresh_ids(struct)
    elif not has_all_ids(struct):
        raise InvalidInput(
            "Cannot take a schema from Arrow: expected field ids on all fields or on none, got ids on some. "
            f"Add {FIELD_ID_KEY.decode()!r} to every field's metadata, nested ones too, or remove it everywhere."
        )
    return Schema(fields=struct.fields)


def struct_from_arrow(schema: pa.Schema, rules: ArrowRules | None = None) -> StructType:
    """The columns of an Arrow schema as they are: NO_ID where there is no id."""
    rules = rules or ArrowRules()
    return StructType(tuple(field_from_arrow(schema.field(i), rules) for i in range(len(schema))))


def field_from_arrow(f: pa.Field[Any], rules: ArrowRules, *, path: str = "") -> Field:
    metadata = f.metadata or {}
    doc = metadata.get(COMMENT_KEY, metadata.get(b"doc"))
    where = f"{path}.{f.name}" if path else f.name
    return Field(
        id=_field_id(metadata, where),
        name=f.name,
        type=_from_arrow(f.type, metadata, rules, where),
        required=not f.nullable,
        doc=doc.decode("utf-8", "replace") if doc is not None else None,
    )


def from_arrow_type(arrow_type: pa.DataType, rules: ArrowRules | None = None) -> Type:
    """The Iceberg type of an Arrow type; ids below it from metadata, NO_ID where there are none."""
    return _from_arrow(arrow_type, {}, rules or ArrowRules(), "value")


def _field_id(metadata: Mapping[bytes, bytes], where: str) -> int:
    text = metadata.get(FIELD_ID_KEY)
    if text is None:
        return NO_ID
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(
            f"Invalid Arrow schema: column '{where}' has {FIELD_ID_KEY.decode()!r} {text!r}, expected a whole number."
        ) from None


def _from_arrow(t: pa.DataType, metadata: Mapping[bytes, bytes], rules: ArrowRules, where: str) -> Type:
    if (named := metadata.get(TYPE_KEY)) is not None:
        return parse_primitive(named.decode("utf-8", "replace"))
    if isinstance(t, pa.BaseExtensionType):
        return _from_extension(t, rules, where)
    if (extension := metadata.get(EXTENSION_KEY)) in (b"geoarrow.wkb", b"ogc.wkb"):
        return _from_geoarrow(metadata.get(EXTENSION_METADATA_KEY, b""), where)
    if extension == b"arrow.parquet.variant":
        return VARIANT
    if pa.types.is_dictionary(t) or pa.types.is_run_end_encoded(t):
        return _from_arrow(t.value_type, {}, rules, where)
    if pa.types.is_nested(t):
        return _from_nested(t, rules, where)
    if pa.types.is_temporal(t):
        return _from_temporal(t, rules, where)
    if pa.types.is_decimal(t):
        return _from_decimal(t, where)
    if pa.types.is_null(t) and rules.format_version < UNKNOWN.min_format_version:
        raise _refused(t, where, f"v{rules.format_version} tables have no unknown type", "Give the column a type.")
    if pa.types.is_uint64(t):
        raise _refused(t, where, "values above 9223372036854775807 do not fit long", "Cast it to decimal(20, 0).")
    if pa.types.is_fixed_size_binary(t):
        return FixedType(t.byte_width)
    found = _FROM_ARROW.get(t)
    if found is None:
        raise _refused(t, where, "there is no Iceberg type for it", "Cast the column before.")
    return found


_FROM_ARROW: Final[dict[pa.DataType, PrimitiveType]] = {
    pa.null(): UNKNOWN,
    pa.bool_(): BOOLEAN,
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()), INT),
    **dict.fromkeys((pa.int64(), pa.uint32()), LONG),
    **dict.fromkeys((pa.float16(), pa.float32()), FLOAT),
    pa.float64(): DOUBLE,
    **dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), STRING),
    **dict.fromkeys((pa.binary(), pa.large_binary(), pa.binary_view()), BINARY),
}


def _from_nested(t: pa.DataType, rules: ArrowRules, where: str) -> Type:
    if isinstance(t, pa.StructType):
        return StructType(tuple(field_from_arrow(t.field(i), rules, path=where) for i in range(t.num_fields)))
    if isinstance(t, pa.MapType):
        key = field_from_arrow(t.key_field, rules, path=where)
        value = field_from_arrow(t.item_field, rules, path=where)
        return MapType(key_id=key.id, key=key.type, value_id=value.id, value=value.type, value_required=value.required)
    if pa.types.is_union(t):
        raise _refused(t, where, "unions cannot be stored", "Use a struct of optional fields, or variant.")
    element = field_from_arrow(t.value_field, rules, path=where)  # type: ignore[attr-defined]
    return ListType(element_id=element.id, element=element.type, element_required=element.required)


def _from_temporal(t: pa.DataType, rules: ArrowRules, where: str) -> PrimitiveType:
    if pa.types.is_date(t):
        return DATE
    if pa.types.is_time(t):
        if t == pa.time64("ns") and not rules.downcast_ns:
            raise _refused(t, where, "time has microseconds", "Cast to time64[us], or allow it with downcast_ns=True.")
        return TIME
    if isinstance(t, pa.TimestampType):
        with_zone = t.tz is not None
        if t.unit != "ns" or rules.downcast_ns:
            return TIMESTAMPTZ if with_zone else TIMESTAMP
        if rules.format_version < TIMESTAMP_NS.min_format_version:
            raise _refused(
                t,
                where,
                f"v{rules.format_version} tables have no nanosecond timestamps",
                "Cast to microseconds, allow it with downcast_ns=True, or use a v3 table.",
            )
        return TIMESTAMPTZ_NS if with_zone else TIMESTAMP_NS
    raise _refused(t, where, "durations and intervals cannot be stored", "Cast the column to a long.")


def _from_decimal(t: pa.DataType, where: str) -> DecimalType:
    precision, scale = int(t.precision), int(t.scale)  # type: ignore[attr-defined]
    if precision > DECIMAL_PRECISION_MAX or not 0 <= scale <= precision:
        raise _refused(
            t,
            where,
            f"expected at most {DECIMAL_PRECISION_MAX} digits and a scale from 0 to the precision",
            "Cast it to a decimal128.",
        )
    return DecimalType(precision, scale)


def _from_extension(t: pa.BaseExtensionType, rules: ArrowRules, where: str) -> Type:
    name = t.extension_name
    if name == "arrow.uuid":
        return UUID
    if name in ("geoarrow.wkb", "ogc.wkb"):
        return _from_geoarrow(t.__arrow_ext_serialize__() if isinstance(t, pa.ExtensionType) else b"", where)
    if name == "arrow.parquet.variant":
        return VARIANT
    if name == "arrow.json":
        return _from_arrow(t.storage_type, {}, rules, where)
    raise _refused(t, where, f"the extension {name!r} has no Iceberg type", f"Cast the column to {t.storage_type}.")


def _from_geoarrow(metadata: bytes, where: str) -> GeometryType | GeographyType:
    """GeoArrow says `edges` for curved ones and keeps the CRS as text or PROJJSON."""
    try:
        told = json.loads(metadata) if metadata else {}
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise InvalidInput(f"Invalid GeoArrow metadata of column '{where}': expected a JSON object, got {metadata!r}.")
    crs = told.get("crs")
    if crs is not None and not isinstance(crs, str):
        crs = _authority_code(crs)
    if crs == "OGC:CRS84":
        crs = None
    edges = told.get("edges")
    if edges in EDGE_ALGORITHMS:
        return GeographyType(crs, None if edges == "spherical" else edges)
    return GeometryType(crs)


def _authority_code(projjson: Any) -> str | None:
    """`OGC:CRS84` out of a PROJJSON object; other definitions have no short name and are not kept."""
    code = projjson.get("id") if isinstance(projjson, dict) else None
    if isinstance(code, dict) and "authority" in code and "code" in code:
        return f"{code['authority']}:{code['code']}"
    return None


def _refused(t: pa.DataType, where: str, why: str, next_step: str) -> InvalidInput:
    return InvalidInput(f"Cannot use Arrow type {t} of column '{where}': {why}. {next_step}")
