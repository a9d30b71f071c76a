"""Row groups as zones: the statistics in a Parquet footer, one zone a row group.

Laws: missing statistics are unknown (one over-long string leaves none, and that does not mean that all is null). A
footer counts rows under null structs among the nulls of a column, so its counts cover all rows. NaN in a bound makes
both bounds unknown. A column that the file does not have is null or its default in every row.

Spec: "Column Projection"; Parquet's own specification of `Statistics`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pyarrow

from skipstone.metadata.formats.arrow_types import value_to_arrow
from skipstone.metadata.schemas.projection import Projection
from skipstone.metadata.types import DoubleType, FloatType, GeographyType, GeometryType, VariantType
from skipstone.metadata.values import bound_type
from skipstone.metadata.values.bound_types import GEO_POINT
from skipstone.zones.arrow import Array, Counts, Scalar, pa
from skipstone.zones.build.parquet_columns import ConstantColumn, StoredColumn, parquet_columns, table_values
from skipstone.zones.zone_map import ColumnFacts, ZoneMap, constant_facts

_NO_BOUNDS: Final = (None, None)


def from_parquet_footer(metadata: Any, projection: Projection, *, field_ids: Collection[int] | None = None) -> ZoneMap:
    """One zone for each row group of a file.

    `metadata` is pyarrow's `FileMetaData`; `projection` says where the table's columns are in the file. `field_ids`
    names the columns that are asked for, all by default.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    row_count = pa.array([g.num_rows if g.num_rows >= 0 else None for g in groups], pa.int64())
    columns: dict[int, ColumnFacts] = {}
    for field_id, column in parquet_columns(metadata.schema, projection).items():
        if field_ids is not None and field_id not in field_ids:
            continue
        match column:
            case ConstantColumn():
                columns[field_id] = constant_column(column, row_count)
            case StoredColumn():
                columns[field_id] = _stored(column, groups, row_count)
    return ZoneMap(num_zones=len(groups), row_count=row_count, columns=columns)


def constant_column(column: ConstantColumn, row_count: Counts) -> ColumnFacts:
    """Facts of a column that the file does not store."""
    if column.value is not None and isinstance(column.type, GeometryType | GeographyType | VariantType):
        return ColumnFacts(type=column.type)
    facts = constant_facts(column.type, _scalar(column), row_count)
    if column.is_nested and column.value is not None:
        # A row whose struct is null has null here, and nobody counted those.
        is_nan = column.value != column.value
        return facts.forget("null_count", "value_count", *(["nan_count"] if is_nan else []))
    return facts


def _scalar(column: ConstantColumn) -> Scalar:
    wanted = bound_type(column.type)
    if column.value is None:
        return pa.scalar(None, wanted)
    scalar = value_to_arrow(column.type, column.value)
    array = pa.array([scalar]) if not isinstance(scalar, pyarrow.ExtensionScalar) else pa.array([scalar.value])
    return array.cast(wanted)[0]


def _stored(column: StoredColumn, groups: list[Any], row_count: Counts) -> ColumnFacts:
    chunks = [g.column(column.index) for g in groups]
    statistics = [_statistics(c) for c in chunks]
    values = [c.num_values if c.num_values == g.num_rows else None for c, g in zip(chunks, groups, strict=True)]
    lower, upper = _boxes(column, chunks) if _is_geo(column) else _bounds(column, statistics)
    is_float = isinstance(column.type, FloatType | DoubleType)
    return ColumnFacts(
        type=column.type,
        lower=lower,
        upper=upper,
        null_count=pa.array([None if s is None else _null_count(s) for s in statistics], pa.int64()),
        nan_count=None if is_float else pa.repeat(pa.scalar(0, pa.int64()), len(row_count)),
        value_count=pa.array(values, pa.int64()),
    )


def _statistics(chunk: Any) -> Any:
    """The chunk's statistics, or None where there are none that pyarrow trusts."""
    try:
        return chunk.statistics
    except (pa.ArrowException, ValueError, OSError):
        return None


def _null_count(statistics: Any) -> int | None:
    return statistics.null_count if statistics.has_null_count and statistics.null_count >= 0 else None


def _bounds(column: StoredColumn, statistics: list[Any]) -> tuple[Array | None, Array | None]:
    if not column.has_ordered_values:
        return _NO_BOUNDS
    pairs = [_raw_bounds(s) for s in statistics]
    return table_values(column, [p[0] for p in pairs]), table_values(column, [p[1] for p in pairs])


def _raw_bounds(statistics: Any) -> tuple[Any, Any]:
    """Least and greatest stored value. pyarrow leaves out the old fields where their order was never defined."""
    if statistics is None or not statistics.has_min_max:
        return _NO_BOUNDS
    try:
        lower, upper = statistics.min_raw, statistics.max_raw
    except (pa.ArrowException, ValueError, OSError):
        return _NO_BOUNDS
    if lower != lower or upper != upper:
        return _NO_BOUNDS  # whoever let NaN in may have lost other values
    return lower, upper


def _is_geo(column: StoredColumn) -> bool:
    return isinstance(column.type, GeometryType | GeographyType)


def _boxes(column: StoredColumn, chunks: list[Any]) -> tuple[Array, Array]:
    """Bounding boxes; only a box that the writer made for a geometry or geography column counts."""
    lower: list[dict[str, Any] | None] = []
    upper: list[dict[str, Any] | None] = []
    for chunk in chunks:
        box = chunk.geo_statistics.to_dict() if chunk.is_geo_stats_set else {}
        known = all(box.get(k) is not None for k in ("xmin", "xmax", "ymin", "ymax"))
        lower.append({a: box.get(f"{a}min") for a in "xyzm"} if known else None)
        upper.append({a: box.get(f"{a}max") for a in "xyzm"} if known else None)
    return pa.array(lower, GEO_POINT), pa.array(upper, GEO_POINT)
