"""Zone maps and the judge: which zones a predicate proves irrelevant, or wholly relevant."""

from skipstone.zones.judge import judge, prove
from skipstone.zones.verdict import Proofs, Verdict
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

__all__ = ["ColumnFacts", "Proofs", "Verdict", "ZoneMap", "judge", "prove"]
