"""Every metadata file of Iceberg Java parses, passes all checks, and is written again without loss."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.golden import GoldenTable, golden_tables

from skipstone.metadata.table_metadata_json import parse_table_metadata, serialize_table_metadata


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
