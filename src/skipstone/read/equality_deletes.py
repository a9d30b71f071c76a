"""Rows deleted by value.

A row is deleted if its values equal all delete columns of one key. Null equals null, NaN equals NaN, and -0.0 differs
from 0.0: keys are compared as what is stored, not as SQL compares. A field of a struct is null where the struct is.

Spec: "Equality Delete Files".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.arrow_types import to_arrow_type
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field, PrimitiveType, StructType
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.arrow_columns import TermValues, column_paths
from skipstone.predicate.nodes import Column
from skipstone.read.once import Once
from skipstone.read.whole_file import project_file
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

_CODES_MAX: Final = 1 << 62


class EqualityDeletes:
    """The keys of a plan's equality delete files, each read once."""

    def __init__(self, plan: ScanPlan, storage: Storage) -> None:
        self._deletes: Any = plan.deletes
        self._metadata = plan.metadata
        self._storage = storage
        self._loaded: Once[int, list[Any]] = Once()
        self._joined: Once[tuple[int, ...], list[Any]] = Once()

    def field_ids(self, delete_rows: list[int]) -> list[int]:
        """The delete columns of the given rows of the plan's deletes."""
        return sorted({i for row in delete_rows for i in self._ids(row)})

    def deleted(self, batch: Any, delete_rows: list[int]) -> npt.NDArray[np.bool_]:
        """Which rows of a batch, which has the delete columns, are deleted."""
        gone = np.zeros(batch.num_rows, bool)
        groups: dict[tuple[int, ...], list[int]] = {}
        for row in delete_rows:
            groups.setdefault(self._ids(row), []).append(row)
        for ids, rows in groups.items():
            columns = [plain_keys(column_of(batch, key_field(i, self._metadata))) for i in ids]
            gone |= among(columns, self._keys(tuple(rows), len(ids)))
        return gone

    def _keys(self, rows: tuple[int, ...], num_columns: int) -> list[Any]:
        """The keys of several delete files with the same delete columns, joined once for all batches."""

        def join() -> list[Any]:
            parts = [self._loaded.get(row, lambda r=row: self._read(r)) for row in rows]  # type: ignore[misc]
            return [pa.concat_arrays([p[place] for p in parts]) for place in range(num_columns)]

        return self._joined.get(rows, join)

    def _ids(self, row: int) -> tuple[int, ...]:
        ids = self._deletes.column("equality_ids")[row].as_py()
        if not ids:
            path = self._deletes.column("file_path")[row].as_py()
            raise FormatViolation(f"Invalid equality delete file {path}: expected equality_ids, got none.")
        return tuple(sorted(ids))

    def _read(self, row: int) -> list[Any]:
        """The key columns of a delete file, in the order of their ids."""
        fields = [key_field(i, self._metadata) for i in self._ids(row)]
        wanted = stored_keys(fields, self._metadata)
        path = self._deletes.column("file_path")[row].as_py()
        file_format = self._deletes.column("file_format")[row].as_py()
        key = self._deletes.column("key_metadata")[row].as_py()
        batches = [b for _, b in project_file(self._storage, path, file_format, wanted, key_metadata=key)]
        return [
            pa.concat_arrays([plain_keys(column_of(b, f)) for b in batches]) if batches else plain_keys(_no_values(f))
            for f in fields
        ]


def key_field(field_id: int, metadata: TableMetadata) -> Field:
    """A delete column by id; a dropped one is still used, as the newest schema that has it types it."""
    return _schema_with(field_id, metadata).field(field_id)


def _schema_with(field_id: int, metadata: TableMetadata) -> Schema:
    for schema in (metadata.current_schema, *reversed(metadata.schemas)):
        if schema.find(field_id) is not None:
            return schema
    raise FormatViolation(f"Invalid equality_ids: expected columns of the table, got id {field_id}, which never was.")


def stored_keys(fields: Iterable[Field], metadata: TableMetadata) -> StructType:
    """What a delete file is read as: the columns its delete columns lie in, reduced to what leads to them."""
    schemas = [(f, _schema_with(f.id, metadata)) for f in fields]
    return StructType(united(schema.select([schema.name_of(f.id)]).fields[0] for f, schema in schemas))


def key_columns(field_ids: list[int], metadata: TableMetadata) -> list[Field]:
    """The top-level fields that hold the given delete columns."""
    found = []
    for i in field_ids:
        top = next(iter(reversed([*_schema_with(i, metadata).ancestors(i)])), None)
        found.append(top or key_field(i, metadata))
    return list(united(found))


def united(fields: Iterable[Field]) -> tuple[Field, ...]:
    """One field for each id. Of a struct that several schemas have, it holds the fields of all."""
    found: dict[int, Field] = {}
    for field in fields:
        known = found.get(field.id)
        if known is None:
            found[field.id] = field
        elif isinstance(known.type, StructType) and isinstance(field.type, StructType):
            inner = StructType(united((*known.type.fields, *field.type.fields)))
            found[field.id] = replace(known, type=inner)
    return tuple(found.values())


def column_of(batch: Any, field: Field) -> Any:
    """A delete column of a batch by field id, null under null structs."""
    assert isinstance(field.type, PrimitiveType)
    term = Column(field_id=field.id, type=field.type, name=field.name)
    return TermValues(batch, column_paths(batch.schema)).array(term)


def _no_values(field: Field) -> Any:
    return pa.array([], to_arrow_type(field.type))


def plain_keys(values: Any) -> Any:
    """Values that Arrow's hashing compares by their bits."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_floating(values.type):
        canonical = pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)
        return canonical.view(pa.int32() if values.type == pa.float32() else pa.int64())
    return values


def among(columns: list[Any], keys: list[Any]) -> npt.NDArray[np.bool_]:
    """Which rows are, in all columns, equal to one of the keys."""
    found = np.ones(len(columns[0]), bool)
    row_codes, key_codes, num_codes = np.zeros(len(columns[0]), np.int64), np.zeros(len(keys[0]), np.int64), 1
    for column, key in zip(columns, keys, strict=True):
        distinct = pc.unique(key)
        at = pc.index_in(column, value_set=distinct)
        found &= at.is_valid().to_numpy(zero_copy_only=False)
        if len(columns) == 1:
            return found
        num_codes *= len(distinct) + 1
        if num_codes > _CODES_MAX:
            # Renumbered, so that codes never grow beyond their type.
            both = np.unique(np.concatenate((row_codes, key_codes)), return_inverse=True)[1]
            row_codes, key_codes = both[: len(row_codes)], both[len(row_codes) :]
            num_codes = (len(row_codes) + len(key_codes)) * (len(distinct) + 1)
        row_codes = row_codes * (len(distinct) + 1) + pc.fill_null(at, 0).to_numpy(zero_copy_only=False)
        key_codes = key_codes * (len(distinct) + 1) + pc.index_in(key, value_set=distinct).to_numpy()
    return found & np.isin(row_codes, key_codes)
