"""The judge itself: what it refuses, how proofs combine, and how useful it is where the answer is known."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tests.support.zones import bounds_array, hand_made

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.transforms import DAY, VOID, BucketTransform, TruncateTransform, UnknownTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, VARIANT, DecimalType, Field
from skipstone.metadata.values.variant import VariantKind, VariantPrimitive
from skipstone.predicate import bind, col, parse_sql
from skipstone.predicate.build import unwrap
from skipstone.predicate.nodes import (
    TRUE,
    UNKNOWN,
    And,
    Column,
    Compare,
    In,
    IsNull,
    Leaf,
    Not,
    Op,
    Predicate,
    Ref,
    Transformed,
    VariantGet,
)
from skipstone.zones import Proofs, Verdict, ZoneMap, judge, prove
from skipstone.zones.reference import OneColumn, OneZone, judge_one, one_zone
from skipstone.zones.verdict import intersected

X = Column(field_id=1, type=LONG, name="x")
SCHEMA = Schema(fields=(Field(id=1, name="x", type=LONG, required=False),))


@pytest.mark.parametrize("predicate", [Not(TRUE), Compare(Op.EQ, Ref("x"), 5)], ids=str)
def test_what_is_not_bound_is_refused_with_the_next_step(predicate: Predicate) -> None:
    with pytest.raises(InvalidInput, match="Call bind first"):
        judge(predicate, hand_made(LONG, {}))
    with pytest.raises(InvalidInput, match="Call bind first"):
        judge_one(predicate, OneZone())


def test_zones_of_other_lengths_than_their_facts_are_refused() -> None:
    facts = hand_made(LONG, {}, {}).columns[1]
    with pytest.raises(InvalidInput, match="expected 3 zones, got 2"):
        ZoneMap(num_zones=3, columns={1: facts})


def test_a_column_without_facts_is_unknown() -> None:
    assert judge(Compare(Op.EQ, X, 5), ZoneMap(num_zones=2)).tolist() == [1, 1]


def test_null_as_a_predicate_matches_no_row() -> None:
    assert judge(UNKNOWN, hand_made(LONG, {})).tolist() == [0]


def test_a_thousand_sorted_zones_leave_exactly_those_that_overlap() -> None:
    zones = hand_made(
        LONG, *({"lower": i * 10, "upper": i * 10 + 9, "nulls": 0, "values": 10, "rows": 10} for i in range(1000))
    )

    def counts(text: str) -> list[int]:
        return np.bincount(judge(bind(parse_sql(text), SCHEMA), zones), minlength=3).tolist()  # type: ignore[no-any-return]

    assert counts("x = 5005") == [999, 1, 0]
    assert counts("x BETWEEN 5000 AND 5099") == [990, 0, 10]
    assert counts("x BETWEEN 5005 AND 5094") == [990, 2, 8]
    assert counts("x IN (1, 2, 3, 500, 9999, 10000)") == [997, 3, 0]
    assert counts("x > 9989 OR x < 10") == [998, 0, 2]
    assert counts("x IS NULL") == [1000, 0, 0]
    assert counts("x NOT IN (5, 15)") == [0, 2, 998]


def test_a_transform_that_keeps_order_is_judged_by_its_bounds() -> None:
    day = 86_400_000_000
    zones = hand_made(
        TIMESTAMP,
        *({"lower": i * day, "upper": i * day + day - 1, "nulls": 0, "values": 1, "rows": 1} for i in range(5)),
    )
    term = Transformed(DAY, Column(field_id=1, type=TIMESTAMP, name="ts"))
    assert judge(Compare(Op.EQ, term, 3), zones).tolist() == [0, 0, 0, 2, 0]
    assert judge(Compare(Op.GE, term, 3), zones).tolist() == [0, 0, 0, 2, 2]


def test_a_bucket_is_known_only_where_there_is_one_value() -> None:
    bucket = BucketTransform(16)
    term = Transformed(bucket, X)
    own = bucket.apply(LONG, 34)
    zones = hand_made(LONG, {"lower": 34, "upper": 34, "nulls": 0, "values": 2, "rows": 2}, {"lower": 34, "upper": 35})
    assert judge(Compare(Op.EQ, term, own), zones).tolist() == [2, 1]
    assert judge(Compare(Op.EQ, term, own + 1), zones).tolist() == [0, 1]


@pytest.mark.parametrize("transform", [VOID, UnknownTransform("later[3]")], ids=str)
def test_transforms_whose_results_are_not_in_the_facts_prove_nothing(transform: object) -> None:
    zones = hand_made(LONG, {"lower": 1, "upper": 1, "nulls": 0, "values": 1, "rows": 1})
    leaf: Leaf = IsNull(Transformed(transform, X))  # type: ignore[arg-type]
    assert judge(leaf, zones).tolist() == [1]


def test_one_bound_is_enough_for_an_ordered_transform() -> None:
    term = Transformed(TruncateTransform(10), X)
    assert judge(Compare(Op.LT, term, 20), hand_made(LONG, {"lower": 25})).tolist() == [0]
    zones = hand_made(LONG, {"lower": 25}).forget(1, "upper")
    assert judge(Compare(Op.LT, term, 20), zones).tolist() == [0]
    assert judge(In(X, (3, 24)), zones).tolist() == [0]
    assert judge(In(X, (3, 26)), zones).tolist() == [1]


def test_paths_of_a_variant_are_judged_by_their_own_bounds() -> None:
    def bound(value: int) -> dict[str, VariantPrimitive]:
        return {"$['a']['b']": VariantPrimitive(VariantKind.INT64, value)}

    column = Column(field_id=1, type=VARIANT, name="v")
    zones = hand_made(VARIANT, {"lower": bound(1), "upper": bound(5), "nulls": 0, "values": 1, "rows": 1}, {})
    term = VariantGet(column, "$['a']['b']", INT)
    assert judge(Compare(Op.GT, term, 7), zones).tolist() == [0, 1]
    assert judge(Compare(Op.GT, term, 0), zones).tolist() == [1, 1]  # the field may be missing
    assert judge(Compare(Op.GT, VariantGet(column, "$['a']", INT), 7), zones).tolist() == [1, 1]
    assert judge(Compare(Op.GT, VariantGet(column, "$['a']['b']", DATE), 7), zones).tolist() == [1, 1]


def test_decimals_of_a_variant_keep_all_their_digits() -> None:
    low, high = Decimal("9" * 37 + "6"), Decimal("9" * 37 + "8")
    bounds = [{"$": VariantPrimitive(VariantKind.DECIMAL16, v)} for v in (low, high)]
    zones = hand_made(VARIANT, {"lower": bounds[0], "upper": bounds[1]})
    term = VariantGet(Column(field_id=1, type=VARIANT, name="v"), "$", DecimalType(38, 0))
    assert judge(Compare(Op.LT, term, low), zones).tolist() == [0]
    assert judge(Compare(Op.LE, term, low), zones).tolist() == [1]


def test_a_damaged_variant_bound_is_unknown() -> None:
    facts = hand_made(VARIANT, {}).columns[1]
    damaged = pa.array([b"\xff\x00\x01"], pa.binary())
    zones = ZoneMap(num_zones=1, columns={1: facts}).with_column(
        1, type(facts)(type=VARIANT, lower=damaged, upper=damaged)
    )
    term = VariantGet(Column(field_id=1, type=VARIANT, name="v"), "$", INT)
    assert judge(Compare(Op.EQ, term, 7), zones).tolist() == [1]
    assert judge_one(Compare(Op.EQ, term, 7), one_zone(zones, 0)) is Verdict.UNKNOWN


def test_sliced_facts_are_judged_like_whole_ones() -> None:
    zones = hand_made(LONG, *({"lower": i, "upper": i + 1, "nulls": i % 2, "values": 3, "rows": 3} for i in range(20)))
    facts = zones.columns[1]
    part = type(facts)(
        type=LONG,
        lower=facts.lower.slice(3, 9),
        upper=facts.upper.slice(3, 9),
        null_count=facts.null_count.slice(3, 9),
        value_count=facts.value_count.slice(3, 9),
    )
    sliced = ZoneMap(num_zones=9, row_count=zones.row_count.slice(3, 9), columns={1: part})
    for text in ("x = 5", "x < 7", "x IN (4, 9)", "x IS NULL", "x IS NOT NULL AND x > 5"):
        predicate = bind(parse_sql(text), SCHEMA)
        assert judge(predicate, sliced).tolist() == judge(predicate, zones)[3:12].tolist(), text


def test_long_strings_that_begin_alike_are_told_apart() -> None:
    texts = ["customer#000000010", "customer#000000020", "customer#000000020x", "customer#00000002", "customer#", "d"]
    schema = Schema(fields=(Field(id=1, name="x", type=STRING, required=False),))
    zones = hand_made(STRING, *({"lower": t, "upper": t, "nulls": 0, "values": 1, "rows": 1} for t in texts))
    for chosen in (texts[:2], texts[1:3], texts[::2], ["customer#000000020", "customer#000000020\x00"]):
        predicate = bind(unwrap(col("x").is_in(chosen)), schema)
        assert judge(predicate, zones).tolist() == [2 if t in chosen else 0 for t in texts]


def test_proofs_of_several_kinds_about_the_same_zones_add_up() -> None:
    yes, no = pa.array([True, False]), pa.array([False, False])
    bounds, bloom = Proofs(no, yes), Proofs(pa.array([False, True]), no)
    assert intersected([bounds, bloom]).verdicts().tolist() == [2, 0]


def test_kept_zones_are_those_without_the_proof() -> None:
    zones = hand_made(LONG, {"lower": 1, "upper": 2}, {"lower": 5, "upper": 9})
    assert prove(Compare(Op.EQ, X, 6), zones).kept().to_pylist() == [False, True]


def test_judging_does_not_change_the_facts() -> None:
    zones = hand_made(DOUBLE, {"lower": 3.0, "upper": 1.0, "nulls": -1}, {"lower": 1.0, "upper": 2.0})
    before = zones.columns[1].lower.to_pylist(), zones.columns[1].null_count.to_pylist()
    judge(And((Compare(Op.LT, Column(field_id=1, type=DOUBLE, name="x"), 0.0), TRUE)), zones)
    assert (zones.columns[1].lower.to_pylist(), zones.columns[1].null_count.to_pylist()) == before


def test_one_zone_takes_plain_values_out_of_a_map() -> None:
    zone = one_zone(hand_made(DATE, {"lower": 3, "upper": 4, "nulls": 0, "values": 2, "rows": 2}), 0)
    expected = OneColumn(type=DATE, lower=3, upper=4, null_count=0, value_count=2)
    assert zone == OneZone(row_count=2, columns={1: expected})
    assert bounds_array(DATE, [3]).to_pylist()[0].isoformat() == "1970-01-04"
