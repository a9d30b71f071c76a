"""Properties of columns go with their columns."""

from __future__ import annotations

from pathlib import Path

import pytest

import skipstone
from skipstone import Lake
from skipstone.errors import InvalidInput

METRICS = "write.metadata.metrics.column."
BLOOM = "write.parquet.bloom-filter-enabled.column."
COLUMNS = [("a", "long"), ("b", "long"), ("s", "struct<x: double, y: string>")]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


def test_a_renamed_column_keeps_its_properties_and_a_new_one_of_the_old_name_has_none(lake: Lake) -> None:
    properties = {METRICS + "a": "none", METRICS + "b": "full", BLOOM + "a": "true", "skipstone.index.columns": "b, a"}
    table = lake.create_table("db.t", COLUMNS, properties=properties)
    with table.update_schema() as schema:
        schema.rename_column("a", "c")
    with table.update_schema() as schema:
        schema.add_column("a", "long")
    assert table.properties == {
        METRICS + "c": "none", METRICS + "b": "full", BLOOM + "c": "true", "skipstone.index.columns": "b,c",
    }  # fmt: skip
    table.append([{"c": 1, "b": 2, "a": 3}])
    (file,) = table.inspect.files().to_pylist()
    ids = {n: table.schema.field(n).id for n in "abc"}
    bounds = dict(file["lower_bounds"])
    assert ids["c"] not in bounds and {ids["a"], ids["b"]} <= set(bounds)


def test_names_that_are_exchanged_take_their_properties_along(lake: Lake) -> None:
    table = lake.create_table("db.t", COLUMNS, properties={METRICS + "a": "none", METRICS + "b": "full"})
    with table.transaction() as tx:
        for old, new in (("a", "z"), ("b", "a"), ("z", "b")):
            with tx.update_schema() as schema:
                schema.rename_column(old, new)
    assert table.properties == {METRICS + "b": "none", METRICS + "a": "full"}


def test_properties_inside_a_renamed_struct_follow_and_those_of_a_dropped_column_go(lake: Lake) -> None:
    keys = {METRICS + "s.x": "full", METRICS + "s.y": "counts", "skipstone.index.columns": "s.y", "owner": "me"}
    table = lake.create_table("db.t", COLUMNS, properties=keys)
    with table.update_schema() as schema:
        schema.rename_column("s", "t")
    with table.update_schema() as schema:
        schema.delete_column("t.y")
    assert table.properties == {METRICS + "t.x": "full", "owner": "me"}


def test_a_new_table_has_metrics_of_its_columns_only(lake: Lake) -> None:
    with pytest.raises(InvalidInput, match=r"metrics\.column\.zip.*no such column.*Columns: a, b"):
        lake.create_table("db.t", COLUMNS, properties={METRICS + "zip": "full"})
    assert not lake.table_exists("db.t")


def test_a_level_is_refused_when_its_codec_does_not_have_it(lake: Lake) -> None:
    level, codec = "write.parquet.compression-level", "write.parquet.compression-codec"
    with pytest.raises(InvalidInput, match=r"compression-level: expected a level from .* for zstd, got 99"):
        lake.create_table("db.t", COLUMNS, properties={level: "99"})
    table = lake.create_table("db.t", COLUMNS, properties={level: "15"})
    with pytest.raises(InvalidInput, match=r"for gzip, got 15"):
        table.set_properties({codec: "gzip"})
    table.set_properties({codec: "gzip", level: "9"})
    table.set_properties({codec: "snappy", level: "1000"})
    with pytest.raises(InvalidInput, match=r"for zstd, got 1000"):
        table.remove_properties(codec)
    table.append([{"a": 1}])
    assert table.scan().count() == 1
