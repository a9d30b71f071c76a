"""Parquet data files. Stretches are row groups, skipped by statistics, dictionaries, Bloom filters and page indexes.

pyarrow cannot skip single pages: a page index rules out whole row groups, and saves what lies after the last page that
can match.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet

from skipstone.errors import Unsupported
from skipstone.metadata.blobs.encryption import KeyMetadata
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.predicate.nodes import TRUE, field_ids
from skipstone.read.opened import (
    BATCH_ROWS_MAX,
    Batches,
    PlacedBatch,
    Question,
    Stretch,
    batch_rows,
    cut,
    damaged,
    rows_only,
)
from skipstone.storage.protocol import Storage
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.parquet_columns import StoredColumn, parquet_columns
from skipstone.zones.levels import page_ranges, prove_row_groups

pa: Any = pyarrow
pq: Any = pyarrow.parquet


class ParquetDataFile:
    def __init__(
        self,
        storage: Storage,
        path: str,
        *,
        key: KeyMetadata | None = None,
        batch_rows_max: int = BATCH_ROWS_MAX,
        use_threads: bool = False,
        checks_pages: bool = False,
    ) -> None:
        self._path = path
        self._batch_rows_max = batch_rows_max
        # Of an encrypted file pyarrow opens footer and pages; what else is in it stays closed.
        self._is_encrypted = key is not None
        self._use_threads = use_threads
        self._input: Any = storage.open(path)
        try:
            self._file = pq.ParquetFile(
                self._input,
                pre_buffer=True,
                decryption_properties=_decryption(key),
                page_checksum_verification=checks_pages,
            )
            self._metadata = self._file.metadata
            self.struct = from_parquet_schema(self._file.schema, source=path)
            self.num_rows = int(self._metadata.num_rows)
            self._names = [f.name for f in self._file.schema_arrow]
        except BaseException:
            self._input.close()
            raise

    def stretches(self, question: Question) -> list[Stretch]:
        groups = [self._metadata.row_group(i) for i in range(self._metadata.num_row_groups)]
        sizes = np.array([g.num_rows for g in groups], np.int64)
        starts = np.cumsum(sizes) - sizes
        inside = np.array([question.has_byte(_first_byte(g)) for g in groups], bool)
        none = every = np.zeros(len(groups), bool)
        if question.predicate == TRUE:
            every = np.ones(len(groups), bool)
        elif inside.any():
            none, every = self._proofs(question)
        found: list[Stretch] = []
        for number in np.flatnonzero(inside & ~none).tolist():
            rows = (0, int(sizes[number])) if every[number] else self._rows(question, number)
            if rows[0] < rows[1]:
                found.append(
                    Stretch(
                        number=number,
                        position=int(starts[number]),
                        start=rows[0],
                        stop=rows[1],
                        every_row_matches=bool(every[number]),
                    )
                )
        return found

    def _proofs(self, question: Question) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        proofs = prove_row_groups(
            question.predicate,
            self._metadata,
            question.projection,
            file=None if self._is_encrypted else self._bytes(),
            float_order=question.float_order,
        )
        none, every = (p.to_numpy(zero_copy_only=False) for p in (proofs.none, proofs.every))
        return none, every

    def _rows(self, question: Question, number: int) -> tuple[int, int]:
        """From the first to the last row of a row group whose pages can hold a match."""
        group = self._metadata.row_group(number)
        if not self._is_encrypted and self._has_page_index(question, group):
            ranges = page_ranges(
                question.predicate, self._metadata, question.projection, number, self._bytes(), question.float_order
            )
            return (int(ranges[0, 0]), int(ranges[-1, 1])) if len(ranges) else (0, 0)
        return 0, int(group.num_rows)

    def _has_page_index(self, question: Question, group: Any) -> bool:
        wanted = field_ids(question.predicate)
        columns = parquet_columns(self._metadata.schema, question.projection)
        stored = [c.index for i, c in columns.items() if i in wanted and isinstance(c, StoredColumn)]
        return any(group.column(i).has_column_index and group.column(i).has_offset_index for i in stored)

    def _bytes(self) -> FileBytes:
        return FileBytes.of_arrow(self._input, self._path)

    def batches(self, columns: Sequence[int], stretch: Stretch) -> Batches:
        if not columns:
            yield PlacedBatch(stretch.position + stretch.start, rows_only(stretch.stop - stretch.start))
            return
        names = [self._names[c] for c in columns]
        group = self._metadata.row_group(stretch.number)
        reader = self._file.iter_batches(
            batch_size=batch_rows(group.num_rows, group.total_byte_size, self._batch_rows_max),
            row_groups=[stretch.number],
            columns=names,
            use_threads=self._use_threads,
        )
        position = 0
        while position < stretch.stop:
            try:
                batch = next(reader, None)
            except (pa.ArrowException, OSError) as error:
                raise damaged(self._path, f"row group {stretch.number}", error) from error
            if batch is None:
                short = ValueError(f"expected {group.num_rows} rows, got {position}")
                raise damaged(self._path, f"row group {stretch.number}", short)
            # Asking for `a` can also bring a column named `a.b`.
            batch = batch if batch.schema.names == names else batch.select(names)
            placed = cut(position, batch, stretch)
            position += batch.num_rows
            if placed is not None:
                yield placed

    def close(self) -> None:
        self._file.close()
        self._input.close()


def _decryption(key: KeyMetadata | None) -> Any:
    if key is None:
        return None
    # Imported late: not every build of pyarrow can decrypt, and few tables ask for it.
    from pyarrow.parquet import encryption

    made: Any = getattr(encryption, "create_decryption_properties", None)
    if made is None:
        raise Unsupported("Cannot read encrypted Parquet files: expected a pyarrow that takes keys, as 26 does.")
    return made(key.encryption_key, aad_prefix=key.aad_prefix or None)


def _first_byte(group: Any) -> int:
    """Where a row group starts; one without columns has no bytes."""
    if group.num_columns == 0:
        return 0
    column = group.column(0)
    offsets = (column.dictionary_page_offset, column.data_page_offset)
    return int(max(0, min(o for o in offsets if o is not None)))
