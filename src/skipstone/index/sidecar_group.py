"""Sidecars read together, in two steps: the facts of all entries, then everything about those that are chosen.

Law: a sidecar that cannot be read fails alone; nothing of it is in what comes out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.parquet

from skipstone.errors import FormatViolation, SkipstoneError
from skipstone.index.opened import opened
from skipstone.index.parquet_parts import small_file
from skipstone.index.sidecar_entries import Columns, Ints, Mask, Source, Wish, assembled, facts_of, is_row_count
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pq: Any = pyarrow.parquet

_KEPT_BYTES_MAX: Final = 12 * 1024 * 1024  # of one read: larger ones would push out all others
Spread = Callable[[Callable[[Source], Any], Sequence[Source]], list[Any]]


def groups_of(sources: Sequence[Source], wish: Wish) -> list[list[Source]]:
    """Sources that can be read as one: what is asked for is stored in the same columns."""
    names = [*wish.fact_columns(), *wish.file_columns(sources)]
    found: dict[Any, list[Source]] = defaultdict(list)
    for source in sources:
        sidecar = source.sidecar
        key = (*(sidecar.leaf(n) for n in names), *(is_row_count(sidecar, i) for i in wish.metrics))
        found[key].append(source)
    return list(found.values())


class SidecarGroup:
    """Entries of some blocks of several sidecars. `failed` tells, by place, which of them could not be read, and why.

    `read_facts` reads partition and metrics of every entry, `facts` gives them in the order of the index; `entries` all
    columns of those that a mask over them chooses. Of blocks without a chosen entry nothing more is read.
    """

    def __init__(self, sources: Sequence[Source], storage: Storage, wish: Wish, spread: Spread) -> None:
        self.failed: dict[int, str] = {}
        self._sources, self._storage, self._wish, self._spread = list(sources), storage, wish, spread
        self._asked, self._spec_id = {s.place for s in sources}, sources[0].manifest.partition_spec_id
        self._facts = Columns([], np.zeros(0, np.int64), [])

    @property
    def places(self) -> set[int]:
        """Those whose entries were read."""
        return self._asked - set(self.failed)

    @property
    def spec_id(self) -> int:
        return self._spec_id

    def read_facts(self) -> bool:
        """False where no sidecar could be read."""
        self._facts, self._sources = self._read(self._wish.fact_columns(), self._sources)
        return bool(self._sources)

    def facts(self) -> Any:
        return facts_of(self._facts, self._wish)

    @property
    def facts_size_in_bytes(self) -> int:
        return sum(table.nbytes for table in self._facts.tables)

    @property
    def facts_source(self) -> list[Any]:
        """What the facts are made of, objects that never change: those of the same objects are the same."""
        return [*self._facts.tables, *(s.sidecar for s in self._sources)]

    @property
    def blocks(self) -> Hashable:
        return tuple(tuple(s.blocks) for s in self._sources)

    def entries(self, mask: Mask, beside: Any) -> Any | None:
        """The chosen entries, in the order of the manifests; `facts` was read before.

        `beside` has further columns that they shall come out with, of all entries that a mask is over.
        """
        left, masks = self._with_chosen(mask)
        known = set(self._wish.fact_columns())
        more, read = self._read([n for n in self._wish.file_columns(left) if n not in known], left)
        if not read:
            return None
        # Sources without a chosen entry, and those that failed now, are gone; the others are numbered anew.
        kept = {s.place for s in read}
        is_kept = np.array([s.place in kept for s in self._sources])
        numbers = np.cumsum(is_kept) - 1
        taken = np.flatnonzero(mask & is_kept[self._facts.owner])
        chosen = self._facts.take(taken)
        rows = np.concatenate([m for s, m in zip(left, masks, strict=True) if s.place in kept])
        facts = Columns(read, numbers[chosen.owner], chosen.tables)
        whole = facts.beside(more.take(np.flatnonzero(rows)))
        return assembled(whole, self._wish, beside.take(pa.array(taken)))

    def all_entries(self) -> Any | None:
        """Everything at once."""
        names = [*self._wish.fact_columns(), *self._wish.file_columns(self._sources)]
        block, read = self._read(list(dict.fromkeys(names)), self._sources)
        return assembled(block, self._wish) if read else None

    def _with_chosen(self, mask: Mask) -> tuple[list[Source], list[Mask]]:
        """The sources with those of their blocks that hold a chosen entry, and the mask over the entries of these."""
        left, masks, start = [], [], 0
        for source in self._sources:
            sizes = np.array(source.block_files, np.int64)
            part = mask[start : start + int(sizes.sum())]
            start += len(part)
            holds = np.add.reduceat(part, np.cumsum(sizes) - sizes, dtype=np.int64) > 0
            if holds.any():
                blocks = [b for b, h in zip(source.blocks, holds.tolist(), strict=True) if h]
                left.append(Source(place=source.place, manifest=source.manifest, sidecar=source.sidecar, blocks=blocks))
                masks.append(part[np.repeat(holds, sizes)])
        return left, masks

    def _read(self, names: Sequence[str], sources: Sequence[Source]) -> tuple[Columns, list[Source]]:
        """Columns of sources, and the sources that could be read."""
        if not sources:
            return Columns([], _NO_OWNER, []), []
        stored = [n for n in names if n in sources[0].sidecar.places]
        key = (tuple(stored), tuple((s.sidecar.key, tuple(s.blocks)) for s in sources))
        table = opened.find(self._storage, key) if stored else None
        if stored and table is None:
            fetched = self._spread(lambda source: self._fetch(source, stored), sources)
            sources = [s for s, chunks in zip(sources, fetched, strict=True) if chunks is not None]
            if not sources:
                return Columns([], _NO_OWNER, []), []
            table = _decoded(stored, sources, [chunks for chunks in fetched if chunks is not None])
            if len(sources) == len(fetched) and table.nbytes <= _KEPT_BYTES_MAX:
                opened.keep(self._storage, key, table, table.nbytes)
        if table is not None and (name := self._wish.misfit(table.schema)) is not None:
            type_, path = table.schema.field(name).type, sources[0].sidecar.path
            raise FormatViolation(f"Cannot use {path}: it does not cover {name}, which it has as {type_}.")
        owner = np.repeat(np.arange(len(sources)), [sum(s.block_files) for s in sources])
        return Columns(sources, owner, [] if table is None else [table]), list(sources)

    def _fetch(self, source: Source, names: Sequence[str]) -> list[list[bytes]] | None:
        try:
            return source.sidecar.fetch(self._storage, names, source.blocks)
        except (SkipstoneError, OSError, pa.ArrowException) as error:
            self.failed[source.place] = str(error)
            opened.drop(self._storage, source.sidecar.path)  # another process may have written it anew
            return None


def _decoded(names: Sequence[str], sources: Sequence[Source], fetched: Sequence[list[list[bytes]]]) -> Any:
    """Stored columns of all sources as one table."""
    leaves = [leaf for n in names if (leaf := sources[0].sidecar.leaf(n)) is not None]
    num_rows = sum(sum(s.block_files) for s in sources)
    chunks = [[chunk for of_source in fetched for chunk in of_source[place]] for place in range(len(leaves))]
    values = [num_rows if leaf.num_elements == 1 else _num_values(leaf.name, sources) for leaf in leaves]
    data = small_file(leaves, chunks, values, num_rows)
    return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)


def _num_values(name: str, sources: Sequence[Source]) -> int:
    return sum(s.sidecar.header.list_values[name][b] for s in sources for b in s.blocks)


_NO_OWNER: Final[Ints] = np.zeros(0, np.int64)
