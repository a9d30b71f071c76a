"""Rows deleted by position: from position delete files and deletion vectors.

The deleted positions of each file are a row of bits, and a row asks for its own by ordinal and position: about as fast
as no deletes at all. The bits travel with the query as one value; if they are many, they are broadcast and joined.

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
from skipstone.spark.file_facts import IS_DELETED, ORDINAL, POSITION
from skipstone.spark.scan_names import PREFIX
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_OF: Final = f"{PREFIX}deleted_of"
_WORDS: Final = f"{PREFIX}deleted_words"
_PATH: Final = f"{PREFIX}deleted_path"
_WORD_BITS: Final = 64
_WORD_SHIFT: Final = 6
# Beyond this, bits are better broadcast once than carried by every stage.
_CARRIED_WORDS_MAX: Final = 4_000_000
_SCHEMA: Final = T.StructType(
    [T.StructField(_OF, T.LongType()), T.StructField(_WORDS, T.ArrayType(T.LongType(), False))]
)
_VALUE_SCHEMA: Final = T.StructType([T.StructField(_WORDS, T.ArrayType(T.ArrayType(T.LongType(), False), False))])


def without_deleted(spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage) -> DataFrame:
    """The rows of files, by ordinals of the plan, that no position delete removes."""
    return _without(spark, frame, _bits(plan, storage), len(plan))


def without_positions(
    spark: SparkSession, frame: DataFrame, plan: ScanPlan, gone: Mapping[str, Positions]
) -> DataFrame:
    """The rows of files, by ordinals of the plan, that are not at positions told by path."""
    paths = plan.files.column("file_path").to_pylist()
    found = [(i, words_of(gone[path])) for i, path in enumerate(paths) if len(gone.get(path, ()))]
    return _without(spark, frame, found, len(plan))


def without_positions_by_path(spark: SparkSession, frame: DataFrame, gone: Mapping[str, Positions]) -> DataFrame:
    """The same for rows that know their place only by `_file` and `_pos`: a path is a dear key for every row."""
    words = pa.array([words_of(p) for p in gone.values()], pa.list_(pa.int64()))
    bits = spark.createDataFrame(pa.table({_PATH: list(gone), _WORDS: words}))
    return frame.join(F.broadcast(bits), F.expr(f"{_PATH} = {FILE.name} and {_is_set(POS.name)}"), "left_anti")


def _without(spark: SparkSession, frame: DataFrame, found: list[tuple[int, Any]], num_files: int) -> DataFrame:
    if not found:
        return frame
    if sum(len(words) for _, words in found) <= _CARRIED_WORDS_MAX:
        return frame.where(~F.coalesce(_bit_of(_value(spark, found, num_files)) == 1, F.lit(False)))
    return frame.join(F.broadcast(_frame(spark, found)), F.expr(f"{ORDINAL} = {_OF} and {_is_set()}"), "left_anti")


def with_deleted_mark(spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage) -> DataFrame:
    """All rows, with whether a position delete removes them."""
    found = _bits(plan, storage)
    if not found:
        return frame.selectExpr("*", f"false AS {IS_DELETED}")
    joined = frame.join(F.broadcast(_frame(spark, found)), F.expr(f"{ORDINAL} = {_OF}"), "left")
    return joined.selectExpr("*", f"coalesce({_is_set()}, false) AS {IS_DELETED}")


def _is_set(position: str = POSITION) -> str:
    own = f"get({_WORDS}, cast({position} div {_WORD_BITS} as int))"
    return f"getbit({own}, cast({position} & {_WORD_BITS - 1} as int)) = 1"


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


def _value(spark: SparkSession, found: list[tuple[int, Any]], num_files: int) -> Column:
    """All bits as one value: an array of words for every ordinal, empty for files without deletes."""
    by_ordinal = dict(found)
    nothing = np.empty(0, np.int64)
    words = _lists([by_ordinal.get(i, nothing) for i in range(num_files)])
    whole = pa.ListArray.from_arrays(pa.array([0, num_files], pa.int32()), words)
    return spark.createDataFrame(pa.table([whole], [_WORDS]), _VALUE_SCHEMA).scalar()


def _bit_of(words: Column) -> Column:
    """The bit of a row's own position."""
    place = F.shiftright(F.col(POSITION), _WORD_SHIFT).cast("int")
    own = F.get(F.get(words, F.col(ORDINAL).cast("int")), place)
    return F.getbit(own, F.col(POSITION).bitwiseAND(_WORD_BITS - 1).cast("int"))


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
