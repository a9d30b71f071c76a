"""Pages as zones, the rows they keep, and damage to their indexes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.parquet_zones import ParquetZones

from skipstone.errors import FormatViolation
from skipstone.zones.build import FileBytes, from_page_index
from skipstone.zones.build.parquet_structures import ChunkPlaces, Span
from skipstone.zones.row_ranges import as_ranges, intersection, num_rows_in, union

PAGES = {"write_page_index": True, "write_batch_size": 1}


def paged(columns: dict[str, object], rows: int = 10, **options: object) -> ParquetZones:
    return ParquetZones(columns, max_rows_per_page=rows, **PAGES, **options)


def test_pages_keep_only_the_rows_that_may_match() -> None:
    file = paged({"a": list(range(50)), "b": [f"{n:02}" for n in reversed(range(50))]})
    assert file.pages("a = 15") == [[10, 20]]
    assert file.pages("a = 15 OR a = 31") == [[10, 20], [30, 40]]
    assert file.pages("a >= 35") == [[30, 50]]
    assert file.pages("a < 12 AND b < '45'") == [[0, 20]]
    assert file.pages("a < 12 AND b < '25'") == []
    assert file.pages("a = 99") == []
    assert file.pages("a IS NOT NULL") == [[0, 50]]
    assert file.pages("false") == []


def test_unknown_nan_counts_of_pages_do_not_matter_where_nan_fails_another_part() -> None:
    file = paged({"a": [float(n) for n in range(50)], "b": list(range(50))})
    assert file.pages("a >= 15 AND a < 18") == [[10, 20]]
    assert file.pages("a BETWEEN 15 AND 18 AND b > 3") == [[10, 20]]
    assert file.pages("a >= 45") == [[0, 50]]  # NaN could be anywhere


def test_pages_of_columns_that_do_not_line_up_are_intersected_by_row() -> None:
    wide = ["x" * 400 + f"{n:04}" for n in range(60)]
    file = ParquetZones(
        {"a": list(range(60)), "b": wide}, max_rows_per_page=25, data_page_size=4000, use_dictionary=False, **PAGES
    )
    starts_of_b = from_page_index(file.file, file.footer, 0, file.column(2))
    assert starts_of_b is not None and len(starts_of_b.starts) > 4
    kept = file.pages("a < 25 AND b >= '" + wide[22] + "'")
    assert kept[-1][1] == 25 and 15 <= kept[0][0] <= 22


def test_null_pages_hold_only_nulls_and_other_pages_count_theirs() -> None:
    file = paged({"a": pa.array([None, None, 1, None, 5, 6], pa.int64())}, rows=2)
    pages = from_page_index(file.file, file.footer, 0, file.column(1), strict=True)
    assert pages is not None
    facts = pages.zones.columns[1]
    assert facts.null_count.to_pylist() == [2, 1, 0]
    assert facts.lower.to_pylist() == [None, 1, 5]
    assert pages.starts.tolist() == [0, 2, 4, 6]
    assert file.pages("a IS NULL") == [[0, 4]]
    assert file.pages("a IS NOT NULL") == [[2, 6]]


def test_a_file_without_a_page_index_keeps_all_rows() -> None:
    file = ParquetZones({"a": [1, 2, 3]})
    assert from_page_index(file.file, file.footer, 0, file.column(1), strict=True) is None
    assert file.pages("a = 9") == [[0, 3]]


def test_pages_of_another_row_group_count_from_its_own_start() -> None:
    file = paged({"a": list(range(40))}, row_group_size=20)
    assert file.pages("a = 35", 1) == [[10, 20]]


def _with_chunk(file: ParquetZones, **changes: object) -> ParquetZones:
    footer = file.footer
    chunk: ChunkPlaces = replace(footer.chunks[0][0], **changes)
    broken = replace(footer, chunks=((chunk,),))
    with pytest.raises(FormatViolation, match=r"a\.parquet"):
        from_page_index(file.file, broken, 0, file.column(1), strict=True)
    assert from_page_index(file.file, broken, 0, file.column(1)) is None
    return file


def test_indexes_outside_the_file_or_of_other_pages_are_refused_or_unknown() -> None:
    file = paged({"a": list(range(50))})
    offsets = file.footer.chunks[0][0].offset_index
    assert offsets is not None
    _with_chunk(file, column_index=Span(10**9, 10))
    _with_chunk(file, column_index=Span(0, 10**9))
    _with_chunk(file, column_index=offsets)
    _with_chunk(file, offset_index=Span(offsets.offset, 3))


def test_a_damaged_footer_keeps_all_rows() -> None:
    file = paged({"a": list(range(50))})
    assert file.pages("a = 15", file=FileBytes.of_buffer(file.data[:-3] + b"XXX")) == [[0, 50]]
    assert file.pages("a = 15", file=FileBytes.of_buffer(b"")) == [[0, 50]]


def test_range_arithmetic() -> None:
    left, right = as_ranges([(0, 5), (8, 9), (20, 30)]), as_ranges([(3, 8), (8, 21)])
    assert intersection(left, right).tolist() == [[3, 5], [8, 9], [20, 21]]
    assert union(left, right).tolist() == [[0, 30]]
    assert union(as_ranges([(5, 5)]), as_ranges([(7, 9), (1, 2)])).tolist() == [[1, 2], [7, 9]]
    assert num_rows_in(left) == 16
    assert intersection(left, np.zeros((0, 2), np.int64)).tolist() == []
