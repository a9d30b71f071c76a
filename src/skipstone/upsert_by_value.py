"""Upsert without reading the table: the keys of the new rows as equality deletes, beside the rows.

A write costs what the batch costs, however large the table is; readers pay until the deletes are converted (see
`Table.convert_equality_deletes`). An equality delete takes away rows that were there before its commit, never the rows
that come with it.

Spec: "Equality Delete Files", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow

from skipstone.commit import RowDelta
from skipstone.commit.history import parent_of
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.storage.protocol import Storage
from skipstone.write import write_equality_deletes, write_rows

pa: Any = pyarrow


def upsert_by_value(
    table: Any, keys: Sequence[Field], *, metadata: TableMetadata, storage: Storage, ref: str, name: str
) -> RowDelta | None:
    """The change that adds the rows of an Arrow table, one a key, and deletes their keys; None if there are none."""
    if table.num_rows == 0:
        return None
    spec = spec_for_deletes(keys, metadata=metadata, storage=storage, ref=ref, name=name)
    deletes = write_equality_deletes(
        table.select([k.name for k in keys]),
        metadata=metadata,
        storage=storage,
        equality_ids=[k.id for k in keys],
        spec=spec,
    )
    files = write_rows(table.to_reader(), metadata=metadata, storage=storage)
    return upsert_delta(files, deletes, metadata=metadata, ref=ref)


def upsert_delta(files: Any, deletes: Any, *, metadata: TableMetadata, ref: str) -> RowDelta:
    """Data files and equality deletes as one change.

    It looks at no row, so it contradicts no other commit, unless that adds rows where the deletes do not reach.
    """
    added = pa.concat_tables([files, deletes], promote_options="permissive")
    specs = {metadata.spec(i) for i in deletes.column("spec_id").unique().to_pylist()}
    only = next((s.spec_id for s in specs if not s.is_unpartitioned), None)
    return RowDelta(files=added, ref=ref, written_with=metadata.current_schema, only_spec_id=only)


def spec_for_deletes(
    keys: Sequence[Field], *, metadata: TableMetadata, storage: Storage, ref: str, name: str
) -> PartitionSpec:
    """The partition spec under which deletes of keys reach every row that has one of them.

    A delete under a partitioned spec reaches its own partition only: right if the key decides the partition and every
    data file has that spec. One under an unpartitioned spec reaches everything.
    """
    if metadata.format_version < 2:
        raise InvalidInput(
            f"Cannot upsert into {name} by equality deletes: a v1 table has no deletes. Upgrade the table, or set "
            "write.upsert.mode to merge."
        )
    spec, key_ids = metadata.default_spec, {k.id for k in keys}
    sources = {i for f in spec.fields if not f.is_void for i in f.source_ids}
    if spec.is_unpartitioned or (sources <= key_ids and _specs_in_use(metadata, storage, ref) <= {spec.spec_id}):
        return spec
    everywhere = next((s for s in metadata.partition_specs if s.is_unpartitioned), None)
    if everywhere is not None:
        return everywhere
    names = ", ".join(sorted(metadata.current_schema.name_of(i) for i in sources))
    raise InvalidInput(
        f"Cannot upsert into {name} by equality deletes on {', '.join(k.name for k in keys)}: rows with one key may "
        f"lie in several partitions (by {names}) or under several partition specs. Add the columns to the key, or set "
        "write.upsert.mode to merge."
    )


def _specs_in_use(metadata: TableMetadata, storage: Storage, ref: str) -> set[int]:
    snapshot = parent_of(metadata, ref)
    manifests = () if snapshot is None else manifests_of(snapshot, metadata, storage)
    return {m.partition_spec_id for m in manifests if m.content == ManifestContent.DATA and not m.has_no_live_files}
