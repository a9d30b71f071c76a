"""Puffin files of Iceberg Java: statistics and deletion vectors are read, checked and written again byte for byte."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest
from tests.support.golden import GoldenTable, golden_root, golden_tables, local

from skipstone.metadata.blobs import deletion_vector, puffin

THETA_SERIAL_VERSION = 3
THETA_FAMILY_COMPACT = 3


def _vectors(table: GoldenTable) -> list[dict[str, Any]]:
    return [e for e in table.entries() if e.get("content_offset") is not None]


TABLES_WITH_VECTORS = [t for t in golden_tables(prefix="v3_") if t.name != "v3_encrypted" and _vectors(t)]
TABLES_WITH_STATISTICS = golden_tables(prefix="stats_")


def test_there_are_tables_with_vectors_and_statistics() -> None:
    assert len(TABLES_WITH_VECTORS) >= 5
    assert len(TABLES_WITH_STATISTICS) == 4


@pytest.mark.parametrize("table", TABLES_WITH_VECTORS, ids=str)
def test_deletion_vectors_hold_as_many_positions_as_the_manifest_says(table: GoldenTable) -> None:
    for entry in _vectors(table):
        data = local(entry["file_path"]).read_bytes()
        found = deletion_vector.load(
            lambda offset, length, data=data: data[offset : offset + length],
            content_offset=entry["content_offset"],
            content_size_in_bytes=entry["content_size_in_bytes"],
            cardinality=entry["record_count"],
            source=entry["file_path"],
        )
        assert len(found) == entry["record_count"]


@pytest.mark.parametrize("table", TABLES_WITH_VECTORS, ids=str)
def test_deletion_vector_blobs_are_where_both_manifest_and_footer_say(table: GoldenTable) -> None:
    for entry in _vectors(table):
        data = local(entry["file_path"]).read_bytes()
        footer = puffin.parse_footer(data, source=entry["file_path"])
        blob = next(b for b in footer.blobs if b.offset == entry["content_offset"])
        assert blob.type == puffin.DELETION_VECTOR_V1
        assert blob.length == entry["content_size_in_bytes"]
        assert blob.compression_codec is None
        assert blob.properties[deletion_vector.REFERENCED_DATA_FILE] == entry["referenced_data_file"]
        assert blob.properties[deletion_vector.CARDINALITY] == str(entry["record_count"])


@pytest.mark.parametrize("table", TABLES_WITH_VECTORS, ids=str)
def test_encoding_the_positions_again_gives_the_bytes_java_wrote(table: GoldenTable) -> None:
    for entry in _vectors(table):
        data = local(entry["file_path"]).read_bytes()
        start = entry["content_offset"]
        blob = data[start : start + entry["content_size_in_bytes"]]
        assert deletion_vector.encode(deletion_vector.decode(blob)) == blob


@pytest.mark.parametrize("table", [t for t in TABLES_WITH_VECTORS if t.current_rows()], ids=str)
def test_rows_that_java_returns_are_those_whose_positions_are_not_deleted(table: GoldenTable) -> None:
    live: dict[str, set[int]] = defaultdict(set)
    for row in table.current_rows() or ():
        live[row["_file"]].add(row["_pos"])
    current = {e["file_path"]: e for e in table.entries() if e["status"] != "DELETED"}
    for vector in (v for v in _vectors(table) if v["status"] != "DELETED"):
        data = local(vector["file_path"]).read_bytes()
        start = vector["content_offset"]
        deleted = set(deletion_vector.decode(data[start : start + vector["content_size_in_bytes"]]))
        file = vector["referenced_data_file"]
        assert live[file.rpartition("/")[2]].isdisjoint(deleted)
        # Other kinds of deletes may take more rows away, never fewer.
        assert len(live[file.rpartition("/")[2]]) + len(deleted) <= current[file]["record_count"]


@pytest.mark.parametrize("table", TABLES_WITH_STATISTICS, ids=str)
def test_statistics_files_parse_and_agree_with_the_table_metadata(table: GoldenTable) -> None:
    metadata = json.loads(table.metadata_file.read_text("utf-8"))
    for registered in metadata["statistics"]:
        data = local(registered["statistics-path"]).read_bytes()
        footer = puffin.parse_footer(data, source=registered["statistics-path"])
        assert len(data) == registered["file-size-in-bytes"]
        assert footer.footer_size_in_bytes == registered["file-footer-size-in-bytes"]
        assert [
            {
                "type": b.type,
                "snapshot-id": b.snapshot_id,
                "sequence-number": b.sequence_number,
                "fields": list(b.fields),
                "properties": dict(b.properties),
            }
            for b in footer.blobs
        ] == registered["blob-metadata"]


def test_blobs_of_statistics_files_inflate_to_compact_theta_sketches() -> None:
    files = sorted(golden_root().glob("stats_*/metadata/*.stats"))
    assert len(files) >= 6
    for path in files:
        data = path.read_bytes()
        for blob in puffin.parse_footer(data, source=path.name).blobs:
            sketch = puffin.read_blob(data, blob, source=path.name)
            assert blob.type == puffin.THETA_V1
            assert sketch[1:3] == bytes([THETA_SERIAL_VERSION, THETA_FAMILY_COMPACT])


def test_every_puffin_file_written_again_has_the_same_blobs() -> None:
    files = [p for p in golden_root().rglob("*") if p.suffix in (".puffin", ".stats")]
    assert len(files) > 30
    for path in files:
        data = path.read_bytes()
        if data[:4] != puffin.MAGIC:
            assert "v3_encrypted" in path.parts, f"{path} is not a Puffin file"
            continue
        footer = puffin.parse_footer(data, source=path.name)
        writer = puffin.PuffinWriter(properties=footer.properties)
        for blob in footer.blobs:
            writer.add(
                type=blob.type,
                fields=blob.fields,
                snapshot_id=blob.snapshot_id,
                sequence_number=blob.sequence_number,
                data=puffin.read_blob(data, blob, source=path.name),
                compression_codec=blob.compression_codec,
                properties=blob.properties,
            )
        again = writer.finish()
        assert again.footer.properties == footer.properties
        for ours, javas in zip(again.blobs, footer.blobs, strict=True):
            assert puffin.read_blob(again.data, ours) == puffin.read_blob(data, javas)
            assert (ours.type, ours.fields, ours.properties) == (javas.type, javas.fields, javas.properties)
