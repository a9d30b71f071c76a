"""Rows of bits as a constant of a query: an array of arrays of 64-bit words that Spark neither copies nor plans over.

It is built in the form in which Spark holds arrays in memory, as one block of bytes, and handed over as a literal. The
same as the value of a subquery would make Spark plan the whole query adaptively and run one more.

Spark's form of an array: the count as a word, a bit for each null in whole words, then a word for each element. It is
the element itself, or, for an array inside, where that begins (upper half) and its length in bytes (lower half).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
from pyspark.sql import Column, SparkSession
from pyspark.sql import types as T

WORD_BITS: Final = 64
_WORD_BYTES: Final = 8
_LENGTH_BITS: Final = 32
_ARRAY: Final = "org.apache.spark.sql.catalyst.expressions.UnsafeArrayData"
_LITERAL: Final = "org.apache.spark.sql.catalyst.expressions.Literal"
_COLUMNS: Final = "org.apache.spark.sql.classic.ExpressionUtils"
_PLATFORM: Final = "org.apache.spark.unsafe.Platform"
_TYPE: Final = T.ArrayType(T.ArrayType(T.LongType(), False), False)


def constant(spark: SparkSession, rows: Sequence[Any]) -> Column:
    """The rows of words as a column that is the same for every row."""
    data = array_of_arrays(rows)
    block = _java(spark, _ARRAY)()
    block.pointTo(data, _java(spark, _PLATFORM).BYTE_ARRAY_OFFSET, len(data))
    literal = _java(spark, _LITERAL)(block, spark._jsparkSession.parseDataType(_TYPE.json()))
    return Column(_java(spark, _COLUMNS).column(literal))


def array_of_arrays(rows: Sequence[Any]) -> bytearray:
    """Rows of words, as Spark holds them in memory."""
    inner = [np.concatenate([_head(len(words)), words]) for words in rows]
    head = _head(len(rows))
    lengths = np.array([len(words) * _WORD_BYTES for words in inner], np.int64)
    starts = (len(head) + len(rows)) * _WORD_BYTES + np.cumsum(lengths) - lengths
    return bytearray(np.concatenate([head, (starts << _LENGTH_BITS) | lengths, *inner]).tobytes())


def _head(count: int) -> Any:
    """The count and no nulls."""
    head = np.zeros(1 + -(-count // WORD_BITS), np.int64)
    head[0] = count
    return head


def _java(spark: SparkSession, name: str) -> Any:
    """A class by its full name; asking for package after package would take a call for each."""
    return JavaClass(name, spark._jvm._gateway_client)  # type: ignore[union-attr]
