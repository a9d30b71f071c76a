"""A Spark DataFrame as data files of a table, written natively."""

from __future__ import annotations

from typing import Any

from skipstone.errors import Unsupported
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage


def write_frame(frame: Any, *, metadata: TableMetadata, storage: Storage, name: str) -> Any:
    raise Unsupported(f"Cannot write a Spark DataFrame to {name}: not built yet.")
