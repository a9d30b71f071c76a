"""The record of one analysis: which snapshot, when, which columns, and the files with what was found."""

from __future__ import annotations

from typing import Final

import msgspec

from skipstone.index.seals import OPEN_SEAL, check_seal, is_sealed, seal

ADVICE: Final = "Analyse the table again."


class AnalysisRecord(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """One analysis. `summaries` are files with a row for each data file and column; `table` has merged ones."""

    snapshot_id: int
    analysed_at_ms: int
    field_ids: tuple[int, ...]
    row_count: int
    row_count_is_exact: bool
    size_in_bytes: int
    table: str
    summaries: tuple[str, ...]
    # Columns of which some file has lost rows since it was analysed.
    after_deletes: tuple[int, ...] = ()
    # Names the files, and what was deleted from each, that `table` is about.
    covers: str = ""
    # The checksum of all else in the stored bytes; none in those of earlier versions.
    seal: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files that belong to it."""
        return (self.table, *self.summaries)


def serialize_record(record: AnalysisRecord) -> bytes:
    data = bytearray(msgspec.json.encode(msgspec.structs.replace(record, seal=OPEN_SEAL)))
    seal(data)
    return bytes(data)


def parse_record(data: bytes, *, source: str = "of an analysis") -> AnalysisRecord:
    """The record that these bytes are; raises where they are not those that were written."""
    if is_sealed(data):
        check_seal(data, source, advice=ADVICE)
    return msgspec.json.decode(data, type=AnalysisRecord)
