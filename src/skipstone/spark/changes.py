"""What changed between two snapshots, row by row.

    _change_type          INSERT, DELETE; UPDATE_BEFORE and UPDATE_AFTER where a row's identity tells
    _change_ordinal       the place of the change's snapshot in the order of time
    _commit_snapshot_id   the snapshot that made the change

Only files that a snapshot added, removed or gave other deletes are read. Rows that were merely copied from one file to
another are no change: in v3 tables their lineage proves it, in older ones the same row on both sides.

Spec: "Row Lineage", "Snapshots".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.errors import InvalidInput
from skipstone.metadata.reserved import FILE, LAST_UPDATED_SEQUENCE_NUMBER, POS, ROW_ID
from skipstone.metadata.tables.history import snapshots_between
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.types import DoubleType, FloatType, MapType, VariantType, walk
from skipstone.plan import ScanPlan, plan_scan
from skipstone.predicate.float_order import FloatOrder
from skipstone.scan import Scan
from skipstone.spark.empty_relation import no_rows
from skipstone.spark.scan import read_scan
from skipstone.spark.scan_names import PREFIX, quoted
from skipstone.spark.types import to_spark_struct

pa: Any = pyarrow
pc: Any = pyarrow.compute

CHANGE_TYPE: Final = "_change_type"
CHANGE_ORDINAL: Final = "_change_ordinal"
COMMIT_SNAPSHOT_ID: Final = "_commit_snapshot_id"
INSERT, DELETE, UPDATE_BEFORE, UPDATE_AFTER = "INSERT", "DELETE", "UPDATE_BEFORE", "UPDATE_AFTER"
_COUNT: Final = f"{PREFIX}count"
_ROW: Final = f"{PREFIX}row"
_TEXT: Final = f"{PREFIX}text"
_LINEAGE: Final = (ROW_ID.name, LAST_UPDATED_SEQUENCE_NUMBER.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFiles:
    """What one snapshot did to files: plans over those it removed, added, or gave other deletes (before and after)."""

    removed: ScanPlan | None
    added: ScanPlan
    before: ScanPlan | None
    after: ScanPlan


def read_changes(
    spark: Any,
    scan: Scan,
    *,
    after_id: int | None,
    up_to_id: int,
    keep_copies: bool = False,
    identifier: Sequence[str] = (),
) -> Any:
    """The changes after one snapshot (None: from the beginning) up to another, as a DataFrame.

    The scan says which rows and columns. With `identifier` columns, a deleted and an inserted row that agree on them
    are an update. `keep_copies` also shows rows that were only copied.
    """
    between = snapshots_between(scan.metadata, after_id=after_id, up_to_id=up_to_id)
    changing = [s for s in between if s.operation != Operation.REPLACE]
    frames = [f for i, s in enumerate(changing) for f in _of_snapshot(spark, scan, s, i, keep_copies)]
    if not frames:
        return no_rows(spark, _schema(scan))
    whole = reduce(lambda a, b: a.unionByName(b), frames)
    return _paired(whole, identifier) if identifier else whole


def changed_files(scan: Scan, snapshot: Snapshot) -> ChangedFiles:
    """Which files a snapshot changed, as the filter of the scan leaves them."""
    after = _plan(scan, snapshot)
    if snapshot.parent_snapshot_id is None:
        return ChangedFiles(removed=None, added=after, before=None, after=after.taking(np.empty(0, np.int64)))
    before = _plan(scan, scan.metadata.snapshot(snapshot.parent_snapshot_id))
    old, new = before.files.column("file_path"), after.files.column("file_path")
    other = _with_other_deletes(before, after)
    return ChangedFiles(
        removed=before.taking(_places(pc.invert(pc.is_in(old, value_set=new)))),
        added=after.taking(_places(pc.invert(pc.is_in(new, value_set=old)))),
        before=before.taking(_places(pc.is_in(old, value_set=other))),
        after=after.taking(_places(pc.is_in(new, value_set=other))),
    )


def _plan(scan: Scan, snapshot: Snapshot) -> ScanPlan:
    return plan_scan(
        scan.metadata,
        scan.storage,
        snapshot=snapshot,
        schema=scan.schema,
        predicate=scan.predicate,
        float_order=FloatOrder.SPARK,
    )


def _places(mask: Any) -> Any:
    return np.flatnonzero(np.asarray(mask))


def _with_other_deletes(before: ScanPlan, after: ScanPlan) -> Any:
    """Paths of files that are in both plans with different deletes."""
    old, new = _delete_pairs(before), _delete_pairs(after)
    changed = [pair[0] for pair in old ^ new]
    common = set(before.files.column("file_path").to_pylist()) if changed else set()
    common &= set(after.files.column("file_path").to_pylist()) if changed else set()
    return pa.array(sorted(set(changed) & common), pa.string())


def _delete_pairs(plan: ScanPlan) -> set[tuple[str, str, int | None]]:
    """Every data file with each of its delete files, for files that have any."""
    lists = plan.files.column("deletes").combine_chunks()
    owner = pc.list_parent_indices(lists)
    rows = pc.list_flatten(lists)
    paths = plan.files.column("file_path").take(owner).to_pylist()
    deletes = plan.deletes.select(["file_path", "content_offset"]).take(rows)
    return set(zip(paths, deletes.column(0).to_pylist(), deletes.column(1).to_pylist(), strict=True))


def _of_snapshot(spark: Any, scan: Scan, snapshot: Snapshot, ordinal: int, keep_copies: bool) -> Iterator[Any]:
    files = changed_files(scan, snapshot)
    gone = _read(spark, scan, files.removed)
    come = _read(spark, scan, files.added)
    if gone is not None and come is not None and not keep_copies:
        gone, come = _without_copies(scan, gone, come, by_lineage=_has_lineage(scan, files))
    lost, back = _difference(spark, scan, files)
    for kind, frame in ((DELETE, gone), (DELETE, lost), (INSERT, come), (INSERT, back)):
        if frame is not None:
            yield frame.select(
                *(F.col(quoted(n)) for n in _shown(scan)),
                F.lit(kind).alias(CHANGE_TYPE),
                F.lit(ordinal).alias(CHANGE_ORDINAL),
                F.lit(snapshot.snapshot_id).cast("bigint").alias(COMMIT_SNAPSHOT_ID),
            )


def _shown(scan: Scan) -> list[str]:
    return [f.name for f in scan.wanted.fields]


def _read(spark: Any, scan: Scan, plan: ScanPlan | None, *extra: str) -> Any:
    if plan is None or len(plan) == 0:
        return None
    lineage = [] if scan.metadata.format_version < 3 else [n for n in _LINEAGE if n not in _shown(scan)]
    wanted = replace(scan, columns=[*_shown(scan), *lineage, *extra], float_order=FloatOrder.SPARK)
    return read_scan(wanted.planned(plan), spark)


def _has_lineage(scan: Scan, files: ChangedFiles) -> bool:
    """Whether rows are known by id on both sides: files from before a table's upgrade to v3 may have given none yet."""
    if scan.metadata.format_version < 3:
        return False
    sides = [plan.files.column("first_row_id") for plan in (files.removed, files.added) if plan is not None]
    return all(side.null_count == 0 for side in sides)


def _without_copies(scan: Scan, gone: Any, come: Any, *, by_lineage: bool) -> tuple[Any, Any]:
    """Both sides without the rows that only moved."""
    if by_lineage:
        keys = list(_LINEAGE)
        return gone.join(come, keys, "left_anti"), come.join(gone, keys, "left_anti")
    if any(isinstance(f.type, MapType | VariantType) for f in walk(scan.wanted)):
        raise InvalidInput(
            f"Cannot tell copied rows of {scan.name} from changed ones: Spark compares no maps or variants. "
            "Leave them out with columns=[...], or pass keep_copies=True."
        )
    return _without_equal_rows(scan, gone, come)


def _without_equal_rows(scan: Scan, gone: Any, come: Any) -> tuple[Any, Any]:
    """Both sides without the rows that are on both, each as often as it is on both.

    Spark groups -0.0 with 0.0 and gives back neither: their text tells them apart, and rows are handed over whole.
    """
    shown = [F.col(quoted(n)) for n in _shown(scan)]
    row = F.struct(*shown)
    has_floats = any(isinstance(f.type, FloatType | DoubleType) for f in walk(scan.wanted))
    keys = [*shown, row.cast("string").alias(_TEXT)] if has_floats else shown
    both = gone.select(*shown, F.lit(1).alias(_COUNT)).unionAll(come.select(*shown, F.lit(-1).alias(_COUNT)))
    left = both.groupBy(*keys).agg(F.sum(_COUNT).cast("int").alias(_COUNT), F.first(row).alias(_ROW))

    def only(sign: int) -> Any:
        times = F.lit(sign) * F.col(_COUNT)
        return left.where(times > 0).select(F.explode(F.array_repeat(_ROW, times)).alias(_ROW)).select(f"{_ROW}.*")

    return only(1), only(-1)


def _difference(spark: Any, scan: Scan, files: ChangedFiles) -> tuple[Any, Any]:
    """Rows of the same files that a snapshot's deletes took away, or its removal of deletes brought back."""
    keys = [n for n in (FILE.name, POS.name) if n not in _shown(scan)]
    before, after = _read(spark, scan, files.before, *keys), _read(spark, scan, files.after, *keys)
    if before is None or after is None:
        return None, None
    on = [FILE.name, POS.name]
    return before.join(after.select(*on), on, "left_anti"), after.join(before.select(*on), on, "left_anti")


def _paired(changes: Any, identifier: Sequence[str]) -> Any:
    """A deleted and an inserted row of one snapshot with the same identity as the two halves of an update."""
    same = Window.partitionBy(CHANGE_ORDINAL, *(F.col(quoted(n)) for n in identifier))
    is_both = (F.max(F.col(CHANGE_TYPE) == DELETE).over(same)) & (F.max(F.col(CHANGE_TYPE) == INSERT).over(same))
    half = F.when(F.col(CHANGE_TYPE) == DELETE, UPDATE_BEFORE).otherwise(UPDATE_AFTER)
    marked = changes.withColumn("__both", is_both)
    return marked.withColumn(CHANGE_TYPE, F.when(F.col("__both"), half).otherwise(F.col(CHANGE_TYPE))).drop("__both")


def _schema(scan: Scan) -> Any:
    shown = to_spark_struct(scan.wanted, all_optional=True)
    for name, type_ in (
        (CHANGE_TYPE, T.StringType()), (CHANGE_ORDINAL, T.IntegerType()), (COMMIT_SNAPSHOT_ID, T.LongType()),
    ):  # fmt: skip
        shown = shown.add(name, type_)
    return shown
