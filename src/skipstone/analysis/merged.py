"""What is known of single files, put together over several of them: a partition, a table.

Law: what is not known of one of the files is not known of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute

from skipstone.analysis.file_analysis import deletes_keys
from skipstone.analysis.known import Known
from skipstone.plan.scan import ScanPlan
from skipstone.stats.summary import ColumnSummary, merge_summaries

pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedColumn:
    """One column over several files, and whether rows of some were deleted after it was read."""

    summary: ColumnSummary
    is_after_deletes: bool


class KnownFiles:
    """The files of a plan, and what is known of each."""

    def __init__(self, plan: ScanPlan, known: Known) -> None:
        self.plan = plan
        self._known = known
        self._paths = plan.files.column("file_path").to_pylist()
        self._keys = deletes_keys(plan)

    def merged(self, field_id: int, rows: Sequence[int] | None = None) -> MergedColumn | None:
        """A column over files, all by default; None unless it is known of every one of them."""
        field = self.plan.schema.find(field_id)
        parts: list[ColumnSummary] = []
        is_after_deletes = False
        for row in range(len(self._paths)) if rows is None else rows:
            column = self._known.get(self._paths[row], {}).get(field_id)
            if field is None or column is None or column.summary.type != field.type:
                return None
            parts.append(column.summary)
            is_after_deletes = is_after_deletes or column.deletes_key != self._keys[row]
        if not parts:
            return None
        return MergedColumn(summary=merge_summaries(parts), is_after_deletes=is_after_deletes)


def live_rows(plan: ScanPlan, merged: Sequence[MergedColumn]) -> tuple[int, bool]:
    """The rows that deletes have left, and whether that is exact: where metadata cannot tell, a scan may have seen."""
    exact = plan.count()
    if exact is None:
        exact = next((m.summary.value_count for m in merged if not m.is_after_deletes), None)
    if exact is not None:
        return exact, True
    return pc.sum(plan.files.column("record_count")).as_py() or 0, False
