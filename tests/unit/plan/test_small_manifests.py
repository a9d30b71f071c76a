"""Entries of small manifests from memory: the same as those that are decoded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
from skipstone.index.opened import forget_opened
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.plan import small_manifests
from skipstone.plan.entries import FILE_COLUMNS, read_live_entries
from skipstone.plan.small_manifests import recent_live_entries
from skipstone.plan.snapshot_manifests import manifests_of


def rows(first: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + 4), pa.int64()), "kind": ["a", "b", "a", None]})


@pytest.fixture
def table(tmp_path: Path) -> Any:
    catalog = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    catalog.create_namespace("db")
    made = catalog.create_table("db.t", rows(0).schema, partition_by=["kind"], format_version=3)
    for first in (0, 4, 8):
        made.append(rows(first))
    return made


def both(table: Any) -> tuple[Any, Any]:
    metadata, storage = table.metadata, table.storage
    data = [m for m in manifests_of(metadata.current_snapshot, metadata, storage) if m.content == ManifestContent.DATA]
    decoded = read_live_entries(data, metadata, storage, columns=FILE_COLUMNS)
    return recent_live_entries(data, metadata, storage, columns=FILE_COLUMNS), decoded


def evolve(table: Any) -> None:
    with table.update_spec() as spec:
        spec.add_field("id", "bucket[2]")


def test_what_is_kept_is_what_is_decoded_whatever_was_committed_since(table: Any) -> None:
    for change in (
        lambda: None,
        lambda: table.append(rows(12)),
        lambda: table.delete("id = 5"),
        lambda: table.delete("kind = 'b'"),
        lambda: evolve(table),
        lambda: table.append(rows(16)),
        lambda: None,
    ):
        change()
        kept, decoded = both(table)
        assert kept.equals(decoded)


def test_only_new_manifests_are_read(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(manifests: Any, *args: Any, **options: Any) -> Any:
        read.append(len(manifests))
        return read_live_entries(manifests, *args, **options)

    monkeypatch.setattr(small_manifests, "read_live_entries", counted)
    forget_opened()
    both(table)
    both(table)
    assert read == [3]
    table.append(rows(12))
    both(table)
    assert sum(read) == 4


def test_large_manifests_are_not_kept(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_manifests, "_LENGTH_MAX", 10)
    forget_opened()
    kept, decoded = both(table)
    assert kept.equals(decoded)
    monkeypatch.setattr(small_manifests, "read_live_entries", lambda *a, **k: pytest.fail("read"))
    with pytest.raises(pytest.fail.Exception):
        both(table)
