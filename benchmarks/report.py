"""A figure: what was measured here, what the peer needs for the same work, and the goal for the ratio of the two."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`ratio` is peer / ours: how many times less we need. `peer` is None when the peer could not run here."""

    name: str
    unit: str
    ours: float
    peer: float | None
    peer_name: str
    goal: float
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.peer is None or not self.ours else self.peer / self.ours

    @property
    def met(self) -> bool | None:
        return None if self.ratio is None else self.ratio >= self.goal

    def as_json(self) -> dict[str, Any]:
        ratio = self.ratio
        return {**asdict(self), "ratio": None if ratio is None else round(ratio, 3), "met": self.met}


def median_seconds(work: Callable[[], object], passes: int) -> float:
    """Wall-clock time of one pass, after one that warms up."""
    work()
    seconds: list[float] = []
    for _ in range(passes):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def print_table(title: str, figures: Sequence[Figure]) -> None:
    head = (title, "ours", "peer", "peer is", "ratio", "goal", "met")
    rows = [head, *(_cells(f) for f in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for number, row in enumerate(rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
    for figure in figures:
        if figure.note:
            print(f"{figure.name}: {figure.note}")


def _cells(figure: Figure) -> tuple[str, ...]:
    ratio, met = figure.ratio, figure.met
    return (
        figure.name,
        f"{figure.ours:.2f} {figure.unit}",
        "not here" if figure.peer is None else f"{figure.peer:.2f} {figure.unit}",
        figure.peer_name,
        "" if ratio is None else f"{ratio:.2f}x",
        f"{figure.goal:g}x",
        "unknown" if met is None else "yes" if met else "NO",
    )


def store(folder: Path, name: str, figures: Sequence[Figure]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps([f.as_json() for f in figures], indent=2) + "\n")
    return path
