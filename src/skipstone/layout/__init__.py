"""Layout health: how well the files of a table lie for skipping, column by column, and what would help."""

from skipstone.layout.measure import measure_layout
from skipstone.layout.report import ColumnHealth, LayoutReport, Recommendation

__all__ = ["ColumnHealth", "LayoutReport", "Recommendation", "measure_layout"]
