"""Zones merged: bounds, counts, coverage, boxes; bounds truncated."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput
from skipstone.metadata.types import (
    BINARY,
    DOUBLE,
    FLOAT,
    LONG,
    STRING,
    VARIANT,
    GeographyType,
    GeometryType,
    PrimitiveType,
)
from skipstone.metadata.values import bound_type
from skipstone.zones import ColumnFacts, ZoneMap
from skipstone.zones.merge import merge_zones, truncate


def merged(
    type_: PrimitiveType, lower: list[Any], upper: list[Any], *, rows: list[Any] | None = None, **facts: list[Any]
) -> ColumnFacts:
    """All zones merged into one."""
    zones = ZoneMap(
        num_zones=len(lower),
        row_count=None if rows is None else pa.array(rows, pa.int64()),
        columns={
            1: ColumnFacts(
                type=type_,
                lower=pa.array(lower, bound_type(type_)),
                upper=pa.array(upper, bound_type(type_)),
                **{n: pa.array(v, pa.bool_() if n.endswith("exact") else pa.int64()) for n, v in facts.items()},
            )
        },
    )
    return merge_zones(zones, pa.array([0] * len(lower)), 1).columns[1]


def only(array: Any) -> Any:
    assert len(array) == 1
    return array[0].as_py()


def test_bounds_are_the_least_and_the_greatest() -> None:
    facts = merged(LONG, [3, 1, 2], [5, 4, 9])
    assert (only(facts.lower), only(facts.upper), only(facts.files_covered)) == (1, 9, 3)


def test_a_member_without_a_bound_makes_it_unknown_but_not_the_coverage() -> None:
    facts = merged(LONG, [3, None], [5, None])
    assert (only(facts.lower), only(facts.upper), only(facts.files_covered)) == (None, None, 1)


def test_a_member_of_nulls_or_without_rows_needs_no_bound() -> None:
    facts = merged(
        LONG, [3, None, None], [5, None, None], rows=[4, 7, 0], null_count=[1, 7, None], value_count=[4, 7, None]
    )
    assert (only(facts.lower), only(facts.upper)) == (3, 5)
    assert (only(facts.null_count), only(facts.value_count)) == (8, 11)


def test_a_member_of_nan_needs_no_bound_and_adds_its_nans() -> None:
    facts = merged(DOUBLE, [1.0, None], [2.0, None], null_count=[0, 0], nan_count=[0, 3], value_count=[5, 3])
    assert (only(facts.lower), only(facts.upper), only(facts.nan_count)) == (1.0, 2.0, 3)


def test_a_count_is_known_only_if_all_are() -> None:
    facts = merged(LONG, [1, 1], [1, 1], null_count=[1, None], value_count=[4, -1])
    assert (only(facts.null_count), only(facts.value_count)) == (None, None)


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE])
def test_negative_zero_is_the_lesser_zero(type_: PrimitiveType) -> None:
    facts = merged(type_, [0.0, -0.0], [-0.0, 0.0])
    assert math.copysign(1, only(facts.lower)) == -1 and math.copysign(1, only(facts.upper)) == 1


def test_infinities_are_ordinary_and_nan_bounds_are_odd() -> None:
    assert only(merged(DOUBLE, [-math.inf, 1.0], [2.0, math.inf]).lower) == -math.inf
    odd = merged(DOUBLE, [math.nan, 1.0], [2.0, 3.0])
    assert (only(odd.lower), only(odd.upper)) == (None, None)


def test_crossed_bounds_are_odd() -> None:
    facts = merged(STRING, ["z", "a"], ["b", "c"])
    assert (only(facts.lower), only(facts.upper)) == (None, None)


def test_exactness_survives_only_if_all_are_exact() -> None:
    facts = merged(LONG, [1, 2], [3, 4], lower_exact=[True, True], upper_exact=[True, None])
    assert (only(facts.lower_exact), only(facts.upper_exact)) == (True, None)


def test_coverage_adds_up_over_merges() -> None:
    assert only(merged(LONG, [1, None], [1, None], files_covered=[3, 2]).files_covered) == 5


def test_absurd_counts_are_unknown_instead_of_wrapping_around() -> None:
    assert only(merged(LONG, [1, 1], [1, 1], null_count=[2**63 - 1, 2**63 - 1]).null_count) is None


def test_counts_that_cannot_be_right_do_not_make_up_for_each_other() -> None:
    # Three nulls of one value and none of two would be three of three: nothing but nulls.
    facts = merged(LONG, [5, 0], [5, 0], rows=[1, 2], null_count=[3, 0], value_count=[1, 2])
    assert (only(facts.null_count), only(facts.value_count)) == (None, None)
    assert (only(facts.lower), only(facts.upper)) == (0, 5)
    both = merged(DOUBLE, [5.0, 0.0], [5.0, 0.0], rows=[2, 2], null_count=[2, 0], nan_count=[2, 0])
    assert (only(both.null_count), only(both.nan_count)) == (None, None)
    more = merged(LONG, [5, 0], [5, 0], rows=[1, 2], null_count=[0, 3], value_count=[4, None])
    assert (only(more.null_count), only(more.value_count)) == (None, None)


def test_groups_without_members_are_empty_zones_and_zones_without_a_group_are_left_out() -> None:
    zones = ZoneMap(
        num_zones=3,
        row_count=pa.array([1, 2, 4]),
        columns={1: ColumnFacts(type=LONG, lower=pa.array([1, 2, 3]), upper=pa.array([1, 2, 3]))},
    )
    whole = merge_zones(zones, pa.array([2, None, 2]), 3)
    assert whole.row_count.to_pylist() == [0, 0, 5]
    assert whole.columns[1].upper.to_pylist() == [None, None, 3]


@pytest.mark.parametrize("group", [[0], [0, 5], [0, -1]])
def test_wrong_group_numbers_are_refused(group: list[int]) -> None:
    with pytest.raises(InvalidInput, match="Cannot merge zones"):
        merge_zones(ZoneMap(num_zones=2), pa.array(group), 2)


def point(x: float, y: float, z: float | None = None) -> dict[str, Any]:
    return {"x": x, "y": y, "z": z, "m": None}


def test_boxes_are_merged_axis_by_axis() -> None:
    facts = merged(GeometryType(), [point(1, 5, 0), point(0, 6)], [point(2, 9, 3), point(1, 7)])
    assert only(facts.lower) == point(0, 5) and only(facts.upper) == point(2, 9)


def test_a_geography_across_the_antimeridian_merges_into_the_whole_circle() -> None:
    facts = merged(GeographyType(), [point(170, 0), point(1, 1)], [point(-170, 5), point(2, 2)])
    assert only(facts.lower) == point(-180, 0) and only(facts.upper) == point(180, 5)


def test_a_crossed_planar_box_is_odd() -> None:
    facts = merged(GeometryType(), [point(9, 0), point(1, 1)], [point(-9, 5), point(2, 2)])
    assert only(facts.lower) is None and only(facts.upper) is None


def test_variant_bounds_are_forgotten() -> None:
    assert merged(VARIANT, [b"x"], [b"x"]).lower is None


def test_truncated_bounds_only_get_looser() -> None:
    top = "\U0010ffff" * 3
    zones = ZoneMap(
        num_zones=4,
        columns={
            1: ColumnFacts(
                type=STRING,
                lower=pa.array(["apple", "a", None, top]),
                upper=pa.array(["apple", "a", "b\ud7ffx", top]),
                lower_exact=pa.array([True] * 4),
                upper_exact=pa.array([True] * 4),
            ),
            2: ColumnFacts(type=BINARY, lower=pa.array([b"\xff\xff\xff"] * 4), upper=pa.array([b"\x01\xff\xff"] * 4)),
            3: ColumnFacts(type=LONG, lower=pa.array([1] * 4)),
        },
    )
    short = truncate(zones, 2)
    assert short.columns[1].lower.to_pylist() == ["ap", "a", None, top[:2]]
    assert short.columns[1].upper.to_pylist() == ["aq", "a", "b\ue000", None]
    assert short.columns[1].lower_exact.to_pylist() == [False, True, True, False]
    assert short.columns[1].upper_exact.to_pylist() == [False, True, False, False]
    assert short.columns[2].lower.to_pylist()[0] == b"\xff\xff"
    assert short.columns[2].upper.to_pylist()[0] == b"\x02"
    assert short.columns[3].lower.to_pylist() == [1] * 4
    with pytest.raises(InvalidInput, match="Invalid truncation width"):
        truncate(zones, 0)
