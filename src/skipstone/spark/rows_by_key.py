"""The rows of a table that have one of a list of keys, read here and handed to Spark as they are few.

A merge joins all rows of a table with its source to find one in a hundred. Where the keys of the source are at hand the
rows that have them are found faster by our reader, which looks at nothing but the columns asked for; Spark then joins
just these, and decides everything that a statement says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow
from pyspark.sql import DataFrame

from skipstone.metadata.reserved import FILE, POS, ROW_ID
from skipstone.metadata.types import Field, StructType
from skipstone.read.keyed_rows import KeyedRows, Keys
from skipstone.read.rows_at import read_rows_at
from skipstone.scan import Scan
from skipstone.spark.empty_relation import no_rows
from skipstone.spark.java import selected
from skipstone.spark.scan_names import quoted
from skipstone.spark.shown_arrow import shown_batch, spark_arrow_schema
from skipstone.spark.types import sql_type, to_spark_struct

pa: Any = pyarrow


def frame_of_rows(spark: Any, scan: Scan, keys: tuple[Keys, ...], found: KeyedRows, needed: Sequence[Field]) -> Any:
    """A frame of the scan's columns with the rows that were found by their keys.

    Files stand by their number in the scan's plan. Columns that are neither keys nor needed are null.
    """
    plan = scan.plan()
    types = _as_spark(scan.wanted)
    if not found.positions:
        return no_rows(spark, types)
    known = {k.field.id: k.field for k in keys}
    others = [f for f in needed if f.id not in known] + [f for f in scan.wanted.fields if f.id == ROW_ID.id]
    columns = found.columns
    if others:
        struct = StructType(tuple(others))
        more = read_rows_at(plan, scan.storage, wanted=struct, positions=found.positions)
        columns = pa.table([*columns.columns, *more.columns], names=[*columns.column_names, *more.column_names])
    narrow = StructType((*known.values(), *others, POS, FILE))
    frame = _unlooked(spark.createDataFrame(_shown(columns, narrow, found.positions), _as_spark(narrow)))
    told = {f.name for f in narrow.fields}
    shown = (
        quoted(f.name) if f.name in told else f"CAST(NULL AS {sql_type(f.dataType)}) AS {quoted(f.name)}"
        for f in types.fields
    )
    return selected(frame, list(shown))


def _as_spark(struct: StructType) -> Any:
    return to_spark_struct(struct, all_optional=True)


def _shown(columns: Any, struct: StructType, positions: Mapping[int, Any]) -> Any:
    """The rows as Spark takes them, with where they are."""
    places = pa.array(np.concatenate(list(positions.values())))
    counts = [len(at) for at in positions.values()]
    files = pa.DictionaryArray.from_arrays(
        np.repeat(np.arange(len(counts)), counts), pa.array([str(file) for file in positions])
    )
    arrays = [*(c.combine_chunks() for c in columns.columns), places, files.cast(pa.string())]
    batch = pa.RecordBatch.from_arrays(arrays, [f.name for f in struct.fields])
    return pa.Table.from_batches([shown_batch(batch, struct, spark_arrow_schema(struct))])


def _unlooked(frame: Any) -> Any:
    """The same rows, which Spark's optimizer does not look at: it compares plans by their rows, again and again."""
    plan, session = frame._jdf.queryExecution(), frame.sparkSession
    made = session._jsparkSession.internalCreateDataFrame(plan.toRdd(), plan.analyzed().schema(), False)
    return DataFrame(made, session)
