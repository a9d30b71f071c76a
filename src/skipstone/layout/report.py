"""What is known about a table's layout, as values.

Everything here is an estimate from statistics, except the counts of files and the depths, which are exact for the
bounds that the metadata has. `basis` says what an estimate rests on.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow

from skipstone.errors import NotFound, what_exists

pa: Any = pyarrow


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnHealth:
    """One column. Queries are for values where there are rows, taken to lie evenly between the bounds of their file.

    `depth` is how many files with bounds contain a point. `zones_point` and `zones_range` are the files that a query
    for one value, and for a range of `range_share` of the rows, has to read; files without bounds are always read.
    `clustering` is 1 where each point is in one file and 0 where every point is in all of them.
    """

    field_id: int
    name: str
    type: str
    files: int
    files_without_bounds: int
    depth_average: float
    depth_max: int
    zones_point: float
    zones_range: float
    range_share: float
    skipped_share_point: float
    skipped_share_range: float
    clustering: float
    distinct: int | None
    distinct_basis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Something that would let queries on a column read fewer files: before and after, for one value."""

    action: str
    columns: tuple[str, ...]
    term: str
    zones_before: float
    zones_after: float
    basis: str
    cost: str = ""

    @property
    def gain(self) -> float:
        return self.zones_before - self.zones_after

    def __str__(self) -> str:
        cost = f"; {self.cost}" if self.cost else ""
        return (
            f"{self.action} {self.term}: a query for one value reads about {self.zones_after:,.1f} files instead of "
            f"{self.zones_before:,.1f} ({self.basis}{cost})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutReport:
    table: str
    snapshot_id: int | None
    files: int
    rows: int
    bytes: int
    columns: tuple[ColumnHealth, ...]
    recommendations: tuple[Recommendation, ...]

    def column(self, name: str) -> ColumnHealth:
        found = next((c for c in self.columns if c.name == name), None)
        if found is None:
            known = [c.name for c in self.columns]
            raise NotFound(f"Cannot find column {name!r} in the report. {what_exists('Columns', name, known)}")
        return found

    def to_arrow(self) -> Any:
        """One row a column."""
        names = [f.name for f in fields(ColumnHealth)]
        rows = [asdict(c) for c in self.columns]
        return pa.table({n: pa.array([r[n] for r in rows], _ARROW[n]) for n in names})

    def to_json(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "snapshot-id": self.snapshot_id,
            "files": self.files,
            "rows": self.rows,
            "bytes": self.bytes,
            "columns": [{k.replace("_", "-"): v for k, v in asdict(c).items()} for c in self.columns],
            "recommendations": [
                {k.replace("_", "-"): v for k, v in asdict(r).items()} | {"columns": list(r.columns)}
                for r in self.recommendations
            ],
        }

    def to_json_text(self) -> str:
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        header = ("column", "depth", "deepest", "point reads", "range reads", "skipped", "clustering")
        rows = [
            (
                c.name,
                f"{c.depth_average:,.1f}",
                f"{c.depth_max:,}",
                f"{c.zones_point:,.1f}",
                f"{c.zones_range:,.1f}",
                f"{c.skipped_share_point:.1%}",
                f"{c.clustering:.2f}",
            )
            for c in self.columns
        ]
        widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
        lines = [f"{self.table}: {self.files:,} files, {self.rows:,} rows, {self.bytes:,} bytes"]
        for first, *rest in (header, *rows):
            lines.append("  ".join([first.ljust(widths[0]), *(t.rjust(w) for t, w in zip(rest, widths[1:]))]))
        lines += [f"recommended: {r}" for r in self.recommendations] or ["recommended: nothing"]
        return "\n".join(lines)


_ARROW: dict[str, Any] = {
    "field_id": pa.int32(),
    "name": pa.string(),
    "type": pa.string(),
    "files": pa.int64(),
    "files_without_bounds": pa.int64(),
    "depth_average": pa.float64(),
    "depth_max": pa.int64(),
    "zones_point": pa.float64(),
    "zones_range": pa.float64(),
    "range_share": pa.float64(),
    "skipped_share_point": pa.float64(),
    "skipped_share_range": pa.float64(),
    "clustering": pa.float64(),
    "distinct": pa.int64(),
    "distinct_basis": pa.string(),
}
