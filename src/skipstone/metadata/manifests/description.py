"""A manifest as its own entries describe it: what a manifest list should say about it.

Spec: "Manifest Lists".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from skipstone.metadata.manifests.field_summaries import summarize
from skipstone.metadata.manifests.manifest import EntryStatus, FieldSummary, ManifestFile
from skipstone.metadata.types import StructType

# The columns of entries, with inherited values written out, that a description is made of.
DESCRIBED_BY: Final = ("status", "sequence_number", "partition", "record_count")
COUNTS: Final = tuple(f"{word}_{what}_count" for word in ("added", "existing", "deleted") for what in ("files", "rows"))


def described(manifest: ManifestFile, entries: pa.Table, partition_type: StructType) -> ManifestFile:
    """The manifest with counts, least sequence number and summaries of its entries."""
    status, rows, numbers = (_integers(entries, n) for n in ("status", "record_count", "sequence_number"))
    counts: dict[str, Any] = {}
    for kind in EntryStatus:
        chosen, word = status == kind, kind.name.lower()
        counts |= {f"{word}_files_count": int(chosen.sum()), f"{word}_rows_count": int(rows[chosen].sum())}
    live = status != EntryStatus.DELETED
    least = int(numbers[live].min()) if live.any() else manifest.min_sequence_number
    partitions = summaries_of(entries, partition_type)
    return replace(manifest, **counts, min_sequence_number=least, partitions=partitions)


def summaries_of(entries: pa.Table, partition_type: StructType) -> tuple[FieldSummary, ...]:
    """The summaries of partition tuples, of deleted entries as well, as writers make them."""
    column: Any = entries.column("partition")
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    tuples: Any = pa.concat_arrays(chunks) if chunks else pa.array([], column.type)
    return summarize(tuples, partition_type)


def _integers(table: pa.Table, name: str) -> Any:
    column: Any = table.column(name)
    return column.fill_null(0).to_numpy()
