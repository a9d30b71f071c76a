"""Rows as users have them, as a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.schema import Schema

pa: Any = pyarrow


def as_reader(rows: Any, schema: Schema, *, what: str, new_columns: bool = False) -> Any:
    """A record batch reader over the rows. Lists of dicts take their types from the table's schema."""
    if isinstance(rows, pa.RecordBatchReader):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(rows.schema, [rows])
    if isinstance(rows, pa.Table):
        return rows.to_reader()
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) and all(isinstance(r, Mapping) for r in rows):
        return _from_dicts(rows, schema, what, new_columns).to_reader()
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(rows)
    if type(rows).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(rows, preserve_index=False).to_reader()
    raise InvalidInput(
        f"Cannot write {type(rows).__name__} to {what}: expected an Arrow table, batch or reader, a pandas or Polars "
        "frame, or a list of dicts."
    )


def _from_dicts(rows: Sequence[Mapping[str, Any]], schema: Schema, what: str, new_columns: bool) -> Any:
    arrow: Any = to_arrow_schema(schema)
    given = {name for row in rows for name in row}
    unknown = sorted(given - set(arrow.names))
    if unknown and not new_columns:
        raise InvalidInput(
            f"Cannot write rows to {what}: expected columns {', '.join(arrow.names)}, "
            f"got unknown {', '.join(unknown)}. Pass merge_schema=True to add columns."
        )
    known = [f for f in arrow if f.name in given]
    try:
        arrays = [pa.array([row.get(f.name) for row in rows], _plain(f.type)) for f in known]
        more = [pa.array([row.get(name) for row in rows]) for name in unknown]
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(f"Cannot write rows to {what}: {str(error).splitlines()[0]}.") from error
    return pa.table([*arrays, *more], names=[*(f.name for f in known), *unknown])


def _plain(type_: Any) -> Any:
    return type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
