"""Numbers of distinct values as Hive keeps them: bit vectors that merge."""

from skipstone.hive.ndv.bit_vector import BitVector, merge_bit_vectors, parse_bit_vector
from skipstone.hive.ndv.flajolet_martin import FlajoletMartin
from skipstone.stats.hyperloglog import HyperLogLog

__all__ = ["BitVector", "FlajoletMartin", "HyperLogLog", "merge_bit_vectors", "parse_bit_vector"]
