"""The laws that make skipping safe: sound, monotone, covering, same (useful is in the unit tests, with exact counts).

Generators and checks are in tests/support; the soak test runs the same checks a million times.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.quick import fewer
from tests.support.skipping_laws import check_batch, check_same, check_seeded, check_sound, one_by_one, truth
from tests.support.strategies import nullable, values
from tests.support.zone_predicates import some_bound_predicate, some_predicate
from tests.support.zones import LEAVES, SCHEMA, TYPES, collect, column_facts, forgotten, garbage, some_batch

from skipstone.errors import InvalidInput
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
)
from skipstone.metadata.types import DecimalType, GeographyType, GeometryType, PrimitiveType, UnknownType, VariantType
from skipstone.metadata.values import check_value
from skipstone.predicate import FloatOrder, bind, evaluate, project_inclusive, project_strict, residual
from skipstone.predicate.nodes import Column, Compare, In, IsNull, NotIn, NotNull, Op
from skipstone.zones import ZoneMap, judge
from skipstone.zones.merge import merge_zones

CASES_MIN = 20_000
ORDERED = [t for t in TYPES if not isinstance(t, GeometryType | GeographyType | VariantType | UnknownType)]
# Small random batches drawn through Hypothesis, so that a failure shrinks.
randoms = st.randoms(use_true_random=False)
shrinking = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow]
)


def test_twenty_thousand_random_cases_are_sound_monotone_and_same() -> None:
    """A case is one zone judged for one predicate in one float order: 1,440 of them a seed."""
    cases = sum(check_seeded(seed) for seed in range(15))
    assert cases >= CASES_MIN


@shrinking
@given(randoms)
def test_verdicts_are_sound_monotone_and_same_for_any_rows_and_facts(rng: random.Random) -> None:
    batch = some_batch(rng, num_zones=4, columns_max=2)
    assert check_batch(rng, batch, 3) == 24


@pytest.mark.parametrize("type_", ORDERED, ids=str)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_leaves_on_any_values_of_a_type_are_sound_and_same(type_: PrimitiveType, data: st.DataObject) -> None:
    zones = data.draw(st.lists(st.lists(nullable(type_), max_size=4), min_size=1, max_size=4))
    column = Column(field_id=1, type=type_, name="c")
    seen = [v for zone in zones for v in zone if v is not None]
    literal = data.draw(st.sampled_from(seen) | values(type_) if seen else values(type_))
    others = data.draw(st.lists(values(type_), max_size=3))
    listed: tuple[Any, ...] = tuple(sorted({v for v in (literal, *others) if v == v}))
    leaves = [Compare(op, column, literal) for op in Op] + [IsNull(column), NotNull(column)]
    if listed:
        leaves += [In(column, listed), NotIn(column, listed)]
    rows = [[{1: v} for v in zone] for zone in zones]
    zone_map = ZoneMap(
        num_zones=len(zones),
        row_count=pa.array([len(z) for z in zones], pa.int64()),
        columns={1: column_facts(type_, zones)},
    )
    alone = one_by_one(zone_map)
    for leaf in leaves:
        for float_order in FloatOrder:
            verdicts = judge(leaf, zone_map, float_order)
            check_sound("exact", verdicts, truth(leaf, rows, float_order), leaf, rows)
            check_same(alone, verdicts, leaf, float_order)


@pytest.mark.parametrize("seed", range(fewer(20)))
def test_facts_that_contradict_each_other_are_judged_the_same_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    batch = some_batch(rng, num_zones=30)
    for _ in range(10):
        zone_map = garbage(rng, collect(batch.zones, batch.field_ids))
        if rng.random() < 0.5:
            zone_map = forgotten(rng, zone_map)
        predicate = some_bound_predicate(rng, batch)
        for float_order in FloatOrder:
            check_same(one_by_one(zone_map), judge(predicate, zone_map, float_order), predicate, float_order)


@pytest.mark.parametrize("seed", range(fewer(30)))
def test_merged_zones_cover_the_rows_of_all_their_members(seed: int) -> None:
    rng = random.Random(seed)
    batch = some_batch(rng, num_zones=24)
    exact = collect(batch.zones, batch.field_ids)
    group = [rng.randrange(6) for _ in batch.zones]
    merged_rows = [[r for rows, g in zip(batch.zones, group) if g == i for r in rows] for i in range(6)]
    for facts in (exact, forgotten(rng, exact), forgotten(rng, exact, share=0.05)):
        merged = merge_zones(facts, pa.array(group), 6)
        assert_covering(facts, merged, group)
        for _ in range(10):
            predicate = some_bound_predicate(rng, batch)
            for float_order in FloatOrder:
                true = truth(predicate, merged_rows, float_order)
                check_sound("merged", judge(predicate, merged, float_order), true, predicate, merged_rows)


def assert_covering(facts: ZoneMap, merged: ZoneMap, group: list[int]) -> None:
    """A merged bound is no tighter than that of any member, and a merged count is the sum."""
    for field_id, column in facts.columns.items():
        whole = merged.columns.get(field_id)
        if whole is None or isinstance(column.type, GeometryType | GeographyType | VariantType | UnknownType):
            continue
        for name, outer in (("lower", "less_equal"), ("upper", "greater_equal")):
            part, bound = getattr(column, name), getattr(whole, name)
            if part is not None and bound is not None:
                covers = getattr(pa.compute, outer)(bound.take(pa.array(group)), part)
                assert pa.compute.all(covers, min_count=0).as_py(), (field_id, name)


TRANSFORMS: tuple[Transform, ...] = (
    IDENTITY, VOID, YEAR, MONTH, DAY, HOUR, BucketTransform(1), BucketTransform(4), BucketTransform(16),
    TruncateTransform(1), TruncateTransform(2), TruncateTransform(10), TruncateTransform(1_000_003),
)  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_projection_through_a_transform_is_sound_and_the_residual_equivalent(transform: Transform) -> None:
    checked = sum(_check_projection(random.Random(seed), transform) for seed in range(fewer(12)))
    assert checked > fewer(300)


@pytest.mark.parametrize("op", list(Op))
@settings(max_examples=60, deadline=None)
@given(near=st.integers(-5, 5), off=st.integers(-5, 5), top=st.integers(10**36, 10**38 - 100), width=st.integers(1, 4))
def test_projection_of_decimals_with_38_digits_loses_no_row(op: Op, near: int, off: int, top: int, width: int) -> None:
    field_id = next(i for i, f in LEAVES.items() if f.type == DecimalType(38, 10) and not f.required)
    column = Column(field_id=field_id, type=DecimalType(38, 10), name="d")
    literal, value = (Decimal(f"{top + n}E-10") for n in (near, near + off))
    spec = _spec(random.Random(1), TruncateTransform(width), (field_id,))
    partition = _partition(spec, {field_id: value})
    assert partition is not None
    leaf = Compare(op, column, literal)
    matches = evaluate(leaf, {field_id: value}) is True
    assert evaluate(project_inclusive(leaf, spec, SCHEMA), partition) is True or not matches
    assert matches or evaluate(project_strict(leaf, spec, SCHEMA), partition) is not True


def _check_projection(rng: random.Random, transform: Transform) -> int:
    batch = some_batch(rng, num_zones=10, columns_max=3)
    while not any(transform.can_transform(LEAVES[i].type) for i in batch.field_ids):
        batch = some_batch(rng, num_zones=10, columns_max=3)
    spec = _spec(rng, transform, batch.field_ids)
    checked = 0
    for _ in range(8):
        written = some_predicate(rng, batch)
        for float_order in FloatOrder:
            predicate = bind(written, SCHEMA, float_order=float_order)
            inclusive, strict = project_inclusive(predicate, spec, SCHEMA), project_strict(predicate, spec, SCHEMA)
            for row in (r for rows in batch.zones for r in rows):
                partition = _partition(spec, row)
                if partition is None:
                    continue
                matches = evaluate(predicate, row, float_order) is True
                may = evaluate(inclusive, partition, float_order) is True
                must = evaluate(strict, partition, float_order) is True
                left = residual(predicate, spec, SCHEMA, partition, float_order)
                assert may or not matches, (predicate, row, partition)
                assert matches or not must, (predicate, row, partition)
                assert (evaluate(left, row, float_order) is True) == matches, (predicate, left, row, partition)
                checked += 1
    return checked


def _spec(rng: random.Random, transform: Transform, field_ids: tuple[int, ...]) -> PartitionSpec:
    """The transform on every column that takes it, and sometimes another transform of the same column."""
    fields: list[PartitionField] = []
    for source in field_ids:
        others = [transform, *([rng.choice(TRANSFORMS)] if rng.random() < 0.3 else [])]
        for t in dict.fromkeys(others):
            if t.can_transform(LEAVES[source].type):
                number = 1000 + len(fields)
                fields.append(PartitionField(source_ids=(source,), field_id=number, name=f"p{number}", transform=t))
    return PartitionSpec(spec_id=1, fields=tuple(fields))


def _partition(spec: PartitionSpec, row: dict[int, Any]) -> dict[int, Any] | None:
    """A row's partition tuple; None where a value does not fit its type, which no writer accepts."""
    result: dict[int, Any] = {}
    for field in spec.fields:
        source = LEAVES[field.source_id].type
        value = field.transform.apply(source, row.get(field.source_id))
        try:
            if value is not None:
                check_value(field.transform.result_type(source), value)  # type: ignore[arg-type]
        except InvalidInput:
            return None
        result[field.field_id] = value
    return result


def test_an_empty_zone_map_has_no_verdicts() -> None:
    batch = some_batch(random.Random(1), num_zones=0)
    predicate = some_bound_predicate(random.Random(1), batch)
    assert judge(predicate, collect([], batch.field_ids)).tolist() == np.zeros(0, np.int8).tolist()
