"""Rows written by Spark's own Parquet writer, into one fresh directory a job.

Laws: only files of tasks that Spark committed are there when the job ends, because a task's files are moved into place
when the job commits. A directory is never used twice: two jobs that write into one lose each other's rows.

Spec: "Writing data files"; table properties `write.parquet.*`, `write.target-file-size-bytes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skipstone.metadata.formats.parquet_types import to_parquet_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.properties import MetricsMode
from skipstone.metadata.types import BinaryType, FixedType, StringType
from skipstone.storage.paths import FILE, local_path, scheme_of
from skipstone.write.settings import WriteSettings

# Spark's writers know these; the others are written by tasks of ours.
CODECS: Final[Mapping[str, str]] = {
    "zstd": "zstd",
    "gzip": "gzip",
    "snappy": "snappy",
    "uncompressed": "uncompressed",
    "lz4": "lz4_raw",
    "lz4_raw": "lz4_raw",
}
SCHEMES: Final = frozenset({FILE, "hdfs"})
_COMMIT: Final[Mapping[str, str]] = {
    # Files of a task are seen when the job commits, never before.
    "mapreduce.fileoutputcommitter.algorithm.version": "1",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "partitionOverwriteMode": "static",
}
# No checksum files beside the data.
_RAW_LOCAL: Final[Mapping[str, str]] = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
_GZIP_LEVELS: Final = (
    "NO_COMPRESSION", "BEST_SPEED", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "BEST_COMPRESSION",
)  # fmt: skip
_BYTES_A_CHARACTER: Final = 4
_NO_LIMIT: Final = 2**31 - 1


def write_native(
    frame: Any, directory: str, *, keys: tuple[str, ...], options: Mapping[str, str], rows_a_file: int
) -> None:
    """Run the job. The directory must not exist."""
    writer = frame.write.mode("errorifexists").options(**options).option("maxRecordsPerFile", str(rows_a_file))
    if keys:
        writer = writer.partitionBy(*keys)
    writer.parquet(spark_path(directory))


def spark_path(location: str) -> str:
    """A location as Hadoop takes it."""
    return f"file://{local_path(location)}" if scheme_of(location) == FILE else location


def parquet_options(
    settings: WriteSettings, schema: Schema, modes: Mapping[int, MetricsMode], location: str
) -> dict[str, str]:
    """The table's settings in the words of Spark's Parquet writer."""
    return {
        **_COMMIT,
        **(_RAW_LOCAL if scheme_of(location) == FILE else {}),
        "compression": CODECS[settings.compression],
        "parquet.block.size": str(settings.row_group_size_bytes),
        "parquet.page.size": str(min(settings.page_size_bytes, _NO_LIMIT)),
        "parquet.page.row.count.limit": str(settings.page_row_limit),
        "parquet.dictionary.page.size": str(min(settings.dict_size_bytes, _NO_LIMIT)),
        "parquet.writer.version": "PARQUET_2_0" if settings.page_version == "v2" else "PARQUET_1_0",
        "parquet.statistics.truncate.length": str(bound_bytes_max(schema, modes)),
        **_level(settings),
        **_bloom(settings, schema),
    }


def bound_bytes_max(schema: Schema, modes: Mapping[int, MetricsMode]) -> int:
    """How long a bound in the footer must be at least, so that metrics can be cut from it."""
    texts = [f for f in schema.primitive_leaves if isinstance(f.type, StringType | BinaryType | FixedType)]
    wanted = [modes[f.id].width for f in texts if f.id in modes and modes[f.id].kind != "counts"]
    if any(w is None for w in wanted):
        return _NO_LIMIT
    # One more than is kept, so that what is cut here is always seen to be cut there.
    return max([_BYTES_A_CHARACTER * (w + 1) for w in wanted if w is not None], default=64)


def _level(settings: WriteSettings) -> dict[str, str]:
    level = settings.compression_level
    if level is None:
        return {}
    if settings.compression == "gzip":
        return {"zlib.compress.level": _GZIP_LEVELS[level]}
    return {"parquet.compression.codec.zstd.level": str(level)}


def _bloom(settings: WriteSettings, schema: Schema) -> dict[str, str]:
    if not settings.bloom_fpp_by_id:
        return {}
    options = {
        "parquet.bloom.filter.max.bytes": str(min(settings.bloom_max_bytes, _NO_LIMIT)),
        "parquet.bloom.filter.adaptive.enabled": "true",
    }
    for path, node in to_parquet_schema(schema).leaves():
        fpp = settings.bloom_fpp_by_id.get(node.field_id) if node.field_id is not None else None
        if fpp is not None and node.physical != "BOOLEAN":
            options[f"parquet.bloom.filter.enabled#{path}"] = "true"
            options[f"parquet.bloom.filter.fpp#{path}"] = str(fpp)
    return options
