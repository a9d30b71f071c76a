"""Manifest lists read straight into values: every plan of a table begins with one, and most have a few dozen rows.

Law: what comes out is what the list as an Arrow table would give, or None. Whatever is out of the ordinary, in the
schema or in the bytes, gives None: the other reader takes all that is valid, and words what is wrong with the rest.

Spec: "Manifest Lists". Spec (Apache Avro): "Binary Encoding".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from skipstone.metadata.avro import AvroContainer, Caps
from skipstone.metadata.avro.reading import is_compiled_loaded
from skipstone.metadata.avro.varint import Damage, read_length, read_long
from skipstone.metadata.manifests.manifest import FieldSummary, ManifestContent, ManifestFile
from skipstone.metadata.manifests.manifest_list_columns import (
    COLUMNS,
    DEFAULTS,
    NOT_NEGATIVE,
    REQUIRED,
    SUMMARY_TYPE,
    column_of_field,
    summary_of_field,
)

_INFLATED_BYTES_MAX: Final = 4 * 1024 * 1024
_FEW_MANIFESTS: Final = 128
_SCHEMA_BYTES_MAX: Final = 64 * 1024
_INT_MAX: Final = 2**31 - 1
_SUMMARIES: Final = "partitions"


class _OddError(Exception):
    """Something for the other reader to look at."""


class _Step(NamedTuple):
    """A field of a record, in the order of the bytes. `name` is None for one that is not asked for.

    `null_index` is the branch of its union that is null, -1 outside a union.
    """

    name: str | None
    null_index: int
    read: Callable[[bytes, int, int], tuple[Any, int]]


def quick_manifests(container: AvroContainer) -> list[ManifestFile] | None:
    if container.caps != Caps() or len(container.schema_text) > _SCHEMA_BYTES_MAX:
        return None
    if container.record_count > _FEW_MANIFESTS and is_compiled_loaded():
        return None  # a long list is the other reader's, once that has what it needs
    try:
        steps = _steps(container.schema_text)
        found: list[ManifestFile] = []
        for data, count in container.inflated():
            if len(data) > _INFLATED_BYTES_MAX:
                return None
            _read_block(data, count, steps, found)
    except (_OddError, Damage, UnicodeDecodeError, IndexError):
        return None
    return found


def _read_block(data: bytes, count: int, steps: tuple[_Step, ...], found: list[ManifestFile]) -> None:
    pos, end = 0, len(data)
    for _ in range(count):
        values, pos = _read_record(steps, data, pos, end)
        found.append(_manifest(values))
    if pos != end:
        raise _OddError


def _read_record(steps: tuple[_Step, ...], data: bytes, pos: int, end: int) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    for name, null_index, read in steps:
        value = None
        is_null = False
        if null_index >= 0:
            branch = data[pos]  # both branches of a union of two take one byte
            if branch not in (0, 2):
                raise _OddError
            is_null = branch >> 1 == null_index
            pos += 1
        if not is_null:
            value, pos = read(data, pos, end)
        if name is not None:
            values[name] = value
    return values, pos


def _manifest(values: dict[str, Any]) -> ManifestFile:
    for name in REQUIRED:
        if values[name] is None:
            raise _OddError
    for name, default in DEFAULTS.items():
        if values.get(name) is None:
            values[name] = default
    for name in NOT_NEGATIVE:
        if (values.get(name) or 0) < 0:
            raise _OddError
    if values["content"] not in (0, 1):
        raise _OddError
    values["content"] = ManifestContent(values["content"])
    return ManifestFile(**values)


def _int(data: bytes, pos: int, end: int) -> tuple[int, int]:
    value, pos = read_long(data, pos, end)
    if not -_INT_MAX - 1 <= value <= _INT_MAX:
        raise _OddError
    return value, pos


def _boolean(data: bytes, pos: int, end: int) -> tuple[bool, int]:
    if data[pos] > 1:
        raise _OddError
    return data[pos] == 1, pos + 1


def _bytes(data: bytes, pos: int, end: int) -> tuple[bytes, int]:
    length, pos = read_length(data, pos, end)
    return data[pos : pos + length], pos + length


def _string(data: bytes, pos: int, end: int) -> tuple[str, int]:
    length, pos = read_length(data, pos, end)
    return data[pos : pos + length].decode(), pos + length


def _summaries(steps: tuple[_Step, ...]) -> Callable[[bytes, int, int], tuple[tuple[FieldSummary, ...], int]]:
    def read(data: bytes, pos: int, end: int) -> tuple[tuple[FieldSummary, ...], int]:
        found: list[FieldSummary] = []
        while True:
            count, pos = read_long(data, pos, end)
            if count == 0:
                return tuple(found), pos
            if count < 0:  # a block that tells its size, which has to be checked
                raise _OddError
            for _ in range(count):
                values, pos = _read_record(steps, data, pos, end)
                if values["contains_null"] is None:
                    raise _OddError
                found.append(FieldSummary(**values))

    return read


_READERS: Final[dict[str, Any]] = {
    "int": _int,
    "long": read_long,
    "boolean": _boolean,
    "bytes": _bytes,
    "string": _string,
}
# Avro types that hold what an Arrow type is read from.
_AVRO_TYPES: Final = {
    pa.int32(): ("int", "long"),
    pa.int64(): ("int", "long"),
    pa.bool_(): ("boolean",),
    pa.binary(): ("bytes",),
    pa.string(): ("string",),
}


@lru_cache(maxsize=64)
def _steps(schema_text: bytes) -> tuple[_Step, ...]:
    """How to read a record. Cached: the lists of a table share their schema."""
    types = {name: arrow for name, (_, arrow) in COLUMNS.items()}
    steps = _record_steps(msgspec.json.decode(schema_text), column_of_field, types)
    names = {step.name for step in steps}
    if not names.issuperset(REQUIRED):
        raise _OddError
    return steps


def _record_steps(
    schema: Any, column_of: Callable[[dict[str, Any]], str | None], types: dict[str, Any]
) -> tuple[_Step, ...]:
    if not isinstance(schema, dict) or schema.get("type") != "record" or not _is_name(schema.get("name")):
        raise _OddError
    fields = schema.get("fields")
    if not isinstance(fields, list) or not fields:
        raise _OddError
    steps: list[_Step] = []
    seen: set[str] = set()
    for field in fields:
        if not isinstance(field, dict) or not _is_name(field.get("name")) or not _is_id(field.get("field-id")):
            raise _OddError
        column = column_of(field)
        # A name twice is an error, and so is a column.
        if field["name"] in seen or (column is not None and any(s.name == column for s in steps)):
            raise _OddError
        seen.add(field["name"])
        steps.append(_step(column, field.get("type"), types))
    return tuple(steps)


def _step(column: str | None, type_: Any, types: dict[str, Any]) -> _Step:
    null_index = -1
    if isinstance(type_, list):
        if len(type_) != 2 or type_.count("null") != 1:
            raise _OddError
        null_index = type_.index("null")
        type_ = type_[1 - null_index]
    if column == _SUMMARIES:
        return _Step(column, null_index, _summaries(_summary_steps(type_)))
    if not isinstance(type_, str) or type_ not in _READERS:
        raise _OddError
    if column is None:
        return _Step(None, null_index, _READERS[type_])
    if type_ not in _AVRO_TYPES[types[column]]:
        raise _OddError
    return _Step(column, null_index, _int if types[column] == pa.int32() else _READERS[type_])


def _summary_steps(array: Any) -> tuple[_Step, ...]:
    if not isinstance(array, dict) or array.get("type") != "array" or "logicalType" in array:
        raise _OddError
    if not _is_id(array.get("element-id")):
        raise _OddError
    steps = _record_steps(array.get("items"), summary_of_field, {f.name: f.type for f in SUMMARY_TYPE})
    if "contains_null" not in {step.name for step in steps}:
        raise _OddError
    return steps


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))
