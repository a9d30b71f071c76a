"""Small files that are stored while others are made: all there at the end, or none, whatever the storage does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pyarrow as pa
import pytest

from skipstone.metadata.partitions.partition_evolution import build_spec
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.types import LONG, Field
from skipstone.storage import MemoryStorage
from skipstone.storage.faulty import Fault, FaultyStorage, InjectedFault
from skipstone.write import storing, write_rows
from skipstone.write.storing import SmallFiles

FILES = 60
SCHEMA = Schema(fields=(Field(id=1, name="id", type=LONG),))


class Threads(MemoryStorage):
    """Notes which thread stores each file."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def write_new(self, path: str, data: bytes) -> None:
        super().write_new(path, data)
        self.names.append(threading.current_thread().name)


def written(storage: Any) -> pa.Table:
    location = "memory://store/t"
    metadata = new_table_metadata(SCHEMA, location=location, now_ms=0, spec=build_spec(SCHEMA, ["id"]))
    return write_rows(pa.table({"id": list(range(FILES))}), metadata=metadata, storage=storage)


def test_every_file_of_many_is_stored_when_the_write_ends_most_of_them_meanwhile() -> None:
    storage = Threads()
    files = written(storage)
    sizes = {info.path: info.size_in_bytes for info in storage.list("memory://store")}
    assert sizes == dict(zip(files["file_path"].to_pylist(), files["file_size_in_bytes"].to_pylist(), strict=True))
    here = threading.current_thread().name
    assert [name != here for name in sorted(storage.names, key=here.__eq__)] == [True] * 50 + [False] * 10


def test_fewer_files_than_a_lot_need_no_thread() -> None:
    storage = Threads()
    small = SmallFiles(storage)
    for i in range(10):
        small.add(f"memory://store/{i}", b"x")
    assert storage.names == []
    small.finish()
    assert storage.names == [threading.current_thread().name] * 10


@pytest.mark.parametrize("is_answer_lost", [False, True])
@pytest.mark.parametrize("number", [1, 25, 26, 50, 51, FILES])
def test_a_file_that_cannot_be_stored_fails_the_write_and_leaves_none(number: int, is_answer_lost: bool) -> None:
    kept = MemoryStorage()
    fault = Fault(number=number, kinds=frozenset({"write_new"}), is_answer_lost=is_answer_lost)
    with pytest.raises(InjectedFault):
        written(FaultyStorage(kept, [fault]))
    assert list(kept.list("memory://store")) == []


def test_stop_waits_for_what_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_store, stored = threading.Event(), threading.Event(), []

    class Slow(MemoryStorage):
        def write_new(self, path: str, data: bytes) -> None:
            begun.set()
            may_store.wait(60)
            stored.append(path)

    small = SmallFiles(Slow())
    for i in range(30):
        small.add(f"memory://store/{i}", b"x")
    begun.wait(60)
    wait = storing.wait

    def let_go_and_wait(pending: Sequence[Future[None]]) -> Any:
        assert stored == []
        may_store.set()
        return wait(pending)

    monkeypatch.setattr(storing, "wait", let_go_and_wait)
    small.stop()
    assert len(stored) == 25  # the lot that was begun; the other five never were
    assert threading.active_count() == len([t for t in threading.enumerate() if "skipstone-store" not in t.name])
