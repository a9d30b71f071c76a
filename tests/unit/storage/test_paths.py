"""Locations as text."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput
from skipstone.storage.paths import (
    absolute_location,
    canonical,
    join,
    key_of,
    keys_of,
    local_path,
    scheme_of,
    split_authority,
)


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a/b", "/a/b"),
        ("FILE:///a/b", "/a/b"),
        ("file://localhost/a/b", "/a/b"),
        ("file:/a%20b/x=1%2F2", "/a%20b/x=1%2F2"),
        ("/a b/q?x#y", "/a b/q?x#y"),
        ("/a:b/c", "/a:b/c"),
    ],
)
def test_a_local_location_is_a_path_with_nothing_decoded(location: str, path: str) -> None:
    assert local_path(location) == path
    assert canonical(location) == path
    assert scheme_of(location) == "file"


def test_a_column_of_paths_is_spelled_as_each_path_is() -> None:
    paths = ["/a", "file:/a", "FILE:///a", "file://localhost/a", "file:////a", "file://host/a", "s3://b/file:/a", "a/b"]
    assert keys_of(pa.array(paths)).to_pylist() == [key_of(path) for path in paths]
    assert len({key_of(path) for path in paths}) == 5


@pytest.mark.parametrize(
    "location", ["a/b", "", ".", "file:a", "file:", "file://", "file://host/a", "s3://b/k", "/a\0b", "C:/x"]
)
def test_what_is_no_local_location_is_refused(location: str) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        local_path(location)


def test_a_uri_is_split_at_its_authority() -> None:
    assert split_authority("s3://bucket/a/b c") == ("bucket", "a/b c")
    assert split_authority("hdfs://host:8020/a") == ("host:8020", "a")
    assert split_authority("s3://bucket") == ("bucket", "")
    with pytest.raises(InvalidInput, match="expected scheme://"):
        split_authority("s3:bucket/a")


def test_a_callers_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert absolute_location("lake/") == f"{tmp_path}/lake"
    assert absolute_location("~/lake") == f"{tmp_path}/home/lake"
    assert absolute_location("s3://b/k/") == "s3://b/k"
    assert absolute_location("file:/x") == "file:/x"
    assert absolute_location("/") == "/"
    with pytest.raises(InvalidInput, match="expected a path or URI"):
        absolute_location("")


def test_names_join_with_one_slash() -> None:
    assert join("/a/", "b") == join("/a", "b") == "/a/b"
