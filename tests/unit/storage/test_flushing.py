"""Files on their way to disk: all of them are there when `settle` returns, and a failure comes out of it."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import pytest

from skipstone.storage import flushing
from skipstone.storage.flushing import Flushing
from skipstone.storage.local import LocalStorage


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files in the order they were forced to disk."""
    found: list[str] = []
    lock = threading.Lock()

    def fsync(handle: int) -> None:
        with lock:
            found.append(Path(f"/proc/self/fd/{handle}").readlink().name)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def files(directory: Path, count: int) -> list[str]:
    paths = [directory / f"f{i}" for i in range(count)]
    for path in paths:
        path.write_bytes(b"x")
    return [str(p) for p in paths]


def test_small_files_wait_for_settle_and_are_each_forced_once(tmp_path: Path, forced: list[str]) -> None:
    flush = Flushing()
    for path in files(tmp_path, 20):
        flush.add(path, 1)
    assert forced == []
    flush.settle()
    assert sorted(forced) == sorted(f"f{i}" for i in range(20))
    flush.settle()
    assert len(forced) == 20


def test_every_file_of_a_storage_is_forced_before_settle_returns(tmp_path: Path, forced: list[str]) -> None:
    storage = LocalStorage()
    storage.write_new(str(tmp_path / "new/small"), b"x")
    with storage.create(str(tmp_path / "new/large")) as stream:
        stream.write(b"x" * (2 << 20))
    storage.move_new(str(tmp_path / "new/small"), str(tmp_path / "other/moved"))
    storage.settle()
    assert {"large", "moved"} <= set(forced)


def test_many_small_files_do_not_wait_for_ever(
    tmp_path: Path, forced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flushing, "_SMALL_FILES_MAX", 5)
    flush = Flushing()
    for path in files(tmp_path, 7):
        flush.add(path, 1)
    assert len(flush._small) == 2
    flush.settle()
    assert len(forced) == 7


def test_a_failure_comes_out_of_settle_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(handle: int) -> None:
        raise OSError("disk full")

    flush = Flushing()
    for path in files(tmp_path, 3):
        flush.add(path, 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="disk full"):
            flush.settle()
    flush.settle()


def test_a_file_that_is_gone_needs_no_disk(tmp_path: Path, forced: list[str]) -> None:
    flush = Flushing()
    kept, gone = files(tmp_path, 2)
    flush.add(kept, 1)
    flush.add(gone, 1)
    Path(gone).unlink()
    flush.settle()
    assert forced == ["f0"]


def test_a_copy_in_another_process_starts_with_none(tmp_path: Path, forced: list[str]) -> None:
    flush = Flushing()
    flush.add(files(tmp_path, 1)[0], 1)
    pickle.loads(pickle.dumps(flush)).settle()
    assert forced == []
    flush.settle()
    assert forced == ["f0"]
