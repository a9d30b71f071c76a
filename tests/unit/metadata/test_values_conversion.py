"""Values as users write them: what has one meaning is converted, the rest is refused with a way out."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from skipstone.errors import InvalidInput
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
    Field,
    FixedType,
    GeometryType,
    ListType,
    MapType,
    StructType,
    Type,
)
from skipstone.metadata.values import from_python

SECOND = 1_000_000
CET = dt.timezone(dt.timedelta(hours=1))
POINT = StructType((Field(id=1, name="x", type=INT, required=True), Field(id=2, name="y", type=INT)))


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (BOOLEAN, True, True),
        (INT, 5, 5),
        (LONG, np.int64(5), 5),
        (DOUBLE, 1, 1.0),
        (DOUBLE, np.float64(1.5), 1.5),
        (DOUBLE, Decimal("0.1"), 0.1),
        (FLOAT, 0.1, 0.10000000149011612),
        (FLOAT, np.float32(0.1), 0.10000000149011612),
        (DecimalType(9, 2), Decimal("14.2"), Decimal("14.20")),
        (DecimalType(9, 2), 14, Decimal("14.00")),
        (DATE, dt.date(2017, 11, 16), 17486),
        (DATE, "2017-11-16", 17486),
        (DATE, "-0044-03-15", -735525),
        (DATE, 17486, 17486),
        (TIME, dt.time(22, 31, 8, 123456), 81_068_123_456),
        (TIME, "22:31:08.123456", 81_068_123_456),
        (TIMESTAMP, dt.datetime(1970, 1, 1, 0, 0, 1), SECOND),
        (TIMESTAMP, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), -1),
        (TIMESTAMP, dt.date(1970, 1, 2), 86_400 * SECOND),
        (TIMESTAMP, "1970-01-02", 86_400 * SECOND),
        (TIMESTAMP, "1970-01-01 00:00:01", SECOND),
        (TIMESTAMP_NS, "1970-01-01T00:00:01.000000001", 10**9 + 1),
        (TIMESTAMP_NS, dt.datetime(1970, 1, 1, 0, 0, 1), 10**9),
        (TIMESTAMPTZ, dt.datetime(1970, 1, 1, 1, tzinfo=CET), 0),
        (TIMESTAMPTZ, "1970-01-01T01:00:00+01:00", 0),
        (TIMESTAMPTZ, "1969-12-31T20:30:00-0330", 0),
        (TIMESTAMPTZ, "1970-01-01T00:00:00Z", 0),
        (TIMESTAMPTZ_NS, "1970-01-01T00:00:00.5+00:00", 5 * 10**8),
        (STRING, "a", "a"),
        (UUID, "F79C3E09-677C-4BBD-A479-3F349CB785E7", uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        (UUID, b"\x00" * 16, uuid.UUID(int=0)),
        (FixedType(2), bytearray(b"ab"), b"ab"),
        pytest.param(BINARY, memoryview(b"ab"), b"ab", id="memoryview"),
        (GeometryType(), "POINT (1 2)", bytes.fromhex("0101000000000000000000f03f0000000000000040")),
        (POINT, {"x": 1, 2: 3}, {1: 1, 2: 3}),
        (ListType(element_id=1, element=DATE), ("1970-01-02", None), [1, None]),
        (MapType(key_id=1, key=STRING, value_id=2, value=INT), {"a": 1}, [("a", 1)]),
        (MapType(key_id=1, key=STRING, value_id=2, value=INT), [("a", None)], [("a", None)]),
        (VARIANT, None, None),
        (INT, None, None),
    ],
    ids=str,
)
def test_what_has_one_meaning_is_converted(type_: Type, given: Any, value: Any) -> None:
    converted = from_python(type_, given)
    assert converted == value
    assert type(converted) is type(value)


@pytest.mark.parametrize(
    ("type_", "given"),
    [
        (BOOLEAN, 1),
        (BOOLEAN, "true"),
        (INT, True),
        (INT, 1.0),
        (INT, "1"),
        (INT, 2**31),
        (INT, Decimal(1)),
        (LONG, 2**63),
        (DOUBLE, True),
        (DOUBLE, 2**53 + 1),
        (DOUBLE, 10**400),
        (DOUBLE, "1.0"),
        (FLOAT, 1e39),
        (FLOAT, 2**24 + 1),
        (DecimalType(9, 2), 14.5),
        (DecimalType(9, 2), True),
        (DecimalType(9, 2), "14.20"),
        (DecimalType(9, 2), Decimal("0.001")),
        (DecimalType(9, 2), 10**7),
        (DATE, dt.datetime(2017, 11, 16)),
        (DATE, "16.11.2017"),
        (DATE, True),
        (TIME, dt.time(1, tzinfo=CET)),
        (TIME, -1),
        (TIMESTAMP, dt.datetime(1970, 1, 1, tzinfo=CET)),
        (TIMESTAMP, "1970-01-01T00:00:00Z"),
        (TIMESTAMP, "1970-01-01T00:00:00.0000001"),
        (TIMESTAMPTZ, dt.datetime(1970, 1, 1)),
        (TIMESTAMPTZ, dt.date(1970, 1, 1)),
        (TIMESTAMPTZ, "1970-01-01T00:00:00"),
        (TIMESTAMPTZ, "1970-01-01T00:00:00+19:00"),
        (TIMESTAMP_NS, dt.date(2263, 1, 1)),
        (STRING, 1),
        (STRING, b"a"),
        (UUID, "not a uuid"),
        (FixedType(2), b"abc"),
        (BINARY, "ab"),
        (GeometryType(), "POINT"),
        (GeometryType(), b"\x00"),
        (GeometryType(), 1),
        (UNKNOWN, 1),
        (VARIANT, 1),
        (POINT, {"z": 1}),
        (POINT, {"x": None}),
        (POINT, [1, 2]),
        (ListType(element_id=1, element=INT), "12"),
        (ListType(element_id=1, element=INT), 1),
        (MapType(key_id=1, key=STRING, value_id=2, value=INT), ["ab"]),
        (MapType(key_id=1, key=STRING, value_id=2, value=INT), 1),
    ],
    ids=str,
)
def test_what_has_no_or_two_meanings_is_refused(type_: Type, given: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^Invalid "):
        from_python(type_, given)


def test_a_message_says_what_would_do() -> None:
    with pytest.raises(InvalidInput, match=r"timestamptz: expected a timestamp with an offset or time zone, such as"):
        from_python(TIMESTAMPTZ, "1970-01-01T00:00:00")
