"""PyIceberg reads the Puffin files and deletion vectors that are written here."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.table import StaticTable
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

import skipstone
from skipstone.metadata.blobs.deletion_vector import write_deletion_vectors
from skipstone.metadata.blobs.puffin import THETA_V1, PuffinWriter
from skipstone.stats.blob_checksums import CHECKSUM

POSITIONS = {
    "s3://b/array.parquet": [1, 5, 70_000],
    "s3://b/runs.parquet": list(range(100, 200_000)),
    "s3://b/bitset.parquet": list(range(0, 60_000, 2)),
    "s3://b/keys.parquet": [7, 2**32 + 7, 2**33],
}


def test_deletion_vectors():
    written = write_deletion_vectors(POSITIONS)
    read = {
        dv.referenced_data_file: dv.to_vector().to_pylist()
        for dv in deletion_vectors_from_puffin_file(PuffinFile(written.data))
    }
    assert read == POSITIONS


@pytest.mark.parametrize("codec", [None, "zstd"])
def test_blobs_and_their_metadata(codec):
    writer = PuffinWriter(properties={"created-by": "test"})
    content = b"sketch" * 1000
    ours = writer.add(
        type=THETA_V1,
        fields=[3],
        snapshot_id=2**60,
        sequence_number=9,
        data=content,
        compression_codec=codec,
        properties={"ndv": "5"},
    )
    theirs = PuffinFile(writer.finish().data)
    (blob,) = theirs.footer.blobs
    assert theirs.get_blob_payload(blob) == content
    assert (blob.type, tuple(blob.fields), blob.snapshot_id) == (ours.type, ours.fields, ours.snapshot_id)
    assert (blob.offset, blob.length, blob.properties) == (ours.offset, ours.length, {"ndv": "5"})
    assert theirs.footer.properties == {"created-by": "test"}


def test_statistics_with_checksums_among_their_properties(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    table = lake.create_table("db.t", [("id", "long"), ("s", "string")])
    table.append([{"id": i, "s": f"v{i % 7}"} for i in range(50)])
    table.analyze()
    theirs = StaticTable.from_metadata(table.metadata_location)
    (file,) = theirs.metadata.statistics
    assert [b.properties["ndv"] for b in file.blob_metadata] == ["50", "7"]
    assert all(CHECKSUM in b.properties for b in file.blob_metadata)
    puffin = PuffinFile(Path(file.statistics_path.removeprefix("file:")).read_bytes())
    assert [b.properties for b in puffin.footer.blobs] == [b.properties for b in file.blob_metadata]
