"""What analyses have found out about each file: tables of summaries as they are stored, the latest of each winning."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow

from skipstone.stats.summary import ColumnSummary

pa: Any = pyarrow


@dataclass(frozen=True, slots=True)
class KnownColumn:
    summary: ColumnSummary
    deletes_key: str


Known = dict[str, dict[int, KnownColumn]]  # by file path and field id


def joined(tables: Sequence[Any], live: Collection[str]) -> Any:
    """One table of summaries of the live files, without those that a later one stands in for."""
    table = pa.concat_tables(tables)
    keys = list(zip(*(table.column(name).to_pylist() for name in ("file_path", "field_id")), strict=True))
    latest = {key: row for row, key in enumerate(keys)}
    alive = set(live)
    return table.filter(pa.array([key[0] in alive and latest[key] == row for row, key in enumerate(keys)], pa.bool_()))
