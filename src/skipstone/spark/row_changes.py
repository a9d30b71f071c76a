"""Rows that a statement found, as file changes: rows at positions go, other rows come.

Copy-on-write rewrites the files that lose rows, as one Spark job; merge-on-read writes deletion vectors (v3) or
position deletes (v2) on the driver. Rows that move keep their ids; a row that changes gets a new last-updated number by
having none.

Spec: "Row-level Deletes", "Row Lineage Assignment".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow

from skipstone.commit import Change, Isolation, Overwrite, RowDelta
from skipstone.metadata.reserved import FILE, LAST_UPDATED_SEQUENCE_NUMBER, POS, ROW_ID
from skipstone.predicate.float_order import FloatOrder
from skipstone.read.position_deletes import by_path
from skipstone.row_level import RowLevel
from skipstone.scan import Scan
from skipstone.spark.scan import read_scan
from skipstone.spark.write import write_frame
from skipstone.write import write_rows

pa: Any = pyarrow


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRows:
    """What a statement found in a table.

    `scan` is the scan of the target, whose plan holds every file that was looked at; `dropped` are files of which every
    row goes, `positions` the rows that go of others. `rows` are rows to add, with lineage columns in a v3 table: a
    frame, or an Arrow table if they are few.
    """

    scan: Scan
    dropped: Sequence[str] = ()
    positions: Mapping[str, Any]
    rows: Any = None


def lineage_columns(scan: Scan) -> list[str]:
    """The columns that keep a row's identity, in tables that have them."""
    return [ROW_ID.name, LAST_UPDATED_SEQUENCE_NUMBER.name] if scan.metadata.format_version >= 3 else []


def positions_of(frame: Any, numbered: Sequence[str] = ()) -> dict[str, Any]:
    """The positions in a frame of `_file` and `_pos`, by file. Rows may tell a file by its number in `numbered`."""
    return positions_in(frame.toArrow(), numbered)


def positions_in(table: Any, numbered: Sequence[str] = ()) -> dict[str, Any]:
    """The same of an Arrow table."""
    found = by_path(table.select([FILE.name, POS.name]).rename_columns(["file_path", "pos"]))
    return {path_of(told, numbered): positions for told, positions in found.items()}


def path_of(told: str, numbered: Sequence[str]) -> str:
    """The path that a row tells of its file, be it by number. No path is a number: they begin at the root."""
    return numbered[int(told)] if numbered and told.isdecimal() else told


def kept_lineage(scan: Scan) -> list[str]:
    """The lineage of rows that change, as SQL: their ids stay, and their last-updated numbers are yet to come."""
    return [
        f"CAST(NULL AS BIGINT) AS {name}" if name == LAST_UPDATED_SEQUENCE_NUMBER.name else name
        for name in lineage_columns(scan)
    ]


def change_of(spark: Any, found: FoundRows, *, ref: str, mode: str, isolation: str) -> Change | None:
    """The change that makes it so; None if there is nothing to do."""
    if not found.dropped and not found.positions and found.rows is None:
        return None
    level = RowLevel(metadata=found.scan.metadata, storage=found.scan.storage, ref=ref, float_order=FloatOrder.SPARK)
    merges = mode == "merge-on-read" and found.scan.metadata.format_version >= 2
    change = _deltas(level, found) if merges else _rewrite(spark, level, found)
    if change is None:
        return None
    return replace(change, isolation=Isolation(isolation)) if isinstance(change, RowDelta | Overwrite) else change


def _added(level: RowLevel, found: FoundRows, files: Any) -> Change | None:
    """Rows that only come. They came because no row matched, so what others commit meanwhile must not match either."""
    if files is None or files.num_rows == 0:
        return None
    return Overwrite(files=files, conflict_filter=found.scan.predicate, ref=level.ref, float_order=FloatOrder.SPARK)


def _deltas(level: RowLevel, found: FoundRows) -> Change | None:
    files: Any = None if found.rows is None else _written(found.scan, found.rows)
    if not found.positions and not found.dropped:
        return _added(level, found, files)
    return level.deltas(found.scan.plan(), found.positions, found.dropped, files, found.scan.predicate)


def _rewrite(spark: Any, level: RowLevel, found: FoundRows) -> Change | None:
    staying = _staying(spark, found) if found.positions else None
    coming = found.rows
    if staying is not None and isinstance(coming, pa.Table):
        coming = spark.createDataFrame(coming, staying.schema)
    frames = [f for f in (staying, coming) if f is not None]
    files: Any = None
    if frames:
        whole = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
        files = _written(found.scan, whole)
    removed = [*found.dropped, *found.positions]
    if not removed:
        return _added(level, found, files)
    return Overwrite(
        files=files if files is not None and files.num_rows else None,
        remove_files=removed,
        conflict_filter=found.scan.predicate,
        ref=level.ref,
        float_order=FloatOrder.SPARK,
    )


def _staying(spark: Any, found: FoundRows) -> Any:
    """The rows of the files that lose some, without those."""
    plan = found.scan.plan()
    hit = np.isin(plan.files.column("file_path").to_numpy(zero_copy_only=False), list(found.positions))
    columns = [f.name for f in found.scan.schema.fields] + lineage_columns(found.scan)
    whole = replace(found.scan, filter=None, columns=columns)
    return read_scan(whole.planned(plan.taking(np.flatnonzero(hit)).unfiltered()), spark, without=found.positions)


def _written(scan: Scan, rows: Any) -> Any:
    where: Any = {"metadata": scan.metadata, "storage": scan.storage}
    with_lineage = scan.metadata.format_version >= 3
    if isinstance(rows, pa.Table):
        return write_rows(rows, **where, with_lineage=with_lineage)
    return write_frame(rows, **where, name=scan.name, with_lineage=with_lineage)
