"""Table properties: their names, what they may be, and what holds when they are not set.

Names, meanings and defaults are Iceberg's. A value that a known property cannot have is refused when it is set; keys
that nobody here knows belong to other engines and are kept. A value that another engine set and nobody here can read
ends no read and no commit that it has no part in. Keys under `skipstone.` are ours, so an unknown one is a
mistake and refused.

Spec: "Table Metadata Fields" (properties), "Column Projection" (schema.name-mapping.default).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, TypeVar

from skipstone.errors import FormatViolation, InvalidInput, what_exists
from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY, parse_name_mapping
from skipstone.metadata.tables.metadata_changes import PREVIOUS_VERSIONS_MAX, PREVIOUS_VERSIONS_MAX_DEFAULT
from skipstone.metadata.tables.property_kinds import (
    FRACTION,
    LONG_MAX,
    MetricsMode,
    Property,
    PropertyFamily,
    boolean,
    choice,
    fraction,
    integer,
    location,
    names,
    optional_choice,
    optional_integer,
    parse_boolean,
    parse_fraction,
    parse_integer,
    parse_metrics_mode,
    usable_level,
)
from skipstone.metadata.tables.retention import MAX_REF_AGE_MS, MAX_SNAPSHOT_AGE_MS, MIN_SNAPSHOTS_TO_KEEP
from skipstone.metadata.tables.table_metadata import FORMAT_VERSION_MAX

__all__ = [
    "MetricsMode",
    "Property",
    "PropertyFamily",
    "check_properties",
    "column_property",
    "hint_value",
    "property_value",
]

T = TypeVar("T")

OWN_PREFIX: Final = "skipstone."
FORMAT_VERSION: Final = "format-version"
# These say what the table is, not how to treat it; engines show them, nobody sets them.
RESERVED_KEYS: Final = frozenset(
    {
        "uuid",
        "snapshot-count",
        "current-snapshot-summary",
        "current-snapshot-id",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
    }
)

_INT_MAX: Final = 2**31 - 1
_MIB: Final = 1024 * 1024
_FORMATS: Final = ("parquet", "orc", "avro")
_PARQUET_CODECS: Final = ("zstd", "brotli", "lz4", "lz4_raw", "gzip", "snappy", "uncompressed")
_AVRO_CODECS: Final = ("gzip", "zstd", "snappy", "uncompressed")
_ORC_CODECS: Final = ("zstd", "lz4", "lzo", "zlib", "snappy", "none")
_MODES: Final = ("copy-on-write", "merge-on-read")
_ISOLATION: Final = ("serializable", "snapshot")
_DISTRIBUTION: Final = ("none", "hash", "range")
_PLANNING: Final = ("auto", "local", "distributed")

# How commits retry and merge manifests.
COMMIT_NUM_RETRIES: Final = integer("commit.retry.num-retries", 4, high=_INT_MAX)
COMMIT_MIN_RETRY_WAIT_MS: Final = integer("commit.retry.min-wait-ms", 100)
COMMIT_MAX_RETRY_WAIT_MS: Final = integer("commit.retry.max-wait-ms", 60_000)
COMMIT_TOTAL_RETRY_TIME_MS: Final = integer("commit.retry.total-timeout-ms", 30 * 60_000)
COMMIT_NUM_STATUS_CHECKS: Final = integer("commit.status-check.num-retries", 3, high=_INT_MAX)
COMMIT_STATUS_CHECKS_MIN_WAIT_MS: Final = integer("commit.status-check.min-wait-ms", 1_000)
COMMIT_STATUS_CHECKS_MAX_WAIT_MS: Final = integer("commit.status-check.max-wait-ms", 60_000)
COMMIT_STATUS_CHECKS_TOTAL_WAIT_MS: Final = integer("commit.status-check.total-timeout-ms", 30 * 60_000)
MANIFEST_TARGET_SIZE_BYTES: Final = integer("commit.manifest.target-size-bytes", 8 * _MIB, low=1)
MANIFEST_MIN_MERGE_COUNT: Final = integer("commit.manifest.min-count-to-merge", 100, high=_INT_MAX)
MANIFEST_MERGE_ENABLED: Final = boolean("commit.manifest-merge.enabled", True)

# Which files are written, and how large.
FILE_FORMAT: Final = choice("write.format.default", "parquet", _FORMATS)
DELETE_FILE_FORMAT: Final = choice("write.delete.format.default", "parquet", _FORMATS, fallback=FILE_FORMAT)
TARGET_FILE_SIZE_BYTES: Final = integer("write.target-file-size-bytes", 512 * _MIB, low=1)
DELETE_TARGET_FILE_SIZE_BYTES: Final = integer("write.delete.target-file-size-bytes", 64 * _MIB, low=1)
DATA_PATH: Final = location("write.data.path")
METADATA_PATH: Final = location("write.metadata.path")
OBJECT_STORE_ENABLED: Final = boolean("write.object-storage.enabled", False)
OBJECT_STORE_PARTITIONED_PATHS: Final = boolean("write.object-storage.partitioned-paths", True)
DISTRIBUTION_MODE: Final = optional_choice("write.distribution-mode", _DISTRIBUTION)

# Parquet.
PARQUET_ROW_GROUP_SIZE_BYTES: Final = integer("write.parquet.row-group-size-bytes", 128 * _MIB, low=1)
PARQUET_PAGE_SIZE_BYTES: Final = integer("write.parquet.page-size-bytes", _MIB, low=1)
PARQUET_PAGE_ROW_LIMIT: Final = integer("write.parquet.page-row-limit", 20_000, low=1)
PARQUET_PAGE_VERSION: Final = choice("write.parquet.page-version", "v1", ("v1", "v2"))
PARQUET_DICT_SIZE_BYTES: Final = integer("write.parquet.dict-size-bytes", 2 * _MIB, low=1)
PARQUET_COMPRESSION: Final = choice("write.parquet.compression-codec", "zstd", _PARQUET_CODECS)
PARQUET_COMPRESSION_LEVEL: Final = optional_integer("write.parquet.compression-level")
PARQUET_BLOOM_FILTER_MAX_BYTES: Final = integer("write.parquet.bloom-filter-max-bytes", _MIB, low=1)
PARQUET_ROW_GROUP_CHECK_MIN_RECORDS: Final = integer(
    "write.parquet.row-group-check-min-record-count", 100, low=1, high=_INT_MAX
)
PARQUET_ROW_GROUP_CHECK_MAX_RECORDS: Final = integer(
    "write.parquet.row-group-check-max-record-count", 10_000, low=1, high=_INT_MAX
)
PARQUET_ROW_GROUP_TRACK_UNCOMPRESSED: Final = boolean("write.parquet.row-group-size-track-uncompressed", False)
PARQUET_BLOOM_FILTER_ADAPTIVE: Final = boolean("write.parquet.bloom-filter-adaptive-enabled", False)
PARQUET_SHRED_VARIANTS: Final = boolean("write.parquet.shred-variants", False)
PARQUET_VARIANT_BUFFER_SIZE: Final = integer("write.parquet.variant-inference-buffer-size", 100, low=1, high=_INT_MAX)
DELETE_PARQUET_ROW_GROUP_SIZE_BYTES: Final = integer(
    "write.delete.parquet.row-group-size-bytes", 128 * _MIB, low=1, fallback=PARQUET_ROW_GROUP_SIZE_BYTES
)
DELETE_PARQUET_PAGE_SIZE_BYTES: Final = integer(
    "write.delete.parquet.page-size-bytes", _MIB, low=1, fallback=PARQUET_PAGE_SIZE_BYTES
)
DELETE_PARQUET_PAGE_VERSION: Final = choice(
    "write.delete.parquet.page-version", "v1", ("v1", "v2"), fallback=PARQUET_PAGE_VERSION
)
DELETE_PARQUET_PAGE_ROW_LIMIT: Final = integer(
    "write.delete.parquet.page-row-limit", 20_000, low=1, fallback=PARQUET_PAGE_ROW_LIMIT
)
DELETE_PARQUET_DICT_SIZE_BYTES: Final = integer(
    "write.delete.parquet.dict-size-bytes", 2 * _MIB, low=1, fallback=PARQUET_DICT_SIZE_BYTES
)
DELETE_PARQUET_ROW_GROUP_CHECK_MIN_RECORDS: Final = integer(
    "write.delete.parquet.row-group-check-min-record-count",
    100,
    low=1,
    high=_INT_MAX,
    fallback=PARQUET_ROW_GROUP_CHECK_MIN_RECORDS,
)
DELETE_PARQUET_ROW_GROUP_CHECK_MAX_RECORDS: Final = integer(
    "write.delete.parquet.row-group-check-max-record-count",
    10_000,
    low=1,
    high=_INT_MAX,
    fallback=PARQUET_ROW_GROUP_CHECK_MAX_RECORDS,
)
DELETE_PARQUET_COMPRESSION: Final = choice(
    "write.delete.parquet.compression-codec", "zstd", _PARQUET_CODECS, fallback=PARQUET_COMPRESSION
)
DELETE_PARQUET_COMPRESSION_LEVEL: Final = optional_integer(
    "write.delete.parquet.compression-level", fallback=PARQUET_COMPRESSION_LEVEL
)
PARQUET_BLOOM_FILTER_ENABLED: Final = PropertyFamily(
    prefix="write.parquet.bloom-filter-enabled.column.", parse=parse_boolean, expected="true or false"
)
PARQUET_BLOOM_FILTER_FPP: Final = PropertyFamily(
    prefix="write.parquet.bloom-filter-fpp.column.", parse=parse_fraction, expected=FRACTION
)
PARQUET_BLOOM_FILTER_NDV: Final = PropertyFamily(
    prefix="write.parquet.bloom-filter-ndv.column.",
    parse=lambda text: parse_integer(text, 1, LONG_MAX),
    expected="an integer from 1",
)
PARQUET_STATS_ENABLED: Final = PropertyFamily(
    prefix="write.parquet.stats-enabled.column.", parse=parse_boolean, expected="true or false"
)
PARQUET_DICT_ENCODING_ENABLED: Final = PropertyFamily(
    prefix="write.parquet.dict-encoding-enabled.column.", parse=parse_boolean, expected="true or false"
)

# Avro and ORC.
AVRO_COMPRESSION: Final = choice("write.avro.compression-codec", "gzip", _AVRO_CODECS)
AVRO_COMPRESSION_LEVEL: Final = optional_integer("write.avro.compression-level")
DELETE_AVRO_COMPRESSION: Final = choice(
    "write.delete.avro.compression-codec", "gzip", _AVRO_CODECS, fallback=AVRO_COMPRESSION
)
DELETE_AVRO_COMPRESSION_LEVEL: Final = optional_integer(
    "write.delete.avro.compression-level", fallback=AVRO_COMPRESSION_LEVEL
)
ORC_STRIPE_SIZE_BYTES: Final = integer("write.orc.stripe-size-bytes", 64 * _MIB, low=1)
ORC_BLOCK_SIZE_BYTES: Final = integer("write.orc.block-size-bytes", 256 * _MIB, low=1)
ORC_WRITE_BATCH_SIZE: Final = integer("write.orc.vectorized.batch-size", 1024, low=1, high=_INT_MAX)
ORC_COMPRESSION: Final = choice("write.orc.compression-codec", "zlib", _ORC_CODECS)
ORC_COMPRESSION_STRATEGY: Final = choice("write.orc.compression-strategy", "speed", ("speed", "compression"))
DELETE_ORC_COMPRESSION: Final = choice(
    "write.delete.orc.compression-codec", "zlib", _ORC_CODECS, fallback=ORC_COMPRESSION
)
DELETE_ORC_COMPRESSION_STRATEGY: Final = choice(
    "write.delete.orc.compression-strategy", "speed", ("speed", "compression"), fallback=ORC_COMPRESSION_STRATEGY
)
DELETE_ORC_STRIPE_SIZE_BYTES: Final = integer(
    "write.delete.orc.stripe-size-bytes", 64 * _MIB, low=1, fallback=ORC_STRIPE_SIZE_BYTES
)
DELETE_ORC_BLOCK_SIZE_BYTES: Final = integer(
    "write.delete.orc.block-size-bytes", 256 * _MIB, low=1, fallback=ORC_BLOCK_SIZE_BYTES
)
DELETE_ORC_WRITE_BATCH_SIZE: Final = integer(
    "write.delete.orc.vectorized.batch-size", 1024, low=1, high=_INT_MAX, fallback=ORC_WRITE_BATCH_SIZE
)
ORC_BLOOM_FILTER_COLUMNS: Final = names("write.orc.bloom.filter.columns")
ORC_BLOOM_FILTER_FPP: Final = fraction("write.orc.bloom.filter.fpp", 0.05)

# Metadata and metrics.
METADATA_COMPRESSION: Final = choice("write.metadata.compression-codec", "none", ("none", "gzip"))
MANIFEST_COMPRESSION: Final = choice("write.manifest.compression-codec", "gzip", _AVRO_CODECS)
MANIFEST_COMPRESSION_LEVEL: Final = optional_integer("write.manifest.compression-level")
METADATA_PREVIOUS_VERSIONS_MAX: Final = integer(PREVIOUS_VERSIONS_MAX, PREVIOUS_VERSIONS_MAX_DEFAULT, high=_INT_MAX)
METADATA_DELETE_AFTER_COMMIT_ENABLED: Final = boolean("write.metadata.delete-after-commit.enabled", False)
METRICS_MAX_INFERRED_COLUMNS: Final = integer("write.metadata.metrics.max-inferred-column-defaults", 100, high=_INT_MAX)
_METRICS_EXPECTED: Final = "none, counts, truncate(N) with N from 1, or full"
METRICS_DEFAULT: Final = Property(
    key="write.metadata.metrics.default",
    default=MetricsMode(kind="truncate", width=16),
    parse=parse_metrics_mode,
    expected=_METRICS_EXPECTED,
)
METRICS_COLUMN: Final = PropertyFamily(
    prefix="write.metadata.metrics.column.", parse=parse_metrics_mode, expected=_METRICS_EXPECTED
)
PARTITION_SUMMARY_LIMIT: Final = integer("write.summary.partition-limit", 0, high=_INT_MAX)

# Encryption.
ENCRYPTION_KEY_ID: Final = Property(
    key="encryption.key-id", default=None, parse=lambda text: text or None, expected="the id of a master key"
)
ENCRYPTION_DATA_KEY_LENGTH: Final = Property(
    key="encryption.data-key-length",
    default=16,
    parse=lambda text: parse_integer(text, 16, 32) if text.strip() in ("16", "24", "32") else None,
    expected="16, 24 or 32",
)

# Engines.
SPARK_FANOUT_ENABLED: Final = boolean("write.spark.fanout.enabled", False)
SPARK_ACCEPT_ANY_SCHEMA: Final = boolean("write.spark.accept-any-schema", False)
SPARK_AUTO_SCHEMA_EVOLUTION: Final = boolean("write.spark.auto-schema-evolution.enabled", True)
SPARK_ADVISORY_PARTITION_SIZE: Final = optional_integer("write.spark.advisory-partition-size-bytes")
FLINK_UPSERT_ENABLED: Final = boolean("write.upsert.enabled", False)
IDENTIFIER_FIELDS_RELY: Final = boolean("identifier-fields.rely", False)
SNAPSHOT_ID_INHERITANCE_ENABLED: Final = boolean("compatibility.snapshot-id-inheritance.enabled", False)

# Row-level changes.
WAP_ENABLED: Final = boolean("write.wap.enabled", False)
DELETE_MODE: Final = choice("write.delete.mode", "copy-on-write", _MODES)
UPDATE_MODE: Final = choice("write.update.mode", "copy-on-write", _MODES)
MERGE_MODE: Final = choice("write.merge.mode", "copy-on-write", _MODES)
DELETE_ISOLATION_LEVEL: Final = choice("write.delete.isolation-level", "serializable", _ISOLATION)
UPDATE_ISOLATION_LEVEL: Final = choice("write.update.isolation-level", "serializable", _ISOLATION)
MERGE_ISOLATION_LEVEL: Final = choice("write.merge.isolation-level", "serializable", _ISOLATION)
DELETE_DISTRIBUTION_MODE: Final = optional_choice("write.delete.distribution-mode", _DISTRIBUTION)
UPDATE_DISTRIBUTION_MODE: Final = optional_choice("write.update.distribution-mode", _DISTRIBUTION)
MERGE_DISTRIBUTION_MODE: Final = optional_choice("write.merge.distribution-mode", _DISTRIBUTION)
DELETE_GRANULARITY: Final = choice("write.delete.granularity", "partition", ("partition", "file"))
UPSERT_MODE: Final = choice("write.upsert.mode", "merge", ("merge", "equality-delete"))

# Reading.
SPLIT_SIZE: Final = integer("read.split.target-size", 128 * _MIB, low=1)
METADATA_SPLIT_SIZE: Final = integer("read.split.metadata-target-size", 32 * _MIB, low=1)
SPLIT_LOOKBACK: Final = integer("read.split.planning-lookback", 10, low=1, high=_INT_MAX)
SPLIT_OPEN_FILE_COST: Final = integer("read.split.open-file-cost", 4 * _MIB)
ADAPTIVE_SPLIT_SIZE_ENABLED: Final = boolean("read.split.adaptive-size.enabled", True)
PARQUET_VECTORIZATION_ENABLED: Final = boolean("read.parquet.vectorization.enabled", True)
PARQUET_BATCH_SIZE: Final = integer("read.parquet.vectorization.batch-size", 5_000, low=1, high=_INT_MAX)
ORC_VECTORIZATION_ENABLED: Final = boolean("read.orc.vectorization.enabled", False)
ORC_BATCH_SIZE: Final = integer("read.orc.vectorization.batch-size", 5_000, low=1, high=_INT_MAX)
DATA_PLANNING_MODE: Final = choice("read.data-planning-mode", "auto", _PLANNING)
DELETE_PLANNING_MODE: Final = choice("read.delete-planning-mode", "auto", _PLANNING)

# History.
HISTORY_MAX_SNAPSHOT_AGE_MS: Final = integer(MAX_SNAPSHOT_AGE_MS, 5 * 24 * 60 * 60 * 1000, low=1)
HISTORY_MIN_SNAPSHOTS_TO_KEEP: Final = integer(MIN_SNAPSHOTS_TO_KEEP, 1, low=1, high=_INT_MAX)
HISTORY_MAX_REF_AGE_MS: Final = integer(MAX_REF_AGE_MS, LONG_MAX, low=1)
GC_ENABLED: Final = boolean("gc.enabled", True)

# The skip index.
INDEX_ENABLED: Final = boolean("skipstone.index.enabled", True)
INDEX_COLUMNS: Final = names("skipstone.index.columns")
INDEX_PATH: Final = location("skipstone.index.path")
INDEX_SIDECAR_MIN_FILES: Final = integer("skipstone.index.sidecar-min-files", 1_000, low=1)

# Statistics.
STATS_PARTITION_ON_COMMIT: Final = boolean("skipstone.stats.partition-on-commit", False)
STATS_AUTO_GATHER: Final = boolean("skipstone.stats.auto-gather", False)
STATS_HIVE_HISTOGRAMS: Final = boolean("skipstone.stats.hive-histograms", False)
STATS_PATH: Final = location("skipstone.stats.path")

# Streams: the last batch of each query that the table holds.
STREAM_BATCH: Final = PropertyFamily(
    prefix="skipstone.stream.",
    parse=lambda text: parse_integer(text, 0, LONG_MAX),
    expected="the number of a batch, from 0",
)

_KNOWN: Final[dict[str, Property[Any]]] = {p.key: p for p in globals().values() if isinstance(p, Property)}
_FAMILIES: Final = tuple(f for f in globals().values() if isinstance(f, PropertyFamily))
COLUMN_FAMILIES: Final = tuple(f for f in _FAMILIES if f is not STREAM_BATCH)
COLUMN_LISTS: Final = (INDEX_COLUMNS, ORC_BLOOM_FILTER_COLUMNS)

# Codecs that have levels, and which.
_LEVELS: Final = (
    (PARQUET_COMPRESSION, PARQUET_COMPRESSION_LEVEL),
    (DELETE_PARQUET_COMPRESSION, DELETE_PARQUET_COMPRESSION_LEVEL),
    (AVRO_COMPRESSION, AVRO_COMPRESSION_LEVEL),
    (DELETE_AVRO_COMPRESSION, DELETE_AVRO_COMPRESSION_LEVEL),
    (MANIFEST_COMPRESSION, MANIFEST_COMPRESSION_LEVEL),
)


def property_value(properties: Mapping[str, str], key: Property[T]) -> T:
    """What the table says about this property, typed, or else what holds without it."""
    asked: Property[T] | None = key
    while asked is not None:
        text = properties.get(asked.key)
        if text is not None:
            return asked.value(text)
        asked = asked.fallback
    return key.default


def hint_value(properties: Mapping[str, str], key: Property[T]) -> T:
    """As `property_value`, for what changes neither a row nor a file: what cannot be read is as if it were not set."""
    try:
        return property_value(properties, key)
    except InvalidInput:
        return key.default


def column_property(properties: Mapping[str, str], family: PropertyFamily[T], column: str) -> T | None:
    """What the table says about this property of one column, None if it says nothing."""
    key = family.prefix + column
    text = properties.get(key)
    return None if text is None else family.value(key, text)


def check_properties(updates: Mapping[str, str]) -> None:
    """Refuse what must not be set: a value the property cannot have, and keys of ours that do not exist."""
    pairs: list[tuple[object, object]] = [*updates.items()]
    for key, text in pairs:
        if not isinstance(key, str) or not isinstance(text, str):
            raise InvalidInput(f"Invalid table property {key!r}: expected text for key and value, got {text!r}.")
        _check(key, text)


def check_levels(properties: Mapping[str, str], changed: Collection[str]) -> None:
    """Refuse a compression level that its codec does not have: what one may be depends on another property.

    Only what the changed keys have a part in is looked at: a mistake that was there before is no reason to refuse
    another change.
    """
    for codec, level in _LEVELS:
        if {*_asked(codec), *_asked(level)} & {*changed}:
            usable_level(property_value(properties, codec), property_value(properties, level), level.key)


def _asked(key: Property[Any]) -> Iterator[str]:
    """The keys that a property's value comes from."""
    asked: Property[Any] | None = key
    while asked is not None:
        yield asked.key
        asked = asked.fallback


def _check(key: str, text: str) -> None:
    if key in _KNOWN:
        _KNOWN[key].value(text)
    elif key == FORMAT_VERSION:
        _check_format_version(text)
    elif key in RESERVED_KEYS:
        raise InvalidInput(f"Cannot set table property {key}: it is reserved, the table's metadata says what it is.")
    elif key == NAME_MAPPING_PROPERTY:
        _check_name_mapping(text)
    elif key.startswith(OWN_PREFIX) and not key.startswith(STREAM_BATCH.prefix):
        ours = [known for known in _KNOWN if known.startswith(OWN_PREFIX)]
        raise InvalidInput(
            f"Cannot set table property {key}: it does not exist. {what_exists('Properties', key, ours)}"
        )
    for family in _FAMILIES:
        if key.startswith(family.prefix):
            family.value(key, text)


def _check_format_version(text: str) -> None:
    if text not in {str(version) for version in range(1, FORMAT_VERSION_MAX + 1)}:
        raise InvalidInput(
            f"Invalid table property {FORMAT_VERSION}: expected 1 to {FORMAT_VERSION_MAX}, got {text!r}."
        )


def _check_name_mapping(text: str) -> None:
    try:
        parse_name_mapping(text)
    except FormatViolation as error:
        raise InvalidInput(str(error)) from error
