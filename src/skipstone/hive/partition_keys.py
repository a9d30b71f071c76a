"""What the names of partitions tell: of a partition key, and of a table by what its partitions count.

A metastore keeps no statistics of a partition key: every row of a partition has the value that is in its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import InvalidOperation
from typing import Final

from skipstone.hive.accurate import KEY as ACCURATE
from skipstone.hive.accurate import has_basic, with_basic
from skipstone.hive.objects import Column, HivePartition, HiveTable
from skipstone.hive.partition_names import NULL_NAME
from skipstone.hive.statistics import BOUNDED, COUNTED, MEASURED, Bound, ColumnStatistics, parse_bound
from skipstone.hive.types import Kind, kind_of

_COUNTS: Final = ("numFiles", "numRows", "rawDataSize", "totalSize")


def key_statistics(table: HiveTable, key: Column, partitions: Iterable[HivePartition]) -> ColumnStatistics | None:
    """The statistics of a partition key, from the values that the partitions have; None for a type without any."""
    kind = kind_of(key.type)
    if kind is None:
        return None
    position = [k.name for k in table.partition_keys].index(key.name)
    held = list(partitions)
    values = {partition.values[position] for partition in held}
    lengths = [len(value) for value in values if value != NULL_NAME]
    bounds = _bounds(kind, values - {NULL_NAME})
    return ColumnStatistics(
        column=key.name,
        type=key.type,
        kind=kind,
        num_nulls=sum(_count(p.parameters, "numRows") for p in held if p.values[position] == NULL_NAME),
        num_distincts=len(values) if kind in COUNTED else None,
        low=min(bounds, default=None),
        high=max(bounds, default=None),
        avg_length=sum(lengths) / max(len(lengths), 1) if kind in MEASURED else None,
        max_length=max(lengths, default=0) if kind in MEASURED else None,
    )


def with_totals(parameters: Mapping[str, str], partitions: Sequence[HivePartition]) -> dict[str, str]:
    """A partitioned table's parameters with the counts of its partitions; counts that it has itself stay.

    Its counts are accurate where those of all partitions are, else nothing of it is.
    """
    totals = {name: str(sum(_count(p.parameters, name) for p in partitions)) for name in _COUNTS}
    shown = {**totals, **parameters, "numPartitions": str(len(partitions))}
    if all(has_basic(p.parameters) for p in partitions):
        return with_basic(shown)
    return shown if ACCURATE in parameters and has_basic(parameters) else _without(shown)


def comparable(type_: str, text: str) -> object:
    """What two texts of the same value have in common: 07 and 7, 1.50 and 1.5, a `T` or a space in a moment."""
    kind = kind_of(type_)
    with suppress(ValueError, InvalidOperation, OverflowError):
        match kind:
            case Kind.LONG | Kind.DOUBLE | Kind.DECIMAL | Kind.DATE:
                return parse_bound(kind, text)
            case Kind.BOOLEAN:
                return text.lower()
            case Kind.TIMESTAMP:
                moment, _, fraction = text.replace("T", " ").partition(".")
                # As text, because a fraction may have more digits than Python keeps.
                return moment, fraction.rstrip("0")
    return text


def _bounds(kind: Kind, values: Iterable[str]) -> list[Bound]:
    if kind not in BOUNDED:
        return []
    # A value that is not of its type, as the hour `2026-11-16-07`, leaves lows and highs unknown.
    with suppress(ValueError, InvalidOperation, OverflowError):
        return [parse_bound(kind, value) for value in values]
    return []


def _count(parameters: Mapping[str, str], name: str) -> int:
    with suppress(ValueError):
        return int(parameters.get(name, "0"))
    return 0


def _without(parameters: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in parameters.items() if key != ACCURATE}
