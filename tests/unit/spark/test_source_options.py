"""Options of `format("skipstone")`: what they mean, and what is said about those that mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as T

import skipstone
from skipstone.errors import InvalidInput, SkipstoneError
from skipstone.spark.source_options import SourceOptions


@pytest.fixture
def where(tmp_path: Path) -> dict[str, str]:
    uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", str(tmp_path / "lake")
    table = skipstone.catalog(uri, warehouse=warehouse).create_table("shop.orders", [("id", "long"), ("s", "string")])
    table.append([{"id": i, "s": "x"} for i in range(3)])
    table.create_tag("old")
    table.create_branch("b")
    table.append([{"id": 3, "s": "y"}])
    return {"catalog": uri, "warehouse": warehouse, "path": "shop.orders"}


def count(options: dict[str, str]) -> int:
    parsed = SourceOptions.of(options)
    scan = parsed.scan(parsed.table())
    assert scan.wanted.fields
    return scan.count()


def test_options_choose_rows_and_columns(where: dict[str, str]) -> None:
    table = SourceOptions.of(where).table()
    first = table.snapshots[0]
    assert count(where) == 4
    assert count({**where, "SNAPSHOT-ID": str(first.snapshot_id)}) == 3
    assert count({**where, "tag": "old"}) == count({**where, "branch": "b"}) == 3
    assert count({**where, "as-of-timestamp": str(first.timestamp_ms)}) == 3
    assert count({**where, "as-of-timestamp": "2100-01-01T00:00:00Z"}) == 4
    assert count({**where, "filter": "s = 'y'"}) == 1
    parsed = SourceOptions.of({**where, "columns": "s, id"})
    assert [f.name for f in parsed.scan(table).wanted.fields] == ["s", "id"]
    assert count({"path": table.metadata_location}) == 4
    assert parsed.scan(table).use_index
    assert not SourceOptions.of({**where, "use-index": "false"}).scan(table).use_index


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"snapshot_id": "1"}, "Unknown option 'snapshot_id' of skipstone.*Did you mean 'snapshot-id'"),
        ({"snapshot-id": "first"}, "Invalid option snapshot-id: expected an integer, got 'first'"),
        ({"columns": "id,sss"}, "Cannot find column 'sss'"),
        ({"table": "other.one"}, "expected one name.*got other.one, shop.orders"),
        ({"branch": "nowhere"}, "nowhere"),
        ({"use-index": "no"}, "Invalid option use-index: expected true or false, got 'no'"),
        ({"branch": "old"}, "Cannot read branch 'old' of shop.orders: it is no branch"),
        ({"filter": "id = "}, "id ="),
        ({"snapshot-id": "1", "tag": "old"}, "expected at most one of"),
    ],
)
def test_bad_options_are_told(where: dict[str, str], options: dict[str, str], message: str) -> None:
    with pytest.raises(SkipstoneError, match=f"(?s){message}"):
        count({**where, **options})


def test_a_table_needs_a_catalog_or_a_metadata_file() -> None:
    with pytest.raises(InvalidInput, match="expected the option catalog"):
        SourceOptions.of({"path": "shop.orders"}).table()
    with pytest.raises(InvalidInput, match=r"expected one name.*got none"):
        SourceOptions.of({"catalog": "x"}).table()


def test_a_schema_of_other_types_is_refused(where: dict[str, str]) -> None:
    parsed = SourceOptions.of(where)
    schema = T.StructType().add("s", T.StringType()).add("id", T.IntegerType())
    with pytest.raises(InvalidInput, match=r"Cannot read column 'id' of shop.orders as int: it is bigint"):
        parsed.scan_as(parsed.table(), schema)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max-files-per-micro-batch": "0"}, "expected 1 or more, got 0"),
        ({"streaming-skip-delete-snapshots": "yes"}, "expected true or false, got 'yes'"),
        ({"snapshot-id": "1"}, "a stream follows a branch"),
        ({"stream-after-snapshot-id": "1", "stream-from-timestamp": "1"}, "got both"),
        ({"stream-from-timestamp": "soon"}, "soon"),
    ],
)
def test_bad_options_of_streams_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SourceOptions.of(options).stream_settings()


def test_overwrites_are_static_or_dynamic() -> None:
    assert SourceOptions.of({"overwrite-mode": "Dynamic"}).replaces_partitions
    with pytest.raises(InvalidInput, match="expected static or dynamic, got 'some'"):
        _ = SourceOptions.of({"overwrite-mode": "some"}).replaces_partitions
