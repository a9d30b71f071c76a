"""Long arrays that travel with a query as constants.

They are made by Spark's own classes on the driver: neither a job nor an array of arrays, of which each row would make a
view, is needed to ask for a word.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql.classic.column import Column


def carried_words(spark: SparkSession, words: Any) -> Column:
    """64-bit words as one constant, an array without nulls."""
    jvm: Any = spark._jvm
    array = jvm.org.apache.spark.sql.catalyst.expressions.UnsafeArrayData.fromPrimitiveArray(_java_longs(spark, words))
    type_ = jvm.org.apache.spark.sql.types.ArrayType(jvm.org.apache.spark.sql.types.DataTypes.LongType, False)
    literal = jvm.org.apache.spark.sql.catalyst.expressions.Literal(array, type_)
    return Column(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(literal))


def _java_longs(spark: SparkSession, words: Any) -> Any:
    """Through a file: bytes in a call would become text and back."""
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    stored = np.ascontiguousarray(words, "<i8")
    longs = gateway.new_array(jvm.long, len(stored))
    buffer = jvm.java.nio.ByteBuffer.allocate(stored.nbytes).order(jvm.java.nio.ByteOrder.LITTLE_ENDIAN)
    with tempfile.NamedTemporaryFile(prefix="skipstone-words-") as file:
        file.write(stored.tobytes())
        file.flush()
        stream = jvm.java.io.FileInputStream(file.name)
        try:
            channel = stream.getChannel()
            while buffer.hasRemaining() and channel.read(buffer) >= 0:
                pass
        finally:
            stream.close()
    buffer.flip()
    buffer.asLongBuffer().get(longs)
    return longs
