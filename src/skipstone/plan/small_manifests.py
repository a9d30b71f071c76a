"""Entries of small manifests, decoded once: of a table that is written often, most manifests were there before.

Laws: a manifest never changes, so what was decoded from one serves every plan that asks for the same columns. Large
ones are decoded each time, because what they take in memory is worth more to the skip index. Nothing that is encrypted
is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow

from skipstone.index.opened import opened
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import empty_entries, read_live_entries, unified_type
from skipstone.plan.snapshot_manifests import partition_type_of, spec_of
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_LENGTH_MAX: Final = 64 << 10


def recent_live_entries(
    manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage, *, columns: tuple[str, ...]
) -> Any:
    """The same as `read_live_entries` without metrics, from memory where a plan has read a manifest before."""
    keys = [_key(m, metadata, columns) for m in manifests]
    tables: list[Any] = [None if key is None else opened.find(storage, key) for key in keys]
    unread = [place for place, table in enumerate(tables) if table is None]
    if unread:
        found = read_live_entries([manifests[p] for p in unread], metadata, storage, columns=columns)
        numbers = found.column("manifest").to_numpy()
        starts = np.searchsorted(numbers, np.arange(len(unread) + 1))
        for number, place in enumerate(unread):
            table = found.slice(starts[number], starts[number + 1] - starts[number])
            tables[place] = table
            key = keys[place]
            if key is not None:
                # A slice would keep the entries of all manifests that were read with it.
                opened.keep(storage, key, _alone(table), manifests[place].manifest_length)
    if not tables:
        return empty_entries(metadata, columns)
    joined = pa.concat_tables(tables).combine_chunks()
    places = np.repeat(np.arange(len(tables), dtype=np.int32), [t.num_rows for t in tables])
    return joined.set_column(joined.schema.get_field_index("manifest"), "manifest", pa.array(places))


def _key(manifest: ManifestFile, metadata: TableMetadata, columns: tuple[str, ...]) -> Any:
    if manifest.manifest_length > _LENGTH_MAX or manifest.key_metadata is not None:
        return None
    own_type = partition_type_of(spec_of(manifest, metadata), metadata)
    return "entries", manifest, own_type, unified_type(metadata), columns


def _alone(table: Any) -> Any:
    return table.take(pa.array(np.arange(table.num_rows)))
