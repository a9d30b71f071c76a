"""Statistics files that are registered, but of no use: passed over with a warning that names them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import skipstone
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
