"""A Spark session that is set for our tables."""

from __future__ import annotations

from typing import Any

from skipstone.errors import Unsupported


def session(**settings: Any) -> Any:
    raise Unsupported("Cannot start Spark: not built yet.")
