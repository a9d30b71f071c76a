"""The record of one analysis: which snapshot, when, which columns, and the files with what was found."""

from __future__ import annotations

import msgspec


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

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all files that belong to it."""
        return (self.table, *self.summaries)


def parse_record(data: bytes) -> AnalysisRecord:
    """The record that these bytes are; raises msgspec's error where they are none."""
    return msgspec.json.decode(data, type=AnalysisRecord)
