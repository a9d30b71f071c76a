"""Sort orders: JSON, checks, when one implies another, and the order of floats."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest

from skipstone.errors import FormatViolation, InvalidInput, NotFound
from skipstone.metadata.partitions.sorting import (
    UNSORTED,
    NullOrder,
    SortDirection,
    SortField,
    SortOrder,
    build_sort_order,
    float_order_key,
    float_order_keys,
    reuse_or_number,
    sort_order_from_json,
    sort_order_to_json,
)
from skipstone.metadata.partitions.transforms import DAY, IDENTITY, BucketTransform, UnknownTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import INT, STRING, TIMESTAMP, VARIANT, Field, ListType, StructType

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=INT),
        Field(id=2, name="s", type=STRING),
        Field(id=3, name="ts", type=TIMESTAMP),
        Field(id=4, name="tags", type=ListType(element_id=5, element=STRING)),
        Field(id=6, name="st", type=StructType((Field(id=7, name="x", type=INT),))),
        Field(id=8, name="v", type=VARIANT),
    )
)

EXAMPLE: dict[str, Any] = {
    "order-id": 1,
    "fields": [
        {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
        {"transform": "bucket[4]", "source-id": 3, "direction": "desc", "null-order": "nulls-last"},
    ],
}


def order(*terms: str) -> SortOrder:
    return build_sort_order(SCHEMA, terms)


def test_json_of_the_specs_example_comes_back() -> None:
    parsed = sort_order_from_json(EXAMPLE)
    assert parsed.fields[1] == SortField(
        source_ids=(3,),
        transform=BucketTransform(4),
        direction=SortDirection.DESC,
        null_order=NullOrder.NULLS_LAST,
    )
    assert sort_order_to_json(parsed) == EXAMPLE
    assert sort_order_to_json(UNSORTED) == {"order-id": 0, "fields": []}
    assert sort_order_from_json({"order-id": 0, "fields": []}) == UNSORTED


def test_several_source_ids_come_back_and_need_v3() -> None:
    multi = {"transform": "zorder", "source-ids": [1, 2], "direction": "asc", "null-order": "nulls-first"}
    parsed = sort_order_from_json({"order-id": 3, "fields": [multi]})
    assert parsed.fields[0].source_ids == (1, 2)
    assert parsed.fields[0].transform == UnknownTransform("zorder")
    assert sort_order_to_json(parsed)["fields"] == [multi]
    parsed.check_format_version(3)
    with pytest.raises(InvalidInput, match="needs v3"):
        parsed.check_format_version(2)


GOOD = EXAMPLE["fields"][0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], r"\$: expected an object"),
        ({"fields": []}, r"\$.order-id: expected a value"),
        ({"order-id": 1}, r"\$.fields: expected a value"),
        ({"order-id": 1, "fields": []}, "expected fields, got none"),
        ({"order-id": 0, "fields": [GOOD]}, "expected no fields"),
        (
            {"order-id": 1, "fields": [{**GOOD, "direction": "up"}]},
            r"fields\[0\].direction: expected asc or desc, got 'up'",
        ),
        ({"order-id": 1, "fields": [{**GOOD, "null-order": "x"}]}, "expected nulls-first or nulls-last"),
        ({"order-id": 1, "fields": [{**GOOD, "null-order": None}]}, "null-order: expected a value"),
        ({"order-id": 1, "fields": [{**GOOD, "source-id": True}]}, "source-id: expected an integer"),
        ({"order-id": 1, "fields": [{**GOOD, "transform": "truncate[0]"}]}, "Invalid transform"),
        ({"order-id": 1, "fields": [{**GOOD, "transform": 1}]}, "transform: expected a string"),
    ],
)
def test_bad_json_is_one_violation_with_file_and_place(value: object, message: str) -> None:
    with pytest.raises(FormatViolation, match=message) as caught:
        sort_order_from_json(value, source="v3.metadata.json")
    assert str(caught.value).startswith("Invalid v3.metadata.json: $")


def test_terms_set_direction_and_the_usual_null_order() -> None:
    built = order("id", "s desc", "day(ts) asc nulls last", "st.x DESC NULLS FIRST")
    assert [str(f) for f in built.fields] == [
        "identity(1) asc nulls-first",
        "identity(2) desc nulls-last",
        "day(3) asc nulls-last",
        "identity(7) desc nulls-first",
    ]
    assert order() is UNSORTED


def test_orders_that_rows_cannot_be_sorted_by_are_refused() -> None:
    with pytest.raises(NotFound, match="Cannot find column 'ids'"):
        order("ids")
    for term, message in [
        ("st", "expected a primitive type"),
        ("tags.element", "outside lists and maps"),
        ("v", "does not allow identity on type variant"),
        ("day(s)", "does not allow day on type string"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            order(term)
    with pytest.raises(InvalidInput, match="Cannot find source column 99"):
        sort_order_from_json({"order-id": 1, "fields": [{**GOOD, "source-id": 99}]}).check(SCHEMA)


def test_every_order_satisfies_unsorted_and_itself_and_its_prefixes() -> None:
    full = order("id", "s desc")
    assert full.satisfies(UNSORTED) and full.satisfies(full) and full.satisfies(order("id"))
    assert not order("id").satisfies(full)
    assert not full.satisfies(order("s desc"))
    assert not UNSORTED.satisfies(full)


def test_direction_and_null_order_matter() -> None:
    assert not order("id").satisfies(order("id desc"))
    assert not order("id").satisfies(order("id nulls last"))


def test_a_finer_transform_satisfies_a_coarser_one_only_in_the_last_place() -> None:
    assert order("ts").satisfies(order("day(ts)"))
    assert order("hour(ts)", "s").satisfies(order("month(ts)"))
    assert order("s", "ts").satisfies(order("s", "day(ts)"))
    assert not order("day(ts)").satisfies(order("ts"))
    # Within one day, rows ordered by (ts, id) are not ordered by id.
    assert not order("ts", "id").satisfies(order("day(ts)", "id"))


def test_truncation_satisfies_truncation_by_type() -> None:
    assert order("truncate(4, s)").satisfies(order("truncate(2, s)"), SCHEMA)
    assert not order("truncate(4, s)").satisfies(order("truncate(2, s)"))
    assert order("truncate(10, id)").satisfies(order("truncate(100, id)"), SCHEMA)
    assert not order("truncate(10, id)").satisfies(order("truncate(4, id)"), SCHEMA)


def test_void_fields_do_not_matter() -> None:
    assert order("void(s)", "id").satisfies(order("id"))
    assert order("id").satisfies(order("id", "void(s)"))


def test_an_equal_order_is_used_again_and_others_get_the_next_id() -> None:
    known = [UNSORTED, order("id").with_id(1), order("s").with_id(4)]
    assert reuse_or_number(known, order("s")) is known[2]
    assert reuse_or_number(known, order("ts")).order_id == 5
    assert reuse_or_number(known, UNSORTED) is UNSORTED
    assert order("id").with_id(9).same_as(order("id"))


def test_a_known_transform_takes_one_source() -> None:
    with pytest.raises(InvalidInput, match="expected one source column for day, got 2"):
        SortField(source_ids=(1, 2), transform=DAY, direction=SortDirection.ASC, null_order=NullOrder.NULLS_FIRST)
    with pytest.raises(InvalidInput, match="got none"):
        SortField(source_ids=(), transform=IDENTITY, direction=SortDirection.ASC, null_order=NullOrder.NULLS_FIRST)


def test_floats_order_as_the_spec_says() -> None:
    negative_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000000))[0]
    wanted = [negative_nan, -math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan]
    keys = [float_order_key(v) for v in wanted]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
    assert float_order_keys(np.array(wanted)).tolist() == keys
