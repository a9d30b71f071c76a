"""What ANALYZE of Hive 4.0.1 found of extreme rows, field by field and byte by byte, and what ours finds of the same.

The golden file holds the rows as they were loaded into Hive from text, and the objects that its metastore then answered
with `metastore.stats.fetch.bitvector` and `metastore.stats.fetch.kll`; a column of which it had nothing has none.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import skipstone
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.histogram import parse_histogram
from skipstone.hive.session import HiveSession
from skipstone.hive.statistics import ColumnStatistics
from skipstone.hive.store import HiveStore, Layout

TABLES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "golden" / "hive" / "analyze_hive401_extremes.json").read_text("utf-8")
)
# Hive casts a decimal to decimal(38,18) before it is a float: one of more than 20 digits before the point is left out
# of its histogram, and one of more than 18 behind it is rounded. Ours describes the values that there are.
CAST_BY_HIVE = {"de_38_0", "de_38_0b", "de_38_38"}
# Up to so many values a histogram has all of them, and the bytes are the same; of more both take a sample.
HELD_WHOLE = 200


def value(type_: str, given: Any) -> Any:
    """A value of the golden file; a long text is written as its character and how often it comes."""
    if given is None or isinstance(given, bool | int):
        return given
    if isinstance(given, list):
        return given[0] * given[1]
    readers: dict[str, Any] = {
        "float": float, "double": float, "date": date.fromisoformat, "timestamp": datetime.fromisoformat,
        "binary": bytes.fromhex, "string": str,
    }  # fmt: skip
    return readers.get(type_, Decimal)(given)


def shown(found: ColumnStatistics) -> dict[str, Any]:
    """Statistics as the golden file has them, without their histogram; doubles by their digits, -0.0 by its sign."""
    fields = ("num_nulls", "num_distincts", "low", "high", "avg_length", "max_length", "num_trues", "num_falses")
    values = {name: getattr(found, name) for name in fields} | {
        "bit_vector": found.bit_vector and found.bit_vector.hex()
    }
    return {
        name: known if isinstance(known, int | str) else repr(known) if isinstance(known, float) else str(known)
        for name, known in values.items()
        if known is not None
    }


def of_rows(home: Path, table: str) -> dict[str, ColumnStatistics]:
    lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home / "lake"))
    columns = TABLES[table]["columns"]
    wanted = {"skipstone.stats.hive-histograms": "true"}
    made = lake.create_table("x.t", [(one["name"], one["type"]) for one in columns], properties=wanted)
    rows: list[dict[str, Any]] = [{} for _ in range(TABLES[table]["rows"])]
    for one in columns:
        for row, given in zip(rows, one["values"], strict=False):
            row[one["name"]] = value(one["type"], given)
    if rows:
        made.append([dict.fromkeys((one["name"] for one in columns), None) | row for row in rows])
    store = HiveStore("sqlite://", layout=Layout.HIVE_4_0)
    HiveSession(store, database="x", analyzer=LakeAnalyzer(lake, store)).run(
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS"
    )
    found = {one.column: one for one in store.table_statistics("x", "t")}
    store.close()
    return found


@pytest.mark.parametrize("table", TABLES)
def test_our_analysis_finds_what_hives_found(tmp_path: Path, table: str) -> None:
    found = of_rows(tmp_path, table)
    for column in TABLES[table]["columns"]:
        expected, ours = dict(column["found"] or {}), found.get(column["name"])
        if not expected:
            assert ours is None, column["name"]
            continue
        assert ours is not None, column["name"]
        theirs = parse_histogram(bytes.fromhex(expected.pop("histogram", "")))
        assert shown(ours) == expected, column["name"]
        if column["name"] in CAST_BY_HIVE:
            continue
        histogram = parse_histogram(ours.histogram)
        assert (histogram is None) == (theirs is None), column["name"]
        if histogram is None or theirs is None:
            continue
        # Which of two zeros is the least a sketch of theirs says by their order.
        assert (histogram.count, histogram.low, histogram.high) == (theirs.count, theirs.low, theirs.high)
        if theirs.count <= HELD_WHOLE:
            ranks = [rank / 16 for rank in range(17)]
            assert [histogram.quantile(r) for r in ranks] == [theirs.quantile(r) for r in ranks], column["name"]


def test_the_rows_are_of_every_kind() -> None:
    columns = {one["name"]: one["found"] for table in TABLES.values() for one in table["columns"]}
    assert sum(found is None for found in columns.values()) == 5  # NaN and infinities leave nothing
    assert len([one for table in TABLES.values() for one in table["columns"]]) == 129
