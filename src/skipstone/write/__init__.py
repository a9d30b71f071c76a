"""Rows to files: partitions, order, metrics, delete files."""

from skipstone.write.rows import RowsWriter, write_rows

__all__ = ["RowsWriter", "write_rows"]
