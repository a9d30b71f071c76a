"""Inspection: what a table's metadata says, as Arrow tables."""

from skipstone.inspect.inspector import Inspector

__all__ = ["Inspector"]
