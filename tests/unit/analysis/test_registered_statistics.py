"""Statistics files that are registered, but of no use: passed over with a warning that names them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
from skipstone.analysis.sketches import load_sketches, read_sketches
from skipstone.metadata.blobs.puffin import PuffinWriter, parse_footer, read_blob
from skipstone.stats.blob_checksums import CHECKSUM
from skipstone.stats.labels import StatisticsIgnored

ROWS = pa.table({"id": pa.array(range(20), pa.int64()), "state": ["CA", "NY"] * 10})
GONE = 4711


@dataclass(frozen=True, eq=False)
class OfGoneSnapshots:
    """Registers the statistics of the table once more, for a snapshot that it does not have."""

    only: bool = False
    operation: str = "registration"

    def apply(self, base: Any, current: Any, context: Any) -> Any:
        table, parts = current.statistics[-1], current.partition_statistics[-1]
        table = replace(table, snapshot_id=GONE, statistics_path=table.statistics_path + "-gone")
        parts = replace(parts, snapshot_id=GONE, statistics_path=parts.statistics_path + "-gone")
        kept = ((), ()) if self.only else (current.statistics, current.partition_statistics)
        return replace(current, statistics=(*kept[0], table), partition_statistics=(*kept[1], parts))


@pytest.fixture
def table(tmp_path: Path) -> Any:
    made = skipstone.catalog(str(tmp_path / "lake")).create_table("db.t", ROWS.schema, partition_by=["state"])
    made.append(ROWS)
    made.analyze()
    made.compute_partition_statistics()
    return made


def named(call: Any) -> tuple[Any, set[str]]:
    """What a call gives, and the ends of the names of the files it passed over."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    texts = [str(w.message) for w in caught if issubclass(w.category, StatisticsIgnored)]
    assert all(str(GONE) in t for t in texts), texts
    return found, {t.split(": ")[0].rpartition("/")[2] for t in texts}


def ends(files: Any) -> set[str]:
    return {f.statistics_path.rpartition("/")[2] for f in files if f.snapshot_id == GONE}


def test_files_of_a_gone_snapshot_are_named_where_statistics_are_looked_up(table: Any) -> None:
    table._apply(OfGoneSnapshots())
    sketches, parts = ends(table.metadata.statistics), ends(table.metadata.partition_statistics)
    known, passed_over = named(table.statistics)
    assert passed_over == sketches
    assert known.column("id").ndv.value == 20
    found, passed_over = named(table.partition_statistics)
    assert passed_over == parts
    assert found.rows.column("data_record_count").to_pylist() == [10, 10]


def test_they_are_named_where_there_are_no_others(table: Any) -> None:
    table._apply(OfGoneSnapshots(only=True))
    sketches, parts = ends(table.metadata.statistics), ends(table.metadata.partition_statistics)
    assert named(table.partition_statistics) == (None, parts)
    assert named(lambda: table.analyze(full=True))[1] == sketches
    found, passed_over = named(table.compute_partition_statistics)
    assert passed_over == parts
    assert found.rows.column("data_record_count").to_pylist() == [10, 10]


def test_a_sketch_of_a_gone_snapshot_tells_nothing_about_the_layout(table: Any) -> None:
    table._apply(OfGoneSnapshots(only=True))
    assert named(table.layout)[1] == ends(table.metadata.statistics)


def test_registered_files_that_are_missing_are_named(table: Any) -> None:
    for file in (*table.metadata.statistics, *table.metadata.partition_statistics):
        Path(file.statistics_path.removeprefix("file:")).unlink()
    with pytest.warns(StatisticsIgnored, match="partition-stats-"):
        assert table.partition_statistics() is None
    with pytest.warns(StatisticsIgnored, match=r"\.stats"):
        table.analyze(["id"], full=True)


def test_a_wrong_bit_in_a_puffin_file_never_tells_another_number(table: Any) -> None:
    (file,) = table.metadata.statistics
    path = Path(file.statistics_path.removeprefix("file:"))
    data = path.read_bytes()
    true = read_sketches(file, table.storage)
    noticed = 0
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", StatisticsIgnored)
            found = load_sketches(file, table.storage)
        if found:
            assert found == true, place
        else:
            noticed += 1
            assert path.name in str(told[0].message)
    # What is left is the name of whoever created the file, and names of checksums.
    assert noticed > len(data) * 0.8


def test_a_blob_that_is_kept_is_checked_first_and_keeps_what_it_said(table: Any) -> None:
    (file,) = table.metadata.statistics
    before = read_sketches(file, table.storage)
    plain = {b.fields: b.properties for b in parse_footer(table.storage.read(file.statistics_path)).blobs}
    (_, state) = (table.schema.field(n).id for n in ("id", "state"))
    table.append(ROWS)
    table.analyze(["id"], full=True)
    kept = table.metadata.statistics[-1]
    assert read_sketches(kept, table.storage)[state] == before[state]
    blobs = {b.fields: b.properties for b in parse_footer(table.storage.read(kept.statistics_path)).blobs}
    assert blobs[(state,)] == plain[(state,)] and CHECKSUM in blobs[(state,)]


def test_a_sketch_of_another_engine_gets_a_checksum_where_it_is_kept(table: Any) -> None:
    (file,) = table.metadata.statistics
    path = Path(file.statistics_path.removeprefix("file:"))
    data = path.read_bytes()
    writer = PuffinWriter()
    for blob in parse_footer(data).blobs:
        theirs = {k: v for k, v in blob.properties.items() if k != CHECKSUM}
        writer.add(
            type=blob.type,
            fields=blob.fields,
            snapshot_id=blob.snapshot_id,
            sequence_number=blob.sequence_number,
            data=read_blob(data, blob),
            properties=theirs,
        )
    path.write_bytes(writer.finish().data)
    sketches = read_sketches(file, table.storage)
    assert sketches.keys() == {1, 2}
    table.append(ROWS)
    table.analyze(["id"], full=True)
    kept = table.metadata.statistics[-1]
    assert read_sketches(kept, table.storage)[2] == sketches[2]
    assert all(CHECKSUM in b.properties for b in parse_footer(table.storage.read(kept.statistics_path)).blobs)
