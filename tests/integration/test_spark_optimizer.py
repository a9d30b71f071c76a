"""Our statistics as Spark's cost-based optimizer sees them: estimates near the truth, and plans that change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import skipstone
from skipstone.errors import InvalidInput
from skipstone.metadata.types import DateType, DoubleType, StringType, TimestamptzType
from skipstone.spark.catalyst_statistics import value_text
from skipstone.spark.optimizer_statistics import SETTING
from skipstone.spark.session import temporarily

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

COUNT = 20_000
COST_BASED = {
    "spark.sql.cbo.enabled": "true",
    "spark.sql.cbo.joinReorder.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
}
WITHOUT = {**COST_BASED, "spark.sql.cbo.enabled": "false", "spark.sql.cbo.joinReorder.enabled": "false"}


def rows(count: int = COUNT) -> Any:
    numbers = np.arange(count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "shop": pa.array((numbers % 100).astype(np.int32)),
            "x": numbers.astype(float) ** 2,  # most are small
            "name": [None if i % 4 == 0 else f"name {i % 500}" for i in numbers],
            "price": pa.array([Decimal(int(i % 1000)) for i in numbers], pa.decimal128(9, 2)),
            "day": pa.array((numbers % 365).astype(np.int32)).cast(pa.date32()),
            "ts": pa.array(numbers * 1_000_000, pa.timestamp("us", "UTC")),
        }
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = skipstone.catalog(str(tmp_path_factory.mktemp("lake")))
    made.create_namespace("shop")
    return made


@pytest.fixture(scope="module")
def orders(lake: Any) -> Any:
    """Four files, one after the other in `id`."""
    table = lake.create_table("shop.orders", rows(20).schema)
    for at in range(4):
        table.append(rows().slice(at * COUNT // 4, COUNT // 4))
    table.analyze()
    return table


@contextmanager
def seen(spark: Any, table: Any, filter: Any = None, settings: Any = COST_BASED) -> Iterator[Any]:
    with temporarily(spark, settings):
        yield table.scan(filter).to_spark(spark)._jdf.queryExecution().optimizedPlan().stats()


def column(stats: Any, name: str) -> Any:
    found = {pair._1().name(): pair._2() for pair in _listed(stats.attributeStats().toSeq())}
    return found[name]


def _listed(scala: Any) -> list[Any]:
    return [scala.apply(i) for i in range(scala.size())]


def test_spark_sees_every_kind_of_statistic(iceberg_java: Any, orders: Any) -> None:
    with seen(iceberg_java, orders) as stats:
        assert int(str(stats.rowCount().get())) == COUNT
        by_id = column(stats, "id")
        assert (by_id.min().get(), by_id.max().get()) == (0, COUNT - 1)
        assert int(str(by_id.distinctCount().get())) == pytest.approx(COUNT, rel=0.05)
        name = column(stats, "name")
        assert int(str(name.nullCount().get())) == COUNT // 4
        assert (name.avgLen().get(), name.maxLen().get()) == (8, 8)
        assert not name.min().isDefined()
        assert column(stats, "shop").histogram().get().bins()[0].lo() == 0.0
        assert str(column(stats, "price").max().get()) == "999.00"
        assert column(stats, "day").max().get() == 364
        assert column(stats, "ts").max().get() == (COUNT - 1) * 1_000_000


@pytest.mark.parametrize(
    "filter", ["shop < 10", "id < 1000", "id >= 12000 and id < 13000", "day = date '1970-02-01'", "shop = 7"]
)
def test_estimates_of_a_filter_are_near_the_truth(iceberg_java: Any, orders: Any, filter: str) -> None:
    truth = orders.scan(filter).count()
    with seen(iceberg_java, orders, filter) as stats:
        assert truth / 3 <= int(str(stats.rowCount().get())) <= truth * 3


def test_a_small_result_is_broadcast_once_spark_knows_that_it_is_small(iceberg_java: Any, orders: Any) -> None:
    plans, results = [], []
    for settings in (WITHOUT, COST_BASED):
        with temporarily(iceberg_java, {**settings, "spark.sql.autoBroadcastJoinThreshold": "20000"}):
            few = orders.scan("id < 5100 and shop = 3", columns=["id", "shop"]).to_spark(iceberg_java)
            joined = few.join(orders.scan(columns=["id", "name"]).to_spark(iceberg_java), "id")
            plans.append(joined._jdf.queryExecution().executedPlan().toString())
            results.append(sorted(joined.collect()))
    assert "SortMergeJoin" in plans[0] and "BroadcastHashJoin" not in plans[0]
    assert "BroadcastHashJoin" in plans[1] and "SortMergeJoin" not in plans[1]
    assert results[0] == results[1] and len(results[0]) == 51


def test_joins_are_put_in_a_better_order(iceberg_java: Any, lake: Any, orders: Any) -> None:
    """A star: the large tables come first in the text, the join that leaves few rows comes first in the plan."""
    codes = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "code": ["a", "b", "c"]})
    few = lake.create_table("shop.few", codes.schema)
    few.append(codes)
    few.analyze()
    text = (
        "SELECT o.id, p.name, f.code FROM cbo_orders o JOIN cbo_others p ON o.shop = p.shop "
        "JOIN cbo_few f ON o.id = f.id WHERE p.id < 200"
    )
    firsts, results = [], []
    for settings in (WITHOUT, COST_BASED):
        with temporarily(iceberg_java, settings):
            for table, name in ((orders, "cbo_orders"), (orders, "cbo_others"), (few, "cbo_few")):
                table.scan().to_spark(iceberg_java).createOrReplaceTempView(name)
            frame = iceberg_java.sql(text)
            firsts.append(_innermost_join(frame._jdf.queryExecution().optimizedPlan()))
            results.append(sorted(frame.collect()))
    assert firsts[0] == {"shop"} and firsts[1] == {"id"}
    assert results[0] == results[1] and len(results[0]) == 6


def _innermost_join(plan: Any) -> set[str]:
    """The columns of the deepest join's condition."""
    for child in _listed(plan.children()):
        found = _innermost_join(child)
        if found:
            return found
    if plan.nodeName() != "Join":
        return set()
    condition = plan.condition().get()
    return {a.name() for a in _listed(condition.references().toSeq())}


def test_nothing_is_looked_up_or_told_unless_the_session_uses_it(iceberg_java: Any, orders: Any) -> None:
    with seen(iceberg_java, orders, settings={**COST_BASED, SETTING: "off"}) as stats:
        assert not stats.rowCount().isDefined()
    with seen(iceberg_java, orders, settings=WITHOUT) as stats:
        assert not stats.rowCount().isDefined()
    with (
        pytest.raises(InvalidInput, match="expected auto, on or off"),
        seen(iceberg_java, orders, settings={SETTING: "maybe"}),
    ):
        pass


def test_stale_statistics_are_not_told_but_rows_are_counted(iceberg_java: Any, lake: Any) -> None:
    table = lake.create_table("shop.stale", rows(20).schema)
    table.append(rows(1000))
    table.analyze()
    table.append(rows(50))
    with seen(iceberg_java, table) as stats:
        assert column(stats, "shop").distinctCount().isDefined()
    table.append(rows(100))
    with seen(iceberg_java, table) as stats:
        assert int(str(stats.rowCount().get())) == 1150 and stats.attributeStats().isEmpty()


def test_values_are_written_as_sparks_catalog_reads_them() -> None:
    moment = int(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC).timestamp() * 1_000_000) + 0
    assert value_text(TimestamptzType(), moment) == "2026-01-02 03:04:05.000006"
    assert value_text(DateType(), (date(2026, 1, 2) - date(1970, 1, 1)).days) == "2026-01-02"
    assert value_text(DoubleType(), float("inf")) is None and value_text(DoubleType(), -0.0) == "-0.0"
    assert value_text(StringType(), "a") is None and value_text(TimestamptzType(), 2**62) is None
