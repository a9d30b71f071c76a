"""Analyses that were made: which snapshot, when, which columns, and the files with what was found.

Laws: a file of summaries never changes; the record of a snapshot is replaced in one step. A later summary of the same
file and column stands in for an earlier one. Losing all of it loses statistics, never rows.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pyarrow
import pyarrow.parquet

from skipstone.errors import SkipstoneError
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.labels import ignore_file
from skipstone.stats.places import record_path, stats_directory
from skipstone.stats.records import AnalysisRecord, parse_record
from skipstone.stats.summary import ColumnSummary, FileSummary
from skipstone.stats.summary_table import summaries_from_arrow, summaries_to_arrow
from skipstone.storage.paths import join
from skipstone.storage.protocol import Storage

__all__ = ["AnalysisRecord", "AnalysisStore", "Known", "KnownColumn"]

pa: Any = pyarrow
pq: Any = pyarrow.parquet

# More files than this are put together into one.
_FILES_MAX: Final = 8
_CODEC: Final = "zstd"


@dataclass(frozen=True, slots=True)
class KnownColumn:
    summary: ColumnSummary
    deletes_key: str


Known = dict[str, dict[int, KnownColumn]]  # by file path and field id


class AnalysisStore:
    """The analyses of one table."""

    def __init__(self, metadata: TableMetadata, storage: Storage) -> None:
        self._metadata = metadata
        self._storage = storage
        self.directory = stats_directory(metadata)

    def find(self, snapshot: Snapshot) -> AnalysisRecord | None:
        """The analysis of the snapshot, or else of its nearest ancestor that has one."""
        names = {c.name for c in self._storage.children(self.directory)}
        for at in self._ancestors(snapshot):
            path = record_path(self.directory, at.snapshot_id)
            if path.rpartition("/")[2] not in names:
                continue
            try:
                return parse_record(self._storage.read(path))
            except (msgspec.MsgspecError, UnicodeDecodeError, SkipstoneError, OSError) as error:
                ignore_file(path, error)
        return None

    def _ancestors(self, snapshot: Snapshot) -> Iterator[Snapshot]:
        at: Snapshot | None = snapshot
        while at is not None:
            yield at
            parent = at.parent_snapshot_id
            at = None if parent is None else self._metadata.snapshots_by_id.get(parent)

    def known(self, record: AnalysisRecord | None) -> Known:
        """What is known of each file; a file of summaries that is of no use is passed over with a warning."""
        found: Known = {}
        for name in record.summaries if record is not None else ():
            for summary in self._load(name):
                columns = found.setdefault(summary.file_path, {})
                columns.update({c.field_id: KnownColumn(c, summary.deletes_key) for c in summary.columns})
        return found

    def merged(self, record: AnalysisRecord) -> list[ColumnSummary] | None:
        """The summaries over the whole table; None where the file is of no use."""
        found = self._load(record.table)
        return list(found[0].columns) if found else None

    def _load(self, name: str) -> list[FileSummary]:
        path = join(self.directory, name)
        try:
            with self._storage.open(path) as source:
                return summaries_from_arrow(pq.read_table(source), source=path)
        except (SkipstoneError, pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
            ignore_file(path, error)
            return []

    def save(
        self,
        record: AnalysisRecord,
        *,
        new: Sequence[FileSummary],
        merged: Sequence[ColumnSummary],
        known: Known,
        live: Sequence[str],
    ) -> AnalysisRecord:
        """Store an analysis. `known` is all that is known of the `live` files, for when files are put together."""
        names = list(record.summaries)
        if new:
            names.append(self._store(new))
        if len(names) > _FILES_MAX:
            names = [self._store(_of_files(known, live))]
        whole = FileSummary(file_path="", row_count=record.row_count, deletes_key="", columns=tuple(merged))
        made: AnalysisRecord = msgspec.structs.replace(record, table=self._store([whole]), summaries=tuple(names))
        self._storage.write_over(record_path(self.directory, record.snapshot_id), msgspec.json.encode(made))
        return made

    def _store(self, summaries: Sequence[FileSummary]) -> str:
        name = f"{uuid.uuid4()}.summaries.parquet"
        sink = pa.BufferOutputStream()
        pq.write_table(summaries_to_arrow(summaries), sink, compression=_CODEC, use_dictionary=False)
        self._storage.write_new(join(self.directory, name), sink.getvalue().to_pybytes())
        return name


def _of_files(known: Mapping[str, Mapping[int, KnownColumn]], live: Sequence[str]) -> list[FileSummary]:
    found: list[FileSummary] = []
    for path in live:
        by_key: dict[str, list[ColumnSummary]] = {}
        for column in known.get(path, {}).values():
            by_key.setdefault(column.deletes_key, []).append(column.summary)
        for key, columns in by_key.items():
            rows = columns[0].value_count
            found.append(FileSummary(file_path=path, row_count=rows, deletes_key=key, columns=tuple(columns)))
    return found
