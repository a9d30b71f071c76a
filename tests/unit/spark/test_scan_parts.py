"""What a Spark scan is made of, without Spark: URIs, names, sizes of pieces, filters as SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.table_builder import TableBuilder

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.metadata_changes import add_schema, remove_schemas, set_current_schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.types import (
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    DecimalType,
    Field,
    ListType,
    StructType,
    walk,
)
from skipstone.predicate import FloatOrder, bind, parse_sql
from skipstone.spark.filters import Untranslatable, to_spark_filter
from skipstone.spark.literals import literal_sql
from skipstone.spark.paths import hadoop_uris
from skipstone.spark.scan_names import generated, name_owners, scan_name, with_scan_names_below
from skipstone.spark.splits import OPEN_COST_BYTES, Split, split_of
from skipstone.spark.types import from_spark_type, to_spark_struct, to_spark_type
from skipstone.storage.local import LocalStorage
from skipstone.storage.moved import MovedStorage

T = pytest.importorskip("pyspark.sql.types")

INNER = StructType((Field(id=10, name="a", type=INT),))
SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG),
        Field(id=2, name="x", type=DOUBLE),
        Field(id=3, name="S", type=STRING),
        Field(id=4, name="s", type=STRING),
        Field(id=5, name="st", type=INNER),
        Field(id=6, name="a b", type=STRING),
        Field(id=7, name="li", type=ListType(element_id=11, element=DOUBLE)),
    )
)


def test_locations_become_percent_encoded_uris() -> None:
    locations = ["/a/b.parquet", "file:/a b%/é=#.parquet", "file:///c", "s3://bucket/x?y", "hdfs://host:8020/p"]
    assert hadoop_uris(LocalStorage(), pa.array(locations)).to_pylist() == [
        "file:///a/b.parquet",
        "file:///a%20b%25/%C3%A9=%23.parquet",
        "file:///c",
        "s3a://bucket/x%3Fy",
        "hdfs://host:8020/p",
    ]


def test_a_copied_table_is_read_where_it_is_now() -> None:
    storage = MovedStorage(LocalStorage(), {"file:/old": "/new place"})
    assert hadoop_uris(storage, pa.array(["file:/old/f.parquet"])).to_pylist() == ["file:///new%20place/f.parquet"]


def test_files_in_memory_are_refused() -> None:
    with pytest.raises(Unsupported, match="memory"):
        hadoop_uris(LocalStorage(), pa.array(["memory://t/f.parquet"]))


def test_a_column_keeps_its_name_only_if_a_pushed_filter_can_find_no_other() -> None:
    metadata = new_table_metadata(SCHEMA, location="/t", now_ms=0)
    owners = name_owners(metadata)
    names = {f.name: scan_name(f, owners) for f in metadata.current_schema.fields}
    assert names == {
        "id": "id", "x": generated(2), "S": generated(3), "s": generated(4), "st": "st", "a b": generated(6),
        "li": generated(7),
    }  # fmt: skip


def test_a_column_named_like_the_readers_own_is_read_from_the_file() -> None:
    for name in ("_tmp_metadata_row_index", "_TMP_metadata_row_index", "_metadata"):
        assert scan_name(Field(id=1, name=name, type=LONG), {}) == generated(1)


def test_a_name_inside_a_struct_keeps_to_one_field_of_it(tmp_path: Path) -> None:
    inner = StructType(tuple(Field(id=10 + i, name=name, type=INT) for i, name in enumerate("abcde")))
    deep = ListType(element_id=30, element=inner, element_required=False)
    other = StructType((Field(id=32, name="a", type=INT),))
    struct = StructType((Field(id=20, name="in", type=deep), Field(id=31, name="other", type=other)))
    table = TableBuilder(tmp_path / "t", Schema(fields=(Field(id=1, name="st", type=struct),)))
    (column,) = table.metadata.current_schema.fields
    assert with_scan_names_below(column, table.metadata) == column
    within = ("st", "in", "element")
    table.change_schema(lambda u: u.rename_column((*within, "a"), "b").rename_column((*within, "b"), "a"))
    table.change_schema(lambda u: u.delete_column((*within, "c")))
    table.change_schema(lambda u: u.rename_column((*within, "d"), "C"))
    # Wherever the struct is by now, its files bear the names that they did.
    table.change_schema(lambda u: u.rename_column(("st", "in"), "out"))
    (column,) = table.metadata.current_schema.fields
    assert _names_below(column) == ["out", "element", "b", "a", "C", "e", "other", "a"]
    ids = [f.id for f in walk(column.type)]
    assert _names_below(with_scan_names_below(column, table.metadata)) == [
        "out", "element", *map(generated, ids[2:5]), "e", "other", "a",
    ]  # fmt: skip
    without_first = remove_schemas(table.metadata, [0])
    assert "e" not in _names_below(with_scan_names_below(column, without_first))


def _names_below(field: Field) -> list[str]:
    return [f.name for f in walk(field.type)]


def test_pieces_are_sized_to_rounds_of_the_cores() -> None:
    assert 127 << 20 < split_of([100 << 20] * 10_000, cores=2).bytes_max <= 128 << 20
    assert split_of([1 << 20], cores=64).bytes_max == split_of([], cores=2).bytes_max == 8 << 20
    assert split_of([25 << 20] * 8, cores=2).bytes_max == 52 << 20


def test_a_file_of_one_row_group_is_one_task() -> None:
    assert split_of([99 << 20], [[4]], cores=2) == Split(99 << 20, is_whole_files=True)
    assert not split_of([99 << 20], [None], cores=2).is_whole_files
    assert not split_of([99 << 20], [[4, 50 << 20]], cores=2).is_whole_files
    assert split_of([99 << 20], [[4, 50 << 20]], cores=2).bytes_max <= 50 << 20
    # Offsets that cannot be are no offsets; a small file is a task as it is.
    assert split_of([99 << 20], [[200 << 20]], cores=2) == split_of([99 << 20], cores=2)
    assert split_of([1 << 20], [[4]], cores=2) == split_of([1 << 20], cores=2)
    # Where many whole files fill the cores as well, no piece is read for nothing.
    assert split_of([75 << 20] * 4, [[4]] * 4, cores=2).bytes_max >= 75 << 20


@settings(max_examples=50)
@given(sizes=st.lists(st.integers(1, 200 << 20), max_size=30), cores=st.integers(1, 8))
def test_no_other_number_of_rounds_ends_much_sooner(sizes: list[int], cores: int) -> None:
    chosen = _busiest(sizes, split_of(sizes, cores=cores).bytes_max, cores)
    work = sum(sizes) + len(sizes) * OPEN_COST_BYTES
    # Others may end sooner by what opening files, starting tasks and waiting for the slowest core is reckoned to cost.
    reckoned = 2 * len(sizes) * OPEN_COST_BYTES + (9 << 20) + (13 << 20)
    for tasks in (cores, 2 * cores, 4 * cores):
        other = _busiest(sizes, max(8 << 20, min(128 << 20, -(-work // tasks))), cores)
        assert chosen <= other + reckoned


def _busiest(sizes: list[int], most: int, cores: int) -> int:
    """The bytes of the core with most of them, packed as Spark's own FilePartition does."""
    pieces = sorted((min(most, size - at) for size in sizes for at in range(0, size, most)), reverse=True)
    tasks = [0]
    taken = 0
    for piece in pieces:
        if taken and taken + piece > most:
            tasks.append(0)
            taken = 0
        tasks[-1] += piece
        taken += piece + OPEN_COST_BYTES
    loads = [0] * cores
    for task in tasks:
        loads[loads.index(min(loads))] += task
    return max(loads)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("id = 5", "`id` = 5L"),
        ("x > 1.5 AND s IS NULL", "(`x` > CAST('1.5' AS DOUBLE)) AND (`s` IS NULL)"),
        ("st.a IN (1, 2)", "`st`.`a` IN (CAST(1L AS INT), CAST(2L AS INT))"),
        ("NOT (s LIKE 'a%b')", "NOT `s` LIKE CAST(X'612562' AS STRING)"),
        ("isnan(x)", "isnan(`x`)"),
    ],
)
def test_filters_are_sql_with_typed_literals(sql: str, expected: str) -> None:
    bound = bind(parse_sql(sql), SCHEMA, float_order=FloatOrder.SPARK)
    assert to_spark_filter(bound, column) == expected


def test_a_transform_has_no_filter_in_spark() -> None:
    bound = bind(parse_sql("bucket(4, id) = 1"), SCHEMA, float_order=FloatOrder.SPARK)
    with pytest.raises(Untranslatable, match="bucket"):
        to_spark_filter(bound, column)


def column(field_id: int) -> str:
    return ".".join(f"`{part}`" for part in SCHEMA.paths_by_id[field_id])


def test_literals_do_not_depend_on_the_session() -> None:
    assert literal_sql(STRING, "it's\\") == "CAST(X'697427735c' AS STRING)"
    assert literal_sql(TIMESTAMPTZ, 1) == "TIMESTAMP_LTZ'1970-01-01T00:00:00.000001Z'"
    assert literal_sql(TIMESTAMP, -1) == "TIMESTAMP_NTZ'1969-12-31T23:59:59.999999'"
    assert literal_sql(DOUBLE, float("-inf")) == "CAST('-Infinity' AS DOUBLE)"


def test_types_go_to_spark_and_back() -> None:
    there = to_spark_struct(SCHEMA.struct, field_ids=True)
    assert there["id"].metadata == {"parquet.field.id": 1} and there["st"].dataType["a"].metadata == {
        "parquet.field.id": 10
    }
    ids = iter(range(100, 200))
    back: Any = from_spark_type(there, lambda: next(ids))
    assert [f.name for f in back.fields] == [f.name for f in SCHEMA.fields]
    assert [to_spark_type(f.type) for f in back.fields] == [to_spark_type(f.type) for f in SCHEMA.fields]
    assert from_spark_type(T.DecimalType(9, 2), lambda: 1) == DecimalType(9, 2)
    with pytest.raises(InvalidInput, match="interval"):
        from_spark_type(T.DayTimeIntervalType(), lambda: 1)


def test_no_column_keeps_its_name_where_a_schema_is_gone() -> None:
    first = new_table_metadata(SCHEMA, location="/t", now_ms=0)
    changed, schema_id = add_schema(first, Schema(fields=first.current_schema.fields[:1]))
    known = set_current_schema(changed, schema_id)
    assert scan_name(known.current_schema.fields[0], name_owners(known)) == "id"
    cleaned = remove_schemas(known, {0})
    assert name_owners(cleaned) is None
    assert scan_name(cleaned.current_schema.fields[0], name_owners(cleaned)) == generated(1)
