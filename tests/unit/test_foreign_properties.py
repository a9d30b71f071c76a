"""Table properties that another engine set to what nobody here can read: what still works, and how to mend them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import skipstone
from skipstone import Lake
from skipstone.errors import InvalidInput
from skipstone.storage.paths import local_path

UNREAD = "what nobody here can read"
# Reads and commits go on; only what the property is about may be refused.
HINTS = [
    "commit.retry.num-retries",
    "commit.retry.total-timeout-ms",
    "commit.status-check.num-retries",
    "read.split.target-size",
    "read.split.open-file-cost",
    "read.parquet.vectorization.batch-size",
    "write.summary.partition-limit",
    "skipstone.index.enabled",
    "skipstone.index.sidecar-min-files",
]
BINDING = ["write.format.default", "write.parquet.compression-codec", "commit.manifest.target-size-bytes"]


def lake_with(tmp_path: Path, key: str) -> Lake:
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", str(tmp_path / "lake")
    table = skipstone.catalog(uri, warehouse=warehouse).create_table("db.t", [("id", "long"), ("s", "string")])
    table.append([{"id": 1, "s": "a"}])
    path = Path(local_path(table.metadata_location))
    stored = json.loads(path.read_text())
    stored["properties"][key] = UNREAD
    path.write_text(json.dumps(stored))
    return skipstone.catalog(uri, warehouse=warehouse)


@pytest.mark.parametrize("key", HINTS)
def test_it_ends_no_read_and_no_commit_that_it_has_no_part_in(tmp_path: Path, key: str) -> None:
    table = lake_with(tmp_path, key).load_table("db.t")
    assert table.scan("id = 1").count() == 1
    assert len(table.scan().tasks()) > 0
    table.append([{"id": 2, "s": "b"}])
    table.delete("id = 1")
    assert table.scan().to_arrow().column("id").to_pylist() == [2]
    assert table.properties[key] == UNREAD
    table.remove_properties(key)
    assert key not in table.properties


@pytest.mark.parametrize("key", BINDING)
def test_what_a_file_depends_on_is_refused_when_it_is_written_and_can_be_mended(tmp_path: Path, key: str) -> None:
    table = lake_with(tmp_path, key).load_table("db.t")
    assert table.scan("id = 1").to_arrow().num_rows == 1
    with pytest.raises(InvalidInput, match=f"Invalid table property {key}: expected .*{UNREAD}"):
        table.append([{"id": 2, "s": "b"}])
    table.create_tag("before")
    table.set_properties({"owner": "me"})
    with pytest.raises(InvalidInput, match=key):
        table.set_properties({key: "wrong, too"})
    table.remove_properties(key)
    table.append([{"id": 2, "s": "b"}])
    assert table.scan().count() == 2
