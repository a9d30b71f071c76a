"""What every storage does, asked of each one."""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from skipstone.errors import AlreadyExists, FormatViolation, InvalidInput, NotFound
from skipstone.storage import ArrowStorage, LocalStorage, MemoryStorage, MovedStorage, Storage, storage_for
from skipstone.storage.faulty import FaultyStorage

WRITABLE = [
    "local",
    "local not durable",
    "memory",
    "arrow",
    "arrow object store",
    "faulty",
    "routing",
    "routing memory",
]
# An object store has no rename in one step.
RENAMING = [kind for kind in WRITABLE if kind != "arrow object store"]


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Storage, str]:
    """A storage, and a directory in it."""
    local = str(tmp_path / "store")
    match request.param:
        case "local":
            return LocalStorage(), f"file://{local}"
        case "local not durable":
            return LocalStorage(is_durable=False), local
        case "memory":
            return MemoryStorage(), "memory://lake/store"
        case "arrow":
            return ArrowStorage(fs.LocalFileSystem(), puts_whole=False), f"file:{local}"
        case "arrow object store":
            return ArrowStorage(fs.LocalFileSystem(), puts_whole=True), local
        case "faulty":
            return FaultyStorage(LocalStorage()), local
        case "routing":
            return storage_for(), local
        case _:
            return storage_for({}), f"memory://{uuid.uuid4()}/store"


@pytest.fixture
def storage(place: tuple[Storage, str]) -> Storage:
    return place[0]


@pytest.fixture
def base(place: tuple[Storage, str]) -> str:
    return place[1]


everywhere = pytest.mark.parametrize("place", WRITABLE, indirect=True)
where_files_are_renamed = pytest.mark.parametrize("place", RENAMING, indirect=True)


@everywhere
def test_it_keeps_the_protocol(storage: Storage) -> None:
    assert isinstance(storage, Storage)


@everywhere
def test_a_written_file_is_read_whole_and_in_ranges(storage: Storage, base: str) -> None:
    data = bytes(range(256)) * 10
    storage.write_new(f"{base}/a/b.bin", data)
    assert storage.exists(f"{base}/a/b.bin")
    assert storage.size(f"{base}/a/b.bin") == 2560
    assert storage.read(f"{base}/a/b.bin") == data
    assert storage.read_range(f"{base}/a/b.bin", 250, 20) == data[250:270]
    assert storage.read_range(f"{base}/a/b.bin", 2560, 0) == b""
    with storage.open(f"{base}/a/b.bin") as file:
        file.seek(2550)
        assert file.read(100) == data[2550:]
        assert file.size() == 2560


@everywhere
def test_settling_keeps_all_that_was_written(storage: Storage, base: str) -> None:
    storage.settle()
    storage.write_new(f"{base}/x", b"1")
    storage.settle()
    storage.settle()
    assert storage.read(f"{base}/x") == b"1"


@everywhere
def test_an_empty_file_is_a_file(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/empty", b"")
    assert storage.exists(f"{base}/empty")
    assert storage.read(f"{base}/empty") == b""
    assert storage.size(f"{base}/empty") == 0


@everywhere
@pytest.mark.parametrize("name", ["x%2Fy=a b", "ünï/ço dé 😀", "q?x#y", "a=b&c'd\"e", "100%"])
def test_names_are_literal_text(storage: Storage, base: str, name: str) -> None:
    storage.write_new(f"{base}/{name}", b"1")
    assert storage.read(f"{base}/{name}") == b"1"
    assert [info.path for info in storage.list(base)] == [f"{base}/{name}"]


@everywhere
def test_a_missing_file_is_not_found_by_its_path(storage: Storage, base: str) -> None:
    path = f"{base}/nowhere/x.avro"
    for ask in (storage.read, storage.open, storage.size, lambda p: storage.read_range(p, 0, 1)):
        with pytest.raises(NotFound, match=path):
            ask(path)
    assert not storage.exists(path)


@everywhere
def test_a_directory_is_no_file(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/d/x", b"1")
    assert not storage.exists(f"{base}/d")
    for ask in (storage.read, storage.open, storage.size):
        with pytest.raises(NotFound):
            ask(f"{base}/d")


@everywhere
@pytest.mark.parametrize(("offset", "length"), [(0, 4), (3, 1), (4, 0), (2**62, 2**62)])
def test_a_range_past_the_end_is_a_violation(storage: Storage, base: str, offset: int, length: int) -> None:
    storage.write_new(f"{base}/x", b"abc")
    with pytest.raises(FormatViolation, match="got a file of 3 bytes"):
        storage.read_range(f"{base}/x", offset, length)


@everywhere
def test_a_negative_range_is_refused(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/x", b"abc")
    with pytest.raises(InvalidInput, match="expected offset and length from 0"):
        storage.read_range(f"{base}/x", -1, 1)


@everywhere
def test_writing_never_replaces_a_file(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/x", b"first")
    with pytest.raises(AlreadyExists, match=f"{base}/x"):
        storage.write_new(f"{base}/x", b"second")
    with pytest.raises(AlreadyExists), storage.create(f"{base}/x") as stream:
        stream.write(b"third")
    assert storage.read(f"{base}/x") == b"first"
    assert [info.path for info in storage.list(base)] == [f"{base}/x"]


@everywhere
def test_writing_over_replaces_a_file(storage: Storage, base: str) -> None:
    storage.write_over(f"{base}/hint", b"1")
    storage.write_over(f"{base}/hint", b"22")
    assert storage.read(f"{base}/hint") == b"22"
    assert [info.path for info in storage.list(base)] == [f"{base}/hint"]


@everywhere
def test_a_created_file_is_whole_when_the_block_ends(storage: Storage, base: str) -> None:
    with storage.create(f"{base}/d/x") as stream:
        stream.write(b"abc")
        stream.write(b"def")
        assert stream.tell() == 6
    assert storage.read(f"{base}/d/x") == b"abcdef"
    assert [info.path for info in storage.list(base)] == [f"{base}/d/x"]


@where_files_are_renamed
def test_a_created_file_is_not_seen_before_the_block_ends(storage: Storage, base: str) -> None:
    with storage.create(f"{base}/x") as stream:
        stream.write(b"abc")
        stream.flush()
        assert not storage.exists(f"{base}/x")


@everywhere
def test_a_block_that_raises_leaves_nothing(storage: Storage, base: str) -> None:
    with pytest.raises(ZeroDivisionError), storage.create(f"{base}/d/x") as stream:
        stream.write(b"abc")
        raise ZeroDivisionError
    assert not storage.exists(f"{base}/d/x")
    assert list(storage.list(base)) == []


@everywhere
def test_a_closed_stream_is_fine(storage: Storage, base: str) -> None:
    with storage.create(f"{base}/x") as stream:
        stream.write(b"abc")
        stream.close()
    assert storage.read(f"{base}/x") == b"abc"


@everywhere
def test_deleting_is_done_once_or_twice(storage: Storage, base: str) -> None:
    for name in "abc":
        storage.write_new(f"{base}/{name}", b"1")
    storage.delete(f"{base}/a")
    storage.delete(f"{base}/a")
    storage.delete(f"{base}/nowhere/at/all")
    assert [info.path for info in sorted(storage.list(base), key=lambda i: i.path)] == [f"{base}/b", f"{base}/c"]
    storage.delete_many(f"{base}/{name}" for name in "abcd")
    storage.delete_many([])
    assert list(storage.list(base)) == []


@everywhere
def test_a_listing_has_all_depths_with_sizes_and_times(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/a", b"1")
    storage.write_new(f"{base}/d/b", b"22")
    storage.write_new(f"{base}/d/e/c", b"333")
    storage.write_new(f"{base}-beside/x", b"not under it")
    for prefix in (base, base + "/"):
        found = {info.path: info for info in storage.list(prefix)}
        assert {path: info.size_in_bytes for path, info in found.items()} == {
            f"{base}/a": 1,
            f"{base}/d/b": 2,
            f"{base}/d/e/c": 3,
        }
        assert all(info.modified_ms > 1_600_000_000_000 for info in found.values())
    assert list(storage.list(f"{base}/nowhere")) == []


@everywhere
def test_children_are_the_names_one_level_down(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/z", b"1")
    storage.write_new(f"{base}/d/e/c", b"333")
    storage.make_directory(f"{base}/empty/inner")
    found = [(child.name, child.is_directory) for child in storage.children(base)]
    assert found == [("d", True), ("empty", True), ("z", False)]
    assert storage.children(f"{base}/nowhere") in ([], ())


@everywhere
def test_directories_are_made_and_removed_when_empty(storage: Storage, base: str) -> None:
    storage.make_directory(f"{base}/d/e")
    storage.make_directory(f"{base}/d/e")
    assert [child.name for child in storage.children(f"{base}/d")] == ["e"]
    storage.write_new(f"{base}/d/e/x", b"1")
    with pytest.raises(OSError):
        storage.remove_directory(f"{base}/d")
    assert storage.read(f"{base}/d/e/x") == b"1"
    storage.delete(f"{base}/d/e/x")
    storage.remove_directory(f"{base}/d")
    storage.remove_directory(f"{base}/d")
    assert "d" not in [child.name for child in storage.children(base)]


@where_files_are_renamed
def test_a_moved_file_has_only_its_new_name(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/from", b"abc")
    storage.move_new(f"{base}/from", f"{base}/d/to")
    assert not storage.exists(f"{base}/from")
    assert storage.read(f"{base}/d/to") == b"abc"


@where_files_are_renamed
def test_a_move_never_replaces_a_file(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/from", b"abc")
    storage.write_new(f"{base}/to", b"first")
    with pytest.raises(AlreadyExists, match=f"{base}/to"):
        storage.move_new(f"{base}/from", f"{base}/to")
    assert storage.read(f"{base}/to") == b"first"
    assert storage.read(f"{base}/from") == b"abc"


@where_files_are_renamed
def test_a_move_of_nothing_is_not_found(storage: Storage, base: str) -> None:
    with pytest.raises(NotFound, match=f"{base}/from"):
        storage.move_new(f"{base}/from", f"{base}/to")


@pytest.mark.parametrize("place", ["local", "local not durable", "memory", "faulty", "routing"], indirect=True)
def test_of_many_writers_of_one_path_one_wins(storage: Storage, base: str) -> None:
    won: list[int] = []
    start = threading.Barrier(8)

    def write(number: int, move: bool) -> None:
        if move:
            storage.write_new(f"{base}/unique-{number}", b"%d" % number)
        start.wait()
        try:
            if move:
                storage.move_new(f"{base}/unique-{number}", f"{base}/x")
            else:
                storage.write_new(f"{base}/x", b"%d" % number)
        except AlreadyExists:
            return
        won.append(number)

    threads = [threading.Thread(target=write, args=(i, i % 2 == 0)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.read(f"{base}/x") == b"%d" % won[0]


@everywhere
def test_a_relative_path_is_refused(storage: Storage) -> None:
    with pytest.raises(InvalidInput, match="expected an absolute path"):
        storage.read("a/b")


@pytest.mark.parametrize("place", ["local", "arrow", "arrow object store", "routing", "routing memory"], indirect=True)
def test_a_storage_pickles(storage: Storage, base: str) -> None:
    storage.write_new(f"{base}/x", b"abc")
    again = pickle.loads(pickle.dumps(storage))
    assert again.read(f"{base}/x") == b"abc"


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Storage]:
    (tmp_path / "t" / "data").mkdir(parents=True)
    (tmp_path / "t" / "data" / "x").write_bytes(b"abc")
    yield MovedStorage(LocalStorage(), {"s3://lake/db": str(tmp_path), "file:/golden/": str(tmp_path / "t")})


@pytest.mark.parametrize("path", ["s3://lake/db/t/data/x", "file:///golden/data/x", "/golden/data/x"])
def test_a_copied_table_is_read_by_its_old_locations(copied: Storage, path: str) -> None:
    assert isinstance(copied, Storage)
    assert copied.read(path) == b"abc"
    assert copied.read_range(path, 1, 1) == b"b"
    assert copied.size(path) == 3
    assert copied.exists(path)
    with copied.open(path) as file:
        assert file.read() == b"abc"
    directory = path.removesuffix("/x")
    assert [info.path for info in copied.list(directory)] == [path]
    assert [child.name for child in copied.children(directory)] == ["x"]
