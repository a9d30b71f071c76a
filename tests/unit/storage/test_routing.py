"""Which storage a location gets."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from skipstone.errors import InvalidInput, Unsupported
from skipstone.storage import ArrowStorage, LocalStorage, MemoryStorage
from skipstone.storage.memory import SHARED
from skipstone.storage.routing import RoutingStorage, storage_for

S3 = {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.region": "eu-1"}


def test_a_scheme_has_its_storage() -> None:
    storage = RoutingStorage(S3 | {"s3.connect-timeout": "1", "s3.force-virtual-addressing": "false"})
    assert isinstance(storage.of("/a"), LocalStorage)
    assert storage.of("/a") is storage.of("file:///b")
    assert storage.of("memory://x/a") is SHARED
    assert isinstance(storage.of("s3://bucket/a"), ArrowStorage)
    assert isinstance(storage.of("s3a://bucket/a"), ArrowStorage)
    assert storage.of("s3://bucket/a") is storage.of("s3://other/b")


@pytest.mark.parametrize("location", ["ftp://host/x", "http://host/x", "abfss://c@a/x"])
def test_an_unknown_scheme_is_unsupported_and_the_known_ones_are_named(location: str) -> None:
    with pytest.raises(Unsupported, match=r"expected a path or one of file:, s3://"):
        storage_for().read(location)


@pytest.mark.parametrize(
    ("option", "value"), [("local.durable", "maybe"), ("s3.anonymous", "1"), ("s3.connect-timeout", "soon")]
)
def test_an_option_that_cannot_be_read_is_refused(option: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"Invalid storage option {option}: expected"):
        storage_for({option: value}).exists("/x" if option.startswith("local") else "s3://b/x")


def test_a_port_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidInput, match="got port 'x'"):
        storage_for().read("hdfs://host:x/a")


def test_files_are_not_renamed_across_file_systems(tmp_path: Path) -> None:
    storage = storage_for()
    storage.write_new(f"{tmp_path}/x", b"1")
    with pytest.raises(InvalidInput, match="two places in one file system"):
        storage.move_new(f"{tmp_path}/x", "memory://routing/x")


def test_files_of_several_file_systems_are_deleted_in_one_call(tmp_path: Path) -> None:
    storage = storage_for()
    paths = [f"{tmp_path}/x", "memory://routing-many/x", f"file:{tmp_path}/y"]
    for path in paths:
        storage.write_new(path, b"1")
    storage.delete_many(paths)
    assert not any(storage.exists(path) for path in paths)


def test_secrets_are_not_shown_but_travel() -> None:
    storage = storage_for(S3)
    assert "s" not in repr(storage).removeprefix("RoutingStorage")
    assert pickle.loads(pickle.dumps(storage))._options == S3


def test_a_private_memory_does_not_leave_the_process() -> None:
    with pytest.raises(InvalidInput, match="another process"):
        pickle.dumps(MemoryStorage())
