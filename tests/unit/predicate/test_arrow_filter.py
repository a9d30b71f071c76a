"""The Arrow filter's corners. That it equals the row evaluator is a property test."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from tests.support.predicate_schema import SALES, sql

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.partitions.transforms import UnknownTransform
from skipstone.predicate import FloatOrder, matches
from skipstone.predicate.arrow_columns import column_paths
from skipstone.predicate.nodes import FALSE, TRUE, UNKNOWN, Column, Compare, Op, Transformed

SCHEMA = to_arrow_schema(SALES)


def batch(name: str, values: Any) -> pa.RecordBatch:
    field = SCHEMA.field(name)
    array = values if isinstance(values, pa.Array) else pa.array(values, field.type)
    return pa.RecordBatch.from_arrays([array], schema=pa.schema([field.with_type(array.type)]))


@pytest.mark.parametrize(
    ("text", "name", "values", "expected"),
    [
        ("x > 5", "x", [6.0, math.nan, None, 5.0], [True, True, False, False]),
        ("x = 0", "x", [-0.0, 0.0, 1.0], [True, True, False]),
        ("x IN (0.0, 7.0)", "x", [-0.0, 0.0, 1.0], [True, True, False]),
        ("x NOT IN (0.0, 7.0)", "x", [-0.0, None, 1.0], [False, False, True]),
        ("f = 0.5", "f", [0.5, None], [True, False]),
        ("region LIKE 'a%b_'", "region", ["aXbc", "ab", "a\nbc", None], [True, False, True, False]),
        ("bin = X'00'", "bin", [b"\x00", b""], [True, False]),
        ("tags IS NULL", "tags", [["a"], [], None], [False, False, True]),
        ("NOT isnan(x)", "x", [1.0, math.nan, None], [True, False, True]),
    ],
)
def test_rows_that_match(text: str, name: str, values: list[Any], expected: list[bool]) -> None:
    assert matches(sql(text), batch(name, values)).to_pylist() == expected


def test_nan_does_not_match_under_ieee_order() -> None:
    rows = batch("x", [6.0, math.nan])
    assert matches(sql("x > 5"), rows, float_order=FloatOrder.IEEE).to_pylist() == [True, False]


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", None, "b"]).dictionary_encode(),
        pa.array(["a", None, "b"], pa.large_string()),
        pa.array(["a", None, "b"], pa.string_view()),
    ],
    ids=lambda a: str(a.type)[:12],
)
def test_other_arrow_layouts_are_read(values: Any) -> None:
    rows = batch("region", values)
    assert matches(sql("region >= 'b' OR region IS NULL"), rows).to_pylist() == [False, True, True]


def test_narrower_integers_of_an_old_file_are_read_as_the_promoted_type() -> None:
    rows = batch("big", pa.array([1, 5], pa.int32()))
    assert matches(sql("big > 3"), rows).to_pylist() == [False, True]


@pytest.mark.parametrize(("predicate", "answer"), [(TRUE, True), (FALSE, False), (UNKNOWN, False)])
def test_constants_need_no_column(predicate: Any, answer: bool) -> None:
    assert matches(predicate, batch("x", [1.0, None])).to_pylist() == [answer] * 2


def test_table_without_chunks_gives_no_rows() -> None:
    table = SCHEMA.empty_table()
    assert matches(sql("x > 5"), table).to_pylist() == []
    assert matches(sql("x > 5"), pa.Table.from_batches([], SCHEMA)).type == pa.bool_()


def test_columns_can_be_given_by_position() -> None:
    rows = pa.RecordBatch.from_pydict({"other": [1, 2], "named": [5.0, 6.0]})
    assert matches(sql("x > 5"), rows, paths={5: (1,)}).to_pylist() == [False, True]


def test_paths_go_down_structs() -> None:
    assert column_paths(SCHEMA)[8] == (6, 0)
    assert 24 not in column_paths(SCHEMA)  # an element of a list has many values a row


def test_missing_column_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="by field 2 'big': expected a column with this id among x, got none"):
        matches(sql("big > 5"), batch("x", [1.0]))


def test_transform_that_is_not_known_is_refused() -> None:
    column = Column(field_id=5, type=SALES.field("x").type, name="x")  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match="zorder"):
        matches(Compare(Op.EQ, Transformed(UnknownTransform("zorder"), column), "a"), batch("x", [1.0]))


def test_transform_result_beyond_its_type_goes_through_the_reference() -> None:
    rows = batch("big", [-(2**63), 25])
    assert matches(sql("truncate(10, big) < 0"), rows).to_pylist() == [True, False]


def test_pattern_too_large_for_the_kernel_goes_through_the_reference() -> None:
    wide = "_" * 20_000
    assert matches(sql(f"region LIKE '{wide}%a'"), batch("region", ["é" * 20_001 + "a", "a"])).to_pylist() == [
        True,
        False,
    ]
