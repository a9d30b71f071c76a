"""Statistics in the form of Spark's catalog, put on a relation of ours so that its optimizer finds them.

Spark looks for the statistics of a relation in the catalog's entry of its table. Our relations have no such table; they
get an entry that is in no catalog and says nothing but the table's name and its statistics.
"""

from __future__ import annotations

import base64
import math
import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from skipstone.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LongType,
    PrimitiveType,
    TimestampType,
    TimestamptzType,
    Value,
)
from skipstone.spark.optimizer_statistics import Histogram, Published, PublishedColumn

_VERSION: Final = "2"  # of the texts for values: moments in UTC, to the microsecond
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ENTRY: Final = "org.apache.spark.sql.catalyst.catalog.CatalogTable"
_STATISTICS_PLACE: Final = 12
_STATISTICS: Final = "org.apache.spark.sql.catalyst.catalog.CatalogStatistics"
# Names that no column has.
_ROWS: Final = "\0rows"
_SIZE: Final = "\0size"
_PLAIN: Final = (IntType, LongType, DecimalType)


def with_statistics(spark: SparkSession, relation: Any, published: Published) -> Any:
    """The relation of a file scan, as Spark's analyser made it, with statistics; without, where it takes none."""
    try:
        return _with_statistics(spark._jvm, relation, published)
    except (Py4JError, PySparkException):
        # Spark's own classes differ from version to version; a scan is right without statistics too.
        return relation


def _with_statistics(jvm: Any, relation: Any, published: Published) -> Any:
    option = jvm.scala.Option
    table = _entry(jvm, published.table, relation.schema(), option.apply(_statistics(jvm, relation, published)))
    return relation.copy(
        relation.relation(), relation.output(), option.apply(table), relation.isStreaming(), relation.stream()
    )


def _statistics(jvm: Any, relation: Any, published: Published) -> Any:
    """Through the properties in which Spark's catalog stores statistics: one call takes all of them over."""
    whole = {
        _ROWS: PublishedColumn(type=LongType(), ndv=published.row_count),
        _SIZE: PublishedColumn(type=LongType(), ndv=published.size_in_bytes),
    }
    everything = {**published.columns, **whole}
    properties = jvm.java.util.Properties()
    lines = [line for name, column in everything.items() for line in _lines(jvm, name, column)]
    properties.load(jvm.java.io.StringReader("\n".join(lines)))
    stored = _scala_map(jvm, properties)
    parse = jvm.org.apache.spark.sql.catalyst.catalog.CatalogColumnStat.fromMap
    columns = jvm.java.util.HashMap()
    for name in published.columns:
        columns.put(name, parse(published.table, name, stored).get())
    rows, size = (parse(published.table, name, stored).get().distinctCount() for name in (_ROWS, _SIZE))
    # Numbers of Scala's turn into Python's on their way through here; in a list they stay what they are.
    arguments = jvm.java.util.ArrayList()
    arguments.addAll(jvm.scala.jdk.javaapi.CollectionConverters.asJava(size.toList()))
    arguments.add(rows)
    arguments.add(_scala_map(jvm, columns))
    return _constructor(relation, _STATISTICS).newInstance(arguments.toArray())


def _constructor(loaded: Any, name: str) -> Any:
    return loaded.getClass().getClassLoader().loadClass(name).getConstructors()[0]


def _scala_map(jvm: Any, java_map: Any) -> Any:
    return jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(java_map)


def _lines(jvm: Any, name: str, column: PublishedColumn) -> list[str]:
    low, high = value_text(column.type, column.low), value_text(column.type, column.high)
    told = {
        "version": _VERSION,
        "distinctCount": column.ndv,
        "nullCount": column.null_count,
        "avgLen": column.average_length,
        "maxLen": column.max_length,
        "min": None if high is None else low,
        "max": None if low is None else high,
        "histogram": None if column.histogram is None else _histogram_text(jvm, column.histogram),
    }
    return [f"{_escaped(f'{name}.{key}')}={value}" for key, value in told.items() if value is not None]


def _escaped(key: str) -> str:
    """A key of a properties file, with nothing in it that such a file gives a meaning."""
    units = key.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def value_text(type_: PrimitiveType, value: Value) -> str | None:
    """A value as Spark's catalog writes it; None where it does not."""
    if value is None:
        return None
    try:
        match type_:
            case BooleanType():
                return str(value).lower()
            case FloatType() | DoubleType():
                assert isinstance(value, float)
                return repr(value) if math.isfinite(value) else None
            case DateType():
                assert isinstance(value, int)
                return (_EPOCH + timedelta(days=value)).date().isoformat()
            case TimestampType() | TimestamptzType():
                assert isinstance(value, int)
                moment = _EPOCH + timedelta(microseconds=value)
                return moment.strftime("%Y-%m-%d %H:%M:%S.%f") if moment.year >= 1000 else None
            case _:
                return str(value) if isinstance(type_, _PLAIN) and isinstance(value, int | Decimal) else None
    except OverflowError:
        return None  # years that Python does not know


def _histogram_text(jvm: Any, histogram: Histogram) -> str:
    lows, highs, count = histogram.edges[:-1], histogram.edges[1:], len(histogram.ndvs)
    data = struct.pack(f">di{count}d{count}d{count}q", histogram.height, count, *lows, *highs, *histogram.ndvs)
    sink = jvm.java.io.ByteArrayOutputStream()
    stream = jvm.net.jpountz.lz4.LZ4BlockOutputStream(sink)
    stream.write(data)
    stream.close()
    return base64.b64encode(bytes(sink.toByteArray())).decode()


def _entry(jvm: Any, name: str, schema: Any, statistics: Any) -> Any:
    """An entry of a table as in Spark's catalog; what it has beside these is left at Spark's defaults."""
    catalog: Any = jvm.org.apache.spark.sql.catalyst.catalog
    identifier = jvm.org.apache.spark.sql.catalyst.TableIdentifier(name)
    kind, storage = catalog.CatalogTableType.EXTERNAL(), catalog.CatalogStorageFormat.empty()
    fields = [identifier, kind, storage, schema]
    count = _constructor(schema, _ENTRY).getParameterCount()
    fields += [getattr(catalog.CatalogTable, f"apply$default${i + 1}")() for i in range(len(fields), count)]
    fields[_STATISTICS_PLACE] = statistics
    return catalog.CatalogTable(*fields)
