"""Rows deleted by value: a null-safe anti join with the keys, for each set of delete columns.

Null equals null, NaN equals NaN, and -0.0 differs from 0.0. A key applies to strictly older files of its partition, or
of the table if its spec is unpartitioned.

Spec: "Equality Delete Files", "Scan Planning".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.arrow_types import to_arrow_type
from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.types import DoubleType, Field, FixedType, FloatType, UuidType
from skipstone.plan.scan import ScanPlan
from skipstone.read.equality_deletes import column_of, key_columns, key_field, stored_keys
from skipstone.read.whole_file import project_file
from skipstone.spark.columns import stored_type
from skipstone.spark.file_facts import SCOPE, SEQUENCE, scopes_of
from skipstone.spark.scan_names import PREFIX
from skipstone.storage.protocol import Storage

pa: Any = pyarrow

_KEY_SEQUENCE: Final = f"{PREFIX}key_sequence"
_KEY_SCOPE: Final = f"{PREFIX}key_scope"
# Up to so many keys are sent to every task; more are joined by shuffling.
_BROADCAST_KEYS_MAX: Final = 1_000_000


def delete_columns(plan: ScanPlan) -> list[Field]:
    """The top-level columns that equality deletes of the plan look at, dropped ones included."""
    return key_columns(sorted({i for ids in _groups(plan) for i in ids}), plan.metadata)


def without_deleted_values(
    spark: SparkSession, frame: DataFrame, plan: ScanPlan, storage: Storage, key_of: Callable[[Field], str]
) -> DataFrame:
    """The rows that no equality delete removes; `key_of` gives the SQL of a delete column."""
    for ids, deletes in _groups(plan).items():
        fields = [key_field(i, plan.metadata) for i in ids]
        keys = _keys(plan, storage, fields, deletes)
        if keys.num_rows == 0:
            continue
        schema = _key_schema(fields)
        there = spark.createDataFrame(keys, schema)
        if keys.num_rows <= _BROADCAST_KEYS_MAX:
            there = F.broadcast(there)
        frame = frame.join(there, F.expr(_applies(fields, key_of)), "left_anti")
    return frame


def _groups(plan: ScanPlan) -> dict[tuple[int, ...], list[int]]:
    """The rows of the plan's equality deletes by their delete columns."""
    groups: dict[tuple[int, ...], list[int]] = {}
    is_equality = plan.deletes.column("content").to_numpy() == FileContent.EQUALITY_DELETES
    for row in np.flatnonzero(is_equality).tolist():
        ids = plan.deletes.column("equality_ids")[row].as_py()
        if not ids:
            path = plan.deletes.column("file_path")[row].as_py()
            raise FormatViolation(f"Invalid equality delete file {path}: expected equality_ids, got none.")
        groups.setdefault(tuple(sorted(ids)), []).append(row)
    return groups


def _applies(fields: list[Field], key_of: Callable[[Field], str]) -> str:
    parts = [f"{SEQUENCE} < {_KEY_SEQUENCE}", f"({_KEY_SCOPE} IS NULL OR {_KEY_SCOPE} = {SCOPE})"]
    for place, field in enumerate(fields):
        mine, key = key_of(field), _key_name(place)
        parts.append(f"{mine} <=> {key}")
        if isinstance(field.type, FloatType | DoubleType):
            parts.append(f"{_is_negative_zero(mine)} = {_is_negative_zero(key)}")
    return " AND ".join(parts)


def _is_negative_zero(column: str) -> str:
    """Spark compares zeros without their sign: only their text tells."""
    return f"coalesce(CAST({column} AS STRING) = '-0.0', false)"


def _key_name(place: int) -> str:
    return f"{PREFIX}key_{place}"


def _key_schema(fields: list[Field]) -> T.StructType:
    keys = [T.StructField(_key_name(i), stored_type(f.type)) for i, f in enumerate(fields)]
    return T.StructType([*keys, T.StructField(_KEY_SEQUENCE, T.LongType()), T.StructField(_KEY_SCOPE, T.LongType())])


def _keys(plan: ScanPlan, storage: Storage, fields: list[Field], rows: list[int]) -> Any:
    """The keys of delete files with the same delete columns, with the number and the partition that limit them."""
    unpartitioned = {s.spec_id for s in plan.metadata.partition_specs if s.is_unpartitioned}
    scopes = scopes_of(plan)[1]
    parts = []
    for row in rows:
        arrays = _read(plan, storage, fields, row)
        is_global = plan.deletes.column("spec_id")[row].as_py() in unpartitioned
        sequence = plan.deletes.column("sequence_number")[row].as_py() or 0
        length = len(arrays[0])
        arrays.append(pa.repeat(pa.scalar(sequence, pa.int64()), length))
        arrays.append(pa.repeat(pa.scalar(None if is_global else int(scopes[row]), pa.int64()), length))
        parts.append(pa.table(arrays, [*(_key_name(i) for i in range(len(fields))), _KEY_SEQUENCE, _KEY_SCOPE]))
    return pa.concat_tables(parts).combine_chunks()


def _read(plan: ScanPlan, storage: Storage, fields: list[Field], row: int) -> list[Any]:
    wanted = stored_keys(fields, plan.metadata)
    path = plan.deletes.column("file_path")[row].as_py()
    file_format = plan.deletes.column("file_format")[row].as_py()
    batches = [b for _, b in project_file(storage, path, file_format, wanted)]
    return [_stored(f, [column_of(b, f) for b in batches]) for f in fields]


def _stored(field: Field, arrays: list[Any]) -> Any:
    target = pa.binary() if isinstance(field.type, UuidType | FixedType) else to_arrow_type(field.type)
    plain = [a.storage if isinstance(a, pa.ExtensionArray) else a for a in arrays]
    return pa.concat_arrays([a.cast(target) for a in plain]) if plain else pa.array([], target)
