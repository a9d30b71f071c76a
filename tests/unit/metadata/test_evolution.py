"""Schema evolution: every change, and every refusal with its reason."""

from __future__ import annotations

import math

import pytest

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.partitions.partitioning import UNPARTITIONED, PartitionField, PartitionSpec
from skipstone.metadata.partitions.sorting import NullOrder, SortDirection, SortField, SortOrder
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    UNKNOWN,
    VARIANT,
    DecimalType,
    Field,
    ListType,
    MapType,
    StructType,
)


def optional(id: int, name: str, type, **more) -> Field:
    return Field(id=id, name=name, type=type, **more)


def required(id: int, name: str, type, **more) -> Field:
    return Field(id=id, name=name, type=type, required=True, **more)


SCHEMA = Schema(
    fields=(
        required(1, "id", LONG),
        optional(2, "day", DATE),
        optional(3, "price", DecimalType(9, 2)),
        optional(4, "place", StructType((optional(5, "x", FLOAT), required(6, "y", FLOAT), optional(7, "n", INT)))),
        optional(8, "points", ListType(element_id=9, element=StructType((optional(10, "a", INT),)))),
        optional(
            11,
            "tags",
            MapType(
                key_id=12,
                key=StructType((required(13, "k", INT),)),
                value_id=14,
                value=StructType((optional(15, "v", INT),)),
            ),
        ),
        optional(16, "counts", MapType(key_id=17, key=INT, value_id=18, value=INT)),
    ),
    schema_id=3,
    identifier_field_ids=(1,),
)


def update(schema: Schema = SCHEMA, **options) -> SchemaUpdate:
    return SchemaUpdate(schema, **{"format_version": 3, "last_column_id": 20, **options})


def names(schema: Schema) -> list[str]:
    return [f.name for f in schema.fields]


def spec(*fields: tuple[int, str], spec_id: int = 0) -> PartitionSpec:
    parts = tuple(
        PartitionField(source_ids=(i,), field_id=1000 + n, name=f"p{i}", transform=parse_transform(t))
        for n, (i, t) in enumerate(fields)
    )
    return PartitionSpec(spec_id=spec_id, fields=parts)


class TestAdd:
    def test_a_new_column_comes_last_with_the_next_id(self):
        u = update().add_column("note", STRING, doc="why")
        assert u.apply().fields[-1] == optional(21, "note", STRING, doc="why")
        assert u.last_column_id == 21

    def test_ids_start_above_every_schema_of_the_table(self):
        older = Schema(fields=(optional(40, "gone", INT),), schema_id=1)
        u = SchemaUpdate(SCHEMA, format_version=2, schemas=[older]).add_column("note", STRING)
        assert u.apply().field("note").id == 41

    def test_nested_ids_are_assigned_level_by_level(self):
        inner = StructType((optional(1, "q", INT),))
        outer = StructType((optional(1, "p", inner), optional(2, "r", ListType(element_id=3, element=INT))))
        added = update().add_column("new", outer).add_column("last", INT).apply()
        assert [added.field(n).id for n in ("new", "new.p", "new.r", "new.p.q", "new.r.element", "last")] == [
            21, 22, 23, 24, 25, 26,
        ]  # fmt: skip

    def test_map_key_and_value_are_numbered_before_what_is_in_them(self):
        pair = MapType(key_id=1, key=StructType((required(1, "k", INT),)), value_id=2, value=INT)
        added = update().add_column("m", pair).apply()
        assert [added.field(n).id for n in ("m", "m.key", "m.value", "m.key.k")] == [21, 22, 23, 24]

    @pytest.mark.parametrize(
        ("path", "full"),
        [
            ("place.z", "place.z"),
            (("place", "z"), "place.z"),
            ("points.z", "points.element.z"),
            ("points.element.z", "points.element.z"),
            ("tags.z", "tags.value.z"),
            ("tags.value.z", "tags.value.z"),
        ],
    )
    def test_columns_are_added_inside_structs_list_elements_and_map_values(self, path, full):
        added = update().add_column(path, INT).apply()
        assert added.paths_by_id[21] == tuple(full.split("."))

    def test_a_name_with_a_dot_is_passed_as_a_tuple(self):
        added = update().add_column(("a.b",), INT).add_column(("place", "c.d"), INT).apply()
        assert added.fields[-1].name == "a.b"
        assert added.paths_by_id[22] == ("place", "c.d")

    def test_a_dotted_name_without_a_parent_is_refused(self):
        with pytest.raises(NotFound, match=r"add 'nope\.b' to column 'nope'"):
            update().add_column("nope.b", INT)

    @pytest.mark.parametrize("path", ["id.x", "counts.x"])
    def test_a_parent_that_is_no_struct_is_refused(self, path):
        with pytest.raises(InvalidInput, match="expected a struct above it"):
            update().add_column(path, INT)

    def test_nothing_is_added_to_map_keys(self):
        with pytest.raises(InvalidInput, match="Map keys cannot change"):
            update().add_column("tags.key.z", INT)

    def test_a_taken_name_is_refused(self):
        with pytest.raises(InvalidInput, match=r"'place\.x' \(id 5\)"):
            update().add_column("place.x", INT)
        with pytest.raises(InvalidInput, match="taken"):
            update().add_column("new", INT).add_column("new", INT)

    def test_names_differ_by_case_unless_told_otherwise(self):
        assert names(update().add_column("ID", INT).apply())[-1] == "ID"
        with pytest.raises(InvalidInput, match="taken"):
            update(case_sensitive=False).add_column("ID", INT)

    def test_an_empty_name_is_refused(self):
        for bad in ("", (), ("place", "")):
            with pytest.raises(InvalidInput, match="Invalid name"):
                update().add_column(bad, INT)

    def test_a_deleted_name_can_be_added_again_and_gets_a_new_id(self):
        u = update().delete_column("day").add_column("day", STRING)
        assert u.apply().field("day") == optional(21, "day", STRING)

    def test_placed_columns(self):
        u = update().add_column("a", INT, first=True).add_column("b", INT, before="id").add_column("c", INT, after="id")
        assert names(u.apply())[:4] == ["a", "b", "id", "c"]
        nested = update().add_column("place.z", INT, after="x").apply()
        assert [f.name for f in nested.field("place").type.fields] == ["x", "z", "y", "n"]

    def test_a_column_placed_next_to_a_new_one_is_found(self):
        u = update().add_column("a", INT).add_column("b", INT, before="a").add_column("c", INT, after="b")
        u.rename_column("b", "bb").update_column("c", LONG).move_first("a")
        assert names(u.apply())[-2:] == ["bb", "c"]
        assert u.apply().field("c") == optional(23, "c", LONG)

    def test_a_refused_place_leaves_no_column_behind(self):
        u = update().add_column("a", INT)
        with pytest.raises(NotFound):
            u.add_column("b", INT, after="nope")
        assert u.find("b") is None
        assert u.last_column_id == 21
        assert u.add_column("b", INT).apply().field("b").id == 22

    def test_one_place_only(self):
        with pytest.raises(InvalidInput, match="got several"):
            update().add_column("a", INT, first=True, after="id")

    def test_ids_run_out_with_a_reason(self):
        with pytest.raises(InvalidInput, match="expected ids up to"):
            update(last_column_id=2147483447).add_column("a", INT)


class TestDefaults:
    def test_a_default_fills_old_rows_and_later_writes(self):
        added = update().add_column("n", INT, default=5).apply()
        assert (added.field("n").initial_default, added.field("n").write_default) == (5, 5)

    def test_the_write_default_changes_and_the_initial_one_stays(self):
        first = update().add_column("n", INT, default=5).apply()
        second = update(first).set_default("n", 6).apply()
        assert (second.field("n").initial_default, second.field("n").write_default) == (5, 6)

    def test_a_write_default_can_be_taken_back(self):
        first = update().set_default("place.n", 6).apply()
        assert update(first).set_default("place.n", None).apply().field("place.n").write_default is None

    def test_minus_zero_is_another_default_than_zero(self):
        first = update().add_column("d", DOUBLE, default=0.0).apply()
        second = update(first).set_default("d", -0.0).apply()
        assert second.schema_id == first.schema_id + 1
        assert math.copysign(1, second.field("d").write_default) == -1

    def test_a_required_column_needs_a_default(self):
        with pytest.raises(InvalidInput, match=r"Cannot add required column 'place\.n2'"):
            update().add_column("place.n2", INT, required=True)
        added = update().add_column("place.n2", INT, required=True, default=0).apply()
        assert added.field("place.n2") == required(21, "n2", INT, initial_default=0, write_default=0)

    @pytest.mark.parametrize("version", [1, 2])
    def test_before_v3_there_are_no_defaults_and_no_new_required_columns(self, version):
        with pytest.raises(InvalidInput, match="defaults need table format v3"):
            update(format_version=version).add_column("n", INT, default=0)
        with pytest.raises(InvalidInput, match="defaults need table format v3"):
            update(format_version=version).set_default("day", 0)
        with pytest.raises(InvalidInput, match="Cannot add required column"):
            update(format_version=version).add_column("n", INT, required=True)
        forced = update(format_version=version, allow_incompatible=True).add_column("n", INT, required=True)
        assert forced.apply().field("n").required

    def test_a_default_inside_a_new_struct_needs_v3_too(self):
        new = StructType((optional(1, "x", INT, initial_default=1, write_default=1),))
        with pytest.raises(InvalidInput, match="defaults need table format v3"):
            update(format_version=2).add_column("p", new)
        assert update().add_column("p", new, default={}).apply().field("p").initial_default == {}

    def test_a_struct_default_with_values_is_refused(self):
        with pytest.raises(InvalidInput, match="empty struct"):
            update().add_column("p", StructType((optional(1, "x", INT),)), default={"x": 1})

    @pytest.mark.parametrize(("type_", "value"), [(VARIANT, 1), (UNKNOWN, 1), (DOUBLE, math.nan), (INT, "x")])
    def test_defaults_that_cannot_be_stored_are_refused(self, type_, value):
        with pytest.raises(InvalidInput, match="Invalid default for column 'n'"):
            update().add_column("n", type_, default=value)

    def test_list_elements_have_no_default(self):
        with pytest.raises(InvalidInput, match="element of a list is no struct field"):
            update().set_default("points.element", {})

    def test_a_promoted_column_keeps_what_its_defaults_say(self):
        first = update().add_column("d", DATE, default=1).apply()
        promoted = update(first).update_column("d", TIMESTAMP).apply().field("d")
        assert (promoted.initial_default, promoted.write_default) == (86_400_000_000, 86_400_000_000)


class TestDelete:
    @pytest.mark.parametrize("path", ["day", "place", "place.x", "points.a", "tags.value.v", "counts"])
    def test_a_column_goes_with_everything_below(self, path):
        before = SCHEMA.field(path)
        after = update().delete_column(path).apply()
        assert after.find(before.id) is None
        assert set(after.fields_by_id) < set(SCHEMA.fields_by_id)

    def test_a_missing_column_is_not_found_and_the_near_one_named(self):
        with pytest.raises(NotFound, match="Did you mean 'price'"):
            update().delete_column("prise")

    @pytest.mark.parametrize("path", ["points.element", "counts.value"])
    def test_elements_and_values_are_no_fields_of_their_own(self, path):
        with pytest.raises(InvalidInput, match="is no struct field"):
            update().delete_column(path)

    @pytest.mark.parametrize("path", ["counts.key", "tags.key.k"])
    def test_map_keys_stay(self, path):
        with pytest.raises(InvalidInput, match="Map keys cannot change"):
            update().delete_column(path)

    def test_a_deleted_column_takes_no_other_change(self):
        for change in (
            lambda u: u.rename_column("day", "d"),
            lambda u: u.update_column("day", TIMESTAMP),
            lambda u: u.move_first("day"),
            lambda u: u.delete_column("day"),
        ):
            with pytest.raises(InvalidInput, match="deleted in the same update"):
                change(update().delete_column("day"))
        with pytest.raises(InvalidInput, match="deleted in the same update"):
            update().delete_column("place").add_column("place.z", INT)
        with pytest.raises(InvalidInput, match="deleted in the same update"):
            update().delete_column("place").rename_column("place.x", "z")

    def test_a_changed_or_added_column_is_not_deleted(self):
        with pytest.raises(InvalidInput, match="was changed in the same update"):
            update().rename_column("day", "d").delete_column("day")
        with pytest.raises(InvalidInput, match=r"'place\.x' was changed"):
            update().update_column("place.x", DOUBLE).delete_column("place")
        with pytest.raises(InvalidInput, match=r"'place\.z' was changed"):
            update().add_column("place.z", INT).delete_column("place")
        with pytest.raises(InvalidInput, match="added in the same update"):
            update().add_column("z", INT).delete_column("z")

    def test_a_column_that_the_current_spec_needs_stays(self):
        with pytest.raises(InvalidInput, match="partition field 'p2' of the current spec is derived from 'day'"):
            update(specs=[spec((2, "day"))]).delete_column("day")
        with pytest.raises(InvalidInput, match=r"'place': partition field 'p5'"):
            update(specs=[spec((5, "identity"))]).delete_column("place")

    def test_void_fields_and_older_specs_need_nothing(self):
        specs = [spec((2, "day"), spec_id=0), spec((2, "void"), spec_id=1)]
        assert update(specs=specs, default_spec_id=1).delete_column("day").apply().find("day") is None
        with pytest.raises(InvalidInput, match="current spec"):
            update(specs=specs, default_spec_id=0).delete_column("day")

    def test_the_specs_and_orders_of_a_table_fit(self):
        day = PartitionSpec(
            spec_id=1,
            fields=(PartitionField(source_ids=(2,), field_id=1000, name="d", transform=parse_transform("day")),),
        )
        order = SortOrder(
            order_id=1,
            fields=(
                SortField(
                    source_ids=(3,),
                    transform=parse_transform("identity"),
                    direction=SortDirection.ASC,
                    null_order=NullOrder.NULLS_FIRST,
                ),
            ),
        )
        u = update(specs=[UNPARTITIONED, day], default_spec_id=1, sort_order=order)
        with pytest.raises(InvalidInput, match="partition field 'd'"):
            u.delete_column("day")
        with pytest.raises(InvalidInput, match="sort order"):
            u.delete_column("price")
        assert u.update_column("day", TIMESTAMP).apply().field("day").type == TIMESTAMP

    def test_an_unknown_default_spec_is_not_found(self):
        with pytest.raises(NotFound, match="partition spec 9"):
            update(specs=[spec()], default_spec_id=9)


class TestRename:
    @pytest.mark.parametrize("path", ["id", "place", "place.x", "points.a", "tags.v"])
    def test_a_renamed_column_keeps_its_id(self, path):
        field_id = SCHEMA.field(path).id
        after = update().rename_column(path, "renamed").apply()
        assert after.field(field_id).name == "renamed"
        assert set(after.fields_by_id) == set(SCHEMA.fields_by_id)

    def test_names_can_be_swapped(self):
        after = update().rename_column("day", "price").rename_column("price", "day").apply()
        assert (after.field("day").id, after.field("price").id) == (3, 2)

    def test_a_name_that_is_freed_can_be_taken(self):
        after = update().rename_column("day", "d").add_column("day", INT).apply()
        assert (after.field("d").id, after.field("day").id) == (2, 21)
        after = update().delete_column("day").rename_column("price", "day").apply()
        assert after.field("day").id == 3

    def test_two_columns_cannot_share_a_name(self):
        with pytest.raises(InvalidInput, match="ids 2 and 3 would share the name"):
            update().rename_column("price", "day").apply()

    def test_a_renamed_column_is_found_by_both_names(self):
        after = update().rename_column("place", "spot").update_column("spot.x", DOUBLE).add_column("place.z", INT)
        assert [f.name for f in after.apply().field("spot").type.fields] == ["x", "y", "n", "z"]

    @pytest.mark.parametrize("path", ["points.element", "counts.value"])
    def test_elements_and_values_have_no_name(self, path):
        with pytest.raises(InvalidInput, match="is no struct field"):
            update().rename_column(path, "z")

    def test_nothing_in_a_map_key_is_renamed(self):
        with pytest.raises(InvalidInput, match="Map keys cannot change"):
            update().rename_column("tags.key.k", "z")

    def test_identifier_fields_follow_a_rename(self):
        assert update().rename_column("id", "key").apply().identifier_field_ids == (1,)


class TestUpdate:
    @pytest.mark.parametrize(
        ("path", "target"),
        [
            ("price", DecimalType(20, 2)),
            ("place.x", DOUBLE),
            ("points.a", LONG),
            ("tags.v", LONG),
            ("counts.value", LONG),
            ("day", TIMESTAMP),
            ("day", TIMESTAMP_NS),
        ],
    )
    def test_promotions_at_every_depth(self, path, target):
        after = update().update_column(path, target).apply()
        assert after.field(path).type == target
        assert set(after.fields_by_id) == set(SCHEMA.fields_by_id)

    @pytest.mark.parametrize(
        ("path", "target", "reason"),
        [
            ("id", INT, "long may become no other type"),
            ("place", INT, "never becomes a primitive"),
            ("id", StructType(), "never becomes a primitive"),
            ("counts.key", LONG, "Map keys cannot change"),
            ("tags.key.k", LONG, "Map keys cannot change"),
            ("price", DecimalType(20, 3), "scale of a decimal is fixed"),
        ],
    )
    def test_other_changes_of_type_are_refused(self, path, target, reason):
        with pytest.raises(InvalidInput, match=reason):
            update().update_column(path, target)

    def test_date_to_timestamp_needs_v3(self):
        with pytest.raises(InvalidInput, match="needs table format v3"):
            update(format_version=2).update_column("day", TIMESTAMP)

    def test_date_to_timestamp_is_refused_under_any_spec_that_would_change(self):
        specs = [spec((2, "bucket[8]"), spec_id=0), spec((2, "month"), spec_id=1)]
        with pytest.raises(InvalidInput, match="partition field 'p2' of spec 0"):
            update(specs=specs).update_column("day", TIMESTAMP)
        assert update(specs=specs[1:]).update_column("day", TIMESTAMP).apply().field("day").type == TIMESTAMP

    def test_unknown_becomes_a_struct_with_fresh_ids(self):
        first = update().add_column("u", UNKNOWN).apply()
        u = update(first, last_column_id=30)
        after = u.update_column("u", StructType((optional(1, "a", INT), optional(2, "b", BINARY)))).apply()
        assert (after.field("u").id, after.field("u.a").id, after.field("u.b").id) == (21, 31, 32)
        assert u.last_column_id == 32

    def test_documentation_is_set_and_removed(self):
        first = update().update_column("day", doc="birthday").apply()
        assert first.field("day").doc == "birthday"
        assert update(first).update_column("day", doc=None).apply().field("day").doc is None

    def test_required_becomes_optional(self):
        assert update().make_column_optional("place.y").apply().field("place.y").optional

    def test_optional_does_not_become_required(self):
        with pytest.raises(InvalidInput, match="rows that exist may hold nulls"):
            update().require_column("day")
        with pytest.raises(InvalidInput, match="rows that exist may hold nulls"):
            update().update_column("points.element", required=True)
        assert update(allow_incompatible=True).require_column("day").apply().field("day").required

    def test_a_new_column_with_a_default_becomes_required(self):
        assert update().add_column("n", INT, default=1).require_column("n").apply().field("n").required
        with pytest.raises(InvalidInput, match="may hold nulls"):
            update().add_column("n", INT).require_column("n")

    def test_no_change_is_no_new_schema(self):
        after = update().update_column("day", DATE, required=False).require_column("id").apply()
        assert after == SCHEMA

    def test_v3_types_need_v3(self):
        with pytest.raises(InvalidInput, match="needs v3"):
            update(format_version=2).add_column("v", VARIANT).apply()
        with pytest.raises(InvalidInput, match="expected optional for type unknown"):
            update().add_column("u", UNKNOWN, required=True, default=None)


class TestMove:
    def test_first_before_after(self):
        after = update().move_first("price").move_after("id", "day").move_before("counts", "price").apply()
        assert names(after) == ["counts", "price", "day", "id", "place", "points", "tags"]

    def test_moves_inside_a_struct(self):
        after = update().move_first("place.n").move_after("place.x", "place.y").apply()
        assert [f.name for f in after.field("place").type.fields] == ["n", "y", "x"]
        after = update().add_column("points.b", INT).move_first("points.b").apply()
        assert [f.name for f in after.field("points.element").type.fields] == ["b", "a"]

    @pytest.mark.parametrize(
        ("path", "other", "reason"),
        [
            ("day", "day", "next to itself"),
            ("day", "place.x", "same struct"),
            ("place.x", "day", "same struct"),
        ],
    )
    def test_moves_across_structs_are_refused(self, path, other, reason):
        with pytest.raises(InvalidInput, match=reason):
            update().move_after(path, other)

    def test_elements_do_not_move(self):
        with pytest.raises(InvalidInput, match="is no struct field"):
            update().move_first("points.element")

    def test_a_missing_neighbour_is_not_found(self):
        with pytest.raises(NotFound, match="nope"):
            update().move_after("day", "nope")


class TestIdentifierFields:
    def test_set_with_new_columns(self):
        u = update().add_column("key", STRING, required=True, default="").set_identifier_fields(["key", "id"])
        assert u.apply().identifier_field_ids == (1, 21)

    def test_deleting_one_needs_a_new_set(self):
        with pytest.raises(InvalidInput, match="Cannot delete identifier column 'id'"):
            update().delete_column("id").apply()
        assert update().delete_column("id").set_identifier_fields([]).apply().identifier_field_ids == ()

    def test_deleting_a_parent_of_one_needs_a_new_set(self):
        nested = Schema(
            fields=(required(1, "s", StructType((required(2, "k", INT),))), optional(3, "o", INT)),
            identifier_field_ids=(2,),
        )
        with pytest.raises(InvalidInput, match=r"Cannot delete identifier column 's\.k'"):
            update(nested).delete_column("s").apply()

    @pytest.mark.parametrize("path", ["day", "place.y", "points.a"])
    def test_optional_or_unreachable_columns_do_not_identify(self, path):
        with pytest.raises(InvalidInput, match="Invalid identifier field"):
            update().set_identifier_fields([path]).apply()

    def test_an_identifier_column_stays_required(self):
        with pytest.raises(InvalidInput, match="expected required, got optional"):
            update().make_column_optional("id").apply()

    def test_a_missing_one_is_not_found(self):
        with pytest.raises(NotFound, match="identify rows by"):
            update().set_identifier_fields(["nope"]).apply()


class TestSchemaId:
    def test_a_changed_schema_gets_the_next_id(self):
        older = Schema(fields=SCHEMA.fields[:2], schema_id=7)
        assert update(schemas=[older, SCHEMA]).add_column("n", INT).apply().schema_id == 8

    def test_an_equal_schema_of_the_table_is_reused(self):
        older = Schema(fields=SCHEMA.fields[1:2], schema_id=1)
        u = update(Schema(fields=SCHEMA.fields[1:3], schema_id=2), schemas=[older])
        assert u.delete_column("price").apply() == older


class TestNames:
    def test_a_dotted_name_that_means_two_columns_is_refused(self):
        odd = Schema(fields=(optional(1, "a", StructType((optional(2, "b", INT),))), optional(3, "a.b", INT)))
        with pytest.raises(InvalidInput, match="Pass the names from the root as a tuple"):
            update(odd).rename_column("a.b", "c")
        assert update(odd).rename_column(("a.b",), "c").apply().field(3).name == "c"
        assert update(odd).rename_column(("a", "b"), "c").apply().field(2).name == "c"

    def test_case_can_be_ignored(self):
        after = update(case_sensitive=False).rename_column("PLACE.X", "z").apply()
        assert after.field("place.z").id == 5


class TestUnion:
    def test_missing_columns_are_added_and_wider_types_taken(self):
        other = Schema(
            fields=(
                optional(1, "new", STRING, doc="d"),
                required(2, "must", INT),
                optional(
                    3, "place", StructType((optional(4, "x", DOUBLE), optional(5, "y", FLOAT), required(6, "w", INT)))
                ),
                optional(7, "points", ListType(element_id=8, element=StructType((optional(9, "a", LONG),)))),
                optional(10, "counts", MapType(key_id=11, key=INT, value_id=12, value=LONG)),
                required(13, "id", INT),
                optional(14, "price", DecimalType(5, 2)),
            )
        )
        after = update().union_by_name(other).apply()
        assert names(after) == [*names(SCHEMA), "new", "must"]
        assert after.field("new").doc == "d"
        assert after.field("must").optional
        assert after.field("place.x").type == DOUBLE
        assert after.field("place.y").optional
        assert after.field("place.w").optional
        assert after.field("points.a").type == LONG
        assert after.field("counts.value").type == LONG
        assert after.field("id") == SCHEMA.field("id")
        assert after.field("price") == SCHEMA.field("price")

    def test_a_schema_merged_with_itself_is_itself(self):
        assert update().union_by_name(SCHEMA).apply() == SCHEMA

    @pytest.mark.parametrize(
        "field",
        [
            optional(1, "id", STRING),
            optional(1, "place", INT),
            optional(1, "day", StructType((optional(2, "x", INT),))),
            optional(1, "counts", MapType(key_id=2, key=LONG, value_id=3, value=INT)),
        ],
    )
    def test_types_that_do_not_go_together_are_refused(self, field):
        with pytest.raises(InvalidInput, match="Cannot merge column"):
            update().union_by_name(Schema(fields=(field,)))

    def test_defaults_come_along(self):
        other = Schema(fields=(required(1, "n", INT, initial_default=1, write_default=2),))
        assert update().union_by_name(other).apply().field("n") == required(
            21, "n", INT, initial_default=1, write_default=2
        )
