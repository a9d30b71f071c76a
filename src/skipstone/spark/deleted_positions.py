"""Rows deleted by position: from position delete files and deletion vectors.

The deleted positions of each file are a row of bits, and a row asks for its own by ordinal and position: about as fast
as no deletes at all. All rows of bits are equally long and lie one after the other in one array, because an array of
arrays would make an object for every row that asks. The array travels with the query as a constant; if it is long, as a
value that the query computes once, and if it is very long, the bits are broadcast and joined.

Spec: "Position Delete Files", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.reserved import FILE, POS
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan
from skipstone.read.position_deletes import PositionDeletes, Positions
from skipstone.spark import word_arrays
from skipstone.spark.file_facts import IS_DELETED, ORDINAL, POSITION, Place
from skipstone.spark.scan_names import PREFIX
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_OF: Final = f"{PREFIX}deleted_of"
_WORDS: Final = f"{PREFIX}deleted_words"
_PATH: Final = f"{PREFIX}deleted_path"
_WORD_BITS: Final = word_arrays.WORD_BITS
_WORD_SHIFT: Final = 6
# Beyond this, Spark hashes a constant for longer, each time it plans, than a subquery takes.
_CONSTANT_WORDS_MAX: Final = 1 << 18
# Beyond this, bits are better broadcast once than carried by every stage.
_CARRIED_WORDS_MAX: Final = 4_000_000
_SCHEMA: Final = T.StructType([T.StructField(_OF, T.LongType()), T.StructField(_WORDS, word_arrays.WORDS)])
# The words of bits of each file that has any set, by the ordinal of the file in a plan.
Bits = Mapping[int, Any]
_VALUE_SCHEMA: Final = T.StructType([T.StructField(_WORDS, word_arrays.WORDS)])


def without_positions(spark: SparkSession, frame: DataFrame, bits: Bits, *, place: Place) -> DataFrame:
    """The rows of files whose bit is not set."""
    if not bits:
        return frame
    stride = max(map(len, bits.values()))
    count = stride * (max(bits) + 1)
    if count <= _CARRIED_WORDS_MAX:
        words = _side_by_side(bits, stride)
        value = word_arrays.constant(spark, words) if count <= _CONSTANT_WORDS_MAX else _value(spark, words)
        return frame.where(F.coalesce(_bit_of(value, stride, place), F.lit(0)) != 1)
    known = place.added(frame)
    return known.join(F.broadcast(_frame(spark, bits)), F.expr(f"{ORDINAL} = {_OF} and {_is_set()}"), "left_anti")


def without_positions_by_path(spark: SparkSession, frame: DataFrame, gone: Mapping[str, Positions]) -> DataFrame:
    """The same for rows that know their place only by `_file` and `_pos`: a path is a dear key for every row."""
    words = pa.array([words_of(p) for p in gone.values()], pa.list_(pa.int64()))
    bits = spark.createDataFrame(pa.table({_PATH: list(gone), _WORDS: words}))
    return frame.join(F.broadcast(bits), F.expr(f"{_PATH} = {FILE.name} and {_is_set(POS.name)}"), "left_anti")


def with_deleted_mark(spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage) -> DataFrame:
    """All rows, with whether a position delete removes them."""
    bits = deleted_bits(plan, storage)
    if not bits:
        return frame.selectExpr("*", f"false AS {IS_DELETED}")
    joined = frame.join(F.broadcast(_frame(spark, bits)), F.expr(f"{ORDINAL} = {_OF}"), "left")
    return joined.selectExpr("*", f"coalesce({_is_set()}, false) AS {IS_DELETED}")


def _is_set(position: str = POSITION) -> str:
    own = f"get({_WORDS}, cast({position} div {_WORD_BITS} as int))"
    return f"getbit({own}, cast({position} & {_WORD_BITS - 1} as int)) = 1"


def deleted_bits(plan: ScanPlan, storage: Storage) -> Bits:
    """The bits that position deletes set."""
    deleted = PositionDeletes(plan, storage)
    content = plan.deletes.column("content").to_numpy()
    by_position = set(np.flatnonzero(content == FileContent.POSITION_DELETES).tolist())
    paths = plan.files.column("file_path")
    lists = plan.files.column("deletes")
    rows = [(i, d) for i, every in enumerate(lists.to_pylist()) if (d := [r for r in every if r in by_position])]
    words = in_parallel(lambda row: words_of(deleted.of(paths[row[0]].as_py(), row[1])), rows)
    return {row[0]: w for row, w in zip(rows, words, strict=True) if len(w)}


def told_bits(plan: ScanPlan, positions: Mapping[str, Positions]) -> Bits:
    """The bits of positions that are told by path."""
    paths = plan.files.column("file_path").to_pylist() if positions else ()
    return {i: words_of(positions[path]) for i, path in enumerate(paths) if len(positions.get(path, ()))}


def either(a: Bits, b: Bits) -> Bits:
    """The bits that are set in one or both."""
    return {**a, **{i: words if i not in a else _either_words(a[i], words) for i, words in b.items()}}


def _either_words(a: Any, b: Any) -> Any:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    words = longer.copy()
    words[: len(shorter)] |= shorter
    return words


def _frame(spark: SparkSession, bits: Bits) -> DataFrame:
    """One row a file."""
    arrays = [pa.array([*bits], pa.int64()), _lists([*bits.values()])]
    return spark.createDataFrame(pa.table(arrays, [_OF, _WORDS]), _SCHEMA)


def _side_by_side(bits: Bits, stride: int) -> Any:
    """The words of the file with an ordinal, from `stride` times it on."""
    words = np.zeros((max(bits) + 1) * stride, np.int64)
    for ordinal, own in bits.items():
        words[ordinal * stride : ordinal * stride + len(own)] = own
    return words


def _value(spark: SparkSession, words: Any) -> Column:
    """All words as one value."""
    return spark.createDataFrame(pa.table([_lists([words])], [_WORDS]), _VALUE_SCHEMA).scalar()


def _bit_of(words: Column, stride: int, place: Place) -> Column:
    """The bit of a row's own position; null for a row that lies beyond the bits of its file."""
    within = f"shiftright({place.position}, {_WORD_SHIFT})"
    at = f"if({within} < {stride}, {place.ordinal} * {stride} + {within}, -1)"
    return F.getbit(
        F.get(words, F.expr(f"cast({at} as int)")), F.expr(f"cast({place.position} & {_WORD_BITS - 1} as int)")
    )


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
