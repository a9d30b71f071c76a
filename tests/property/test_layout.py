"""Layout health: sweeping over all files equals counting them one by one, and the numbers mean what they say."""

from __future__ import annotations

import datetime
import json
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skipstone
from skipstone.errors import InvalidInput, NotFound
from skipstone.layout import advice
from skipstone.layout.overlap import Sweep

pa: Any = pyarrow

ranges = st.lists(
    st.tuples(st.integers(-5, 5), st.integers(0, 6), st.integers(0, 9)).map(lambda t: (t[0], t[0] + t[1], t[2])),
    min_size=1,
    max_size=12,
)


def swept(files: list[tuple[int, int, int]]) -> tuple[Sweep, list[float]]:
    """The sweep, and a point of each cell: every bound, and what lies between two."""
    low, high, rows = zip(*files, strict=True)
    sweep = Sweep.of(pa.array(low), pa.array(high), np.array(rows, np.int64))
    bounds = sorted({*low, *high})
    return sweep, sorted([*bounds, *((a + b) / 2 for a, b in pairwise(bounds))])


@settings(max_examples=200, deadline=None)
@given(files=ranges)
def test_depths_are_the_files_that_contain_a_point(files: list[tuple[int, int, int]]) -> None:
    sweep, points = swept(files)
    inside = [[f for f in files if f[0] <= p <= f[1]] for p in points]
    assert sweep.depths().tolist() == [len(i) for i in inside]
    assert sweep.depths(sweep.rows).tolist() == [sum(f[2] for f in i) for i in inside]


@settings(max_examples=200, deadline=None)
@given(files=ranges)
def test_rows_are_spread_over_the_whole_numbers_of_their_file(files: list[tuple[int, int, int]]) -> None:
    sweep, points = swept(files)
    assert sweep.mass().sum() == pytest.approx(sum(f[2] for f in files))
    for point, found in zip(points, sweep.mass()):
        if float(point).is_integer() and point in {f[0] for f in files} | {f[1] for f in files}:
            assert found == pytest.approx(sum(r / (b - a + 1) for a, b, r in files if a <= point <= b), abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(files=ranges, share=st.floats(0.001, 1))
def test_ranges_meet_the_files_that_share_a_value_and_hold_enough_rows(
    files: list[tuple[int, int, int]], share: float
) -> None:
    sweep, points = swept(files)
    first, last = sweep.ranges(share, sweep.mass())
    met = sweep.met(first, last)
    for a, b, count in zip(first, last, met):
        assert a <= b
        assert count == sum(f[0] <= points[b] and f[1] >= points[a] for f in files)
        enough = share * sweep.mass().sum() - 1e-9
        assert sweep.mass()[a : b + 1].sum() >= enough or b == len(points) - 1


def test_numbers_far_from_zero_are_swept_too() -> None:
    sweep = Sweep.of(pa.array([-(2**63), 2**62, 2**62]), pa.array([-(2**63), 2**62, 2**63 - 1]), np.array([5, 5, 5]))
    assert sweep.depths().tolist() == [1, 0, 2, 1, 1]
    assert np.isfinite(sweep.mass()).all() and sweep.mass()[0] == 5


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    made = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    made.create_namespace("t")
    return made


@pytest.fixture
def table(lake: Any) -> Any:
    """Ten files: `k` lies in order, `u` is everywhere, `c` is one value, `v` is null."""
    form = [("k", "long"), ("u", "long"), ("c", "string"), ("v", "double"), ("w", "string")]
    made = lake.create_table("t.t", form, properties={"write.metadata.metrics.column.w": "none"})
    for i in range(10):
        made.append([{"k": i * 10 + j, "u": j * 10 + i, "c": "x", "v": None, "w": "w"} for j in range(10)])
    return made


def test_ordered_columns_are_read_once_and_scattered_ones_everywhere(table: Any) -> None:
    report = table.layout()
    k, u, c, v, w = (report.column(n) for n in "kucvw")
    assert (k.depth_average, k.depth_max, k.zones_point, k.clustering) == (1.0, 1, 1.0, 1.0)
    assert k.skipped_share_point == pytest.approx(0.9)
    assert u.depth_max == 10 and u.depth_average > 9 and u.clustering < 0.1
    assert (c.depth_average, c.depth_max, c.clustering) == (10.0, 10, 0.0)
    assert (v.depth_max, v.zones_point, v.files_without_bounds) == (0, 0.0, 0)
    assert (w.files_without_bounds, w.zones_point, w.skipped_share_point) == (10, 10.0, 0.0)
    assert report.rows == 100 and report.files == 10


def test_a_plan_reads_about_what_the_report_says(table: Any) -> None:
    """For queries for every value there is; exactly where the files lie side by side."""
    report = table.layout(["k", "u"])
    for name, tolerance in (("k", 0.0), ("u", 0.1)):
        read = [len(table.scan(f"{name} = {value}").plan()) for value in range(0, 100, 3)]
        assert report.column(name).zones_point == pytest.approx(sum(read) / len(read), rel=tolerance)


def test_scattered_columns_get_advice_and_ordered_ones_none(table: Any) -> None:
    found = table.layout(["k", "u", "w"]).recommendations
    assert not any(r.columns == ("k",) for r in found)
    sort = next(r for r in found if r.columns == ("u",) and r.action == "sort by")
    assert sort.zones_after < sort.zones_before
    assert "at least 20 distinct values" in sort.basis
    assert "sort by u" in str(table.layout(["u"]))
    assert any(r.action == "cluster by" and set(r.columns) == {"u", "w"} for r in found)


def test_following_the_advice_has_the_promised_effect(lake: Any, table: Any) -> None:
    promised = next(r for r in table.layout(["u"]).recommendations if r.action == "sort by")
    rows = table.scan().to_arrow().sort_by("u")
    better = lake.create_table("t.sorted", [("u", "long")])
    for i in range(10):
        better.append(rows.slice(i * 10, 10).select(["u"]))
    assert better.layout(["u"]).column("u").zones_point <= promised.zones_after


def test_partitions_are_advised_where_they_are_large_enough(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = lake.create_table("t.days", [("day", "date")])
    for i in range(8):
        made.append([{"day": datetime.date(2026, 1, 1 + (i + j) % 8)} for j in range(4)])
    assert not any(r.action == "partition by" for r in made.layout().recommendations)
    monkeypatch.setattr(advice, "PARTITION_BYTES_MIN", 1)
    found = next(r for r in made.layout().recommendations if r.action == "partition by")
    assert found.term == "day(day)" and found.zones_after == 1.0 and "8 partitions" in found.cost


@pytest.fixture
def shop(lake: Any) -> Any:
    """Sixteen files with everything everywhere, analysed."""
    form = [("k", "long"), ("city", "string"), ("is_open", "boolean"), ("d", "double")]
    made = lake.create_table("t.shop", form)
    choice = random.Random(5)
    for _ in range(16):
        made.append(
            [
                {
                    "k": choice.randrange(500) * 10,
                    "city": choice.choice("abcd"),
                    "is_open": choice.random() < 0.5,
                    "d": choice.choice([0.5, 1.5, -0.0, math.nan]),
                }
                for _ in range(50)
            ]
        )
    made.analyze()
    return made


def promised(report: Any, action: str, *columns: str) -> Any:
    return next(r for r in report.recommendations if (r.action, r.columns) == (action, columns))


def test_each_kind_of_advice_keeps_its_promise(lake: Any, shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "PARTITION_BYTES_MIN", 1)
    report, rows = shop.layout(), shop.scan().to_arrow()
    keys = rows.column("k").unique().to_pylist()[:40]

    partition = promised(report, "partition by", "city")
    parted = lake.create_table("t.parted", shop.schema, partition_by=["city"])
    for i in range(4):  # as many files as before
        parted.append(rows.slice(i * 200, 200))
    read = [len(parted.scan(f"city = '{c}'").plan()) for c in "abcd"]
    assert (partition.zones_before, partition.zones_after) == (16.0, 4.0) and set(read) == {4}

    bloom = promised(report, "Bloom filter on", "k")
    holding = [sum(k in some for some in _keys_by_file(shop)) for k in keys]
    assert bloom.zones_after == pytest.approx(sum(holding) / len(holding), rel=0.3)

    cluster = promised(shop.layout(["k", "city"]), "cluster by", "city", "k")
    grid = sorted(rows.to_pylist(), key=lambda r: (r["city"], r["k"]))
    clustered = lake.create_table("t.clustered", shop.schema)
    for city in "abcd":
        of_city = [r for r in grid if r["city"] == city]
        for i in range(4):
            clustered.append(of_city[len(of_city) * i // 4 : len(of_city) * (i + 1) // 4])
    by_key = sum(len(clustered.scan(f"k = {k}").plan()) for k in keys) / len(keys)
    by_city = sum(len(clustered.scan(f"city = '{c}'").plan()) for c in "abcd") / 4
    assert cluster.zones_after == pytest.approx((by_key + by_city) / 2, rel=0.3)


def _keys_by_file(table: Any) -> list[set[int]]:
    files: dict[str, set[int]] = {}
    for row in table.scan(columns=["k", "_file"]).to_arrow().to_pylist():
        files.setdefault(row["_file"], set()).add(row["k"])
    return list(files.values())


def test_advice_does_not_promise_fewer_files_than_hold_the_value(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "PARTITION_BYTES_MIN", 1)
    report = shop.layout(["is_open", "city"])
    assert (report.column("is_open").distinct, report.column("is_open").zones_point) == (2, 16.0)
    assert not any(r.action == "cluster by" for r in report.recommendations if r.zones_after < (8 + 5) / 2)
    assert not any(r.term == "d" and r.action == "partition by" for r in shop.layout().recommendations)


def test_no_share_is_below_zero(lake: Any) -> None:
    made = lake.create_table("t.d", [("d", "double")])
    choice = random.Random(1)
    for _ in range(20):
        made.append([{"d": choice.choice([math.nan, math.inf, -0.0, choice.random()])} for _ in range(30)])
    column = made.layout().column("d")
    assert column.skipped_share_point >= 0 and "-0.0%" not in str(made.layout())


def test_the_report_as_arrow_json_and_text(table: Any) -> None:
    report = table.layout(["k", "u"])
    arrow = report.to_arrow()
    assert arrow.column("name").to_pylist() == ["k", "u"]
    found = json.loads(report.to_json_text())
    assert found["files"] == 10 and found["columns"][0]["depth-average"] == 1.0
    assert found["recommendations"][0]["columns"] == ["u"]
    assert str(report).startswith("t.t: 10 files, 100 rows")


def test_empty_tables_and_bad_input(lake: Any, table: Any) -> None:
    empty = lake.create_table("t.empty", [("n", "long"), ("l", "list<long>")]).layout()
    assert empty.files == 0 and empty.recommendations == ()
    with pytest.raises(NotFound, match="Did you mean 'k'"):
        table.layout(["kk"])
    with pytest.raises(InvalidInput, match="expected one primitive value a row"):
        lake.load_table("t.empty").layout(["l"])
    with pytest.raises(InvalidInput, match="expected above 0, up to 1"):
        table.layout(range_share=0)
