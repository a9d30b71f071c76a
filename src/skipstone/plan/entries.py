"""Live entries of manifests as one Arrow table, whatever spec their manifest was written with.

Manifests are read in parallel: inflating and decoding leave Python's lock. The partition tuples of all specs are put
into the table's unified partition type, so that files of different specs lie in one table.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import EntryStatus, ManifestFile
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.reserved import DELETE_FILE_PATH
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.plan.snapshot_manifests import manifest_bytes, partition_type_of, spec_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

T = TypeVar("T")
R = TypeVar("R")

# Planning needs these of every file; metrics come on top by field id.
FILE_COLUMNS: Final = (
    "sequence_number", "file_sequence_number", "file_path", "file_format", "partition", "record_count",
    "file_size_in_bytes", "key_metadata", "split_offsets", "sort_order_id", "first_row_id",
)  # fmt: skip
# In the order in which a manifest is read, so that a plan without deletes has the columns of one with them.
DELETE_COLUMNS: Final = (
    "sequence_number", "file_sequence_number", "content", "file_path", "file_format", "partition", "record_count",
    "file_size_in_bytes", "key_metadata", "split_offsets", "equality_ids", "sort_order_id", "first_row_id",
    "referenced_data_file", "content_offset", "content_size_in_bytes",
)  # fmt: skip


def in_parallel(work: Callable[[T], R], items: Sequence[T], threads: int | None = None) -> list[R]:
    """The results in order; one item is done without a pool."""
    if len(items) <= 1 or threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(len(items), threads or os.cpu_count() or 1)) as pool:
        return list(pool.map(work, items))


def read_live_entries(
    manifests: Sequence[ManifestFile],
    metadata: TableMetadata,
    storage: Storage,
    *,
    columns: Collection[str],
    metrics: Collection[int] = (),
    schema: Schema | None = None,
    keep: Callable[[Any], Any] | None = None,
) -> Any:
    """Added and existing entries of all manifests, with `spec_id` and `manifest` (its place) as further columns.

    `schema` is the reader's, which types the metrics; without it the current one does.
    `keep` may reduce each manifest's table right after it was read, in the reading thread.
    """
    unified = unified_type(metadata)
    known = known_metrics(metadata, metrics)
    schemas = schemas_of(metadata)

    def read(place: int) -> Any:
        manifest = manifests[place]
        spec = spec_of(manifest, metadata)
        table: Any = read_manifest(
            manifest_bytes(manifest, storage),
            source=manifest.manifest_path,
            schema=schemas[0],
            older=schemas[1:],
            spec=spec,
            columns=("status", *columns),
            metrics=known,
            metric_kinds=("lower", "upper", "null_count", "nan_count", "value_count"),
            metrics_schema=schema,
            on_bad_bound="unknown",
            inherit_from=manifest,
        )
        live = pc.not_equal(table.column("status"), int(EntryStatus.DELETED))
        table = table.filter(live)
        if keep is not None:
            table = keep(table)
        tuples = unify_partition(table.column("partition"), partition_type_of(spec, metadata), unified)
        return (
            table.set_column(table.schema.get_field_index("partition"), "partition", tuples)
            .append_column("spec_id", pa.repeat(pa.scalar(spec.spec_id, pa.int32()), table.num_rows))
            .append_column("manifest", pa.repeat(pa.scalar(place, pa.int32()), table.num_rows))
        )

    tables = in_parallel(read, range(len(manifests)))
    return pa.concat_tables(tables).combine_chunks() if tables else empty_entries(metadata, columns)


def known_metrics(metadata: TableMetadata, field_ids: Collection[int]) -> list[int]:
    """Those field ids that a schema of the table has, each once."""
    ever = {f for s in metadata.schemas for f in s.fields_by_id} | {DELETE_FILE_PATH.id}
    return [m for m in dict.fromkeys(field_ids) if m in ever]


def schemas_of(metadata: TableMetadata, schema: Schema | None = None) -> tuple[Schema, ...]:
    """The reader's schema first, by default the current one: bounds of an older snapshot are of that one's types.

    A dropped column, as equality deletes may need, is typed by the newest schema that has it.
    """
    return schema or metadata.current_schema, metadata.current_schema, *reversed(metadata.schemas)


def unified_type(metadata: TableMetadata) -> StructType:
    return metadata.unified_partition_type


def unify_partition(partition: Any, from_type: StructType, to_type: StructType) -> Any:
    """Partition tuples of one spec as tuples of the unified type; fields the spec does not have are null."""
    array = partition.combine_chunks() if isinstance(partition, pa.ChunkedArray) else partition
    target = partition_arrow_type(to_type)
    places = {f.id: i for i, f in enumerate(from_type.fields)}
    children = []
    for field, arrow in zip(to_type.fields, target):
        place = places.get(field.id)
        if place is None:
            children.append(pa.nulls(len(array), arrow.type))
            continue
        child = array.field(place)
        # A field that is void in this spec holds nothing but nulls, of whatever type.
        children.append(child if child.type == arrow.type else _cast(child, arrow.type))
    if not children:
        return pa.StructArray.from_buffers(target, len(array), [None])
    return pa.StructArray.from_arrays(children, fields=list(target))


def _cast(child: Any, arrow: Any) -> Any:
    return pa.nulls(len(child), arrow) if child.null_count == len(child) else child.cast(arrow)


def empty_entries(metadata: TableMetadata, columns: Collection[str]) -> Any:
    return _empty(unified_type(metadata), tuple(columns))


@lru_cache(maxsize=64)
def _empty(partition_type: StructType, columns: tuple[str, ...]) -> Any:
    partition = pa.field("partition", partition_arrow_type(partition_type))
    names = ("status", *columns, "spec_id", "manifest")
    return pa.schema([partition if name == "partition" else _FIELDS[name] for name in names]).empty_table()


def partition_codes(spec_ids: Any, partitions: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """One number per partition: equal spec and equal tuple get the same.

    Floats are equal if their bits are, with all NaNs alike; spec: "Scan Planning", note 3.
    """
    codes: np.ndarray[Any, np.dtype[np.int64]] = spec_ids.to_numpy().astype(np.int64)
    array = partitions.combine_chunks() if isinstance(partitions, pa.ChunkedArray) else partitions
    for place in range(array.type.num_fields):
        encoded = _by_bits(array.field(place)).dictionary_encode(null_encoding="encode")
        codes = np.unique(codes * (len(encoded.dictionary) + 1) + encoded.indices.to_numpy(), return_inverse=True)[1]
    return codes


def tuple_runs(partitions: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The first tuple of each run of equal ones, and how long each run is. Equal tuples may be in several runs."""
    array = partitions.combine_chunks() if isinstance(partitions, pa.ChunkedArray) else partitions
    begins = np.zeros(len(array), bool)
    begins[:1] = True
    for place in range(array.type.num_fields):
        values = _by_bits(array.field(place))
        if pa.types.is_null(values.type):
            continue
        values = values.storage if isinstance(values, pa.ExtensionArray) else values
        # Null is not known to equal null: a run more is no harm.
        same = pc.fill_null(pc.equal(values.slice(1), values.slice(0, max(len(values) - 1, 0))), False)
        begins[1:] |= ~same.to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(begins)
    return array.take(pa.array(starts)), np.diff(np.append(starts, len(array)))


def _by_bits(values: Any) -> Any:
    if not pa.types.is_floating(values.type):
        return values
    canonical = pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)
    return canonical.view(pa.int32() if values.type == pa.float32() else pa.int64())


_ARROW: Final[dict[str, Any]] = {
    "status": pa.int32(), "content": pa.int32(), "file_path": pa.string(), "file_format": pa.string(),
    "record_count": pa.int64(), "file_size_in_bytes": pa.int64(), "sequence_number": pa.int64(),
    "file_sequence_number": pa.int64(), "first_row_id": pa.int64(), "split_offsets": pa.list_(pa.int64()),
    "sort_order_id": pa.int32(), "key_metadata": pa.binary(), "equality_ids": pa.list_(pa.int32()),
    "referenced_data_file": pa.string(), "content_offset": pa.int64(), "content_size_in_bytes": pa.int64(),
    "snapshot_id": pa.int64(), "spec_id": pa.int32(), "manifest": pa.int32(),
}  # fmt: skip
_FIELDS: Final = {name: pa.field(name, arrow) for name, arrow in _ARROW.items()}
