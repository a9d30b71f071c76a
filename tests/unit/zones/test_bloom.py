"""Bloom filters of Parquet files: hashing, stored forms of literals, verdicts, damage."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.parquet_zones import ParquetZones

from skipstone.errors import FormatViolation
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DOUBLE, LONG, TIMESTAMP, Field
from skipstone.zones.bloom import proves_absent, stored_forms
from skipstone.zones.build import FileBytes
from skipstone.zones.build.parquet_structures import Span
from skipstone.zones.xxhash64 import xxh64

PLAIN = {"use_dictionary": False}


def bloomed(values: Any, *, schema: Schema | None = None, **options: Any) -> ParquetZones:
    return ParquetZones({"a": values}, schema, bloom_filter_options={"a": {"ndv": 1000, "fpp": 0.0001}}, **options)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_hashes_are_those_of_xxh64(data: bytes, expected: int) -> None:
    assert xxh64(data) == expected


def test_absent_values_between_the_bounds_are_proven_absent() -> None:
    file = bloomed([n * 2 for n in range(1000)], row_group_size=500, **PLAIN)
    assert file.by_statistics("a = 101") == [1, 0]
    assert file.by_all("a = 101") == [0, 0]
    assert file.by_all("a = 100") == [1, 0]
    assert file.by_all("a IN (101, 1501, 1500)") == [0, 1]
    assert file.by_all("a = 101 OR a = 1501") == [0, 0]
    assert file.by_all("a != 101")[0] == 1


def test_every_stored_value_is_found() -> None:
    values: list[tuple[Any, str]] = [
        (pa.array([7, -9], pa.int32()), "-9"),
        (pa.array([7, 2**32 - 1], pa.uint32()), "4294967295"),
        (pa.array([7, -(2**60)], pa.int64()), f"{-(2**60)}"),
        (pa.array([1.5, 0.1], pa.float32()), "1.5"),
        (pa.array([1.5, 0.1], pa.float64()), "CAST('0.1' AS DOUBLE)"),
        (pa.array(["a", "é😀"]), "'é😀'"),
        (pa.array([b"a", b"\xff"]), "X'ff'"),
        (pa.array([b"ab", b"\xff\x00"], pa.binary(2)), "X'ff00'"),
        (pa.array([uuid.UUID(int=5).bytes, uuid.UUID(int=2**127).bytes], pa.uuid()), f"'{uuid.UUID(int=2**127)}'"),
        (pa.array([Decimal("1.10"), Decimal("-2.50")], pa.decimal128(9, 2)), "-2.5"),
        (pa.array([Decimal("1.10"), Decimal("-2.50")], pa.decimal128(38, 2)), "-2.5"),
        (pa.array([1, -3], pa.date32()), "DATE '1969-12-29'"),
        (pa.array([1, -3], pa.timestamp("us")), "TIMESTAMP_NTZ '1969-12-31 23:59:59.999997'"),
        (pa.array([1, -3], pa.timestamp("ms")), "TIMESTAMP_NTZ '1969-12-31 23:59:59.997'"),
    ]
    for array, literal in values:
        for as_integer in (True, False):
            file = bloomed(array, store_decimal_as_integer=as_integer, **PLAIN)
            assert file.by_all(f"a = {literal}") == [1], (array.type, literal)


def test_zeros_of_both_signs_are_looked_for_and_nan_is_not() -> None:
    file = bloomed([-0.0, 5.0], **PLAIN)
    assert file.by_all("a = 0.0") == [1]
    assert file.by_all("a = 1.0") == [0]
    assert bloomed([float("nan"), 5.0, 1.0], **PLAIN).by_all("a IN (CAST('NaN' AS DOUBLE), 2.0)") == [1]


def test_a_filter_decides_an_equality_beside_other_tests_of_the_column() -> None:
    file = bloomed([1, 5, 300], **PLAIN)
    assert file.by_all("a = 77 OR a = 78") == [0]
    assert file.by_all("(a = 77 OR a = 78) AND a > 2") == [0]
    assert file.by_all("a = 77 OR a > 2") == [1]
    assert file.by_all("a = 77 OR a IS NULL OR a = 78") == [0]  # the footer knows that there are no nulls


def _forms(array: Any, type_: Any, literal: Any) -> list[bytes] | None:
    file = bloomed(array, schema=Schema(fields=(Field(id=1, name="a", type=type_),)), **PLAIN)
    return stored_forms(file.column(1), literal)


def test_literals_are_hashed_as_the_file_stores_them() -> None:
    ints = pa.array([1], pa.int32())
    assert _forms(ints, LONG, 5) == [b"\x05\x00\x00\x00"]
    assert _forms(ints, LONG, 2**40) == []
    floats = pa.array([1.0], pa.float32())
    assert _forms(floats, DOUBLE, 1.5) == [b"\x00\x00\xc0?"]
    assert _forms(floats, DOUBLE, 0.1) == []
    assert _forms(floats, DOUBLE, 1e300) == []
    assert _forms(pa.array([1], pa.date32()), TIMESTAMP, 86_400_000_000) == [b"\x01\x00\x00\x00"]
    assert _forms(pa.array([1], pa.date32()), TIMESTAMP, 1) == []
    assert _forms(pa.array([1], pa.timestamp("ms")), TIMESTAMP, 1) == []
    assert _forms(pa.array([1], pa.timestamp("ns")), TIMESTAMP, 1) is None


def test_large_filters_are_read_block_by_block() -> None:
    reads: list[int] = []
    values = pa.array(range(0, 200_000, 2), pa.int64())
    file = ParquetZones({"a": values}, bloom_filter_options={"a": {"ndv": 2_000_000, "fpp": 0.001}}, **PLAIN)
    span = file.footer.chunks[0][0].bloom_filter
    assert span is not None

    def read(offset: int, length: int) -> bytes:
        reads.append(length)
        return file.data[offset : offset + length]

    content = FileBytes(read, len(file.data), "a.parquet")
    hashes = np.array([xxh64((2 * n + 1).to_bytes(8, "little")) for n in range(20)], dtype=np.uint64)
    assert proves_absent(content, span, hashes, strict=True)
    there = np.array([xxh64((1000).to_bytes(8, "little"))], dtype=np.uint64)
    assert not proves_absent(content, span, there, strict=True)
    if span.length > 1 << 20:
        assert max(reads) <= 64


def test_a_filter_without_a_told_length_is_read_by_its_header() -> None:
    file = bloomed([1, 2, 300], **PLAIN)
    span = file.footer.chunks[0][0].bloom_filter
    assert span is not None
    absent = np.array([xxh64((77).to_bytes(8, "little"))], dtype=np.uint64)
    assert proves_absent(file.file, Span(span.offset, 0), absent, strict=True)


@pytest.mark.parametrize("span", [Span(10**9, 64), Span(0, 40), Span(4, 3), Span(2, 0)])
def test_a_damaged_filter_proves_nothing_or_is_refused(span: Span) -> None:
    file = bloomed([1, 2, 300], **PLAIN)
    hashes = np.array([1], dtype=np.uint64)
    assert not proves_absent(file.file, span, hashes)
    with pytest.raises(FormatViolation, match=r"a\.parquet"):
        proves_absent(file.file, span, hashes, strict=True)
