"""The writers of the data source without Spark: files go when a job fails, and stay when nobody knows that it did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T

import skipstone
from skipstone.errors import CommitOutcomeUnknown, CommitRejected, InvalidInput
from skipstone.spark.source_options import SourceOptions
from skipstone.spark.source_write import BatchWriter, StreamWriter
from skipstone.table import Table

SCHEMA = T.StructType().add("ID", "long").add("u", "string")
UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"


@pytest.fixture
def options(tmp_path: Path) -> SourceOptions:
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", str(tmp_path / "lake")
    skipstone.catalog(uri, warehouse=warehouse).create_table("db.t", [("id", "long"), ("u", "uuid")])
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "metadata").write_text(json.dumps({"id": "query-1"}))
    checkpoint = str(tmp_path / "checkpoint")
    return SourceOptions.of({"catalog": uri, "warehouse": warehouse, "path": "db.t", "checkpointLocation": checkpoint})


def rows(*ids: int) -> Any:
    return iter([pa.record_batch({"ID": pa.array(ids, pa.int64()), "u": [UUID] * len(ids)})])


def count_files(tmp_path: Path) -> int:
    return len(list((tmp_path / "lake").rglob("*.parquet")))


def written(options: SourceOptions) -> list[int]:
    found: list[int] = sorted(options.table().scan().to_arrow().column("id").to_pylist())
    return found


def test_tasks_that_did_well_in_a_failed_job_leave_nothing(options: SourceOptions, tmp_path: Path) -> None:
    writer = BatchWriter(options, SCHEMA, False)
    messages = [writer.write(rows(1)), writer.write(rows(2))]
    assert count_files(tmp_path) == 2
    writer.abort([messages[0], None, messages[1]])
    assert (count_files(tmp_path), written(options)) == (0, [])


def test_a_job_is_committed_whole(options: SourceOptions) -> None:
    writer = BatchWriter(options, SCHEMA, False)
    writer.commit([writer.write(rows(1)), writer.write(rows()), writer.write(rows(2))])
    assert written(options) == [1, 2]
    writer.commit([writer.write(rows())])
    assert len(options.table().snapshots) == 1
    replacing = BatchWriter(options, SCHEMA, True)
    replacing.commit([replacing.write(rows(3))])
    assert written(options) == [3]
    replacing.commit([replacing.write(rows())])
    assert written(options) == []


@pytest.mark.parametrize(("error", "left"), [(CommitRejected, 0), (CommitOutcomeUnknown, 1)])
def test_files_go_only_if_nothing_was_published(
    options: SourceOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Any, left: int
) -> None:
    def fail(table: Table, change: Any) -> None:
        raise error("no")

    monkeypatch.setattr(Table, "apply", fail)
    for writer in (BatchWriter(options, SCHEMA, False), StreamWriter(options, SCHEMA, False)):
        batch: tuple[int, ...] = (0,) if isinstance(writer, StreamWriter) else ()
        messages: list[Any] = [writer.write(rows(1))]
        with pytest.raises(error):
            writer.commit(messages, *batch)
        writer.abort(messages, *batch)  # Spark calls it after a commit that failed
        assert count_files(tmp_path) == left
        for path in (tmp_path / "lake").rglob("*.parquet"):
            path.unlink()


def test_a_batch_that_is_tried_again_leaves_no_files(options: SourceOptions, tmp_path: Path) -> None:
    for _ in range(2):
        writer = StreamWriter(options, SCHEMA, False)
        writer.commit([writer.write(rows(1)), writer.write(rows(2))], 7)
    assert (written(options), count_files(tmp_path)) == ([1, 2], 2)
    assert options.table().properties["skipstone.stream.query-1"] == "7"


def test_a_query_without_an_id_is_refused(options: SourceOptions, tmp_path: Path) -> None:
    plain = {k: v for k, v in options.given.items() if k != "checkpointlocation"}
    for more, message in (
        ({}, "checkpointLocation"),
        ({"checkpointlocation": str(tmp_path / "no")}, "option query-id"),
    ):
        writer = StreamWriter(SourceOptions.of({**plain, **more}), SCHEMA, False)
        with pytest.raises(InvalidInput, match=message):
            writer.commit([], 0)
    named = StreamWriter(SourceOptions.of({**plain, "query-id": "mine"}), SCHEMA, False)
    named.commit([named.write(rows(1))], 0)
    assert options.table().properties["skipstone.stream.mine"] == "0"


def test_rows_that_do_not_fit_are_refused(options: SourceOptions, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"Cannot write column 'other': db.t does not have it"):
        BatchWriter(options, T.StructType().add("other", "long"), False)
    writer = BatchWriter(options, SCHEMA, False)
    with pytest.raises(InvalidInput, match="Cannot write column 'u': expected a uuid, got 'text'"):
        writer.write(iter([pa.record_batch({"ID": [1], "u": ["text"]})]))
    assert count_files(tmp_path) == 0
