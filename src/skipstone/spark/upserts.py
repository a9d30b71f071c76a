"""Upserts of Spark DataFrames that do not read the table: their rows as data files, their keys as equality deletes.

Spec: "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Window
from pyspark.sql import functions as F

from skipstone.commit import RowDelta
from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field
from skipstone.spark.failures import told_as_ours
from skipstone.spark.fitting import fit_columns
from skipstone.spark.frames_in import apart, as_its_user_runs
from skipstone.spark.scan_names import PREFIX, quoted
from skipstone.spark.session import cores_of
from skipstone.spark.task_writes import ENTRIES, collected, serialized, slim
from skipstone.spark.write import write_frame
from skipstone.storage.protocol import Storage
from skipstone.upsert_by_value import spec_for_deletes, upsert_delta
from skipstone.write import write_equality_deletes

_RANK: Final = f"{PREFIX}rank"
_COUNT: Final = f"{PREFIX}count"


def last_of_each_key(frame: Any, keys: Sequence[Field], order_by: str, *, name: str) -> Any:
    """Of the rows with one key only the last; null comes first. Rows that tie are all kept."""
    if order_by not in frame.columns:
        raise InvalidInput(
            f"Cannot upsert into {name} in the order of {order_by!r}: expected one of {', '.join(frame.columns)}."
        )
    same = Window.partitionBy(*_key_columns(frame, keys, name)).orderBy(_column(order_by).desc_nulls_last())
    return frame.withColumn(_RANK, F.rank().over(same)).where(F.col(_RANK) == 1).drop(_RANK)


def upsert_frame_by_value(
    frame: Any, keys: Sequence[Field], *, metadata: TableMetadata, storage: Storage, ref: str, name: str
) -> RowDelta | None:
    """The change that adds a frame's rows, one a key, and deletes their keys; None if there are none."""
    spec = spec_for_deletes(keys, metadata=metadata, storage=storage, ref=ref, name=name)
    columns = _key_columns(frame, keys, name)
    kept = frame.persist()  # it is read three times and must be the same each time
    try:
        _check_unique(kept, columns, name)
        files = write_frame(kept, metadata=metadata, storage=storage, name=name)
        if files.num_rows == 0:
            return None
        deletes = _deletes(kept.select(*columns), keys, spec, metadata, storage)
    finally:
        kept.unpersist()
    return upsert_delta(files, deletes, metadata=metadata, ref=ref)


def _key_columns(frame: Any, keys: Sequence[Field], name: str) -> list[Any]:
    found = []
    for key in keys:
        exact = [c for c in frame.columns if c == key.name]
        alike = exact or [c for c in frame.columns if c.lower() == key.name.lower()]
        if len(alike) != 1:
            raise InvalidInput(
                f"Cannot upsert into {name}: expected key column {key.name!r} among {', '.join(frame.columns)}."
            )
        found.append(_column(alike[0]))
    return found


def _column(name: str) -> Any:
    return F.col(quoted(name))


def _check_unique(frame: Any, columns: list[Any], name: str) -> None:
    twice = frame.groupBy(*columns).agg(F.count("*").alias(_COUNT)).where(F.col(_COUNT) > 1).first()
    if twice is not None:
        key = ", ".join(f"{c} = {v!r}" for c, v in list(zip(twice.__fields__, twice, strict=True))[:-1])
        raise InvalidInput(
            f"Cannot upsert into {name}: expected one row a key, got {twice[-1]} rows with {key}. "
            "Pass order_by= a column that tells them apart to take the last."
        )


def _deletes(
    rows: Any, keys: Sequence[Field], spec: PartitionSpec, metadata: TableMetadata, storage: Storage
) -> pa.Table:
    """Equality delete files for a frame of keys."""
    names = [k.name for k in keys]
    writing = _writing(tuple(k.id for k in keys), names, spec, slim(metadata), storage)
    with told_as_ours(), apart(rows.coalesce(cores_of(rows.sparkSession)), {}) as frame:
        # Spark takes columns of Python tasks by name, and reads a dot in it as a way into a struct.
        plain = [f"c{i}" for i in range(len(names))]
        fitted = as_its_user_runs(frame.select(*fit_columns(frame.schema, keys, plain, case_sensitive=False)), rows)
        return pa.concat_tables(collected(fitted.mapInArrow(writing, f"{ENTRIES} binary")))


def _writing(
    equality_ids: tuple[int, ...], names: list[str], spec: PartitionSpec, metadata: TableMetadata, storage: Storage
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def write(batches: Iterator[Any]) -> Iterator[Any]:
        context = TaskContext.get()
        named = (batch.rename_columns(names) for batch in batches)
        first = next(named, None)
        if first is None:
            return
        entries = write_equality_deletes(
            pa.RecordBatchReader.from_batches(first.schema, chain([first], named)),
            metadata=metadata,
            storage=storage,
            equality_ids=equality_ids,
            spec=spec,
            task=0 if context is None else context.partitionId(),
        )
        storage.settle()
        yield serialized(entries)

    return write
