"""What each level of planning was given, skipped and proved: the body of `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelReport:
    """One level. `skipped` zones hold no matching row, `proven` ones nothing else; the rest must be filtered."""

    name: str
    zones_in: int
    skipped: int
    proven: int = 0

    @property
    def kept(self) -> int:
        return self.zones_in - self.skipped

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "kept": self.kept}


def as_text(predicate: str, levels: Sequence[LevelReport], facts: Sequence[tuple[str, str]] = ()) -> str:
    """The levels as a table for the terminal."""
    header = ("level", "zones", "skipped", "proven", "kept")
    rows = [(r.name, f"{r.zones_in:,}", f"{r.skipped:,}", f"{r.proven:,}", f"{r.kept:,}{_share(r)}") for r in levels]
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [f"filter: {predicate}"]
    for row in (header, *rows):
        first, *rest = row
        lines.append("  ".join([first.ljust(widths[0]), *(t.rjust(w) for t, w in zip(rest, widths[1:]))]).rstrip())
    lines.extend(f"{name}: {value}" for name, value in facts)
    return "\n".join(lines)


def _share(report: LevelReport) -> str:
    return f" ({report.kept / report.zones_in:.1%})" if report.zones_in else ""
