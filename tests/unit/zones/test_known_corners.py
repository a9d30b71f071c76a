"""Corners in which skipping goes wrong elsewhere, one named test each.

Verdicts are written as 0 (no row matches), 1 (unknown) and 2 (every row matches).
"""

from __future__ import annotations

import math
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.zones import hand_made

from skipstone.metadata.formats.arrow_types import from_arrow_schema
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import IDENTITY, TruncateTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    UUID,
    DecimalType,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StructType,
)
from skipstone.metadata.values import parse_bounds_array, serialize_bound, truncate_lower, truncate_upper
from skipstone.metadata.values.geo import GeoPoint
from skipstone.predicate import FloatOrder, bind, col, evaluate, parse_sql, project_inclusive, residual
from skipstone.predicate.build import unwrap
from skipstone.predicate.nodes import Box, Column, Compare, In, Intersects, NotIntersects, Op, Transformed
from skipstone.zones import ColumnFacts, ZoneMap, judge
from skipstone.zones.build.footers import from_parquet_footer
from skipstone.zones.zone_map import constant_facts

SPARK, IEEE = FloatOrder.SPARK, FloatOrder.IEEE


def schema_of(type_: PrimitiveType) -> Schema:
    return Schema(fields=(Field(id=1, name="x", type=type_, required=False),))


def verdicts(text: str, zones: ZoneMap, type_: PrimitiveType, float_order: FloatOrder = SPARK) -> list[int]:
    return [int(v) for v in judge(bind(parse_sql(text), schema_of(type_)), zones, float_order)]


def verdict(text: str, type_: PrimitiveType, float_order: FloatOrder = SPARK, **facts: Any) -> int:
    return verdicts(text, hand_made(type_, facts), type_, float_order)[0]


# -- counts


def test_missing_null_count_keeps_is_null_and_proves_no_match_of_every_row() -> None:
    assert verdict("x IS NULL", LONG, lower=1, upper=5, values=9, rows=9) == 1
    assert verdict("x < 10", LONG, lower=1, upper=5, values=9, rows=9) == 1
    assert verdict("x < 10", LONG, lower=1, upper=5, values=9, rows=9, nulls=0) == 2
    assert verdict("x > 10", LONG, lower=1, upper=5) == 0


def test_missing_null_count_is_not_zero_for_not_starts_with() -> None:
    assert verdict("x NOT LIKE 'b%'", STRING, lower="aa", upper="az") == 1
    assert verdict("x NOT LIKE 'b%'", STRING, lower="aa", upper="az", nulls=0, values=2, rows=2) == 2
    assert verdict("x NOT LIKE 'a%'", STRING, lower="aa", upper="az") == 0


def test_all_null_skips_comparisons_and_matches_is_null_whole() -> None:
    facts: dict[str, Any] = {"nulls": 4, "values": 4, "rows": 4}
    assert verdict("x = 1", LONG, **facts) == 0
    assert verdict("x != 1", LONG, **facts) == 0
    assert verdict("x IS NULL", LONG, **facts) == 2
    assert verdict("x IS NOT NULL", LONG, **facts) == 0
    assert verdict("x NOT IN (1, 2)", LONG, **facts) == 0


def test_all_null_is_known_from_the_row_count_when_values_were_not_counted() -> None:
    assert verdict("x = 1", LONG, nulls=4, rows=4) == 0
    assert verdict("x = 1", LONG, nulls=4) == 1


def test_record_count_zero_skips_everything() -> None:
    assert verdict("true", LONG, rows=0) == 0
    assert verdict("x IS NULL", LONG, rows=0) == 0


@pytest.mark.parametrize("rows", [None, -1])
def test_unknown_record_count_keeps_the_zone(rows: int | None) -> None:
    assert verdict("true", LONG, rows=rows) == 2
    assert verdict("x = 3", LONG, rows=rows, lower=1, upper=5) == 1
    assert verdict("x IS NULL", LONG, rows=rows, nulls=-1) == 1


def test_counts_that_contradict_each_other_prove_nothing() -> None:
    assert verdict("x = 1", LONG, nulls=5, values=4, rows=4) == 1
    assert verdict("x = 1", LONG, nulls=5, values=5, rows=9) == 1  # five of nine rows were counted
    assert verdict("x IS NOT NULL", LONG, nulls=0, values=5, rows=9) == 1
    assert verdict("x = 1", DOUBLE, nulls=2, nans=3, values=4, rows=4) == 1


def test_bounds_that_contradict_each_other_prove_nothing() -> None:
    assert verdict("x = 1", LONG, lower=9, upper=5) == 1
    assert verdict("x = 100", LONG, lower=9, upper=5) == 1


def test_bounds_that_contradict_each_other_are_seen_before_a_transform_hides_it() -> None:
    zones = hand_made(LONG, {"lower": 15, "upper": 12})
    term = Transformed(TruncateTransform(10), Column(field_id=1, type=LONG, name="x"))
    assert judge(Compare(Op.EQ, term, 500), zones).tolist() == [1]


# -- one value, truncation, prefixes


def test_lower_equal_to_upper_is_one_value_and_decides_equality() -> None:
    facts: dict[str, Any] = {"lower": 7, "upper": 7, "nulls": 0, "values": 3, "rows": 3}
    assert verdict("x = 7", LONG, **facts) == 2
    assert verdict("x != 7", LONG, **facts) == 0
    assert verdict("x IN (1, 7)", LONG, **facts) == 2
    assert verdict("x NOT IN (1, 7)", LONG, **facts) == 0
    assert verdict("x = 7", LONG, **{**facts, "nulls": 1}) == 1
    assert verdict("x != 7", LONG, **{**facts, "nulls": 1}) == 0


def test_equality_on_a_truncated_bound_neither_skips_nor_matches_whole() -> None:
    long = "iceberg tables of the north"
    facts = {
        "lower": truncate_lower(STRING, long, 16),
        "upper": truncate_upper(STRING, long, 16),
        "nulls": 0,
        "values": 2,
        "rows": 2,
    }
    assert verdict(f"x = '{long}'", STRING, **facts) == 1
    assert verdict("x = 'iceberg tables o'", STRING, **facts) == 1
    assert verdict("x LIKE 'iceberg tables o%'", STRING, **facts) == 1
    assert verdict("x LIKE 'iceberg tables%'", STRING, **facts) == 2
    assert verdict("x = 'iceberg'", STRING, **facts) == 0


def test_no_upper_bound_because_all_is_the_last_code_point_keeps_greater_values() -> None:
    text = "\U0010ffff" * 20
    assert truncate_upper(STRING, text, 16) is None
    assert verdict("x > 'z'", STRING, lower=truncate_lower(STRING, text, 16)) == 1
    assert verdict("x < 'z'", STRING, lower=truncate_lower(STRING, text, 16)) == 0


def test_prefix_with_astral_characters_counts_code_points() -> None:
    assert verdict("x LIKE '😀%'", STRING, lower="😀a", upper="😀z", nulls=0, values=1, rows=1) == 2
    assert verdict("x LIKE '😀%'", STRING, lower="\uffff", upper="\uffff") == 0  # UTF-16 would order it after 😀
    assert verdict("x > '\uffff'", STRING, lower="😀", upper="😀", nulls=0, values=1, rows=1) == 2


@pytest.mark.parametrize("width", [1, 2, 3])
def test_prefix_with_astral_characters_through_truncate_finds_its_partition(width: int) -> None:
    schema, row = schema_of(STRING), {1: "😀😀x"}
    spec = spec_of(TruncateTransform(width))
    predicate = bind(parse_sql("x LIKE '😀😀%'"), schema)
    partition = {1000: TruncateTransform(width).apply(STRING, row[1])}
    assert evaluate(predicate, row) is True
    assert evaluate(project_inclusive(predicate, spec, schema), partition) is True
    assert evaluate(residual(predicate, spec, schema, partition), row) is True


def spec_of(transform: Any) -> PartitionSpec:
    return PartitionSpec(
        spec_id=0, fields=(PartitionField(source_ids=(1,), field_id=1000, name="p", transform=transform),)
    )


def test_null_partition_value_leaves_the_residual_that_only_null_rows_meet() -> None:
    schema, spec = schema_of(LONG), spec_of(IDENTITY)
    for text, expected in (("x IS NULL", True), ("x = 1", False), ("x != 1", False), ("x IS NULL OR x = 1", True)):
        left = residual(bind(parse_sql(text), schema), spec, schema, {1000: None})
        assert (evaluate(left, {1: None}) is True) is expected, text


# -- floating point


@pytest.mark.parametrize("type_", [FLOAT, DOUBLE], ids=str)
def test_negative_zero_equals_zero(type_: PrimitiveType) -> None:
    facts: dict[str, Any] = {"nulls": 0, "nans": 0, "values": 1, "rows": 1}
    for low, high in ((-0.0, -0.0), (0.0, 0.0), (-0.0, 0.0), (0.0, -0.0)):
        for text, expected in (
            ("x = 0.0", 2),
            ("x = -0.0", 2),
            ("x < 0.0", 0),
            ("x >= -0.0", 2),
            ("x IN (0.0, 9.0)", 2),
        ):
            assert verdict(text, type_, lower=low, upper=high, **facts) == expected, (low, high, text)


@pytest.mark.parametrize(
    ("text", "spark", "ieee"),
    [("x > 5", 2, 0), ("x >= 5", 2, 0), ("x = 5", 0, 0), ("x != 5", 2, 2), ("x < 5", 0, 0), ("isnan(x)", 2, 2)],
)
def test_a_zone_of_nan_only(text: str, spark: int, ieee: int) -> None:
    facts = {"nulls": 0, "nans": 3, "values": 3, "rows": 3}
    assert verdict(text, DOUBLE, SPARK, **facts) == spark
    assert verdict(text, DOUBLE, IEEE, **facts) == ieee


@pytest.mark.parametrize(
    ("text", "spark", "ieee"),
    [("x > 5", 1, 0), ("x < 5", 1, 1), ("x > 0", 2, 1), ("x <= 3", 1, 1), ("x = 9", 0, 0), ("NOT isnan(x)", 1, 1)],
)
def test_some_nan_beside_numbers_from_1_to_3(text: str, spark: int, ieee: int) -> None:
    facts: dict[str, Any] = {"lower": 1.0, "upper": 3.0, "nulls": 0, "nans": 1, "values": 4, "rows": 4}
    assert verdict(text, DOUBLE, SPARK, **facts) == spark
    assert verdict(text, DOUBLE, IEEE, **facts) == ieee


def test_unknown_nan_count_keeps_the_zone_where_nan_could_match() -> None:
    facts: dict[str, Any] = {"lower": 1.0, "upper": 3.0, "nulls": 0, "values": 4, "rows": 4}
    assert verdict("x > 4", DOUBLE, SPARK, **facts) == 1
    assert verdict("x > 4", DOUBLE, SPARK, nans=0, **facts) == 0
    assert verdict("x > 4", DOUBLE, IEEE, **facts) == 0
    assert verdict("x < 4", DOUBLE, SPARK, **facts) == 1
    assert verdict("x < 4", DOUBLE, SPARK, nans=0, **facts) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x BETWEEN 4 AND 9", 0),  # NaN is no lower than 9, and no number lies there
        ("x BETWEEN -5 AND 0", 0),
        ("x BETWEEN 0 AND 9", 1),
        ("x > 4 AND x != 5", 1),
        ("x > 4 AND NOT isnan(x)", 0),
        ("x < 0 OR x > 4", 1),
        ("x <= 3 OR isnan(x)", 2),
        ("NOT x > 3 OR x > 3", 2),
        ("(x > 4 OR x < 0) AND x < 100", 0),
    ],
)
def test_unknown_nan_count_does_not_matter_where_nan_fails_another_part(text: str, expected: int) -> None:
    facts: dict[str, Any] = {"lower": 1.0, "upper": 3.0, "nulls": 0, "values": 4, "rows": 4}
    assert verdict(text, DOUBLE, SPARK, **facts) == expected


def test_unknown_null_count_does_not_matter_where_null_has_a_part_of_its_own() -> None:
    facts: dict[str, Any] = {"lower": 1, "upper": 3, "values": 4, "rows": 4}
    assert verdict("x IS NULL OR x > 0", LONG, **facts) == 2
    assert verdict("x IS NULL AND x > 0", LONG, **facts) == 0
    assert verdict("x IS NULL OR x > 2", LONG, **facts) == 1
    assert verdict("x IS NULL OR x > 9", LONG, **facts) == 1


def test_the_negation_of_a_range_is_proven_for_nan_under_both_orders() -> None:
    zones = hand_made(DOUBLE, {"lower": 7.0, "upper": 9.0, "nulls": 0, "values": 4, "rows": 4})
    for float_order in FloatOrder:
        predicate = bind(parse_sql("NOT x < 5"), schema_of(DOUBLE), float_order=float_order)
        assert judge(predicate, zones, float_order).tolist() == [2], float_order


def test_nan_literals_follow_the_float_order() -> None:
    column = Column(field_id=1, type=DOUBLE, name="x")
    zones = hand_made(
        DOUBLE,
        {"lower": 1.0, "upper": 2.0, "nulls": 0, "nans": 0, "values": 1, "rows": 1},
        {"nulls": 0, "nans": 1, "values": 1, "rows": 1},
    )
    expected = {Op.EQ: ([0, 2], [0, 0]), Op.LT: ([2, 0], [0, 0]), Op.GE: ([0, 2], [0, 0]), Op.NE: ([2, 0], [2, 2])}
    for op, (spark, ieee) in expected.items():
        leaf = Compare(op, column, math.nan)
        assert (judge(leaf, zones, SPARK).tolist(), judge(leaf, zones, IEEE).tolist()) == (spark, ieee), op
    listed = In(column, (1.5, math.nan))
    assert (judge(listed, zones, SPARK).tolist(), judge(listed, zones, IEEE).tolist()) == ([1, 2], [1, 0])


def test_nan_as_a_bound_is_forgotten() -> None:
    zones = hand_made(DOUBLE, {"nulls": 0, "nans": 0, "values": 2, "rows": 2})
    nan = pa.array([math.nan])
    zones = zones.with_column(1, ColumnFacts(type=DOUBLE, lower=nan, upper=pa.array([5.0]), nan_count=pa.array([0])))
    assert verdicts("x > 7", zones, DOUBLE) == [1]
    assert verdicts("x IN (8.0, 9.0)", zones, DOUBLE) == [1]
    alone = zones.with_column(1, ColumnFacts(type=DOUBLE, lower=nan, nan_count=pa.array([0]), null_count=pa.array([0])))
    assert verdicts("x IN (8.0, 9.0)", alone, DOUBLE) == [1]
    assert verdicts("x NOT IN (8.0, 9.0)", alone, DOUBLE) == [1]


# -- types


def test_bounds_promoted_from_int_and_float_and_date_compare_as_the_wider_type() -> None:
    for wide, narrow, bound, text in (
        (LONG, INT, 7, "x = 3000000000"),
        (DOUBLE, FLOAT, 1.5, "x = 1.25"),
        (TIMESTAMP, DATE, 1, "x = TIMESTAMP_NTZ '1970-01-03 00:00:00'"),
    ):
        bounds = parse_bounds_array(wide, pa.array([serialize_bound(narrow, bound)], pa.binary()))
        facts = ColumnFacts(type=wide, lower=bounds, upper=bounds, nan_count=pa.array([0]))
        assert verdicts(text, ZoneMap(num_zones=1, columns={1: facts}), wide) == [0], wide


def test_facts_of_another_type_than_the_column_prove_nothing() -> None:
    assert verdicts("x = 3000000000", hand_made(INT, {"lower": 1, "upper": 2}), LONG) == [1]


def test_decimals_compare_by_value_at_any_precision() -> None:
    for precision in (9, 18, 38):
        type_ = DecimalType(precision, 2)
        low, high = Decimal("1.00"), Decimal("3.50")
        assert verdict("x = 3.505", type_, lower=low, upper=high) == 0
        assert verdict("x IN (0.5, 3.51, -7)", type_, lower=low, upper=high) == 0
        assert verdict("x IN (0.5, 3.5, -7)", type_, lower=low, upper=high) == 1
        assert verdict("x > 3.495", type_, lower=low, upper=high) == 1


def test_booleans_have_bounds_too() -> None:
    facts: dict[str, Any] = {"nulls": 0, "values": 2, "rows": 2}
    assert verdict("x = true", BOOLEAN, lower=False, upper=False, **facts) == 0
    assert verdict("x = false", BOOLEAN, lower=False, upper=False, **facts) == 2
    assert verdict("x IN (true, false)", BOOLEAN, lower=False, upper=True, **facts) == 1


def test_fixed_literals_of_another_length_equal_nothing_and_still_have_a_place() -> None:
    facts: dict[str, Any] = {"lower": b"\x01\x00", "upper": b"\x01\xff", "nulls": 0, "values": 2, "rows": 2}
    assert verdict("x = X'01'", FixedType(2), **facts) == 0
    assert verdict("x > X'01'", FixedType(2), **facts) == 2
    assert verdict("x < X'0200ff'", FixedType(2), **facts) == 2


def test_prefixes_of_binary_compare_bytes() -> None:
    predicate = bind(unwrap(col("x").starts_with(b"\xff\x00")), schema_of(BINARY))
    zones = hand_made(
        BINARY,
        {"lower": b"\xff", "upper": b"\xff\x00\x01"},
        {"lower": b"\xff\x01", "upper": b"\xff\xff"},
        {"lower": b"\xff\x00", "upper": b"\xff\x00\xff", "nulls": 0, "values": 1, "rows": 1},
    )
    assert judge(predicate, zones).tolist() == [1, 0, 2]


def test_uuids_compare_as_unsigned_bytes() -> None:
    low, high = uuid.UUID("7fffffff-0000-0000-0000-000000000000"), uuid.UUID("80000000-0000-0000-0000-000000000001")
    assert verdict("x = '80000000-0000-0000-0000-000000000000'", UUID, lower=low, upper=high) == 1
    assert verdict("x = '7ffffffe-0000-0000-0000-000000000000'", UUID, lower=low, upper=high) == 0


def test_boxes_apart_are_skipped_and_a_geography_across_the_antimeridian_only_by_latitude() -> None:
    for type_, crossed in ((GeometryType(), False), (GeographyType(), True)):
        column = Column(field_id=1, type=type_, name="g")
        zones = hand_made(
            type_,
            {"lower": GeoPoint(x=0.0, y=0.0), "upper": GeoPoint(x=5.0, y=5.0), "nulls": 0, "values": 1, "rows": 1},
            {"lower": GeoPoint(x=170.0, y=0.0), "upper": GeoPoint(x=-170.0, y=5.0)},
        )
        assert judge(Intersects(column, Box(6.0, 0.0, 9.0, 9.0)), zones).tolist() == [0, 1], crossed
        assert judge(Intersects(column, Box(6.0, 7.0, 9.0, 9.0)), zones).tolist() == [0, 0]
        assert judge(NotIntersects(column, Box(6.0, 0.0, 9.0, 9.0)), zones).tolist() == [2, 1]
        assert judge(Intersects(column, Box(5.0, 5.0, 9.0, 9.0)), zones).tolist() == [1, 1]


def test_a_transform_that_leaves_its_type_makes_the_bound_unknown() -> None:
    term = Transformed(TruncateTransform(10), Column(field_id=1, type=INT, name="x"))
    zones = hand_made(INT, {"lower": -(2**31), "upper": -(2**31) + 1}, {"lower": 11, "upper": 12})
    assert judge(Compare(Op.GT, term, 20), zones).tolist() == [1, 0]


# -- IN lists


def test_null_in_an_in_list_matches_nothing() -> None:
    assert verdict("x IN (NULL, 9)", LONG, lower=1, upper=5) == 0
    assert verdict("x IN (NULL, 3)", LONG, lower=3, upper=3, nulls=0, values=1, rows=1) == 2
    assert verdict("x IN (NULL)", LONG, nulls=4, values=4, rows=4) == 0


def test_null_in_a_not_in_list_matches_no_row_at_all() -> None:
    assert verdict("x NOT IN (NULL, 9)", LONG, lower=1, upper=5, nulls=0, values=3, rows=3) == 0
    assert verdict("x NOT IN (9, 10)", LONG, lower=1, upper=5, nulls=0, values=3, rows=3) == 2


def test_ten_thousand_literals_are_searched_and_not_given_up_on() -> None:
    literals = [f"customer#{i:09d}" for i in range(0, 20_000, 2)]
    predicate = bind(unwrap(col("x").is_in(literals)), schema_of(STRING))
    zones = hand_made(
        STRING,
        {"lower": "customer#000000001", "upper": "customer#000000001"},
        {"lower": "customer#000000001", "upper": "customer#000000002"},
        {"lower": "customer#000000004", "upper": "customer#000000004", "nulls": 0, "values": 1, "rows": 1},
        {"lower": "a", "upper": "b"},
        {"lower": "d", "upper": "e"},
        {"lower": "a", "upper": "z"},
        {"lower": "customer#000019999"},
        {"upper": "customer"},
    )
    assert judge(predicate, zones).tolist() == [0, 1, 2, 0, 0, 1, 0, 0]


# -- columns that come and go


def test_a_struct_leaf_under_null_parents_is_not_without_nulls() -> None:
    inner = StructType((Field(id=1, name="leaf", type=LONG, required=True),))
    schema = Schema(fields=(Field(id=2, name="s", type=inner, required=False),))
    # Ten rows, four of them with a null struct, which the leaf's own counts do not see.
    hidden = {"lower": 1, "upper": 3, "nulls": 0, "values": 6, "rows": 10}
    full = {**hidden, "values": 10}
    zones = hand_made(LONG, hidden, full, {"nulls": 0, "values": 0, "rows": 10})
    assert judge(bind(parse_sql("s.leaf IS NULL"), schema), zones).tolist() == [1, 0, 2]
    assert judge(bind(parse_sql("s.leaf < 9"), schema), zones).tolist() == [1, 2, 0]
    assert judge(bind(parse_sql("s.leaf IS NOT NULL"), schema), zones).tolist() == [1, 2, 0]


def added_later(default: int | None) -> ZoneMap:
    """Zone 0 was written before `z` existed, zone 1 holds z from 5 to 9; `i` is 1 to 3 in both."""
    rows = pa.array([10], pa.int64())
    old = constant_facts(INT, pa.scalar(default, pa.int32()), rows)
    new = hand_made(INT, {"lower": 5, "upper": 9, "nulls": 0, "values": 10, "rows": 10}).columns[1]
    zeros = pa.array([0, 0], pa.int64())
    both = ColumnFacts(
        type=INT,
        lower=pa.concat_arrays([old.lower, new.lower]),
        upper=pa.concat_arrays([old.upper, new.upper]),
        null_count=pa.concat_arrays([old.null_count, new.null_count]),
        value_count=pa.array([10, 10], pa.int64()),
    )
    i = ColumnFacts(type=INT, lower=pa.array([1, 1], pa.int32()), upper=pa.array([3, 3], pa.int32()), null_count=zeros)
    return ZoneMap(num_zones=2, row_count=pa.array([10, 10], pa.int64()), columns={1: both, 2: i})


LATER = Schema(
    fields=(Field(id=1, name="z", type=INT, required=False), Field(id=2, name="i", type=INT, required=False))
)


def test_a_column_added_later_is_null_in_older_files() -> None:
    zones = added_later(None)
    for text, expected in (
        ("z = 7", [0, 1]),
        ("z IS NULL", [2, 0]),
        ("z IS NULL OR i = 1", [2, 1]),
        ("coalesce(z, 0) = 0", [2, 0]),
        ("NOT (z = 7)", [0, 1]),
    ):
        assert judge(bind(parse_sql(text), LATER), zones).tolist() == expected, text


def test_a_column_added_later_with_an_initial_default_has_it_in_older_files() -> None:
    zones = added_later(7)
    for text, expected in (("z = 7", [2, 1]), ("z = 8", [0, 1]), ("z IS NULL", [0, 0]), ("coalesce(z, 0) = 0", [0, 0])):
        assert judge(bind(parse_sql(text), LATER), zones).tolist() == expected, text


def test_facts_of_a_dropped_column_do_not_speak_for_one_added_again_by_the_same_name() -> None:
    again = Schema(fields=(Field(id=8, name="x", type=LONG, required=False),))
    zones = hand_made(LONG, {"lower": 1, "upper": 2, "nulls": 0, "values": 5, "rows": 5})
    assert judge(bind(parse_sql("x = 100"), again), zones).tolist() == [1]


# -- how others lose rows


def footer_zones(tmp_path: Path, table: pa.Table, schema: Schema) -> ZoneMap:
    """The row groups of a real file."""
    path = tmp_path / "data.parquet"
    fields = [f.with_metadata({b"PARQUET:field_id": str(i).encode()}) for i, f in enumerate(table.schema, 1)]
    pq.write_table(table.cast(pa.schema(fields)), path, row_group_size=2)
    metadata = pq.read_metadata(path)
    struct = from_arrow_schema(metadata.schema.to_arrow_schema()).struct
    return from_parquet_footer(metadata, resolve(schema, struct))


def test_one_nan_in_a_file_does_not_drop_its_ordinary_rows(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([math.nan, 7.0, 1.0, 2.0])})
    zones = footer_zones(tmp_path, table, schema_of(DOUBLE))
    assert verdicts("x = 7.0", zones, DOUBLE)[0] == 1
    assert verdicts("x > 5", zones, DOUBLE, SPARK)[0] == 2  # 7.0, and NaN is greater than everything
    assert verdicts("x > 5", zones, DOUBLE, IEEE)[0] == 1
    assert verdicts("x < 0", zones, DOUBLE, IEEE)[1] == 0


def test_like_with_a_prefix_is_not_equality(tmp_path: Path) -> None:
    table = pa.table({"x": ["apple", "apricot", "ba", "banana"]})
    assert verdicts("x LIKE 'ap%'", footer_zones(tmp_path, table, schema_of(STRING)), STRING) == [2, 0]


def test_one_long_string_leaves_no_footer_statistics_and_the_file_is_kept(tmp_path: Path) -> None:
    table = pa.table({"x": ["apple", "z" * 5_000, "kiwi", "lemon"]})
    zones = footer_zones(tmp_path, table, schema_of(STRING))
    assert verdicts("x = 'apple'", zones, STRING) == [1, 0]
    assert verdicts("x IS NOT NULL", zones, STRING)[0] != 0


def test_missing_bounds_beside_known_counts_are_unknown_and_not_all_null() -> None:
    assert verdict("x = 'apple'", STRING, nulls=0, values=2, rows=2) == 1
    assert verdict("x = 'apple'", STRING, values=2, rows=2) == 1


def test_zero_finds_a_file_whose_bounds_are_negative_zero() -> None:
    assert verdict("x = 0.0", DOUBLE, lower=-0.0, upper=-0.0, nulls=0, nans=0, values=2, rows=2) == 2


def test_greater_than_keeps_nan_rows_that_spark_matches() -> None:
    assert verdict("x > 4", DOUBLE, SPARK, lower=1.0, upper=3.0, nulls=0, nans=2, values=6, rows=6) == 1
    assert verdict("x > 4", DOUBLE, SPARK, nulls=0, nans=2, values=2, rows=2) == 2


def test_a_predicate_that_matches_everything_matches_every_zone_whole() -> None:
    zones = hand_made(LONG, {"lower": 1, "upper": 5, "nulls": 0, "values": 3, "rows": 3}, {})
    assert verdicts("true", zones, LONG) == [2, 2]
    assert verdicts("x >= 1", zones, LONG) == [2, 1]
    assert verdicts("x >= 1 OR x IS NULL", zones, LONG) == [2, 1]
    assert verdicts("x BETWEEN 0 AND 9", zones, LONG) == [2, 1]
