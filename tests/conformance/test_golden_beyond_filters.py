"""Tables by Iceberg Java: aggregates and top-k equal those of a full scan, and explanations and layouts can be made."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest
from tests.support.golden import RECORDED_ROOT, GoldenTable, golden_root, golden_tables

import skipstone
from skipstone.errors import SkipstoneError
from skipstone.metadata.types import (
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    UnknownType,
    VariantType,
)

pa: Any = pyarrow

WITHOUT_ORDER = DoubleType | FloatType | GeographyType | GeometryType | UnknownType | VariantType
COLUMNS_MAX = 4


def values_of(column: Any) -> list[Any]:
    """Nanoseconds as numbers: Python has no moments for the first of them."""
    is_nanos = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
    return list((column.cast(pa.int64()) if is_nanos else column).to_pylist())


@pytest.mark.parametrize("golden", golden_tables(), ids=str)
def test_metadata_answers_what_the_rows_say(golden: GoldenTable) -> None:
    table = skipstone.open_table(str(golden.metadata_file), moved={RECORDED_ROOT: str(golden_root())})
    try:
        rows = table.scan().to_arrow()
    except SkipstoneError as refused:
        pytest.skip(str(refused))
    names = [
        f.name
        for f in table.schema.fields
        if isinstance(f.type, PrimitiveType) and not isinstance(f.type, WITHOUT_ORDER) and "(" not in f.name
    ][:COLUMNS_MAX]
    asked = ["count(*)", *(f"{kind}({name})" for name in names for kind in ("count", "min", "max"))]
    answers = table.scan().aggregate(*asked).table
    found = {a: values_of(answers.column(a))[0] for a in asked}
    assert found["count(*)"] == rows.num_rows
    for name in names:
        there = sorted(v for v in values_of(rows.column(name)) if v is not None)
        ends = (there[0], there[-1]) if there else (None, None)
        assert found[f"count({name})"] == len(there)
        assert (found[f"min({name})"], found[f"max({name})"]) == ends
        top = values_of(table.scan(columns=[name]).top_k(name, 3).rows.column(name))
        assert top == ([*reversed(there), *([None] * 3)])[: min(3, rows.num_rows)]
    assert table.scan().explanation().files == len(table.scan().plan())
    assert table.layout().files == len(table.scan().plan())
