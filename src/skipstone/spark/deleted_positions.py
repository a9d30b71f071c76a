"""Rows deleted by position: from position delete files and deletion vectors.

The deleted positions of each file are a row of bits, and a row asks for its own by ordinal and position: about as fast
as no deletes at all. The bits travel with the query as a constant; if they are many, as a value that it computes once,
and if they are very many, they are broadcast and joined.

Spec: "Position Delete Files", "Deletion Vectors".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.metadata.manifests.manifest import FileContent
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan
from skipstone.read.position_deletes import PositionDeletes, Positions
from skipstone.spark import bit_rows
from skipstone.spark.file_facts import IS_DELETED, ORDINAL, POSITION, Place
from skipstone.spark.scan_names import PREFIX
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_OF: Final = f"{PREFIX}deleted_of"
_WORDS: Final = f"{PREFIX}deleted_words"
_WORD_BITS: Final = bit_rows.WORD_BITS
_WORD_SHIFT: Final = 6
# Beyond this, Spark hashes a constant for longer, each time it plans, than a subquery takes.
_CONSTANT_WORDS_MAX: Final = 1 << 18
# Beyond this, bits are better broadcast once than carried by every stage.
_CARRIED_WORDS_MAX: Final = 4_000_000
_SCHEMA: Final = T.StructType(
    [T.StructField(_OF, T.LongType()), T.StructField(_WORDS, T.ArrayType(T.LongType(), False))]
)
_VALUE_SCHEMA: Final = T.StructType([T.StructField(_WORDS, T.ArrayType(T.ArrayType(T.LongType(), False), False))])
_IS_SET: Final = (
    f"getbit(get({_WORDS}, cast({POSITION} div {_WORD_BITS} as int)), cast({POSITION} & {_WORD_BITS - 1} as int)) = 1"
)


def without_deleted(spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage, place: Place) -> DataFrame:
    """The rows of files, by ordinals of the plan, that no position delete removes."""
    found = _bits(plan, storage)
    count = sum(len(words) for _, words in found)
    if not found:
        return frame
    if count <= _CARRIED_WORDS_MAX:
        rows = _by_ordinal(found, len(plan))
        bits = bit_rows.constant(spark, rows) if count <= _CONSTANT_WORDS_MAX else _value(spark, rows)
        return frame.where(F.coalesce(_bit_of(bits, place), F.lit(0)) != 1)
    known = place.added(frame)
    return known.join(F.broadcast(_frame(spark, found)), F.expr(f"{ORDINAL} = {_OF} and {_IS_SET}"), "left_anti")


def with_deleted_mark(spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage) -> DataFrame:
    """All rows, with whether a position delete removes them."""
    found = _bits(plan, storage)
    if not found:
        return frame.selectExpr("*", f"false AS {IS_DELETED}")
    joined = frame.join(F.broadcast(_frame(spark, found)), F.expr(f"{ORDINAL} = {_OF}"), "left")
    return joined.selectExpr("*", f"coalesce({_IS_SET}, false) AS {IS_DELETED}")


def _bits(plan: ScanPlan, storage: Storage) -> list[tuple[int, Any]]:
    """The bits of each file that has any, by ordinal."""
    deleted = PositionDeletes(plan, storage)
    content = plan.deletes.column("content").to_numpy()
    by_position = set(np.flatnonzero(content == FileContent.POSITION_DELETES).tolist())
    paths = plan.files.column("file_path")
    lists = plan.files.column("deletes")
    rows = [(i, d) for i, every in enumerate(lists.to_pylist()) if (d := [r for r in every if r in by_position])]
    words = in_parallel(lambda row: words_of(deleted.of(paths[row[0]].as_py(), row[1])), rows)
    return [(row[0], w) for row, w in zip(rows, words, strict=True) if len(w)]


def _frame(spark: SparkSession, found: list[tuple[int, Any]]) -> DataFrame:
    """One row a file."""
    arrays = [pa.array([ordinal for ordinal, _ in found], pa.int64()), _lists([words for _, words in found])]
    return spark.createDataFrame(pa.table(arrays, [_OF, _WORDS]), _SCHEMA)


def _by_ordinal(found: list[tuple[int, Any]], num_files: int) -> list[Any]:
    """A row of words for every ordinal, empty for files without deletes."""
    words = dict(found)
    nothing = np.empty(0, np.int64)
    return [words.get(i, nothing) for i in range(num_files)]


def _value(spark: SparkSession, rows: list[Any]) -> Column:
    """All bits as one value, an array of words for every ordinal."""
    whole = pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), _lists(rows))
    return spark.createDataFrame(pa.table([whole], [_WORDS]), _VALUE_SCHEMA).scalar()


def _bit_of(words: Column, place: Place) -> Column:
    """The bit of a row's own position."""
    own = F.get(words, F.expr(f"cast({place.ordinal} as int)"))
    word = F.get(own, F.expr(f"cast(shiftright({place.position}, {_WORD_SHIFT}) as int)"))
    return F.getbit(word, F.expr(f"cast({place.position} & {_WORD_BITS - 1} as int)"))


def _lists(words: list[Any]) -> Any:
    offsets = np.cumsum([0, *(len(w) for w in words)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(np.concatenate(words)))


def words_of(positions: Positions) -> Any:
    """The positions as bits of 64-bit words, lowest first."""
    if len(positions) == 0:
        return np.empty(0, np.int64)
    bits = np.zeros((int(positions[-1]) // _WORD_BITS + 1) * _WORD_BITS, np.bool_)
    bits[positions] = True
    return np.packbits(bits, bitorder="little").view("<i8")
