"""Judging 1,000,000 zones on one core: two comparisons of longs, and IN lists of strings.

The peer is PyIceberg's evaluator of file metrics, which takes one data file at a time; it gets fewer of the same zones
in the same run, and both are given as time per zone. The other figures are held against a time limit.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import to_bytes
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThan
from pyiceberg.expressions import In as PeerIn
from pyiceberg.expressions.visitors import _InclusiveMetricsEvaluator
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema as PeerSchema
from pyiceberg.typedef import Record
from pyiceberg.types import LongType as PeerLong
from pyiceberg.types import NestedField
from pyiceberg.types import StringType as PeerString

from benchmarks.report import Figure
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import LONG, STRING, Field, PrimitiveType
from skipstone.predicate import Predicate, as_predicate, bind, col
from skipstone.zones import ColumnFacts, ZoneMap, judge

ZONES: Final = 1_000_000
PEER_ZONES: Final = 2_000
SEED: Final = 7
ROWS: Final = 1_000
ZIP_CODES: Final = 100_000
COMPARE_MS_MAX: Final = 25
IN_MS_MAX: Final = 250
PEER_RATIO: Final = 500
IN_PEER_MAX: Final = 200  # PyIceberg gives up on longer lists and keeps every file

SCHEMA: Final = Schema(
    fields=(
        Field(id=1, name="a", type=LONG, required=False),
        Field(id=2, name="b", type=LONG, required=False),
        Field(id=3, name="zip_code", type=STRING, required=False),
    )
)
PEER_SCHEMA: Final = PeerSchema(
    NestedField(1, "a", PeerLong()), NestedField(2, "b", PeerLong()), NestedField(3, "zip_code", PeerString())
)


def figures(*, quick: bool) -> list[Figure]:
    passes = 7 if quick else 21
    pa.set_cpu_count(1)
    rng = np.random.default_rng(SEED)
    zones = _zones(rng)
    files = _data_files(zones, PEER_ZONES)
    codes = sorted({f"{code:05d}-{code % 7}" for code in rng.choice(ZIP_CODES, 20_000, replace=False)})
    picked = codes[:: len(codes) // 10_000][:10_000]

    compare = bind(as_predicate("a = 5 AND b > 7"), SCHEMA)
    peer_compare = And(EqualTo("a", 5), GreaterThan("b", 7))
    compare_ms, compare_peer_us = _measure(compare, zones, peer_compare, files, passes)
    short_list = picked[:: 10_000 // IN_PEER_MAX][:IN_PEER_MAX]
    short_ms, short_peer_us = _measure(_is_in(short_list), zones, PeerIn("zip_code", short_list), files, passes)
    thousand_ms = _ours_ms(_is_in(picked[::10]), zones, passes)
    ten_thousand_ms = _ours_ms(_is_in(picked), zones, passes)

    per_zone = 1000 / ZONES  # milliseconds for all zones to microseconds for one
    return [
        _limit("a = 5 AND b > 7", compare_ms, COMPARE_MS_MAX),
        _limit("IN of 1,000 strings", thousand_ms, IN_MS_MAX),
        _limit("IN of 10,000 strings", ten_thousand_ms, 2 * IN_MS_MAX),
        _against_peer("a = 5 AND b > 7, per zone", compare_ms * per_zone, compare_peer_us, PEER_RATIO),
        _against_peer(f"IN of {IN_PEER_MAX} strings, per zone", short_ms * per_zone, short_peer_us, 1),
    ]


def least_seconds(work: Callable[[], object], passes: int) -> float:
    """The shortest of several passes: they take milliseconds, and other work on the machine only adds to them."""
    return min(timeit.repeat(work, number=1, repeat=passes + 1))


def _limit(name: str, ours_ms: float, limit_ms: float) -> Figure:
    return Figure(name=name, unit="ms", ours=ours_ms, peer=limit_ms, peer_name="the limit", goal=1)


def _against_peer(name: str, ours_us: float, peer_us: float, goal: float) -> Figure:
    return Figure(name=name, unit="us", ours=ours_us, peer=peer_us, peer_name="PyIceberg 0.12", goal=goal)


def _is_in(values: list[str]) -> Predicate:
    return bind(as_predicate(col("zip_code").is_in(values)), SCHEMA)


def _measure(
    predicate: Predicate, zones: ZoneMap, peer_predicate: BooleanExpression, files: list[DataFile], passes: int
) -> tuple[float, float]:
    """Our milliseconds for all zones, the peer's microseconds for one; both must keep the same of the peer's zones."""
    evaluate: Callable[[DataFile], bool] = _InclusiveMetricsEvaluator(PEER_SCHEMA, peer_predicate).eval
    ours = judge(predicate, zones.take(pa.array(range(len(files))))) > 0
    theirs = np.array([evaluate(file) for file in files])
    if not np.array_equal(ours, theirs):
        raise AssertionError(f"{predicate}: we keep {ours.sum()} of {len(files)} zones, PyIceberg {theirs.sum()}")
    peer_seconds = least_seconds(lambda: [evaluate(file) for file in files], 3)
    return _ours_ms(predicate, zones, passes), peer_seconds / len(files) * 1e6


def _ours_ms(predicate: Predicate, zones: ZoneMap, passes: int) -> float:
    return least_seconds(lambda: judge(predicate, zones), passes) * 1000


def _zones(rng: np.random.Generator) -> ZoneMap:
    rows = pa.array(np.full(ZONES, ROWS))
    zip_codes = rng.integers(0, ZIP_CODES - 100, ZONES)
    texts = [
        pa.array([f"{v:05d}-{v % 7}" for v in side]) for side in (zip_codes, zip_codes + rng.integers(0, 99, ZONES))
    ]
    return ZoneMap(
        num_zones=ZONES,
        row_count=rows,
        columns={
            1: _long_facts(rng),
            2: _long_facts(rng),
            3: _facts(rng, STRING, texts[0], texts[1]),
        },
    )


def _long_facts(rng: np.random.Generator) -> ColumnFacts:
    lower = rng.integers(0, 1000, ZONES)
    return _facts(rng, LONG, pa.array(lower), pa.array(lower + rng.integers(0, 100, ZONES)))


def _facts(rng: np.random.Generator, type_: PrimitiveType, lower: Any, upper: Any) -> ColumnFacts:
    nulls = pa.array(np.where(rng.random(ZONES) < 0.2, 10, 0))
    return ColumnFacts(
        type=type_, lower=lower, upper=upper, null_count=nulls, value_count=pa.array(np.full(ZONES, ROWS))
    )


def _data_files(zones: ZoneMap, count: int) -> list[DataFile]:
    """The first zones as the objects that PyIceberg makes of manifest entries."""
    peer_types = {1: PeerLong(), 2: PeerLong(), 3: PeerString()}
    columns = {
        i: [
            (lo, hi, n)
            for lo, hi, n in zip(*(side.slice(0, count).to_pylist() for side in (f.lower, f.upper, f.null_count)))
        ]
        for i, f in zones.columns.items()
    }
    return [
        DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=f"file-{n}.parquet",
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=ROWS,
            file_size_in_bytes=1,
            value_counts=dict.fromkeys(columns, ROWS),
            null_value_counts={i: facts[n][2] for i, facts in columns.items()},
            nan_value_counts={},
            lower_bounds={i: to_bytes(peer_types[i], facts[n][0]) for i, facts in columns.items()},
            upper_bounds={i: to_bytes(peer_types[i], facts[n][1]) for i, facts in columns.items()},
        )
        for n in range(count)
    ]
