"""What a Spark DataFrame's columns are in the table format's types."""

from __future__ import annotations

from typing import Any

from skipstone.errors import Unsupported
from skipstone.metadata.schema import Schema


def schema_of_frame(frame: Any, *, format_version: int) -> Schema:
    raise Unsupported("Cannot take the schema of a Spark DataFrame: not built yet.")
