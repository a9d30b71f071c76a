"""What analyses have found out about each file, as it is stored: tables of summaries, the latest of each winning.

Law: the index columns alone tell which files are known well enough, so that sketches are only read where they are
put together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.stats.summary import ColumnSummary, Held

pa: Any = pyarrow
pc: Any = pyarrow.compute


@dataclass(frozen=True, slots=True)
class KnownColumn:
    summary: ColumnSummary
    deletes_key: str


Known = dict[str, dict[int, KnownColumn]]  # by file path and field id


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What must be known of a column. The type counts: a promotion changes the bytes that sketches hash."""

    type: str
    held: Held


class SummaryIndex:
    """Stored summaries without their sketches: tables of `INDEX_COLUMNS`, from the oldest to the latest."""

    def __init__(self, tables: Sequence[Any]) -> None:
        self._table = pa.concat_tables(tables) if tables else None

    def paths_with(self, needs: Mapping[int, Need]) -> set[str]:
        """The files of which every needed column is known well enough."""
        if self._table is None:
            return set()
        coded = pc.dictionary_encode(self._table.column("file_path")).combine_chunks()
        paths, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy()
        ids, held = (self._table.column(name).fill_null(0).to_numpy() for name in ("field_id", "held"))
        types = self._table.column("type")
        is_known = np.ones(len(paths), np.bool_)
        for field_id, need in needs.items():
            is_enough = pc.equal(types, need.type).fill_null(False).to_numpy() & ((held & need.held) == need.held)
            latest = np.full(len(paths), -1)
            rows = np.flatnonzero(ids == field_id)
            np.maximum.at(latest, codes[rows], rows)
            is_known &= (latest >= 0) & is_enough[latest]
        return {path for path, known in zip(paths, is_known.tolist(), strict=True) if known}


def joined(tables: Sequence[Any], live: Collection[str]) -> Any:
    """One table of summaries of the live files, without those that a later one stands in for."""
    table = pa.concat_tables(tables)
    keys = list(zip(*(table.column(name).to_pylist() for name in ("file_path", "field_id")), strict=True))
    latest = {key: row for row, key in enumerate(keys)}
    alive = set(live)
    return table.filter(pa.array([key[0] in alive and latest[key] == row for row, key in enumerate(keys)], pa.bool_()))
