"""One plan in a process of its own: how long a cold and a warm one take, and how much memory. Prints JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any


def ours(home: str, predicate: str, *, use_index: bool, passes: int) -> dict[str, float]:
    """Skipstone, imports excluded: the process is fresh, so nothing of the table has been opened."""
    import pyarrow.parquet  # noqa: F401

    import skipstone
    import skipstone.plan
    from skipstone.predicate import as_predicate

    if not use_index:
        import skipstone.metadata.avro.decode_numba
    as_predicate("warm = 'up'")  # the parser of SQL builds its tables on first use
    catalog = skipstone.catalog(home)
    began = time.perf_counter()
    table = catalog.load_table("shop.shipping_address")
    files = len(table.scan(predicate, use_index=use_index).plan())
    cold = time.perf_counter() - began
    warm = _median(lambda: table.scan(predicate, use_index=use_index).plan(), passes)
    return {"cold": cold, "warm": warm, "peak_mb": _peak_mb(), "files": files}


def counts(home: str, predicate: str, *, passes: int) -> dict[str, float]:
    import skipstone

    table = skipstone.catalog(home).load_table("shop.shipping_address")
    began = time.perf_counter()
    rows = table.scan(predicate or None).count()
    cold = time.perf_counter() - began
    warm = _median(lambda: table.scan(predicate or None).count(), passes)
    return {"cold": cold, "warm": warm, "rows": rows}


def pyiceberg(home: str, predicate: str) -> dict[str, float]:
    import warnings

    warnings.simplefilter("ignore")
    from pyiceberg.table import StaticTable

    metadata = Path(home) / "shop/shipping_address/metadata"
    version = (metadata / "version-hint.text").read_text().strip()
    table = StaticTable.from_metadata(str(metadata / f"v{version}.metadata.json"))
    began = time.perf_counter()
    files = sum(1 for _ in table.scan(row_filter=predicate).plan_files())
    return {"cold": time.perf_counter() - began, "peak_mb": _peak_mb(), "files": files}


def _median(work: Any, passes: int) -> float:
    seconds = []
    for _ in range(passes):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _peak_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise LookupError("VmHWM")


if __name__ == "__main__":
    who, where, predicate, passes = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    if who == "pyiceberg":
        found = pyiceberg(where, predicate)
    elif who == "count":
        found = counts(where, predicate, passes=passes)
    else:
        found = ours(where, predicate, use_index=who == "index", passes=passes)
    print(json.dumps(found))
