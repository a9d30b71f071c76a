"""What a statement says about a table that it makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from skipstone.statements.columns import ColumnDefinition

FORMAT_VERSION: Final = "format-version"


@dataclass(slots=True)
class TableDefinition:
    """What a CREATE TABLE statement says."""

    columns: list[ColumnDefinition] = field(default_factory=list)
    partition_by: list[str] = field(default_factory=list)
    sort_by: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    location: str | None = None
    query: str | None = None
