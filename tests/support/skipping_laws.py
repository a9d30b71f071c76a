"""The laws of skipping, checked on batches of random zones. The soak test and `make test` share them.

A case is one zone judged for one predicate. Per case: Sound (what a verdict claims holds for the rows), Monotone (fewer
or looser facts only turn a verdict into UNKNOWN, and both stay sound) and Same (the one-zone judge agrees).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from tests.support.zone_predicates import some_predicate
from tests.support.zones import SCHEMA, Batch, Rows, collect, forgotten, loosened, some_batch

from skipstone.metadata.partitions.transforms import HourTransform, TruncateTransform
from skipstone.predicate import FloatOrder, Predicate, bind, evaluate
from skipstone.predicate.nodes import Transformed, leaves
from skipstone.zones import Verdict, ZoneMap, judge
from skipstone.zones.reference import OneZone, judge_one, one_zone

Verdicts = npt.NDArray[np.int8]


class LawBroken(AssertionError):
    """Which law, for which zone, predicate and facts."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What really matches: per zone the number of rows, and of those for which the predicate is true."""

    rows: npt.NDArray[np.int64]
    matching: npt.NDArray[np.int64]


def truth(predicate: Predicate, zones: list[Rows], float_order: FloatOrder) -> Truth:
    matching = [sum(evaluate(predicate, row, float_order) is True for row in rows) for rows in zones]
    return Truth(np.array([len(rows) for rows in zones]), np.array(matching))


def check_sound(what: str, verdicts: Verdicts, true: Truth, predicate: Predicate, zones: list[Rows]) -> None:
    lost = (verdicts == Verdict.NO_ROW_MATCHES) & (true.matching > 0)
    unfiltered = (verdicts == Verdict.EVERY_ROW_MATCHES) & (true.matching < true.rows)
    for broken, claim in ((lost, "no row matches"), (unfiltered, "every row matches")):
        if broken.any():
            i = int(np.flatnonzero(broken)[0])
            raise LawBroken(f"Sound: {what} facts of zone {i} prove that {claim} {predicate!r}, but rows: {zones[i]}")


def check_monotone(what: str, less: Verdicts, exact: Verdicts, predicate: Predicate, zones: list[Rows]) -> None:
    # Of an empty zone anything is true: it is skipped when that is known, and read for nothing when it is forgotten.
    has_rows = np.array([len(rows) > 0 for rows in zones])
    broken = (less != exact) & (less != Verdict.UNKNOWN) & (has_rows | (less == Verdict.NO_ROW_MATCHES))
    if broken.any():
        i = int(np.flatnonzero(broken)[0])
        raise LawBroken(f"Monotone: {what} facts of zone {i} prove more for {predicate!r}, rows: {zones[i]}")


def one_by_one(zone_map: ZoneMap) -> list[OneZone]:
    return [one_zone(zone_map, i) for i in range(zone_map.num_zones)]


def check_same(zones: list[OneZone], verdicts: Verdicts, predicate: Predicate, float_order: FloatOrder) -> None:
    for i, (zone, verdict) in enumerate(zip(zones, verdicts, strict=True)):
        alone = judge_one(predicate, zone, float_order)
        if alone != verdict:
            raise LawBroken(f"Same: zone {i} is {verdict} for {predicate!r}, alone it is {alone!r}: {zone}")


def _may_leave_its_type(predicate: Predicate) -> bool:
    """A transform of a tight bound can leave its type, and so become unknown, where that of a looser one does not."""
    terms = [leaf.term for leaf in leaves(predicate)]
    return any(isinstance(t, Transformed) and isinstance(t.transform, TruncateTransform | HourTransform) for t in terms)


def check_batch(rng: random.Random, batch: Batch, num_predicates: int) -> int:
    """All laws on a batch; the number of cases checked."""
    exact = collect(batch.zones, batch.field_ids)
    loose = loosened(rng, batch.zones, exact)
    less = forgotten(rng, exact)
    facts = (("exact", exact), ("loose", loose), ("forgotten", less))
    alone = {what: one_by_one(zone_map) for what, zone_map in facts}
    for number in range(num_predicates):
        written = some_predicate(rng, batch)
        for float_order in FloatOrder:
            predicate = bind(written, SCHEMA, float_order=float_order)
            true = truth(predicate, batch.zones, float_order)
            verdicts = {}
            for what, zone_map in facts:
                verdicts[what] = judge(predicate, zone_map, float_order)
                check_sound(what, verdicts[what], true, predicate, batch.zones)
                if what == "forgotten" or not _may_leave_its_type(predicate):
                    check_monotone(what, verdicts[what], verdicts["exact"], predicate, batch.zones)
            what, _ = facts[number % 3]
            check_same(alone[what], verdicts[what], predicate, float_order)
    return num_predicates * len(batch.zones) * len(FloatOrder)


def check_seeded(seed: int, *, num_zones: int = 60, num_predicates: int = 12) -> int:
    """A whole batch from one seed, so that a failure is repeated by its number alone."""
    rng = random.Random(seed)
    return check_batch(rng, some_batch(rng, num_zones=num_zones), num_predicates)
