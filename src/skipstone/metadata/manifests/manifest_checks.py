"""What a manifest may hold: the rules a writer must keep, checked on whole columns before a byte is written.

The first entry that breaks a rule is named. "New" means an added file that no commit has numbered yet; rules that bind
only new files leave older ones alone, because tables upgraded from an earlier version hold such files legally.

Spec: "Manifest Entry Fields", "Data File Fields", "Sequence Number Inheritance", "First Row ID Inheritance",
"Deletion Vectors", Appendix E.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import InvalidInput
from skipstone.metadata.avro.encode_leaves import bytes_of
from skipstone.metadata.manifests.manifest import EntryStatus, FileContent, ManifestContent
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DoubleType, FloatType

_Mask: TypeAlias = npt.NDArray[np.bool_]

FILE_FORMATS: Final = ("avro", "orc", "parquet", "puffin")
_REQUIRED: Final = ("status", "file_path", "file_format", "partition", "record_count", "file_size_in_bytes", "content")
# Columns by the first version that has them.
_SINCE: Final[dict[str, int]] = {
    "equality_ids": 2,
    "referenced_data_file": 2,
    "first_row_id": 3,
    "content_offset": 3,
    "content_size_in_bytes": 3,
}
_FLOATS_BY_WIDTH: Final[dict[int, Any]] = {4: np.dtype("<f4"), 8: np.dtype("<f8")}


def check_entries(
    table: pa.Table,
    *,
    format_version: int,
    content: ManifestContent,
    snapshot_id: int | None,
    schema: Schema,
) -> None:
    """Raise InvalidInput for the first entry that a manifest of this version and content may not hold."""
    if table.num_rows == 0:
        return
    rules = _Rules(table)
    for name in _REQUIRED:
        rules.expect(rules.given(name), name, "a value")
    rules.expect(np.isin(rules.ints("status"), list(EntryStatus)), "status", "0 (existing), 1 (added) or 2 (deleted)")
    for name in ("record_count", "file_size_in_bytes"):
        rules.expect(rules.ints(name) >= 0, name, "0 or more")
    _check_version(rules, format_version, content)
    _check_tracking(rules, format_version, snapshot_id)
    _check_content(rules, format_version, content)
    rules.expect(_are_sorted(table.column("split_offsets")), "split_offsets", "offsets in ascending order")
    for name in ("lower_bounds", "upper_bounds"):
        _check_no_nan(rules, name, schema)


class _Rules:
    """The columns as NumPy arrays, and the message when a rule is broken."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._ints: dict[str, npt.NDArray[np.int64]] = {}
        self._given: dict[str, _Mask] = {}

    def ints(self, name: str) -> npt.NDArray[np.int64]:
        """An integer column, 0 where null."""
        if name not in self._ints:
            column: Any = self.table.column(name)
            if column.null_count:
                column = column.fill_null(0)
            self._ints[name] = column.to_numpy().astype(np.int64, copy=False)
        return self._ints[name]

    def given(self, name: str) -> _Mask:
        """Where a column is not null."""
        if name not in self._given:
            column: Any = self.table.column(name)
            if column.null_count == 0:
                self._given[name] = np.ones(len(column), np.bool_)
            elif column.null_count == len(column):
                self._given[name] = np.zeros(len(column), np.bool_)
            else:
                self._given[name] = column.is_valid().to_numpy()
        return self._given[name]

    def expect(self, holds: _Mask, name: str, expected: str) -> None:
        if holds.all():
            return
        row = int(np.flatnonzero(~holds)[0])
        got = self.table.column(name)[row].as_py()
        path = self.table.column("file_path")[row].as_py()
        raise InvalidInput(
            f"Cannot write manifest: entry {row} ({path}), {name}: expected {expected}, "
            f"got {'null' if got is None else repr(got)}."
        )


def _check_version(rules: _Rules, format_version: int, content: ManifestContent) -> None:
    if format_version == 1:
        if content != ManifestContent.DATA:
            raise InvalidInput("Cannot write a delete manifest to a v1 table: expected v2 or later. Upgrade the table.")
        for name in ("sequence_number", "file_sequence_number"):
            rules.expect(rules.ints(name) == 0, name, "null or 0 in a v1 table")
    for name, since in _SINCE.items():
        if format_version < since:
            rules.expect(~rules.given(name), name, f"null before v{since}")


def _check_tracking(rules: _Rules, format_version: int, snapshot_id: int | None) -> None:
    status = rules.ints("status")
    added = status == EntryStatus.ADDED
    existing = status == EntryStatus.EXISTING
    rules.expect(rules.given("snapshot_id") | ~existing, "snapshot_id", "the snapshot that added an existing file")
    if format_version == 1:
        rules.expect(rules.given("snapshot_id"), "snapshot_id", "a snapshot id in a v1 table")
        return
    for name in ("sequence_number", "file_sequence_number"):
        rules.expect(rules.given(name) | added, name, "a number because only added entries inherit one")
    if snapshot_id is not None:
        # A null number will become that of this commit, so the file must be this commit's.
        own = ~rules.given("snapshot_id") | (rules.ints("snapshot_id") == snapshot_id)
        numbered = rules.given("sequence_number") & rules.given("file_sequence_number")
        rules.expect(own | numbered, "snapshot_id", f"{snapshot_id} for a file without sequence numbers")


def _check_content(rules: _Rules, format_version: int, content: ManifestContent) -> None:
    kind = rules.ints("content")
    is_data, is_position = kind == FileContent.DATA, kind == FileContent.POSITION_DELETES
    is_equality = kind == FileContent.EQUALITY_DELETES
    if content == ManifestContent.DATA:
        rules.expect(is_data, "content", "0 (data) in a data manifest")
    else:
        rules.expect(is_position | is_equality, "content", "1 or 2 (deletes) in a delete manifest")
    is_puffin = _check_file_format(rules)
    new = (rules.ints("status") == EntryStatus.ADDED) & ~rules.given("file_sequence_number")
    rules.expect(rules.given("equality_ids") | ~is_equality, "equality_ids", "field ids for equality deletes")
    rules.expect(~rules.given("equality_ids") | is_equality, "equality_ids", "null but for equality deletes")
    rules.expect(~rules.given("sort_order_id") | ~(is_position & new), "sort_order_id", "null for position deletes")
    rules.expect(~rules.given("first_row_id") | is_data, "first_row_id", "null for delete files")
    if format_version >= 3:
        rules.expect(~rules.given("first_row_id") | ~new, "first_row_id", "null for a new file, which inherits it")
    rules.expect(~rules.given("referenced_data_file") | is_position, "referenced_data_file", "null but for deletes")
    is_vector = rules.given("content_offset")
    rules.expect(is_puffin | ~is_vector, "file_format", "puffin for a deletion vector")
    rules.expect(is_vector | ~is_puffin, "content_offset", "an offset for a deletion vector")
    rules.expect(is_position | ~is_vector, "content", "1 (position deletes) for a deletion vector")
    rules.expect(rules.given("content_size_in_bytes") == is_vector, "content_size_in_bytes", "a size with an offset")
    rules.expect(rules.given("referenced_data_file") | ~is_vector, "referenced_data_file", "a deletion vector's file")
    for name in ("content_offset", "content_size_in_bytes"):
        rules.expect(rules.ints(name) >= 0, name, "0 or more")
    if format_version >= 3:
        rules.expect(
            ~(is_position & new & ~is_vector), "file_format", "puffin: new position deletes of v3 are deletion vectors"
        )


def _check_file_format(rules: _Rules) -> _Mask:
    """Which files are Puffin files."""
    column: Any = rules.table.column("file_format")
    named: dict[str, bool] = {name: name.lower() == "puffin" for name in column.unique().to_pylist()}
    odd = [name for name in named if name.lower() not in FILE_FORMATS]
    if odd:
        known: Any = pc.is_in(column, value_set=pa.array(odd))
        rules.expect(~known.to_numpy(), "file_format", f"one of {', '.join(FILE_FORMATS)}")
    if not any(named.values()):
        return np.zeros(len(column), np.bool_)
    puffin: Any = pc.is_in(column, value_set=pa.array([name for name, is_puffin in named.items() if is_puffin]))
    mask: _Mask = puffin.to_numpy()
    return mask


def _are_sorted(column: Any) -> _Mask:
    """Which lists ascend. Null and empty ones do."""
    holds = []
    for chunk in column.chunks:
        offsets = chunk.offsets.to_numpy()
        values: Any = chunk.values.slice(offsets[0], offsets[-1] - offsets[0])
        steps = np.diff(values.to_numpy(zero_copy_only=False)) >= 0 if len(values) else np.zeros(0, np.bool_)
        # The step from the last item of one list to the first of the next does not count.
        bounds = offsets - offsets[0]
        falls = np.concatenate([[0], np.cumsum(~steps)]) if len(values) else np.zeros(1, np.int64)
        first, last = np.minimum(bounds[:-1], max(len(values) - 1, 0)), np.maximum(bounds[1:] - 1, 0)
        holds.append((bounds[1:] - bounds[:-1] < 2) | (falls[last] == falls[first]))
    return np.concatenate(holds) if holds else np.zeros(0, np.bool_)


def _check_no_nan(rules: _Rules, name: str, schema: Schema) -> None:
    """No bound of a float or double column is NaN, at either width (a promoted float keeps its four bytes)."""
    ids = [i for i, f in schema.fields_by_id.items() if isinstance(f.type, FloatType | DoubleType)]
    column: Any = rules.table.column(name)
    if not ids or column.null_count == len(column):
        return
    first_row = 0
    for chunk in column.chunks:
        items = _nan_items(chunk.keys, chunk.items, ids)
        if len(items):
            lists: Any = chunk.offsets.to_numpy()
            owners = np.searchsorted(lists, items, side="right") - 1
            owners = owners[(owners >= 0) & (owners < len(chunk))]
            holds = np.ones(len(column), np.bool_)
            holds[first_row + owners] = False
            rules.expect(holds, name, "no NaN: leave the bound out and count the NaNs instead")
        first_row += len(chunk)


def _nan_items(keys: Any, bounds: Any, ids: list[int]) -> npt.NDArray[np.int64]:
    """Where serialized bounds of the given columns are NaN."""
    is_float: Any = pc.is_in(keys, value_set=pa.array(ids, keys.type))
    offsets, data = bytes_of(bounds, "bytes", "bounds")
    wanted = np.flatnonzero(is_float.to_numpy(zero_copy_only=False))
    widths = offsets[wanted + 1] - offsets[wanted]
    found = []
    for width, dtype in _FLOATS_BY_WIDTH.items():
        places = wanted[widths == width]
        taken = data[offsets[places][:, None] + np.arange(width)]
        found.append(places[np.isnan(taken.reshape(-1).view(dtype))])
    return np.sort(np.concatenate(found))
