"""Rows deleted by position: from position delete files and deletion vectors.

The deleted positions of each file are a row of bits. The bits of all files are broadcast, and a row asks for its own by
ordinal and position: about as fast as no deletes at all.

Spec: "Position Delete Files", "Deletion Vectors".
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.metadata.manifests.manifest import FileContent
from skipstone.plan.entries import in_parallel
from skipstone.plan.scan import ScanPlan
from skipstone.read.position_deletes import PositionDeletes, Positions
from skipstone.spark.file_facts import IS_DELETED, ORDINAL, POSITION
from skipstone.spark.scan_names import PREFIX
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_OF: Final = f"{PREFIX}deleted_of"
_WORDS: Final = f"{PREFIX}deleted_words"
_WORD_BITS: Final = 64
_SCHEMA: Final = T.StructType(
    [T.StructField(_OF, T.LongType()), T.StructField(_WORDS, T.ArrayType(T.LongType(), False))]
)
_IS_SET: Final = (
    f"getbit(get({_WORDS}, cast({POSITION} div {_WORD_BITS} as int)), cast({POSITION} & {_WORD_BITS - 1} as int)) = 1"
)


def without_deleted(spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage) -> DataFrame:
    """The rows of files, by ordinals of the plan, that no position delete removes."""
    bits = _bits_frame(spark, plan, storage)
    if bits is None:
        return frame
    return frame.join(F.broadcast(bits), F.expr(f"{ORDINAL} = {_OF} and {_IS_SET}"), "left_anti")


def with_deleted_mark(spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage) -> DataFrame:
    """All rows, with whether a position delete removes them."""
    bits = _bits_frame(spark, plan, storage)
    if bits is None:
        return frame.selectExpr("*", f"false AS {IS_DELETED}")
    joined = frame.join(F.broadcast(bits), F.expr(f"{ORDINAL} = {_OF}"), "left")
    return joined.selectExpr("*", f"coalesce({_IS_SET}, false) AS {IS_DELETED}")


def _bits_frame(spark: SparkSession, plan: ScanPlan, storage: Storage) -> DataFrame | None:
    deleted = PositionDeletes(plan, storage)
    content = plan.deletes.column("content").to_numpy()
    by_position = set(np.flatnonzero(content == FileContent.POSITION_DELETES).tolist())
    paths = plan.files.column("file_path")
    lists = plan.files.column("deletes")
    rows = [(i, d) for i, every in enumerate(lists.to_pylist()) if (d := [r for r in every if r in by_position])]
    words = in_parallel(lambda row: _words(deleted.of(paths[row[0]].as_py(), row[1])), rows)
    found = [(row[0], w) for row, w in zip(rows, words, strict=True) if len(w)]
    if not found:
        return None
    offsets = np.cumsum([0, *(len(w) for _, w in found)])
    arrays = [
        pa.array([ordinal for ordinal, _ in found], pa.int64()),
        pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(np.concatenate([w for _, w in found]))),
    ]
    return spark.createDataFrame(pa.table(arrays, [_OF, _WORDS]), _SCHEMA)


def _words(positions: Positions) -> Any:
    """The positions as bits of 64-bit words, lowest first."""
    if len(positions) == 0:
        return np.empty(0, np.int64)
    bits = np.zeros((int(positions[-1]) // _WORD_BITS + 1) * _WORD_BITS, np.bool_)
    bits[positions] = True
    return np.packbits(bits, bitorder="little").view("<i8")
