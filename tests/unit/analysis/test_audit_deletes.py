"""What manifests say about delete files: a wrong count is planted, found at its place, and repaired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skipstone
from skipstone.commit.manifests import entries_of
from skipstone.commit.merging import carried
from skipstone.commit.writing import store_entries
from skipstone.maintenance.metrics_repair import with_facts
from skipstone.maintenance.relisting import Relisting
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.plan.entries import DELETE_COLUMNS, read_live_entries
from skipstone.plan.snapshot_manifests import manifests_of

ROWS = pa.table({"id": pa.array(range(20), pa.int64()), "state": ["CA", "NY"] * 10})


@dataclass(frozen=True, kw_only=True, eq=False)
class Misstate(Relisting):
    """Lists delete files again, with other facts."""

    facts: dict[Any, dict[str, Any]] = field(default_factory=dict)
    operation: str = "planting"  # type: ignore[misc]

    def relisted(
        self, before: Sequence[ManifestFile], metadata: Any, context: Any, snapshot_id: int
    ) -> Sequence[ManifestFile]:
        made: list[ManifestFile] = []
        for manifest in before:
            if manifest.content == ManifestContent.DATA:
                made.append(manifest)
                continue
            entries = carried(entries_of(context.storage, metadata, manifest, maps=True), snapshot_id)
            made += store_entries(
                with_facts(entries, self.facts),
                spec=metadata.spec(manifest.partition_spec_id),
                content=manifest.content,
                metadata=metadata,
                staging=context.staging,
                snapshot_id=snapshot_id,
            )
        return made


def make_table(home: Path, format_version: int) -> Any:
    catalog = skipstone.catalog(str(home / "lake"))
    properties = {"write.delete.mode": "merge-on-read"}
    made = catalog.create_table(
        "db.t", ROWS.schema, partition_by=["state"], format_version=format_version, properties=properties
    )
    made.append(ROWS)
    made.delete("id IN (2, 3, 5)")
    return made


def deletes_of(table: Any) -> list[dict[str, Any]]:
    listed = [m for m in manifests_of(table.current_snapshot, table.metadata, table.storage) if m.content]
    found: list[dict[str, Any]] = read_live_entries(
        listed, table.metadata, table.storage, columns=DELETE_COLUMNS
    ).to_pylist()
    return [{**entry, "stored_in": listed[entry["manifest"]].manifest_path} for entry in found]


def key_of(entry: dict[str, Any]) -> Any:
    path, offset = entry["file_path"], entry["content_offset"]
    return path if offset is None else (path, offset)


@pytest.mark.parametrize("format_version", [2, 3])
@pytest.mark.parametrize("fact", ["record_count", "file_size_in_bytes"])
def test_each_fact_about_a_delete_file_is_put_right(tmp_path: Path, format_version: int, fact: str) -> None:
    table = make_table(tmp_path, format_version)
    assert table.audit().is_clean
    right = deletes_of(table)
    assert len(right) == 2
    chosen = right[0]
    table._apply(Misstate(facts={key_of(chosen): {fact: 77}}))
    stored_in = next(d["stored_in"] for d in deletes_of(table) if key_of(d) == key_of(chosen))
    (finding,) = (f for f in table.audit(repair=True).findings if not f.fact.startswith("total-"))
    assert (finding.stored_in, finding.fact, finding.stored, finding.actual) == (stored_in, fact, 77, chosen[fact])
    assert (finding.file_path, finding.content_offset) == (chosen["file_path"], chosen["content_offset"])
    left = table.audit()
    assert left.is_clean, [str(f) for f in left.findings]
    assert [d[fact] for d in deletes_of(table)] == [d[fact] for d in right]  # a vector beside it stays as it was
    assert sorted(table.scan().to_arrow().column("id").to_pylist()) == [i for i in range(20) if i not in (2, 3, 5)]


def test_a_row_that_a_vector_seems_to_delete_is_counted_again(tmp_path: Path) -> None:
    table = make_table(tmp_path, 3)
    table._apply(Misstate(facts={key_of(d): {"record_count": 9} for d in deletes_of(table)}))
    assert table.scan().count() == 2  # what a wrong count does
    table.audit(repair=True)
    assert table.scan().count() == 17


@pytest.mark.parametrize("format_version", [2, 3])
def test_a_delete_file_that_cannot_be_read_is_a_finding_that_stays(tmp_path: Path, format_version: int) -> None:
    table = make_table(tmp_path, format_version)
    path = deletes_of(table)[0]["file_path"]
    Path(path.removeprefix("file:")).write_bytes(b"nothing of use")
    found = table.audit(repair=True).findings
    assert {f.fact for f in found} == {"file"}
    assert all(path in f.about for f in found)
    assert {f.fact for f in table.audit().findings} == {"file"}


def test_equality_deletes_are_counted_by_their_rows(tmp_path: Path) -> None:
    catalog = skipstone.catalog(str(tmp_path / "lake"))
    table = catalog.create_table("db.e", ROWS.schema, properties={"write.upsert.mode": "equality-delete"})
    table.append(ROWS)
    table.upsert(ROWS.slice(0, 3), on=["id"])
    (entry,) = deletes_of(table)
    assert entry["equality_ids"] and table.audit().is_clean
    assert pq.read_table(entry["file_path"].removeprefix("file:")).num_rows == 3
    table._apply(Misstate(facts={entry["file_path"]: {"record_count": 4}}))
    assert "record_count" in {f.fact for f in table.audit(repair=True).findings}
    assert table.audit().is_clean
