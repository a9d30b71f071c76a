"""Names of new metadata files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.metadata_builder import empty_table

from skipstone.catalog.metadata_store import MetadataStore, next_metadata_location
from skipstone.storage import MemoryStorage


@pytest.mark.parametrize(
    ("base", "start"),
    [
        (None, "00000-"),
        ("s3://x/00041-abc.metadata.json", "00042-"),
        ("s3://x/99999-abc.gz.metadata.json", "100000-"),
        ("s3://x/v7.metadata.json", "00008-"),
        ("s3://x/anything.json", "00001-"),
    ],
)
def test_versions_count_on_from_the_base(base: str | None, start: str) -> None:
    location, is_gzip = next_metadata_location(base, empty_table())
    assert location.startswith(f"s3://lake/shop/addresses/metadata/{start}")
    assert location.endswith(".metadata.json")
    assert not is_gzip
    assert location != next_metadata_location(base, empty_table())[0]


def test_compression_is_in_the_name() -> None:
    metadata = replace(empty_table(), properties={"write.metadata.compression-codec": "GZIP"})
    location, is_gzip = next_metadata_location(None, metadata)
    assert is_gzip
    assert location.endswith(".gz.metadata.json")


def test_only_so_many_parsed_files_are_kept() -> None:
    store = MetadataStore(MemoryStorage(), is_unique=True)
    for number in range(100):
        store.store(f"/t/{number}", empty_table(), is_gzip=False)
    assert len(store._kept) == 64
    assert ("/t/99", b"") in store._kept
