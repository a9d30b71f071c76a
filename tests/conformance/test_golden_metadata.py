"""Every metadata file of Iceberg Java parses, passes all checks, and is written again without loss."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.golden import GoldenTable, golden_tables

from skipstone.metadata.tables.history import ancestors_of, snapshot_as_of
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata, serialize_table_metadata


def _parsed(path: Path) -> Any:
    return parse_table_metadata(path.read_bytes(), source=path.name)


def _javas_json(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return dict(json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data))


@pytest.mark.parametrize("table", golden_tables(), ids=str)
def test_every_metadata_file_is_written_again_without_loss(table: GoldenTable) -> None:
    files = table.metadata_files()
    assert files
    for path in files:
        again = json.loads(serialize_table_metadata(_parsed(path)))
        assert again == _javas_json(path), path.name


@pytest.mark.parametrize("table", golden_tables(), ids=str)
def test_what_is_written_again_parses_to_the_same_value(table: GoldenTable) -> None:
    metadata = _parsed(table.metadata_file)
    for compression in ("none", "gzip"):
        data = serialize_table_metadata(metadata, compression=compression)
        assert parse_table_metadata(data, source="again") == metadata


@pytest.mark.parametrize("table", golden_tables(), ids=str)
def test_counts_of_snapshots_history_and_refs_equal_javas(table: GoldenTable) -> None:
    metadata = _parsed(table.metadata_file)
    counts = table.inspect.get("counts", {})
    found = {
        "snapshots": len(metadata.snapshots),
        "history": len(metadata.snapshot_log),
        "refs": len(metadata.refs),
        # Java's table also lists the current file.
        "metadata_log_entries": len(metadata.metadata_log) + 1,
    }
    assert found == {name: counts.get(name, found[name]) for name in found}
    if "current_snapshot_id" in table.inspect:
        assert metadata.current_snapshot_id == table.inspect["current_snapshot_id"]
    if "format_version" in table.inspect:
        assert metadata.format_version == table.inspect["format_version"]


def _instant(ms: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).isoformat(timespec="microseconds")


@pytest.mark.parametrize("table", [t for t in golden_tables() if t.metadata_table("snapshots")], ids=str)
def test_snapshots_read_as_javas_metadata_table_shows_them(table: GoldenTable) -> None:
    ours = [
        {
            "committed_at": _instant(s.timestamp_ms),
            "snapshot_id": s.snapshot_id,
            "parent_id": s.parent_snapshot_id,
            "operation": s.operation,
            "manifest_list": s.manifest_list,
            # Java shows the operation in a column of its own.
            "summary": {k: v for k, v in (s.summary or {}).items() if k != "operation"},
        }
        for s in _parsed(table.metadata_file).snapshots
    ]
    javas = [
        row | {"summary": dict(zip(row["summary"]["keys"], row["summary"]["values"], strict=True))}
        for row in table.metadata_table("snapshots")
    ]
    assert _by_id(ours) == _by_id(javas)


@pytest.mark.parametrize("table", [t for t in golden_tables() if t.metadata_table("history")], ids=str)
def test_history_reads_as_javas_metadata_table_shows_it(table: GoldenTable) -> None:
    metadata = _parsed(table.metadata_file)
    current = metadata.current_snapshot_id
    ancestors = {s.snapshot_id for s in ancestors_of(metadata, current)} if current is not None else set()
    ours = [
        {
            "made_current_at": _instant(entry.timestamp_ms),
            "snapshot_id": entry.snapshot_id,
            "parent_id": metadata.snapshot(entry.snapshot_id).parent_snapshot_id,
            "is_current_ancestor": entry.snapshot_id in ancestors,
        }
        for entry in metadata.snapshot_log
    ]
    assert ours == table.metadata_table("history")


@pytest.mark.parametrize("table", [t for t in golden_tables() if t.metadata_table("refs")], ids=str)
def test_refs_read_as_javas_metadata_table_shows_them(table: GoldenTable) -> None:
    ours = [
        {
            "name": name,
            "type": "BRANCH" if ref.is_branch else "TAG",
            "snapshot_id": ref.snapshot_id,
            "max_reference_age_in_ms": ref.max_ref_age_ms,
            "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            "max_snapshot_age_in_ms": ref.max_snapshot_age_ms,
        }
        for name, ref in _parsed(table.metadata_file).refs.items()
    ]
    assert sorted(ours, key=str) == sorted(table.metadata_table("refs"), key=str)


@pytest.mark.parametrize("table", [t for t in golden_tables() if t.metadata_table("history")], ids=str)
def test_time_travel_finds_the_snapshot_java_made_current_then(table: GoldenTable) -> None:
    metadata = _parsed(table.metadata_file)
    log = metadata.snapshot_log
    for entry, following in zip(log, [*log[1:], None], strict=True):
        # Several commits in one millisecond: the last one counts.
        if following is None or following.timestamp_ms > entry.timestamp_ms:
            assert snapshot_as_of(metadata, entry.timestamp_ms).snapshot_id == entry.snapshot_id


def _by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["snapshot_id"])


@pytest.mark.parametrize("table", golden_tables(prefix="v2_gzip"), ids=str)
def test_gzip_is_recognised_by_content_under_both_names(table: GoldenTable) -> None:
    compressed = [p for p in table.metadata_files() if p.read_bytes()[:2] == b"\x1f\x8b"]
    assert compressed
    for path in compressed:
        assert path.name.endswith((".gz.metadata.json", ".metadata.json.gz"))
        assert _parsed(path).format_version == 2


def test_the_tables_cover_every_version_and_every_kind_of_snapshot_log() -> None:
    parsed = [_parsed(t.metadata_file) for t in golden_tables()]
    assert {m.format_version for m in parsed} == {1, 2, 3}
    assert any(m.current_snapshot is None for m in parsed)
    assert any(len(m.refs) > 3 for m in parsed)
    assert any(m.statistics for m in parsed)
    assert any(m.partition_statistics for m in parsed)
    assert any(m.encryption_keys for m in parsed)
    assert any(len(m.schemas) > 5 for m in parsed)
    assert any(len(m.partition_specs) > 5 for m in parsed)
    assert any(len(m.sort_orders) > 1 for m in parsed)
