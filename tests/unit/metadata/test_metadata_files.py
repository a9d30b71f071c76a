"""Names of metadata files, both schemes, plain and gzip."""

from __future__ import annotations

import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.tables.metadata_files import (
    MetadataFileName,
    first_metadata_file_name,
    parse_metadata_file_name,
)

UUID_TEXT = "f36dc75b-d547-4d23-bc74-96e88d64bee4"


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("v1.metadata.json", MetadataFileName(version=1)),
        ("v12.gz.metadata.json", MetadataFileName(version=12, is_gzip=True)),
        (f"00003-{UUID_TEXT}.metadata.json", MetadataFileName(version=3, unique=UUID_TEXT)),
        (f"00003-{UUID_TEXT}.gz.metadata.json", MetadataFileName(version=3, unique=UUID_TEXT, is_gzip=True)),
        (f"123456-{UUID_TEXT}.metadata.json", MetadataFileName(version=123456, unique=UUID_TEXT)),
    ],
)
def test_a_name_is_written_as_it_was_read(name: str, parsed: MetadataFileName) -> None:
    assert parse_metadata_file_name(name) == parsed
    assert parse_metadata_file_name(f"s3://lake/t/metadata/{name}") == parsed
    assert str(parsed) == name


def test_gz_at_the_end_is_read_too() -> None:
    assert parse_metadata_file_name("v2.metadata.json.gz") == MetadataFileName(version=2, is_gzip=True)
    assert parse_metadata_file_name("00001-a.metadata.json.gz").is_gzip


def test_the_next_name_counts_on() -> None:
    assert str(MetadataFileName(version=9).next_name()) == "v10.metadata.json"
    first = first_metadata_file_name()
    second = first.next_name(is_gzip=True)
    assert str(second).startswith("00001-")
    assert str(second).endswith(".gz.metadata.json")
    assert second.unique != first.unique


@pytest.mark.parametrize("name", ["", "x.json", "v.metadata.json", "vx.metadata.json", "1.metadata.json", "v1.json"])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="expected v<N>"):
        parse_metadata_file_name(name)
