"""Entries of manifests of any partition spec as one Arrow table, for looking at.

Unlike planning, this can show entries of deleted files, and a partition field is shown only while its column exists.

Spec: "Manifest Entry Fields".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow
import pyarrow.compute

from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, EntryStatus, ManifestFile
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.manifests.manifest_rows import partition_arrow_type
from skipstone.metadata.partitions.partitioning import unified_partition_type
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.plan.entries import in_parallel, unify_partition
from skipstone.plan.snapshot_manifests import manifest_bytes, partition_type_of, spec_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute


def shown_partition_type(metadata: TableMetadata) -> StructType:
    """Every partition field of which the column still exists."""
    return unified_partition_type(
        metadata.partition_specs,
        metadata.current_schema,
        schemas=tuple(reversed(metadata.schemas)),
        only_live_sources=True,
    )


def read_entries(
    manifests: Sequence[ManifestFile],
    metadata: TableMetadata,
    storage: Storage,
    *,
    columns: Collection[str],
    metrics: Collection[int] = (),
    is_live: bool = False,
) -> Any:
    """Entries with `spec_id`, and for each field id in `metrics` columns such as `4.lower`."""
    unified = shown_partition_type(metadata)

    def read(manifest: ManifestFile) -> Any:
        spec = spec_of(manifest, metadata)
        table: Any = read_manifest(
            manifest_bytes(manifest, storage),
            source=f"manifest {manifest.manifest_path}",
            schema=metadata.current_schema,
            spec=spec,
            columns=columns,
            metrics=metrics,
            on_bad_bound="unknown",
            inherit_from=manifest,
        )
        if is_live:
            table = table.filter(pc.not_equal(table.column("status"), int(EntryStatus.DELETED)))
        tuples = unify_partition(table.column("partition"), partition_type_of(spec, metadata), unified)
        table = table.set_column(table.schema.get_field_index("partition"), "partition", tuples)
        return table.append_column("spec_id", pa.repeat(pa.scalar(spec.spec_id, pa.int32()), table.num_rows))

    tables = in_parallel(read, manifests)
    return pa.concat_tables(tables).combine_chunks() if tables else _empty(unified, columns)


def _empty(unified: StructType, columns: Collection[str]) -> Any:
    arrow = {**ENTRY_COLUMNS, "partition": partition_arrow_type(unified), "spec_id": pa.int32()}
    return pa.table({name: pa.array([], arrow[name]) for name in [*columns, "spec_id"]})


def whole(column: Any) -> Any:
    """A column as one array."""
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined
