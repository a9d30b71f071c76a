"""Statistics: partition statistics of many files, in full and after one more, against Iceberg Java on the same table;
and ANALYZE of all columns (see `peers_analyze`).

The table exists in metadata only: a million data files in 10,000 partitions (an eighth with `--quick`), written by us
once and kept in `benchmarks/.cache`. Java computes its statistics through its own API inside one JVM call per pass. We
start from bare manifests with the spec's columns alone, which is what Java computes, then with the partition zone map
as well, and then from the skip index.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import skipstone
from benchmarks.peers_analyze import analyze_figures
from benchmarks.peers_big_table import CACHE
from benchmarks.report import Figure
from skipstone.analysis.partition_files import serialize_partition_statistics
from skipstone.analysis.partition_statistics import compute_partition_statistics, update_partition_statistics
from skipstone.index.loading import forget_opened
from skipstone.metadata.manifests.manifest import DataFile
from skipstone.metadata.values import serialize_bound
from skipstone.write.files import added_files

FILES: Final = 1_000_000
PARTITIONS: Final = 10_000
FILES_PER_COMMIT: Final = 50_000
SCHEMA: Final = pa.schema([("id", pa.int64()), ("shop", pa.int32()), ("price", pa.float64()), ("name", pa.string())])


def many_files(files: int, partitions: int) -> Any:
    """A table with so many data files, made once and kept; nothing but metadata is there."""
    home = CACHE / f"statistics-{files}"
    catalog = skipstone.catalog(str(home))
    if (home / "done").exists():
        return catalog.load_table("bench.many")
    catalog.create_namespace("bench")
    properties = {"commit.manifest-merge.enabled": "false"}
    table = catalog.create_table("bench.many", SCHEMA, partition_by=["shop"], properties=properties)
    for start in range(0, files, FILES_PER_COMMIT):
        entries = _entries(table, range(start, min(start + FILES_PER_COMMIT, files)), partitions)
        table.add_files(entries, check_duplicate_files=False)
    (home / "done").touch()
    return table


def _entries(table: Any, numbers: Any, partitions: int) -> Any:
    (shop,) = (f.field_id for f in table.spec.fields)
    types = {f.id: f.type for f in table.schema.fields}
    files = []
    for i in numbers:
        low = {1: i * 100, 2: i % partitions, 3: float(i % 1000), 4: f"n{i % 5000:06d}"}
        high = {1: i * 100 + 99, 2: i % partitions, 3: float(i % 1000) + 1, 4: f"n{i % 5000:06d}x"}
        files.append(
            DataFile(
                file_path=f"{table.location}/data/shop={i % partitions}/{i:09d}.parquet",
                file_format="PARQUET",
                partition={shop: i % partitions},
                record_count=100,
                file_size_in_bytes=10_000 + i % 1000,
                value_counts=dict.fromkeys(types, 100),
                null_value_counts=dict.fromkeys(types, 0),
                nan_value_counts={3: 0},
                lower_bounds={k: serialize_bound(types[k], v) for k, v in low.items()},  # type: ignore[arg-type]
                upper_bounds={k: serialize_bound(types[k], v) for k, v in high.items()},  # type: ignore[arg-type]
            )
        )
    return added_files(files, table.spec.partition_type(table.schema), table.spec.spec_id)


def _seconds(work: Any, passes: int) -> float:
    seconds = []
    work()
    for _ in range(passes):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def figures(*, quick: bool) -> list[Figure]:
    files, partitions = (FILES // 8, PARTITIONS // 8) if quick else (FILES, PARTITIONS)
    table = many_files(files, partitions)
    metadata, storage = table.metadata, table.storage
    after = metadata.snapshots[-1]
    passes = 2 if quick else 3

    def full(zone_ids: Any, *, use_index: bool = False) -> Any:
        forget_opened()
        found = compute_partition_statistics(metadata, storage, after, zone_ids=zone_ids, use_index=use_index)
        serialize_partition_statistics(found, metadata, "parquet")
        return found

    plain = _seconds(lambda: full(()), passes)
    zoned = _seconds(lambda: full(None), passes)
    indexed = _seconds(lambda: full((), use_index=True), passes)
    one_more = _one_more(table, partitions, passes)
    java = _java(table, passes)
    words = f"{files:,} files in {partitions:,} partitions"
    return [
        Figure(name="partition statistics in full", unit="s", ours=plain, peer=java, peer_name="Iceberg Java",
               goal=1.0, note=f"{words}, from bare manifests; with the zone map of 4 columns {zoned:.2f} s"),
        Figure(name="partition statistics in full, with the index", unit="s", ours=indexed, peer=java,
               peer_name="Iceberg Java", goal=5.0, note=f"{words}; index files are opened anew in each pass"),
        Figure(name="partition statistics, one more file", unit="ms", ours=one_more * 1000, peer=80.0,
               peer_name="the budget", goal=1.0, note=f"{words}; Iceberg Java was measured at 106 ms for it"),
        *analyze_figures(quick=quick),
    ]  # fmt: skip


def _one_more(table: Any, partitions: int, passes: int) -> float:
    """Statistics of a snapshot with one more file, from those of the one before: read, added up, written."""
    home = tempfile.mkdtemp(prefix="skipstone-bench-")
    catalog = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=home)
    catalog.create_namespace("bench")
    own = catalog.register_table("bench.many", table.metadata_location)
    own.compute_partition_statistics(zone_columns=())
    base = own.partition_statistics()
    own.add_files(_entries(own, range(FILES, FILES + 1), partitions), check_duplicate_files=False)

    def work() -> None:
        assert base is not None
        loaded = own.partition_statistics(snapshot_id=base.snapshot_id)
        found = update_partition_statistics(loaded, own.metadata, own.storage, own.current_snapshot)
        assert found is not None and len(found) == len(base)
        serialize_partition_statistics(found, own.metadata, "parquet")

    return _seconds(work, passes * 3)


@cache
def _spark() -> Any:
    from tests.support.spark import iceberg_session

    return iceberg_session(Path(tempfile.mkdtemp(prefix="skipstone-peer-")))


def _java(table: Any, passes: int) -> float | None:
    from tests.support.spark import RuntimeUnavailable

    try:
        spark = _spark()
    except RuntimeUnavailable:
        return None
    jvm: Any = spark._jvm
    loaded = jvm.org.apache.iceberg.hadoop.HadoopTables(spark._jsc.hadoopConfiguration()).load(table.location)
    seconds: list[float] = []
    for _ in range(passes + 1):
        began = time.perf_counter()
        jvm.org.apache.iceberg.PartitionStatsHandler.computeAndWriteStatsFile(loaded)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])
