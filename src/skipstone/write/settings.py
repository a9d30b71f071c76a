"""How a table wants its files written: its properties, typed.

Data files and delete files have their own size, row-group size and compression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables import properties as p
from skipstone.metadata.tables.properties import column_property, property_value
from skipstone.metadata.tables.property_kinds import PropertyFamily, usable_level


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    file_format: str
    target_file_size_bytes: int
    row_group_size_bytes: int
    compression: str
    compression_level: int | None
    page_size_bytes: int = 1024 * 1024
    page_row_limit: int = 20_000
    page_version: str = "v1"
    dict_size_bytes: int = 2 * 1024 * 1024
    has_page_checksums: bool = False
    orc_stripe_size_bytes: int = 64 * 1024 * 1024
    orc_compression_strategy: str = "speed"
    # By field id, because names in files may differ.
    bloom_fpp_by_id: Mapping[int, float] = field(default_factory=dict)
    bloom_max_bytes: int = 1024 * 1024
    bloom_ndv_by_id: Mapping[int, int] = field(default_factory=dict)
    without_statistics_ids: frozenset[int] = frozenset()
    without_dictionary_ids: frozenset[int] = frozenset()


BLOOM_FPP_DEFAULT: Final = 0.01


def data_settings(properties: Mapping[str, str], schema: Schema, *, file_format: str | None = None) -> WriteSettings:
    """The settings of data files."""
    refuse_encryption(properties)
    chosen = file_format or property_value(properties, p.FILE_FORMAT)
    compression, level = _compression(properties, chosen, is_delete=False)
    return WriteSettings(
        file_format=chosen,
        target_file_size_bytes=property_value(properties, p.TARGET_FILE_SIZE_BYTES),
        row_group_size_bytes=property_value(properties, p.PARQUET_ROW_GROUP_SIZE_BYTES),
        compression=compression,
        compression_level=level,
        page_size_bytes=property_value(properties, p.PARQUET_PAGE_SIZE_BYTES),
        page_row_limit=property_value(properties, p.PARQUET_PAGE_ROW_LIMIT),
        page_version=property_value(properties, p.PARQUET_PAGE_VERSION),
        dict_size_bytes=property_value(properties, p.PARQUET_DICT_SIZE_BYTES),
        orc_stripe_size_bytes=property_value(properties, p.ORC_STRIPE_SIZE_BYTES),
        orc_compression_strategy=property_value(properties, p.ORC_COMPRESSION_STRATEGY),
        bloom_fpp_by_id=_bloom(properties, schema),
        bloom_max_bytes=property_value(properties, p.PARQUET_BLOOM_FILTER_MAX_BYTES),
        bloom_ndv_by_id=_bloom_ndv(properties, schema),
        without_statistics_ids=_turned_off(p.PARQUET_STATS_ENABLED, properties, schema),
        without_dictionary_ids=_turned_off(p.PARQUET_DICT_ENCODING_ENABLED, properties, schema),
    )


def delete_settings(properties: Mapping[str, str], *, file_format: str | None = None) -> WriteSettings:
    """The settings of position and equality delete files."""
    refuse_encryption(properties)
    chosen = file_format or property_value(properties, p.DELETE_FILE_FORMAT)
    compression, level = _compression(properties, chosen, is_delete=True)
    return WriteSettings(
        file_format=chosen,
        target_file_size_bytes=property_value(properties, p.DELETE_TARGET_FILE_SIZE_BYTES),
        row_group_size_bytes=property_value(properties, p.DELETE_PARQUET_ROW_GROUP_SIZE_BYTES),
        compression=compression,
        compression_level=level,
        page_size_bytes=property_value(properties, p.DELETE_PARQUET_PAGE_SIZE_BYTES),
        page_row_limit=property_value(properties, p.DELETE_PARQUET_PAGE_ROW_LIMIT),
        page_version=property_value(properties, p.DELETE_PARQUET_PAGE_VERSION),
        dict_size_bytes=property_value(properties, p.DELETE_PARQUET_DICT_SIZE_BYTES),
        orc_stripe_size_bytes=property_value(properties, p.DELETE_ORC_STRIPE_SIZE_BYTES),
        orc_compression_strategy=property_value(properties, p.DELETE_ORC_COMPRESSION_STRATEGY),
    )


def refuse_encryption(properties: Mapping[str, str]) -> None:
    """Nothing that is to be encrypted may lie open in storage, not even until a commit fails."""
    if property_value(properties, p.ENCRYPTION_KEY_ID) is not None:
        raise Unsupported(
            f"Cannot write files: table property {p.ENCRYPTION_KEY_ID.key} asks for encrypted ones, which are not "
            f"written here. Write with an engine that does, or remove the property."
        )


def _compression(properties: Mapping[str, str], file_format: str, *, is_delete: bool) -> tuple[str, int | None]:
    match file_format:
        case "avro":
            codec = property_value(properties, p.DELETE_AVRO_COMPRESSION if is_delete else p.AVRO_COMPRESSION)
            level = p.DELETE_AVRO_COMPRESSION_LEVEL if is_delete else p.AVRO_COMPRESSION_LEVEL
        case "orc":
            return property_value(properties, p.DELETE_ORC_COMPRESSION if is_delete else p.ORC_COMPRESSION), None
        case "parquet":
            codec = property_value(properties, p.DELETE_PARQUET_COMPRESSION if is_delete else p.PARQUET_COMPRESSION)
            level = p.DELETE_PARQUET_COMPRESSION_LEVEL if is_delete else p.PARQUET_COMPRESSION_LEVEL
        case _:
            raise InvalidInput(f"Cannot write files: expected the format parquet, orc or avro, got {file_format!r}.")
    return codec, usable_level(codec, property_value(properties, level), level.key)


def _bloom(properties: Mapping[str, str], schema: Schema) -> dict[int, float]:
    found: dict[int, float] = {}
    prefix = p.PARQUET_BLOOM_FILTER_ENABLED.prefix
    for key, text in properties.items():
        if not key.startswith(prefix) or not p.PARQUET_BLOOM_FILTER_ENABLED.value(key, text):
            continue
        name = key[len(prefix) :]
        column = schema.find(name)
        if column is not None:
            fpp = column_property(properties, p.PARQUET_BLOOM_FILTER_FPP, name)
            found[column.id] = BLOOM_FPP_DEFAULT if fpp is None else fpp
    return found


def _bloom_ndv(properties: Mapping[str, str], schema: Schema) -> dict[int, int]:
    family = p.PARQUET_BLOOM_FILTER_NDV
    named = {k[len(family.prefix) :]: family.value(k, t) for k, t in properties.items() if k.startswith(family.prefix)}
    return {column.id: ndv for name, ndv in named.items() if (column := schema.find(name)) is not None}


def _turned_off(family: PropertyFamily[bool], properties: Mapping[str, str], schema: Schema) -> frozenset[int]:
    """The columns that a family of switches says false about."""
    off = [
        k[len(family.prefix) :] for k, t in properties.items() if k.startswith(family.prefix) if not family.value(k, t)
    ]
    return frozenset(column.id for name in off if (column := schema.find(name)) is not None)
