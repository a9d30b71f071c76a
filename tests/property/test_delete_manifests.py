"""Delete manifests that are passed over, or read through the index, change no plan."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.indexed import SIDECARS_ALWAYS, compact

from skipstone.catalog.filesystem import FilesystemCatalog
from skipstone.index import blocks
from skipstone.index.loading import forget_opened
from skipstone.lake import Lake
from skipstone.plan import delete_entries
from skipstone.storage import LocalStorage

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 5)),
        st.tuples(st.just("delete"), st.sampled_from(["id IN (0, 2)", "id = 3", "id < 2", "state = 'a' AND id > 2"])),
        st.tuples(st.just("compact"), st.none()),
        st.tuples(st.just("merge manifests"), st.none()),
    ),
    min_size=2,
    max_size=5,
)


def _table(home: str, format_version: int, partition_by: list[str]) -> Any:
    lake = Lake(FilesystemCatalog(warehouse=home, storage=LocalStorage(is_durable=False)))
    properties = {**SIDECARS_ALWAYS, "write.delete.mode": "merge-on-read"}
    types = [("id", "long"), ("state", "string")]
    return lake.create_table(
        "db.t", types, partition_by=partition_by, format_version=format_version, properties=properties
    )


def _step(table: Any, name: str, detail: Any) -> None:
    match name:
        case "append":
            table.append([{"id": i, "state": "ab"[i % 2]} for i in range(detail, detail + 4)])
        case "delete":
            table.delete(detail)
        case "compact":
            compact(table)
        case "merge manifests":
            table.set_properties({"commit.manifest.min-count-to-merge": "2"})


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    format_version=st.sampled_from([2, 3]),
    partition_by=st.sampled_from([[], ["state"]]),
    steps=STEPS,
    predicate=st.sampled_from([None, "id = 3", "state = 'a'", "id > 4"]),
)
def test_plans_have_the_deletes_that_reading_all_of_them_gives(
    format_version: int, partition_by: list[str], steps: list[tuple[str, Any]], predicate: str | None
) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as home:
        patch.setattr(blocks, "BLOCK_FILES", 2)
        table = _table(str(Path(home)), format_version, partition_by)
        for name, detail in [("append", 0), ("delete", "id = 1"), *steps]:
            _step(table, name, detail)
        forget_opened()
        ours = table.scan(predicate).plan()
        patch.setattr(delete_entries, "_can_apply", lambda deletes, data: True)
        every = table.scan(predicate, use_index=False).plan()
        assert ours.files.equals(every.files)
        assert ours.deletes.equals(every.deletes)
