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


def test_settled_files_are_forced_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        forced.append(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115

    monkeypatch.setattr(os, "fsync", fsync)
    storage = LocalStorage()
    storage.write_new(f"{tmp_path}/a", b"1")
    with storage.create(f"{tmp_path}/b") as stream:
        stream.write(b"1")
    storage.settle()
    assert sorted(forced) == [f"{tmp_path}/a", f"{tmp_path}/b"]
    storage.move_new(f"{tmp_path}/a", f"{tmp_path}/c")
    storage.settle()
    storage.settle()
    assert forced[2:] == [f"{tmp_path}/c"]
    careless = LocalStorage(is_durable=False)
    careless.write_new(f"{tmp_path}/d", b"1")
    careless.settle()
    assert len(forced) == 3


def test_a_file_that_cannot_be_forced_to_disk_is_an_error_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    storage = LocalStorage()
    storage.write_new(f"{tmp_path}/x", b"1")
    with pytest.raises(OSError, match="no space left"):
        storage.settle()
    storage.settle()


def test_a_file_that_was_deleted_need_not_be_forced(tmp_path: Path) -> None:
    storage = LocalStorage()
    for number in range(50):
        storage.write_new(f"{tmp_path}/{number}", b"1")
        storage.delete(f"{tmp_path}/{number}")
    storage.settle()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_settles_its_own_files(tmp_path: Path) -> None:
    storage = LocalStorage()
    storage.write_new(f"{tmp_path}/parent", b"1")
    child = os.fork()
    if child == 0:
        storage.settle()
        storage.write_new(f"{tmp_path}/child", b"1")
        storage.settle()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    storage.settle()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["child", "parent"]


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
