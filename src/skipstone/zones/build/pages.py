"""Pages as zones: Parquet's column index and offset index, one zone a page.

Pages of different columns cover different rows, so each column has a zone map of its own, with the rows of each page.

Laws: statistics of pages that are missing or damaged are unknown. A page that the index calls a null page holds nothing
but nulls; in no other page are all values null.

Source: Apache Parquet's `PageIndex.md` and `parquet.thrift`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from skipstone.errors import FormatViolation
from skipstone.metadata.types import DoubleType, FloatType
from skipstone.zones.arrow import pa, pc
from skipstone.zones.build.file_bytes import FileBytes
from skipstone.zones.build.parquet_columns import StoredColumn, table_values
from skipstone.zones.build.parquet_structures import (
    ColumnIndex,
    FooterPlaces,
    Span,
    parse_column_index,
    parse_offset_index,
)
from skipstone.zones.build.plain_values import parse_plain
from skipstone.zones.zone_map import ColumnFacts, ZoneMap


@dataclass(frozen=True, slots=True, kw_only=True)
class PageZones:
    """The pages of one column in one row group; `starts` has the first row of each page and, last, the row count."""

    zones: ZoneMap
    starts: npt.NDArray[np.int64]


def from_page_index(
    file: FileBytes, footer: FooterPlaces, row_group: int, column: StoredColumn, *, strict: bool = False
) -> PageZones | None:
    """The pages of a column, or None where the file has no usable index for it.

    A damaged index is no index; with `strict` it is a FormatViolation.
    """
    try:
        return _from_page_index(file, footer, row_group, column)
    except FormatViolation:
        if strict:
            raise
        return None


def _from_page_index(file: FileBytes, footer: FooterPlaces, row_group: int, column: StoredColumn) -> PageZones | None:
    if row_group >= len(footer.chunks) or column.index >= len(footer.chunks[row_group]):
        raise FormatViolation(
            f"Invalid Parquet footer in {file.source}: expected leaf {column.index} in row group {row_group}, got none."
        )
    chunk = footer.chunks[row_group][column.index]
    if chunk.offset_index is None or chunk.column_index is None:
        return None
    source = f"page index of column {column.index}, row group {row_group} in {file.source}"
    first_rows = parse_offset_index(_piece(file, chunk.offset_index, source), source=source)
    index = parse_column_index(_piece(file, chunk.column_index, source), source=source)
    num_rows = footer.num_rows[row_group]
    if len(first_rows) != len(index.null_pages) or (first_rows and first_rows[-1] >= num_rows):
        raise FormatViolation(
            f"Invalid {source}: expected the same pages in both indexes within {num_rows} rows, "
            f"got {len(first_rows)} and {len(index.null_pages)}."
        )
    starts = np.array([*first_rows, num_rows], dtype=np.int64)
    is_ordered = column.index < len(footer.is_ordered) and footer.is_ordered[column.index]
    return PageZones(zones=_zones(index, starts, column, is_ordered=is_ordered), starts=starts)


def _piece(file: FileBytes, span: Span, what: str) -> bytes:
    return file.piece(span.offset, span.length, what)


def _zones(index: ColumnIndex, starts: npt.NDArray[np.int64], column: StoredColumn, *, is_ordered: bool) -> ZoneMap:
    rows = pa.array(np.diff(starts))
    null_pages = pa.array(index.null_pages, pa.bool_())
    nulls = pa.nulls(len(rows), pa.int64()) if index.null_counts is None else pa.array(index.null_counts, pa.int64())
    nulls = pc.if_else(null_pages, rows, nulls)
    lower = upper = None
    if is_ordered and column.has_ordered_values:
        pairs = [_bounds(index, page, column.physical) for page in range(len(rows))]
        lower, upper = table_values(column, [p[0] for p in pairs]), table_values(column, [p[1] for p in pairs])
    facts = ColumnFacts(
        type=column.type,
        lower=lower,
        upper=upper,
        null_count=nulls,
        nan_count=None if isinstance(column.type, FloatType | DoubleType) else pa.array(np.zeros(len(rows), np.int64)),
        value_count=rows,
    )
    return ZoneMap(num_zones=len(rows), row_count=rows, columns={column.field_id: facts})


def _bounds(index: ColumnIndex, page: int, physical: str) -> tuple[Any, Any]:
    if index.null_pages[page]:
        return None, None
    lower = parse_plain(physical, index.min_values[page])
    upper = parse_plain(physical, index.max_values[page])
    if lower is None or upper is None or lower != lower or upper != upper:
        return None, None
    return lower, upper
