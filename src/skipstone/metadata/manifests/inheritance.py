"""What a manifest's entries inherit from the manifest list: snapshot id, sequence numbers, first row ids.

Law: a value written in the manifest is never replaced, and nothing is guessed. Only added entries inherit sequence
numbers; an existing or deleted one without them is a damaged manifest (unless the manifest is from a v1 table, where
all sequence numbers are zero).

Spec: "Manifest Entry Fields", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.manifests.manifest import UNASSIGNED_SEQUENCE_NUMBER, EntryStatus, ManifestContent, ManifestFile

# The columns that must be there for a column with nulls to be inherited.
INHERITANCE_NEEDS: Final[dict[str, tuple[str, ...]]] = {
    "snapshot_id": (),
    "sequence_number": ("status",),
    "file_sequence_number": ("status",),
    "first_row_id": ("status", "record_count"),
}

_Ints: TypeAlias = npt.NDArray[np.int64]
# From the table, which rows are null, and the manifest: the values for those rows, and which of them to leave null.
_Inherit: TypeAlias = Callable[[pa.Table, npt.NDArray[np.bool_], ManifestFile, str], "pa.Array[Any] | None"]


def inherit(table: pa.Table, manifest: ManifestFile) -> pa.Table:
    """The entries of `manifest` with inherited values in place of nulls. Columns that are not there stay away."""
    for name, needs in INHERITANCE_NEEDS.items():
        place = table.schema.get_field_index(name)
        if place < 0 or table.column(place).null_count == 0:
            continue
        missing = [n for n in needs if n not in table.column_names]
        if missing:
            raise InvalidInput(
                f"Cannot inherit {name} in manifest {manifest.manifest_path}: expected the columns "
                f"{', '.join(needs)} too, got no {', '.join(missing)}. Read them with it."
            )
        inherited = _RULES[name](table, _nulls(table, name), manifest, name)
        if inherited is not None:
            table = table.set_column(place, table.schema.field(place), inherited)
    return table


def _snapshot_ids(table: pa.Table, nulls: npt.NDArray[np.bool_], manifest: ManifestFile, name: str) -> pa.Array[Any]:
    return _filled(table, name, np.where(nulls, manifest.added_snapshot_id, 0), np.zeros_like(nulls))


def _sequence_numbers(
    table: pa.Table, nulls: npt.NDArray[np.bool_], manifest: ManifestFile, name: str
) -> pa.Array[Any] | None:
    number = manifest.sequence_number
    if number == UNASSIGNED_SEQUENCE_NUMBER:
        return None
    if number != 0:
        # Sequence number 0 is that of v1 manifests, which do not store any.
        orphans = np.flatnonzero(nulls & (_ints(table, "status") != EntryStatus.ADDED))
        if len(orphans):
            row = int(orphans[0])
            status = _ints(table, "status")[row]
            raise FormatViolation(
                f"Invalid manifest {manifest.manifest_path}: entry {row}, {name}: expected a number because only added "
                f"entries inherit one, got null with status {EntryStatus(status).name}."
            )
    return _filled(table, name, np.where(nulls, number, 0), np.zeros_like(nulls))


def _first_row_ids(
    table: pa.Table, nulls: npt.NDArray[np.bool_], manifest: ManifestFile, name: str
) -> pa.Array[Any] | None:
    if manifest.first_row_id is None or manifest.content == ManifestContent.DELETES:
        return None
    # Deleted files take no ids: nothing will read their rows again.
    takes_ids = nulls & (_ints(table, "status") != EntryStatus.DELETED)
    rows = np.where(takes_ids, _ints(table, "record_count"), 0)
    before = np.cumsum(rows) - rows
    return _filled(table, name, manifest.first_row_id + before, nulls & ~takes_ids)


_RULES: Final[dict[str, _Inherit]] = {
    "snapshot_id": _snapshot_ids,
    "sequence_number": _sequence_numbers,
    "file_sequence_number": _sequence_numbers,
    "first_row_id": _first_row_ids,
}


def _filled(table: pa.Table, name: str, values: _Ints, still_null: npt.NDArray[np.bool_]) -> pa.Array[Any]:
    """The column with `values` where it was null."""
    nulls = _nulls(table, name)
    merged = np.where(nulls, values, _ints(table, name))
    return pa.array(merged, pa.int64(), mask=still_null)


def _nulls(table: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    column: Any = table.column(name)
    nulls: npt.NDArray[np.bool_] = column.is_null().to_numpy()
    return nulls


def _ints(table: pa.Table, name: str) -> _Ints:
    """An integer column as NumPy, with 0 for null."""
    column: Any = table.column(name)
    values: _Ints = column.fill_null(0).to_numpy().astype(np.int64, copy=False)
    return values
