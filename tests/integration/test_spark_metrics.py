"""Facts about files that Spark wrote against those that our own writer collects from the same rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skipstone
from skipstone.metadata.formats.arrow_types import values_to_array
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.types import ListType, MapType, StructType, Type
from skipstone.metadata.values.decimals import from_unscaled
from skipstone.write import write_rows

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

NAN = float("nan")
FACTS = ["record_count", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"]
LONG_TEXT = ["x" * 5000, "\U0001f600" * 40, "é" * 16 + "z", "\U0010ffff" * 20, "~" * 17]
CHOICES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int": [0, -1, 2**31 - 1, -(2**31)],
    "long": [0, 2**63 - 1, -(2**63), 7],
    "float": [0.0, -0.0, NAN, 1.5, float("inf"), -1e30],
    "double": [0.0, -0.0, NAN, 5e-324, float("-inf"), 1e300],
    "date": [0, -1, 20000, -719162],
    "timestamp": [0, -1, 10**15],
    "timestamptz": [0, -1, 10**15],
    "string": ["", "a", "é", *LONG_TEXT],
    "binary": [b"", b"\xff" * 20, b"\0", b"b" * 5000, b"\xff" * 16],
    "decimal(9, 2)": [from_unscaled(n, 2) for n in (0, -1, 999999999)],
    "decimal(18, 6)": [from_unscaled(n, 6) for n in (0, -(10**17), 5)],
    "decimal(38, 10)": [from_unscaled(n, 10) for n in (0, 10**37, -(10**30))],
}
NESTED = [
    ("inside", "struct<a: double, b: struct<c: string, d: long>>"),
    ("many", "list<struct<x: int, y: list<double>>>"),
    ("by_name", "map<string, struct<z: decimal(9, 2)>>"),
]


def drawn(type_: Type, chance: random.Random) -> Any:
    """A value chosen for trouble, or None."""
    if chance.random() < 0.2:
        return None
    match type_:
        case StructType(fields):
            return {f.id: drawn(f.type, chance) for f in fields}
        case ListType():
            return [drawn(type_.element, chance) for _ in range(chance.randint(0, 3))]
        case MapType():
            return [(k, drawn(type_.value, chance)) for k in chance.sample(["a", "b", "é"], chance.randint(0, 3))]
        case _:
            return chance.choice(CHOICES[str(type_)])


@pytest.fixture(scope="module")
def written(iceberg_java: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table whose files Spark wrote, one a batch of rows, and what our own writer says about the same batches."""
    from skipstone.spark import write_frame
    from skipstone.spark.types import to_spark_struct

    place = tmp_path_factory.mktemp("metrics")
    catalog = skipstone.catalog(f"sqlite:///{place}/c.db", warehouse=str(place / "lake"))
    columns = [(f"c{i}", kind) for i, kind in enumerate(CHOICES)]
    properties = {"write.metadata.metrics.column.inside.b.c": "full"}
    table = catalog.create_table("db.t", [*columns, *NESTED], properties=properties)
    fields = table.schema.fields
    chance = random.Random(7)
    pairs = []
    for count in (1, 2, 5, 40):
        arrays = [values_to_array(f.type, [drawn(f.type, chance) for _ in range(count)]) for f in fields]
        rows = pa.table(arrays, names=[f.name for f in fields])
        frame = iceberg_java.createDataFrame(rows, to_spark_struct(table.schema.struct)).coalesce(1)
        by_spark = write_frame(frame, metadata=table.metadata, storage=table.storage, name="db.t")
        by_us = write_rows(rows, metadata=table.metadata, storage=table.storage)
        pairs.append((rows, by_spark, by_us))
    return table, pairs


def test_metrics_equal_those_of_our_own_writer(written: Any) -> None:
    _, pairs = written
    for _, by_spark, by_us in pairs:
        (spark_says,), (we_say,) = by_spark.to_pylist(), by_us.to_pylist()
        for fact in FACTS:
            found, expected = (dict(v) if isinstance(v, list) else v for v in (spark_says[fact], we_say[fact]))
            assert found == expected, fact
        assert dict(spark_says["column_sizes"]).keys() == dict(we_say["column_sizes"]).keys()
        assert spark_says["split_offsets"] == [4]


def test_files_hold_the_rows_under_the_schema_of_the_format(written: Any) -> None:
    table, pairs = written
    for _, by_spark, _ in pairs:
        path = by_spark["file_path"][0].as_py()
        assert Path(path).stat().st_size == by_spark["file_size_in_bytes"][0].as_py()
        assert from_parquet_schema(pq.ParquetFile(path).schema) == table.schema.struct
        table.add_files(by_spark)
    expected = pa.concat_tables(rows for rows, _, _ in pairs).to_pylist()
    found = table.scan().to_arrow().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
