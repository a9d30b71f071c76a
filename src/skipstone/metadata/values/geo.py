"""Geometries: well-known binary (WKB) and text (WKT), and the points that bound them.

WKB is written in ISO form, little-endian. Reading also takes big-endian, mixed byte orders, and the extended flags
(EWKB) some writers use; an SRID there is skipped, for the type carries the CRS. An empty point is stored as NaN
coordinates, as is usual. Nothing is allocated on the word of a count: counts are checked against the bytes left.

Bounds skip NaN per dimension; without a value for x or y there is no bounding box.

Spec: "Geospatial Notes", "Bounds for Variant, Geometry, and Geography".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeAlias

from skipstone.errors import FormatViolation, InvalidInput

DEPTH_MAX: Final = 64

_EWKB_Z: Final = 0x80000000
_EWKB_M: Final = 0x40000000
_EWKB_SRID: Final = 0x20000000

# x, y, then z and m where the geometry has them.
Position: TypeAlias = tuple[float, ...]


class GeometryKind(IntEnum):
    POINT = 1
    LINESTRING = 2
    POLYGON = 3
    MULTIPOINT = 4
    MULTILINESTRING = 5
    MULTIPOLYGON = 6
    GEOMETRYCOLLECTION = 7


_KINDS: Final = {kind.value: kind for kind in GeometryKind}

# What the parts of a geometry must be. A polygon's rings have no header of their own in WKB.
PART_KINDS: Final[dict[GeometryKind, GeometryKind]] = {
    GeometryKind.POLYGON: GeometryKind.LINESTRING,
    GeometryKind.MULTIPOINT: GeometryKind.POINT,
    GeometryKind.MULTILINESTRING: GeometryKind.LINESTRING,
    GeometryKind.MULTIPOLYGON: GeometryKind.POLYGON,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GeoPoint:
    """One corner of a bounding box. z and m are None when that dimension has no bound."""

    x: float
    y: float
    z: float | None = None
    m: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """A geometry of any kind: a point or line has positions, everything else has parts (a polygon's are its rings)."""

    kind: GeometryKind
    has_z: bool = False
    has_m: bool = False
    positions: tuple[Position, ...] = ()
    parts: tuple[Geometry, ...] = ()

    @property
    def dimensions(self) -> int:
        return 2 + self.has_z + self.has_m

    def walk(self) -> Iterator[Geometry]:
        """This geometry and everything below it."""
        yield self
        for part in self.parts:
            yield from part.walk()


def check_geometry(geometry: Geometry, *, depth: int = 0) -> None:
    """Refuse a geometry that cannot be written: wrong parts, mixed dimensions, a point of two positions."""
    if depth > DEPTH_MAX:
        raise InvalidInput(f"Invalid geometry: expected at most {DEPTH_MAX} levels of nesting.")
    is_flat = geometry.kind in (GeometryKind.POINT, GeometryKind.LINESTRING)
    if (geometry.parts and is_flat) or (geometry.positions and not is_flat):
        raise InvalidInput(f"Invalid {geometry.kind.name}: expected {'positions' if is_flat else 'parts'} only.")
    if geometry.kind is GeometryKind.POINT and len(geometry.positions) > 1:
        raise InvalidInput(f"Invalid POINT: expected one position or none, got {len(geometry.positions)}.")
    if any(len(p) != geometry.dimensions for p in geometry.positions):
        raise InvalidInput(f"Invalid {geometry.kind.name}: expected {geometry.dimensions} coordinates a position.")
    for part in geometry.parts:
        expected = PART_KINDS.get(geometry.kind, part.kind)
        if part.kind is not expected or (part.has_z, part.has_m) != (geometry.has_z, geometry.has_m):
            raise InvalidInput(
                f"Invalid {geometry.kind.name}: expected parts of kind {expected.name} with the same dimensions, "
                f"got {part.kind.name}."
            )
        check_geometry(part, depth=depth + 1)


def parse_wkb(data: bytes, *, source: str = "geometry") -> Geometry:
    """The geometry that WKB bytes hold."""
    reader = _WkbReader(data, source)
    geometry = reader.geometry(0)
    if reader.offset != len(data):
        raise reader.violation(f"the end of the geometry, got {len(data) - reader.offset} more bytes")
    return geometry


def serialize_wkb(geometry: Geometry) -> bytes:
    """ISO WKB, little-endian."""
    check_geometry(geometry)
    pieces: list[bytes] = []
    _write_wkb(geometry, pieces)
    return b"".join(pieces)


class _WkbReader:
    """A cursor over WKB bytes."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data = data
        self.source = source
        self.offset = 0

    def violation(self, expected_and_got: str) -> FormatViolation:
        return FormatViolation(f"Invalid {self.source}: at WKB byte {self.offset}: expected {expected_and_got}.")

    def geometry(self, depth: int) -> Geometry:
        if depth > DEPTH_MAX:
            raise self.violation(f"at most {DEPTH_MAX} levels of nesting, got more")
        order = self._byte_order()
        kind, has_z, has_m = self._kind(order)
        if kind is GeometryKind.POINT:
            return self._point(order, has_z, has_m)
        if kind is GeometryKind.LINESTRING:
            positions = self._positions(order, 2 + has_z + has_m)
            return Geometry(kind=kind, has_z=has_z, has_m=has_m, positions=positions)
        if kind is GeometryKind.POLYGON:
            parts = tuple(
                Geometry(
                    kind=GeometryKind.LINESTRING,
                    has_z=has_z,
                    has_m=has_m,
                    positions=self._positions(order, 2 + has_z + has_m),
                )
                for _ in range(self._count(order, "rings", 4))
            )
        else:
            parts = tuple(self._part(kind, has_z, has_m, depth + 1) for _ in range(self._count(order, "geometries", 5)))
        return Geometry(kind=kind, has_z=has_z, has_m=has_m, parts=parts)

    def _part(self, parent: GeometryKind, has_z: bool, has_m: bool, depth: int) -> Geometry:
        start = self.offset
        part = self.geometry(depth)
        expected = PART_KINDS.get(parent, part.kind)
        if part.kind is not expected or (part.has_z, part.has_m) != (has_z, has_m):
            self.offset = start
            raise self.violation(
                f"{_tag(expected, has_z, has_m)} inside {_tag(parent, has_z, has_m)}, "
                f"got {_tag(part.kind, part.has_z, part.has_m)}"
            )
        return part

    def _byte_order(self) -> str:
        mark = self._take(1, "a byte order")[0]
        if mark > 1:
            self.offset -= 1
            raise self.violation(f"a byte order of 0 or 1, got {mark}")
        return "<" if mark else ">"

    def _kind(self, order: str) -> tuple[GeometryKind, bool, bool]:
        code: int = struct.unpack(order + "I", self._take(4, "a geometry kind"))[0]
        iso_dimensions, kind_number = divmod(code & 0x0FFFFFFF, 1000)
        kind = _KINDS.get(kind_number)
        if kind is None or iso_dimensions > 3 or code & 0x10000000:
            self.offset -= 4
            raise self.violation(f"a geometry kind from 1 to 7 with dimensions XY, XYZ, XYM or XYZM, got code {code}")
        if code & _EWKB_SRID:
            self._take(4, "an SRID")
        has_z = bool(code & _EWKB_Z) or iso_dimensions in (1, 3)
        has_m = bool(code & _EWKB_M) or iso_dimensions in (2, 3)
        return kind, has_z, has_m

    def _point(self, order: str, has_z: bool, has_m: bool) -> Geometry:
        dimensions = 2 + has_z + has_m
        position = struct.unpack(f"{order}{dimensions}d", self._take(8 * dimensions, "coordinates"))
        is_empty = all(math.isnan(c) for c in position)
        positions = () if is_empty else (position,)
        return Geometry(kind=GeometryKind.POINT, has_z=has_z, has_m=has_m, positions=positions)

    def _positions(self, order: str, dimensions: int) -> tuple[Position, ...]:
        count = self._count(order, "positions", 8 * dimensions)
        flat = struct.unpack(f"{order}{count * dimensions}d", self._take(8 * dimensions * count, "coordinates"))
        return tuple(zip(*[iter(flat)] * dimensions, strict=True))

    def _count(self, order: str, what: str, size_min: int) -> int:
        count: int = struct.unpack(order + "I", self._take(4, f"a count of {what}"))[0]
        left = len(self.data) - self.offset
        if count * size_min > left:
            self.offset -= 4
            raise self.violation(f"at most {left // size_min} {what} in the {left} bytes left, got {count}")
        return count

    def _take(self, size: int, what: str) -> bytes:
        end = self.offset + size
        if end > len(self.data):
            raise self.violation(f"{size} bytes of {what}, got {len(self.data) - self.offset}")
        taken = self.data[self.offset : end]
        self.offset = end
        return taken


def _tag(kind: GeometryKind, has_z: bool, has_m: bool) -> str:
    dimensions = "Z" * has_z + "M" * has_m
    return f"{kind.name} {dimensions}" if dimensions else kind.name


def _write_wkb(geometry: Geometry, pieces: list[bytes]) -> None:
    code = geometry.kind + 1000 * geometry.has_z + 2000 * geometry.has_m
    pieces.append(struct.pack("<BI", 1, code))
    if geometry.kind is GeometryKind.POINT:
        position = geometry.positions[0] if geometry.positions else (math.nan,) * geometry.dimensions
        pieces.append(struct.pack(f"<{geometry.dimensions}d", *position))
    elif geometry.kind is GeometryKind.LINESTRING:
        pieces.append(_pack_positions(geometry.positions))
    else:
        pieces.append(struct.pack("<I", len(geometry.parts)))
        for part in geometry.parts:
            if geometry.kind is GeometryKind.POLYGON:
                pieces.append(_pack_positions(part.positions))
            else:
                _write_wkb(part, pieces)


def _pack_positions(positions: tuple[Position, ...]) -> bytes:
    flat = [c for position in positions for c in position]
    return struct.pack(f"<I{len(flat)}d", len(positions), *flat)


def bounding_box(wkbs: Iterable[bytes | None], *, source: str = "geometry") -> tuple[GeoPoint, GeoPoint] | None:
    """The lower and upper corner around all geometries, or None when x or y has no value.

    Planar: a geography that crosses the antimeridian gets the wide box, which is sound.
    """
    low = [math.inf] * 4
    high = [-math.inf] * 4
    seen = [False] * 4
    for wkb in wkbs:
        if wkb is None:
            continue
        for geometry in parse_wkb(wkb, source=source).walk():
            axes = (0, 1, *((2,) if geometry.has_z else ()), *((3,) if geometry.has_m else ()))
            for axis, column in zip(axes, zip(*geometry.positions, strict=True)):
                values = [c for c in column if not math.isnan(c)]
                if values:
                    seen[axis] = True
                    low[axis] = min(low[axis], min(values))
                    high[axis] = max(high[axis], max(values))
    if not (seen[0] and seen[1]):
        return None
    return _corner(low, seen), _corner(high, seen)


def _corner(values: list[float], seen: list[bool]) -> GeoPoint:
    return GeoPoint(x=values[0], y=values[1], z=values[2] if seen[2] else None, m=values[3] if seen[3] else None)
