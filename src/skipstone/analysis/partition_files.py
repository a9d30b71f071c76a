"""Partition statistics files: written in the table's default format, and read whoever wrote them.

Law: a file that cannot be read, or that contradicts itself, is a FormatViolation or NotFound here; `find` turns it into
a warning that names the file.

Spec: "Partition Statistics File".
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.analysis.partition_counts import has_each_partition_once
from skipstone.catalog.metadata_store import metadata_directory
from skipstone.errors import AlreadyExists, FormatViolation, SkipstoneError
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.tables.properties import FILE_FORMAT, property_value
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import (
    BINARY,
    BinaryType,
    Field,
    FixedType,
    PrimitiveType,
    StructType,
    UnknownType,
    UuidType,
)
from skipstone.metadata.values import bound_type
from skipstone.plan.entries import unified_type
from skipstone.read.formats import open_file
from skipstone.read.opened import Question
from skipstone.stats.labels import ignore_file
from skipstone.stats.partition_layout import (
    COUNTS,
    LAST_UPDATED_AT,
    LAST_UPDATED_SNAPSHOT_ID,
    LAYOUT,
    MARKER,
    PARTITION,
    SPEC_ID,
    TOTAL_RECORD_COUNT,
    ZONE_FACTS,
    can_have_zone,
    partition_statistics_struct,
    wanted_struct,
    zone_columns,
)
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.stats.registered import of_known_snapshots
from skipstone.storage.paths import join
from skipstone.storage.protocol import Storage
from skipstone.write.avro import AvroFileWriter
from skipstone.write.file_writer import OpenFile
from skipstone.write.metrics import MetricsPlan
from skipstone.write.orc import OrcFileWriter
from skipstone.write.parquet import ParquetFileWriter
from skipstone.write.settings import data_settings
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute

_WRITERS: Final[dict[str, OpenFile]] = {"parquet": ParquetFileWriter, "orc": OrcFileWriter, "avro": AvroFileWriter}
_FACTS: Final = (TOTAL_RECORD_COUNT, LAST_UPDATED_AT, LAST_UPDATED_SNAPSHOT_ID)


# -- writing


def store_partition_statistics(
    statistics: PartitionStatistics, metadata: TableMetadata, storage: Storage, *, file_format: str | None = None
) -> PartitionStatisticsFile:
    """Write a file and say how to register it. A name that is taken gets a unique suffix."""
    chosen = file_format or property_value(metadata.properties, FILE_FORMAT)
    data = serialize_partition_statistics(statistics, metadata, chosen)
    directory, stem = metadata_directory(metadata), f"partition-stats-{statistics.snapshot_id}"
    path = join(directory, f"{stem}.{chosen}")
    registered = {f.statistics_path for f in metadata.partition_statistics}
    try:
        if path in registered or storage.exists(path):
            raise AlreadyExists(path)
        storage.write_new(path, data)
    except AlreadyExists:
        path = join(directory, f"{stem}-{uuid.uuid4()}.{chosen}")
        storage.write_new(path, data)
    return PartitionStatisticsFile(
        snapshot_id=statistics.snapshot_id, statistics_path=path, file_size_in_bytes=len(data)
    )


def serialize_partition_statistics(statistics: PartitionStatistics, metadata: TableMetadata, file_format: str) -> bytes:
    """The bytes of a file, its rows sorted."""
    ordered = statistics.sorted()
    zones = {i: f.type for i, f in ordered.zones.columns.items() if can_have_zone(f.type)}
    # A column of unknown type has no values, and no format could hold it.
    known = StructType(tuple(f for f in ordered.partition_type.fields if not isinstance(f.type, UnknownType)))
    if file_format == "avro":
        # Java looks for a length before every fixed value, also where it passes over one.
        known = StructType(tuple(_as_bytes(f) for f in known.fields))
        zones = {i: type_ for i, type_ in zones.items() if not isinstance(type_, FixedType)}
    struct = partition_statistics_struct(known, metadata.format_version, zones)
    table = pa.Table.from_arrays([_column(f, ordered, known) for f in struct.fields], schema=to_arrow_schema(struct))
    sink = pa.BufferOutputStream()
    settings = data_settings(metadata.properties, metadata.current_schema, file_format=file_format)
    settings = replace(settings, has_page_checksums=True)
    writer = _WRITERS[file_format](sink, struct, settings=settings, metrics=MetricsPlan(tracked=(), sized=()))
    writer.write(table)
    writer.finish()
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _as_bytes(field: Field) -> Field:
    """A partition field as Avro stores it: a fixed as bytes, because Iceberg Java expects a length before its value."""
    return replace(field, type=BINARY) if isinstance(field.type, FixedType) else field


def _column(field: Field, statistics: PartitionStatistics, partition_type: StructType) -> Any:
    rows, arrow = statistics.rows, to_arrow_schema(StructType((field,))).field(0).type
    if field.name == PARTITION:
        return _stored_partitions(rows.column(PARTITION), statistics.partition_type, partition_type, arrow)
    if field.name == MARKER:
        return pa.array(np.full(rows.num_rows, LAYOUT, np.int32))
    if field.name in rows.column_names:
        return rows.column(field.name).combine_chunks().cast(arrow)
    facts = statistics.zones.columns[int(field.name.removeprefix("zone_"))]
    assert isinstance(field.type, StructType)
    children = [_stored(getattr(facts, f.name), f, len(statistics)) for f in field.type.fields]
    return pa.StructArray.from_arrays(children, fields=list(arrow))


def _stored(values: Any, field: Field, length: int) -> Any:
    arrow = to_arrow_schema(StructType((field,))).field(0).type
    if values is None:
        return pa.nulls(length, arrow)
    return pa.ExtensionArray.from_storage(arrow, values) if isinstance(field.type, UuidType) else values.cast(arrow)


def _stored_partitions(column: Any, have: StructType, wanted: StructType, arrow: Any) -> Any:
    tuples = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    places = {f.id: i for i, f in enumerate(have.fields)}
    children = [_stored(tuples.field(places[f.id]), f, len(tuples)) for f in wanted.fields]
    return pa.StructArray.from_arrays(children, fields=list(arrow))


# -- reading


def find_partition_statistics(
    metadata: TableMetadata, storage: Storage, snapshot_id: int
) -> PartitionStatistics | None:
    """The registered statistics of a snapshot; None, with a warning, where the file is of no use."""
    file = of_known_snapshots(metadata.partition_statistics, metadata).get(snapshot_id)
    if file is None:
        return None
    try:
        found = load_partition_statistics(file, metadata, storage)
        if not found.is_sound():
            raise FormatViolation("expected counts from 0 on, got a negative one.")
        if not has_each_partition_once(found.rows):
            raise FormatViolation("expected one row for each partition, got several for one.")
    except (SkipstoneError, OSError) as error:
        ignore_file(file.statistics_path, error)
        return None
    return found.without_doubtful_totals()


def load_partition_statistics(
    file: PartitionStatisticsFile, metadata: TableMetadata, storage: Storage
) -> PartitionStatistics:
    """The statistics in a file, with partition tuples of the table's unified partition type."""
    path, partition_type = file.statistics_path, unified_type(metadata)
    opened = open_file(storage, path, path.rpartition(".")[2], checks_pages=True, partition=PARTITION)
    try:
        wanted = wanted_struct(opened.struct, _as_stored(partition_type, opened.struct), source=path)
        projection = resolve(wanted, opened.struct, source=path)
        batches = [
            project_arrow(projection, batch.columns, columns=projection.file_columns)
            for stretch in opened.stretches(Question(projection=projection))
            for batch in opened.batches(projection.file_columns, stretch)
        ]
    finally:
        opened.close()
    table = pa.Table.from_batches(batches, schema=to_arrow_schema(wanted)).combine_chunks()
    try:
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        raise FormatViolation(f"Invalid partition statistics file {path}: {error}.") from error
    return _parsed(table, wanted, file, partition_type)


def _as_stored(partition_type: StructType, stored: StructType) -> StructType:
    """The partition fields as they are read: as bytes where the file has bytes for a fixed."""
    tuples = stored.field_by_name(PARTITION)
    have = {f.id: f.type for f in tuples.type.fields} if tuples and isinstance(tuples.type, StructType) else {}
    is_bytes = {i for i, type_ in have.items() if isinstance(type_, BinaryType)}
    return StructType(tuple(_as_bytes(f) if f.id in is_bytes else f for f in partition_type.fields))


def _parsed(
    table: Any, wanted: StructType, file: PartitionStatisticsFile, partition_type: StructType
) -> PartitionStatistics:
    for name in (PARTITION, SPEC_ID, "data_record_count", "data_file_count"):
        if table.column(name).null_count:
            raise FormatViolation(
                f"Invalid partition statistics file {file.statistics_path}: expected {name} in every row, got null."
            )
    columns: dict[str, Any] = {
        PARTITION: _as_bounds(table.column(PARTITION), partition_type, file.statistics_path),
        SPEC_ID: table.column(SPEC_ID),
        **{name: pc.fill_null(table.column(name).cast(pa.int64()), 0) for name in COUNTS},
        **{name: table.column(name) for name in _FACTS},
    }
    marker = table.column(MARKER)
    is_own = table.num_rows > 0 and pc.all(pc.fill_null(pc.equal(marker, LAYOUT), False)).as_py()
    return PartitionStatistics(
        snapshot_id=file.snapshot_id,
        partition_type=partition_type,
        rows=pa.table(columns).combine_chunks(),
        zones=_parsed_zones(table, wanted),
        is_own=bool(is_own),
    )


def _as_bounds(column: Any, partition_type: StructType, path: str) -> Any:
    """Partition tuples as manifests hold them: a uuid as its bytes."""
    tuples = _one(column)
    arrow = partition_arrow_type(partition_type)
    children = [_plain(tuples.field(i)) for i in range(tuples.type.num_fields)]
    try:
        fitting = [_as_fixed(child, f.type) for child, f in zip(children, arrow, strict=True)]
    except pa.ArrowInvalid as error:
        raise FormatViolation(f"Invalid partition statistics file {path}: {error}.") from error
    return pa.StructArray.from_arrays(fitting, fields=list(arrow))


def _as_fixed(values: Any, arrow: Any) -> Any:
    return values.cast(arrow) if pa.types.is_fixed_size_binary(arrow) and values.type != arrow else values


def _plain(values: Any) -> Any:
    values = _one(values)
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _one(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    # Arrow makes no empty array of a type with extensions in it, but nulls, of which there may be none.
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def _parsed_zones(table: Any, wanted: StructType) -> ZoneMap:
    columns: dict[int, ColumnFacts] = {}
    for column_id, field in zone_columns(wanted).items():
        assert isinstance(field.type, StructType)
        facts = {f.name: (f, pc.struct_field(table.column(field.name), [i])) for i, f in enumerate(field.type.fields)}
        bounds = [facts.get(name) for name in ("lower", "upper")]
        if any(b is None or not isinstance(b[0].type, PrimitiveType) for b in bounds):
            continue
        type_: Any = facts["lower"][0].type
        is_odd = facts["upper"][0].type != type_ or any(
            name in facts and facts[name][0].type != fact_type for name, fact_type in ZONE_FACTS.items()
        )
        if is_odd:
            continue  # nobody's zone that is known here; without it every partition is kept
        columns[column_id] = ColumnFacts(
            type=type_,
            lower=_plain(facts["lower"][1]).cast(bound_type(type_)),
            upper=_plain(facts["upper"][1]).cast(bound_type(type_)),
            **{name: _plain(facts[name][1]) for name in ZONE_FACTS if name in facts},
        )
    rows = _plain(table.column("data_record_count").cast(pa.int64()))
    return ZoneMap(num_zones=table.num_rows, row_count=rows, columns=columns)
