"""The files of manifests, and the entries that name them, with readable metrics.

Partition tuples of all specs are in one struct, which a table that was never partitioned does not have. Columns and
their names are those of the reference implementation's metadata tables.

Spec: "Manifest Entry Fields", "Data File Fields".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow
import pyarrow.compute

from skipstone.inspect.entries import read_entries, shown_partition_type
from skipstone.inspect.readable_metrics import empty_metrics, measured_columns, readable_metrics
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, TRACKING_COLUMNS, ManifestFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

_FILE_COLUMNS: Final = tuple(name for name in ENTRY_COLUMNS if name not in TRACKING_COLUMNS)
_METRICS: Final = "readable_metrics"


def files(manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage) -> Any:
    """The live files of manifests, one row each."""
    found = _read(manifests, metadata, storage, is_live=True)
    return found.select([*_file_columns(found), _METRICS])


def entries(manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage) -> Any:
    """All entries of manifests, those of deleted files too, with the file in a struct."""
    found = _read(manifests, metadata, storage, is_live=False)
    chosen = found.select(_file_columns(found))
    data_file = chosen.to_struct_array()
    return (
        found.select(list(TRACKING_COLUMNS))
        .append_column("data_file", data_file)
        .append_column(_METRICS, found.column(_METRICS))
    )


def _file_columns(found: Any) -> list[str]:
    """The columns of a file, with the spec after the format as in other implementations."""
    names = [name for name in _FILE_COLUMNS if name in found.column_names]
    names.insert(names.index("file_format") + 1, "spec_id")
    return names


def _read(manifests: Sequence[ManifestFile], metadata: TableMetadata, storage: Storage, *, is_live: bool) -> Any:
    schema = metadata.current_schema
    ids = tuple(measured_columns(schema).values())
    found = read_entries(manifests, metadata, storage, columns=tuple(ENTRY_COLUMNS), metrics=ids, is_live=is_live)
    if not manifests:
        for name, empty in empty_metrics(schema).items():
            found = found.append_column(name, empty)
    found = found.append_column(_METRICS, readable_metrics(found, schema))
    place = found.schema.get_field_index("file_format")
    found = found.set_column(place, "file_format", pc.utf8_upper(found.column("file_format")))
    # A struct without fields cannot be stored in many formats, and says nothing.
    return found if shown_partition_type(metadata).fields else found.drop_columns(["partition"])
