"""What would help: partitions, a sort order, clustering by several columns, Bloom filters; with the estimated effect.

Every estimate is for a query for one value of the column, in files read, with as many files as there are now. With n
files and v distinct values:

- sorted by the column, a value fills n / v files and touches one more at an edge;
- clustered by d columns at once, each is cut into n^(1/d) slices, and a value meets the n^(1 - 1/d) files of one, but
  never less than the n / v files that hold it;
- partitioned by it, a value meets the n / v files of its partition, but never less than one, and there are at least as
  many files as partitions;
- partitioned by its days, months or years, a value meets the files of one of them, by the span of the bounds;
- with Bloom filters, what is read in full are the files that hold one of the rows / v rows of the value, and by
  mistake one in a hundred of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow.compute

from skipstone.layout.distinct import FROM_BOUNDS
from skipstone.layout.report import ColumnHealth, Recommendation
from skipstone.plan.scan import ScanPlan

pc: Any = pyarrow.compute

FILES_MIN: Final = 4  # below this there is nothing to skip
GAIN_MIN: Final = 2.0  # a change must at least halve what is read
PARTITIONS_MAX: Final = 10_000
PARTITION_BYTES_MIN: Final = 64 << 20
BLOOM_FALSE_SHARE: Final = 0.01
_BLOOM_BITS_PER_VALUE: Final = 10
_UNITS: Final = (("day", 1.0), ("month", 30.44), ("year", 365.25))
_NO_PARTITIONS: Final = ("float", "double")  # measured, not chosen from: their values hardly repeat for long
_SORTED_TOO: Final = ("string", "int", "long", "date", "uuid", "binary")


def recommend(plan: ScanPlan, health: Sequence[ColumnHealth], days: Mapping[int, float]) -> tuple[Recommendation, ...]:
    """Recommendations, the most useful first. Columns that are read well already get none.

    `days` has, for dates and timestamps, the days between the least and the greatest bound, by field id.
    """
    if len(plan) < FILES_MIN:
        return ()
    poor = [c for c in health if c.zones_point >= GAIN_MIN * max(1.0, _ideal(c)) and c.distinct != 1]
    found = [r for c in poor for r in (*_sort(c), *_partition(plan, c, days.get(c.field_id)), *_bloom(plan, c))]
    found += _cluster(poor)
    useful = [r for r in found if r.zones_after * GAIN_MIN <= r.zones_before]
    return tuple(sorted(useful, key=lambda r: -r.gain))


def _ideal(c: ColumnHealth) -> float:
    """The fewest files a value can be in: with few values, many files hold the same one."""
    return 1.0 if _is_guess(c) else c.files / max(c.distinct or 1, 1)


def _is_guess(c: ColumnHealth) -> bool:
    return c.distinct is None or c.distinct_basis == FROM_BOUNDS


def _basis(c: ColumnHealth) -> str:
    if c.distinct is None:
        return "estimated; supposes that values rarely repeat"
    at_least = "at least " if _is_guess(c) else ""
    return f"estimated with {at_least}{c.distinct:,} distinct values, {c.distinct_basis}"


def _sort(c: ColumnHealth) -> Iterator[Recommendation]:
    after = min(float(c.files), c.files / max(c.distinct or c.files, 1) + 1)
    yield _made("sort by", c, c.name, after, cost="rewrites the table")


def _partition(plan: ScanPlan, c: ColumnHealth, days: float | None) -> Iterator[Recommendation]:
    """The finest partitions that are large enough, where their number is known: too many hurt more than they help."""
    if _is_partitioned(plan, c):
        return
    choices: list[tuple[str, float]] = []
    if days is not None:
        choices = [(f"{unit}({c.name})", math.ceil(days / length) + 1) for unit, length in _UNITS]
    elif c.distinct is not None and not _is_guess(c) and c.type not in _NO_PARTITIONS:
        choices = [(c.name, c.distinct)]
    size = pc.sum(plan.files.column("file_size_in_bytes")).as_py() or 0
    for term, count in choices:
        if 1 < count <= PARTITIONS_MAX and size / count >= PARTITION_BYTES_MIN:
            cost = f"{count:,} partitions of about {size / count / 1e6:,.0f} MB"
            yield _made("partition by", c, term, max(1.0, c.files / count), cost=cost)
            return


def _is_partitioned(plan: ScanPlan, c: ColumnHealth) -> bool:
    return any(c.field_id in f.source_ids for f in plan.metadata.default_spec.fields)


def _bloom(plan: ScanPlan, c: ColumnHealth) -> Iterator[Recommendation]:
    if _is_guess(c) or c.distinct is None or not c.type.startswith(_SORTED_TOO):
        return
    rows = pc.sum(plan.files.column("record_count")).as_py() or 0
    holding = min(c.zones_point, max(1.0, rows / c.distinct))
    after = holding + BLOOM_FALSE_SHARE * (c.zones_point - holding)
    megabytes = min(rows, c.distinct * c.files) * _BLOOM_BITS_PER_VALUE / 8 / 1e6
    yield _made("Bloom filter on", c, c.name, after, cost=f"only for equality; up to {megabytes:,.1f} MB of filters")


def _cluster(poor: Sequence[ColumnHealth]) -> Iterator[Recommendation]:
    """Two or three columns that are all read badly share what one sort order would give to one of them."""
    worst = sorted((c for c in poor if (c.distinct or 0) != 1), key=lambda c: -c.zones_point)[:3]
    if len(worst) < 2:
        return
    slice_ = math.pow(worst[0].files, 1 - 1 / len(worst)) + 1
    after = sum(min(c.zones_point, max(slice_, _ideal(c))) for c in worst) / len(worst)
    names = tuple(c.name for c in worst)
    before = sum(c.zones_point for c in worst) / len(worst)
    yield Recommendation(
        action="cluster by",
        columns=names,
        term=f"({', '.join(names)})",
        zones_before=before,
        zones_after=min(before, after),
        basis="estimated for an even spread; on average over the columns",
        cost="rewrites the table",
    )


def _made(action: str, c: ColumnHealth, term: str, after: float, *, cost: str) -> Recommendation:
    return Recommendation(
        action=action,
        columns=(c.name,),
        term=term,
        zones_before=c.zones_point,
        zones_after=after,
        basis=_basis(c),
        cost=cost,
    )
