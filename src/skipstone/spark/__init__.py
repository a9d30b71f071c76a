"""The Spark host: tables written and read as Spark jobs, natively, with no JVM code of our own.

    spark = skipstone.spark.session()
    table.append(df);  table.scan("zip_code = '10001'").to_spark(spark)

Law: what Spark reads through us equals a full scan by Spark itself; what a job wrote is visible after its commit only.
"""

from skipstone.spark.analyze import analyse_files
from skipstone.spark.audit import audit_files
from skipstone.spark.batches import batches_into
from skipstone.spark.catalogs import attach
from skipstone.spark.changes import read_changes
from skipstone.spark.equality_conversion import deleted_rows_finder
from skipstone.spark.failures import told_in_a_line
from skipstone.spark.frames_in import schema_of_frame
from skipstone.spark.index_job import index_in_tasks
from skipstone.spark.merging import schema_to_merge
from skipstone.spark.scan import read_scan
from skipstone.spark.session import active, prepared, session
from skipstone.spark.upserts import last_of_each_key, upsert_frame_by_value
from skipstone.spark.write import write_frame

__all__ = [
    "active",
    "analyse_files",
    "attach",
    "audit_files",
    "batches_into",
    "deleted_rows_finder",
    "index_in_tasks",
    "last_of_each_key",
    "prepared",
    "read_changes",
    "read_scan",
    "schema_of_frame",
    "schema_to_merge",
    "session",
    "told_in_a_line",
    "upsert_frame_by_value",
    "write_frame",
]
