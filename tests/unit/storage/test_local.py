"""What local files leave behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyarrow import fs

from skipstone.errors import Unsupported
from skipstone.storage import ArrowStorage, LocalStorage, MovedStorage


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(OSError, match="disk full"):
        LocalStorage().write_new(f"{tmp_path}/x", b"1")
    with pytest.raises(OSError, match="disk full"), LocalStorage().create(f"{tmp_path}/x") as stream:
        stream.write(b"1")
    assert list(tmp_path.iterdir()) == []


def test_durable_files_and_their_directories_are_forced_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        forced.append("directory" if os.path.isdir(f"/proc/self/fd/{handle}") else "file")  # noqa: PTH112
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    LocalStorage().write_new(f"{tmp_path}/x", b"1")
    with LocalStorage().create(f"{tmp_path}/y") as stream:
        stream.write(b"1")
    assert forced == ["file", "directory", "file", "directory"]
    LocalStorage(is_durable=False).write_new(f"{tmp_path}/z", b"1")
    assert len(forced) == 4


def test_a_listing_does_not_follow_links_to_directories(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_bytes(b"1")
    (tmp_path / "d" / "loop").symlink_to(tmp_path)
    (tmp_path / "linked").symlink_to(tmp_path / "d" / "x")
    assert sorted(info.path for info in LocalStorage().list(str(tmp_path))) == [f"{tmp_path}/d/x", f"{tmp_path}/linked"]


def test_an_object_store_has_no_rename_in_one_step(tmp_path: Path) -> None:
    storage = ArrowStorage(fs.LocalFileSystem(), puts_whole=True)
    storage.write_new(f"{tmp_path}/x", b"1")
    with pytest.raises(Unsupported, match="Keep the table in a SQL catalog"):
        storage.move_new(f"{tmp_path}/x", f"{tmp_path}/y")
    assert storage.exists(f"{tmp_path}/x")


def test_a_copied_table_is_never_written(tmp_path: Path) -> None:
    storage = MovedStorage(LocalStorage(), {"s3://lake": str(tmp_path)})
    for attempt in (
        lambda p: storage.write_new(p, b"1"),
        lambda p: storage.write_over(p, b"1"),
        storage.create,
        storage.delete,
        lambda p: storage.delete_many([p]),
        storage.make_directory,
        storage.remove_directory,
        lambda p: storage.move_new(p, p),
    ):
        with pytest.raises(Unsupported, match="open for reading only"):
            attempt("s3://lake/x")
    assert list(tmp_path.iterdir()) == []


def test_the_longest_prefix_holds_at_the_border_of_a_name(tmp_path: Path) -> None:
    storage = MovedStorage(LocalStorage(), {"s3://lake": "/one", "s3://lake/db": "/two"})
    assert storage.where("s3://lake/db/t/x") == "/two/t/x"
    assert storage.where("s3://lake/db2/t/x") == "/one/db2/t/x"
    assert storage.where("s3://lake2/x") == "s3://lake2/x"
    assert storage.where("s3://lake/db") == "/two"
