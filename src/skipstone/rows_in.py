"""Rows as users have them, as a stream of Arrow batches."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow

from skipstone.errors import InvalidInput
from skipstone.lossless import expected_instead, may_lose
from skipstone.metadata.formats.arrow_types import to_arrow_schema
from skipstone.metadata.schema import Schema
from skipstone.rows_out import plain_type

pa: Any = pyarrow

_UUID: Final = "arrow.uuid"


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
    if type(rows).__module__.partition(".")[0] == "pandas":
        return _from_pandas(rows, schema, what).to_reader()
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(rows)
    raise InvalidInput(
        f"Cannot write {type(rows).__name__} to {what}: expected an Arrow table, batch or reader, a pandas or Polars "
        "frame, or a list of dicts."
    )


def _from_pandas(frame: Any, schema: Schema, what: str) -> Any:
    """Lists, maps and structs take their types from the table's schema: pandas does not say what they are."""
    arrow: Any = to_arrow_schema(schema)
    nested = {f.name: f for f in arrow if pa.types.is_nested(f.type)}
    names, arrays = [str(n) for n in frame.columns], []
    try:
        for place, name in enumerate(names):
            column = frame.iloc[:, place]
            if name in nested and column.dtype == object:
                arrays.append(_array(column.tolist(), nested[name], what, from_pandas=True))
            else:
                arrays.append(pa.Array.from_pandas(column))
    except InvalidInput:
        raise
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(f"Cannot write rows to {what}: {str(error).splitlines()[0]}.") from error
    return pa.table(arrays, names=names)


def _from_dicts(rows: Sequence[Mapping[str, Any]], schema: Schema, what: str, new_columns: bool) -> Any:
    arrow: Any = to_arrow_schema(schema)
    given = {name for row in rows for name in row}
    unknown = sorted(given - set(arrow.names))
    if unknown and not new_columns:
        raise InvalidInput(
            f"Cannot write rows to {what}: expected columns {', '.join(arrow.names)}, "
            f"got unknown {', '.join(unknown)}. Pass merge_schema=True to add columns."
        )
    # Rows that name no column are rows too: without any column Arrow would forget how many.
    known = [f for f in arrow if f.name in given] or list(arrow)
    try:
        arrays = [_array([row.get(f.name) for row in rows], f, what) for f in known]
        more = [pa.array([row.get(name) for row in rows]) for name in unknown]
    except InvalidInput:
        raise
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInput(f"Cannot write rows to {what}: {str(error).splitlines()[0]}.") from error
    return pa.table([*arrays, *more], names=[*(f.name for f in known), *unknown])


def _array(values: list[Any], field: Any, what: str, *, from_pandas: bool = False) -> Any:
    if pa.types.is_nested(field.type) or isinstance(field.type, pa.BaseExtensionType) or may_lose(field.type, values):
        values = [_stored(value, field.type, field.name, what) for value in values]
    return pa.array(values, plain_type(field.type), from_pandas=from_pandas)


def _stored(value: Any, type_: Any, place: str, what: str) -> Any:
    """A value as pyarrow takes it: UUIDs as bytes, maps as pairs, at any depth."""
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(type_, pa.BaseExtensionType) and type_.extension_name == _UUID and isinstance(value, str):
        return uuid.UUID(value).bytes
    if pa.types.is_struct(type_) and isinstance(value, Mapping):
        names = [f.name for f in type_]
        unknown = sorted(set(value) - set(names))
        if unknown:
            raise InvalidInput(
                f"Cannot write rows to {what}: {place}: expected fields {', '.join(names)}, "
                f"got unknown {', '.join(unknown)}."
            )
        return {f.name: _stored(value.get(f.name), f.type, f"{place}.{f.name}", what) for f in type_}
    if pa.types.is_list(type_) and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_stored(item, type_.value_type, place, what) for item in value]
    if pa.types.is_map(type_):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(_stored(k, type_.key_type, place, what), _stored(v, type_.item_type, place, what)) for k, v in pairs]
    expected = expected_instead(value, type_)
    if expected is not None:
        raise InvalidInput(f"Cannot write rows to {what}: column '{place}': expected {expected}, got {value!r}.")
    return value
