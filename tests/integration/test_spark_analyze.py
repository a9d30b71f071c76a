"""ANALYZE and the audit as Spark jobs: the same findings as without Spark, in tasks or on the driver."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skipstone
from skipstone.analysis.analyze import analysed_ids, plan_analysis
from skipstone.errors import NotFound
from skipstone.maintenance.metrics_repair import with_facts
from skipstone.metadata.values import serialize_bound
from skipstone.spark import file_tasks
from skipstone.spark.analyze import analyse_files
from skipstone.stats.summary import FileSummary
from skipstone.write import write_rows

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

NAN = float("nan")


@pytest.fixture
def in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little work there is, Spark's tasks do it."""
    monkeypatch.setattr(file_tasks, "_BYTES_HERE_MAX", -1)


def rows(start: int, count: int) -> Any:
    numbers = np.arange(start, start + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "day": pa.array((numbers % 7).astype(np.int32)).cast(pa.int32()),
            "state": pa.array([None if i % 11 == 0 else ("CA", "NY", "", "Zürich")[i % 4] for i in numbers]),
            "x": pa.array([NAN if i % 13 == 0 else -0.0 if i % 5 == 0 else float(i) for i in numbers]),
            "price": pa.array([Decimal(int(i % 50)) for i in numbers], pa.decimal128(9, 2)),
            "inside": pa.array(
                [None if i % 9 == 0 else {"flag": bool(i % 2), "data": bytes([i % 200])} for i in numbers]
            ),
        }
    )


def make_table(home: Path, **options: Any) -> Any:
    lake = skipstone.catalog(str(home / "lake"))
    lake.create_namespace("shop")
    properties = {"write.delete.mode": "merge-on-read"}
    table = lake.create_table(
        "shop.orders", rows(0, 20).schema, format_version=3, properties=properties, partition_by=["day"], **options
    )
    table.append(rows(0, 500))
    table.append(rows(400, 300))
    table.delete("id >= 50 and id < 60")
    return table


def comparable(summaries: list[FileSummary]) -> list[FileSummary]:
    """Sorted, and without the quantiles, of which a sketch keeps some by chance."""
    plain = [replace(s, columns=tuple(replace(c, quantiles=None) for c in s.columns)) for s in summaries]
    return sorted(plain, key=lambda s: s.file_path)


def test_tasks_find_what_an_analysis_without_spark_finds(tmp_path: Path, iceberg_java: Any, in_tasks: None) -> None:
    table = make_table(tmp_path)
    ids = analysed_ids(table.schema, None, table=table.name)
    work = plan_analysis(table.metadata, table.storage, table.current_snapshot, field_ids=ids)
    found = analyse_files(work, iceberg_java, table=table.name)
    assert len(found) == 14
    assert comparable(found) == comparable([work.work().analyse(row) for row in work.rows])


def test_an_analysis_by_spark_is_stored_registered_and_goes_on_from_there(
    tmp_path: Path, iceberg_java: Any, in_tasks: None
) -> None:
    table = make_table(tmp_path)
    first = table.analyze(partitions={"day": 3}, spark=iceberg_java)
    assert (first.files_read, first.files_known) == (2, 0)
    assert table.analyze(spark=iceberg_java).files_read == 12
    assert table.analyze(spark=iceberg_java).files_read == 0
    by_spark = {c.name: c for c in table.statistics().columns.values()}
    assert table.analyze(full=True).files_read == 14
    for column in table.statistics().columns.values():
        assert replace(by_spark[column.name], quantiles=None) == replace(column, quantiles=None)
    assert by_spark["id"].ndv.value == 690 and by_spark["id"].ndv.is_exact
    assert by_spark["x"].quantiles.count == pytest.approx(table.statistics().column("x").quantiles.count)
    assert len(table.metadata.statistics) == 1


def test_what_a_task_raises_is_our_error(tmp_path: Path, iceberg_java: Any, in_tasks: None) -> None:
    table = make_table(tmp_path)
    path = table.inspect.files().column("file_path")[0].as_py()
    Path(path).unlink()
    with pytest.raises(NotFound, match=Path(path).name):
        table.analyze(spark=iceberg_java)


def test_an_audit_by_spark_finds_the_place_and_repairs_it(tmp_path: Path, iceberg_java: Any, in_tasks: None) -> None:
    table = make_table(tmp_path)
    table.compute_partition_statistics()
    table.analyze(full=True, spark=iceberg_java)
    clean = table.audit(spark=iceberg_java)
    assert clean.is_clean and clean.files == 14 and clean.facts == table.audit().facts
    entries = write_rows(rows(2002, 1), metadata=table.metadata, storage=table.storage)
    path = entries.column("file_path")[0].as_py()
    low = serialize_bound(table.schema.field("id").type, 5)
    table.add_files(with_facts(entries, {path: {"lower_bounds": {1: low}, "upper_bounds": {1: low}}}))
    assert table.scan("id > 1000").to_spark(iceberg_java).count() == 0
    report = table.audit(spark=iceberg_java, repair=True)
    assert report.findings == table.audit(snapshot_id=report.snapshot_id).findings
    assert {(f.file_path, f.fact, f.stored, f.actual) for f in report.findings} == {(path, "upper_bound", 5, 2002)}
    assert table.audit(spark=iceberg_java).is_clean
    assert table.scan("id > 1000").to_spark(iceberg_java).count() == 1


def test_work_is_spread_by_bytes() -> None:
    costs = np.array([100, 1, 1, 1, 50, 50, 97])
    portions = [p.tolist() for p in file_tasks.balanced(costs, 3)]
    assert sorted(row for p in portions for row in p) == list(range(7))
    assert [int(costs[p].sum()) for p in portions] == [100, 100, 100]
    assert len(file_tasks.balanced(np.array([5]), 8)) == 1
