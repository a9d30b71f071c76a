"""What the table knows about itself before anybody asks: the facts that were collected with the load."""

from __future__ import annotations

from typing import Any

import pyarrow
import pyarrow.compute
from rich.table import Table as Grid

from skipstone.demo.story import Story

pc: Any = pyarrow.compute


def tell(story: Story) -> None:
    story.begin_chapter("What the table knows")
    files = story.table.inspect.files()
    metrics = files.column("readable_metrics").combine_chunks()
    grid = Grid("column", "files with bounds", "nulls", "lower", "upper", box=None, header_style="bold", pad_edge=False)
    for column in grid.columns[1:3]:
        column.justify = "right"
    known: dict[str, int] = {}
    for field in metrics.type:
        facts = metrics.field(field.name)
        lower, upper = facts.field("lower_bound"), facts.field("upper_bound")
        known[field.name] = len(lower) - lower.null_count
        nulls = pc.sum(facts.field("null_value_count")).as_py()
        grid.add_row(
            field.name,
            f"{known[field.name]:,} of {len(lower):,}",
            "unknown" if nulls is None else f"{nulls:,}",
            _shown(pc.min(lower).as_py()),
            _shown(pc.max(upper).as_py()),
        )
    story.findings["statistics"] = known
    story.console.print(grid)
    story.console.print()


def _shown(value: Any) -> str:
    return "unknown" if value is None else str(value)
