"""Metrics: which columns have them, and that odd values never make them lie."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skipstone.metadata.partitions.sorting import UNSORTED, build_sort_order
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.types import (
    BINARY,
    DOUBLE,
    INT,
    LONG,
    STRING,
    VARIANT,
    Field,
    FixedType,
    GeographyType,
    GeometryType,
    ListType,
    StructType,
    Type,
)
from skipstone.metadata.values import parse_bound
from skipstone.storage import MemoryStorage
from skipstone.write import write_rows
from skipstone.write.metrics_modes import metrics_modes

WIDE = Schema(
    fields=(
        Field(id=1, name="a", type=INT),
        Field(id=2, name="st", type=StructType((Field(id=3, name="x", type=INT),))),
        Field(id=4, name="b", type=STRING),
        Field(id=5, name="l", type=ListType(element_id=6, element=INT)),
    )
)
FORMATS = ["parquet", "orc", "avro"]


def entry(arrays: dict[str, Any], *types: Type, file_format: str = "parquet", **properties: str) -> dict[str, Any]:
    """The entry of the one file that these columns become; ids count from 1, then inside structs."""
    fields = tuple(Field(id=i + 1, name=n, type=t) for i, (n, t) in enumerate(zip(arrays, types, strict=True)))
    metadata = new_table_metadata(
        Schema(fields=fields),
        location="memory://lake/t",
        now_ms=1,
        properties={k.replace("__", ".").replace("_", "-"): v for k, v in properties.items()},
        format_version=3,
    )
    table = pa.table(arrays)
    (found,) = write_rows(table, metadata=metadata, storage=MemoryStorage(), file_format=file_format).to_pylist()
    names = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    return {**found, **{n: None if found[n] is None else dict(found[n]) for n in names}}


# -- modes ----------------------------------------------------------------------------------------------------------


def kinds(properties: dict[str, str], order: tuple[str, ...] = ()) -> dict[int, str]:
    sort_order = build_sort_order(WIDE, order) if order else UNSORTED
    return {i: str(m) for i, m in metrics_modes(WIDE, properties, sort_order).items()}


def test_every_column_is_truncated_to_sixteen_without_properties() -> None:
    assert kinds({}) == dict.fromkeys((1, 3, 4, 6), "truncate(16)")


def test_a_column_property_wins_over_the_default() -> None:
    properties = {
        "write.metadata.metrics.default": "counts",
        "write.metadata.metrics.column.st.x": "full",
        "write.metadata.metrics.column.b": "none",
    }
    assert kinds(properties) == {1: "counts", 3: "full", 6: "counts"}


def test_only_the_first_columns_have_inferred_metrics_top_level_ones_first() -> None:
    assert kinds({"write.metadata.metrics.max-inferred-column-defaults": "2"}).keys() == {1, 4}


def test_a_default_that_was_set_holds_for_every_column() -> None:
    properties = {
        "write.metadata.metrics.max-inferred-column-defaults": "1",
        "write.metadata.metrics.default": "full",
    }
    assert kinds(properties).keys() == {1, 3, 4, 6}


def test_sort_columns_keep_bounds() -> None:
    assert kinds({"write.metadata.metrics.default": "counts"}, ("b",))[4] == "truncate(16)"


def test_mode_none_records_nothing_and_counts_no_bounds() -> None:
    found = entry(
        {"a": [1], "b": [2]},
        LONG,
        LONG,
        write__metadata__metrics__column__a="none",
        write__metadata__metrics__column__b="counts",
    )
    assert found["value_counts"] == {2: 1}
    assert found["column_sizes"].keys() == {2}
    assert found["lower_bounds"] == {}


# -- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
def test_nan_is_counted_and_never_a_bound(file_format: str) -> None:
    nan = float("nan")
    found = entry({"d": [nan, 2.0, None, 1.0], "n": [nan, nan, None, None]}, DOUBLE, DOUBLE, file_format=file_format)
    assert found["nan_value_counts"] == {1: 1, 2: 2}
    assert parse_bound(DOUBLE, found["lower_bounds"][1]) == 1.0
    assert parse_bound(DOUBLE, found["upper_bounds"][1]) == 2.0
    assert 2 not in found["lower_bounds"]
    assert 2 not in found["upper_bounds"]


@pytest.mark.parametrize("file_format", FORMATS)
def test_negative_zero_stays_below_zero(file_format: str) -> None:
    found = entry({"d": [0.0, -0.0]}, DOUBLE, file_format=file_format)
    assert found["lower_bounds"][1] == struct.pack("<d", -0.0)
    assert found["upper_bounds"][1] == struct.pack("<d", 0.0)


@pytest.mark.parametrize("file_format", FORMATS)
def test_long_strings_have_truncated_bounds(file_format: str) -> None:
    found = entry({"s": ["b" * 20, "a" * 20]}, STRING, file_format=file_format)
    assert found["lower_bounds"][1] == b"a" * 16
    assert found["upper_bounds"][1] == b"b" * 15 + b"c"


def test_strings_too_long_for_the_footer_still_have_bounds() -> None:
    found = entry({"s": ["m", "z" * 5000, None, "a" * 5000], "b": [b"m", b"\xff" * 5000, b"a", None]}, STRING, BINARY)
    assert found["lower_bounds"] == {1: b"a" * 16, 2: b"a"}
    assert found["upper_bounds"] == {1: b"z" * 15 + b"{"}


def test_strings_too_long_in_one_row_group_only_widen_the_bounds_of_the_others() -> None:
    rows = ["m", "n", "z" * 9000, "b"]
    found = entry({"s": rows}, STRING, write__parquet__row_group_size_bytes="2000")
    assert len(found["split_offsets"]) > 1
    assert found["lower_bounds"][1] == b"b"
    assert found["upper_bounds"][1] == b"z" * 15 + b"{"


def test_a_wide_fixed_has_truncated_bounds_of_bytes() -> None:
    found = entry({"f": pa.array([b"a" * 20, b"b" * 20], pa.binary(20))}, FixedType(20))
    assert (found["lower_bounds"][1], found["upper_bounds"][1]) == (b"a" * 16, b"b" * 15 + b"c")


def test_geometries_are_bounded_by_a_box_and_geographies_are_not() -> None:
    def point(x: float, y: float) -> bytes:
        return struct.pack("<BIdd", 1, 1, x, y)

    points = [point(1, 5), None, point(-2, 7)]
    found = entry({"g": points, "h": points}, GeometryType(), GeographyType())
    assert found["null_value_counts"] == {1: 1, 2: 1}
    assert found["lower_bounds"] == {1: struct.pack("<dd", -2, 5)}
    assert found["upper_bounds"] == {1: struct.pack("<dd", 1, 7)}


def test_variants_are_counted() -> None:
    found = entry({"v": [{"metadata": b"\x01\x00\x00", "value": b"\x00"}, None], "i": [1, 2]}, VARIANT, LONG)
    assert found["value_counts"] == {1: 2, 2: 2}
    assert found["null_value_counts"] == {1: 1, 2: 0}
    assert found["lower_bounds"].keys() == {2}
    assert found["column_sizes"].keys() == {2}


def test_list_contents_have_a_size_and_nothing_else() -> None:
    found = entry({"l": [[1, 2], None]}, ListType(element_id=2, element=LONG))
    assert found["column_sizes"].keys() == {2}
    assert found["value_counts"] == {}


def test_bloom_filters_are_written_where_properties_ask() -> None:
    schema = Schema(fields=(Field(id=1, name="a b", type=LONG), Field(id=2, name="c", type=LONG)))
    properties = {"write.parquet.bloom-filter-enabled.column.a b": "true"}
    metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1, properties=properties)
    storage = MemoryStorage()
    rows = pa.table({"a b": range(100), "c": range(100)})
    (path,) = write_rows(rows, metadata=metadata, storage=storage).column("file_path").to_pylist()
    footer = pq.read_metadata(pa.BufferReader(storage.read(str(path)))).row_group(0)
    assert footer.column(0).bloom_filter_offset is not None
    assert footer.column(1).bloom_filter_offset is None
