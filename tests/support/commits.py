"""For tests of commits: a catalog in memory, made-up files, and the live files of a snapshot read back from storage."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from skipstone.catalog.identifiers import Identifier
from skipstone.catalog.protocol import LoadedTable
from skipstone.commit import Change, Outcome, commit
from skipstone.errors import AlreadyExists, CommitRejected, NotFound
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS
from skipstone.metadata.manifests.manifest_list import read_manifest_list
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.partitions.partition_evolution import build_spec
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata, serialize_table_metadata
from skipstone.metadata.types import LONG, STRING, Field
from skipstone.metadata.values import serialize_bound
from skipstone.storage.memory import MemoryStorage

TABLE: Identifier = ("db", "sales")
SCHEMA = Schema(
    fields=(Field(id=1, name="id", type=LONG, required=True), Field(id=2, name="state", type=STRING)),
)


class MemoryCatalog:
    """One process, one dictionary. `before_publish` and `after_publish` let a test come in between."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.warehouse = "memory://lake"
        self.tables: dict[Identifier, LoadedTable] = {}
        self.before_publish: list[Callable[[], object]] = []
        self.after_publish: list[Callable[[], object]] = []
        self.published = 0

    def load(self, identifier: Identifier) -> LoadedTable:
        if identifier not in self.tables:
            raise NotFound(f"Cannot find table {identifier}.")
        return self.tables[identifier]

    def publish(self, identifier: Identifier, base: LoadedTable | None, metadata: TableMetadata) -> LoadedTable:
        if self.before_publish:
            self.before_publish.pop(0)()
        known = self.tables.get(identifier)
        if base is None and known is not None:
            raise AlreadyExists(f"Cannot create table {identifier}: the name is taken.")
        if base is not None and (known is None or known.metadata_location != base.metadata_location):
            raise CommitRejected(f"Cannot commit to {identifier}: somebody was faster. Nothing was published.")
        location = f"{metadata.location}/metadata/{uuid.uuid4()}.metadata.json"
        data = serialize_table_metadata(metadata)
        self.storage.write_new(location, data)
        # What readers will see is what was stored, not what was meant.
        assert parse_table_metadata(data, source=location) == metadata
        self.tables[identifier] = LoadedTable(identifier=identifier, metadata_location=location, metadata=metadata)
        self.published += 1
        if self.after_publish:
            self.after_publish.pop(0)()
        return self.tables[identifier]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


@dataclass
class Lake:
    """A table in a memory catalog, and short words for what tests do to it."""

    catalog: Any = field(default_factory=MemoryCatalog)
    sleeps: list[float] = field(default_factory=list)
    now_ms: Any = field(default_factory=lambda: itertools.count(1_700_000_000_000, 1_000))

    def create(
        self,
        *,
        format_version: int = 2,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        schema: Schema = SCHEMA,
    ) -> LoadedTable:
        metadata = new_table_metadata(
            schema,
            location=f"memory://lake/{uuid.uuid4()}",
            now_ms=next(self.now_ms),
            spec=build_spec(schema, partition_by),
            format_version=format_version,
            properties=properties,
        )
        loaded: LoadedTable = self.catalog.publish(TABLE, None, metadata)
        return loaded

    @property
    def table(self) -> LoadedTable:
        loaded: LoadedTable = self.catalog.load(TABLE)
        return loaded

    @property
    def metadata(self) -> TableMetadata:
        return self.table.metadata

    def commit(self, *changes: Change, base: LoadedTable | None = None) -> Outcome:
        return commit(
            self.catalog, base or self.table, changes, clock=lambda: next(self.now_ms), sleep=self.sleeps.append
        )

    def live(self, ref: str = "main") -> dict[str, dict[str, Any]]:
        """The live files of a branch by path (a deletion vector's with its offset)."""
        return live_files(self.catalog.storage, self.metadata, self.metadata.ref_snapshot(ref))

    def stored(self) -> set[str]:
        return {info.path for info in self.catalog.storage.list(self.metadata.location)}

    def referenced(self) -> set[str]:
        """The metadata files that any snapshot names."""
        named: set[str] = set()
        for s in self.metadata.snapshots:
            assert s.manifest_list is not None
            named.add(s.manifest_list)
            data = self.catalog.storage.read(s.manifest_list)
            named.update(m.manifest_path for m in read_manifest_list(data, source="list"))
        return named


def live_files(storage: Any, metadata: TableMetadata, snapshot: Snapshot | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for row in entries(storage, metadata, snapshot):
        if row["status"] == 2:
            continue
        key = row["file_path"] if row["content_offset"] is None else f"{row['file_path']}#{row['content_offset']}"
        assert key not in found, f"{key} is listed twice"
        found[key] = row
    return found


def entries(storage: Any, metadata: TableMetadata, snapshot: Snapshot | None) -> list[dict[str, Any]]:
    """All entries of a snapshot, deleted ones too, with inherited values."""
    if snapshot is None:
        return []
    assert snapshot.manifest_list is not None
    listed = read_manifest_list(storage.read(snapshot.manifest_list), source=snapshot.manifest_list)
    rows: list[dict[str, Any]] = []
    for manifest in listed:
        data = storage.read(manifest.manifest_path)
        assert len(data) == manifest.manifest_length
        table = read_manifest(
            data,
            source=manifest.manifest_path,
            schema=metadata.current_schema,
            spec=metadata.spec(manifest.partition_spec_id),
            maps=True,
            inherit_from=manifest,
        )
        rows += [{**row, "spec_id": manifest.partition_spec_id} for row in table.to_pylist()]
    return rows


def data_files(
    *paths: str, rows: int = 10, spec_id: int = 0, ids: tuple[int, int] | None = None, **partition: Any
) -> Any:
    """New data files as the caller of a commit describes them; `ids` are the bounds of column id."""
    return files_of([{"file_path": p, "record_count": rows, **_bounds(ids, rows)} for p in paths], spec_id, partition)


def _bounds(ids: tuple[int, int] | None, rows: int) -> dict[str, Any]:
    if ids is None:
        return {}
    return {
        "value_counts": [(1, rows)],
        "null_value_counts": [(1, 0)],
        "lower_bounds": [(1, serialize_bound(LONG, ids[0]))],
        "upper_bounds": [(1, serialize_bound(LONG, ids[1]))],
    }


def position_deletes(path: str, target: str, *, spec_id: int = 0, by_bounds: bool = False, **partition: Any) -> Any:
    bounds = {"lower_bounds": [(2147483546, target.encode())], "upper_bounds": [(2147483546, target.encode())]}
    named = bounds if by_bounds else {"referenced_data_file": target}
    return files_of([{"file_path": path, "content": 1, "record_count": 1, **named}], spec_id, partition)


def equality_deletes(path: str, *, spec_id: int = 0, **partition: Any) -> Any:
    return files_of([{"file_path": path, "content": 2, "record_count": 1, "equality_ids": [1]}], spec_id, partition)


def vectors(path: str, *targets: str, spec_id: int = 0, offset: int = 4, **partition: Any) -> Any:
    """Deletion vectors in one Puffin file, one for each data file."""
    rows = [
        {
            "file_path": path,
            "file_format": "puffin",
            "content": 1,
            "record_count": 1,
            "referenced_data_file": target,
            "content_offset": offset + 50 * i,
            "content_size_in_bytes": 50,
        }
        for i, target in enumerate(targets)
    ]
    return files_of(rows, spec_id, partition)


def files_of(rows: Iterable[dict[str, Any]], spec_id: int, partition: Mapping[str, Any]) -> pa.Table:
    filled = [{"content": 0, "file_format": "parquet", "file_size_in_bytes": 100, **row} for row in rows]
    columns: dict[str, Any] = {"spec_id": pa.array([spec_id] * len(filled), pa.int32())}
    for name, arrow in ENTRY_COLUMNS.items():
        if name in ("status", "snapshot_id", "sequence_number", "file_sequence_number"):
            continue
        if name == "partition":
            if partition:
                columns[name] = pa.array([dict(partition)] * len(filled))
        else:
            columns[name] = pa.array([row.get(name) for row in filled], arrow)
    return pa.table(columns)


def joined(*tables: pa.Table) -> pa.Table:
    return pa.concat_tables(tables, promote_options="permissive")
