"""Iceberg Java as a peer: a large manifest that Java itself wrote, and the time Java takes to decode it.

The manifest has 20,000 entries of 10 columns with column sizes, value counts, null counts, bounds, and NaN counts
of the float columns. PyIceberg makes the entries, Java copies them into a table of its own; it is kept in
`benchmarks/.cache`. Java is timed on one thread, warmed up, inside one JVM call per pass.
"""

from __future__ import annotations

import random
import shutil
import statistics
import struct
import tempfile
import time
import warnings
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, Final

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)
from pyspark.sql import SparkSession
from tests.support.spark import iceberg_session, jvm_class

ENTRIES: Final = 20_000
CACHE: Final = Path(__file__).parent / ".cache"
REGIONS: Final = ("africa", "america", "asia", "europe", "oceania")
# What a planner that prunes by bounds asks of a manifest, against everything there is.
COLUMNS_WITH_STATS: Final = (
    "file_path", "partition", "record_count", "value_counts", "null_value_counts", "nan_value_counts",
    "lower_bounds", "upper_bounds",
)  # fmt: skip

_SCHEMA: Final = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "ts", TimestamptzType()),
    NestedField(3, "region", StringType()),
    NestedField(4, "price", DoubleType()),
    NestedField(5, "quantity", IntegerType()),
    NestedField(6, "name", StringType()),
    NestedField(7, "day", DateType()),
    NestedField(8, "ratio", FloatType()),
    NestedField(9, "amount", DecimalType(12, 2)),
    NestedField(10, "flag", BooleanType()),
)


def java_manifest(entries: int = ENTRIES) -> Path:
    """A manifest written by Iceberg Java, made once and kept."""
    home = CACHE / f"java-manifest-{entries}"
    done = home / "done"  # the table holds absolute paths, so it is made in place and marked when whole
    if not done.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        _write_with_java(home, _write_with_pyiceberg(home / "source", entries))
        shutil.rmtree(home / "source")
        done.touch()
    return home / "manifest.avro"


def java_decode_seconds(manifest: Path, columns: Collection[str] | None = None, *, passes: int = 9) -> float:
    """Median seconds of one pass of Java over a manifest of `java_manifest`; all columns unless some are named."""
    jvm: Any = _spark()._jvm
    reads = jvm_class(_spark(), "org.apache.iceberg.ManifestFiles")
    iterators = jvm_class(_spark(), "org.apache.iceberg.relocated.com.google.common.collect.Iterators")
    table = _java_table((manifest.parent / "table").as_uri())
    listed = next(iter(table.currentSnapshot().dataManifests(table.io())))
    projected = jvm.java.util.ArrayList()
    for name in columns or ("*",):
        projected.add(name)
    seconds: list[float] = []
    for _ in range(passes * 2):
        reader = reads.read(listed, table.io(), table.specs()).select(projected)
        began = time.perf_counter()
        iterators.size(reader.iterator())
        seconds.append(time.perf_counter() - began)
        reader.close()
    return statistics.median(seconds[passes:])  # the first half warms the JVM up


@cache
def _spark() -> SparkSession:
    return iceberg_session(Path(tempfile.mkdtemp(prefix="skipstone-peer-")))


def _java_table(location: str) -> Any:
    jvm: Any = _spark()._jvm
    configuration = _spark()._jsc.hadoopConfiguration()
    return jvm.org.apache.iceberg.hadoop.HadoopTables(configuration).load(location)


def _write_with_java(work: Path, source_metadata: str) -> None:
    """Copy the entries of a foreign table into a manifest of Java's own and commit it to a table at `work/table`."""
    jvm: Any = _spark()._jvm
    configuration = _spark()._jsc.hadoopConfiguration()
    io = jvm.org.apache.iceberg.hadoop.HadoopFileIO(configuration)
    operations = jvm.org.apache.iceberg.StaticTableOperations(source_metadata, io)
    source = jvm.org.apache.iceberg.BaseTable(operations, "source")
    manifest = next(iter(source.currentSnapshot().dataManifests(io)))
    properties = jvm.java.util.HashMap()
    properties.put("format-version", "2")
    target = jvm.org.apache.iceberg.hadoop.HadoopTables(configuration).create(
        source.schema(), source.spec(), properties, (work / "table").as_uri()
    )
    # Appending a manifest whose snapshot id is open keeps the file as it is, under the name it was written with.
    files = jvm_class(_spark(), "org.apache.iceberg.ManifestFiles")
    output = io.newOutputFile((work / "manifest.avro").as_uri())
    writer = files.write(2, target.spec(), output, None)
    writer.addAll(files.read(manifest, io, source.specs()).iterator())
    writer.close()
    target.newFastAppend().appendManifest(writer.toManifestFile()).commit()


def _write_with_pyiceberg(home: Path, entries: int) -> str:
    """A table with `entries` data files that exist in metadata only; returns its metadata location."""
    home.mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        catalog = SqlCatalog("source", uri=f"sqlite:///{home}/catalog.db", warehouse=home.as_uri())
        catalog.create_namespace("bench")
        spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "region"))
        table = catalog.create_table("bench.source", _SCHEMA, partition_spec=spec)
        draw = random.Random(20_261_116)
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for i in range(entries):
                append.append_data_file(_data_file(draw, i))
        catalog.close()
        return str(table.metadata_location)


def _data_file(draw: random.Random, i: int) -> DataFile:
    rows = draw.randrange(50_000, 150_000)
    region = REGIONS[i % len(REGIONS)]
    first, day = i * 100_000, 18_000 + i // 20
    low: dict[int, Any] = {
        1: first, 2: day * 86_400_000_000, 3: region, 4: draw.uniform(0, 10), 5: draw.randrange(10),
        6: f"aa{draw.randrange(10**13):013d}", 7: day, 8: draw.random(), 10: False,
    }  # fmt: skip
    high: dict[int, Any] = {
        1: first + rows, 2: day * 86_400_000_000 + draw.randrange(86_400_000_000), 3: region,
        4: draw.uniform(900, 1_000), 5: draw.randrange(90, 100), 6: f"zz{draw.randrange(10**13):013d}", 7: day,
        8: draw.uniform(1, 2), 10: True,
    }  # fmt: skip
    cents = (draw.randrange(1_000), draw.randrange(10**9, 10**10))
    columns = range(1, 11)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"s3://warehouse/bench/data/region={region}/{i:05d}-0-{draw.getrandbits(128):032x}-00001.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(region),
        record_count=rows,
        file_size_in_bytes=rows * 57,
        column_sizes={c: rows * draw.randrange(1, 9) for c in columns},
        value_counts=dict.fromkeys(columns, rows),
        null_value_counts={c: 0 if c == 1 else draw.randrange(rows // 50) for c in columns},
        nan_value_counts={4: draw.randrange(3), 8: 0},
        lower_bounds=_bounds(low) | {9: _minimal_big_endian(cents[0])},
        upper_bounds=_bounds(high) | {9: _minimal_big_endian(cents[1])},
        split_offsets=[4, rows * 28],
        sort_order_id=0,
    )
    file.spec_id = 0
    return file


def _bounds(values: dict[int, Any]) -> dict[int, bytes]:
    return {c: struct.pack("<f", v) if c == 8 else to_bytes(_SCHEMA.find_type(c), v) for c, v in values.items()}


def _minimal_big_endian(unscaled: int) -> bytes:
    return unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
