"""`spark.read.format("skipstone")` and its siblings: our tables by Spark's own names, for convenience.

    spark.read.format("skipstone").option("catalog", uri).option("warehouse", lake).load("shop.orders")

Rows pass through Python as Arrow batches, which is slower than `table.scan(…).to_spark()` and `table.append(df)`.

Law: a reader implements no `pushFilters`. Spark keeps what a Python source read per relation, so a frame or view that
is used twice with different filters would give wrong rows. The option `filter` prunes; `columns` chooses columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.udf import _wrap_function

from skipstone.spark.portions import Portion, input_partitions, read_portion
from skipstone.spark.source_options import SourceOptions
from skipstone.spark.source_write import BatchWriter, StreamWriter
from skipstone.spark.types import to_spark_struct
from skipstone.table_stream import Offset, TableStream

FORMAT: Final = "skipstone"
_JVM_SOURCE: Final = "org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource"


class SkipstoneSource(DataSource):
    """The format's four sides: read, write, stream in, stream out."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> T.StructType:
        options = SourceOptions.of(self.options)
        return to_spark_struct(options.scan(options.table()).wanted, all_optional=True)

    def reader(self, schema: T.StructType) -> DataSourceReader:
        return BatchReader(SourceOptions.of(self.options), schema)

    def writer(self, schema: T.StructType, overwrite: bool) -> BatchWriter:
        return BatchWriter(SourceOptions.of(self.options), schema, overwrite)

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:
        return StreamReader(SourceOptions.of(self.options), schema)

    def streamWriter(self, schema: T.StructType, overwrite: bool) -> StreamWriter:
        return StreamWriter(SourceOptions.of(self.options), schema, overwrite)


class BatchReader(DataSourceReader):
    """The rows of one snapshot."""

    def __init__(self, options: SourceOptions, schema: T.StructType) -> None:
        self._options, self._schema = options, schema

    def partitions(self) -> Sequence[InputPartition]:
        table = self._options.table()
        scan = self._options.scan_as(table, self._schema)
        return input_partitions(scan.plan(), table.storage, scan.wanted, _num_tasks())

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _rows(partition)


class StreamReader(DataSourceStreamReader):
    """The rows of new snapshots.

    Spark asks for the latest offset without saying where the query is, so this is remembered from the batch before. A
    query that is restarted plans its last batch once more before it asks; one that is new does not, and begins at the
    initial offset, which is found once: the table may grow between two questions.
    """

    def __init__(self, options: SourceOptions, schema: T.StructType) -> None:
        self._options, self._schema = options, schema
        self._settings = options.stream_settings()
        self._stream: TableStream | None = None
        self._initial: Offset | None = None
        self._at: Offset | None = None

    def initialOffset(self) -> dict[str, Any]:
        if self._initial is None:
            self._initial = self._opened().initial()
        return self._initial.to_json()

    def latestOffset(self) -> dict[str, Any]:
        at = self._at or Offset.from_json(self.initialOffset())
        return self._opened().latest(at).to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        stream, last = self._opened(), Offset.from_json(end)
        scan = self._options.scan_as(stream.table, self._schema)
        plans = list(stream.plans(Offset.from_json(start), last, scan))
        self._at = last
        return [p for plan in plans for p in input_partitions(plan, scan.storage, scan.wanted, _num_tasks())]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _rows(partition)

    def _opened(self) -> TableStream:
        if self._stream is None:
            self._stream = TableStream(table=self._options.table(), settings=self._settings)
        return self._stream

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None}  # tasks need no table


def register(spark: Any) -> None:
    """Make the format known to a session. Once is enough, twice does no harm.

    The session is asked itself: `spark.dataSource.register` looks at the active one, and refuses where that knows it.
    """
    known = spark._jsparkSession.sessionState().dataSourceManager()
    if not known.dataSourceExists(FORMAT):
        source = getattr(spark._jvm, _JVM_SOURCE)(_wrap_function(spark.sparkContext, SkipstoneSource))
        known.registerDataSource(FORMAT, source)


def _rows(partition: InputPartition | None) -> Iterator[Any]:
    """The rows of a partition; Spark makes up one without a value where there is none."""
    return read_portion(partition) if isinstance(partition, Portion) else iter(())


def _num_tasks() -> int:
    return 2 * (os.cpu_count() or 1)
