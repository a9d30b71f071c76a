"""Numbers of distinct values as Hive counts them: HyperLogLog, bit for bit."""

from skipstone.stats.hyperloglog.builder import WITH_BIT_VECTOR, HyperLogLogBuilder
from skipstone.stats.hyperloglog.sketch import HyperLogLog

__all__ = ["WITH_BIT_VECTOR", "HyperLogLog", "HyperLogLogBuilder"]
