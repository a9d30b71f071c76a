"""What each level of skipping left to read, side by side: for a terminal as blocks, for a page as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from skipstone.ui.numbers import in_bytes, in_percent, in_seconds

_BLOCKS: Final = " ▏▎▍▌▋▊▉█"
_BAR_CELLS: Final = 24
_COLOURS: Final = {
    "partitions": "#4c78a8",
    "files": "#f58518",
    "row groups": "#54a24b",
    "bytes": "#b279a2",
    "time": "#e45756",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelRow:
    """One way to run a query: what was left to read, how long it took, and the answer."""

    name: str
    partitions: int
    files: int
    row_groups: int
    bytes: int
    seconds: float
    count: int

    def measures(self) -> dict[str, tuple[float, str]]:
        """Every measure by name: the number, and how it is shown."""
        return {
            "partitions": (self.partitions, f"{self.partitions:,}"),
            "files": (self.files, f"{self.files:,}"),
            "row groups": (self.row_groups, f"{self.row_groups:,}"),
            "bytes": (self.bytes, in_bytes(self.bytes)),
            "time": (self.seconds, in_seconds(self.seconds)),
        }


def table_of(rows: Sequence[LevelRow]) -> RenderableType:
    """One line a way, and how much of the first one's time it took."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    grid.add_column("skipping")
    for name in (*rows[0].measures(), "of the time", "count"):
        grid.add_column(name, justify="right")
    for row in rows:
        shown = [text for _, text in row.measures().values()]
        grid.add_row(row.name, *shown, in_percent(row.seconds, rows[0].seconds), f"{row.count:,}")
    return grid


def blocks_of(rows: Sequence[LevelRow]) -> RenderableType:
    """A bar a way for files, bytes and time, each measured by the longest of its kind."""
    grid = Table(box=None, show_header=True, header_style="bold", pad_edge=False)
    grid.add_column("skipping")
    shown = ("files", "bytes", "time")
    for name in shown:
        grid.add_column(name, min_width=_BAR_CELLS)
    longest = {name: max(r.measures()[name][0] for r in rows) for name in shown}
    for row in rows:
        bars = [Text(bar(row.measures()[n][0], longest[n]), style=_COLOURS[n]) for n in shown]
        grid.add_row(row.name, *bars)
    return grid


def bar(value: float, longest: float, cells: int = _BAR_CELLS) -> str:
    """A bar of eighths of a cell; anything above zero is seen."""
    if value <= 0 or longest <= 0:
        return ""
    eighths = max(1, round(value / longest * cells * 8))
    return _BLOCKS[-1] * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")


def svg_of(title: str, rows: Sequence[LevelRow]) -> str:
    """The picture: a panel a measure, a bar a way."""
    names = list(rows[0].measures())
    panel, label, height, head = 190, 150, 26, 64
    width = label + panel * len(names) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{head + height * len(rows) + 20}" '
        'font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="24" font-size="16" font-weight="bold">{escape(title)}</text>',
    ]
    for place, row in enumerate(rows):
        parts.append(f'<text x="12" y="{head + height * place + 17}">{escape(row.name)}</text>')
    for number, name in enumerate(names):
        left = label + panel * number
        parts.append(f'<text x="{left}" y="{head - 10}" font-weight="bold">{escape(name)}</text>')
        longest = max(r.measures()[name][0] for r in rows)
        for place, row in enumerate(rows):
            value, text = row.measures()[name]
            size = max(1.0, (panel - 90) * value / longest) if longest and value else 0.0
            top = head + height * place
            parts.append(
                f'<rect x="{left}" y="{top + 4}" width="{size:.1f}" height="{height - 8}" fill="{_COLOURS[name]}"/>'
                f'<text x="{left + size + 5:.1f}" y="{top + 17}">{escape(text)}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])
