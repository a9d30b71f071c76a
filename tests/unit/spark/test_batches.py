"""`batches_into` says at once what it cannot do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone.errors import InvalidInput
from skipstone.spark import batches_into


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "update"}, "expected one of append, complete, upsert"),
        ({"on": ["id"]}, "on and order_by are for mode upsert, got 'append'"),
        ({"mode": "complete", "order_by": "id"}, "on and order_by are for mode upsert, got 'complete'"),
    ],
)
def test_bad_modes_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    with pytest.raises(InvalidInput, match=message):
        batches_into(lake.create_table("db.t", [("id", "long")]), **options)
