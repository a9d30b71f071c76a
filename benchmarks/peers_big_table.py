"""Large tables that exist in metadata only: shipping addresses in 51 states, 10 columns with bounds, 8 MB manifests.

Files come in batches, one a day; a batch has files of every state, sorted by zip code. A filter on one zip code
matches about one file a batch, however large the table is. Manifests hold the files as they came, or, as after a
rewrite of manifests, by state. Tables are made once, in a directory layout that every engine reads, and kept.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

import skipstone
from skipstone.commit.append import Append
from skipstone.index.rollup import VERSION
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.metadata.values import serialize_bounds_array

# Tables whose index files are of another version would be planned without them.
CACHE: Final = Path(os.environ.get("SKIPSTONE_BENCHMARK_CACHE", Path(__file__).parent / ".cache")) / f"index-{VERSION}"
BATCHES: Final = 100
STATES: Final = (
    "AK", "AL", "AR", "AZ", "CA", "NY", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN",
    "KS", "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ", "NM",
    "NV", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA", "WI", "WV", "WY",
)  # fmt: skip
SCHEMA: Final = [
    ("order_id", "long"),
    ("state", "string"),
    ("zip_code", "string"),
    ("ts", "timestamptz"),
    ("city", "string"),
    ("price", "double"),
    ("quantity", "int"),
    ("customer_id", "long"),
    ("day", "date"),
    ("weight", "float"),
]
ZIPS_A_STATE: Final = 1960
FIRST_DAY: Final = 20_000
DAY_US: Final = 86_400_000_000


def big_table(num_files: int, *, by_state: bool = True, has_index: bool = True, name: str | None = None) -> Any:
    """A table of so many files; one with a `name` is the caller's own, to change and remove."""
    kind = name or f"{'sorted' if by_state else 'as-written'}{'' if has_index else '-plain'}"
    name = f"planning-{num_files}-{kind}"
    home = CACHE / name
    done = home / "done"
    if not done.exists():
        shutil.rmtree(home, ignore_errors=True)
        _make(home, num_files, by_state, has_index)
        done.touch()
    return skipstone.catalog(str(home)).load_table("shop.shipping_address")


def _make(home: Path, num_files: int, by_state: bool, has_index: bool) -> None:
    catalog = skipstone.catalog(str(home))
    table = catalog.create_table(
        "shop.shipping_address",
        SCHEMA,
        partition_by=["state"],
        format_version=2,
        properties={} if has_index else {"skipstone.index.enabled": "false"},
    )
    order = np.arange(num_files)
    if by_state:
        order = np.argsort(_state_of(order, num_files), kind="stable")
    step = 500_000
    for start in range(0, num_files, step):
        files = data_files(order[start : start + step], num_files, table.location)
        table.apply(Append(files=files, is_fast=True))


def _state_of(numbers: Any, num_files: int) -> Any:
    """Within a batch, files are ordered by state."""
    per_batch = -(-num_files // BATCHES)
    return (numbers % per_batch) * len(STATES) // per_batch


def data_files(numbers: Any, num_files: int, location: str, *, prefix: str = "") -> pa.Table:
    """Files by their numbers, as a commit takes them."""
    per_batch = -(-num_files // BATCHES)
    batch, within = numbers // per_batch, numbers % per_batch
    state = within * len(STATES) // per_batch
    share = within * len(STATES) / per_batch - state  # where in its state's zip codes a file begins
    width = len(STATES) / per_batch * ZIPS_A_STATE
    low_zip = (state + share) * ZIPS_A_STATE
    random = np.random.default_rng(20_261_116 + int(numbers[0]))
    count = len(numbers)
    rows = random.integers(50_000, 150_000, count)
    states = np.array(STATES)[state]
    start = (FIRST_DAY + batch) * DAY_US
    lows = {
        1: pa.array(numbers * 200_000), 2: pa.array(states), 3: _zips(low_zip),
        4: pa.array(start + random.integers(0, 10**9, count)).cast(pa.timestamp("us", "UTC")),
        5: pa.array([f"aa{n:06d}" for n in random.integers(0, 10**6, count).tolist()]),
        6: pa.array(random.uniform(0, 10, count)), 7: pa.array(random.integers(0, 10, count), pa.int32()),
        8: pa.array(random.integers(0, 10**6, count)),
        9: pa.array((FIRST_DAY + batch).astype(np.int32)).cast(pa.date32()),
        10: pa.array(random.random(count).astype(np.float32)),
    }  # fmt: skip
    highs = {
        1: pa.array(numbers * 200_000 + rows), 2: pa.array(states), 3: _zips(low_zip + width),
        4: pa.array(start + DAY_US - 1 - random.integers(0, 10**9, count)).cast(pa.timestamp("us", "UTC")),
        5: pa.array([f"zz{n:06d}" for n in random.integers(0, 10**6, count).tolist()]),
        6: pa.array(random.uniform(900, 1000, count)), 7: pa.array(random.integers(90, 100, count), pa.int32()),
        8: pa.array(random.integers(10**9, 10**9 + 10**6, count)), 9: lows[9],
        10: pa.array((1 + random.random(count)).astype(np.float32)),
    }  # fmt: skip
    columns = schema_of(SCHEMA, format_version=2)
    types: dict[int, Any] = {i: columns.field(i).type for i in lows}
    paths = [
        f"{location}/data/state={s}/{prefix}{n:08d}-0-{r:016x}-00001.parquet"
        for s, n, r in zip(states.tolist(), numbers.tolist(), random.integers(0, 1 << 62, count).tolist(), strict=True)
    ]
    counts = {i: pa.array(rows) for i in lows}
    nulls = {i: pa.array(random.integers(0, 500, count) if i > 3 else np.zeros(count, np.int64)) for i in lows}
    return pa.table(
        {
            "file_path": paths,
            "file_format": ["PARQUET"] * count,
            "partition": pa.StructArray.from_arrays([pa.array(states)], ["state"]),
            "record_count": rows,
            "file_size_in_bytes": rows * 57,
            "column_sizes": _map({i: pa.array(rows * random.integers(1, 9, count)) for i in lows}),
            "value_counts": _map(counts),
            "null_value_counts": _map(nulls),
            "nan_value_counts": _map({i: pa.array(np.zeros(count, np.int64)) for i in (6, 10)}),
            "lower_bounds": _map({i: serialize_bounds_array(types[i], a) for i, a in lows.items()}),
            "upper_bounds": _map({i: serialize_bounds_array(types[i], a) for i, a in highs.items()}),
            "split_offsets": pa.array([[4]] * count, pa.list_(pa.int64())),
            "sort_order_id": pa.array(np.zeros(count, np.int32)),
            "spec_id": pa.array(np.zeros(count, np.int32)),
        }
    )


def _zips(numbers: Any) -> Any:
    return pa.array([f"{n:05d}" for n in numbers.astype(np.int64).tolist()])


def _map(columns: dict[int, Any]) -> Any:
    """A map column with the same keys in every row."""
    count = len(next(iter(columns.values())))
    width = len(columns)
    rows = np.arange(count * width)
    flat = pa.concat_arrays(list(columns.values())).take(pa.array((rows % width) * count + rows // width))
    keys = pa.array(np.tile(np.array(list(columns), np.int32), count))
    return pa.MapArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32) * width), keys, flat)
