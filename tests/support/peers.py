"""Tables that PyIceberg writes, as examples of another engine's metadata.

The table grows the way real ones do: appends, a partial overwrite, schema evolution between snapshots, a tag.
PyIceberg writes identity partitions only without its native core; files under other transforms are registered
with their partition values, which is all that metadata shows of them.
"""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True, doc="the key"),
    NestedField(2, "region", StringType()),
    NestedField(3, "i", IntegerType()),
    NestedField(4, "f", FloatType()),
    NestedField(5, "d", DoubleType()),
    NestedField(6, "flag", BooleanType()),
    NestedField(7, "amount", DecimalType(12, 2)),
    NestedField(8, "day", DateType()),
    NestedField(9, "clock", TimeType()),
    NestedField(10, "ts", TimestampType()),
    NestedField(11, "tz", TimestamptzType()),
    NestedField(12, "key", UUIDType()),
    NestedField(13, "code", FixedType(4)),
    NestedField(14, "raw", BinaryType()),
    NestedField(
        15, "point", StructType(NestedField(16, "x", DoubleType()), NestedField(17, "y", DoubleType(), required=True))
    ),
    NestedField(18, "tags", ListType(19, StringType(), element_required=False)),
    NestedField(20, "scores", MapType(21, StringType(), 22, IntegerType(), value_required=False)),
    identifier_field_ids=[1],
)


def sql_catalog(home: Path) -> SqlCatalog:
    """A PyIceberg catalog on SQLite with the namespace `db`. Close it when done."""
    home.mkdir(parents=True, exist_ok=True)
    catalog = SqlCatalog("peer", uri=f"sqlite:///{home}/catalog.db", warehouse=home.as_uri())
    catalog.create_namespace("db")
    return catalog


def grown_table(catalog: SqlCatalog, format_version: int) -> Table:
    """A table with nested columns, nulls, NaN, several snapshots, evolution and a tag, all written by PyIceberg."""
    table = catalog.create_table(
        "db.grown",
        SCHEMA,
        partition_spec=PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region")),
        sort_order=SortOrder(SortField(1, IdentityTransform())),
        properties={"format-version": str(format_version)},
    )
    table.append(_rows(table, range(8)))
    table.append(_rows(table, range(8, 12)))
    with table.update_schema() as update:
        update.add_column("later", StringType())
        update.rename_column("i", "quantity")
        update.delete_column("clock")
        update.update_column("f", DoubleType())
    table.append(_rows(table, range(12, 16)))
    table.delete("region = 'north' and id < 5")
    if format_version > 1:
        snapshot = table.current_snapshot()
        assert snapshot is not None
        table.manage_snapshots().create_tag(snapshot.snapshot_id, "kept").commit()
    return catalog.load_table("db.grown")


def transformed_table(catalog: SqlCatalog, format_version: int) -> tuple[Table, list[dict[str, Any]]]:
    """A table under every transform, with the partition tuples that were registered."""
    transforms: list[tuple[str, Transform[Any, Any]]] = [
        ("id", BucketTransform(16)), ("region", TruncateTransform(3)), ("amount", TruncateTransform(50)),
        ("ts", YearTransform()), ("tz", MonthTransform()), ("day", DayTransform()), ("tz", HourTransform()),
        ("key", IdentityTransform()), ("clock", IdentityTransform()), ("raw", IdentityTransform()),
    ]  # fmt: skip
    spec = PartitionSpec(
        *(
            PartitionField(SCHEMA.find_field(name).field_id, 1000 + i, transform, f"p{i}")
            for i, (name, transform) in enumerate(transforms)
        )
    )
    table = catalog.create_table(
        "db.transformed", SCHEMA, partition_spec=spec, properties={"format-version": str(format_version)}
    )
    tuples: list[list[Any]] = [
        [3, "nor", decimal.Decimal("-10.50"), 56, 682, 20_000, 480_000, uuid.UUID(int=7), 1, b"\x00\xff"],
        [0, *[None] * (len(transforms) - 1)],  # id is required, and so is its bucket
        [15, "", decimal.Decimal("0.00"), -1, -1, -1, -1, uuid.UUID(int=2**128 - 1), 86_399_999_999, b""],
    ]
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for i, values in enumerate(tuples):
            append.append_data_file(_registered(i, values))
    return catalog.load_table("db.transformed"), [{f"p{i}": v for i, v in enumerate(values)} for values in tuples]


def _registered(i: int, partition: list[Any]) -> DataFile:
    # The key is given as bytes because PyIceberg hands it to a writer of fixed bytes.
    plain = [v.bytes if isinstance(v, uuid.UUID) else v for v in partition]
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"s3://elsewhere/{i}.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(*plain),
        record_count=10 + i,
        file_size_in_bytes=1_000 + i,
        column_sizes={1: 80},
        value_counts={1: 10 + i},
        null_value_counts={1: 0},
        nan_value_counts={},
        lower_bounds={1: (i).to_bytes(8, "little")},
        upper_bounds={1: (i + 9).to_bytes(8, "little")},
    )
    file.spec_id = 0
    return file


def _rows(table: Table, ids: range) -> pa.Table:
    arrow = table.schema().as_arrow()
    columns = {name: [_value(name, i) for i in ids] for name in arrow.names}
    return pa.table({name: pa.array(columns[name], arrow.field(name).type) for name in arrow.names}, schema=arrow)


def _value(column: str, i: int) -> Any:
    """The value of a column in row i; every seventh row is null where it may be."""
    if column == "id":
        return i
    if column == "region":
        return (None, "north", "south", "east / west", "übersee")[i % 5]
    if i % 7 == 6:
        return None
    values: dict[str, Any] = {
        "i": i * 3 - 9, "quantity": i * 3 - 9, "f": (float("nan"), -0.0, 1.5)[i % 3],
        "d": (1e300, float("-inf"), 0.0)[i % 3],
        "flag": i % 2 == 0, "amount": decimal.Decimal(i * 101 - 500).scaleb(-2), "day": dt.date(1969, 12, 25 + i % 7),
        "clock": dt.time(23, i, 59, i), "ts": dt.datetime(1950 + i * 7, 1 + i % 12, 1, 12, 0, 0, i),
        "tz": dt.datetime(2026, 11, 1 + i, tzinfo=dt.UTC), "key": uuid.UUID(int=i).bytes, "code": bytes([i] * 4),
        "raw": bytes(range(i)), "point": {"x": None if i % 2 else i / 2, "y": float(i)},
        "tags": [f"t{i}", None][: i % 3],
        "scores": [(f"s{i}", i), ("none", None)][: i % 3], "later": f"later {i}",
    }  # fmt: skip
    return values[column]
