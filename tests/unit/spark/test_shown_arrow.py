"""Arrow batches in the form that Spark takes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.types import INT, STRING, Field, ListType, MapType, StructType

pytest.importorskip("pyspark")
from skipstone.spark.shown_arrow import shown_batch, spark_arrow_schema

LISTS = ListType(element_id=3, element=ListType(element_id=4, element=STRING))
MAPS = MapType(key_id=5, key=INT, value_id=6, value=StructType((Field(id=7, name="x", type=INT),)))
STRUCT = StructType((Field(id=1, name="li", type=LISTS), Field(id=2, name="mp", type=MAPS)))
ROWS: list[dict[str, Any]] = [
    {"li": [["a"]], "mp": [(1, None)]},
    {"li": None, "mp": None},
    {"li": [None, ["b", None], []], "mp": [(1, {"x": 2}), (3, {"x": None})]},
    {"li": [], "mp": []},
    {"li": None, "mp": None},
]


@pytest.mark.parametrize("first", range(len(ROWS)))
def test_a_slice_shows_its_own_rows_and_its_nulls(first: int) -> None:
    batch = pa.RecordBatch.from_pylist(ROWS, schema=to_arrow_schema(STRUCT))
    shown = shown_batch(batch.slice(first), STRUCT, spark_arrow_schema(STRUCT))
    shown.validate(full=True)
    assert shown.to_pylist() == ROWS[first:]
