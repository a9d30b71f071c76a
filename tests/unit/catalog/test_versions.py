"""Which version of a file system table is the current one, whatever the hint says."""

from __future__ import annotations

import pytest

from skipstone.catalog.versions import find_current
from skipstone.storage import MemoryStorage

DIRECTORY = "memory://lake/db/t/metadata"


def stored(*names: str, hint: bytes | None = None) -> MemoryStorage:
    storage = MemoryStorage()
    for name in names:
        storage.write_new(f"{DIRECTORY}/{name}", b"{}")
    if hint is not None:
        storage.write_new(f"{DIRECTORY}/version-hint.text", hint)
    return storage


@pytest.mark.parametrize(
    "hint", [None, b"3", b"1", b" 2\n", b"", b"x", b"99", b"-1", b"\xff\xfe", b"0", b"9" * 100, "٣".encode()]
)
def test_the_newest_version_is_found_whatever_the_hint_says(hint: bytes | None) -> None:
    storage = stored("v1.metadata.json", "v2.metadata.json", "v3.metadata.json", hint=hint)
    assert find_current(storage, DIRECTORY) == f"{DIRECTORY}/v3.metadata.json"


@pytest.mark.parametrize("name", ["v2.gz.metadata.json", "v2.metadata.json.gz", "v2.metadata.json"])
@pytest.mark.parametrize("hint", [None, b"1", b"2"])
def test_compressed_versions_count(name: str, hint: bytes | None) -> None:
    assert find_current(stored("v1.metadata.json", name, hint=hint), DIRECTORY) == f"{DIRECTORY}/{name}"


def test_old_versions_may_be_gone() -> None:
    names = [f"v{n}.metadata.json" for n in range(8, 13)]
    assert find_current(stored(*names), DIRECTORY) == f"{DIRECTORY}/v12.metadata.json"
    assert find_current(stored(*names, hint=b"3"), DIRECTORY) == f"{DIRECTORY}/v12.metadata.json"


def test_files_that_are_no_versions_do_not_count() -> None:
    storage = stored("00003-a.metadata.json", "v1.json", "vx.metadata.json", "7f.metadata.json", "v5.metadata.json/x")
    assert find_current(storage, DIRECTORY) is None
    assert find_current(stored(hint=b"1"), DIRECTORY) is None
    assert find_current(MemoryStorage(), DIRECTORY) is None
