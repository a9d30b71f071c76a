"""Metrics of wished columns: from a manifest's maps to typed columns, one a field id and kind.

Laws: null means unknown. A bound that does not fit its type is refused, or becomes unknown where the caller says so; it
never becomes a value.

Spec: "Data File Fields", "Bound serialization".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from skipstone.errors import InvalidInput, what_exists
from skipstone.metadata.avro.container import AvroContainer
from skipstone.metadata.manifests.manifest_layout import Entries, null_column
from skipstone.metadata.reserved import DELETE_FILE_PATH, DELETE_POS
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import PrimitiveType, Type
from skipstone.metadata.values import parse_bounds_array

# The map each metric comes from.
METRIC_KINDS: Final[dict[str, str]] = {
    "lower": "lower_bounds",
    "upper": "upper_bounds",
    "null_count": "null_value_counts",
    "nan_count": "nan_value_counts",
    "value_count": "value_counts",
    "column_size": "column_sizes",
}
_BOUNDS: Final = ("lower", "upper")


def check_kinds(kinds: Collection[str]) -> tuple[str, ...]:
    for kind in kinds:
        if kind not in METRIC_KINDS:
            raise InvalidInput(
                f"Cannot read metric {kind!r} of a manifest. " + what_exists("Metrics", kind, METRIC_KINDS)
            )
    return tuple(dict.fromkeys(kinds))


_DELETE_FILE_TYPES: Final[dict[int, Type]] = {f.id: f.type for f in (DELETE_FILE_PATH, DELETE_POS)}


def metric_type(field_id: int, schemas: Collection[Schema | None], source: str) -> Type:
    """The type of a column: the caller's schema first, then the manifest's own. Columns of delete files are fixed."""
    if field_id in _DELETE_FILE_TYPES:
        return _DELETE_FILE_TYPES[field_id]
    for schema in schemas:
        if schema is not None and (found := schema.find(field_id)) is not None:
            return found.type
    raise InvalidInput(
        f"Cannot read metrics of field {field_id} in manifest {source}: expected a field of the schema, found none. "
        "Pass a schema that has it."
    )


def metric_column(
    container: AvroContainer,
    entries: Entries,
    *,
    field_id: int,
    kind: str,
    type_: Type,
    on_bad_bound: Literal["raise", "unknown"],
) -> pa.Array[Any]:
    """One column, such as the lower bounds of field 4."""
    map_name = METRIC_KINDS[kind]
    raw = _raw_column(entries, map_name, field_id, pa.binary() if kind in _BOUNDS else pa.int64())
    if kind not in _BOUNDS:
        return raw
    if not isinstance(type_, PrimitiveType):
        return pa.nulls(entries.count)  # lists, maps and structs have counts, but no bounds
    return parse_bounds_array(
        type_, raw, source=f"manifest {container.source}", place=f"{map_name}[{field_id}]", on_bad=on_bad_bound
    )


def check_keys_once(container: AvroContainer, map_name: str, array: Any) -> None:
    """Refuse a map with the same key twice; most writers sort the keys, which shows at a glance."""
    keys, offsets = array.keys.to_numpy(), array.offsets.to_numpy()
    keys = keys[offsets[0] : offsets[-1]]
    rows = np.repeat(np.arange(len(array)), np.diff(offsets))
    if bool(np.all((keys[1:] > keys[:-1]) | (rows[1:] != rows[:-1]))):
        return
    order = np.lexsort((keys, rows))
    keys, rows = keys[order], rows[order]
    twice = np.flatnonzero((keys[1:] == keys[:-1]) & (rows[1:] == rows[:-1]))
    if len(twice):
        at = twice[0]
        container.fail(f"entry {rows[at]}, {map_name}[{keys[at]}]: expected each key once, got it twice")


def _raw_column(entries: Entries, map_name: str, field_id: int, arrow: pa.DataType) -> pa.Array[Any]:
    keyed: Any = entries.by_key.get(map_name)
    if keyed is not None:
        child: pa.Array[Any] = keyed.field(str(field_id))
        return child
    whole = entries.arrays.get(map_name)
    if whole is None:
        return null_column(entries.count, arrow)
    return _column_of_map(whole, field_id)


def _column_of_map(array: Any, field_id: int) -> pa.Array[Any]:
    """The values of one key of a map column, null where a row has no such key."""
    keys = array.keys.to_numpy()
    hits = np.flatnonzero(keys == field_id)
    rows = np.searchsorted(array.offsets.to_numpy(), hits, side="right") - 1
    taken = np.full(len(array), -1, dtype=np.int64)
    taken[rows] = hits
    column: pa.Array[Any] = array.items.take(pa.array(taken, mask=taken < 0))
    return column
