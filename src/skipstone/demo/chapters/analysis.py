"""What only the rows can tell: the table analysed by Spark, and the answer guessed before the query runs."""

from __future__ import annotations

import time
from typing import Final

from rich.table import Table as Grid

from skipstone.demo.story import QUERY, TABLE, Story

COLUMNS: Final = ("state", "zip_code", "amount")
_SHOWN: Final = {
    "column": "column",
    "ndv": "distinct values",
    "null_count": "nulls",
    "low": "low",
    "high": "high",
    "average_length": "average length",
}


def tell(story: Story) -> None:
    story.begin_chapter("Analyse")
    story.console.print(f"ANALYZE TABLE {TABLE} COMPUTE STATISTICS FOR COLUMNS {', '.join(COLUMNS)}\n", highlight=False)
    started = time.perf_counter()
    story.table.analyze(list(COLUMNS), spark=story.spark)
    seconds = time.perf_counter() - started
    rows = story.table.statistics().to_rows()
    guessed = story.table.estimate(QUERY)
    story.findings["analysis"] = {"seconds": seconds, "columns": rows, "estimate": guessed}
    story.console.print(_grid(rows))
    story.console.print(
        f"\nAnalysed in {seconds:.1f} s. {QUERY}: about {guessed.rows:,} rows, "
        f"between {guessed.rows_low:,} and {guessed.rows_high:,}\n",
        highlight=False,
    )


def _grid(rows: list[dict[str, str | None]]) -> Grid:
    grid = Grid(*_SHOWN.values(), box=None, header_style="bold", pad_edge=False)
    for row in rows:
        grid.add_row(*["" if row[name] is None else str(row[name]) for name in _SHOWN])
    return grid
