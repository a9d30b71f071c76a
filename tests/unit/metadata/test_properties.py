"""Table properties: Iceberg's names, values and defaults; what is refused."""

from __future__ import annotations

import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.tables import properties as p
from skipstone.metadata.tables.properties import (
    MetricsMode,
    check_properties,
    column_property,
    hint_value,
    property_value,
)
from skipstone.metadata.tables.property_kinds import Property


@pytest.mark.parametrize(
    ("key", "default"),
    [
        (p.COMMIT_NUM_RETRIES, 4),
        (p.COMMIT_MIN_RETRY_WAIT_MS, 100),
        (p.COMMIT_MAX_RETRY_WAIT_MS, 60_000),
        (p.COMMIT_TOTAL_RETRY_TIME_MS, 1_800_000),
        (p.MANIFEST_TARGET_SIZE_BYTES, 8_388_608),
        (p.MANIFEST_MIN_MERGE_COUNT, 100),
        (p.MANIFEST_MERGE_ENABLED, True),
        (p.FILE_FORMAT, "parquet"),
        (p.TARGET_FILE_SIZE_BYTES, 536_870_912),
        (p.DELETE_TARGET_FILE_SIZE_BYTES, 67_108_864),
        (p.PARQUET_ROW_GROUP_SIZE_BYTES, 134_217_728),
        (p.PARQUET_PAGE_SIZE_BYTES, 1_048_576),
        (p.PARQUET_PAGE_ROW_LIMIT, 20_000),
        (p.PARQUET_DICT_SIZE_BYTES, 2_097_152),
        (p.PARQUET_COMPRESSION, "zstd"),
        (p.PARQUET_COMPRESSION_LEVEL, None),
        (p.AVRO_COMPRESSION, "gzip"),
        (p.ORC_COMPRESSION, "zlib"),
        (p.METADATA_COMPRESSION, "none"),
        (p.METADATA_PREVIOUS_VERSIONS_MAX, 100),
        (p.METADATA_DELETE_AFTER_COMMIT_ENABLED, False),
        (p.METRICS_DEFAULT, MetricsMode(kind="truncate", width=16)),
        (p.METRICS_MAX_INFERRED_COLUMNS, 100),
        (p.DELETE_MODE, "copy-on-write"),
        (p.DELETE_ISOLATION_LEVEL, "serializable"),
        (p.SPLIT_SIZE, 134_217_728),
        (p.SPLIT_OPEN_FILE_COST, 4_194_304),
        (p.HISTORY_MAX_SNAPSHOT_AGE_MS, 432_000_000),
        (p.HISTORY_MIN_SNAPSHOTS_TO_KEEP, 1),
        (p.HISTORY_MAX_REF_AGE_MS, 2**63 - 1),
        (p.GC_ENABLED, True),
        (p.DATA_PATH, None),
        (p.DELETE_PARQUET_PAGE_ROW_LIMIT, 20_000),
        (p.PARQUET_ROW_GROUP_CHECK_MIN_RECORDS, 100),
        (p.PARQUET_ROW_GROUP_CHECK_MAX_RECORDS, 10_000),
        (p.PARQUET_SHRED_VARIANTS, False),
        (p.PARQUET_VARIANT_BUFFER_SIZE, 100),
        (p.DELETE_ORC_STRIPE_SIZE_BYTES, 67_108_864),
        (p.ENCRYPTION_DATA_KEY_LENGTH, 16),
        (p.SPARK_FANOUT_ENABLED, False),
        (p.MANIFEST_COMPRESSION, "gzip"),
        (p.DELETE_PARQUET_PAGE_VERSION, "v1"),
    ],
)
def test_what_holds_without_a_property(key: Property[object], default: object) -> None:
    assert property_value({}, key) == default


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (p.COMMIT_NUM_RETRIES, "0", 0),
        (p.COMMIT_NUM_RETRIES, " 12 ", 12),
        (p.MANIFEST_MERGE_ENABLED, "FALSE", False),
        (p.FILE_FORMAT, "ORC", "orc"),
        (p.PARQUET_COMPRESSION_LEVEL, "-1", -1),
        (p.METRICS_DEFAULT, "Counts", MetricsMode(kind="counts")),
        (p.METRICS_DEFAULT, "truncate(3)", MetricsMode(kind="truncate", width=3)),
        (p.DATA_PATH, "s3://b/data/", "s3://b/data"),
        (p.ORC_BLOOM_FILTER_FPP, "0.01", 0.01),
    ],
)
def test_a_property_is_read_as_its_type(key: Property[object], text: str, value: object) -> None:
    assert property_value({key.key: text}, key) == value
    check_properties({key.key: text})


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("commit.retry.num-retries", "-1", "an integer from 0 to 2147483647"),
        ("commit.retry.num-retries", "many", "an integer"),
        ("commit.retry.num-retries", "1" * 30, "an integer"),
        ("commit.retry.num-retries", "١", "an integer"),
        ("commit.manifest-merge.enabled", "yes", "true or false"),
        ("write.format.default", "csv", "one of parquet, orc, avro"),
        ("write.parquet.compression-codec", "lzma", "one of zstd"),
        ("write.delete.mode", "merge", "one of copy-on-write, merge-on-read"),
        ("write.metadata.metrics.default", "truncate(0)", r"none, counts, truncate\(N\)"),
        ("write.metadata.metrics.column.a.b", "all", r"none, counts, truncate\(N\)"),
        ("write.parquet.bloom-filter-enabled.column.a", "1", "true or false"),
        ("write.parquet.bloom-filter-fpp.column.a", "1.0", "a number between 0 and 1"),
        ("write.orc.bloom.filter.fpp", "nan", "a number between 0 and 1"),
        ("write.data.path", "", "a path or URI"),
        ("write.target-file-size-bytes", "0", "an integer from 1"),
        ("format-version", "4", "expected 1 to 3"),
        ("format-version", "two", "expected 1 to 3"),
        ("history.expire.min-snapshots-to-keep", "0", "an integer from 1"),
        ("write.parquet.bloom-filter-ndv.column.a", "0", "an integer from 1"),
        ("write.parquet.stats-enabled.column.a", "no", "true or false"),
        ("write.parquet.shred-variants", "some", "true or false"),
        ("write.delete.parquet.page-size-bytes", "x", "an integer from 1"),
        ("write.delete.orc.stripe-size-bytes", "x", "an integer from 1"),
        ("write.spark.fanout.enabled", "x", "true or false"),
        ("encryption.data-key-length", "20", "16, 24 or 32"),
        ("write.manifest.compression-codec", "lzo", "one of gzip, zstd, snappy, uncompressed"),
        ("write.manifest.compression-level", "high", "an integer"),
        ("write.delete.parquet.page-version", "3", "one of v1, v2"),
        ("write.parquet.dict-encoding-enabled.column.a", "on", "true or false"),
        ("write.parquet.row-group-size-track-uncompressed", "on", "true or false"),
        ("write.parquet.bloom-filter-adaptive-enabled", "on", "true or false"),
        ("write.spark.auto-schema-evolution.enabled", "on", "true or false"),
        ("write.spark.advisory-partition-size-bytes", "1 MB", "an integer"),
        ("write.upsert.enabled", "on", "true or false"),
        ("identifier-fields.rely", "on", "true or false"),
    ],
)
def test_a_value_that_a_property_cannot_have_is_refused(key: str, text: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=f"Invalid table property {key}: expected.*") as caught:
        check_properties({"owner": "me", key: text})
    assert caught.match(expected)
    assert repr(text) in str(caught.value)


def test_a_stored_value_that_cannot_be_read_says_which() -> None:
    with pytest.raises(InvalidInput, match=r"commit\.retry\.num-retries: expected an integer"):
        property_value({"commit.retry.num-retries": "x"}, p.COMMIT_NUM_RETRIES)


def test_what_only_says_how_patient_to_be_holds_as_if_unset_where_it_cannot_be_read() -> None:
    told = {"commit.retry.num-retries": "x", "read.split.target-size": "-1", "read.split.planning-lookback": "3"}
    assert hint_value(told, p.COMMIT_NUM_RETRIES) == 4
    assert hint_value(told, p.SPLIT_SIZE) == 134_217_728
    assert hint_value(told, p.SPLIT_LOOKBACK) == 3


def test_keys_of_other_engines_are_kept() -> None:
    check_properties({"owner": "", "engine.hive.enabled": "whatever", "write.unheard-of": "x", "format-version": "3"})


def test_an_unknown_key_of_ours_is_a_mistake() -> None:
    with pytest.raises(InvalidInput, match=r"Cannot set table property skipstone\.nothing: it does not exist"):
        check_properties({"skipstone.nothing": "1"})


@pytest.mark.parametrize("key", ["uuid", "current-snapshot-id", "default-sort-order"])
def test_what_the_metadata_says_is_not_set_as_a_property(key: str) -> None:
    with pytest.raises(InvalidInput, match="it is reserved"):
        check_properties({key: "1"})


@pytest.mark.parametrize("pair", [{"a": 1}, {1: "a"}, {"a": None}])
def test_only_text_is_a_property(pair: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="expected text"):
        check_properties(pair)


def test_a_name_mapping_must_be_one() -> None:
    check_properties({"schema.name-mapping.default": '[{"names": ["a"], "field-id": 1}]'})
    with pytest.raises(InvalidInput, match=r"schema\.name-mapping\.default"):
        check_properties({"schema.name-mapping.default": "{"})


def test_delete_files_follow_data_files_unless_told() -> None:
    told = {"write.format.default": "orc", "write.parquet.compression-codec": "snappy"}
    assert property_value(told, p.DELETE_FILE_FORMAT) == "orc"
    assert property_value(told, p.DELETE_PARQUET_COMPRESSION) == "snappy"
    told["write.delete.format.default"] = "avro"
    assert property_value(told, p.DELETE_FILE_FORMAT) == "avro"


def test_a_columns_own_property_is_found_by_its_name() -> None:
    told = {"write.metadata.metrics.column.a.b": "full"}
    assert column_property(told, p.METRICS_COLUMN, "a.b") == MetricsMode(kind="full")
    assert column_property(told, p.METRICS_COLUMN, "a") is None


@pytest.mark.parametrize("text", ["none", "counts", "truncate(16)", "full"])
def test_a_metrics_mode_is_written_as_it_was_read(text: str) -> None:
    assert str(property_value({"write.metadata.metrics.default": text}, p.METRICS_DEFAULT)) == text
