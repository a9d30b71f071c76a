"""Column statistics on the wire: Hive's union of structs, from and to our value.

A union must have exactly one member. Decimals travel as an unscaled number, the shortest two's complement with the
highest byte first, and a scale.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from skipstone.errors import InvalidInput
from skipstone.hive.statistics import BOUNDED, COUNTED, DECIMAL_DIGITS_MAX, MEASURED, Bound, ColumnStatistics
from skipstone.hive.thrift import Struct, api
from skipstone.hive.types import Kind

_STRUCTS: Final[dict[Kind, Any]] = {
    Kind.BOOLEAN: api.BooleanColumnStatsData,
    Kind.LONG: api.LongColumnStatsData,
    Kind.DOUBLE: api.DoubleColumnStatsData,
    Kind.STRING: api.StringColumnStatsData,
    Kind.BINARY: api.BinaryColumnStatsData,
    Kind.DECIMAL: api.DecimalColumnStatsData,
    Kind.DATE: api.DateColumnStatsData,
    Kind.TIMESTAMP: api.TimestampColumnStatsData,
}
_MEMBERS: Final = {kind.value: kind for kind in Kind}


def to_wire(statistics: ColumnStatistics) -> Struct:
    """The statistics as a ColumnStatisticsObj."""
    kind = statistics.kind
    values: dict[str, Any] = {"numNulls": statistics.num_nulls, "bitVectors": statistics.bit_vector}
    if kind in COUNTED:
        values["numDVs"] = statistics.num_distincts or 0
    if kind in BOUNDED:
        values["lowValue"] = _bound_to_wire(kind, statistics.low)
        values["highValue"] = _bound_to_wire(kind, statistics.high)
        values["histogram"] = statistics.histogram
    if kind in MEASURED:
        values["avgColLen"] = float(statistics.avg_length or 0)
        values["maxColLen"] = statistics.max_length or 0
    if kind is Kind.BOOLEAN:
        values["numTrues"] = statistics.num_trues or 0
        values["numFalses"] = statistics.num_falses or 0
    data = api.ColumnStatisticsData(**{kind.value: _STRUCTS[kind](**values)})
    wired: Struct = api.ColumnStatisticsObj(colName=statistics.column, colType=statistics.type, statsData=data)
    return wired


def from_wire(obj: Struct) -> ColumnStatistics:
    """The statistics in a ColumnStatisticsObj; InvalidInput if its union does not have exactly one member."""
    members = obj.statsData.members()
    if len(members) != 1:
        got = " and ".join(members) or "none"
        raise InvalidInput(
            f"Invalid statistics of column {obj.colName!r}: expected exactly one kind of statistics, got {got}."
        )
    kind = _MEMBERS[members[0]]
    data = getattr(obj.statsData, members[0])
    return ColumnStatistics(
        column=obj.colName,
        type=obj.colType,
        kind=kind,
        num_nulls=data.numNulls,
        num_distincts=data.numDVs if kind in COUNTED else None,
        low=_bound_from_wire(kind, data.lowValue) if kind in BOUNDED else None,
        high=_bound_from_wire(kind, data.highValue) if kind in BOUNDED else None,
        avg_length=data.avgColLen if kind in MEASURED else None,
        max_length=data.maxColLen if kind in MEASURED else None,
        num_trues=data.numTrues if kind is Kind.BOOLEAN else None,
        num_falses=data.numFalses if kind is Kind.BOOLEAN else None,
        bit_vector=data.bitVectors or None,
        histogram=(data.histogram or None) if kind in BOUNDED else None,
    )


def decimal_to_wire(value: Decimal) -> Struct:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidInput(f"Invalid decimal {value}: expected a finite one.")
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    if exponent > 0:
        unscaled, exponent = unscaled * 10**exponent, 0
    width = (unscaled.bit_length() if unscaled >= 0 else (unscaled + 1).bit_length()) // 8 + 1
    wired: Struct = api.Decimal(unscaled=unscaled.to_bytes(width, "big", signed=True), scale=-exponent)
    return wired


def decimal_from_wire(value: Struct) -> Decimal:
    if abs(value.scale) > DECIMAL_DIGITS_MAX or not 1 <= len(value.unscaled) <= 64:
        raise InvalidInput(
            f"Invalid decimal: expected a scale from -{DECIMAL_DIGITS_MAX} to {DECIMAL_DIGITS_MAX} and 1 to 64 bytes, "
            f"got {value.scale} and {len(value.unscaled)}."
        )
    unscaled = int.from_bytes(value.unscaled, "big", signed=True)
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -value.scale))


def _bound_to_wire(kind: Kind, value: Bound | None) -> Any:
    if value is None:
        return None
    match kind:
        case Kind.DECIMAL:
            return decimal_to_wire(Decimal(value))
        case Kind.DATE:
            return api.Date(daysSinceEpoch=int(value))
        case Kind.TIMESTAMP:
            return api.Timestamp(secondsSinceEpoch=int(value))
        case Kind.DOUBLE:
            return float(value)
        case _:
            return int(value)


def _bound_from_wire(kind: Kind, value: Any) -> Bound | None:
    if value is None:
        return None
    match kind:
        case Kind.DECIMAL:
            return decimal_from_wire(value)
        case Kind.DATE:
            return int(value.daysSinceEpoch)
        case Kind.TIMESTAMP:
            return int(value.secondsSinceEpoch)
        case Kind.DOUBLE:
            return float(value)
        case _:
            return int(value)


def for_old_metastores(statistics: ColumnStatistics) -> ColumnStatistics:
    """The statistics in the form that Hive 2 knows: timestamps as whole numbers, no bit vectors, no histograms."""
    kind = Kind.LONG if statistics.kind is Kind.TIMESTAMP else statistics.kind
    return replace(statistics, kind=kind, bit_vector=None, histogram=None)
