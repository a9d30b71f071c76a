"""Dictionaries of Parquet column chunks: exact sets of values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from tests.support.parquet_zones import ParquetZones

from skipstone.errors import FormatViolation
from skipstone.predicate import FloatOrder
from skipstone.zones.build.inflate import inflate
from skipstone.zones.dictionaries import read_dictionary

CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]


def dictionary_of(file: ParquetZones, row_group: int = 0) -> Any:
    return read_dictionary(file.file, file.footer.chunks[row_group][0], file.column(1), strict=True)


@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_the_dictionary_is_the_set_of_values(compression: str, version: str) -> None:
    file = ParquetZones({"s": ["pear", "apple", "pear", None]}, compression=compression, data_page_version=version)
    assert sorted(dictionary_of(file).to_pylist()) == ["apple", "pear"]


def test_any_leaf_is_judged_by_the_values_themselves() -> None:
    file = ParquetZones({"s": ["apple", "pear", "apple", "fig", "fig", "fig"]}, row_group_size=3)
    assert file.by_statistics("s = 'cherry'") == [1, 0]
    assert file.by_all("s = 'cherry'") == [0, 0]
    assert file.by_all("s IN ('banana', 'cherry')") == [0, 0]
    assert file.by_all("s LIKE '%pp%'") == [1, 0]
    assert file.by_all("s LIKE '%x%'") == [0, 0]
    assert file.by_all("s NOT LIKE '%x%'") == [2, 2]
    assert file.by_all("s IN ('apple', 'pear', 'plum')") == [2, 0]
    assert file.by_all("s != 'cherry'") == [2, 2]
    assert file.by_all("s = 'cherry' OR s = 'fig'") == [0, 2]
    assert file.by_all("truncate(1, s) IN ('b', 'q')") == [0, 0]


def test_all_that_is_said_about_one_column_is_judged_together() -> None:
    file = ParquetZones({"a": [1, 20, 1, 20, 7, 7], "b": [1, 2, 3, 4, 5, 6]}, row_group_size=4)
    assert file.by_statistics("a BETWEEN 5 AND 10") == [1, 2]
    assert file.by_all("a BETWEEN 5 AND 10") == [0, 2]
    assert file.by_all("a < 5 OR a > 10") == [2, 0]
    assert file.by_all("a > 5 AND b > 1 AND a < 10") == [0, 2]
    assert file.by_all("(a > 5 AND a < 10) OR b = 4") == [1, 2]


def test_patterns_beside_other_tests_of_a_column_are_judged_value_by_value() -> None:
    file = ParquetZones({"s": ["apple", "pear", None]})
    assert file.by_all("s LIKE '%pp%' AND s > 'b'") == [0]
    assert file.by_all("s LIKE '%pp%' OR s > 'b'") == [1]
    assert file.by_all("s LIKE '%pp%' OR s > 'b' OR s IS NULL") == [2]


def test_nulls_are_not_in_the_dictionary() -> None:
    file = ParquetZones({"s": ["apple", None, "pear"]})
    assert file.by_all("s IN ('apple', 'pear')") == [1]
    assert file.by_all("s IS NULL OR s = 'cherry'") == [1]
    assert file.by_all("s = 'cherry'") == [0]


def test_nan_in_a_dictionary_decides_what_statistics_cannot() -> None:
    plain, with_nan = ParquetZones({"d": [1.0, 2.0, 1.0]}), ParquetZones({"d": [1.0, math.nan]})
    assert plain.by_statistics("d > 5") == [1]
    assert plain.by_all("d > 5") == [0]
    assert plain.by_all("isnan(d)") == [0]
    assert with_nan.by_all("d > 5") == [1]
    assert with_nan.by_all("d > 5", FloatOrder.IEEE) == [0]


@pytest.mark.parametrize(
    "array",
    [
        pa.array([3, 1, 3], pa.int32()),
        pa.array([3, -1, 3], pa.int64()),
        pa.array([1.5, -0.0], pa.float32()),
        pa.array([b"ab", b"\xff\xff"], pa.binary(2)),
        pa.array([1, -1], pa.timestamp("us")),
        pa.array([1, 2**32 - 1], pa.uint32()),
    ],
    ids=lambda a: str(a.type),
)
def test_values_of_every_physical_type_are_read(array: Any) -> None:
    found = dictionary_of(ParquetZones({"a": array}))
    assert set(found.to_pylist()) == set(array.to_pylist())


def test_a_chunk_that_fell_back_to_plain_pages_has_no_complete_dictionary() -> None:
    values = [f"{n:08}" for n in range(2000)]
    file = ParquetZones(
        {"s": values}, dictionary_pagesize_limit=1000, data_page_size=500, write_batch_size=10, compression="none"
    )
    assert file.metadata.row_group(0).column(0).has_dictionary_page
    assert dictionary_of(file) is None
    assert file.by_all("s = '00000001x'") == [1]


def test_a_column_without_dictionary_has_none() -> None:
    assert dictionary_of(ParquetZones({"s": ["a"]}, use_dictionary=False)) is None


def test_a_damaged_dictionary_proves_nothing_or_is_refused() -> None:
    file = ParquetZones({"s": ["apple", "pear"] * 50}, compression="snappy")
    chunk = file.footer.chunks[0][0]
    assert chunk.dictionary_page_offset is not None
    for offset in (chunk.dictionary_page_offset + 3, 10**9):
        moved = replace(chunk, dictionary_page_offset=offset, data_page_offset=offset + 20)
        assert read_dictionary(file.file, moved, file.column(1)) is None
        with pytest.raises(FormatViolation, match=r"a\.parquet"):
            read_dictionary(file.file, moved, file.column(1), strict=True)
    assert read_dictionary(file.file, replace(chunk, codec=3), file.column(1), strict=True) is None


@pytest.mark.parametrize("codec", ["snappy", "gzip", "zstd", "lz4_raw", "brotli"])
def test_blocks_are_inflated_to_their_own_size_and_no_further_than_the_cap(codec: str) -> None:
    content = b"iceberg " * 4000 + bytes(range(256))
    block = pa.Codec(codec).compress(content, asbytes=True)
    assert inflate(codec, block, size_max=10**6, source="x") == content
    assert inflate(codec, block, size_max=len(content), source="x") == content
    for size_max in (0, 100, len(content) - 1):
        with pytest.raises(FormatViolation, match="Invalid x"):
            inflate(codec, block, size_max=size_max, source="x")
    with pytest.raises(FormatViolation, match="Invalid x"):
        inflate(codec, b"\xff" * 40, size_max=10**6, source="x")
