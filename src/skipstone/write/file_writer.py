"""What a writer of one file offers, whatever the format.

A writer takes rows in the shape of `to_arrow_schema`, piece by piece, and ends with the facts that a manifest entry
records. Where the bytes go is the caller's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from skipstone.metadata.types import StructType
from skipstone.write.metrics import FileMetrics, MetricsPlan
from skipstone.write.settings import WriteSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    record_count: int
    split_offsets: tuple[int, ...] | None = None
    metrics: FileMetrics


class FileWriter(Protocol):
    def write(self, table: pa.Table) -> None:
        """Add rows."""

    @property
    def size_in_bytes(self) -> int:
        """About how large the file would be if it ended here."""

    def finish(self) -> FileFacts:
        """End the file; nothing can be added afterwards."""

    def abandon(self) -> None:
        """Let go of the stream; whatever was written is worth nothing."""


class OpenFile(Protocol):
    """Starts a writer of one format."""

    def __call__(
        self, stream: pa.NativeFile, struct: StructType, *, settings: WriteSettings, metrics: MetricsPlan
    ) -> FileWriter: ...
