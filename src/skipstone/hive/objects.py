"""Databases, tables and partitions as the metastore knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

EXTERNAL_TABLE: Final = "EXTERNAL_TABLE"
MANAGED_TABLE: Final = "MANAGED_TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveDatabase:
    name: str
    location: str = ""
    description: str | None = None
    owner: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where a table's or a partition's files are, and which classes Hive reads and writes them with."""

    location: str | None = None
    input_format: str | None = None
    output_format: str | None = None
    serde: str | None = None
    serde_parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveTable:
    database: str
    name: str
    columns: tuple[Column, ...]
    partition_keys: tuple[Column, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)
    owner: str | None = None
    table_type: str = MANAGED_TABLE
    create_time: int = 0

    def column(self, name: str) -> Column | None:
        """A column by its name; if none has it, the one that has it in another case."""
        exact = next((c for c in self.columns if c.name == name), None)
        return exact or next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class HivePartition:
    values: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    storage: Storage = field(default_factory=Storage)
    create_time: int = 0
