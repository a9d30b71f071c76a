"""Batches of a stream into a table at native speed, each once.

    frame.writeStream.foreachBatch(skipstone.spark.batches_into(table)).option("checkpointLocation", …).start()

Law: a restarted query commits no batch twice; see `stream_batches`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

from skipstone.errors import InvalidInput
from skipstone.metadata.tables.refs import MAIN
from skipstone.stream_batches import Batch, BatchTable, Once
from skipstone.table import Table

BatchMode: TypeAlias = Literal["append", "complete", "upsert"]
# Where Spark tells the jobs of a stream which query they belong to; it is the id in the checkpoint.
QUERY_ID_PROPERTY: Final = "sql.streaming.queryId"


def batches_into(
    table: Table,
    *,
    mode: BatchMode = "append",
    on: Sequence[str] | None = None,
    order_by: str | None = None,
    branch: str = MAIN,
    query_id: str | None = None,
) -> Callable[[Any, int], None]:
    """What `foreachBatch` calls: adds each batch, replaces all rows by it, or upserts it.

    Upserts take the key `on`, or the table's identifier fields, and of several rows with one key the last in the order
    of `order_by`; `write.upsert.mode` says how. A query is known by the id in its checkpoint unless `query_id` says
    otherwise.
    """
    if mode not in get_args(BatchMode):
        raise InvalidInput(f"Invalid mode {mode!r}: expected one of {', '.join(get_args(BatchMode))}.")
    if mode != "upsert" and (on is not None or order_by is not None):
        raise InvalidInput(f"Cannot write batches to {table.name}: on and order_by are for mode upsert, got {mode!r}.")

    def add(frame: Any, batch_id: int) -> None:
        batch = Batch(query_id=query_id or _query_id(frame, table), batch_id=batch_id)
        with Once(table, batch) as target:
            if target is not None:
                _put(target, frame)

    def _put(target: BatchTable, frame: Any) -> None:
        match mode:
            case "append":
                target.append(frame, branch=branch)
            case "complete":
                target.overwrite(frame, branch=branch)
            case "upsert":
                target.upsert(frame, on=on, order_by=order_by, branch=branch)

    return add


def _query_id(frame: Any, table: Table) -> str:
    found = frame.sparkSession.sparkContext.getLocalProperty(QUERY_ID_PROPERTY)
    if found is None:
        raise InvalidInput(
            f"Cannot write a batch to {table.name}: expected to be called by foreachBatch, which knows the query. "
            "Pass query_id=... to call it elsewhere."
        )
    return str(found)
