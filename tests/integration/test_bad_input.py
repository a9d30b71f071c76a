"""Damaged tables: each damage is one clear error that names the file, and nothing is lost that was there.

After the damage is repaired (the file restored, the pointer set back), the table reads as before.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import skipstone
from skipstone import Lake, Table
from skipstone.catalog import SqlCatalog
from skipstone.errors import CommitRejected, FormatViolation, NotFound, SkipstoneError, Unsupported
from skipstone.storage.local import LocalStorage
from skipstone.storage.paths import local_path

NAME = "db.t"
ROWS = [{"id": i, "v": f"value {i}"} for i in range(100)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path)


def open_lake(home: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home / "lake"))


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def table(request: pytest.FixtureRequest, lake: Lake) -> Table:
    properties = {"write.delete.mode": "merge-on-read"}
    made = lake.create_table(NAME, [("id", "long not null"), ("v", "string")], format_version=request.param,
                             properties=properties)  # fmt: skip
    made.append(ROWS)
    made.delete("id < 10")
    return made


@pytest.fixture(autouse=True)
def without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process that did not write the table itself, and so must read it."""
    monkeypatch.setattr("skipstone.commit.manifests._Kept.find", lambda self, location: None)


def files_of(table: Table) -> dict[str, Path]:
    """One file of each kind that the current snapshot needs."""
    assert table.current_snapshot is not None and table.current_snapshot.manifest_list is not None
    plan = table.scan().plan()
    metadata = Path(local_path(table.metadata_location))
    own = {
        "metadata file": metadata,
        "manifest list": Path(local_path(table.current_snapshot.manifest_list)),
        "data file": Path(local_path(plan.files.column("file_path")[0].as_py())),
        "delete file": Path(local_path(plan.deletes.column("file_path")[0].as_py())),
    }
    manifests = sorted(metadata.parent.glob("*-m*.avro"))
    return own | {"data manifest": manifests[0], "delete manifest": manifests[-1]}


KINDS = ["metadata file", "manifest list", "data manifest", "delete manifest", "data file", "delete file"]


def read_all(home: Path) -> list[int]:
    """As a process that knows nothing of the table yet."""
    return sorted(open_lake(home).load_table(NAME).scan(columns=["id"]).to_arrow().column("id").to_pylist())


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_is_named_and_the_table_is_whole_once_it_is_back(
    table: Table, tmp_path: Path, kind: str
) -> None:
    path = files_of(table)[kind]
    data = path.read_bytes()
    path.unlink()
    with pytest.raises(NotFound) as caught:
        read_all(tmp_path)
    assert path.name in str(caught.value)
    assert_nothing_published(table, tmp_path, lambda t: t.delete("id = 50"))
    path.write_bytes(data)
    assert read_all(tmp_path) == list(range(10, 100))


def cuts(data: bytes) -> Iterator[bytes]:
    """A file cut at several places, emptied, with its end or its middle overwritten."""
    for share in (0.0, 0.1, 0.5, 0.9):
        yield data[: int(len(data) * share)]
    yield data[:-1]
    yield data[:-8] + b"\xff" * 8
    yield b"\x00" * len(data)


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_named_and_the_table_is_whole_once_it_is_repaired(
    table: Table, tmp_path: Path, kind: str
) -> None:
    path = files_of(table)[kind]
    data = path.read_bytes()
    vector = table.scan().plan().deletes.to_pylist()[0]
    vector_end = (vector["content_offset"] or 0) + (vector["content_size_in_bytes"] or 0)
    for damaged in cuts(data):
        path.write_bytes(damaged)
        if path.suffix == ".puffin" and damaged.startswith(data[:vector_end]):
            # A vector lies where the manifest says and has a checksum of its own; the footer is not needed for it.
            assert read_all(tmp_path) == list(range(10, 100))
            continue
        with pytest.raises(FormatViolation) as caught:
            read_all(tmp_path)
        assert path.name in str(caught.value)
        assert str(caught.value).startswith(("Invalid", "Cannot"))
    path.write_bytes(data)
    assert read_all(tmp_path) == list(range(10, 100))


def assert_nothing_published(table: Table, home: Path, work: Callable[[Table], Any]) -> None:
    """A change that needs what is not there fails and leaves the catalog as it was."""
    before = pointer(home)
    with pytest.raises(SkipstoneError):
        work(open_lake(home).load_table(NAME))
    assert pointer(home) == before == table.metadata_location


def pointer(home: Path) -> str:
    with sa.create_engine(f"sqlite:///{home}/catalog.db").connect() as connection:
        return str(connection.execute(sa.text("SELECT metadata_location FROM iceberg_tables")).scalar_one())


def point_to(home: Path, location: str | None) -> None:
    with sa.create_engine(f"sqlite:///{home}/catalog.db").begin() as connection:
        connection.execute(sa.text("UPDATE iceberg_tables SET metadata_location = :l"), {"l": location})


def altered(table: Table, change: Callable[[dict[str, Any]], Any]) -> str:
    """Another metadata file beside the table's own, with something changed."""
    path = Path(local_path(table.metadata_location))
    document = json.loads(path.read_text())
    change(document)
    other = path.with_name(f"99999-{uuid.uuid4()}.metadata.json")
    other.write_text(json.dumps(document))
    return str(other)


def test_a_catalog_row_that_points_nowhere_says_so(table: Table, tmp_path: Path) -> None:
    right = table.metadata_location
    for wrong in (f"{right}.gone", str(tmp_path / "no" / "such" / "v1.metadata.json")):
        point_to(tmp_path, wrong)
        with pytest.raises(NotFound, match=r"Cannot load table db\.t: its metadata file .* does not exist") as caught:
            read_all(tmp_path)
        assert wrong in str(caught.value)
    point_to(tmp_path, None)
    with pytest.raises(FormatViolation, match=r"catalog row of table db\.t"):
        read_all(tmp_path)
    point_to(tmp_path, str(tmp_path / "lake"))
    with pytest.raises((NotFound, FormatViolation), match="lake"):
        read_all(tmp_path)
    point_to(tmp_path, right)
    assert read_all(tmp_path) == list(range(10, 100))


def test_a_table_whose_uuid_changed_is_neither_refreshed_nor_committed_to(table: Table, tmp_path: Path) -> None:
    right = table.metadata_location
    other = altered(table, lambda d: d.update({"table-uuid": str(uuid.uuid4())}))
    point_to(tmp_path, other)
    with pytest.raises(FormatViolation, match="UUID"):
        table.refresh()
    with pytest.raises(CommitRejected, match=r"replaced by another|Load the table again"):
        table.append(ROWS[:1])
    assert pointer(tmp_path) == other, "the other table is not touched"
    point_to(tmp_path, right)
    table.refresh().append(ROWS[:1])
    assert read_all(tmp_path) == [0, *range(10, 100)]


def test_metadata_of_a_later_version_is_refused_by_number(table: Table, tmp_path: Path) -> None:
    point_to(tmp_path, altered(table, lambda d: d.update({"format-version": 5})))
    with pytest.raises((Unsupported, FormatViolation), match=r"version.*5|5.*version"):
        read_all(tmp_path)
    with pytest.raises(SkipstoneError):
        table.append(ROWS[:1])
    point_to(tmp_path, table.metadata_location)
    assert read_all(tmp_path) == list(range(10, 100))


def test_fields_and_settings_of_the_future_do_not_disturb_reading(table: Table, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["future-field"] = {"a": [1, 2]}
        document["properties"]["write.future.setting"] = "on"
        document["snapshots"][-1]["future-field"] = 7
        document["schemas"][0]["future-field"] = True

    point_to(tmp_path, altered(table, change))
    assert read_all(tmp_path) == list(range(10, 100))


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no current schema": lambda d: d.update({"current-schema-id": 77}),
    "no such snapshot": lambda d: d.update({"current-snapshot-id": 77}),
    "no such spec": lambda d: d.update({"default-spec-id": 77}),
    "no location": lambda d: d.pop("location"),
    "schemas is text": lambda d: d.update({"schemas": "none"}),
    "negative number": lambda d: d.update({"last-sequence-number": -1}),
    "ref to nowhere": lambda d: d["refs"]["main"].update({"snapshot-id": 5}),
    "unknown type": lambda d: d["schemas"][0]["fields"][0].update({"type": "quaternion"}),
    "a field id twice": lambda d: d["schemas"][0]["fields"][1].update({"id": 1}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_metadata_that_contradicts_itself_is_refused_with_its_name(table: Table, tmp_path: Path, damage: str) -> None:
    wrong = altered(table, DAMAGES[damage])
    point_to(tmp_path, wrong)
    with pytest.raises((FormatViolation, Unsupported, NotFound)) as caught:
        read_all(tmp_path)
    assert Path(wrong).name in str(caught.value), str(caught.value)


def test_files_that_are_not_of_a_table_are_not_registered(lake: Lake, tmp_path: Path) -> None:
    lake.create_namespace("db")
    for text in ("", "{}", "[1]", "not json", '{"format-version": 2}'):
        path = tmp_path / "x.metadata.json"
        path.write_text(text)
        with pytest.raises(FormatViolation, match=r"x\.metadata\.json"):
            lake.register_table(NAME, str(path))
    with pytest.raises(NotFound, match=r"nothing\.metadata\.json"):
        lake.register_table(NAME, str(tmp_path / "nothing.metadata.json"))
    assert lake.list_tables("db") == []


def test_a_database_that_is_not_one_says_so(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"this is no database, but a text of some length" * 100)
    with pytest.raises((OSError, SkipstoneError), match=r"catalog\.db|not a database"):
        SqlCatalog(
            f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path), storage=LocalStorage()
        ).list_namespaces()
    assert (tmp_path / "catalog.db").read_bytes().startswith(b"this is no database")
