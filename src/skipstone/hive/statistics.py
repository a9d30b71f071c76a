"""What Hive knows of one column, of a table or of one partition.

Lows and highs are whole numbers (days for dates, seconds for timestamps), floats or decimals, None when there is none.
A timestamp's high lies up to a second below the true one, and a null counts as a text of length 0: Hive's values
describe, they never prove, so nothing here may skip a zone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final, TypeAlias, TypeVar

from skipstone.errors import InvalidInput
from skipstone.hive.histogram import merge_histograms
from skipstone.hive.ndv import HyperLogLog, merge_bit_vectors, parse_bit_vector
from skipstone.hive.types import Kind, fits, kind_of

Bound: TypeAlias = int | float | Decimal
_Number = TypeVar("_Number", int, float)

LONG_MAX: Final = (1 << 63) - 1
# What goes over the wire has no end to its digits; more than any database's numbers have is no statistic.
DECIMAL_DIGITS_MAX: Final = 128
EMPTY_VECTOR: Final = HyperLogLog.empty().serialize()
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,40}")
# Python's own readings would take `1_0`, digits of other scripts, and weeks for dates as well.
_NUMBER: Final = re.compile(
    r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?s?(nan|inf(inity)?)", re.IGNORECASE
)
_DAY: Final = re.compile(r"(-?[0-9]{1,10})-([0-9]{1,2})-([0-9]{1,2})(?=[ T]|$)")
_TIME: Final = re.compile(r"(?:[ T]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.[0-9]{1,9})?)?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
BOUNDED: Final = frozenset({Kind.LONG, Kind.DOUBLE, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP})
COUNTED: Final = BOUNDED | {Kind.STRING}
MEASURED: Final = frozenset({Kind.STRING, Kind.BINARY})


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """One column's statistics, of the kind that its type has."""

    column: str
    type: str
    kind: Kind
    num_nulls: int
    num_distincts: int | None = None
    low: Bound | None = None
    high: Bound | None = None
    avg_length: float | None = None
    max_length: int | None = None
    num_trues: int | None = None
    num_falses: int | None = None
    bit_vector: bytes | None = None
    histogram: bytes | None = None

    @property
    def has_no_values(self) -> bool:
        """Whether the bit vector proves that there is none but null."""
        return self.bit_vector == EMPTY_VECTOR

    def checked(self) -> ColumnStatistics:
        """These statistics, if they make sense for the column's type; else InvalidInput."""
        where = f"Invalid statistics of column {self.column!r}"
        if kind_of(self.type) is None:
            raise InvalidInput(f"{where}: expected a type that has statistics, got {self.type}.")
        if not fits(self.kind, self.type):
            raise InvalidInput(f"{where}: expected statistics for {self.type}, got {self.kind.value}.")
        for name in ("num_nulls", "num_distincts", "max_length", "num_trues", "num_falses"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= LONG_MAX:
                raise InvalidInput(f"{where}: expected a count for {name}, got {value}.")
        if self.avg_length is not None and not 0 <= self.avg_length < math.inf:
            raise InvalidInput(f"{where}: expected an average length of 0 or more, got {self.avg_length}.")
        self._check_bounds(where)
        parse_bit_vector(self.bit_vector)
        return self

    def _check_bounds(self, where: str) -> None:
        for value in (self.low, self.high):
            if isinstance(value, Decimal) and value.is_finite():
                if value.adjusted() >= DECIMAL_DIGITS_MAX or -int(value.as_tuple().exponent) > DECIMAL_DIGITS_MAX:
                    raise InvalidInput(
                        f"{where}: expected lows and highs of at most {DECIMAL_DIGITS_MAX} digits before and after "
                        f"the point, got {value}."
                    )
            elif isinstance(value, float | Decimal) and not (isinstance(value, float) and math.isfinite(value)):
                raise InvalidInput(f"{where}: expected finite lows and highs, got {value}.")
            elif isinstance(value, int) and not -LONG_MAX - 1 <= value <= LONG_MAX:
                raise InvalidInput(f"{where}: expected lows and highs of 64 bits, got {value}.")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InvalidInput(f"{where}: expected low <= high, got {self.low} and {self.high}.")


def merge_statistics(parts: Iterable[ColumnStatistics], *, is_complete: bool = True) -> ColumnStatistics:
    """One column's statistics over several partitions, or of old and new rows.

    Counts, lows, highs and the longest length are exact if the parts are; a count beyond 64 bits is the greatest that
    they hold. The number of distinct values comes from the bit vectors if all parts have one, else it is the largest
    of the parts; so is the average length, because Hive's parts do not say how many rows they had. Histograms merge if
    all parts with values have one. Where parts are missing (not
    `is_complete`) lows and highs are not known.
    """
    known = list(parts)
    first = known[0]
    if any(part.kind is not first.kind for part in known):
        kinds = ", ".join(sorted({part.kind.value for part in known}))
        raise InvalidInput(f"Cannot merge statistics of column {first.column!r}: expected one kind, got {kinds}.")
    vector = merge_bit_vectors(parse_bit_vector(part.bit_vector) for part in known)
    merged = replace(
        first,
        num_nulls=min(sum(part.num_nulls for part in known), LONG_MAX),
        num_distincts=vector.estimate() if vector is not None else _largest(part.num_distincts for part in known),
        low=min((part.low for part in known if part.low is not None), default=None),
        high=max((part.high for part in known if part.high is not None), default=None),
        avg_length=_largest(part.avg_length for part in known),
        max_length=_largest(part.max_length for part in known),
        num_trues=_total(part.num_trues for part in known),
        num_falses=_total(part.num_falses for part in known),
        bit_vector=vector.serialize() if vector is not None else None,
        histogram=merge_histograms(part.histogram for part in known if not part.has_no_values),
    )
    return merged if is_complete else without_bounds(merged)


def without_bounds(statistics: ColumnStatistics) -> ColumnStatistics:
    """The statistics without what rows that were not looked at could break."""
    return replace(statistics, low=None, high=None, histogram=None)


def of_whole_table(statistics: ColumnStatistics) -> ColumnStatistics:
    """The statistics as they are of a table: Hive gives one without a row no bit vector, one with only nulls an empty.

    A partition without a row keeps its empty one, with which it adds nothing where partitions are added up.
    """
    has_no_row = statistics.has_no_values and not statistics.num_nulls
    return replace(statistics, bit_vector=None) if has_no_row else statistics


def updated(
    statistics: ColumnStatistics | None, column: str, type: str, changes: Mapping[str, str]
) -> ColumnStatistics:
    """Statistics with some values set by their Hive names, as ALTER TABLE ... UPDATE STATISTICS does."""
    kind = kind_of(type)
    if kind is None:
        raise InvalidInput(f"Cannot set statistics of column {column!r}: its type {type} has none.")
    base = statistics or ColumnStatistics(column=column, type=type, kind=kind, num_nulls=0)
    allowed = _settable(base.kind)
    values: dict[str, object] = {}
    for key, text in changes.items():
        name = next((n for n in allowed if n.lower() == key.lower()), None)
        if name is None:
            raise InvalidInput(
                f"Cannot set statistic {key!r} of column {column!r}: expected one of {', '.join(allowed)} for {type}."
            )
        values[_FIELDS[name]] = _value(base.kind, name, text, column)
    if "num_distincts" in values:
        # The sketch would contradict the number that was set.
        values["bit_vector"] = None
    return replace(base, **_defaults(base, values)).checked()  # type: ignore[arg-type]


def _settable(kind: Kind) -> list[str]:
    names = ["numNulls"]
    if kind in COUNTED:
        names.append("numDVs")
    if kind in BOUNDED:
        names += ["lowValue", "highValue"]
    if kind in MEASURED:
        names += ["avgColLen", "maxColLen"]
    return [*names, "numTrues", "numFalses"] if kind is Kind.BOOLEAN else names


def _defaults(base: ColumnStatistics, values: dict[str, object]) -> dict[str, object]:
    """What a kind must have on the wire and nobody has said is 0, as in Hive."""
    needed = {"num_distincts": base.kind in COUNTED, "avg_length": base.kind in MEASURED}
    needed |= {"max_length": base.kind in MEASURED}
    needed |= {"num_trues": base.kind is Kind.BOOLEAN, "num_falses": base.kind is Kind.BOOLEAN}
    missing = {name: 0 for name, is_needed in needed.items() if is_needed and getattr(base, name) is None}
    return {**missing, **values}


_FIELDS: Final = {
    "numNulls": "num_nulls",
    "numDVs": "num_distincts",
    "lowValue": "low",
    "highValue": "high",
    "avgColLen": "avg_length",
    "maxColLen": "max_length",
    "numTrues": "num_trues",
    "numFalses": "num_falses",
}


def _value(kind: Kind, name: str, text: str, column: str) -> Bound:
    try:
        if name == "avgColLen":
            return float(text)
        if name not in ("lowValue", "highValue"):
            return _whole(text)
        return parse_bound(kind, text)
    except (ValueError, InvalidOperation, OverflowError):
        raise InvalidInput(
            f"Cannot set {name} of column {column!r}: expected a value of its type, got {text!r}."
        ) from None


def parse_bound(kind: Kind, text: str) -> Bound:
    """A low or high from text: dates and timestamps as such, or as the number that is stored."""
    match kind:
        case Kind.DOUBLE:
            return float(_matching(_NUMBER, text))
        case Kind.DECIMAL:
            return Decimal(_matching(_NUMBER, text))
        case Kind.DATE if "-" in text.lstrip("-"):
            return _day(text)[0]  # Hive passes over a time behind it
        case Kind.TIMESTAMP if "-" in text.lstrip("-"):
            return _second(text)
        case _:
            return _whole(text)


def _whole(text: str) -> int:
    """A whole number as SQL writes one."""
    return int(_matching(_WHOLE, text))


def _matching(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text.strip()):
        raise ValueError(text)
    return text


def _day(text: str) -> tuple[int, str]:
    """The number of a day since 1970, and what follows it. Its month and day may have one digit, its year many."""
    found = _DAY.match(text.strip())
    if found is None:
        raise ValueError(text)
    year, month, day = (int(part) for part in found.groups())
    # Dates repeat every 400 years, which brings any of them into the years that Python knows.
    cycles, within = divmod(year, _CYCLE_YEARS)
    number = date(within + _CYCLE_YEARS, month, day).toordinal() - _EPOCH.toordinal() + (cycles - 1) * _CYCLE_DAYS
    return number, text.strip()[found.end() :]


def _second(text: str) -> int:
    """The number of a second since 1970, without its fraction."""
    day, rest = _day(text)
    found = _TIME.fullmatch(rest)
    if found is not None:
        hour, minute, second = (int(part or 0) for part in found.groups())
        time(hour, minute, second)  # raises where there is no such time
        return day * 86_400 + hour * 3_600 + minute * 60 + second
    moment = datetime.fromisoformat(f"{date.fromordinal(day + _EPOCH.toordinal()).isoformat()}{rest}")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(seconds=1)


def all_null(column: str, type: str, num_nulls: int) -> ColumnStatistics:
    """The statistics of a column without a single value, in the form that Hive gives them."""
    kind = kind_of(type)
    if kind is None:
        raise InvalidInput(f"Cannot describe column {column!r}: its type {type} has no statistics.")
    base = ColumnStatistics(column=column, type=type, kind=kind, num_nulls=num_nulls)
    vector = EMPTY_VECTOR if kind in COUNTED else None
    filled = replace(base, bit_vector=vector, **_defaults(base, {}))  # type: ignore[arg-type]
    return replace(filled, num_distincts=1) if kind in COUNTED and num_nulls else filled


def _largest(values: Iterable[_Number | None]) -> _Number | None:
    return max((value for value in values if value is not None), default=None)


def _total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(sum(known), LONG_MAX) if known else None
