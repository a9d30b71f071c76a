"""A planned scan as a native Spark DataFrame."""

from __future__ import annotations

from typing import Any

from skipstone.errors import Unsupported
from skipstone.scan import Scan


def read_scan(scan: Scan, spark: Any = None) -> Any:
    raise Unsupported(f"Cannot read {scan.name} with Spark: not built yet.")
