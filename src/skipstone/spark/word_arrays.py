"""64-bit words as a constant of a query: an array that Spark neither copies nor plans over.

It is built in the form in which Spark holds arrays in memory, as one block of bytes, and handed over as a literal. The
same as the value of a subquery would make Spark plan the whole query adaptively and run one more.

Spark's form of an array: the count as a word, a bit for each null in whole words, then a word for each element.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from pyspark.sql import Column, SparkSession
from pyspark.sql import types as T

from skipstone.spark.java import java_class, java_static, java_type

WORD_BITS: Final = 64
WORDS: Final = T.ArrayType(T.LongType(), False)
_ARRAY: Final = "org.apache.spark.sql.catalyst.expressions.UnsafeArrayData"
_LITERAL: Final = "org.apache.spark.sql.catalyst.expressions.Literal"
_COLUMNS: Final = "org.apache.spark.sql.classic.ExpressionUtils"
_PLATFORM: Final = "org.apache.spark.unsafe.Platform"


def constant(spark: SparkSession, words: Any) -> Column:
    """The words as a column that is the same for every row."""
    jvm = spark._jvm
    data = array_of(words)
    block = java_class(jvm, _ARRAY)()
    block.pointTo(data, java_class(jvm, _PLATFORM).BYTE_ARRAY_OFFSET, len(data))
    literal = java_class(jvm, _LITERAL)(block, java_type(spark, WORDS))
    return Column(java_static(jvm, _COLUMNS, "column")(literal))


def array_of(words: Any) -> bytearray:
    """Words as Spark holds them in memory: without nulls."""
    head = np.zeros(1 + -(-len(words) // WORD_BITS), np.int64)
    head[0] = len(words)
    return bytearray(np.concatenate([head, words]).tobytes())
