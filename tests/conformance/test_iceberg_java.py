"""Iceberg's own Spark runtime reads our v1, v2 and v3 tables: rows, deletes, lineage, defaults and metadata tables."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.java_rows import query
from tests.support.sample_tables import SCHEMA, comparable_rows, rows
from tests.support.table_builder import TableBuilder
from tests.support.table_reader import open_file

from skipstone.metadata.manifests.manifest import EntryStatus, ManifestContent
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.tables.table_metadata_json import serialize_table_metadata
from skipstone.metadata.types import (
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIME,
    TIMESTAMP_NS,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    Field,
    FixedType,
    GeometryType,
    StructType,
)
from skipstone.metadata.values import parse_bound, serialize_bound
from skipstone.metadata.values.geo import serialize_wkb
from skipstone.metadata.values.geo_wkt import parse_wkt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = [f.name for f in SCHEMA.fields]
# Java's Spark tables of metadata cannot show bounds of uuid columns.
SHOWN = Schema(fields=tuple(f for f in SCHEMA.fields if f.name != "key"))
LINEAGE = ["_row_id", "_last_updated_sequence_number"]

Make = Callable[..., TableBuilder]


@pytest.fixture
def make(iceberg_java: SparkSession, iceberg_warehouse: Path, request: pytest.FixtureRequest) -> Make:
    """Builds tables in the catalog's warehouse, named after the test."""
    name = "".join(c if c.isalnum() else "_" for c in request.node.name)

    def build(schema: Schema = SCHEMA, **options: Any) -> TableBuilder:
        return TableBuilder(iceberg_warehouse / "db" / name, schema, **options)

    return build


def _name(builder: TableBuilder) -> str:
    return f"java.db.{builder.home.name}"


def jvm_class(spark: SparkSession, name: str) -> Any:
    from tests.support.spark import jvm_class as found  # late: most runs need no Spark

    return found(spark, name)


def _listed(spark: SparkSession, iterable: Any) -> list[Any]:
    """What a Java Iterable holds."""
    lists = jvm_class(spark, "org.apache.iceberg.relocated.com.google.common.collect.Lists")
    return list(lists.newArrayList(iterable.iterator()))


def _read(spark: SparkSession, builder: TableBuilder, columns: list[str], where: str = "true") -> list[dict[str, Any]]:
    found = query(spark, f"SELECT {', '.join(columns)} FROM {_name(builder)} WHERE {where}")
    return comparable_rows(found, columns)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_reads_every_row_of_our_unpartitioned_table(iceberg_java: SparkSession, make: Make, version: int) -> None:
    builder = make(format_version=version)
    builder.append(rows(*range(10)))
    builder.append(rows(*range(10, 13)))
    assert _read(iceberg_java, builder, COLUMNS) == comparable_rows(rows(*range(13)), COLUMNS)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_reads_and_prunes_our_table_partitioned_by_a_fixed(
    iceberg_java: SparkSession, make: Make, version: int
) -> None:
    schema = Schema(fields=(Field(id=1, name="id", type=LONG), Field(id=2, name="code", type=FixedType(3))))
    builder = make(schema, partition_by=["code"], format_version=version)
    builder.append([{"id": 1, "code": b"abc"}, {"id": 2, "code": b"\x00\xff\x01"}, {"id": 3, "code": None}])
    found = query(iceberg_java, f"SELECT id, code FROM {_name(builder)} ORDER BY id")
    assert [bytes(r["code"] or b"") for r in found] == [b"abc", b"\x00\xff\x01", b""]
    assert query(iceberg_java, f"SELECT id FROM {_name(builder)} WHERE code = X'616263'") == [{"id": 1}]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    "partition_by",
    [
        ["region", "bucket(4, id)"],
        ["truncate(3, region)", "truncate(50, amount)", "year(ts)", "month(tz)"],
        ["day", "hour(ts)", "bucket(3, key)", "flag"],
        ["day(tz)", "big", "raw", "point.y"],
    ],
    ids=["identity-bucket", "truncate-year-month", "date-hour-uuid", "day-decimal-binary-nested"],
)
def test_java_reads_and_prunes_our_partitioned_table(
    iceberg_java: SparkSession, make: Make, version: int, partition_by: list[str]
) -> None:
    builder = make(format_version=version, partition_by=partition_by)
    builder.append(rows(*range(16)))
    assert _read(iceberg_java, builder, COLUMNS) == comparable_rows(rows(*range(16)), COLUMNS)
    for where, kept in (
        ("region = 'north'", [i for i in range(16) if i % 5 == 1]),
        ("region IS NULL", [i for i in range(16) if i % 5 == 0]),
        ("id IN (3, 4)", [3, 4]),
        ("tz < TIMESTAMP '2026-02-02 00:00:00 UTC'", [0, 1, 2]),
        ("ts >= TIMESTAMP_NTZ '1970-01-01 05:00:00'", [i for i in range(16) if i % 6 != 5 and i >= 7]),
        ("day = DATE '1970-01-01'", [4]),
        ("amount BETWEEN 0 AND 50", [i for i in range(16) if i % 6 != 5 and 0 <= i * 1_234 - 5_000 <= 5_000]),
        ("key = '07000000-0000-0000-0000-000000000007'", [7]),
        ("isnan(f)", [i for i in range(16) if i % 6 != 5 and i % 3 == 0]),
        ("point.y > 12", [13, 14, 15]),
    ):
        assert _read(iceberg_java, builder, COLUMNS, where) == comparable_rows(rows(*kept), COLUMNS), where


@pytest.mark.parametrize("version", [2, 3])
def test_java_applies_our_position_deletes_and_deletion_vectors(
    iceberg_java: SparkSession, make: Make, version: int
) -> None:
    builder = make(format_version=version, partition_by=["bucket(2, id)"])
    first, second = builder.append(rows(*range(12)))
    builder.delete_positions({first.file_path: [0, 2], second.file_path: [1]})
    kept = query(iceberg_java, f"SELECT id, _file, _pos FROM {_name(builder)}")
    gone = {(first.file_path, 0), (first.file_path, 2), (second.file_path, 1)}
    assert len(kept) == 9
    normal = {(path.replace("file:///", "file:/"), pos) for path, pos in gone}
    assert normal.isdisjoint({(row["_file"].replace("file:///", "file:/"), row["_pos"]) for row in kept})
    content = query(iceberg_java, f"SELECT content, file_format, record_count FROM {_name(builder)}.delete_files")
    expected = "PUFFIN" if version == 3 else "PARQUET"
    assert [(c["content"], c["file_format"]) for c in content] == [(1, expected)] * 2
    assert sorted(c["record_count"] for c in content) == [1, 2]


def test_java_applies_our_equality_deletes(iceberg_java: SparkSession, make: Make) -> None:
    builder = make(format_version=2)
    builder.append(rows(*range(8)))
    builder.delete_equal([{"region": "north"}, {"region": None}], ["region"])
    builder.append(rows(11))  # north, but newer than the delete
    assert [r["id"] for r in _read(iceberg_java, builder, ["id"])] == [2, 3, 4, 7, 11]


def test_java_gives_rows_of_our_v3_table_the_ids_and_numbers_of_the_manifests(
    iceberg_java: SparkSession, make: Make
) -> None:
    builder = make(format_version=3, partition_by=["bucket(2, id)"])
    builder.append(rows(*range(6)))
    builder.append(rows(*range(6, 10)))
    read = query(iceberg_java, f"SELECT id, _file, _pos, {', '.join(LINEAGE)} FROM {_name(builder)}")
    assert sorted(r["_row_id"] for r in read) == list(range(10))
    opened = open_file(builder.metadata_location)
    ours: dict[str, tuple[int, int]] = {}
    for manifest in opened.manifests(opened.metadata.current_snapshot):
        for entry in opened.entries(manifest).to_pylist():
            ours[entry["file_path"].replace("file:///", "file:/")] = (entry["first_row_id"], entry["sequence_number"])
    for row in read:
        first_row_id, sequence_number = ours[row["_file"].replace("file:///", "file:/")]
        assert row["_row_id"] == first_row_id + row["_pos"]
        assert row["_last_updated_sequence_number"] == sequence_number
    assert builder.metadata.next_row_id == 10


def test_java_gives_row_ids_after_our_upgrade_from_v1(iceberg_java: SparkSession, make: Make) -> None:
    builder = make(format_version=1, partition_by=["region"])
    builder.append(rows(0, 1, 2))
    builder.upgrade(2)
    builder.append(rows(3, 4))
    builder.upgrade(3)
    before = query(iceberg_java, f"SELECT id, _row_id FROM {_name(builder)}")
    assert {row["_row_id"] for row in before} == {None}
    builder.append(rows(6))
    after = query(iceberg_java, f"SELECT id, {', '.join(LINEAGE)} FROM {_name(builder)} ORDER BY id")
    assert sorted(row["_row_id"] for row in after) == list(range(6))
    assert [row["_last_updated_sequence_number"] for row in after] == [0, 0, 0, 1, 1, 2]
    assert _read(iceberg_java, builder, COLUMNS) == comparable_rows(rows(0, 1, 2, 3, 4, 6), COLUMNS)


def test_java_fills_in_the_defaults_of_our_columns(iceberg_java: SparkSession, make: Make) -> None:
    builder = make(format_version=3)
    builder.append(rows(0, 1))
    builder.change_schema(
        lambda update: (
            update.add_column("needed", INT, required=True, default=7)
            .add_column("text", STRING, default="né")
            .add_column("when", DATE, default=-1)
            .add_column("ratio", DOUBLE, default=-0.5)
            .add_column("plain", LONG)
        )
    )
    builder.append([{**rows(2)[0], "needed": 8, "text": None, "when": None, "ratio": 1.0, "plain": 9}])
    read = query(
        iceberg_java,
        f"SELECT id, needed, text, CAST(when AS STRING) AS when, ratio, plain FROM {_name(builder)} ORDER BY id",
    )
    default = {"needed": 7, "text": "né", "when": "1969-12-31", "ratio": -0.5, "plain": None}
    assert read == [
        {"id": 0, **default},
        {"id": 1, **default},
        {"id": 2, "needed": 8, "text": None, "when": None, "ratio": 1.0, "plain": 9},
    ]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_follows_our_schema_and_spec_evolution(iceberg_java: SparkSession, make: Make, version: int) -> None:
    builder = make(format_version=version, partition_by=["region"])
    builder.append(rows(0, 1, 2))

    def evolve(update: SchemaUpdate) -> SchemaUpdate:
        return (
            update.rename_column("i", "quantity")
            .update_column("f", type=DOUBLE)
            .delete_column("flag")
            .add_column(("point", "z"), LONG)
            .move_first("amount")
        )

    builder.change_schema(evolve)
    builder.change_schema(lambda update: update.add_column("flag", STRING))
    builder.change_spec(lambda update: update.remove_field("region").add_term("day(tz)").add_term("truncate(2, raw)"))
    added = [{**row, "quantity": row.get("i"), "flag": "new"} for row in rows(3, 4, 6)]
    added[0]["point"] = {"x": None, "y": 3, "z": 33}
    builder.append(added)
    columns = [f.name for f in builder.metadata.current_schema.fields]
    old = [{**row, "quantity": row["i"], "flag": None} for row in rows(0, 1, 2)]
    for row in [*old, *added[1:]]:
        row["point"] = row["point"] | {"z": None}
    assert _read(iceberg_java, builder, columns) == comparable_rows([*old, *added], columns)
    assert [r["id"] for r in _read(iceberg_java, builder, ["id"], "region = 'north' AND quantity < 0")] == [1]
    assert [r["id"] for r in _read(iceberg_java, builder, ["id"], "flag = 'new' AND point.z = 33")] == [3]
    specs = {r["spec_id"] for r in query(iceberg_java, f"SELECT spec_id FROM {_name(builder)}.files")}
    assert specs == {0, 1}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_shows_our_files_with_the_metrics_we_wrote(iceberg_java: SparkSession, make: Make, version: int) -> None:
    builder = make(SHOWN, format_version=version, partition_by=["region"])
    builder.append(rows(*range(10)))
    shown = query(
        iceberg_java,
        "SELECT file_path, file_format, record_count, file_size_in_bytes, column_sizes, value_counts,"
        f" null_value_counts, nan_value_counts, lower_bounds, upper_bounds, split_offsets FROM {_name(builder)}.files",
    )
    theirs = {row.pop("file_path"): row for row in shown}
    assert len(theirs) == len(builder.data_files)
    for file in builder.data_files:
        row = theirs[file.file_path]
        assert (row["record_count"], row["file_size_in_bytes"]) == (file.record_count, file.file_size_in_bytes)
        assert row["split_offsets"] == list(file.split_offsets or ())
        for name in (
            "column_sizes",
            "value_counts",
            "null_value_counts",
            "nan_value_counts",
            "lower_bounds",
            "upper_bounds",
        ):
            assert dict(row[name]) == getattr(file, name), name


def test_java_reads_our_bounds_as_the_values_they_stand_for(iceberg_java: SparkSession, make: Make) -> None:
    builder = make(SHOWN, format_version=2)
    builder.append(rows(1, 2, 3))
    shown = query(iceberg_java, f"SELECT readable_metrics.* FROM {_name(builder)}.files")[0]
    assert (shown["id"]["lower_bound"], shown["id"]["upper_bound"]) == (1, 3)
    assert (shown["i"]["lower_bound"], shown["i"]["upper_bound"]) == (-13, 1)
    assert (shown["d"]["lower_bound"], shown["d"]["upper_bound"]) == (float("-inf"), 1e300)
    assert (str(shown["amount"]["lower_bound"]), str(shown["amount"]["upper_bound"])) == ("-37.66", "-12.98")
    assert shown["region"]["lower_bound"] == "east / west"
    assert shown["f"]["nan_value_count"] == 1
    assert shown["day"]["upper_bound"].isoformat() == "1969-12-31"
    assert shown["point.y"]["null_value_count"] == 0


@pytest.mark.parametrize("version", [1, 2, 3])
def test_java_shows_our_manifests_partitions_and_snapshots(
    iceberg_java: SparkSession, make: Make, version: int
) -> None:
    builder = make(format_version=version, partition_by=["region"])
    builder.append(rows(*range(10)))
    builder.append(rows(11))
    name = _name(builder)
    manifests = query(
        iceberg_java,
        "SELECT length, content, added_snapshot_id, added_data_files_count, existing_data_files_count,"
        f" deleted_data_files_count, partition_summaries FROM {name}.manifests",
    )
    ours = builder.manifests
    assert [m["length"] for m in manifests] == [m.manifest_length for m in ours]
    assert [m["added_data_files_count"] for m in manifests] == [1, 5]
    assert [m["added_snapshot_id"] for m in manifests] == [m.added_snapshot_id for m in ours]
    newest, oldest = (m["partition_summaries"][0] for m in manifests)
    assert (newest["contains_null"], newest["lower_bound"], newest["upper_bound"]) == (False, "north", "north")
    assert (oldest["contains_null"], oldest["lower_bound"], oldest["upper_bound"]) == (
        True,
        "east / west",
        "übersee 🌊",
    )
    partitions = query(iceberg_java, f"SELECT partition.region, record_count, file_count FROM {name}.partitions")
    counts = {p["region"]: (p["record_count"], p["file_count"]) for p in partitions}
    assert counts == {None: (2, 1), "north": (3, 2), "south": (2, 1), "east / west": (2, 1), "übersee 🌊": (2, 1)}
    snapshots = query(iceberg_java, f"SELECT snapshot_id, parent_id, operation, summary FROM {name}.snapshots")
    assert [s["snapshot_id"] for s in snapshots] == [s.snapshot_id for s in builder.metadata.snapshots]
    assert [dict(s["summary"])["total-records"] for s in snapshots] == ["10", "11"]
    history = query(iceberg_java, f"SELECT is_current_ancestor FROM {name}.history")
    assert [h["is_current_ancestor"] for h in history] == [True, True]


def test_java_travels_to_our_older_snapshots(iceberg_java: SparkSession, make: Make) -> None:
    builder = make(format_version=3)
    builder.append(rows(1))
    builder.append(rows(2))
    first = builder.metadata.snapshots[0].snapshot_id
    assert query(iceberg_java, f"SELECT id FROM {_name(builder)} VERSION AS OF {first}") == [{"id": 1}]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_java_commits_to_our_table_reads_here(iceberg_java: SparkSession, make: Make, version: int) -> None:
    """Java appends, deletes and compacts manifests; our manifests are carried over and nothing is lost."""
    schema = Schema(
        fields=(
            Field(id=1, name="id", type=LONG, required=True),
            Field(id=2, name="region", type=STRING),
            Field(id=3, name="p", type=StructType((Field(id=4, name="x", type=DOUBLE),))),
        )
    )
    builder = make(
        schema,
        format_version=version,
        partition_by=["region"],
        properties={"write.delete.mode": "merge-on-read"} if version > 1 else {},
    )
    builder.append([{"id": i, "region": "ab"[i % 2], "p": {"x": i / 2}} for i in range(6)])
    name = _name(builder)
    iceberg_java.sql(f"INSERT INTO {name} VALUES (100, 'a', named_struct('x', 1.5D)), (101, null, null)")
    iceberg_java.sql(f"DELETE FROM {name} WHERE id IN (0, 100)")
    iceberg_java.sql(f"CALL java.system.rewrite_manifests('db.{builder.home.name}')")
    hint = (builder.home / "metadata" / "version-hint.text").read_text()
    opened = open_file(f"file://{builder.home}/metadata/v{hint}.metadata.json")
    live = 0
    for manifest in opened.manifests(opened.metadata.current_snapshot):
        entries = opened.entries(manifest)
        sign = 1 if manifest.content == ManifestContent.DATA else -1
        for entry in entries.to_pylist():
            if entry["status"] != EntryStatus.DELETED:
                live += sign * entry["record_count"]
            for field_id, bound in entry["lower_bounds"] or ():
                field = opened.metadata.current_schema.find(field_id)
                if field is not None:
                    assert serialize_bound(field.type, parse_bound(field.type, bound)) == bound
    assert live == 6
    assert [r["id"] for r in query(iceberg_java, f"SELECT id FROM {name} ORDER BY id")] == [1, 2, 3, 4, 5, 101]
    assert len(opened.metadata.snapshots) >= 4
    if version == 3:
        assert opened.metadata.next_row_id >= 8


def test_java_reads_our_v3_types_with_its_generic_reader(iceberg_java: SparkSession, make: Make) -> None:
    """Spark has no nanoseconds and no unknown type, so Java's own record reader is asked."""
    schema = Schema(
        fields=(
            Field(id=1, name="id", type=LONG, required=True),
            Field(id=2, name="tn", type=TIMESTAMP_NS),
            Field(id=3, name="tzn", type=TIMESTAMPTZ_NS),
            Field(id=4, name="un", type=UNKNOWN),
            Field(id=5, name="geom", type=GeometryType("srid:3857")),
            Field(id=6, name="clock", type=TIME),
        )
    )
    builder = make(schema, format_version=3, partition_by=["hour(tn)", "bucket(2, tzn)", "clock"])
    point = serialize_wkb(parse_wkt("POINT (30 10)"))
    nanos = 1_700_000_000_123_456_789
    builder.append([{"id": 1, "tn": nanos, "tzn": -1, "geom": point, "clock": 86_399_999_999}, {"id": 2}])
    table = jvm_class(iceberg_java, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable(
        iceberg_java._jsparkSession, _name(builder)
    )
    generics = jvm_class(iceberg_java, "org.apache.iceberg.data.IcebergGenerics")
    expressions = jvm_class(iceberg_java, "org.apache.iceberg.expressions.Expressions")
    names = [f.name for f in schema.fields if f.name != "geom"]
    read = {}
    for record in _listed(iceberg_java, generics.read(table).build()):
        shown = {name: str(value) if (value := record.getField(name)) is not None else None for name in names}
        read[shown.pop("id")] = shown
    assert read == {
        "1": {
            "tn": "2023-11-14T22:13:20.123456789",
            "tzn": "1969-12-31T23:59:59.999999999Z",
            "un": None,
            "clock": "23:59:59.999999",
        },
        "2": {"tn": None, "tzn": None, "un": None, "clock": None},
    }
    later = expressions.greaterThan("tn", "2023-11-14T22:13:20.123456789")
    assert _listed(iceberg_java, generics.read(table).where(later).build()) == []
    same = expressions.equal("tn", "2023-11-14T22:13:20.123456789")
    assert len(_listed(iceberg_java, generics.read(table).where(same).build())) == 1
    (task,) = _listed(iceberg_java, table.newScan().includeColumnStats().filter(same).planFiles())
    assert bytes(task.file().lowerBounds()[5].array()) == struct.pack("<dd", 30, 10)


def test_java_reads_our_gzip_metadata(iceberg_java: SparkSession, make: Make) -> None:
    builder = make(format_version=2)
    builder.append(rows(5))
    plain = Path(builder.metadata_location.removeprefix("file://"))
    plain.with_name(plain.name.replace(".metadata", ".gz.metadata")).write_bytes(
        serialize_table_metadata(builder.metadata, compression="gzip")
    )
    plain.unlink()
    assert [r["id"] for r in _read(iceberg_java, builder, ["id"])] == [5]
