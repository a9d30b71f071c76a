"""Histograms in Hive's form of what an analysis of our tables found: of partitions, of tables, and merged."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skipstone
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.client import HiveClient
from skipstone.hive.histogram import Histogram, parse_histogram
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.session import HiveSession
from skipstone.hive.store import HiveStore, Layout
from skipstone.lake import Lake
from skipstone.stats.quantiles import RANK_ERROR
from skipstone.stats.sampling import SAMPLE_STRIDES

HISTOGRAMS = {"skipstone.stats.hive-histograms": "true"}
COLUMNS = [
    ("p", "string"), ("i", "int"), ("l", "long"), ("d", "double"), ("f", "float"), ("de", "decimal(12,2)"),
    ("dt", "date"), ("ts", "timestamp"), ("tz", "timestamptz"), ("s", "string"), ("bo", "boolean"),
]  # fmt: skip
WITH_HISTOGRAM = ("i", "l", "d", "f", "de", "dt", "ts", "tz")
START = datetime(2020, 1, 1, 0, 0, 0, 250_000)


def row(part: str, value: int) -> dict[str, Any]:
    moment = START + timedelta(hours=value)
    return {
        "p": part, "i": value, "l": value * 1_000_003, "d": value / 8, "f": value / 4, "de": Decimal(value) / 4,
        "dt": date(1970, 1, 1) + timedelta(days=value), "ts": moment, "tz": moment.replace(tzinfo=UTC),
        "s": str(value), "bo": value % 2 == 0,
    }  # fmt: skip


def seconds(column: str, values: np.ndarray) -> np.ndarray:
    """What Hive's histogram of a column holds for the values that rows were made of."""
    start = int(START.replace(tzinfo=UTC).timestamp())
    scales = {"i": 1, "l": 1_000_003, "d": 1 / 8, "f": 1 / 4, "de": 1 / 4, "dt": 86_400, "ts": 3600, "tz": 3600}
    return (values * scales[column] + (start if column in ("ts", "tz") else 0)).astype(np.float32)


def check(histogram: Histogram, truth: np.ndarray) -> None:
    ordered = np.sort(truth)
    assert histogram.count == len(truth)
    assert (histogram.low, histogram.high) == (ordered[0], ordered[-1])
    for rank in (0.01, 0.25, 0.5, 0.75, 0.99):
        value = np.float32(histogram.quantile(rank))
        below, upto = (np.searchsorted(ordered, value, side) / len(ordered) for side in ("left", "right"))
        assert below - 2 * RANK_ERROR <= rank <= upto + 2 * RANK_ERROR


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


VALUES = {"a": np.arange(-500, 2501), "b": np.arange(2000, 2400)}


def analysed(lake: Lake, store: HiveStore) -> HiveSession:
    table = lake.create_table("db.t", COLUMNS, partition_by=["p"], properties=HISTOGRAMS)
    shuffled = {part: np.random.default_rng(7).permutation(values) for part, values in VALUES.items()}
    table.append([row(part, int(v)) for part, values in shuffled.items() for v in values] + [{"p": "nothing"}] * 3)
    session = HiveSession(store, database="db", analyzer=LakeAnalyzer(lake, store))
    session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    return session


@pytest.mark.parametrize("layout", [Layout.HIVE_4_0, Layout.HIVE_4_1], ids=lambda layout: layout.value)
def test_partitions_the_table_and_the_merge_tell_the_ranks_of_the_rows(lake: Lake, layout: Layout) -> None:
    store = HiveStore("sqlite://", layout=layout)
    analysed(lake, store)
    everything = np.concatenate(list(VALUES.values()))
    names = [f"p={part}" for part in (*VALUES, "nothing")]
    columns = [name for name, _ in COLUMNS[1:]]
    of_parts = store.partition_statistics("db", "t", names)
    merged = {one.column: one for one in store.aggregate("db", "t", names, columns).statistics}
    of_table = {one.column: one for one in store.table_statistics("db", "t")}
    for column in WITH_HISTOGRAM:
        for part, values in VALUES.items():
            found = next(one for one in of_parts[f"p={part}"] if one.column == column)
            check(parse_histogram(found.histogram), seconds(column, values))  # type: ignore[arg-type]
        check(parse_histogram(of_table[column].histogram), seconds(column, everything))  # type: ignore[arg-type]
        # A partition of nulls alone has no histogram, and adds nothing to that of all.
        check(parse_histogram(merged[column].histogram), seconds(column, everything))  # type: ignore[arg-type]
    assert all(one.histogram is None for one in of_parts["p=nothing"])
    assert {name for name, one in of_table.items() if one.histogram is not None} == set(WITH_HISTOGRAM)
    store.close()


def test_clients_of_the_service_get_them(lake: Lake) -> None:
    store = HiveStore("sqlite://", layout=Layout.HIVE_4_0)
    analysed(lake, store)
    with (
        HiveServer(HiveService(store), ServerSettings(port=0)) as server,
        HiveClient(f"thrift://127.0.0.1:{server.port}") as client,
    ):
        of_table = {one.column: one for one in client.table_statistics("db", "t", ["i", "dt"])}
        parts = client.partition_statistics("db", "t", ["p=b"], ["i"])
    check(parse_histogram(of_table["i"].histogram), np.concatenate(list(VALUES.values())))  # type: ignore[arg-type]
    check(parse_histogram(parts["p=b"][0].histogram), VALUES["b"])  # type: ignore[arg-type]
    store.close()


def test_samples_weigh_as_much_as_the_rows_that_they_stand_for(lake: Lake) -> None:
    store = HiveStore("sqlite://", layout=Layout.HIVE_4_0)
    table = lake.create_table("db.big", [("p", "int"), ("i", "int")], partition_by=["p"], properties=HISTOGRAMS)
    many, few = np.random.default_rng(1).permutation(SAMPLE_STRIDES[0][0] + 8), np.arange(100_000) - 100_000
    for part, values in enumerate((many, few)):
        table.append(pa.table({"p": pa.array(np.full(len(values), part, np.int32)), "i": values.astype(np.int32)}))
    session = HiveSession(store, database="db", analyzer=LakeAnalyzer(lake, store))
    session.run("ANALYZE TABLE big COMPUTE STATISTICS FOR COLUMNS i")
    truth = np.sort(np.concatenate([many, few]))
    merged = store.aggregate("db", "big", ["p=0", "p=1"], ["i"]).statistics[0]
    for one in (merged, store.table_statistics("db", "big", ["i"])[0]):
        histogram = parse_histogram(one.histogram)
        assert histogram is not None
        assert histogram.count == len(truth)
        assert (histogram.low, histogram.high) == (truth[0], truth[-1])
        for rank in (0.1, 1 / 6, 0.5, 0.9):
            assert np.searchsorted(truth, histogram.quantile(rank)) / len(truth) == pytest.approx(
                rank, abs=2 * RANK_ERROR
            )
    store.close()


def test_without_the_property_none_is_stored_and_with_it_the_next_analysis_stores_them(lake: Lake) -> None:
    store = HiveStore("sqlite://", layout=Layout.HIVE_4_0)
    table = lake.create_table("db.t", [("i", "int")])
    table.append([{"i": value} for value in range(10)])
    session = HiveSession(store, database="db", analyzer=LakeAnalyzer(lake, store))
    for properties, has_histogram in ((None, False), (HISTOGRAMS, True)):
        if properties:
            table.set_properties(properties)
        session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
        assert (store.table_statistics("db", "t")[0].histogram is not None) is has_histogram
    store.close()


def test_histograms_that_are_asked_for_later_are_published_without_reading_rows(lake: Lake) -> None:
    store = HiveStore("sqlite://", layout=Layout.HIVE_4_1)
    table = lake.create_table("db.t", [("i", "int")])
    table.append([{"i": value} for value in range(10)])
    analyzer = LakeAnalyzer(lake, store)
    HiveSession(store, database="db", analyzer=analyzer).run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    table.set_properties(HISTOGRAMS)
    analyzer.publish()
    check(parse_histogram(store.table_statistics("db", "t")[0].histogram), np.arange(10))  # type: ignore[arg-type]
    store.close()
