"""The metastore's tables in SQL: databases, tables, partitions and their column statistics."""

from skipstone.hive.store.layout import Layout
from skipstone.hive.store.store import HiveStore

__all__ = ["HiveStore", "Layout"]
