"""A native Spark DataFrame over a given list of files: nothing is listed, guessed or opened to make it.

Spark's own way to know files without a listing is the log of a streaming sink: paths and sizes in a small file that is
read at once, on the driver. Each file's modification time carries its ordinal, which comes back with every row: a cheap
key from a row to what is known about its file.

The frame reads with settings of its own (columns by field id, size of the pieces), which live in a clone of the user's
session, so that neither side sees the other's.

Who looks at a table again mostly looks at the same files: the relations of a few reads are kept, each for the settings
that its session had, and come back under new ids, so that a frame can be joined with itself.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from skipstone.plan.recent import Recent
from skipstone.spark.catalyst_statistics import with_statistics
from skipstone.spark.java import frame_of, java_class, java_type
from skipstone.spark.optimizer_statistics import Published
from skipstone.spark.session import cores_of
from skipstone.spark.splits import OPEN_COST_BYTES, Split, split_of

pa: Any = pyarrow
pc: Any = pyarrow.compute

_SETTINGS: Final[Mapping[str, str]] = {
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.sources.useV1SourceList": "parquet",  # the newer reader gives rows no place in their file
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.openCostInBytes": str(OPEN_COST_BYTES),
}
_SETTINGS_KEPT_MAX: Final = 64
_KEPT: Final = Recent(64)
_FILES_KEPT_MAX: Final = 200
_BLOCK_BYTES: Final = 128 << 20


def file_frame(
    spark: SparkSession,
    uris: Any,
    sizes: Any,
    ordinals: Any,
    schema: T.StructType,
    *,
    offsets: Any = None,
    file_format: str = "parquet",
    statistics: Published | None = None,
) -> DataFrame:
    """The files' rows under `schema`. `sizes` must be true: Spark does not look beyond them.

    `offsets` say where the row groups of each file begin, as far as that is known.
    """
    begins = () if offsets is None else offsets.to_pylist()
    split = split_of(sizes.to_pylist(), begins, cores=cores_of(spark))

    def made() -> Any:
        return _relation(spark, uris, sizes, ordinals, schema, split, file_format)

    key = _key(spark, uris, sizes, ordinals, schema, split, file_format)
    plan = made() if key is None else _KEPT.derived(key, (), made).newInstance()
    if statistics is not None:
        plan = with_statistics(spark, plan, statistics)
    return frame_of(spark, plan)


def _key(
    spark: SparkSession, uris: Any, sizes: Any, ordinals: Any, schema: T.StructType, split: Split, file_format: str
) -> Hashable | None:
    """All that a relation depends on; None where it is too large to be kept."""
    if len(uris) > _FILES_KEPT_MAX:
        return None
    session = spark._jsparkSession
    settings = session.sessionState().conf().settings().hashCode()
    files = (tuple(uris.to_pylist()), tuple(sizes.to_pylist()), tuple(np.asarray(ordinals).tolist()))
    return str(session.sessionUUID()), settings, files, schema.json(), split, file_format


def _relation(
    spark: SparkSession, uris: Any, sizes: Any, ordinals: Any, schema: T.StructType, split: Split, file_format: str
) -> Any:
    """The relation over the files, as Spark's analyser makes it."""
    reader = _reading_session(spark, split)
    with _log(uris, sizes, ordinals) as directory:
        java_frame = (
            reader.read()
            .format(file_format)
            .schema(java_type(spark, schema))
            .option("recursiveFileLookup", "true")
            .load(f"file://{directory}")
        )
        return java_frame.queryExecution().analyzed()


def _reading_session(spark: SparkSession, split: Split) -> Any:
    """A clone of the user's session, in the JVM, with the settings of our reads."""
    clone = spark._jsparkSession.cloneSession()
    clone.sessionState().conf().setConf(_settings(spark._jvm, split.bytes_max, split.is_whole_files))
    return clone


@lru_cache(maxsize=_SETTINGS_KEPT_MAX)
def _settings(jvm: Any, split_bytes: int, is_whole_files: bool) -> Any:
    """The settings as one value of the JVM, which is told of them with one call."""
    settings = java_class(jvm, "java.util.Properties")()
    for key, value in _SETTINGS.items():
        settings.setProperty(key, value)
    settings.setProperty("spark.sql.files.maxPartitionBytes", str(split_bytes))
    if is_whole_files:
        settings.setProperty("spark.sql.files.minPartitionNum", "1")  # else Spark cuts until every core has a piece
    return settings


@contextmanager
def _log(uris: Any, sizes: Any, ordinals: Any) -> Iterator[str]:
    """A directory with the log of a streaming sink that has written these files; gone after it was read."""
    directory = Path(tempfile.mkdtemp(prefix="skipstone-files-"))
    try:
        (directory / "_spark_metadata").mkdir()
        with (directory / "_spark_metadata" / "0").open("wb") as log:
            log.write(b"v1")
            for line in _lines(uris, sizes, ordinals):
                log.write(line)
        yield str(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _lines(uris: Any, sizes: Any, ordinals: Any) -> Iterator[bytes]:
    """One JSON object a file. URIs are percent-encoded, so nothing in them needs an escape in JSON."""
    lines = pc.binary_join_element_wise(
        '\n{"path":"',
        uris,
        '","size":',
        sizes.cast(pa.string()),
        ',"isDir":false,"modificationTime":',
        pa.array(np.asarray(ordinals), pa.int64()).cast(pa.string()),
        f',"blockReplication":1,"blockSize":{_BLOCK_BYTES},"action":"add"}}',
        "",
    )
    for line in lines.to_pylist():
        yield line.encode()
