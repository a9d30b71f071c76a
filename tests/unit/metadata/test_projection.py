"""Column projection: the five resolution rules, nested and promoted columns, and what is refused."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.formats.arrow_types import constant_array, to_arrow_schema, values_to_array
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS, FILE, LAST_UPDATED_SEQUENCE_NUMBER, POS, ROW_ID
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.schemas.name_mapping import parse_name_mapping
from skipstone.metadata.schemas.projection import (
    DefaultValue,
    FileColumn,
    MetadataColumn,
    NullValue,
    PartitionConstant,
    StructColumn,
    can_read_as,
    resolve,
)
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    VARIANT,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    StructType,
    Type,
)


def field(field_id: int, name: str, type_: Type, **more: Any) -> Field:
    return Field(id=field_id, name=name, type=type_, **more)


def struct(*fields: Field) -> StructType:
    return StructType(fields)


def spec_on_field_5(transform: str) -> PartitionSpec:
    field = PartitionField(source_ids=(5,), field_id=1000, name="part", transform=parse_transform(transform))
    return PartitionSpec(fields=(field,))


def batch(file: StructType, rows: list[dict[int, Any]]) -> pa.RecordBatch:
    columns = [values_to_array(f.type, [r.get(f.id) for r in rows]) for f in file.fields]
    return pa.RecordBatch.from_arrays(columns, schema=to_arrow_schema(file))


FILE_ABC = struct(field(1, "a", INT), field(2, "b", STRING), field(3, "c", DOUBLE))


def test_example_of_the_spec_selects_by_id_and_fills_a_new_column_with_null() -> None:
    wanted = struct(field(3, "measurement", DOUBLE), field(2, "name", STRING), field(4, "a", INT))
    result = project_arrow(resolve(wanted, FILE_ABC), batch(FILE_ABC, [{1: 7, 2: "x", 3: 1.5}]))
    assert result.schema.names == ["measurement", "name", "a"]
    assert result.to_pylist() == [{"measurement": 1.5, "name": "x", "a": None}]


def test_file_columns_lists_only_what_must_be_read() -> None:
    wanted = struct(field(3, "c", DOUBLE), field(1, "a", INT), field(9, "new", INT))
    assert resolve(wanted, FILE_ABC).file_columns == (0, 2)


def test_batch_of_pruned_columns_gives_the_same_rows() -> None:
    projection = resolve(struct(field(3, "c", DOUBLE), field(1, "a", INT)), FILE_ABC)
    rows = batch(FILE_ABC, [{1: 7, 2: "x", 3: 1.5}])
    pruned = rows.select([0, 2])
    assert project_arrow(projection, pruned, columns=(0, 2)).equals(project_arrow(projection, rows))


def test_batch_without_a_needed_column_is_refused() -> None:
    projection = resolve(struct(field(3, "c", DOUBLE)), FILE_ABC)
    with pytest.raises(InvalidInput, match="expected column 2 of the file"):
        project_arrow(projection, batch(FILE_ABC, []).select([0]), columns=(0,))
    with pytest.raises(InvalidInput, match="expected 1 columns, got 3"):
        project_arrow(projection, batch(FILE_ABC, []), columns=(2,))


class TestRules:
    """Each rule wins over the ones after it."""

    mapping = parse_name_mapping('[{"field-id": 5, "names": ["p"]}]')
    wanted = struct(field(5, "p", INT, initial_default=30))
    identity = spec_on_field_5("identity")

    def one(self, file: StructType, **given: Any) -> Any:
        return resolve(self.wanted, file, **given).fields[0]

    def test_column_in_the_file_wins_over_the_partition(self) -> None:
        found = self.one(struct(field(5, "q", INT)), partition_spec=self.identity, partition={1000: 20})
        assert isinstance(found, FileColumn)

    def test_partition_value_wins_over_the_name_mapping(self) -> None:
        found = self.one(
            struct(field(NO_ID, "p", INT)),
            partition_spec=self.identity,
            partition={1000: 20},
            name_mapping=self.mapping,
        )
        assert found == PartitionConstant(field=self.wanted.fields[0], value=20)

    def test_null_partition_value_is_a_value(self) -> None:
        found = self.one(struct(), partition_spec=self.identity, partition={1000: None})
        assert found == PartitionConstant(field=self.wanted.fields[0], value=None)

    def test_partition_without_the_field_is_no_value(self) -> None:
        assert isinstance(self.one(struct(), partition_spec=self.identity, partition={}), DefaultValue)

    def test_other_transforms_tell_nothing(self) -> None:
        bucketed = spec_on_field_5("bucket[4]")
        assert isinstance(self.one(struct(), partition_spec=bucketed, partition={1000: 3}), DefaultValue)

    def test_name_mapping_wins_over_the_default(self) -> None:
        found = self.one(struct(field(NO_ID, "p", INT)), name_mapping=self.mapping)
        assert isinstance(found, FileColumn)

    def test_mapping_does_not_touch_columns_with_ids(self) -> None:
        assert isinstance(self.one(struct(field(8, "p", INT)), name_mapping=self.mapping), DefaultValue)

    def test_name_alone_never_matches(self) -> None:
        assert isinstance(self.one(struct(field(NO_ID, "p", INT))), DefaultValue)

    def test_default_wins_over_null(self) -> None:
        assert self.one(struct()) == DefaultValue(field=self.wanted.fields[0], value=30)

    def test_null_is_last(self) -> None:
        wanted = struct(field(6, "x", INT))
        assert resolve(wanted, struct()).fields == (NullValue(field=wanted.fields[0]),)

    def test_write_default_is_not_used_for_reading(self) -> None:
        wanted = struct(field(6, "x", INT, write_default=4))
        assert isinstance(resolve(wanted, struct()).fields[0], NullValue)

    def test_required_column_without_any_value_is_a_violation(self) -> None:
        with pytest.raises(FormatViolation, match=r"f\.parquet.*required column 'x' \(id 6\).*name-mapping"):
            resolve(struct(field(6, "x", INT, required=True)), struct(), source="f.parquet")

    def test_required_column_with_a_null_partition_value_is_a_violation(self) -> None:
        with pytest.raises(FormatViolation, match="null partition value"):
            resolve(
                struct(field(5, "p", INT, required=True)),
                struct(),
                partition_spec=self.identity,
                partition={1000: None},
            )


POINT_X = field(11, "x", INT, initial_default=0)
POINT_Y = field(12, "y", INT, initial_default=0)


@pytest.mark.parametrize(
    ("default", "stored", "expected"),
    [
        (None, None, None),
        (None, {11: 3}, {"x": 3, "y": 0}),
        ({}, None, {"x": 0, "y": 0}),
        ({}, {12: -1}, {"x": 0, "y": -1}),
    ],
)
def test_point_table_of_the_spec(default: Any, stored: dict[int, int] | None, expected: Any) -> None:
    wanted = struct(field(10, "point", struct(POINT_X, POINT_Y), initial_default=default))
    if stored is None:
        file = struct(field(1, "id", INT))
        rows = batch(file, [{1: 1}])
    else:
        kept = [f for f in (POINT_X, POINT_Y) if f.id in stored]
        file = struct(field(10, "point", struct(*kept)))
        rows = batch(file, [{10: stored}])
    assert project_arrow(resolve(wanted, file), rows).to_pylist() == [{"point": expected}]


def test_null_struct_stays_null_when_its_fields_have_defaults() -> None:
    file = struct(field(10, "point", struct(POINT_X)))
    wanted = struct(field(10, "point", struct(POINT_X, POINT_Y)))
    result = project_arrow(resolve(wanted, file), batch(file, [{10: None}, {10: {11: 4}}]))
    assert result.column(0).to_pylist() == [None, {"x": 4, "y": 0}]


def test_struct_with_none_of_its_wanted_fields_in_the_file_keeps_its_nulls() -> None:
    file = struct(field(10, "s", struct(field(11, "old", INT))))
    wanted = struct(field(10, "s", struct(field(12, "new", INT))))
    result = project_arrow(resolve(wanted, file), batch(file, [{10: None}, {10: {11: 4}}]))
    assert result.column(0).to_pylist() == [None, {"new": None}]


def nested_file() -> StructType:
    entry = struct(field(24, "y", INT), field(25, "z", STRING))
    return struct(
        field(20, "l", ListType(element_id=21, element=struct(field(22, "x", INT)))),
        field(23, "m", MapType(key_id=26, key=STRING, value_id=27, value=entry)),
    )


def nested_wanted() -> StructType:
    entry = struct(field(25, "zz", STRING), field(24, "y", LONG), field(30, "n", STRING, initial_default="d"))
    element = struct(field(31, "added", INT, initial_default=9), field(22, "xx", LONG))
    return struct(
        field(23, "mm", MapType(key_id=26, key=STRING, value_id=27, value=entry)),
        field(20, "ll", ListType(element_id=21, element=element)),
    )


NESTED_ROWS: list[dict[int, Any]] = [
    {20: [{22: 1}, None, {22: None}], 23: [("k", {24: 5, 25: "z"}), ("n", None)]},
    {20: None, 23: None},
    {20: [], 23: []},
    {20: [{22: 8}], 23: [("q", {24: None, 25: None})]},
]
NESTED_EXPECTED = [
    {
        "mm": [("k", {"zz": "z", "y": 5, "n": "d"}), ("n", None)],
        "ll": [{"added": 9, "xx": 1}, None, {"added": 9, "xx": None}],
    },
    {"mm": None, "ll": None},
    {"mm": [], "ll": []},
    {"mm": [("q", {"zz": None, "y": None, "n": "d"})], "ll": [{"added": 9, "xx": 8}]},
]


def test_lists_and_maps_of_structs_are_projected_inside() -> None:
    projection = resolve(nested_wanted(), nested_file())
    result = project_arrow(projection, batch(nested_file(), NESTED_ROWS))
    result.validate(full=True)
    assert result.to_pylist() == NESTED_EXPECTED


def test_slice_of_a_batch_gives_the_slice_of_the_result() -> None:
    projection = resolve(nested_wanted(), nested_file())
    result = project_arrow(projection, batch(nested_file(), NESTED_ROWS).slice(1, 3))
    result.validate(full=True)
    assert result.to_pylist() == NESTED_EXPECTED[1:]


def test_list_element_and_map_parts_without_ids_belong_to_their_parent() -> None:
    file = struct(
        field(20, "l", ListType(element_id=NO_ID, element=INT)),
        field(23, "m", MapType(key_id=NO_ID, key=STRING, value_id=NO_ID, value=INT)),
    )
    wanted = struct(
        field(20, "l", ListType(element_id=21, element=LONG)),
        field(23, "m", MapType(key_id=26, key=STRING, value_id=27, value=INT)),
    )
    rows = [{20: [1, None], 23: [("a", 2)]}]
    assert project_arrow(resolve(wanted, file), batch(file, rows)).to_pylist() == [{"l": [1, None], "m": [("a", 2)]}]


def test_list_element_with_another_id_is_a_violation() -> None:
    file = struct(field(20, "l", ListType(element_id=99, element=INT)))
    with pytest.raises(FormatViolation, match=r"'l\.element'.*expected field id 21, got 99"):
        resolve(struct(field(20, "l", ListType(element_id=21, element=INT))), file)


def test_two_columns_with_one_id_are_a_violation() -> None:
    with pytest.raises(FormatViolation, match="each field id once, got 1 for both 'a' and 'b'"):
        resolve(struct(field(1, "a", INT)), struct(field(1, "a", INT), field(1, "b", INT)))


def test_nested_names_are_mapped_below_their_parent() -> None:
    mapping = parse_name_mapping(
        '[{"field-id": 1, "names": ["s"], "fields": [{"field-id": 2, "names": ["a.b"]}]},'
        ' {"field-id": 3, "names": ["l"], "fields": [{"field-id": 4, "names": ["element"]}]}]'
    )
    file = struct(
        field(NO_ID, "s", struct(field(NO_ID, "a.b", INT), field(NO_ID, "c", INT))),
        field(NO_ID, "l", ListType(element_id=NO_ID, element=INT)),
    )
    wanted = struct(
        field(3, "list", ListType(element_id=4, element=INT)),
        field(1, "st", struct(field(2, "ab", INT), field(9, "c", INT))),
    )
    projection = resolve(wanted, file, name_mapping=mapping)
    s, data = file.fields[0], pa.array([1])
    inner = pa.StructArray.from_arrays([data.cast(pa.int32()), data.cast(pa.int32())], ["a.b", "c"])
    rows = pa.RecordBatch.from_arrays([inner, pa.array([[5]], pa.list_(pa.int32()))], names=[s.name, "l"])
    assert isinstance(projection.fields[1], StructColumn)
    assert project_arrow(projection, rows).to_pylist() == [{"list": [5], "st": {"ab": 1, "c": None}}]


def test_unknown_column_is_null_whatever_the_file_holds() -> None:
    wanted = struct(field(1, "a", UNKNOWN))
    result = project_arrow(resolve(wanted, FILE_ABC), batch(FILE_ABC, [{1: 7, 2: "x", 3: 1.5}]))
    assert result.column(0).to_pylist() == [None]


def test_column_promoted_from_unknown_is_null() -> None:
    file = struct(field(1, "a", UNKNOWN))
    result = project_arrow(resolve(struct(field(1, "a", LONG)), file), batch(file, [{}, {}]))
    assert result.column(0).equals(pa.array([None, None], pa.int64()))


@pytest.mark.parametrize(
    ("stored", "wanted", "value", "expected"),
    [
        (INT, LONG, -(2**31), -(2**31)),
        (FLOAT, DOUBLE, 0.5, 0.5),
        (DecimalType(4, 2), DecimalType(30, 2), Decimal("-12.34"), Decimal("-12.34")),
        (DATE, TIMESTAMP, -1, -86_400_000_000),
        (DATE, TIMESTAMP_NS, 1, 86_400_000_000_000),
        (TIMESTAMP_NS, TIMESTAMP, -1, -1),
        (TIMESTAMPTZ_NS, TIMESTAMPTZ, 1_999, 1),
        (BINARY, STRING, "ž".encode(), "ž"),
        (STRING, BINARY, "ž", "ž".encode()),
        (FixedType(16), UUID, b"\x01" * 16, uuid.UUID(bytes=b"\x01" * 16)),
        (UUID, FixedType(16), uuid.UUID(bytes=b"\x01" * 16), b"\x01" * 16),
    ],
)
def test_values_are_read_as_the_wanted_type(stored: Type, wanted: Type, value: Any, expected: Any) -> None:
    file = struct(field(1, "a", stored))
    projection = resolve(struct(field(1, "a", wanted)), file)
    assert isinstance(projection.fields[0], FileColumn) and projection.fields[0].is_promoted
    result = project_arrow(projection, batch(file, [{1: value}, {1: None}]))
    assert result.column(0).equals(values_to_array(wanted, [expected, None]))


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        (LONG, INT),
        (DOUBLE, FLOAT),
        (DecimalType(9, 2), DecimalType(9, 3)),
        (DecimalType(9, 2), DecimalType(8, 2)),
        (DATE, TIMESTAMPTZ),
        (TIMESTAMP, TIMESTAMPTZ),
        (INT, STRING),
        (FixedType(15), UUID),
        (INT, struct(field(2, "x", INT))),
        (struct(field(2, "x", INT)), INT),
        (ListType(element_id=2, element=INT), MapType(key_id=2, key=INT, value_id=3, value=INT)),
        (struct(field(2, "x", INT)), VARIANT),
    ],
)
def test_column_of_an_incompatible_type_is_a_violation(stored: Type, wanted: Type) -> None:
    assert not can_read_as(stored, wanted)
    with pytest.raises(FormatViolation, match=r"Invalid column 'a' \(id 1\) in x\.orc: expected"):
        resolve(struct(field(1, "a", wanted)), struct(field(1, "a", stored)), source="x.orc")


def test_date_beyond_the_range_of_nanoseconds_fails() -> None:
    file = struct(field(1, "a", DATE))
    projection = resolve(struct(field(1, "a", TIMESTAMP_NS)), file)
    with pytest.raises(FormatViolation, match=r"column 'a' \(id 1\).*timestamp_ns"):
        project_arrow(projection, batch(file, [{1: 200_000}]))


def test_text_that_is_not_utf8_fails() -> None:
    file = struct(field(1, "a", BINARY))
    with pytest.raises(FormatViolation, match="column 'a'"):
        project_arrow(resolve(struct(field(1, "a", STRING)), file), batch(file, [{1: b"\xff"}]))


def test_null_in_a_required_column_is_a_violation() -> None:
    file = struct(field(1, "a", INT))
    with pytest.raises(FormatViolation, match="no null in required column 'a'"):
        project_arrow(resolve(struct(field(1, "a", INT, required=True)), file), batch(file, [{1: None}]))


def test_required_field_of_a_null_struct_is_no_violation() -> None:
    inner = field(2, "x", INT)
    file = struct(field(1, "s", struct(inner)))
    wanted = struct(field(1, "s", struct(field(2, "x", INT, required=True))))
    projection = resolve(wanted, file)
    assert project_arrow(projection, batch(file, [{1: None}, {1: {2: 1}}])).num_rows == 2
    with pytest.raises(FormatViolation, match=r"required column 's\.x'"):
        project_arrow(projection, batch(file, [{1: {2: None}}]))


def test_null_in_required_elements_and_values_is_a_violation() -> None:
    file = struct(field(1, "l", ListType(element_id=2, element=INT)))
    wanted = struct(field(1, "l", ListType(element_id=2, element=INT, element_required=True)))
    with pytest.raises(FormatViolation, match=r"'l\.element'"):
        project_arrow(resolve(wanted, file), batch(file, [{1: [None]}]))
    assert project_arrow(resolve(wanted, file), batch(file, [{1: None}, {1: [2]}])).num_rows == 2
    file = struct(field(1, "m", MapType(key_id=2, key=INT, value_id=3, value=INT)))
    wanted = struct(field(1, "m", MapType(key_id=2, key=INT, value_id=3, value=INT, value_required=True)))
    with pytest.raises(FormatViolation, match=r"'m\.value'"):
        project_arrow(resolve(wanted, file), batch(file, [{1: [(1, None)]}]))
    assert project_arrow(resolve(wanted, file), batch(file, [{1: None}, {1: [(1, 2)]}])).num_rows == 2


class TestMetadataColumns:
    def test_supplied_values_fill_the_columns(self) -> None:
        wanted = struct(field(1, "a", INT), FILE, POS)
        projection = resolve(wanted, FILE_ABC)
        assert projection.fields[1:] == (MetadataColumn(field=FILE), MetadataColumn(field=POS))
        rows = batch(FILE_ABC, [{1: 7}, {1: 8}])
        result = project_arrow(projection, rows, metadata={FILE.id: "f", POS.id: pa.array([4, 5])})
        assert result.to_pylist() == [{"a": 7, "_file": "f", "_pos": 4}, {"a": 8, "_file": "f", "_pos": 5}]

    def test_missing_supply_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="metadata column '_pos'"):
            project_arrow(resolve(struct(POS), FILE_ABC), batch(FILE_ABC, []))

    def test_stored_lineage_wins_and_its_nulls_inherit(self) -> None:
        file = struct(field(1, "a", INT), ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)
        wanted = struct(ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)
        rows = batch(file, [{1: 1, ROW_ID.id: 100}, {1: 2, LAST_UPDATED_SEQUENCE_NUMBER.id: 3}])
        given = {ROW_ID.id: pa.array([50, 51]), LAST_UPDATED_SEQUENCE_NUMBER.id: 9}
        projection = resolve(wanted, file)
        assert projection.file_columns == (1, 2)
        result = project_arrow(projection, rows, metadata=given)
        assert result.to_pydict() == {"_row_id": [100, 51], "_last_updated_sequence_number": [9, 3]}

    def test_null_lineage_of_an_upgraded_table_stays_null(self) -> None:
        result = project_arrow(resolve(struct(ROW_ID), FILE_ABC), batch(FILE_ABC, [{1: 1}]), metadata={ROW_ID.id: None})
        assert result.to_pydict() == {"_row_id": [None]}

    def test_columns_of_position_delete_files_are_read_from_the_file(self) -> None:
        file = struct(DELETE_FILE_PATH, DELETE_POS)
        assert all(isinstance(s, FileColumn) for s in resolve(file, file).fields)
        with pytest.raises(FormatViolation, match="required column 'pos'"):
            resolve(file, struct(DELETE_FILE_PATH))


class TestArrowForms:
    """Arrays as other writers and readers hold them."""

    def read(self, array: pa.Array, wanted: Type) -> pa.Array:
        # What the file says is the wanted type; only the Arrow form differs.
        projection = resolve(struct(field(1, "a", wanted)), struct(field(1, "a", wanted)))
        return project_arrow(projection, pa.RecordBatch.from_arrays([array], names=["a"])).column(0)

    @pytest.mark.parametrize(
        ("array", "wanted", "expected"),
        [
            (pa.array(["a", None], pa.large_string()), STRING, ["a", None]),
            (pa.array(["a", "b"], pa.string_view()), STRING, ["a", "b"]),
            (pa.array(["a", "b", "a"]).dictionary_encode(), STRING, ["a", "b", "a"]),
            (pa.RunEndEncodedArray.from_arrays([2, 3], pa.array([7, None], pa.int32())), INT, [7, 7, None]),
            (pa.array([1], pa.int8()), INT, [1]),
            (pa.array([None], pa.null()), INT, [None]),
            (pa.array([1], pa.timestamp("ms")), TIMESTAMP, [1_000]),
            (pa.array([-1_001], pa.timestamp("ns", "Europe/Prague")), TIMESTAMPTZ, [-2]),
            (pa.array([b"\x02" * 16], pa.binary()), UUID, [uuid.UUID(bytes=b"\x02" * 16)]),
            (pa.array([b"ab"], pa.binary()), FixedType(2), [b"ab"]),
            (pa.array([Decimal("1.20")], pa.decimal256(40, 2)), DecimalType(5, 2), [Decimal("1.20")]),
        ],
    )
    def test_form_is_normalised(self, array: pa.Array, wanted: Type, expected: list[Any]) -> None:
        assert self.read(array, wanted).equals(values_to_array(wanted, expected))

    def test_large_and_fixed_size_lists_become_lists(self) -> None:
        wanted = ListType(element_id=2, element=INT)
        for form in (pa.large_list(pa.int32()), pa.list_(pa.int32(), 2)):
            array = pa.array([[1, 2], None], form)
            assert self.read(array, wanted).equals(values_to_array(wanted, [[1, 2], None]))

    def test_orc_time_is_a_long_of_microseconds(self) -> None:
        from_orc = self.read(pa.array([5, None], pa.int64()), TIME)
        assert from_orc.equals(pa.array([5, None], pa.time64("us")))

    def test_fixed_of_another_length_is_a_violation(self) -> None:
        with pytest.raises(FormatViolation, match="expected 3 bytes, got 2"):
            self.read(pa.array([b"abc", b"ab"], pa.binary()), FixedType(3))

    def test_milliseconds_beyond_the_range_of_microseconds_fail(self) -> None:
        with pytest.raises(FormatViolation, match="timestamp"):
            self.read(pa.array([2**62], pa.timestamp("ms")), TIMESTAMP)

    def test_shredded_variant_is_put_together(self) -> None:
        shredded = pa.array([{"metadata": b"\x01\x00\x00", "value": None, "typed_value": 1}, None])
        assert self.read(shredded, VARIANT).to_pylist() == [
            {"metadata": b"\x01\x00\x00", "value": b"\x18\x01\0\0\0\0\0\0\0"},
            None,
        ]

    def test_variant_parts_are_found_by_name(self) -> None:
        form = pa.struct([pa.field("value", pa.large_binary()), pa.field("metadata", pa.binary())])
        result = self.read(pa.array([{"value": b"v", "metadata": b"m"}, None], form), VARIANT)
        assert result.to_pylist() == [{"metadata": b"m", "value": b"v"}, None]


def test_constant_of_a_nested_type_repeats() -> None:
    type_ = struct(field(1, "u", UUID), field(2, "l", ListType(element_id=3, element=STRING)))
    value = {1: uuid.UUID(int=5), 2: ["a", None]}
    array = constant_array(type_, value, 3)
    assert array.equals(values_to_array(type_, [value] * 3))
    assert len(constant_array(type_, None, 0)) == 0


def test_projection_of_no_columns_keeps_the_number_of_rows() -> None:
    result = project_arrow(resolve(struct(), FILE_ABC), batch(FILE_ABC, [{1: 7}, {1: 8}]))
    assert (result.num_columns, result.num_rows) == (0, 2)
