"""Reading: the rows of a plan as Arrow batches."""

from skipstone.read.rows import read_plan

__all__ = ["read_plan"]
