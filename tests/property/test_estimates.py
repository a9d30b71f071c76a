"""The law of estimates: the true number of rows lies between the bounds, whatever was committed since the analysis.

Tables are small, so that sketches hold every value and the law has no exceptions.
"""

from __future__ import annotations

import math
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skipstone
from skipstone.commit import RowDelta
from skipstone.write import write_equality_deletes

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("x", pa.float64()), ("s", pa.string()), ("b", pa.bool_()), ("n", pa.decimal128(38, 2)),
        ("p", pa.struct([("y", pa.int32())])),
    ]
)  # fmt: skip
BIG = 2**60
row = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(st.integers(-3, 3), st.integers(BIG, BIG + 600)),
        "x": st.sampled_from([0.0, -0.0, 1.5, -2.5, math.nan, math.inf]),
        "s": st.sampled_from(["", "a", "ab", "é🌊"]),
        "b": st.booleans(),
        "n": st.sampled_from([Decimal(10**30), Decimal(10**30) + 1, Decimal("0.01"), Decimal(-5)]),
        "p": st.one_of(st.none(), st.fixed_dictionaries({"y": st.sampled_from([None, 1, 2])})),
    },
)  # fmt: skip
rows = st.lists(row, min_size=1, max_size=30)
DELETES = ("id > 1", "x = 0.0", "s = 'a'", "b", "n is null", "p.y = 1")
FILTERS = (
    "id < 1", f"id < {BIG + 300}", f"id between {BIG + 100} and {BIG + 200} or id = 2", "id <> 2", "id in (1, 2, 7)",
    "x = 0.0", "x <> 0.0", "x > 0", "x >= 1.5 or x is null", "isnan(x)", "not isnan(x)", "x not in (-0.0, 1.5)",
    "s = ''", "s > 'a'", "s like 'a%'", "s not like 'a%'", "b", "not b", "b is null", f"n > {10**30}", "n <= 0.01",
    "p.y = 1", "p.y is null", "p.y is not null", "id < 2 and b", "s = 'a' or x < 0", "(id = 1 or id = 2) and s <> 'a'",
    "true",
)  # fmt: skip
step = st.one_of(
    st.tuples(st.just("append"), rows),
    st.tuples(st.just("delete"), st.sampled_from(DELETES)),
    st.tuples(st.just("analyze"), st.booleans()),
    st.tuples(st.just("relist"), st.none()),
    st.tuples(st.just("take by key"), st.lists(st.integers(0, 9), min_size=1, max_size=3)),
)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows,
    st.lists(step, max_size=5),
    st.sampled_from([(1, "copy-on-write"), (2, "merge-on-read"), (3, "merge-on-read")]),
    st.sampled_from(["full", "counts", "none"]),
    st.lists(st.sampled_from(FILTERS), min_size=8, max_size=8, unique=True),
)
def test_the_truth_lies_between_the_bounds(
    first: Any, steps: list[Any], how: tuple[int, str], metrics: str, filters: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as place:
        catalog = skipstone.catalog(f"sqlite:///{place}/c.db", warehouse=str(Path(place)))
        catalog.create_namespace("db")
        properties = {"write.delete.mode": how[1], "write.metadata.metrics.default": metrics}
        table = catalog.create_table("db.t", SCHEMA, format_version=how[0], properties=properties)
        for what, argument in [("append", first), *steps]:
            if what == "append":
                table.append(pa.Table.from_pylist(argument, SCHEMA))
            elif what == "delete":
                table.delete(argument)
            elif what == "take by key":
                if how[0] > 1:
                    keys = pa.table({"id": pa.array(argument, pa.int64())})
                    writing: dict[str, Any] = {"metadata": table.metadata, "storage": table.storage}
                    deletes = write_equality_deletes(keys, equality_ids=[table.schema.field("id").id], **writing)
                    table.apply(RowDelta(files=deletes))
            elif what == "relist":
                table.rewrite_manifests()
            else:
                table.analyze(full=argument)
        for text in filters:
            found, true = table.estimate(text), table.scan(text).count()
            assert found.rows_low <= found.rows <= found.rows_high, text
            assert found.rows_low <= true <= found.rows_high, text
            assert not found.is_exact or found.rows == true, text
