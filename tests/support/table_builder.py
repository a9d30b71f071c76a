"""A complete table on disk, grown commit by commit with the kernel: data files, manifests, lists, metadata.

Data files are written by pyarrow with field ids; everything around them is ours. The table lies where Iceberg's
Hadoop catalog would put it, `<warehouse>/<namespace>/<table>`, with `vN.metadata.json` and a version hint, so that
other engines open it by name.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.support.file_metrics import column_sizes_of, column_values, metrics_of

from skipstone.metadata.blobs.deletion_vector import write_deletion_vectors
from skipstone.metadata.formats.arrow_types import arrow_to_value, to_arrow_field
from skipstone.metadata.formats.parquet_types import WRITE_OPTIONS, parquet_write_schema
from skipstone.metadata.manifests.manifest import (
    DataFile,
    EntryStatus,
    FileContent,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
)
from skipstone.metadata.manifests.manifest_list import read_manifest_list, write_manifest_list
from skipstone.metadata.manifests.manifest_rows import entries_to_arrow
from skipstone.metadata.manifests.manifest_write import write_manifest
from skipstone.metadata.partitions.partition_evolution import PartitionSpecUpdate, build_spec
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.tables.metadata_changes import (
    add_schema,
    add_snapshot,
    add_spec,
    next_metadata,
    set_current_schema,
    set_default_spec,
    set_ref,
)
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.tables.refs import branch
from skipstone.metadata.tables.snapshot_ids import new_snapshot_id
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.summary import SummaryCollector
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import serialize_table_metadata
from skipstone.metadata.tables.upgrade import upgrade_format_version
from skipstone.metadata.types import Field, UnknownType

START_MS = 1_700_000_000_000


class TableBuilder:
    """Every method that changes the table is one commit; `metadata` is the latest state."""

    def __init__(
        self,
        home: Path,
        schema: Schema,
        *,
        format_version: int = 2,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        (home / "data").mkdir(parents=True)
        (home / "metadata").mkdir()
        self._clock = itertools.count(START_MS, 1_000)
        self._names = itertools.count()
        self._version = 0
        self.data_files: list[DataFile] = []
        self.metadata = new_table_metadata(
            schema,
            location=location_of(home),
            now_ms=next(self._clock),
            spec=build_spec(schema, partition_by),
            properties=properties,
            format_version=format_version,
        )
        self._store()

    @property
    def metadata_location(self) -> str:
        return f"{location_of(self.home)}/metadata/v{self._version}.metadata.json"

    @property
    def manifests(self) -> list[ManifestFile]:
        """The manifests of the current snapshot."""
        current = self.metadata.current_snapshot
        if current is None or current.manifest_list is None:
            return []
        return read_manifest_list(self._path(current.manifest_list).read_bytes(), source=current.manifest_list)

    def append(self, rows: Sequence[Mapping[str, Any]]) -> list[DataFile]:
        """Add rows, one data file a partition; returns the files in the order of their first rows."""
        files = [self._write_data_file(group, values) for values, group in self._by_partition(rows)]
        self._publish(Operation.APPEND, ManifestContent.DATA, files)
        self.data_files += files
        return files

    def delete_positions(self, positions: Mapping[str, Iterable[int]]) -> list[DataFile]:
        """Delete rows by data file and position: with deletion vectors from v3 on, before with delete files."""
        targets = {f.file_path: f for f in self.data_files}
        write = self._write_vectors if self.metadata.format_version >= 3 else self._write_position_deletes
        files = write({path: sorted(rows) for path, rows in positions.items()}, targets)
        self._publish(Operation.DELETE, ManifestContent.DELETES, files)
        return files

    def delete_equal(self, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> DataFile:
        """Delete rows by the values of columns, in every partition: needs an unpartitioned table."""
        schema = self.metadata.current_schema.select(columns)
        path = self._new_file("data", "-equality-deletes.parquet")
        self._write_parquet(path, schema, rows)
        file = self._data_file(
            path,
            schema,
            rows,
            {},
            content=FileContent.EQUALITY_DELETES,
            equality_ids=tuple(f.id for f in schema.fields),
        )
        self._publish(Operation.DELETE, ManifestContent.DELETES, [file])
        return file

    def change_schema(self, change: Callable[[SchemaUpdate], SchemaUpdate]) -> None:
        m = self.metadata
        update = change(
            SchemaUpdate(
                m.current_schema,
                last_column_id=m.last_column_id,
                format_version=m.format_version,
                schemas=m.schemas,
                specs=m.partition_specs,
                default_spec_id=m.default_spec_id,
            )
        )
        changed, schema_id = add_schema(m, update.apply())
        self._commit(set_current_schema(changed, schema_id))

    def change_spec(self, change: Callable[[PartitionSpecUpdate], PartitionSpecUpdate]) -> None:
        m = self.metadata
        update = PartitionSpecUpdate(
            schema=m.current_schema,
            specs=m.partition_specs,
            default_spec_id=m.default_spec_id,
            format_version=m.format_version,
            last_partition_id=m.last_partition_id,
        )
        changed, spec_id = add_spec(m, change(update).result().spec)
        self._commit(set_default_spec(changed, spec_id))

    def upgrade(self, format_version: int) -> None:
        self._commit(upgrade_format_version(self.metadata, format_version))

    # -- data files ---------------------------------------------------------------------------------------------

    def _by_partition(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[dict[int, Any], list[Mapping[str, Any]]]]:
        """The rows by partition tuple, as values by partition field id."""
        schema, spec = self.metadata.current_schema, self.metadata.default_spec
        columns: list[tuple[int, list[Any]]] = []
        for field in spec.fields:
            source = schema.field(field.source_id)
            array = apply_arrow(field.transform, source.type, column_values(rows, schema, source))
            result = field.transform.result_type(source.type)
            columns.append((field.field_id, [arrow_to_value(result, v) for v in array]))
        groups: dict[tuple[Any, ...], tuple[dict[int, Any], list[Mapping[str, Any]]]] = {}
        for i, row in enumerate(rows):
            values = {field_id: column[i] for field_id, column in columns}
            groups.setdefault(tuple(values.values()), (values, []))[1].append(row)
        return list(groups.values())

    def _write_data_file(self, rows: Sequence[Mapping[str, Any]], partition: dict[int, Any]) -> DataFile:
        schema = self.metadata.current_schema
        directory = self.metadata.default_spec.partition_path(schema, partition)
        path = self._new_file("/".join(filter(None, ("data", directory))), ".parquet")
        self._write_parquet(path, schema, rows)
        return self._data_file(path, schema, rows, partition)

    def _write_parquet(self, path: Path, schema: Schema, rows: Sequence[Mapping[str, Any]]) -> None:
        stored = parquet_write_schema(schema)
        renamed = [dict(zip(stored.names, (row.get(f.name) for f in _stored(schema)), strict=True)) for row in rows]
        pq.write_table(pa.Table.from_pylist(renamed, schema=stored), path, **WRITE_OPTIONS)

    def _data_file(
        self, path: Path, schema: Schema, rows: Sequence[Mapping[str, Any]], partition: dict[int, Any], **more: Any
    ) -> DataFile:
        return DataFile(
            file_path=location_of(path),
            file_format="PARQUET",
            partition=partition,
            record_count=len(rows),
            file_size_in_bytes=path.stat().st_size,
            split_offsets=(4,),
            column_sizes=column_sizes_of(path, schema),
            **metrics_of(schema, rows),
            **more,
        )

    # -- delete files -------------------------------------------------------------------------------------------

    def _write_vectors(self, positions: dict[str, list[int]], targets: Mapping[str, DataFile]) -> list[DataFile]:
        path = self._new_file("data", "-deletes.puffin")
        written = write_deletion_vectors(positions)
        path.write_bytes(written.data)
        return [
            DataFile(
                content=FileContent.POSITION_DELETES,
                file_path=location_of(path),
                file_format="PUFFIN",
                partition=targets[vector.referenced_data_file].partition,
                record_count=vector.cardinality,
                file_size_in_bytes=len(written.data),
                referenced_data_file=vector.referenced_data_file,
                content_offset=vector.content_offset,
                content_size_in_bytes=vector.content_size_in_bytes,
            )
            for vector in written.vectors
        ]

    def _write_position_deletes(
        self, positions: dict[str, list[int]], targets: Mapping[str, DataFile]
    ) -> list[DataFile]:
        files = []
        for target, rows in positions.items():
            path = self._new_file("data", "-deletes.parquet")
            columns = pa.schema([to_arrow_field(DELETE_FILE_PATH), to_arrow_field(DELETE_POS)])
            table = pa.table({"file_path": [target] * len(rows), "pos": rows}, schema=columns)
            pq.write_table(table, path, **WRITE_OPTIONS)
            files.append(
                DataFile(
                    content=FileContent.POSITION_DELETES,
                    file_path=location_of(path),
                    file_format="PARQUET",
                    partition=targets[target].partition,
                    record_count=len(rows),
                    file_size_in_bytes=path.stat().st_size,
                    lower_bounds={DELETE_FILE_PATH.id: target.encode()},
                    upper_bounds={DELETE_FILE_PATH.id: target.encode()},
                )
            )
        return files

    # -- commits ------------------------------------------------------------------------------------------------

    def _publish(self, operation: Operation, content: ManifestContent, files: Sequence[DataFile]) -> Snapshot:
        m = self.metadata
        snapshot_id = new_snapshot_id(m.snapshots_by_id)
        sequence_number = m.next_sequence_number
        entries = [ManifestEntry(status=EntryStatus.ADDED, snapshot_id=snapshot_id, data_file=f) for f in files]
        manifest = self._write_manifest(entries, content, snapshot_id)
        written = write_manifest_list(
            [manifest, *self.manifests],
            format_version=m.format_version,
            snapshot_id=snapshot_id,
            parent_snapshot_id=m.current_snapshot_id,
            sequence_number=sequence_number,
            first_row_id=m.next_row_id if m.format_version >= 3 else None,
        )
        list_path = self.home / "metadata" / f"snap-{snapshot_id}-1.avro"
        list_path.write_bytes(written.data)
        snapshot = Snapshot(
            snapshot_id=snapshot_id,
            parent_snapshot_id=m.current_snapshot_id,
            sequence_number=sequence_number,
            timestamp_ms=next(self._clock),
            manifest_list=location_of(list_path),
            summary=self._summary(operation, entries),
            schema_id=m.current_schema_id,
            first_row_id=m.next_row_id if m.format_version >= 3 else None,
            added_rows=None if written.next_row_id is None else written.next_row_id - m.next_row_id,
        )
        self._commit(set_ref(add_snapshot(m, snapshot), "main", branch(snapshot_id)))
        return snapshot

    def _write_manifest(
        self, entries: Sequence[ManifestEntry], content: ManifestContent, snapshot_id: int
    ) -> ManifestFile:
        m = self.metadata
        written = write_manifest(
            entries,
            format_version=m.format_version,
            schema=m.current_schema,
            spec=m.default_spec,
            content=content,
            snapshot_id=snapshot_id,
        )
        path = self._new_file("metadata", "-m0.avro")
        path.write_bytes(written.data)
        return written.manifest_file(location_of(path))

    def _summary(self, operation: Operation, entries: Sequence[ManifestEntry]) -> dict[str, str]:
        m = self.metadata
        collector = SummaryCollector()
        table = entries_to_arrow(entries, m.default_spec.partition_type(m.current_schema))
        collector.add(table, spec=m.default_spec, schema=m.current_schema)
        return collector.summary(operation, None if m.current_snapshot is None else m.current_snapshot.summary or {})

    def _commit(self, changed: TableMetadata) -> None:
        self.metadata = next_metadata(
            self.metadata, changed, now_ms=next(self._clock), base_metadata_file=self.metadata_location
        )
        self._store()

    def _store(self) -> None:
        self._version += 1
        self._path(self.metadata_location).write_bytes(serialize_table_metadata(self.metadata))
        (self.home / "metadata" / "version-hint.text").write_text(str(self._version))

    def _new_file(self, directory: str, suffix: str) -> Path:
        folder = self.home / directory
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{next(self._names):05d}{suffix}"

    @staticmethod
    def _path(location: str) -> Path:
        return Path(location.removeprefix("file://"))


def location_of(path: Path) -> str:
    """The location of a file as metadata holds it: not percent-encoded, as other engines take it literally."""
    return f"file://{path}"


def _stored(schema: Schema) -> list[Field]:
    return [f for f in schema.fields if not isinstance(f.type, UnknownType)]
