"""What the chapters of the demo share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from skipstone.lake import Lake
from skipstone.table import Table

TABLE: Final = "shop.shipping_address"
QUERY: Final = "zip_code = '10001'"


@dataclass(slots=True, kw_only=True)
class Story:
    """Where the demo is: the lake it works in, the table once it is loaded, and what chapters found out by name."""

    lake: Lake
    spark: Any
    console: Console
    directory: Path
    rows: int
    seed: int
    passes: int = 3
    loaded: Table | None = None
    findings: dict[str, Any] = field(default_factory=dict)
    chapters_begun: int = 0

    def begin_chapter(self, title: str) -> None:
        """The title of the next chapter, under its number."""
        self.chapters_begun += 1
        self.console.rule(f"[bold]{self.chapters_begun}  {title}")

    @property
    def table(self) -> Table:
        if self.loaded is None:
            raise LookupError(
                "Cannot tell this chapter: the table is not loaded yet. Tell the chapter that loads it first."
            )
        return self.loaded
