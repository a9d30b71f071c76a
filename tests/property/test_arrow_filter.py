"""The Arrow filter is the row evaluator, many rows at a time."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.predicates import leaves, predicates
from tests.support.strategies import GEO_TYPES, PRIMITIVES, nullable, values, variants

from skipstone.metadata.formats.arrow_types import to_arrow_schema, values_to_array
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    BucketTransform,
    Transform,
    TruncateTransform,
)
from skipstone.metadata.types import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    UNKNOWN,
    VARIANT,
    DecimalType,
    Field,
    PrimitiveType,
    StructType,
    Value,
)
from skipstone.metadata.values.variant import VariantValue, serialize_variant
from skipstone.metadata.values.variant_paths import format_path
from skipstone.predicate.arrow_filter import matches
from skipstone.predicate.evaluate import evaluate
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Column, Predicate, Transformed, VariantGet, term_type

FLOAT_ORDERS = st.sampled_from(FloatOrder)


def reference(predicate: Predicate, rows: list[dict[int, Value]], order: FloatOrder) -> list[bool]:
    return [evaluate(predicate, row, order) is True for row in rows]


def batch_of(type_: PrimitiveType, column: list[Value]) -> pa.RecordBatch:
    schema = to_arrow_schema(StructType((Field(id=1, name="c", type=type_, required=False),)))
    return pa.RecordBatch.from_arrays([values_to_array(type_, column)], schema=schema)


@pytest.mark.parametrize("type_", [*PRIMITIVES, *GEO_TYPES, UNKNOWN], ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data(), order=FLOAT_ORDERS)
def test_filter_equals_the_row_evaluator_for_every_leaf_of_every_type(
    type_: PrimitiveType, data: st.DataObject, order: FloatOrder
) -> None:
    column = data.draw(st.lists(nullable(type_), max_size=8))
    term = Column(field_id=1, type=type_, name="c")
    predicate = data.draw(predicates(leaves(term, type_, pool=column, null_literals=True), negations=True))
    found = matches(predicate, batch_of(type_, column), float_order=order)
    assert found.to_pylist() == reference(predicate, [{1: v} for v in column], order)


def transforms(type_: PrimitiveType) -> list[Transform]:
    every = [IDENTITY, YEAR, MONTH, DAY, HOUR, VOID, BucketTransform(16), TruncateTransform(10), TruncateTransform(3)]
    return [t for t in every if t.can_transform(type_)]


@pytest.mark.parametrize("type_", PRIMITIVES, ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_filter_on_transforms_equals_the_row_evaluator_also_where_results_leave_their_type(
    type_: PrimitiveType, data: st.DataObject
) -> None:
    column = data.draw(st.lists(nullable(type_), max_size=8))
    term = Transformed(data.draw(st.sampled_from(transforms(type_))), Column(field_id=1, type=type_, name="c"))
    rows = [{1: v} for v in column]
    result = term_type(term)
    pool = [term.transform.apply(type_, v) for v in column]
    fitting = [v for v in pool if _fits(result, v)]
    predicate = data.draw(predicates(leaves(term, result, pool=fitting)))
    assert matches(predicate, batch_of(type_, column)).to_pylist() == reference(predicate, rows, FloatOrder.SPARK)


def _fits(type_: PrimitiveType, value: Value) -> bool:
    match type_:
        case DecimalType(precision, scale):
            return value is not None and abs(value.scaleb(scale)) < 10**precision
        case _ if type_ in (INT, LONG) and value is not None:
            bits = 31 if type_ == INT else 63
            return bool(-(2**bits) <= value < 2**bits)
        case _:
            return True


NESTED = StructType(
    (
        Field(
            id=1,
            name="s",
            required=False,
            type=StructType(
                (
                    Field(id=2, name="x", type=LONG, required=False),
                    Field(
                        id=3,
                        name="t",
                        required=False,
                        type=StructType((Field(id=4, name="y", type=FLOAT, required=True),)),
                    ),
                )
            ),
        ),
        Field(id=5, name="z", type=STRING, required=True),
    )
)


def flat(row: dict[int, Value]) -> dict[int, Value]:
    """The leaves of a row by field id; what lies under a null struct is null."""
    found: dict[int, Value] = {}
    for field_id, value in row.items():
        found.update(flat(value) if isinstance(value, dict) else {field_id: value})
    return found


@settings(max_examples=40, deadline=None)
@given(data=st.data(), order=FLOAT_ORDERS, chunk=st.integers(1, 5))
def test_filter_sees_null_below_a_null_struct_in_batches_tables_and_slices(
    data: st.DataObject, order: FloatOrder, chunk: int
) -> None:
    nested_rows = data.draw(st.lists(values(NESTED), max_size=8))
    rows = [flat(r) for r in nested_rows]
    columns = {2: LONG, 4: FLOAT, 5: STRING}
    one_of = st.one_of(
        *(
            leaves(Column(field_id=i, type=t, name=str(i), is_nested=i != 5), t, pool=[r.get(i) for r in rows])
            for i, t in columns.items()
        )
    )
    predicate = data.draw(predicates(one_of))
    arrays: Any = values_to_array(NESTED, nested_rows)
    batch = pa.RecordBatch.from_arrays([arrays.field(0), arrays.field(1)], schema=to_arrow_schema(NESTED))
    expected = reference(predicate, rows, order)
    assert matches(predicate, batch, float_order=order).to_pylist() == expected
    assert matches(predicate, batch.slice(1), float_order=order).to_pylist() == expected[1:]
    chunks = [batch.slice(at, chunk) for at in range(0, len(rows), chunk)]
    table = pa.Table.from_batches(chunks, schema=batch.schema)
    assert matches(predicate, table, float_order=order).to_pylist() == expected


@settings(max_examples=40, deadline=None)
@given(data=st.data(), order=FLOAT_ORDERS)
def test_filter_on_a_field_of_a_variant_equals_the_row_evaluator(data: st.DataObject, order: FloatOrder) -> None:
    type_ = data.draw(st.sampled_from([LONG, DOUBLE, STRING, DecimalType(9, 2)]))
    column: list[VariantValue | None] = data.draw(st.lists(st.none() | variants(), max_size=6))
    term = VariantGet(Column(field_id=1, type=VARIANT, name="v"), data.draw(st.sampled_from(paths(column))), type_)
    predicate = data.draw(predicates(leaves(term, type_)))
    stored = [None if v is None else dict(zip(("metadata", "value"), serialize_variant(v))) for v in column]
    assert matches(predicate, batch_of(VARIANT, stored), float_order=order).to_pylist() == reference(
        predicate, [{1: v} for v in column], order
    )


def paths(column: list[VariantValue | None]) -> list[str]:
    """The root, a name that no object has, and the names that there are."""
    names = [name for v in column for name, _ in getattr(v, "fields", ())]
    return [format_path([]), format_path(["absent"]), *(format_path([n]) for n in names)]
