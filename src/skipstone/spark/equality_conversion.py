"""Finding the rows that equality deletes remove, in Spark's tasks: for tables too large for one machine."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from skipstone.maintenance.equality_conversion import FOUND_COLUMNS, Finder, Positions
from skipstone.metadata.reserved import DELETED
from skipstone.plan.scan import ScanPlan
from skipstone.spark.failures import told_as_ours
from skipstone.spark.progress import progress
from skipstone.spark.row_changes import positions_of
from skipstone.spark.session import active
from skipstone.spark.through_arrow import read_through_arrow
from skipstone.storage.protocol import Storage


def deleted_rows_finder(spark: Any, storage: Storage) -> Finder:
    """What finds the positions that a plan's deletes remove, as a Spark job."""
    session = active(spark)

    def find(plan: ScanPlan) -> Positions:
        with told_as_ours(), progress(session, "finding deleted rows"):
            rows = read_through_arrow(session, plan, storage, FOUND_COLUMNS)
            return positions_of(rows.where(F.col(DELETED.name)))

    return find
