"""Analyses that were made: which snapshot, when, which columns, and the files with what was found.

Laws: a file of summaries never changes; the record of a snapshot is replaced in one step. A later summary of the same
file and column stands in for an earlier one. Losing all of it loses statistics, never rows; and what a checksum does
not vouch for is lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import pyarrow
import pyarrow.parquet

from skipstone.analysis.known import Known, KnownColumn, joined
from skipstone.errors import SkipstoneError
from skipstone.index.seals import OPEN_SEAL, check_seal, is_sealed, seal
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.labels import ignore_file
from skipstone.stats.places import record_path, stats_directory
from skipstone.stats.records import ADVICE, AnalysisRecord, parse_record, serialize_record
from skipstone.stats.summary import ColumnSummary, FileSummary
from skipstone.stats.summary_table import check_summary_schema, summaries_from_arrow, summaries_to_arrow
from skipstone.storage.paths import join
from skipstone.storage.protocol import Storage

__all__ = ["AnalysisRecord", "AnalysisStore"]

pa: Any = pyarrow
pq: Any = pyarrow.parquet

# More files than this are put together into one.
_FILES_MAX: Final = 8
# Nearly all bytes are hashes, which no codec makes smaller.
_CODEC: Final = "none"
_SEAL_KEY: Final = b"skipstone.seal"


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
                return parse_record(self._storage.read(path), source=path)
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
            for summary in self._summaries(name):
                columns = found.setdefault(summary.file_path, {})
                columns.update({c.field_id: KnownColumn(c, summary.deletes_key) for c in summary.columns})
        return found

    def merged(self, record: AnalysisRecord) -> list[ColumnSummary] | None:
        """The summaries over the whole table; None where the file is of no use."""
        found = self._summaries(record.table)
        return list(found[0].columns) if found else None

    def _summaries(self, name: str) -> list[FileSummary]:
        table = self._load(name)
        try:
            return [] if table is None else summaries_from_arrow(table)
        except (SkipstoneError, KeyError, TypeError, ValueError) as error:
            ignore_file(join(self.directory, name), error)
            return []

    def _load(self, name: str) -> Any:
        """A table of summaries; None, with a warning, where it is of no use."""
        path = join(self.directory, name)
        try:
            data = self._storage.read(path)
            if is_sealed(data):
                check_seal(data, path, advice=ADVICE)
            file = pq.ParquetFile(pa.BufferReader(data))
            check_summary_schema(file.schema_arrow, source=path)
            return file.read(use_threads=False)
        except (SkipstoneError, pa.ArrowException, UnicodeDecodeError, OSError) as error:
            ignore_file(path, error)
            return None

    def keep(self, new: Sequence[FileSummary]) -> str | None:
        """Store what was found in files, and say under which name; nothing speaks of it yet."""
        return self._store(summaries_to_arrow(new)) if new else None

    def save(
        self,
        record: AnalysisRecord,
        *,
        new: str | None,
        merged: Sequence[ColumnSummary],
        live: Sequence[str],
    ) -> AnalysisRecord:
        """Store an analysis with what was kept as `new`. When there are many files of summaries, the latest are put
        together, for `live` files."""
        names = [*record.summaries, *([new] if new is not None else [])]
        if len(names) > _FILES_MAX:
            names = self._with_joined_end(names, live)
        whole = FileSummary(file_path="", row_count=record.row_count, deletes_key="", columns=tuple(merged))
        made: AnalysisRecord = msgspec.structs.replace(
            record, table=self._store(summaries_to_arrow([whole])), summaries=tuple(names)
        )
        self._storage.write_over(record_path(self.directory, record.snapshot_id), serialize_record(made))
        return made

    def _with_joined_end(self, names: Sequence[str], live: Sequence[str]) -> list[str]:
        """The latest files become one, up to an older one that is larger than all of them: each byte moves seldom."""
        first = len(names) - 1
        size = self._storage.size(join(self.directory, names[first]))
        while first and (older := self._storage.size(join(self.directory, names[first - 1]))) <= size:
            first, size = first - 1, size + older
        tables = [t for name in names[first:] if (t := self._load(name)) is not None]
        return [*names[:first], *([self._store(joined(tables, live))] if tables else [])]

    def _store(self, table: Any) -> str:
        name = f"{uuid.uuid4()}.summaries.parquet"
        self._storage.write_new(join(self.directory, name), _sealed(table))
        return name


def _sealed(table: Any) -> bytes:
    """The bytes of a file of summaries, its checksum among them."""
    sink = pa.BufferOutputStream()
    options: Any = {"compression": _CODEC, "use_dictionary": False, "write_statistics": False}
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_SEAL_KEY: OPEN_SEAL.encode()})
    data = bytearray(sink.getvalue())
    seal(data)
    return bytes(data)
