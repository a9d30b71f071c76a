"""What a manifest list and a summary say: a wrong fact of each kind is planted, found at its place, and repaired."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
from skipstone.commit import manifests as kept
from skipstone.index.loading import forget_opened
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_list import write_manifest_list
from skipstone.plan.snapshot_manifests import manifests_of

ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "x": pa.array([(None, float("nan"), 1.5, 2.5)[i % 4] for i in range(40)]),
    }
)
Change = Callable[[ManifestFile], ManifestFile]


def make_table(home: Path, format_version: int = 2) -> Any:
    catalog = skipstone.catalog(str(home / "lake"))
    properties = {"write.delete.mode": "merge-on-read"}
    made = catalog.create_table(
        "db.t", ROWS.schema, partition_by=["id"], format_version=format_version, properties=properties
    )
    made.append(ROWS.slice(0, 4))
    made.append(ROWS.slice(4, 4))
    return made


def by_float(home: Path) -> Any:
    """A table whose files lie by a float that may be null and NaN."""
    made = skipstone.catalog(str(home / "lake")).create_table("db.f", ROWS.schema, partition_by=["x"])
    made.append(ROWS.slice(0, 4))
    return made


def plant(table: Any, change: Change, content: ManifestContent = ManifestContent.DATA) -> str:
    """Change what the list of the current snapshot says about its first manifest of a kind, where it is stored."""
    snapshot = table.current_snapshot
    listed = list(manifests_of(snapshot, table.metadata, table.storage))
    place = next(i for i, m in enumerate(listed) if m.content == content)
    listed[place] = change(listed[place])
    written = write_manifest_list(
        listed,
        format_version=table.metadata.format_version,
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        first_row_id=snapshot.first_row_id,
    )
    Path(snapshot.manifest_list.removeprefix("file:")).write_bytes(written.data)
    kept._lists._kept.clear()
    forget_opened()
    return listed[place].manifest_path


def of_field(**facts: Any) -> Change:
    """Another summary of the first partition field."""

    def change(manifest: ManifestFile) -> ManifestFile:
        assert manifest.partitions is not None
        first, *rest = manifest.partitions
        return replace(manifest, partitions=(replace(first, **facts), *rest))

    return change


def found_and_repaired(table: Any, path: str) -> dict[str, tuple[Any, Any]]:
    """Stored and actual values by fact, all about one manifest; after a repair none is wrong."""
    rows, stored_in = table.scan().to_arrow().num_rows, table.current_snapshot.manifest_list
    report = table.audit(repair=True)
    assert all(f.stored_in == stored_in and path in f.about and f.manifest_path == path for f in report.findings)
    left = table.audit()
    assert left.is_clean, [str(f) for f in left.findings]
    assert table.scan().to_arrow().num_rows >= rows
    return {f.fact: (f.stored, f.actual) for f in report.findings}


@pytest.mark.parametrize("format_version", [1, 2, 3])
@pytest.mark.parametrize("word", ["added", "existing", "deleted"])
@pytest.mark.parametrize("what", ["files", "rows"])
def test_each_count_is_audited(tmp_path: Path, format_version: int, word: str, what: str) -> None:
    table, name = make_table(tmp_path, format_version), f"{word}_{what}_count"
    path = plant(table, lambda m: replace(m, **{name: 77}))
    assert found_and_repaired(table, path) == {name: (77, 4 if word == "added" else 0)}


def test_a_manifest_that_seems_empty_has_its_rows_again(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    path = plant(table, lambda m: replace(m, added_files_count=0))
    assert table.scan().count() == 4  # what a wrong count does
    assert found_and_repaired(table, path) == {"added_files_count": (0, 4)}
    assert table.scan().count() == 8


def test_a_filter_that_lost_a_manifest_finds_it_again(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    path = plant(table, of_field(upper_bound=struct.pack("<q", 5)))
    assert table.scan("id = 7").count() == 0  # what a wrong bound does
    assert found_and_repaired(table, path) == {"upper_bound": (5, 7)}
    assert table.scan("id = 7").count() == 1


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"lower_bound": struct.pack("<q", 6)}, {"lower_bound": (6, 4)}),
        ({"lower_bound": b"?"}, {"lower_bound": (b"?", 4)}),
        ({"contains_null": True}, {"contains_null": (True, False)}),
        ({"contains_nan": True}, {"contains_nan": (True, False)}),
        ({"contains_nan": None}, {}),
        ({"lower_bound": struct.pack("<q", -6), "upper_bound": struct.pack("<q", 99)}, {}),
    ],
)
def test_a_summary_has_to_admit_to_every_tuple(tmp_path: Path, facts: Any, found: Any) -> None:
    table = make_table(tmp_path)
    assert found_and_repaired(table, plant(table, of_field(**facts))) == found


def test_without_bounds_a_value_is_denied(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    path = plant(table, of_field(contains_null=True, lower_bound=None, upper_bound=None))
    assert table.scan("id = 7").count() == 0
    assert found_and_repaired(table, path).keys() == {"contains_null", "lower_bound", "upper_bound"}
    assert table.scan("id = 7").count() == 1


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"contains_null": False}, {"contains_null": (False, True)}),
        ({"contains_nan": False}, {"contains_nan": (False, True)}),
        ({"upper_bound": struct.pack("<d", 2.0)}, {"upper_bound": (2.0, 2.5)}),
    ],
)
def test_nulls_and_nans_are_not_denied(tmp_path: Path, facts: Any, found: Any) -> None:
    table = by_float(tmp_path)
    assert found_and_repaired(table, plant(table, of_field(**facts))) == found


def test_the_rest_of_what_is_said_about_a_manifest(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    path = plant(table, lambda m: replace(m, manifest_length=3, min_sequence_number=99, partitions=m.partitions * 2))
    found = found_and_repaired(table, path)
    assert found.pop("manifest_length")[0] == 3
    assert found == {"min_sequence_number": (99, 2), "field summaries": (2, 1)}


def test_tuples_of_deleted_entries_may_be_in_a_summary(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.delete("id = 4")  # the file goes, and its entry stays as a deleted one
    assert table.audit().is_clean
    plant(table, of_field(lower_bound=struct.pack("<q", 5)))
    assert table.audit().is_clean


@pytest.mark.parametrize("format_version", [2, 3])
def test_summaries_of_delete_manifests_are_audited_too(tmp_path: Path, format_version: int) -> None:
    catalog = skipstone.catalog(str(tmp_path / "lake"))
    properties = {"write.delete.mode": "merge-on-read"}
    table = catalog.create_table("db.t", ROWS.schema, format_version=format_version, properties=properties)
    table.append(ROWS)
    table.delete("id = 3")
    path = plant(table, lambda m: replace(m, added_files_count=0), ManifestContent.DELETES)
    assert found_and_repaired_deletes(table, path) == {"added_files_count": (0, 1)}


def found_and_repaired_deletes(table: Any, path: str) -> dict[str, tuple[Any, Any]]:
    report = table.audit(repair=True)
    assert {f.manifest_path for f in report.findings} == {path}
    assert table.audit().is_clean
    assert table.scan("id = 3").count() == 0
    return {f.fact: (f.stored, f.actual) for f in report.findings}


@dataclass(frozen=True, eq=False)
class OtherSummary:
    facts: dict[str, str]
    operation: str = "summary"

    def apply(self, base: Any, current: Any, context: Any) -> Any:
        last = current.current_snapshot
        wrong = replace(last, summary={**last.summary, **self.facts})
        return replace(current, snapshots=tuple(wrong if s is last else s for s in current.snapshots))


@pytest.mark.parametrize(
    "name",
    [
        "total-records",
        "total-files-size",
        "total-data-files",
        "total-delete-files",
        "total-position-deletes",
        "total-equality-deletes",
    ],
)
def test_each_total_of_a_summary_is_audited(tmp_path: Path, name: str) -> None:
    table = make_table(tmp_path)
    table._apply(OtherSummary({name: "777"}))
    wrong = table.current_snapshot
    (finding,) = table.audit(repair=True).findings
    assert (finding.stored_in, finding.fact, finding.stored) == ("table metadata", name, "777")
    assert str(wrong.snapshot_id) in finding.about
    assert table.audit().is_clean
    assert table.current_snapshot.parent_snapshot_id == wrong.snapshot_id
    # What is past stays as it was told, and stays a finding.
    assert {f.fact for f in table.audit(snapshot_id=wrong.snapshot_id).findings} == {name}
    last = table.current_snapshot
    table.audit(snapshot_id=wrong.snapshot_id, repair=True)
    assert table.current_snapshot == last
