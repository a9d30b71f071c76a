"""Rows to files: partitions, order, metrics, delete files."""

from skipstone.write.deletion_vectors import write_deletion_vectors
from skipstone.write.equality_deletes import write_equality_deletes
from skipstone.write.position_deletes import write_position_deletes
from skipstone.write.rows import RowsWriter, write_rows

__all__ = [
    "RowsWriter",
    "write_deletion_vectors",
    "write_equality_deletes",
    "write_position_deletes",
    "write_rows",
]
