"""What dictionaries and Bloom filters of column chunks add to statistics, term by term.

Each part of the predicate that is about one term is judged by statistics first; only row groups that are still open for
it cost reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Leaf,
    Not,
    Or,
    Predicate,
    Term,
    Unknown,
    column_of,
)
from skipstone.predicate.one_term import joined_by_term, only_term
from skipstone.zones.arrow import Array, pa
from skipstone.zones.bloom import literal_hashes, proves_absent
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.parquet_columns import ParquetColumn, StoredColumn
from skipstone.zones.build.parquet_structures import ChunkPlaces, FooterPlaces, Span, read_footer
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
        # Of what a leaf looks for; None where a filter cannot decide it.
        self._hashes: dict[Leaf, npt.NDArray[np.uint64] | None] = {}

    def prove(self, predicate: Predicate, groups: npt.NDArray[np.int64]) -> Proofs:
        """Proofs for some row groups, by number."""
        term = only_term(predicate)
        if term is not None:
            return self._prove_term(predicate, term, groups)
        match predicate:
            case And():
                return both([self.prove(part, groups) for part in joined_by_term(predicate)])
            case Or():
                return either([self.prove(part, groups) for part in joined_by_term(predicate)])
            case _:
                return prove(predicate, self.zones.take(pa.array(groups)), self.float_order)

    def _prove_term(self, predicate: Predicate, term: Term, groups: npt.NDArray[np.int64]) -> Proofs:
        proofs = prove(predicate, self.zones.take(pa.array(groups)), self.float_order)
        column = self._stored_column(term)
        if column is None or self._footer is None:
            return proofs
        none, every = (p.to_numpy(zero_copy_only=False).copy() for p in (proofs.none, proofs.every))
        for i in np.flatnonzero(~none & ~every):
            verdict = self._judge_chunk(predicate, column, int(groups[i]))
            none[i] = verdict is Verdict.NO_ROW_MATCHES
            every[i] = verdict is Verdict.EVERY_ROW_MATCHES
        return Proofs(pa.array(none), pa.array(every))

    def _stored_column(self, term: Term) -> StoredColumn | None:
        column = column_of(term)
        found = self.columns.get(column.field_id) if isinstance(column, Column) else None
        return found if isinstance(found, StoredColumn) else None

    @cached_property
    def _footer(self) -> FooterPlaces | None:
        try:
            return read_footer(self.file)
        except FormatViolation:
            return None

    def _judge_chunk(self, predicate: Predicate, column: StoredColumn, group: int) -> Verdict:
        chunk = self._chunk(column, group)
        if chunk is None:
            return Verdict.UNKNOWN
        if chunk.bloom_filter is not None and self._is_absent(predicate, column, group, chunk.bloom_filter):
            return Verdict.NO_ROW_MATCHES
        values = self._dictionary(chunk, column, group)
        if values is None:
            return Verdict.UNKNOWN
        return judge_values(predicate, column, values, self._null_count(column, group), self.float_order)

    def _is_absent(self, predicate: Predicate, column: StoredColumn, group: int, bloom_filter: Span) -> bool:
        """Whether a filter, beside statistics, proves that no row matches.

        It answers for `=` and IN, which match no null, and no NaN where there are hashes at all.
        """
        match predicate:
            case And(children):
                return any(self._is_absent(child, column, group, bloom_filter) for child in children)
            case Or(children):
                return all(self._is_absent(child, column, group, bloom_filter) for child in children)
            case AlwaysTrue() | AlwaysFalse() | Unknown() | Not():
                raise AssertionError(f"{predicate} is not about one term")
            case leaf:
                if leaf not in self._hashes:
                    self._hashes[leaf] = literal_hashes(leaf, column)
                hashes = self._hashes[leaf]
                if hashes is not None and proves_absent(self.file, bloom_filter, hashes):
                    return True
                return bool(prove(leaf, self.zones.take(pa.array([group])), self.float_order).none[0].as_py())

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
