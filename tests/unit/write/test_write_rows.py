"""Rows to data files: what is written is what was given, and the entries say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support.written import read_values, stored

import skipstone
from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.formats.arrow_types import to_arrow_schema, values_to_array
from skipstone.metadata.partitions.partition_evolution import build_spec
from skipstone.metadata.partitions.sorting import build_sort_order
from skipstone.metadata.reserved import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.types import (
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    TIMESTAMPTZ_NS,
    UNKNOWN,
    UUID,
    Field,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
)
from skipstone.storage import LocalStorage, MemoryStorage
from skipstone.storage.paths import local_path
from skipstone.write import write_rows
from skipstone.write.avro import layout as avro_layout
from skipstone.write.settings import delete_settings

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG, required=True),
        Field(id=2, name="s", type=STRING),
        Field(id=3, name="d", type=DOUBLE),
        Field(id=4, name="st", type=StructType((Field(id=5, name="x", type=INT),))),
    )
)
ROWS = [
    {"id": 1, "s": "a", "d": 1.0, "st": {"x": 1}},
    {"id": 2, "s": "b", "d": float("nan"), "st": None},
    {"id": 3, "s": None, "d": None, "st": {"x": None}},
    {"id": 4, "s": "a", "d": -0.0, "st": {"x": 4}},
]


def table_metadata(partition_by: tuple[str, ...] = (), **properties: str) -> Any:
    return new_table_metadata(
        SCHEMA,
        location="memory://lake/t",
        now_ms=1,
        spec=build_spec(SCHEMA, list(partition_by)),
        properties=properties,
        format_version=2,
    )


def read(storage: MemoryStorage, path: str) -> pa.Table:
    with storage.open(path) as file:
        return pq.read_table(file)


def test_an_unpartitioned_write_is_one_file_with_exact_metrics() -> None:
    storage = MemoryStorage()
    files = write_rows(pa.Table.from_pylist(ROWS), metadata=table_metadata(), storage=storage)
    (file,) = files.to_pylist()
    assert read(storage, file["file_path"]).column("id").to_pylist() == [1, 2, 3, 4]
    assert file["record_count"] == 4
    assert file["file_size_in_bytes"] == storage.size(file["file_path"])
    assert file["spec_id"] == 0
    assert dict(file["value_counts"]) == {1: 4, 2: 4, 3: 4, 5: 4}
    assert dict(file["null_value_counts"]) == {1: 0, 2: 1, 3: 1, 5: 2}
    assert dict(file["nan_value_counts"]) == {3: 1}
    assert dict(file["lower_bounds"])[2] == b"a"
    assert dict(file["upper_bounds"])[5] == (4).to_bytes(4, "little")
    assert file["split_offsets"] == [4]


def test_rows_go_to_one_file_a_partition_in_the_order_of_their_first_rows() -> None:
    storage = MemoryStorage()
    files = write_rows(pa.Table.from_pylist(ROWS), metadata=table_metadata(("s",)), storage=storage).to_pylist()
    assert [f["partition"] for f in files] == [{"s": "a"}, {"s": "b"}, {"s": None}]
    assert [read(storage, f["file_path"]).column("id").to_pylist() for f in files] == [[1, 4], [2], [3]]
    assert [f["file_path"].split("/")[-2] for f in files] == ["s=a", "s=b", "s=null"]


def test_a_row_that_does_not_fit_leaves_no_file_behind() -> None:
    storage = MemoryStorage()
    good = pa.RecordBatch.from_pylist([{"id": 1, "s": "a"}] * 10)
    bad = pa.RecordBatch.from_pylist([{"id": None, "s": "a"}], schema=good.schema)
    metadata = table_metadata(**{"write.target-file-size-bytes": "1", "write.parquet.row-group-size-bytes": "1"})
    reader = pa.RecordBatchReader.from_batches(good.schema, [good, bad])
    with pytest.raises(InvalidInput, match="'id'"):
        write_rows(reader, metadata=metadata, storage=storage)
    assert list(storage.list("memory://lake")) == []


def test_a_source_that_fails_leaves_no_file_behind_open_or_closed(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pylist([{"id": 1, "s": "a"}] * 10)

    def broken() -> Iterator[pa.RecordBatch]:
        yield batch
        raise RuntimeError("the source broke")

    metadata = replace(table_metadata(**{"write.parquet.row-group-size-bytes": "1"}), location=f"file://{tmp_path}/t")
    reader = pa.RecordBatchReader.from_batches(batch.schema, broken())
    with pytest.raises(RuntimeError, match="the source broke"):
        write_rows(reader, metadata=metadata, storage=LocalStorage())
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_files_roll_at_the_target_size(file_format: str) -> None:
    storage = MemoryStorage()
    rows = pa.table({"id": range(20_000), "s": [f"{i * 7919 % 10007}" for i in range(20_000)]})
    files = write_rows(
        rows, metadata=table_metadata(), storage=storage, file_format=file_format, target_file_size_bytes=50_000
    ).to_pylist()
    assert len(files) >= 2
    assert sum(f["record_count"] for f in files) == 20_000
    assert max(f["file_size_in_bytes"] for f in files) < 150_000


def test_each_file_of_a_sorted_write_is_sorted_even_when_memory_is_short() -> None:
    storage = MemoryStorage()
    order = build_sort_order(SCHEMA, ["id desc"])
    metadata = replace(table_metadata(), sort_orders=(order,), default_sort_order_id=order.order_id)
    rows = pa.table({"id": [3, 1, 2, 9, 7, 8]})
    reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=3))
    files = write_rows(reader, metadata=metadata, storage=storage, buffer_bytes=30).to_pylist()
    assert [read(storage, f["file_path"]).column("id").to_pylist() for f in files] == [[3, 2, 1], [9, 8, 7]]
    assert [f["sort_order_id"] for f in files] == [order.order_id] * 2


def test_an_order_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidInput, match="order of the table"):
        write_rows(
            pa.table({"id": [1]}),
            metadata=table_metadata(),
            storage=MemoryStorage(),
            sort_order=build_sort_order(SCHEMA, ["id"]),
        )


def test_rows_that_move_keep_their_lineage() -> None:
    storage = MemoryStorage()
    metadata = replace(table_metadata(), format_version=3)
    rows = pa.table({"id": [1, 2], "_row_id": [40, None], "_last_updated_sequence_number": [3, None]})
    (file,) = write_rows(rows, metadata=metadata, storage=storage, with_lineage=True).to_pylist()
    struct, table = stored(storage, file["file_path"])
    assert [f.id for f in struct.fields][-2:] == [ROW_ID.id, LAST_UPDATED_SEQUENCE_NUMBER.id]
    assert table.column("_row_id").to_pylist() == [40, None]
    assert max(dict(file["value_counts"])) <= 5


@pytest.mark.parametrize("with_lineage", [True, False])
def test_lineage_needs_v3_and_must_be_asked_for(with_lineage: bool) -> None:
    rows = pa.table({"id": [1], "_row_id": [1], "_last_updated_sequence_number": [1]})
    with pytest.raises(InvalidInput):
        write_rows(rows, metadata=table_metadata(), storage=MemoryStorage(), with_lineage=with_lineage)


def test_no_rows_are_no_files() -> None:
    storage = MemoryStorage()
    files = write_rows(pa.table({"id": pa.array([], pa.int64())}), metadata=table_metadata(("s",)), storage=storage)
    assert files.num_rows == 0
    assert list(storage.list("memory://lake")) == []


def test_many_partitions_keep_few_files_open() -> None:
    storage = MemoryStorage()
    rows = pa.table({"id": range(400), "s": [str(i % 200) for i in range(400)]})
    metadata = table_metadata(("s",), **{"write.parquet.row-group-size-bytes": "1"})
    reader = pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=200))
    files = write_rows(reader, metadata=metadata, storage=storage)
    assert pc.sum(files.column("record_count")).as_py() == 400
    assert len({p["s"] for p in files.column("partition").to_pylist()}) == 200


def test_float_partitions_are_told_apart_by_bits() -> None:
    nan = float("nan")
    rows = pa.table({"id": range(5), "d": [0.0, -0.0, nan, nan, 0.0]})
    files = write_rows(rows, metadata=table_metadata(("d",)), storage=MemoryStorage()).to_pylist()
    assert [f["record_count"] for f in files] == [2, 1, 2]


@pytest.mark.parametrize("partition_by", [("s",), ()])
def test_many_rows_come_back_whether_written_by_one_thread_or_several(partition_by: tuple[str, ...]) -> None:
    storage = MemoryStorage()
    rows = pa.table({"id": range(600_000), "s": pa.array(["a", "b", None] * 200_000)})
    files = write_rows(rows, metadata=table_metadata(partition_by), storage=storage).to_pylist()
    found = pa.concat_tables(read(storage, f["file_path"]) for f in files)
    assert len(files) == (3 if partition_by else 1)
    assert found.sort_by("id").select(["id", "s"]).cast(rows.schema).equals(rows)


def test_a_compression_level_beyond_the_codec_is_refused() -> None:
    metadata = table_metadata(**{"write.parquet.compression-level": "99"})
    with pytest.raises(InvalidInput, match="compression-level"):
        write_rows(pa.table({"id": [1]}), metadata=metadata, storage=MemoryStorage())


@pytest.mark.parametrize(
    ("file_format", "codec"),
    [("parquet", c) for c in ("zstd", "gzip", "brotli", "lz4", "lz4_raw", "snappy", "uncompressed")]
    + [("avro", c) for c in ("gzip", "zstd", "snappy", "uncompressed")]
    + [("orc", c) for c in ("zlib", "zstd", "lz4", "snappy", "none")],
)
def test_every_codec_of_the_properties_is_written(file_format: str, codec: str) -> None:
    storage = MemoryStorage()
    properties = {f"write.{file_format}.compression-codec": codec, "write.parquet.compression-level": "3"}
    metadata = table_metadata(**{"write.format.default": file_format, **properties})
    (file,) = write_rows(pa.table({"id": [1, 2]}), metadata=metadata, storage=storage).to_pylist()
    assert read_values(storage, file["file_path"], StructType(SCHEMA.fields[:1])) == [{1: 1}, {1: 2}]


def test_rows_are_sorted_by_uuid_bytes_and_by_floats_as_the_format_orders_them() -> None:
    schema = Schema(fields=(Field(id=1, name="u", type=UUID), Field(id=2, name="d", type=DOUBLE)))
    for terms, expected in (
        (["u"], [None, 1, 2**127]),
        (["u desc nulls first"], [None, 2**127, 1]),
        (["d"], [2**127, None, 1]),
    ):
        order = build_sort_order(schema, terms)
        metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1, sort_order=order)
        uuids = pa.array([(2**127).to_bytes(16, "big"), None, (1).to_bytes(16, "big")], pa.uuid())
        storage = MemoryStorage()
        rows = pa.table({"u": uuids, "d": [-0.0, 0.0, float("nan")]})
        (file,) = write_rows(rows, metadata=metadata, storage=storage).to_pylist()
        found = read_values(storage, file["file_path"], schema.struct)
        assert [None if r[1] is None else r[1].int for r in found] == expected


def test_a_struct_of_unknown_fields_only_is_refused_where_the_format_has_none() -> None:
    schema = Schema(
        fields=(
            Field(id=1, name="id", type=LONG),
            Field(id=2, name="st", type=StructType((Field(id=3, name="x", type=UNKNOWN),))),
        )
    )
    metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1, format_version=3)
    rows = pa.table({"id": [1]})
    with pytest.raises(Unsupported, match="'st'"):
        write_rows(rows, metadata=metadata, storage=MemoryStorage())
    assert write_rows(rows, metadata=metadata, storage=MemoryStorage(), file_format="avro").num_rows == 1


@pytest.mark.parametrize(
    ("file_format", "type_"),
    [
        ("avro", ListType(element_id=3, element=UNKNOWN)),
        ("orc", ListType(element_id=3, element=UNKNOWN)),
        ("orc", MapType(key_id=3, key=INT, value_id=4, value=UNKNOWN)),
    ],
)
def test_lists_and_maps_of_nothing_that_a_format_could_not_give_back_are_refused(file_format: str, type_: Type) -> None:
    schema = Schema(fields=(Field(id=1, name="id", type=LONG), Field(id=2, name="li", type=type_)))
    metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1, format_version=3)
    rows, storage = pa.table({"id": [1]}), MemoryStorage()
    with pytest.raises(Unsupported, match=r"Cannot write column 'li' \(id 2\)"):
        write_rows(rows, metadata=metadata, storage=storage, file_format=file_format)
    assert list(storage.list("memory://lake")) == []


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_timestamps_around_1970_come_back_from_every_format(file_format: str) -> None:
    types = (TIMESTAMP, TIMESTAMPTZ, TIMESTAMP_NS, TIMESTAMPTZ_NS)
    schema = Schema(fields=tuple(Field(id=i + 1, name=str(t), type=t) for i, t in enumerate(types)))
    metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1, format_version=3)
    ticks = [-(10**15), -(10**9), 0, 1, 999_999, 10**15, None]
    if file_format != "orc":
        ticks += [-1_000_001, -999_999, -1]
    storage = MemoryStorage()
    rows = pa.table([values_to_array(t, ticks) for t in types], schema=to_arrow_schema(schema))
    (file,) = write_rows(rows, metadata=metadata, storage=storage, file_format=file_format).to_pylist()
    found = read_values(storage, file["file_path"], schema.struct)
    assert [list(row.values()) for row in found] == [[tick] * 4 for tick in ticks]


def test_timestamps_that_could_not_be_read_back_from_orc_are_refused() -> None:
    schema = Schema(fields=(Field(id=1, name="l", type=ListType(element_id=2, element=TIMESTAMP)),))
    metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1)
    storage = MemoryStorage()
    rows = pa.table({"l": pa.array([[0], [2**62]], pa.list_(pa.timestamp("us")))})
    with pytest.raises(Unsupported, match=r"'l\.element' to ORC"):
        write_rows(rows, metadata=metadata, storage=storage, file_format="orc")
    assert list(storage.list("memory://lake")) == []


@pytest.mark.parametrize(
    ("type_", "tick", "refused"),
    [
        (TIMESTAMP, -1, True),
        (TIMESTAMPTZ, -1_000_001, True),
        (TIMESTAMP, -1_000_000, False),
        (TIMESTAMP, 1, False),
        (TIMESTAMP_NS, -1_000_000_001, True),
        (TIMESTAMPTZ_NS, -(10**9), False),
    ],
)
def test_fractions_before_1970_that_iceberg_java_would_read_a_second_early_are_refused_in_orc(
    type_: PrimitiveType, tick: int, refused: bool
) -> None:
    inside = StructType((Field(id=2, name="t", type=type_),))
    schema = Schema(fields=(Field(id=1, name="s", type=inside),))
    metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1, format_version=3)
    rows = pa.table([values_to_array(inside, [{2: tick}, {2: None}, None])], schema=to_arrow_schema(schema))
    storage = MemoryStorage()
    if not refused:
        assert write_rows(rows, metadata=metadata, storage=storage, file_format="orc").num_rows == 1
        return
    with pytest.raises(Unsupported, match=f"'s.t' to ORC: expected .* without a fraction of a second, got {tick} "):
        write_rows(rows, metadata=metadata, storage=storage, file_format="orc")
    assert list(storage.list("memory://lake")) == []


def test_rows_of_which_avro_stores_nothing_are_refused() -> None:
    schema = Schema(fields=(Field(id=1, name="u", type=UNKNOWN),))
    with pytest.raises(Unsupported, match="nothing is stored"):
        avro_layout(schema.struct)
    listed = ListType(element_id=3, element=StructType((Field(id=4, name="u", type=UNKNOWN),)), element_required=True)
    with pytest.raises(Unsupported, match=r"column 'l'"):
        avro_layout(StructType((Field(id=1, name="id", type=LONG), Field(id=2, name="l", type=listed))))


@pytest.mark.parametrize(
    ("file_format", "type_", "is_refused"),
    [
        ("orc", ListType(element_id=3, element=UNKNOWN), True),
        ("orc", MapType(key_id=3, key=STRING, value_id=4, value=UNKNOWN), True),
        ("avro", ListType(element_id=3, element=UNKNOWN), True),
        ("avro", MapType(key_id=3, key=STRING, value_id=4, value=UNKNOWN), False),
        ("parquet", ListType(element_id=3, element=UNKNOWN), False),
    ],
)
def test_lists_and_maps_of_unknown_come_back_or_are_refused_when_written(
    file_format: str, type_: ListType | MapType, is_refused: bool
) -> None:
    schema = Schema(fields=(Field(id=1, name="id", type=LONG), Field(id=2, name="l", type=type_)))
    metadata = new_table_metadata(schema, location="memory://lake/t", now_ms=1, format_version=3)
    rows = pa.table({"id": [1]})
    storage = MemoryStorage()
    if is_refused:
        with pytest.raises(Unsupported, match=r"Cannot write column 'l' \(id 2\)"):
            write_rows(rows, metadata=metadata, storage=storage, file_format=file_format)
        assert list(storage.list("memory://lake")) == []
    else:
        written = write_rows(rows, metadata=metadata, storage=storage, file_format=file_format)
        assert read_values(storage, written["file_path"][0].as_py(), schema.struct) == [{1: 1, 2: None}]


def test_a_column_whose_statistics_are_turned_off_has_none_in_the_footer_nor_in_the_manifest(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    off = {f"write.parquet.stats-enabled.column.{name}": "false" for name in ("a", "s.x")}
    table = lake.create_table(
        "t.t", [("a", "long"), ("b", "long"), ("s", "struct<x: string, y: double>")], properties=off
    )
    table.append([{"a": i, "b": i, "s": {"x": "x", "y": 1.0}} for i in range(10)])
    (file,) = table.inspect.files().to_pylist()
    group = pq.ParquetFile(local_path(file["file_path"])).metadata.row_group(0)
    has = {c.path_in_schema: c.is_stats_set for c in (group.column(i) for i in range(group.num_columns))}
    assert has == {"a": False, "b": True, "s.x": False, "s.y": True}
    ids = {name: table.schema.field(name).id for name in ("a", "b", "s.x", "s.y")}
    bounds = dict(file["lower_bounds"])
    assert {name for name, i in ids.items() if i in bounds} == {"b", "s.y"}
    assert table.scan("a = 3 AND s.x = 'x'").to_arrow().num_rows == 1
    assert table.scan("a = 30").to_arrow().num_rows == 0


@pytest.mark.parametrize("off", [(), ("a", "s.x"), ("a", "b", "s.x")])
def test_a_column_whose_dictionary_is_turned_off_has_none(tmp_path: Path, off: tuple[str, ...]) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    given = {f"write.parquet.dict-encoding-enabled.column.{name}": "false" for name in off}
    table = lake.create_table("t.t", [("a", "long"), ("b", "long"), ("s", "struct<x: string>")], properties=given)
    table.append([{"a": i % 3, "b": i % 3, "s": {"x": "x"}} for i in range(200)])
    (file,) = table.inspect.files().to_pylist()
    group = pq.ParquetFile(local_path(file["file_path"])).metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    assert {c.path_in_schema for c in columns if not c.has_dictionary_page} == {*off}
    assert table.scan("a = 1 AND s.x = 'x'").to_arrow().num_rows == 67


def test_the_pages_of_delete_files_have_limits_of_their_own() -> None:
    given = {"write.parquet.page-row-limit": "7", "write.delete.parquet.dict-size-bytes": "9"}
    settings = delete_settings({**given, "write.delete.avro.compression-level": "3"})
    assert (settings.page_row_limit, settings.dict_size_bytes, settings.page_size_bytes) == (7, 9, 1024 * 1024)
    assert delete_settings({"write.parquet.page-version": "v2"}).page_version == "v2"
    assert delete_settings({"write.delete.parquet.page-version": "V2"}).page_version == "v2"


def test_nothing_is_written_in_the_clear_to_a_table_that_asks_for_encryption(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    plain = lake.create_table("t.plain", [("a", "long")], format_version=3)
    plain.append([{"a": 1}])
    table = lake.create_table("t.t", [("a", "long")], format_version=3, properties={"encryption.key-id": "k"})
    before = sorted(tmp_path.rglob("*"))
    files = write_rows(pa.table({"a": [1]}), metadata=plain.metadata, storage=plain.storage)
    written = sorted(tmp_path.rglob("*"))
    for change in (
        lambda: table.append([{"a": 1}]),
        lambda: table.add_files(files),
        lambda: table.overwrite([{"a": 1}]),
    ):
        with pytest.raises(Unsupported, match=r"encryption\.key-id asks for encrypted"):
            change()
    assert len(written) == len(before) + 1 and sorted(tmp_path.rglob("*")) == written
