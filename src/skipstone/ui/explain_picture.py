"""An explanation as a picture: every level a row of cells, coloured by what became of the zones.

A cell stands for one zone where there are few, for many where there are many; the legend says how many. Cells of one
colour stand together, skipped first, so that the picture shows shares and not the places of zones in the table.
"""

from __future__ import annotations

from html import escape
from itertools import accumulate
from typing import Final
from unicodedata import east_asian_width

from skipstone.plan.explanation import Explanation, LevelExplanation

_COLOURS: Final = {"skipped": "#d9d9d9", "kept": "#f58518", "proven": "#54a24b"}
_COLUMNS: Final = 50
_ROWS: Final = 4
_CELL: Final = 11
_LEFT: Final = 120
_PARTS_LEFT: Final = _LEFT + _COLUMNS * _CELL + 30
_WIDTH: Final = _PARTS_LEFT + 470
_LINE: Final = 17
_HEAD_LINE: Final = 20
_FILTER_LENGTH: Final = 115
_FILTER_LINES_MAX: Final = 4


def explanation_svg(explanation: Explanation) -> str:
    """The picture as SVG text: rectangles and text only, so that any viewer draws it."""
    parts: list[str] = []
    head = _filter_lines(f"filter: {explanation.filter}")
    top = 84 + _HEAD_LINE * (len(head) - 1)
    for level in explanation.levels:
        height, drawn = _level(level, top)
        parts += drawn
        top += height
    foot = f"to read: {explanation.files:,} files, {explanation.rows:,} rows, {explanation.bytes:,} bytes"
    notes = [foot, *explanation.notes]
    parts += [_text(14, top + 6 + _LINE * i, _shortened(note, 150)) for i, note in enumerate(notes)]
    height = top + _LINE * len(notes) + 8
    return "\n".join([*_head(head, height), *parts, "</svg>", ""])


def _filter_lines(text: str) -> list[str]:
    """A long filter in several lines, cut at spaces where there are any."""
    lines: list[str] = []
    while text and len(lines) < _FILTER_LINES_MAX:
        fits = text[: _fitting(text, _FILTER_LENGTH)]
        if len(fits) == len(text):
            return [*lines, text]
        at = fits.rfind(" ") + 1 or len(fits)
        lines.append(text[:at].rstrip())
        text = text[at:]
    return [*lines[:-1], f"{lines[-1]} …"]


def _head(filter_lines: list[str], height: int) -> list[str]:
    down = _HEAD_LINE * (len(filter_lines) - 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        *(_text(14, 26 + _HEAD_LINE * i, line, size=15, weight="bold") for i, line in enumerate(filter_lines)),
    ]
    left = 14
    for name, meaning in (
        ("skipped", "skipped: no row can match"),
        ("kept", "kept: to be read and filtered"),
        ("proven", "proven: every row matches"),
    ):
        lines.append(f'<rect x="{left}" y="{42 + down}" width="{_CELL}" height="{_CELL}" fill="{_COLOURS[name]}"/>')
        lines.append(_text(left + _CELL + 5, 52 + down, meaning))
        left += 210
    return lines


def _level(level: LevelExplanation, top: int) -> tuple[int, list[str]]:
    """The height of a level, and what is drawn for it."""
    r = level.report
    drawn = [
        _text(14, top + 10, r.name, size=13, weight="bold"),
        _text(14, top + 10 + _LINE, f"{r.zones_in:,} zones"),
        _text(14, top + 10 + 2 * _LINE, f"{r.kept:,} kept"),
    ]
    cells, per_cell = _cells(level)
    for number, name in enumerate(cells):
        x, y = _LEFT + number % _COLUMNS * _CELL, top + number // _COLUMNS * _CELL
        drawn.append(f'<rect x="{x}" y="{y}" width="{_CELL - 2}" height="{_CELL - 2}" fill="{_COLOURS[name]}"/>')
    if per_cell > 1:
        below = top + (len(cells) + _COLUMNS - 1) // _COLUMNS * _CELL + 12
        drawn.append(_text(_LEFT, below, f"one cell: about {per_cell:,.0f} zones", colour="#666"))
    lines = list(_part_lines(level))
    drawn += [_text(_PARTS_LEFT, top + 10 + _LINE * i, t, colour=c) for i, (t, c) in enumerate(lines)]
    return max(_ROWS * _CELL + 30, _LINE * len(lines) + 20), drawn


def _cells(level: LevelExplanation) -> tuple[list[str], float]:
    """The colours of the cells, and how many zones one stands for. What is there at all has a cell of its own."""
    r = level.report
    proven = min(r.proven, r.kept)
    counts = {"skipped": r.skipped, "kept": r.kept - proven, "proven": proven}
    per_cell = max(1.0, r.zones_in / (_COLUMNS * _ROWS - 2))
    cells: list[str] = []
    for name, count in counts.items():
        cells += [name] * (0 if count == 0 else max(1, round(count / per_cell)))
    return cells[: _COLUMNS * _ROWS], per_cell


def _part_lines(level: LevelExplanation) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for part in level.parts:
        skips = f": skips {part.skipped:,}"
        lines.append((_shortened(part.predicate, 66 - len(skips)) + skips, "#000"))
        lines += [(f"   by {fact}: {zones:,}", "#666") for fact, zones in part.facts.items()]
        lines += [
            (_shortened(f"   kept, {reason}: {zones:,}", 70), "#b35806") for reason, zones in part.reasons.items()
        ]
    return lines


def _shortened(text: str, length: int) -> str:
    """A text of at most so many letters of common width."""
    return text if _fitting(text, length) == len(text) else text[: _fitting(text, length - 1)] + "…"


def _fitting(text: str, length: int) -> int:
    """How many characters have room: capitals and those of Asian scripts are wider than others."""
    ends = accumulate(1.4 if c.isupper() or east_asian_width(c) in "WF" else 1.0 for c in text)
    return sum(end <= length for end in ends)


def _text(x: int, y: int, text: str, *, size: int = 12, weight: str = "normal", colour: str = "#000") -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}" xml:space="preserve">'
        f"{escape(text)}</text>"
    )
