"""What dictionaries and Bloom filters of column chunks add to statistics, leaf by leaf.

Each leaf of the predicate is judged by statistics first; only row groups that are still open for it cost reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import AlwaysFalse, AlwaysTrue, And, Column, Leaf, Not, Or, Predicate, Unknown, column_of
from skipstone.zones.arrow import Array, pa
from skipstone.zones.bloom import literal_hashes, proves_absent
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.parquet_columns import ParquetColumn, StoredColumn
from skipstone.zones.build.parquet_structures import ChunkPlaces, FooterPlaces, read_footer
from skipstone.zones.dictionaries import judge_values, read_dictionary
from skipstone.zones.judge import prove
from skipstone.zones.verdict import Proofs, Verdict, both, either
from skipstone.zones.zone_map import ZoneMap


class ChunkProver:
    """Judges row groups of one file. `zones` are the file's row groups by their statistics."""

    def __init__(
        self, file: FileBytes, columns: Mapping[int, ParquetColumn], zones: ZoneMap, float_order: FloatOrder
    ) -> None:
        self.file = file
        self.columns = columns
        self.zones = zones
        self.float_order = float_order
        self._dictionaries: dict[tuple[int, int], Array | None] = {}

    def prove(self, predicate: Predicate, groups: npt.NDArray[np.int64]) -> Proofs:
        """Proofs for some row groups, by number."""
        match predicate:
            case And(children):
                return both([self.prove(c, groups) for c in children])
            case Or(children):
                return either([self.prove(c, groups) for c in children])
            case AlwaysTrue() | AlwaysFalse() | Unknown() | Not():
                return prove(predicate, self.zones.take(pa.array(groups)), self.float_order)
            case _:
                return self._prove_leaf(predicate, groups)

    def _prove_leaf(self, leaf: Leaf, groups: npt.NDArray[np.int64]) -> Proofs:
        proofs = prove(leaf, self.zones.take(pa.array(groups)), self.float_order)
        column = self._stored_column(leaf)
        if column is None or self._footer is None:
            return proofs
        none, every = (p.to_numpy(zero_copy_only=False).copy() for p in (proofs.none, proofs.every))
        hashes = literal_hashes(leaf, column)
        for i in np.flatnonzero(~none & ~every):
            verdict = self._judge_chunk(leaf, column, int(groups[i]), hashes)
            none[i] = verdict is Verdict.NO_ROW_MATCHES
            every[i] = verdict is Verdict.EVERY_ROW_MATCHES
        return Proofs(pa.array(none), pa.array(every))

    def _stored_column(self, leaf: Leaf) -> StoredColumn | None:
        column = column_of(leaf.term)
        found = self.columns.get(column.field_id) if isinstance(column, Column) else None
        return found if isinstance(found, StoredColumn) else None

    @cached_property
    def _footer(self) -> FooterPlaces | None:
        try:
            return read_footer(self.file)
        except FormatViolation:
            return None

    def _judge_chunk(self, leaf: Leaf, column: StoredColumn, group: int, hashes: Any) -> Verdict:
        chunk = self._chunk(column, group)
        if chunk is None:
            return Verdict.UNKNOWN
        # `=` and IN match no null, and no NaN where there are hashes at all.
        asked = hashes is not None and chunk.bloom_filter is not None
        if asked and proves_absent(self.file, chunk.bloom_filter, hashes):  # type: ignore[arg-type]
            return Verdict.NO_ROW_MATCHES
        values = self._dictionary(chunk, column, group)
        if values is None:
            return Verdict.UNKNOWN
        return judge_values(leaf, column, values, self._null_count(column, group), self.float_order)

    def _chunk(self, column: StoredColumn, group: int) -> ChunkPlaces | None:
        assert self._footer is not None
        if group >= len(self._footer.chunks) or column.index >= len(self._footer.chunks[group]):
            return None
        return self._footer.chunks[group][column.index]

    def _dictionary(self, chunk: ChunkPlaces, column: StoredColumn, group: int) -> Array | None:
        key = (group, column.index)
        if key not in self._dictionaries:
            self._dictionaries[key] = read_dictionary(self.file, chunk, column)
        return self._dictionaries[key]

    def _null_count(self, column: StoredColumn, group: int) -> int | None:
        nulls = self.zones.columns[column.field_id].null_count
        count: int | None = None if nulls is None else nulls[group].as_py()
        return count
