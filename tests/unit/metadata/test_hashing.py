"""Every test value of the spec's "Appendix B: 32-bit Hash Requirements", and the corners of the array form."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.partitions import hashing
from skipstone.metadata.partitions.hashing import hash_array, hash_value
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    FixedType,
    GeometryType,
    Type,
)
from skipstone.metadata.values.decimals import from_unscaled, minimal_big_endian, unscaled

MOMENT_US = 1_510_871_468_000_000  # 2017-11-16T22:31:08

VECTORS: list[tuple[Type, Any, int | None]] = [
    (INT, 34, 2017239379),
    (LONG, 34, 2017239379),
    (DecimalType(4, 2), Decimal("14.20"), -500754589),
    (DATE, 17486, -653330422),
    (TIME, (22 * 3600 + 31 * 60 + 8) * 1_000_000, -662762989),
    (TIMESTAMP, MOMENT_US, -2047944441),
    (TIMESTAMP, MOMENT_US + 1, -1207196810),
    (TIMESTAMPTZ, MOMENT_US, -2047944441),
    (TIMESTAMPTZ, MOMENT_US + 1, -1207196810),
    (TIMESTAMP_NS, MOMENT_US * 1000, -2047944441),
    (TIMESTAMP_NS, MOMENT_US * 1000 + 1001, -1207196810),
    (TIMESTAMPTZ_NS, MOMENT_US * 1000, -2047944441),
    (TIMESTAMPTZ_NS, MOMENT_US * 1000 + 1001, -1207196810),
    (STRING, "iceberg", 1210000089),
    (UUID, uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1488055340),
    (FixedType(4), b"\x00\x01\x02\x03", -188683207),
    (BINARY, b"\x00\x01\x02\x03", -188683207),
    (UNKNOWN, None, None),
    (BOOLEAN, True, 1392991556),
    (FLOAT, 1.0, -142385009),
    (FLOAT, 0.0, 1669671676),
    (FLOAT, -0.0, 1669671676),
    (DOUBLE, 1.0, -142385009),
    (DOUBLE, 0.0, 1669671676),
    (DOUBLE, -0.0, 1669671676),
]


@pytest.mark.parametrize(("type_", "value", "expected"), VECTORS, ids=[f"{t}-{v}" for t, v, _ in VECTORS])
def test_hash_of_the_specs_test_value(type_: Type, value: Any, expected: int | None) -> None:
    assert hash_value(type_, value) == expected


def test_text_of_a_number_hashes_unlike_the_number() -> None:
    assert hash_value(STRING, "34") == -427558391


def test_null_hashes_to_null() -> None:
    assert hash_value(LONG, None) is None
    assert hash_array(LONG, pa.array([None, 34], pa.int64())).to_pylist() == [None, 2017239379]


def test_every_nan_hashes_alike() -> None:
    negative = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
    canonical = hashing.hash_long(0x7FF8000000000000)
    assert hash_value(DOUBLE, math.nan) == hash_value(DOUBLE, negative) == canonical
    assert hash_array(DOUBLE, pa.array(np.array([negative]))).to_pylist() == [canonical]


def test_variant_and_geometry_have_no_hash() -> None:
    with pytest.raises(Unsupported, match="variant"):
        hash_value(VARIANT, b"")
    with pytest.raises(Unsupported, match="geometry"):
        hash_array(GeometryType(), pa.array([b""]))


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "00"), (1, "01"), (-1, "ff"), (127, "7f"), (128, "0080"), (-128, "80"), (-129, "ff7f"), (1420, "058c")],
)
def test_decimal_bytes_carry_no_padding(number: int, expected: str) -> None:
    assert minimal_big_endian(number).hex() == expected


def test_decimal_arrays_hash_alike_at_every_change_of_width() -> None:
    numbers = [sign * (2**bits + off) for bits in range(126) for sign in (1, -1) for off in (-1, 0, 1)]
    values = [from_unscaled(n, 0) for n in numbers]
    array = pa.array(values, pa.decimal128(38, 0))
    assert hash_array(DecimalType(38, 0), array).to_pylist() == [hash_value(DecimalType(38, 0), v) for v in values]


def test_decimal_hash_does_not_depend_on_scale() -> None:
    assert hash_value(DecimalType(9, 2), Decimal("14.20")) == hash_value(DecimalType(9, 0), Decimal("1420"))


def test_decimal_with_too_many_digits_of_fraction_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at most 2 digits of fraction"):
        unscaled(Decimal("1.001"), 2)
    with pytest.raises(InvalidInput, match="finite"):
        unscaled(Decimal("NaN"), 2)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidInput, match="half a surrogate pair"):
        hash_value(STRING, "a\ud83d")


def test_large_arrays_take_the_compiled_path_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["", "a", "ab", "abc", "abcd", "iceberg", "ž😀" * 9, None] * 4
    slow = hash_array(STRING, pa.array(texts))
    monkeypatch.setattr(hashing, "_NUMBA_ROWS_WARM", 1)
    monkeypatch.setattr(hashing, "_NUMBA_ROWS_COLD", 1)
    assert hash_array(STRING, pa.array(texts)).equals(slow)
    assert hash_array(STRING, pa.array(texts).slice(3, 9)).equals(slow.slice(3, 9))
    assert slow.to_pylist() == [hash_value(STRING, t) for t in texts]


@pytest.mark.parametrize(
    "layout", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
)
def test_every_layout_of_text_and_bytes_hashes_alike(layout: pa.DataType) -> None:
    values = ["iceberg", None, ""]
    array = pa.array([v if v is None or layout in (pa.string(), pa.large_string(), pa.string_view()) else v.encode()
                      for v in values], layout)  # fmt: skip
    assert hash_array(STRING, array).to_pylist() == [1210000089, None, hash_value(STRING, "")]


@pytest.mark.parametrize("type_", [STRING, BINARY, LONG, DecimalType(38, 2), FixedType(3), FixedType(0), UUID, DOUBLE])
def test_empty_arrays_have_no_hashes(type_: Type) -> None:
    arrow = {STRING: pa.string(), BINARY: pa.binary(), LONG: pa.int64(), UUID: pa.uuid(), DOUBLE: pa.float64(),
             FixedType(3): pa.binary(3), FixedType(0): pa.binary(0)}.get(type_, pa.decimal128(38, 2))  # fmt: skip
    assert hash_array(type_, pa.array([], arrow)).to_pylist() == []


def test_importing_the_module_does_not_import_numba() -> None:
    code = "import sys, skipstone.metadata.partitions.transforms_arrow; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_decimal_of_a_million_digits_is_refused_before_it_is_written_out() -> None:
    with pytest.raises(InvalidInput, match="finite"):
        unscaled(Decimal("1E+999999"), 2)
    with pytest.raises(InvalidInput, match="fraction"):
        unscaled(Decimal("1E-999999"), 2)
