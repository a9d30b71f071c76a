"""Equality deletes are kept from a file only by facts that cannot be odd."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.indexed import assert_same_plan, make_table, rows

from skipstone.commit import RowDelta
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DoubleType, Field, LongType, StructType
from skipstone.plan.overlap import columns_may_meet
from skipstone.write import write_equality_deletes

SCHEMA = Schema(
    fields=(
        Field(id=1, name="a", type=LongType(), required=False),
        Field(
            id=2,
            name="s",
            type=StructType((Field(id=3, name="b", type=LongType(), required=False),)),
            required=False,
        ),
        Field(id=4, name="x", type=DoubleType(), required=False),
    )
)
PLAIN = {"rows": 10, "lower": 1, "upper": 5, "nulls": 0, "nans": 0, "values": 10}


def side(field_id: int, facts: dict[str, Any], **more: Any) -> pa.Table:
    told = {**PLAIN, **facts}
    kind = pa.float64() if field_id == 4 else pa.int64()
    return pa.table(
        {
            "record_count": pa.array([told["rows"]], pa.int64()),
            f"{field_id}.lower": pa.array([told["lower"]], kind),
            f"{field_id}.upper": pa.array([told["upper"]], kind),
            f"{field_id}.null_count": pa.array([told["nulls"]], pa.int64()),
            f"{field_id}.nan_count": pa.array([told["nans"]], pa.int64()),
            f"{field_id}.value_count": pa.array([told["values"]], pa.int64()),
            **more,
        }
    )


def may_meet(field_id: int, data: dict[str, Any], keys: dict[str, Any]) -> bool:
    deletes = side(field_id, keys, equality_ids=pa.array([[field_id]], pa.list_(pa.int32())))
    zero = np.zeros(1, np.int64)
    return bool(columns_may_meet(side(field_id, data), deletes, zero, zero, [SCHEMA])[0])


FAR = {"lower": 7, "upper": 9}
NAN = float("nan")


def test_ranges_apart_never_meet_and_touching_ones_may() -> None:
    assert not may_meet(1, {}, FAR)
    assert not may_meet(1, FAR, {})
    assert may_meet(1, {}, {"lower": 5, "upper": 9})


def test_nulls_on_both_sides_meet() -> None:
    assert may_meet(1, {"nulls": 1}, {**FAR, "nulls": 1})
    assert not may_meet(1, {"nulls": 1}, FAR)
    assert not may_meet(1, {}, {**FAR, "nulls": 1})


def test_nans_on_both_sides_meet() -> None:
    assert may_meet(4, {"nans": 1}, {**FAR, "nans": 1})
    assert not may_meet(4, {"nans": 1}, FAR)
    assert may_meet(4, {"nans": None}, {**FAR, "nans": None})


def test_zeros_of_both_signs_meet() -> None:
    assert may_meet(4, {"lower": -1.0, "upper": -0.0}, {"lower": 0.0, "upper": 3.0})


@pytest.mark.parametrize(
    "odd",
    [
        {"lower": 5, "upper": 1},  # the greater one first
        {"upper": None},
        {"nulls": None},
        {"nulls": -1},
        {"nulls": 11},
    ],
)
def test_odd_facts_keep_the_pair(odd: dict[str, Any]) -> None:
    keys = {"lower": 7, "upper": 9, "nulls": 1}
    assert may_meet(1, odd, keys)


@pytest.mark.parametrize("bound", ["lower", "upper"])
def test_a_nan_bound_keeps_the_pair(bound: str) -> None:
    assert may_meet(4, {bound: NAN}, FAR)


def test_a_null_parent_may_hide_a_null_from_its_counts() -> None:
    assert may_meet(3, {"values": 6}, {**FAR, "nulls": 1})
    assert may_meet(3, {"values": None}, {**FAR, "nulls": 1})
    assert not may_meet(3, {}, {**FAR, "nulls": 1})


def delete_by(table: Any, keys: Any) -> None:
    ids = [table.schema.field(name).id for name in keys.column_names if name != "state"]
    files = write_equality_deletes(keys, metadata=table.metadata, storage=table.storage, equality_ids=ids)
    table.apply(RowDelta(files=files))


@pytest.mark.parametrize("is_promoted", [False, True])
def test_columns_of_deletes_that_no_one_schema_has_are_typed_by_the_newest_that_has_them(
    tmp_path: Path, is_promoted: bool
) -> None:
    """A delete column is dropped, perhaps promoted before, and the filter asks for a column that came after it."""
    table = make_table(tmp_path)
    table.append(rows(0))
    delete_by(table, pa.table({"n": pa.array([3], pa.int32()), "state": ["a"]}))
    if is_promoted:
        with table.update_schema() as update:
            update.update_column("n", type="long")
        table.append(rows(6))
    with table.update_schema() as update:
        update.delete_column("n")
    with table.update_schema() as update:
        update.add_column("n", "long")
    table.append(pa.table({"id": [20], "state": ["a"], "x": [1.0], "n": pa.array([3], pa.int64())}))
    delete_by(table, pa.table({"n": pa.array([5], pa.int64()), "state": ["a"]}))
    assert_same_plan(table, "n = 3")
    assert table.scan("n = 3").to_arrow().column("id").to_pylist() == [20]
    assert 3 not in table.scan("n IS NULL").to_arrow().column("id").to_pylist()
    assert table.scan("n IS NULL").count() == (11 if is_promoted else 5)
