"""An explanation for the terminal: a line a level, and under it a line for each part of the filter."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skipstone.plan.explanation import Explanation, LevelExplanation
from skipstone.ui.numbers import in_bytes


def explanation_table(explanation: Explanation) -> RenderableType:
    """Zones in, skipped, proven and kept; by which fact, and why not."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    grid.add_column("level", min_width=12, overflow="fold")
    for name in ("zones", "skipped", "proven", "kept"):
        grid.add_column(name, justify="right")
    grid.add_column("skipped by", overflow="fold")
    grid.add_column("kept because", overflow="fold")
    for level in explanation.levels:
        _add_level(grid, level)
    foot = Text(
        f"to read: {explanation.files:,} files, {explanation.rows:,} rows, {in_bytes(explanation.bytes)}, "
        f"{explanation.delete_files:,} delete files"
    )
    notes = [Text(f"note: {note}", style="yellow") for note in explanation.notes]
    return Group(Text(f"filter: {explanation.filter}", style="bold"), grid, foot, *notes)


def _add_level(grid: Table, level: LevelExplanation) -> None:
    r = level.report
    share = f" ({r.kept / r.zones_in:.1%})" if r.zones_in else ""
    numbers = (f"{r.zones_in:,}", f"{r.skipped:,}", f"{r.proven:,}", f"{r.kept:,}{share}")
    loosened = f"{level.loosened:,} loosened by deletes" if level.loosened else ""
    grid.add_row(Text(r.name, style="bold"), *numbers, "", loosened)
    for part in level.parts:
        grid.add_row(
            Padding(Text(part.predicate), (0, 0, 0, 2)),
            "",
            f"{part.skipped:,}",
            f"{part.proven:,}",
            Text(f"{part.skipped_alone:,} alone", style="dim"),
            _counted(part.facts),
            _counted(part.reasons),
            style="dim" if not part.skipped else "",
        )


def _counted(zones: Mapping[str, int]) -> Text:
    return Text("\n".join(f"{name} ({count:,})" for name, count in zones.items()))
