"""Metrics of a data file: counts, NaN counts and bounds by column, collected while the file is written.

Laws: bounds cover every value that is neither null nor NaN; a truncated lower bound lies below, an upper one above; a
column without such a value has no bounds, and a fact that is not known is left out, never guessed. A column inside a
struct counts a row whose struct is null as a null. Columns inside lists and maps have a size and nothing else.

Spec: "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.partitions.sorting import float_order_keys
from skipstone.metadata.tables.properties import MetricsMode
from skipstone.metadata.types import (
    BinaryType,
    DoubleType,
    Field,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StringType,
    StructType,
    Type,
    UnknownType,
    UuidType,
    Value,
    VariantType,
    children,
)
from skipstone.metadata.values import serialize_bound, truncate_lower, truncate_upper
from skipstone.metadata.values.binary import NUMBERS

_compute: Any = pc

# No order that bounds could follow, or none that is worth a scan.
WITHOUT_BOUNDS: Final = (GeographyType, VariantType, UnknownType, GeometryType)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMetrics:
    """What a manifest entry says about a file's columns, by field id."""

    column_sizes: Mapping[int, int] | None = None
    value_counts: Mapping[int, int]
    null_value_counts: Mapping[int, int]
    nan_value_counts: Mapping[int, int]
    lower_bounds: Mapping[int, bytes]
    upper_bounds: Mapping[int, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedColumn:
    """A primitive column outside lists and maps. `path` leads to it: a column of the table, then struct children.

    `file_column` is the ordinal of its leaf (of its first leaf, for a variant) in a Parquet file. What follows from
    the type is found once: every file asks for it.
    """

    field_id: int
    type: PrimitiveType
    path: tuple[int, ...]
    mode: MetricsMode
    file_column: int
    is_float: bool = field(init=False)
    has_bounds: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_float", is_float(self.type))
        has_bounds = self.mode.kind != "counts" and not isinstance(self.type, WITHOUT_BOUNDS)
        object.__setattr__(self, "has_bounds", has_bounds)

    @property
    def is_watched(self) -> bool:
        """Whether the footer of a Parquet file may leave out what its rows say."""
        if self.is_float or isinstance(self.type, GeometryType | GeographyType):
            return True
        return self.has_bounds and isinstance(self.type, StringType | BinaryType)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsPlan:
    """`sized` pairs the ordinal of each Parquet leaf with the field id under which its size is recorded."""

    tracked: tuple[TrackedColumn, ...]
    sized: tuple[tuple[int, int], ...]
    watched: tuple[TrackedColumn, ...] = field(init=False)
    file_columns: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "watched", tuple(c for c in self.tracked if c.is_watched))
        places = {c.file_column for c in self.tracked} | {place for place, _ in self.sized}
        object.__setattr__(self, "file_columns", tuple(sorted(places)))


def plan_metrics(struct: StructType, modes: Mapping[int, MetricsMode]) -> MetricsPlan:
    """What to collect for rows of this struct."""
    tracked: list[TrackedColumn] = []
    sized: list[tuple[int, int]] = []
    leaves = 0

    def visit(f: Field, path: tuple[int, ...], repeated: bool) -> None:
        nonlocal leaves
        if not isinstance(f.type, PrimitiveType):
            inside = repeated or not isinstance(f.type, StructType)
            for i, child in enumerate(children(f.type)):
                # Structs leave unknown fields out; a list or map cannot do without its values.
                if not (isinstance(f.type, StructType) and isinstance(child.type, UnknownType)):
                    visit(child, (*path, i), inside)
            return
        mode = modes.get(f.id)
        if mode is not None and not repeated:
            tracked.append(TrackedColumn(field_id=f.id, type=f.type, path=path, mode=mode, file_column=leaves))
        if mode is not None and not isinstance(f.type, VariantType | UnknownType):
            sized.append((leaves, f.id))
        leaves += 2 if isinstance(f.type, VariantType) else 1

    for i, f in enumerate(struct.fields):
        if not isinstance(f.type, UnknownType):
            visit(f, (i,), False)
    return MetricsPlan(tracked=tuple(tracked), sized=tuple(sized))


def column_at(table: pa.Table, path: tuple[int, ...]) -> Any:
    """The chunks of a tracked column, null where a struct above it is null."""
    column: Any = table.column(path[0])
    return column if len(path) == 1 else _compute.struct_field(column, list(path[1:]))


def count_nans(column: Any) -> int:
    if column.null_count:
        return int(_compute.sum(_compute.is_nan(column), min_count=0).as_py())
    # NumPy looks at a few values in a fraction of the time that Arrow takes to be called.
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return sum(int(np.count_nonzero(np.isnan(chunk.to_numpy()))) for chunk in chunks)


def is_float(type_: Type) -> bool:
    return isinstance(type_, FloatType | DoubleType)


@dataclass(slots=True)
class _Facts:
    """What is known of one column so far."""

    values: int = 0
    nulls: int = 0
    nans: int = 0
    lower: Value = None
    upper: Value = None


class MetricsCollector:
    """Metrics from the rows themselves, for formats whose writer tells nothing about them."""

    def __init__(self, plan: MetricsPlan) -> None:
        self._plan = plan
        self._facts = [_Facts() for _ in plan.tracked]

    def add(self, table: pa.Table) -> None:
        for column, facts in zip(self._plan.tracked, self._facts, strict=True):
            array = column_at(table, column.path)
            facts.values += len(array)
            facts.nulls += array.null_count
            if column.is_float:
                facts.nans += count_nans(array)
            if column.has_bounds:
                lower, upper = extremes(column.type, array)
                facts.lower = merged(column.type, facts.lower, lower, is_upper=False)
                facts.upper = merged(column.type, facts.upper, upper, is_upper=True)

    def result(self) -> FileMetrics:
        pairs = list(zip(self._plan.tracked, self._facts, strict=True))
        return FileMetrics(
            value_counts={c.field_id: f.values for c, f in pairs},
            null_value_counts={c.field_id: f.nulls for c, f in pairs},
            nan_value_counts={c.field_id: f.nans for c, f in pairs if c.is_float},
            lower_bounds=_bounds([(c, f.lower) for c, f in pairs], is_upper=False),
            upper_bounds=_bounds([(c, f.upper) for c, f in pairs], is_upper=True),
        )


def _bounds(pairs: list[tuple[TrackedColumn, Value]], *, is_upper: bool) -> dict[int, bytes]:
    found = {}
    for column, value in pairs:
        data = None if value is None else bound_bytes(column.type, value, column.mode, is_upper=is_upper)
        if data is not None:
            found[column.field_id] = data
    return found


def extremes(type_: PrimitiveType, array: Any) -> tuple[Value, Value]:
    """The least and the greatest value that is neither null nor NaN; None twice when there is none."""
    if isinstance(type_, UuidType):
        chunked: Any = pa.chunked_array
        array = chunked([c.storage for c in array.chunks], pa.binary(16))
    if len(array) == array.null_count:
        return None, None
    if is_float(type_):
        return _float_extremes(array)
    found: Any = _compute.min_max(array)
    return arrow_to_value(type_, found["min"]), arrow_to_value(type_, found["max"])


def _float_extremes(array: Any) -> tuple[Value, Value]:
    values = array.drop_null().to_numpy().astype(np.float64, copy=False)
    if len(values) and np.isnan(values.min()):  # a NaN among them is the least of all to NumPy
        values = values[~np.isnan(values)]
    if not len(values):
        return None, None
    lower, upper = float(values.min()), float(values.max())
    if lower == 0.0 or upper == 0.0:
        # -0.0 orders below 0.0 in bounds, and NumPy takes either for the other.
        keys = float_order_keys(values)
        lower, upper = float(values[keys.argmin()]), float(values[keys.argmax()])
    return lower, upper


def merged(type_: PrimitiveType, known: Value, new: Value, *, is_upper: bool) -> Value:
    """The wider of two bounds, None being no value at all."""
    if known is None or new is None:
        return new if known is None else known
    if is_float(type_) and known == new == 0.0:
        keys = float_order_keys(np.array([known, new]))
        return new if (keys[1] > keys[0]) == is_upper else known
    # Python compares text by code point and bytes as unsigned, which is how the format orders them.
    return new if (new > known) == is_upper and new != known else known


def bound_bytes(type_: PrimitiveType, value: Value, mode: MetricsMode, *, is_upper: bool) -> bytes | None:
    """A bound as the manifest stores it, cut to the mode's width; None when there is no upper bound that short."""
    if (number := NUMBERS.get(type(type_))) is not None:
        # Every file has many of these: they are never cut, and come from rows that were checked.
        return number.pack(value)
    if mode.width is not None:
        cut = truncate_upper if is_upper else truncate_lower
        value = cut(type_, value, mode.width)
        if value is None:
            return None
    if isinstance(type_, FixedType | BinaryType):
        # A cut fixed value is shorter than its type.
        return bytes(value)
    return serialize_bound(type_, value)
