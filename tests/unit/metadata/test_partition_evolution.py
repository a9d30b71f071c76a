"""Partition spec updates: ids used again, v1's void fields, names, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from skipstone.errors import AlreadyExists, InvalidInput, NotFound, Unsupported
from skipstone.metadata.partitions.partition_evolution import PartitionSpecUpdate, SpecChange, build_spec
from skipstone.metadata.partitions.partitioning import UNPARTITIONED, PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import DAY, IDENTITY, VOID, Transform, UnknownTransform, parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import INT, LONG, STRING, TIMESTAMP, Field, StructType

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG),
        Field(id=2, name="cat", type=STRING),
        Field(id=3, name="region", type=STRING),
        Field(id=4, name="ts", type=TIMESTAMP),
        Field(id=5, name="n", type=INT),
        Field(id=6, name="loc", type=StructType((Field(id=7, name="zip", type=STRING),))),
    )
)


class Table:
    """The part of table metadata that spec updates see."""

    def __init__(self, *terms: str, version: int = 2) -> None:
        first = build_spec(SCHEMA, terms)
        self.specs = [first]
        self.default = first.spec_id
        self.last = first.highest_field_id
        self.version = version

    def update(self) -> PartitionSpecUpdate:
        return PartitionSpecUpdate(
            schema=SCHEMA,
            specs=self.specs,
            default_spec_id=self.default,
            format_version=self.version,
            last_partition_id=self.last,
        )

    def commit(self, update: PartitionSpecUpdate) -> SpecChange:
        change = update.result()
        if change.is_new:
            self.specs.append(change.spec)
        self.default, self.last = change.spec.spec_id, change.last_partition_id
        return change


def shape(spec: PartitionSpec) -> list[tuple[str, str, int]]:
    return [(f.name, str(f.transform), f.field_id) for f in spec.fields]


def test_a_new_table_names_fields_like_iceberg_java() -> None:
    spec = build_spec(SCHEMA, ["cat", "bucket(16, id)", "truncate(2, region)", "day(ts)", "hour(ts)", "loc.zip"])
    assert shape(spec) == [
        ("cat", "identity", 1000),
        ("id_bucket", "bucket[16]", 1001),
        ("region_trunc", "truncate[2]", 1002),
        ("ts_day", "day", 1003),
        ("ts_hour", "hour", 1004),
        ("loc.zip", "identity", 1005),
    ]


def test_a_new_spec_refuses_doubles_unknown_columns_and_wrong_types() -> None:
    with pytest.raises(InvalidInput, match="got 'cat' twice"):
        build_spec(SCHEMA, ["cat", "cat"])
    with pytest.raises(NotFound, match="Did you mean 'region'"):
        build_spec(SCHEMA, ["regoin"])
    with pytest.raises(InvalidInput, match="does not allow transform day on type string"):
        build_spec(SCHEMA, ["day(cat)"])
    assert build_spec(SCHEMA, []) == UNPARTITIONED


def test_a_history_as_iceberg_java_evolves_it() -> None:
    """Each step and outcome is one that Iceberg Java 1.12 took for the same statements."""
    table = Table("cat")
    steps: list[tuple[Any, list[tuple[str, str, int]]]] = [
        (lambda u: u.add_term("bucket(4, id)"), [("cat", "identity", 1000), ("id_bucket_4", "bucket[4]", 1001)]),
        (lambda u: u.remove_field("cat"), [("id_bucket_4", "bucket[4]", 1001)]),
        (lambda u: u.add_field("ts", "month", "mon"), [("id_bucket_4", "bucket[4]", 1001), ("mon", "month", 1002)]),
        (
            lambda u: u.remove_term("months(ts)").add_field("ts", "days", "dd"),
            [("id_bucket_4", "bucket[4]", 1001), ("dd", "day", 1003)],
        ),
        (
            lambda u: u.remove_field("id_bucket_4").add_term("bucket(8, id)"),
            [("dd", "day", 1003), ("id_bucket_8", "bucket[8]", 1004)],
        ),
        (
            lambda u: u.add_term("truncate(2, region)", "reg2"),
            [("dd", "day", 1003), ("id_bucket_8", "bucket[8]", 1004), ("reg2", "truncate[2]", 1005)],
        ),
        (
            lambda u: u.rename_field("reg2", "region_prefix"),
            [("dd", "day", 1003), ("id_bucket_8", "bucket[8]", 1004), ("region_prefix", "truncate[2]", 1005)],
        ),
        (
            lambda u: u.add_field("cat"),
            [
                ("dd", "day", 1003),
                ("id_bucket_8", "bucket[8]", 1004),
                ("region_prefix", "truncate[2]", 1005),
                ("cat", "identity", 1000),
            ],
        ),
    ]
    for number, (step, expected) in enumerate(steps, start=1):
        change = table.commit(step(table.update()))
        assert shape(change.spec) == expected
        assert (change.spec.spec_id, change.is_new) == (number, True)
    assert table.last == 1005


def test_an_equivalent_spec_is_used_again() -> None:
    table = Table("cat")
    assert table.commit(table.update().remove_field("cat")).spec == PartitionSpec(spec_id=1)
    change = table.commit(table.update().add_field("cat"))
    assert (change.spec, change.is_new, change.last_partition_id) == (table.specs[0], False, 1000)


def test_a_field_id_is_used_again_only_under_the_same_name_when_one_is_given() -> None:
    table = Table("day(ts)", "cat")
    table.commit(table.update().remove_field("ts_day"))
    assert shape(table.update().add_field("ts", DAY).result().spec)[-1] == ("ts_day", "day", 1000)
    assert shape(table.update().add_field("ts", DAY, "ts_day").result().spec)[-1] == ("ts_day", "day", 1000)
    assert shape(table.update().add_field("ts", DAY, "other").result().spec)[-1] == ("other", "day", 1002)


def test_dropping_and_adding_the_same_field_in_one_update_keeps_it_in_place() -> None:
    for version in (1, 2):
        table = Table("cat", "day(ts)", version=version)
        change = table.update().remove_field("cat").add_field("cat").result()
        assert (change.spec, change.is_new) == (table.specs[0], False)
        renamed = table.update().remove_field("ts_day").add_field("ts", DAY, "d").result()
        assert shape(renamed.spec) == [("cat", "identity", 1000), ("d", "day", 1001)]


def test_days_and_hours_of_one_column_go_together() -> None:
    change = Table("cat").update().add_field("ts", "day").add_field("ts", "hour").result()
    assert shape(change.spec)[1:] == [("ts_day", "day", 1001), ("ts_hour", "hour", 1002)]
    assert change.last_partition_id == 1002


def test_ids_are_not_given_again_after_a_drop() -> None:
    table = Table("cat", "day(ts)")
    table.commit(table.update().remove_field("ts_day"))
    assert shape(table.update().add_field("n").result().spec) == [("cat", "identity", 1000), ("n", "identity", 1002)]


# -- v1 --------------------------------------------------------------------------------------------------------------


def test_v1_replaces_a_dropped_field_by_void_in_its_place() -> None:
    table = Table("cat", "day(ts)", version=1)
    change = table.commit(table.update().remove_field("cat").add_term("bucket(4, id)"))
    assert shape(change.spec) == [("cat", "void", 1000), ("ts_day", "day", 1001), ("id_bucket_4", "bucket[4]", 1002)]
    assert change.spec.fields[0].source_ids == (2,)


def test_v1_adds_a_dropped_field_again_at_the_end_and_renames_the_void_one() -> None:
    table = Table("cat", "day(ts)", version=1)
    table.commit(table.update().remove_field("cat"))
    change = table.commit(table.update().add_field("cat"))
    assert shape(change.spec) == [("cat_1000", "void", 1000), ("ts_day", "day", 1001), ("cat", "identity", 1002)]


def test_v1_frees_the_name_of_a_field_dropped_in_the_same_update() -> None:
    table = Table("day(ts)", version=1)
    change = table.update().remove_field("ts_day").add_field("ts", "hour", "ts_day").result()
    assert shape(change.spec) == [("ts_day_1000", "void", 1000), ("ts_day", "hour", 1001)]


def test_v1_frees_the_name_of_a_void_field_for_a_rename() -> None:
    table = Table("day(ts)", "hour(ts)", version=1)
    table.commit(table.update().remove_field("ts_day"))
    change = table.update().rename_field("ts_hour", "ts_day").result()
    assert shape(change.spec) == [("ts_day_1000", "void", 1000), ("ts_day", "hour", 1001)]


def test_v1_refuses_reordering_and_dropping_twice() -> None:
    table = Table("cat", "day(ts)", version=1)
    with pytest.raises(InvalidInput, match="Cannot reorder partition fields of a v1 table"):
        table.update().reorder(["ts_day", "cat"])
    table.commit(table.update().remove_field("cat"))
    with pytest.raises(InvalidInput, match="void already"):
        table.update().remove_field("cat")


def test_a_void_field_is_dropped_for_good_after_the_upgrade_to_v2() -> None:
    table = Table("cat", "day(ts)", version=1)
    table.commit(table.update().remove_field("cat"))
    table.version = 2
    assert shape(table.update().remove_field("cat").result().spec) == [("ts_day", "day", 1001)]


# -- the rest --------------------------------------------------------------------------------------------------------


def test_reordering_keeps_ids() -> None:
    change = Table("cat", "day(ts)").update().reorder(["ts_day", "cat"]).result()
    assert shape(change.spec) == [("ts_day", "day", 1001), ("cat", "identity", 1000)]
    with pytest.raises(InvalidInput, match="expected each of cat, ts_day once, got cat"):
        Table("cat", "day(ts)").update().reorder(["cat"])


def test_names_can_be_swapped_through_a_third() -> None:
    update = Table("day(ts)", "hour(ts)").update()
    change = update.rename_field("ts_day", "x").rename_field("ts_hour", "ts_day").rename_field("x", "ts_hour").result()
    assert shape(change.spec) == [("ts_hour", "day", 1000), ("ts_day", "hour", 1001)]


@pytest.mark.parametrize(
    ("step", "error", "message"),
    [
        (lambda u: u.add_field("cat"), AlreadyExists, "'cat' has it already"),
        (lambda u: u.add_field("n").add_field("n"), AlreadyExists, "'n' has it already"),
        (lambda u: u.add_field("n", IDENTITY, "ts_day"), AlreadyExists, "Cannot name a partition field 'ts_day'"),
        (lambda u: u.add_field("n", "bucket[4]", "cat"), InvalidInput, "taken by column 2"),
        (lambda u: u.add_field("n", "day"), InvalidInput, "does not allow transform day on type int"),
        (lambda u: u.add_field("nn"), NotFound, "Cannot find column 'nn'"),
        (lambda u: u.add_field("n", "zorder"), Unsupported, "does not know"),
        (lambda u: u.remove_field("x"), NotFound, "Partition fields: cat, ts_day"),
        (lambda u: u.remove_term("hour(ts)"), NotFound, r"Cannot remove partition field hour\(ts\)"),
        (lambda u: u.remove_field("cat").remove_field("cat"), NotFound, "Cannot remove"),
        (lambda u: u.add_field("n").remove_field("n"), InvalidInput, "this update added it"),
        (lambda u: u.rename_field("x", "y"), NotFound, "Cannot rename"),
        (lambda u: u.rename_field("ts_day", "cat"), InvalidInput, "taken by column 2"),
        (lambda u: u.rename_field("ts_day", "id"), InvalidInput, "taken by column 1"),
    ],
)
def test_changes_that_cannot_be_are_refused(step: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        step(Table("cat", "day(ts)").update())


def _table_with(transform: Transform, source: int = 2) -> Table:
    table = Table()
    odd = PartitionField(source_ids=(source,), field_id=1000, name="odd", transform=transform)
    table.specs, table.default, table.last = [PartitionSpec(spec_id=3, fields=(odd,))], 3, 1000
    return table


def test_an_unknown_transform_can_only_be_evolved_away() -> None:
    table = _table_with(UnknownTransform("zorder"))
    with pytest.raises(Unsupported, match="unknown transform 'zorder'"):
        table.update().add_field("n").result()
    assert shape(table.update().remove_field("odd").add_field("n").result().spec) == [("n", "identity", 1001)]


def test_a_spec_whose_column_is_gone_must_drop_the_field() -> None:
    table = _table_with(parse_transform("identity"), source=99)
    with pytest.raises(InvalidInput, match="Cannot find source column 99"):
        table.update().add_field("n").result()
    change = table.update().remove_field("odd").result()
    assert (change.spec, change.is_new) == (PartitionSpec(spec_id=4), True)
    void = _table_with(VOID, source=99)
    assert shape(void.update().add_field("n").result().spec) == [("odd", "void", 1000), ("n", "identity", 1001)]


def test_an_unknown_default_spec_is_refused() -> None:
    table = Table("cat")
    table.default = 5
    with pytest.raises(NotFound, match=r"Cannot find partition spec 5\. Partition specs: 0"):
        table.update()


def test_names_may_be_found_without_regard_to_case() -> None:
    update = PartitionSpecUpdate(
        schema=SCHEMA,
        specs=[UNPARTITIONED],
        default_spec_id=0,
        format_version=3,
        last_partition_id=999,
        case_sensitive=False,
    )
    assert shape(update.add_field("TS", DAY).result().spec) == [("ts_day", "day", 1000)]
