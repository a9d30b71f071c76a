"""Zones built from real files, partition tuples and summaries never lie about the rows behind them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.skipping_laws import check_sound, truth
from tests.support.zone_files import fits_orc, kept_rows, storable_batch, write_orc, write_parquet
from tests.support.zone_predicates import some_bound_predicate
from tests.support.zones import LEAVES, Batch, collect, forgotten, some_batch

from skipstone.errors import FormatViolation
from skipstone.metadata.manifests.field_summaries import summarize
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.types import (
    BINARY,
    DoubleType,
    Field,
    FloatType,
    GeographyType,
    GeometryType,
    StructType,
    UnknownType,
    VariantType,
)
from skipstone.metadata.values import bound_type
from skipstone.predicate import FloatOrder, evaluate
from skipstone.zones import ColumnFacts, Verdict, ZoneMap, judge
from skipstone.zones.build import FileBytes, from_field_summaries, from_orc_stripes, from_partitions
from skipstone.zones.build.parquet_structures import read_footer
from skipstone.zones.levels import page_ranges, prove_row_groups
from skipstone.zones.merge import merge_zones, truncate

SEEDS = st.integers(0, 2**32)
PREDICATES = 8
NOT_IN_PARTITIONS = (GeometryType, GeographyType, VariantType, UnknownType)


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_row_groups_of_a_parquet_file_are_judged_soundly(seed: int) -> None:
    rng = random.Random(seed)
    batch = storable_batch(rng, num_zones=5)
    file = write_parquet(rng, batch)
    for _ in range(PREDICATES):
        predicate = some_bound_predicate(rng, batch)
        for float_order in FloatOrder:
            true = truth(predicate, file.zones, float_order)
            by_statistics = prove_row_groups(predicate, file.metadata, file.projection, float_order=float_order)
            check_sound("footer", by_statistics.verdicts(), true, predicate, file.zones)
            by_all = prove_row_groups(
                predicate, file.metadata, file.projection, file=file.data, float_order=float_order
            )
            check_sound("dictionary and Bloom", by_all.verdicts(), true, predicate, file.zones)
            decided = by_statistics.verdicts() != Verdict.UNKNOWN
            assert (by_all.verdicts()[decided] == by_statistics.verdicts()[decided]).all()


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_every_matching_row_lies_in_the_pages_that_are_kept(seed: int) -> None:
    rng = random.Random(seed)
    batch = storable_batch(rng, num_zones=6)
    file = write_parquet(rng, batch, one_group=True)
    rows = file.zones[0]
    for _ in range(PREDICATES):
        predicate = some_bound_predicate(rng, batch)
        for float_order in FloatOrder:
            ranges = page_ranges(predicate, file.metadata, file.projection, 0, file.data, float_order)
            matching = {i for i, row in enumerate(rows) if evaluate(predicate, row, float_order) is True}
            assert matching <= kept_rows(ranges), predicate
            assert kept_rows(ranges) <= set(range(len(rows)))


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_stripes_of_an_orc_file_are_judged_soundly(seed: int) -> None:
    rng = random.Random(seed)
    batch = storable_batch(rng, num_zones=3, without=(GeometryType, GeographyType))
    if not fits_orc(batch):
        return
    file = write_orc(rng, batch)
    zones = from_orc_stripes(file.data, file.projection, strict=True)
    assert zones is not None and zones.num_zones == 1
    for _ in range(PREDICATES):
        predicate = some_bound_predicate(rng, batch)
        for float_order in FloatOrder:
            true = truth(predicate, file.zones, float_order)
            check_sound("stripe", judge(predicate, zones, float_order), true, predicate, file.zones)


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_merged_zones_cover_all_members(seed: int) -> None:
    rng = random.Random(seed)
    batch = some_batch(rng, num_zones=12)
    exact = collect(batch.zones, batch.field_ids)
    facts = exact if rng.random() < 0.4 else forgotten(rng, exact)
    if rng.random() < 0.3:
        facts = truncate(facts, rng.choice((1, 2, 16)))
    numbers = [rng.choice((0, 1, 2, 4)) for _ in batch.zones]
    merged = merge_zones(facts, pa.array(numbers), 5)
    together = [[row for n, rows in zip(numbers, batch.zones, strict=True) if n == g for row in rows] for g in range(5)]
    for _ in range(PREDICATES):
        predicate = some_bound_predicate(rng, batch)
        for float_order in FloatOrder:
            true = truth(predicate, together, float_order)
            check_sound("merged", judge(predicate, merged, float_order), true, predicate, together)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_merging_complete_facts_gives_the_facts_of_all_rows(seed: int) -> None:
    rng = random.Random(seed)
    batch = some_batch(rng, num_zones=8)
    numbers = [rng.randrange(3) for _ in batch.zones]
    merged = merge_zones(collect(batch.zones, batch.field_ids), pa.array(numbers), 3)
    together = [[row for n, rows in zip(numbers, batch.zones, strict=True) if n == g for row in rows] for g in range(3)]
    whole = collect(together, batch.field_ids)
    assert merged.row_count.equals(whole.row_count)
    for i in batch.field_ids:
        ours, theirs = merged.columns[i], whole.columns[i]
        for name in ("null_count", "nan_count", "value_count"):
            assert getattr(ours, name).equals(getattr(theirs, name)), (i, name)
        if not isinstance(ours.type, (*NOT_IN_PARTITIONS, FloatType, DoubleType)):
            assert ours.lower.equals(theirs.lower) and ours.upper.equals(theirs.upper), i


def _tuples(rng: random.Random) -> tuple[Batch, pa.StructArray, StructType]:
    """Rows of top-level columns as if they were partition tuples under identity transforms."""
    while True:
        batch = some_batch(rng, num_zones=4)
        ids = tuple(i for i in batch.field_ids if i < 90 and not isinstance(LEAVES[i].type, NOT_IN_PARTITIONS))
        if ids:
            break
    zones = [[{i: row.get(i) for i in ids} for row in rows] for rows in batch.zones]
    struct = StructType(tuple(Field(id=i, name=f"c{i}", type=LEAVES[i].type) for i in ids))
    rows = [row for zone in zones for row in zone]
    children: list[Any] = [_bounds_array(LEAVES[i].type, [row[i] for row in rows]) for i in ids]
    array = pa.StructArray.from_arrays(children, names=[f"c{i}" for i in ids])
    return Batch(ids, batch.pools, zones), array, struct


def _bounds_array(type_: Any, values: list[Any]) -> Any:
    arrow = bound_type(type_)
    values = [v.bytes if hasattr(v, "bytes") else v for v in values]
    if pa.types.is_temporal(arrow):
        return pa.array(values, pa.int32() if arrow.bit_width == 32 else pa.int64()).view(arrow)
    return pa.array(values, arrow)


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_partition_tuples_are_judged_as_rows_are_evaluated(seed: int) -> None:
    rng = random.Random(seed)
    batch, array, struct = _tuples(rng)
    zones = from_partitions(array, struct)
    rows = [[row] for zone in batch.zones for row in zone]
    for _ in range(PREDICATES):
        predicate = some_bound_predicate(rng, batch)
        for float_order in FloatOrder:
            true = truth(predicate, rows, float_order)
            check_sound("tuple", judge(predicate, zones, float_order), true, predicate, rows)


@settings(max_examples=80, deadline=None)
@given(SEEDS)
def test_field_summaries_of_manifests_are_judged_soundly(seed: int) -> None:
    rng = random.Random(seed)
    batch, array, struct = _tuples(rng)
    zones = [rows for rows in batch.zones if rows]
    manifests, start = [], 0
    for rows in zones:
        part = array.slice(start, len(rows))
        start += len(rows)
        manifests.append(
            ManifestFile(
                manifest_path="m",
                manifest_length=1,
                added_snapshot_id=1,
                added_files_count=len(rows),
                existing_files_count=0,
                partitions=None if rng.random() < 0.1 else summarize(part, struct),
            )
        )
    judged = from_field_summaries(manifests, struct)
    for _ in range(PREDICATES):
        predicate = some_bound_predicate(rng, batch)
        for float_order in FloatOrder:
            true = truth(predicate, zones, float_order)
            check_sound("summary", judge(predicate, judged, float_order), true, predicate, zones)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_damaged_parquet_file_gives_a_verdict_or_one_clear_error(seed: int) -> None:
    rng = random.Random(seed)
    batch = storable_batch(rng, num_zones=3)
    file = write_parquet(rng, batch)
    data = bytearray(file.data.read(0, file.data.size))
    for _ in range(rng.choice((1, 3, 10))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    damaged = FileBytes.of_buffer(bytes(data), "damaged.parquet")
    try:
        read_footer(damaged)
    except FormatViolation as error:
        assert "damaged.parquet" in str(error)
    predicate = some_bound_predicate(rng, batch)
    prove_row_groups(predicate, file.metadata, file.projection, file=damaged)
    page_ranges(predicate, file.metadata, file.projection, 0, damaged)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_damaged_orc_tail_gives_zones_or_one_clear_error(seed: int) -> None:
    rng = random.Random(seed)
    batch = storable_batch(rng, num_zones=2, without=(GeometryType, GeographyType))
    if not fits_orc(batch):
        return
    file = write_orc(rng, batch)
    data = bytearray(file.data.read(0, file.data.size))
    for _ in range(rng.choice((1, 3, 10))):
        data[-1 - rng.randrange(min(len(data), 400))] ^= 1 << rng.randrange(8)
    damaged = FileBytes.of_buffer(bytes(data), "damaged.orc")
    assert isinstance(from_orc_stripes(damaged, file.projection), ZoneMap | None)
    try:
        from_orc_stripes(damaged, file.projection, strict=True)
    except FormatViolation as error:
        assert "damaged.orc" in str(error)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=12), max_size=20), st.lists(st.binary(max_size=12), max_size=20))
def test_a_merge_of_binary_bounds_is_the_least_and_the_greatest(lower: list[bytes], upper: list[bytes]) -> None:

    pairs = [(min(a, b), max(a, b)) for a, b in zip(lower, upper, strict=False)]
    facts = ColumnFacts(
        type=BINARY,
        lower=pa.array([p[0] for p in pairs], pa.binary()),
        upper=pa.array([p[1] for p in pairs], pa.binary()),
    )
    merged = merge_zones(
        ZoneMap(num_zones=len(pairs), columns={1: facts}), pa.array(np.zeros(len(pairs), np.int64)), 1
    ).columns[1]
    assert merged.lower is not None and merged.upper is not None
    assert merged.lower[0].as_py() == (min(p[0] for p in pairs) if pairs else None)
    assert merged.upper[0].as_py() == (max(p[1] for p in pairs) if pairs else None)
