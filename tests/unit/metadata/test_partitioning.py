"""Partition specs: their type, paths, equality, checks, JSON, and the type over all specs."""

from __future__ import annotations

import math
import pickle
import struct
from typing import Any

import pytest

from skipstone.errors import FormatViolation, InvalidInput, NotFound, Unsupported
from skipstone.metadata.partitions.partition_json import (
    spec_fields_to_json,
    spec_from_fields_json,
    spec_from_json,
    spec_to_json,
)
from skipstone.metadata.partitions.partitioning import (
    UNPARTITIONED,
    PartitionField,
    PartitionSpec,
    check_name,
    partition_key,
    unified_partition_type,
)
from skipstone.metadata.partitions.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    VOID,
    BucketTransform,
    Transform,
    TruncateTransform,
    UnknownTransform,
)
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import (
    BINARY,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    VARIANT,
    Field,
    ListType,
    MapType,
    StructType,
)

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG),
        Field(id=2, name="state", type=STRING),
        Field(id=3, name="ts", type=TIMESTAMP),
        Field(id=4, name="loc", type=StructType((Field(id=5, name="lat", type=DOUBLE),))),
        Field(id=6, name="tags", type=ListType(element_id=7, element=STRING)),
        Field(id=8, name="props", type=MapType(key_id=9, key=STRING, value_id=10, value=LONG)),
        Field(id=11, name="v", type=VARIANT),
        Field(id=12, name="raw", type=BINARY),
    )
)


def field(source: int | tuple[int, ...], field_id: int, name: str, transform: Transform = IDENTITY) -> PartitionField:
    sources = (source,) if isinstance(source, int) else source
    return PartitionField(source_ids=sources, field_id=field_id, name=name, transform=transform)


def spec(*fields: PartitionField, spec_id: int = 0) -> PartitionSpec:
    return PartitionSpec(spec_id=spec_id, fields=fields)


BY_STATE_AND_DAY = spec(field(2, 1000, "state"), field(3, 1001, "ts_day", DAY))


# -- type, path, key -------------------------------------------------------------------------------------------------


def test_partition_type_has_partition_ids_result_types_and_is_optional() -> None:
    bucketed = spec(*BY_STATE_AND_DAY.fields, field(1, 1002, "id_bucket", BucketTransform(16)))
    assert bucketed.partition_type(SCHEMA) == StructType(
        (
            Field(id=1000, name="state", type=STRING),
            Field(id=1001, name="ts_day", type=DATE),
            Field(id=1002, name="id_bucket", type=INT),
        )
    )


def test_a_dropped_source_leaves_the_spec_readable() -> None:
    gone = spec(field(99, 1000, "x"), field(98, 1001, "y", BucketTransform(4)), field(97, 1002, "z", VOID))
    assert [f.type for f in gone.partition_type(SCHEMA).fields] == [UNKNOWN, INT, INT]


def test_a_dropped_source_is_found_in_the_latest_older_schema() -> None:
    first = Schema(schema_id=0, fields=(Field(id=99, name="x", type=INT),))
    second = Schema(schema_id=1, fields=(Field(id=99, name="x", type=LONG),))
    dropped = spec(field(99, 1000, "x"))
    assert dropped.partition_type(SCHEMA, schemas=[second, first]).fields[0].type == LONG
    assert dropped.partition_path(SCHEMA, [7], schemas=[first]) == "x=7"


def test_path_shows_names_and_values_in_form_encoding() -> None:
    assert BY_STATE_AND_DAY.partition_path(SCHEMA, ["CA", 20773]) == "state=CA/ts_day=2026-11-16"
    assert BY_STATE_AND_DAY.partition_path(SCHEMA, {1001: -1}) == "state=null/ts_day=1969-12-31"
    odd = spec(field(2, 1000, "with space"))
    assert odd.partition_path(SCHEMA, ["z z/=~*ž😀"]) == "with+space=z+z%2F%3D%7E*%C5%BE%F0%9F%98%80"
    assert spec(field(12, 1000, "raw")).partition_path(SCHEMA, [b"\xff\xff\xff"]) == "raw=%2F%2F%2F%2F"
    assert UNPARTITIONED.partition_path(SCHEMA, []) == ""


def test_a_tuple_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected 2 values, got 1"):
        BY_STATE_AND_DAY.partition_path(SCHEMA, ["CA"])


def test_partition_key_compares_floats_by_bits_with_one_nan() -> None:
    type_ = StructType((Field(id=1000, name="d", type=DOUBLE),))
    other_nan = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
    assert partition_key(type_, [math.nan]) == partition_key(type_, {1000: other_nan})
    assert partition_key(type_, [0.0]) != partition_key(type_, [-0.0])
    assert partition_key(type_, [1.5]) == partition_key(type_, [1.5])
    assert partition_key(type_, [None]) == partition_key(type_, {})
    assert len({partition_key(type_, [v]) for v in (0.0, -0.0, 1.0, None)}) == 4
    assert hash(partition_key(type_, [bytearray(b"x")])) == hash(partition_key(type_, [b"x"]))


# -- equivalence and checks ------------------------------------------------------------------------------------------


def test_equivalence_ignores_ids_but_not_sources_transforms_names_and_order() -> None:
    base = spec(field(2, 1000, "state"), field(3, 1001, "d", DAY))
    assert base.compatible_with(spec(field(2, 1010, "state"), field(3, 1011, "d", DAY), spec_id=4))
    assert not base.compatible_with(spec(field(2, 1000, "s"), field(3, 1001, "d", DAY)))
    assert not base.compatible_with(spec(field(1, 1000, "state"), field(3, 1001, "d", DAY)))
    assert not base.compatible_with(spec(field(2, 1000, "state"), field(3, 1001, "d", HOUR)))
    assert not base.compatible_with(spec(field(3, 1001, "d", DAY), field(2, 1000, "state")))
    assert not base.compatible_with(spec(field(2, 1000, "state")))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (field(99, 1000, "x"), "Cannot find source column 99"),
        (field(4, 1000, "x"), "expected a primitive type, got struct"),
        (field(7, 1000, "x"), "outside lists and maps"),
        (field(10, 1000, "x", VOID), "outside lists and maps"),
        (field(11, 1000, "x"), "does not allow transform identity on type variant"),
        (field(2, 1000, "x", DAY), "does not allow transform day on type string"),
    ],
)
def test_a_field_that_cannot_partition_is_refused(bad: PartitionField, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        spec(bad).check(SCHEMA)


def test_nested_struct_columns_and_dropped_void_ones_are_accepted() -> None:
    spec(field(5, 1000, "loc.lat"), field(99, 1001, "gone", VOID)).check(SCHEMA)


def test_a_columns_name_is_shared_only_by_its_own_identity() -> None:
    check_name(field(2, 1000, "state"), SCHEMA)
    check_name(field(2, 1000, "state", VOID), SCHEMA)
    check_name(field(2, 1000, "other", TruncateTransform(2)), SCHEMA)
    for taken in (field(1, 1000, "state"), field(2, 1000, "state", TruncateTransform(2))):
        with pytest.raises(InvalidInput, match="the name is taken by column 2"):
            check_name(taken, SCHEMA)


def test_duplicate_ids_and_names_and_empty_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="expected unique ids, got 1000 twice"):
        spec(field(1, 1000, "a"), field(2, 1000, "b"))
    with pytest.raises(InvalidInput, match="expected unique names, got 'a' twice"):
        spec(field(1, 1000, "a"), field(2, 1001, "a"))
    with pytest.raises(InvalidInput, match="expected a name"):
        field(1, 1000, "")


def test_unknown_transforms_are_kept_but_not_written() -> None:
    odd = spec(field(2, 1000, "s_x", UnknownTransform("xyz[3]")))
    odd.check(SCHEMA)
    assert odd.has_unknown_transform
    assert odd.partition_type(SCHEMA).fields[0].type == STRING
    with pytest.raises(Unsupported, match=r"unknown transform 'xyz\[3\]'"):
        odd.check_writable()
    BY_STATE_AND_DAY.check_writable()


def test_only_void_fields_mean_unpartitioned() -> None:
    assert UNPARTITIONED.is_unpartitioned
    assert spec(field(2, 1000, "s", VOID)).is_unpartitioned
    assert not BY_STATE_AND_DAY.is_unpartitioned


def test_look_ups() -> None:
    assert BY_STATE_AND_DAY.field("ts_day") is BY_STATE_AND_DAY.field(1001)
    assert BY_STATE_AND_DAY.fields_by_source(3) == (BY_STATE_AND_DAY.field(1001),)
    assert (BY_STATE_AND_DAY.highest_field_id, UNPARTITIONED.highest_field_id) == (1001, 999)
    with pytest.raises(NotFound, match=r"Partition fields: state, ts_day\. Did you mean 'state'"):
        BY_STATE_AND_DAY.field("stat")
    assert pickle.loads(pickle.dumps(BY_STATE_AND_DAY)) == BY_STATE_AND_DAY


# -- the type over all specs -----------------------------------------------------------------------------------------

F1, F2, F3 = field(1, 1000, "f1"), field(2, 1001, "f2"), field(3, 1002, "f3", DAY)


def test_unified_type_of_a_spec_that_grew() -> None:
    unified = unified_partition_type([spec(F1, F2), spec(F1, F2, F3, spec_id=1)], SCHEMA)
    assert [(f.id, f.name, f.type) for f in unified.fields] == [
        (1000, "f1", LONG),
        (1001, "f2", STRING),
        (1002, "f3", DATE),
    ]


def test_unified_type_of_a_spec_that_shrank() -> None:
    unified = unified_partition_type([spec(F1, F2), spec(F2, spec_id=1)], SCHEMA)
    assert [(f.id, f.name) for f in unified.fields] == [(1000, "f1"), (1001, "f2")]


def test_unified_type_is_sorted_by_id_with_the_latest_names() -> None:
    unified = unified_partition_type([spec(F2, F1), spec(field(2, 1001, "renamed"), spec_id=1)], SCHEMA)
    assert [(f.id, f.name) for f in unified.fields] == [(1000, "f1"), (1001, "renamed")]


def test_unified_type_takes_a_dropped_v1_field_from_the_spec_where_it_was_real() -> None:
    old = spec(field(3, 1000, "d", DAY))
    new = spec(field(3, 1000, "d", VOID), field(2, 1001, "s"), spec_id=1)
    for specs in ([old, new], [new, old]):
        assert [f.type for f in unified_partition_type(specs, SCHEMA).fields] == [DATE, STRING]


def test_unified_type_refuses_one_id_for_two_things() -> None:
    with pytest.raises(Unsupported, match="id 1000 stands for both"):
        unified_partition_type([spec(field(1, 1000, "a")), spec(field(2, 1000, "b"), spec_id=1)], SCHEMA)
    with pytest.raises(Unsupported, match="id 1000 stands for both"):
        unified_partition_type([spec(field(3, 1000, "a", DAY)), spec(field(3, 1000, "a", HOUR), spec_id=1)], SCHEMA)


def test_unified_type_keeps_names_unique_when_a_name_moved_to_another_field() -> None:
    unified = unified_partition_type(
        [spec(field(2, 1000, "s")), spec(field(2, 1001, "s", TruncateTransform(2)), spec_id=1)], SCHEMA
    )
    assert [(f.id, f.name) for f in unified.fields] == [(1000, "s_1000"), (1001, "s")]


def test_unified_type_can_leave_out_fields_of_dropped_columns() -> None:
    specs = [spec(field(99, 1000, "gone"), F2)]
    assert [f.id for f in unified_partition_type(specs, SCHEMA).fields] == [1000, 1001]
    assert [f.id for f in unified_partition_type(specs, SCHEMA, only_live_sources=True).fields] == [1001]


def test_unified_type_of_an_unpartitioned_table_is_empty() -> None:
    assert unified_partition_type([UNPARTITIONED], SCHEMA) == StructType()


# -- JSON ------------------------------------------------------------------------------------------------------------

EXAMPLE: dict[str, Any] = {
    "spec-id": 0,
    "fields": [
        {"source-id": 4, "field-id": 1000, "name": "ts_day", "transform": "day"},
        {"source-id": 1, "field-id": 1001, "name": "id_bucket", "transform": "bucket[16]"},
    ],
}


def test_json_of_the_specs_example_comes_back() -> None:
    parsed = spec_from_json(EXAMPLE)
    assert parsed == spec(field(4, 1000, "ts_day", DAY), field(1, 1001, "id_bucket", BucketTransform(16)))
    assert spec_to_json(parsed) == EXAMPLE
    assert spec_from_fields_json(EXAMPLE["fields"], spec_id=7) == parsed.with_id(7)
    assert spec_fields_to_json(parsed) == EXAMPLE["fields"]


def test_v1_fields_without_ids_are_numbered_from_1000() -> None:
    bare = [{k: v for k, v in f.items() if k != "field-id"} for f in EXAMPLE["fields"]]
    assert [f.field_id for f in spec_from_fields_json(bare).fields] == [1000, 1001]


def test_several_source_ids_make_an_unknown_transform_and_come_back() -> None:
    multi = {"source-ids": [1, 2], "field-id": 1000, "name": "ab", "transform": "bucket[16]"}
    parsed = spec_from_fields_json([multi])
    assert parsed.fields[0].source_ids == (1, 2)
    assert parsed.fields[0].transform == UnknownTransform("bucket[16]")
    assert spec_fields_to_json(parsed) == [multi]
    assert parsed.partition_type(SCHEMA).fields[0].type == STRING
    with pytest.raises(InvalidInput, match="needs v3"):
        parsed.check_format_version(2)
    parsed.check_format_version(3)


def test_one_source_in_a_list_is_written_as_source_id() -> None:
    parsed = spec_from_fields_json([{"source-ids": [1], "field-id": 1000, "name": "a", "transform": "identity"}])
    assert spec_fields_to_json(parsed) == [{"source-id": 1, "field-id": 1000, "name": "a", "transform": "identity"}]


def test_unknown_transform_text_survives_json() -> None:
    odd = {"source-id": 1, "field-id": 1000, "name": "a", "transform": "Future[X]"}
    assert spec_fields_to_json(spec_from_fields_json([odd])) == [odd]


GOOD = {"source-id": 1, "field-id": 1000, "name": "a", "transform": "identity"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"\$: expected an object, got nothing"),
        ([], r"\$: expected an object, got a list"),
        ({"spec-id": 0}, r"\$.fields: expected a value, got nothing"),
        ({"spec-id": 0, "fields": {}}, r"\$.fields: expected a list"),
        ({"fields": []}, r"\$.spec-id: expected a value"),
        ({"spec-id": -1, "fields": []}, r"\$.spec-id: expected an integer from 0"),
        ({"spec-id": "0", "fields": []}, r"\$.spec-id: expected an integer"),
        ({"spec-id": 0, "fields": [1]}, r"\$.fields\[0\]: expected an object, got 1"),
        ({"spec-id": 0, "fields": [{**GOOD, "source-id": None}]}, r"fields\[0\].source-id: expected a value"),
        ({"spec-id": 0, "fields": [{**GOOD, "source-id": 2**40}]}, r"source-id: expected an integer"),
        ({"spec-id": 0, "fields": [{**GOOD, "source-ids": []}]}, r"source-ids: expected at least one"),
        ({"spec-id": 0, "fields": [{**GOOD, "source-ids": ["x"]}]}, r"source-ids\[0\]: expected an integer"),
        ({"spec-id": 0, "fields": [{**GOOD, "name": 5}]}, r"name: expected a string"),
        ({"spec-id": 0, "fields": [{**GOOD, "name": ""}]}, r"fields\[0\]: .*expected a name"),
        ({"spec-id": 0, "fields": [{**GOOD, "transform": "bucket[0]"}]}, r"fields\[0\]: Invalid transform bucket\[0\]"),
        ({"spec-id": 0, "fields": [{**GOOD, "transform": "truncate[" + "9" * 9999 + "]"}]}, "Invalid transform"),
        ({"spec-id": 0, "fields": [GOOD, GOOD]}, "expected unique ids, got 1000 twice"),
        ({"spec-id": 0, "fields": [GOOD, {**GOOD, "field-id": 1001}]}, "expected unique names"),
        ({"spec-id": 0, "fields": [GOOD, {**GOOD, "field-id": None}]}, "field-id on all 2 partition fields or on none"),
    ],
)
def test_bad_json_is_one_violation_with_file_and_place(value: object, message: str) -> None:
    with pytest.raises(FormatViolation, match=message) as caught:
        spec_from_json(value, source="v3.metadata.json")
    assert str(caught.value).startswith("Invalid v3.metadata.json: $")


def test_a_fields_list_must_be_a_list() -> None:
    with pytest.raises(FormatViolation, match="expected a list of partition fields, got an object"):
        spec_from_fields_json({"spec-id": 0}, source="m0.avro")
