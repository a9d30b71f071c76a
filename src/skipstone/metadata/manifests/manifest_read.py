"""A manifest becomes an Arrow table: one row an entry, only the columns asked for.

Laws: null means unknown, never zero. What a version does not have gets the default of "Appendix E". A wished metric is
a typed column of its own; the decoder skips every map entry that nobody asked for.

Spec: "Manifests", "Manifest Entry Fields", "Data File Fields", "Appendix E: Format version changes".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.avro.container import AvroContainer
from skipstone.metadata.manifests.inheritance import INHERITANCE_NEEDS, inherit
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS, METRIC_COLUMNS, ManifestFile
from skipstone.metadata.manifests.manifest_header import (
    ManifestHeader,
    format_version_of,
    parse_manifest_container,
    read_manifest_header,
    schema_of,
    spec_of,
)
from skipstone.metadata.manifests.manifest_layout import Entries, decode_entries, null_column, partition_fields
from skipstone.metadata.manifests.manifest_metrics import (
    METRIC_KINDS,
    check_keys_once,
    check_kinds,
    metric_column,
    metric_type,
)
from skipstone.metadata.manifests.manifest_partition import partition_column
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import StructType

__all__ = ["METRIC_KINDS", "ManifestHeader", "read_manifest", "read_manifest_header"]

_REQUIRED: Final = ("status", "file_path", "file_format", "record_count", "file_size_in_bytes")
# A column that the file does not have reads as this; all others as null.
_DEFAULTS: Final = {"content": 0, "sequence_number": 0, "file_sequence_number": 0}
_CODES: Final = {
    "status": "0 (existing), 1 (added) or 2 (deleted)",
    "content": "0 (data), 1 (position deletes) or 2 (equality deletes)",
}
_CODE_MAX: Final = 2


def read_manifest(
    data: bytes | memoryview,
    *,
    source: str,
    schema: Schema | None = None,
    older: Sequence[Schema] = (),
    spec: PartitionSpec | None = None,
    columns: Collection[str] | None = None,
    metrics: Collection[int] | None = None,
    metric_kinds: Collection[str] = tuple(METRIC_KINDS),
    metrics_schema: Schema | None = None,
    maps: bool = False,
    on_bad_bound: Literal["raise", "unknown"] = "raise",
    inherit_from: ManifestFile | None = None,
) -> pa.Table:
    """The entries of a manifest.

    `columns` names the flat columns (all by default), `metrics` the field ids whose metrics become columns such as
    "4.lower", `maps` asks for the raw metric maps. `schema` and `spec` type the bounds and the partition; without them
    those in the manifest's own header do. Columns that `schema` has no more are typed by the first of the `older` ones
    that has them: manifests may differ in how they type one. `metrics_schema`, such as that of an older snapshot, types
    bounds before all of these. `inherit_from` is the manifest list's description, which
    fills in what entries inherit.
    """
    container = parse_manifest_container(data, source=source)
    format_version_of(container)
    wanted = _wanted_columns(columns, maps)
    decoded = _with_needs_of_inheritance(wanted) if inherit_from is not None else wanted
    ids = tuple(sorted(set(metrics or ())))
    kinds = check_kinds(metric_kinds) if ids else ()
    header_schema = schema_of(container) if (ids or "partition" in wanted) else None
    types = {i: metric_type(i, (metrics_schema, schema, *older, header_schema), source) for i in ids}
    keyed = [METRIC_KINDS[k] for k in kinds if METRIC_KINDS[k] not in decoded]
    entries = decode_entries(container, decoded, keyed, ids)
    arrays: dict[str, Any] = {
        name: _column(container, entries, name, schema or header_schema, spec) for name in decoded
    }
    if inherit_from is not None:
        inherited = inherit(pa.table(arrays), inherit_from)
        arrays = {name: inherited.column(name) for name in wanted}
    for field_id in dict.fromkeys(metrics or ()):
        for kind in kinds:
            arrays[f"{field_id}.{kind}"] = metric_column(
                container, entries, field_id=field_id, kind=kind, type_=types[field_id], on_bad_bound=on_bad_bound
            )
    return pa.table(arrays) if arrays else _rows_without_columns(entries.count)


def _wanted_columns(columns: Collection[str] | None, maps: bool) -> tuple[str, ...]:
    """In the order of the contract, whatever the order asked for."""
    for name in columns or ():
        if name not in ENTRY_COLUMNS:
            raise InvalidInput(
                f"Cannot read column {name!r} of a manifest. " + what_exists("Columns", name, ENTRY_COLUMNS)
            )
    return tuple(
        name
        for name in ENTRY_COLUMNS
        if (name in columns if columns is not None else name not in METRIC_COLUMNS) or (maps and name in METRIC_COLUMNS)
    )


def _with_needs_of_inheritance(wanted: tuple[str, ...]) -> tuple[str, ...]:
    needed = {need for name in wanted for need in INHERITANCE_NEEDS.get(name, ())}
    return tuple(name for name in ENTRY_COLUMNS if name in wanted or name in needed)


def _column(
    container: AvroContainer, entries: Entries, name: str, schema: Schema | None, spec: PartitionSpec | None
) -> pa.Array[Any]:
    array = entries.arrays.get(name)
    if name == "partition":
        own_spec = spec if spec is not None else spec_of(container)
        type_ = _partition_type(container, schema, own_spec)
        unknown_ids = {f.field_id for f in own_spec.fields if f.is_unknown} if own_spec is not None else set()
        return partition_column(container, array, partition_fields(container), type_, entries.count, unknown_ids)
    arrow = ENTRY_COLUMNS[name]
    assert arrow is not None
    if array is None:
        return _missing(container, name, arrow, entries.count)
    if array.null_count and name in _REQUIRED:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        container.fail(f"entry {row}, {name}: expected a value, got null")
    if array.type != arrow:
        array = _typed(container, name, array, arrow)
    if name in METRIC_COLUMNS:
        check_keys_once(container, name, array)
    if name in _CODES:
        _check_codes(container, name, array)
    return array


def _partition_type(container: AvroContainer, schema: Schema | None, spec: PartitionSpec | None) -> StructType | None:
    if spec is None or schema is None:
        return None
    header_schema = schema_of(container)
    return spec.partition_type(schema, schemas=(header_schema,) if header_schema is not None else ())


def _missing(container: AvroContainer, name: str, arrow: pa.DataType, count: int) -> pa.Array[Any]:
    if name in _REQUIRED:
        container.fail(f"Avro schema: expected the required field {name}, got none")
    if name in _DEFAULTS:
        return pa.array(np.full(count, _DEFAULTS[name]), arrow)
    return null_column(count, arrow)


def _typed(container: AvroContainer, name: str, array: pa.Array[Any], arrow: pa.DataType) -> pa.Array[Any]:
    try:
        return array.cast(arrow)
    except pa.ArrowException as error:
        container.fail(f"{name}: expected values of {arrow}, got {array.type} ({str(error).splitlines()[0]})")


def _check_codes(container: AvroContainer, name: str, array: pa.Array[Any]) -> None:
    values = array.fill_null(0).to_numpy()
    bad = np.flatnonzero((values < 0) | (values > _CODE_MAX))
    if len(bad):
        container.fail(f"entry {bad[0]}, {name}: expected {_CODES[name]}, got {values[bad[0]]}")


def _rows_without_columns(count: int) -> pa.Table:
    return pa.table({"status": pa.nulls(count)}).select([])
