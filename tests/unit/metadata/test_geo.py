"""Geometries: WKB and WKT of every kind and dimension, bounding boxes, and damage."""

from __future__ import annotations

import math
import struct

import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.values.geo import (
    DEPTH_MAX,
    Geometry,
    GeometryKind,
    GeoPoint,
    bounding_box,
    parse_wkb,
    serialize_wkb,
)
from skipstone.metadata.values.geo_wkt import format_wkt, parse_wkt


def wkb(text: str) -> bytes:
    return serialize_wkb(parse_wkt(text))


CANONICAL = [
    "POINT (30 10)",
    "POINT (1.5 -2.25)",
    "POINT (-0 1e+300)",
    "POINT EMPTY",
    "POINT Z (1 2 3)",
    "POINT M (1 2 4)",
    "POINT ZM (1 2 3 4)",
    "POINT Z EMPTY",
    "POINT (1 NaN)",
    "LINESTRING (30 10, 10 30, 40 40)",
    "LINESTRING EMPTY",
    "LINESTRING Z (1 2 3, 4 5 6)",
    "POLYGON ((35 10, 45 45, 15 40, 10 20, 35 10), (20 30, 35 35, 30 20, 20 30))",
    "POLYGON EMPTY",
    "MULTIPOINT ((10 40), (40 30))",
    "MULTIPOINT M ((10 40 1), EMPTY)",
    "MULTILINESTRING ((10 10, 20 20), (40 40, 30 30))",
    "MULTIPOLYGON (((30 20, 45 40, 10 40, 30 20)), EMPTY, ((15 5, 40 10, 10 20, 15 5)))",
    "GEOMETRYCOLLECTION (POINT (40 10), LINESTRING (10 10, 20 20), GEOMETRYCOLLECTION (POINT (1 1)))",
    "GEOMETRYCOLLECTION ZM (POINT ZM (1 2 3 4), POLYGON ZM EMPTY)",
    "GEOMETRYCOLLECTION EMPTY",
]


@pytest.mark.parametrize("text", CANONICAL)
def test_text_and_bytes_of_every_kind_read_back(text: str) -> None:
    geometry = parse_wkt(text)
    assert format_wkt(geometry) == text
    assert format_wkt(parse_wkb(serialize_wkb(geometry))) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("point(30 10)", "POINT (30 10)"),
        ("  Point  (  30   1e1 ) ", "POINT (30 10)"),
        ("POINTZ(1 2 3)", "POINT Z (1 2 3)"),
        ("POINTZM (1 2 3 4)", "POINT ZM (1 2 3 4)"),
        ("LineString M (1 2 3,4 5 6)", "LINESTRING M (1 2 3, 4 5 6)"),
        ("MULTIPOINT (10 40, 40 30)", "MULTIPOINT ((10 40), (40 30))"),
        ("POINT (.5 +2.)", "POINT (0.5 2)"),
        ("POINT (inf -inf)", "POINT (Infinity -Infinity)"),
        ("POINT (NaN NaN)", "POINT EMPTY"),
    ],
)
def test_other_spellings_are_read(text: str, canonical: str) -> None:
    assert format_wkt(parse_wkt(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at WKT character 0: expected one of POINT, .*, got the end"),
        ("CIRCLE (1 2)", "expected one of POINT"),
        ("POINT", r"expected '\(', got the end"),
        ("POINT (1)", r"expected a number, got '\)'"),
        ("POINT (1 2 3)", r"expected '\)', got '3'"),
        ("POINT (1 2", r"expected '\)', got the end"),
        ("POINT (1 2) x", "expected the end of the text, got 'X'"),
        ("POINT (1 2, 3 4)", r"expected '\)', got ','"),
        ("POINT (a b)", "expected a number, got 'A'"),
        ("POINT (1e999 1)", "expected a number in the range of doubles, got '1E999'"),
        ("POINT (1 ;)", "expected a word, number, parenthesis or comma, got ';"),
        ("POLYGON (1 2)", r"expected '\(', got '1'"),
        ("GEOMETRYCOLLECTION (1 2)", "expected one of POINT"),
        ("GEOMETRYCOLLECTION Z (POINT (1 2))", "expected parts with the dimensions of their collection"),
        ("GEOMETRYCOLLECTION (" * 100, "levels of nesting"),
    ],
)
def test_text_that_is_no_geometry_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(FormatViolation, match=f"^Invalid default of column 3: .*{message}"):
        parse_wkt(text, source="default of column 3")


def test_big_endian_and_mixed_orders_are_read() -> None:
    big = struct.pack(">BIdd", 0, 1, 30.0, 10.0)
    assert format_wkt(parse_wkb(big)) == "POINT (30 10)"
    mixed = struct.pack("<BII", 1, 4, 1) + big
    assert format_wkt(parse_wkb(mixed)) == "MULTIPOINT ((30 10))"


def test_the_flags_of_extended_wkb_are_read_and_the_srid_skipped() -> None:
    extended = struct.pack("<BII4d", 1, 0xE0000001, 4326, 1.0, 2.0, 3.0, 4.0)
    assert format_wkt(parse_wkb(extended)) == "POINT ZM (1 2 3 4)"
    assert format_wkt(parse_wkb(struct.pack("<BI3d", 1, 0x40000001, 1.0, 2.0, 4.0))) == "POINT M (1 2 4)"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "at WKB byte 0: expected 1 bytes of a byte order, got 0"),
        (b"\x02", "at WKB byte 0: expected a byte order of 0 or 1, got 2"),
        (b"\x01\x01\x00", "at WKB byte 1: expected 4 bytes of a geometry kind, got 2"),
        (struct.pack("<BI", 1, 8), "expected a geometry kind from 1 to 7 .* got code 8"),
        (struct.pack("<BI", 1, 4001), "got code 4001"),
        (struct.pack("<BI", 1, 0x10000001), "got code 268435457"),
        (struct.pack("<BId", 1, 1, 1.0), "expected 16 bytes of coordinates, got 8"),
        (struct.pack("<BIddB", 1, 1, 1.0, 2.0, 0), "expected the end of the geometry, got 1 more bytes"),
        (struct.pack("<BII", 1, 2, 2**32 - 1), "expected at most 0 positions in the 0 bytes left, got 4294967295"),
        (struct.pack("<BII", 1, 3, 2**31), "expected at most 0 rings"),
        (struct.pack("<BII", 1, 7, 2**31), "expected at most 0 geometries"),
        (struct.pack("<BIIBIdd", 1, 5, 1, 1, 1, 1.0, 2.0), "expected LINESTRING inside MULTILINESTRING, got POINT"),
        (struct.pack("<BIIBI3d", 1, 4, 1, 1, 1001, 1.0, 2.0, 3.0), "expected POINT inside MULTIPOINT, got POINT Z"),
        (struct.pack("<BII", 1, 7, 1) * 100, "levels of nesting"),
    ],
    ids=range(14),
)
def test_damaged_bytes_are_named(data: bytes, message: str) -> None:
    with pytest.raises(FormatViolation, match=f"^Invalid row 5: {message}|^Invalid row 5: at WKB byte .*{message}"):
        parse_wkb(data, source="row 5")


@pytest.mark.parametrize(
    "geometry",
    [
        Geometry(kind=GeometryKind.POINT, positions=((1.0, 2.0), (3.0, 4.0))),
        Geometry(kind=GeometryKind.POINT, positions=((1.0, 2.0, 3.0),)),
        Geometry(kind=GeometryKind.POLYGON, positions=((1.0, 2.0),)),
        Geometry(kind=GeometryKind.LINESTRING, parts=(Geometry(kind=GeometryKind.POINT),)),
        Geometry(kind=GeometryKind.MULTIPOINT, parts=(Geometry(kind=GeometryKind.LINESTRING),)),
        Geometry(kind=GeometryKind.MULTIPOINT, parts=(Geometry(kind=GeometryKind.POINT, has_z=True),)),
    ],
    ids=range(6),
)
def test_a_geometry_that_makes_no_sense_is_not_written(geometry: Geometry) -> None:
    for write in (serialize_wkb, format_wkt):
        with pytest.raises(InvalidInput, match=r"^Invalid "):
            write(geometry)


def test_too_deep_a_geometry_is_not_written() -> None:
    geometry = Geometry(kind=GeometryKind.POINT)
    for _ in range(DEPTH_MAX + 1):
        geometry = Geometry(kind=GeometryKind.GEOMETRYCOLLECTION, parts=(geometry,))
    with pytest.raises(InvalidInput, match="levels of nesting"):
        serialize_wkb(geometry)


def test_a_box_holds_all_geometries() -> None:
    box = bounding_box([wkb("POINT (1.5 -2.25)"), None, wkb("LINESTRING (0 0, 5 7)")])
    assert box == (GeoPoint(x=0.0, y=-2.25), GeoPoint(x=5.0, y=7.0))


def test_nan_counts_for_no_dimension() -> None:
    assert bounding_box([wkb("POINT (1 NaN)"), wkb("POINT Z (3 4 NaN)")]) == (
        GeoPoint(x=1.0, y=4.0),
        GeoPoint(x=3.0, y=4.0),
    )


def test_without_x_or_y_there_is_no_box() -> None:
    assert bounding_box([wkb("POINT (1 NaN)")]) is None
    assert bounding_box([wkb("POINT EMPTY"), wkb("POLYGON EMPTY"), None]) is None
    assert bounding_box([]) is None


def test_z_and_m_are_bounded_where_they_occur() -> None:
    box = bounding_box([wkb("POINT Z (1 1 9)"), wkb("POINT M (2 2 8)"), wkb("POLYGON ZM ((0 0 1 2, 3 3 4 5))")])
    assert box == (GeoPoint(x=0.0, y=0.0, z=1.0, m=2.0), GeoPoint(x=3.0, y=3.0, z=9.0, m=8.0))


def test_infinities_are_ordinary_coordinates() -> None:
    box = bounding_box([wkb("POINT (Infinity 1)"), wkb("POINT (0 -Infinity)")])
    assert box == (GeoPoint(x=0.0, y=-math.inf), GeoPoint(x=math.inf, y=1.0))
