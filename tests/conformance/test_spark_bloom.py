"""Bloom filters, dictionaries and page indexes that Spark's Parquet writer made, read here."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.projection import resolve
from skipstone.predicate import as_predicate, bind
from skipstone.zones.build import FileBytes
from skipstone.zones.build.parquet_structures import read_footer
from skipstone.zones.levels import page_ranges, prove_row_groups

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

ROWS = 2000


@pytest.fixture(scope="module")
def spark_file(iceberg_java: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    spark, target = iceberg_java, tmp_path_factory.mktemp("bloom") / "t"
    rows = spark.sql(
        f"SELECT CAST(id * 2 AS INT) i, id * 2 l, CAST(id * 2 AS DOUBLE) d, CAST(id * 2 AS FLOAT) f, "
        f"concat('v', CAST(id * 2 AS STRING)) s, CAST(concat('v', CAST(id * 2 AS STRING)) AS BINARY) b, "
        f"CAST(id * 2 AS DECIMAL(9,2)) dec, CAST(id * 2 AS DECIMAL(30,2)) dd, "
        f"date_add(DATE '2000-01-01', CAST(id * 2 AS INT)) dt, "
        f"CAST(timestamp_micros(id * 2000000) AS TIMESTAMP_NTZ) ts, CAST(id % 3 AS STRING) few FROM range({ROWS})"
    )
    names = rows.columns
    fields = {n: k for k, n in enumerate(names, 1)}
    rows = rows.select(*[rows[n].alias(n, metadata={"parquet.field.id": fields[n]}) for n in names])
    writer = (
        rows.coalesce(1).write.option("parquet.enable.dictionary", "true").option("parquet.page.row.count.limit", "100")
    )
    for n in names[:-1]:
        writer = writer.option(f"parquet.bloom.filter.enabled#{n}", "true")
        writer = writer.option(f"parquet.bloom.filter.expected.ndv#{n}", str(ROWS))
        writer = writer.option(f"parquet.enable.dictionary#{n}", "false")
    spark.conf.set("spark.sql.parquet.fieldId.write.enabled", "true")
    writer.parquet(str(target))
    (path,) = target.glob("*.parquet")
    return path


class Judged:
    def __init__(self, path: Path) -> None:
        self.metadata = pq.ParquetFile(path).metadata
        struct = from_parquet_schema(self.metadata.schema)
        self.schema = Schema(fields=struct.fields)
        self.projection = resolve(self.schema, struct)
        self.file = FileBytes.of_buffer(path.read_bytes(), path.name)

    def __call__(self, text: str, *, deep: bool = True) -> int:
        predicate = bind(as_predicate(text), self.schema)
        file = self.file if deep else None
        return int(prove_row_groups(predicate, self.metadata, self.projection, file=file).verdicts()[0])


def _literals(n: int) -> dict[str, str]:
    return {
        "i": f"{n}",
        "l": f"{n}",
        "d": f"{n}.0",
        "f": f"{n}.0",
        "s": f"'v{n}'",
        "b": f"X'{f'v{n}'.encode().hex()}'",
        "dec": f"{Decimal(n)}.00",
        "dd": f"{Decimal(n)}.00",
        "dt": f"DATE '{date(2000, 1, 1) + timedelta(days=n)}'",
        "ts": f"TIMESTAMP_NTZ '1970-01-01 00:{n // 60:02}:{n % 60:02}'",
    }


def test_spark_filters_find_what_is_there_and_prove_what_is_not(spark_file: Path) -> None:
    judged = Judged(spark_file)
    assert all(c.bloom_filter is not None for c in read_footer(judged.file).chunks[0][:-1])
    absent = 0
    for n in range(200):
        for column, literal in _literals(n).items():
            text = f"{column} = {literal}"
            assert judged(text, deep=False) == 1, text
            if n % 2 == 0:
                assert judged(text) == 1, text
            else:
                absent += judged(text) == 0
    assert absent > 0.9 * 30 * 10


def test_spark_dictionaries_are_the_values(spark_file: Path) -> None:
    judged = Judged(spark_file)
    assert judged("few = '1x'", deep=False) == 1
    assert judged("few = '1x'") == 0
    assert judged("few IN ('0', '1', '2')") == 2
    assert judged("few LIKE '%3%'") == 0


def test_spark_page_indexes_keep_the_pages_of_the_literal(spark_file: Path) -> None:
    judged = Judged(spark_file)
    predicate = bind(as_predicate("l = 1000"), judged.schema)
    ranges = page_ranges(predicate, judged.metadata, judged.projection, 0, judged.file).tolist()
    assert ranges == [[500, 600]]
