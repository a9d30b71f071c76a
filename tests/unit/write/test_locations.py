"""Where files go."""

from __future__ import annotations

import re

from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import LONG, Field
from skipstone.write.locations import DataLocations, entropy_of


def metadata(**properties: str) -> TableMetadata:
    schema = Schema(fields=(Field(id=1, name="id", type=LONG),))
    named = {k.replace("__", ".").replace("_", "-"): v for k, v in properties.items()}
    return new_table_metadata(schema, location="s3://bucket/db/t", now_ms=1, properties=named)


def test_files_lie_under_data_by_partition_with_names_of_their_own() -> None:
    locations = DataLocations(metadata(), task=3)
    first, second = locations.new("p=1", "parquet"), locations.new("", "orc", suffix="-deletes")
    assert re.fullmatch(r"s3://bucket/db/t/data/p=1/00003-0-[0-9a-f-]{36}-00001\.parquet", first)
    assert re.fullmatch(r"s3://bucket/db/t/data/00003-0-[0-9a-f-]{36}-00002-deletes\.orc", second)


def test_parts_that_no_file_system_takes_are_cut_and_told_apart_by_a_digest() -> None:
    locations = DataLocations(metadata())
    fits, wide = "s=" + "x" * 253, "s=" + "\U0001f600" * 64
    assert f"/data/{fits}/p=1/" in locations.new(f"{fits}/p=1", "parquet")
    parts = [locations.new(f"{wide}{end}/p=1", "parquet").split("/")[-3:-1] for end in "abb"]
    assert all(len(long.encode()) <= 255 and long.startswith("s=\U0001f600") and p == "p=1" for long, p in parts)
    assert parts[0] != parts[1] == parts[2]


def test_the_data_path_of_the_table_is_used() -> None:
    assert DataLocations(metadata(write__data__path="s3://other/")).new("", "avro").startswith("s3://other/00000-0-")


def test_object_storage_spreads_names_as_iceberg_java_does() -> None:
    name = "p=c%2Fd/00000-175-d3f5a4e2-d1f0-4a75-bac6-effcee3c287f-0-00002.parquet"
    assert entropy_of(name) == "0000/0100/0011/11001000"


def test_object_storage_puts_entropy_in_front_of_the_partition() -> None:
    location = DataLocations(metadata(write__object_storage__enabled="true")).new("p=1", "parquet")
    assert re.fullmatch(r"s3://bucket/db/t/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/p=1/00000-0-.*\.parquet", location)


def test_object_storage_without_partition_directories_joins_entropy_and_name() -> None:
    properties = {"write__object_storage__enabled": "true", "write__object_storage__partitioned_paths": "false"}
    location = DataLocations(metadata(**properties)).new("p=1", "parquet")
    assert re.fullmatch(r"s3://bucket/db/t/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}-00000-0-.*\.parquet", location)


def test_tables_that_share_a_data_path_are_told_apart() -> None:
    properties = {"write__object_storage__enabled": "true", "write__data__path": "s3://shared"}
    location = DataLocations(metadata(**properties)).new("p=1", "parquet")
    assert re.fullmatch(r"s3://shared/[01]{4}/[01]{4}/[01]{4}/[01]{8}/db/t/p=1/00000-0-.*\.parquet", location)
