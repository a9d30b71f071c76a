"""Well-known text (WKT) of geometries, as JSON values hold them: POINT (30 10), LINESTRING Z (1 2 3, 4 5 6).

Numbers are written as the shortest text that reads back the same double, whole numbers without a point. Keywords are
read in any case, and a multipoint's positions with or without parentheses of their own. NaN, Infinity and -Infinity
stand for themselves.

Spec: "JSON single-value serialization", "Geospatial Notes".
"""

from __future__ import annotations

import math
import re
from typing import Final

from skipstone.errors import FormatViolation
from skipstone.metadata.values.geo import DEPTH_MAX, PART_KINDS, Geometry, GeometryKind, Position, check_geometry

_TOKEN: Final = re.compile(
    r"\s*(?:([A-Za-z]+)|([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([(),])|([+-]inf(?:inity)?))",
    re.IGNORECASE | re.ASCII,
)
_KINDS: Final = {kind.name: kind for kind in GeometryKind}
_WORD_NUMBERS: Final = {
    "NAN": math.nan,
    "INF": math.inf,
    "INFINITY": math.inf,
    "+INF": math.inf,
    "+INFINITY": math.inf,
    "-INF": -math.inf,
    "-INFINITY": -math.inf,
}
_DIMENSIONS: Final = {"Z": (True, False), "M": (False, True), "ZM": (True, True)}


def format_wkt(geometry: Geometry) -> str:
    """WKT of a geometry."""
    check_geometry(geometry)
    dimensions = "Z" * geometry.has_z + "M" * geometry.has_m
    tag = f"{geometry.kind.name} {dimensions}" if dimensions else geometry.kind.name
    return f"{tag} {_body(geometry)}"


def _body(geometry: Geometry) -> str:
    if geometry.positions:
        return f"({', '.join(' '.join(map(_number, p)) for p in geometry.positions)})"
    if not geometry.parts:
        return "EMPTY"
    if geometry.kind is GeometryKind.GEOMETRYCOLLECTION:
        return f"({', '.join(format_wkt(p) for p in geometry.parts)})"
    return f"({', '.join(_body(p) for p in geometry.parts)})"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value).removesuffix(".0")


def parse_wkt(text: str, *, source: str = "geometry") -> Geometry:
    """The geometry that WKT names."""
    reader = _WktReader(text, source)
    geometry = reader.geometry(0)
    if reader.token:
        raise reader.violation("the end of the text")
    return geometry


class _WktReader:
    """One token of look-ahead over WKT. `token` is empty at the end; words are in upper case."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.token = ""
        self.start = 0
        self.advance()

    def violation(self, expected: str) -> FormatViolation:
        got = repr(self.token[:40]) if self.token else "the end"
        return FormatViolation(f"Invalid {self.source}: at WKT character {self.start}: expected {expected}, got {got}.")

    def advance(self) -> str:
        """Step to the next token; the one before is returned."""
        before = self.token
        m = _TOKEN.match(self.text, self.at)
        if m is not None:
            self.token, self.start, self.at = m[0].strip().upper(), m.end() - len(m[0].lstrip()), m.end()
            return before
        rest = self.text[self.at :]
        self.token, self.start, self.at = rest.strip(), self.at, len(self.text)
        if self.token:
            raise self.violation("a word, number, parenthesis or comma")
        return before

    def geometry(self, depth: int) -> Geometry:
        if depth > DEPTH_MAX:
            raise self.violation(f"at most {DEPTH_MAX} levels of nesting")
        kind, has_z, has_m = self.tag()
        return self.body(kind, has_z, has_m, depth)

    def tag(self) -> tuple[GeometryKind, bool, bool]:
        word = self.token
        kind = _KINDS.get(word)
        if kind is not None:
            self.advance()
            has_z, has_m = _DIMENSIONS.get(self.token, (False, False))
            if has_z or has_m:
                self.advance()
            return kind, has_z, has_m
        for suffix, (has_z, has_m) in _DIMENSIONS.items():  # POINTZ for POINT Z
            joined = _KINDS.get(word.removesuffix(suffix))
            if joined is not None:
                if word.endswith("ZM"):
                    has_z, has_m = True, True
                self.advance()
                return joined, has_z, has_m
        raise self.violation(f"one of {', '.join(_KINDS)}")

    def body(self, kind: GeometryKind, has_z: bool, has_m: bool, depth: int) -> Geometry:
        if self.token == "EMPTY":
            self.advance()
            return Geometry(kind=kind, has_z=has_z, has_m=has_m)
        if kind in (GeometryKind.POINT, GeometryKind.LINESTRING):
            positions = self.positions(2 + has_z + has_m, one=kind is GeometryKind.POINT)
            if kind is GeometryKind.POINT and all(math.isnan(c) for c in positions[0]):
                positions = ()
            return Geometry(kind=kind, has_z=has_z, has_m=has_m, positions=positions)
        parts: list[Geometry] = []
        self.expect("(")
        while True:
            parts.append(self.part(kind, has_z, has_m, depth))
            if self.token != ",":
                break
            self.advance()
        self.expect(")")
        return Geometry(kind=kind, has_z=has_z, has_m=has_m, parts=tuple(parts))

    def part(self, parent: GeometryKind, has_z: bool, has_m: bool, depth: int) -> Geometry:
        if parent is GeometryKind.GEOMETRYCOLLECTION:
            start, token = self.start, self.token
            part = self.geometry(depth + 1)
            if (part.has_z, part.has_m) != (has_z, has_m):
                self.start, self.token = start, token
                raise self.violation("parts with the dimensions of their collection")
            return part
        kind = PART_KINDS[parent]
        if kind is GeometryKind.POINT and self.token not in ("(", "EMPTY"):
            position = self.position(2 + has_z + has_m)
            positions = () if all(math.isnan(c) for c in position) else (position,)
            return Geometry(kind=kind, has_z=has_z, has_m=has_m, positions=positions)
        return self.body(kind, has_z, has_m, depth + 1)

    def positions(self, dimensions: int, *, one: bool) -> tuple[Position, ...]:
        self.expect("(")
        found = [self.position(dimensions)]
        while not one and self.token == ",":
            self.advance()
            found.append(self.position(dimensions))
        self.expect(")")
        return tuple(found)

    def position(self, dimensions: int) -> Position:
        return tuple(self.number() for _ in range(dimensions))

    def number(self) -> float:
        word = _WORD_NUMBERS.get(self.token)
        if word is None and not self.token[:1].isdigit() and self.token[:1] not in ("+", "-", "."):
            raise self.violation("a number")
        if word is None and math.isinf(float(self.token)):
            raise self.violation("a number in the range of doubles")
        text = self.advance()
        return float(text) if word is None else word

    def expect(self, token: str) -> None:
        if self.token != token:
            raise self.violation(f"'{token}'")
        self.advance()
