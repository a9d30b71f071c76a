"""The demo: what skipping does to one query.

A table of US shipping addresses, partitioned by state and sorted by zip code, and the count of `zip_code = '10001'`
with skipping at no level, at one, and at all of them.

    python -m skipstone.demo [--rows 400000] [--seed 7] [--directory DIR]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

import skipstone
from skipstone.metadata.types import StructType
from skipstone.plan import ScanPlan
from skipstone.predicate.nodes import TRUE
from skipstone.read import read_plan
from skipstone.table import Table

pa: Any = pyarrow

# The first and last zip code of each state, roughly.
ZIP_RANGES = {
    "AL": (35004, 36925), "AK": (99501, 99950), "AZ": (85001, 86556), "AR": (71601, 72959), "CA": (90001, 96162),
    "CO": (80001, 81658), "CT": (6001, 6928), "DE": (19701, 19980), "DC": (20001, 20599), "FL": (32003, 34997),
    "GA": (30002, 31999), "HI": (96701, 96898), "ID": (83201, 83877), "IL": (60001, 62999), "IN": (46001, 47997),
    "IA": (50001, 52809), "KS": (66002, 67954), "KY": (40003, 42788), "LA": (70001, 71497), "ME": (3901, 4992),
    "MD": (20601, 21930), "MA": (1001, 2791), "MI": (48001, 49971), "MN": (55001, 56763), "MS": (38601, 39776),
    "MO": (63001, 65899), "MT": (59001, 59937), "NE": (68001, 69367), "NV": (88901, 89883), "NH": (3031, 3897),
    "NJ": (7001, 8989), "NM": (87001, 88439), "NY": (10001, 14925), "NC": (27006, 28909), "ND": (58001, 58856),
    "OH": (43001, 45999), "OK": (73001, 74966), "OR": (97001, 97920), "PA": (15001, 19640), "RI": (2801, 2940),
    "SC": (29001, 29945), "SD": (57001, 57799), "TN": (37010, 38589), "TX": (75001, 79999), "UT": (84001, 84791),
    "VT": (5001, 5907), "VA": (22001, 24658), "WA": (98001, 99403), "WV": (24701, 26886), "WI": (53001, 54990),
    "WY": (82001, 83128),
}  # fmt: skip
QUERY = "zip_code = '10001'"
FILES_PER_STATE = 8
FIRST_ZIP_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Run:
    level: str
    files: int
    bytes: int
    seconds: float
    count: int


def addresses(rows: int, seed: int) -> Any:
    """Seeded addresses: states evenly, zip codes within their state's range, the first one more often than others."""
    rng = np.random.default_rng(seed)
    states = np.array(list(ZIP_RANGES))
    ranges = np.array(list(ZIP_RANGES.values()))
    chosen = rng.integers(0, len(states), rows)
    first = rng.random(rows) < FIRST_ZIP_SHARE
    zips = np.where(first, ranges[chosen, 0], rng.integers(ranges[chosen, 0], ranges[chosen, 1] + 1))
    return pa.table(
        {
            "address_id": pa.array(np.arange(rows)),
            "street": pa.array([f"{n} Main Street" for n in rng.integers(1, 9999, rows).tolist()]),
            "state": pa.array(states[chosen]),
            "zip_code": pa.array([f"{z:05d}" for z in zips.tolist()]),
        }
    )


def _stretch(data: Any) -> Any:
    """Which of the equal parts of its state's range each zip code lies in."""
    ranges = np.array([ZIP_RANGES[s] for s in data.column("state").to_pylist()])
    zips = data.column("zip_code").cast(pa.int64()).to_numpy()
    return (zips - ranges[:, 0]) * FILES_PER_STATE // (ranges[:, 1] - ranges[:, 0] + 1)


def load(directory: Path, rows: int, seed: int) -> Table:
    lake = skipstone.catalog(f"sqlite:///{directory}/catalog.db", warehouse=str(directory))
    table = lake.create_table(
        "shop.shipping_address",
        [("address_id", "long not null"), ("street", "string"), ("state", "string"), ("zip_code", "string")],
        partition_by=["state"],
        sort_by=["zip_code"],
        format_version=3,
    )
    data = addresses(rows, seed)
    stretch = _stretch(data)
    # Clustered by zip code within each state: every append brings the next stretch of each state's codes.
    for part in range(FILES_PER_STATE):
        table.append(data.filter(pa.array(stretch == part)))
    return table


def run(table: Table, level: str, filter_for_planning: Any) -> Run:
    """Count the matches while planning sees only what a level may use; the rows are filtered in any case."""
    started = time.perf_counter()
    scan = table.scan(QUERY)
    plan = table.scan(filter_for_planning).plan()
    files = plan.files
    # Every row is checked against the whole query, whatever was skipped before.
    checked = ScanPlan(
        metadata=plan.metadata,
        snapshot=plan.snapshot,
        schema=plan.schema,
        predicate=scan.predicate,
        float_order=plan.float_order,
        files=files.set_column(
            files.schema.get_field_index("verdict"), "verdict", pa.repeat(pa.scalar(1, pa.int8()), files.num_rows)
        ),
        deletes=plan.deletes,
        levels=plan.levels,
    )
    count = sum(b.num_rows for b in read_plan(checked, table.storage, wanted=StructType(())))
    size = sum(files.column("file_size_in_bytes").to_pylist())
    return Run(level, files.num_rows, size, time.perf_counter() - started, count)


def report(runs: list[Run]) -> str:
    lines = [f"{'skipping':<22}{'files':>8}{'bytes':>14}{'seconds':>10}{'count':>8}"]
    most = max(r.files for r in runs)
    for r in runs:
        bar = "#" * max(1, round(30 * r.files / most))
        lines.append(f"{r.level:<22}{r.files:>8,}{r.bytes:>14,}{r.seconds:>10.3f}{r.count:>8,}  {bar}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--directory", type=Path, default=None, help="where the table is kept; a new one by default")
    arguments = parser.parse_args()
    directory = arguments.directory or Path(tempfile.mkdtemp(prefix="skipstone-demo-"))
    print(f"Loading {arguments.rows:,} addresses into {directory} ...", flush=True)
    table = load(directory, arguments.rows, arguments.seed)
    ny = "state = 'NY'"  # what a user who knows the data would add
    runs = [
        run(table, "none", TRUE),
        run(table, "partitions only", ny),
        run(table, "files", QUERY),
        run(table, "partitions and files", f"{QUERY} AND {ny}"),
    ]
    print(f"\nselect count(*) from shop.shipping_address where {QUERY}\n")
    print(report(runs))
    print(f"\n{table.scan(QUERY).explain()}")
    assert len({r.count for r in runs}) == 1, "skipping must not change the answer"


if __name__ == "__main__":
    main()
