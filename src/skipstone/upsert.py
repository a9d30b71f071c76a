"""Upsert: new rows take the place of rows with the same key.

Only files that can hold one of the keys are read, and of those only the key columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from skipstone.commit import Change
from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_types import arrow_to_value, to_arrow_type
from skipstone.metadata.reserved import FILE, POS
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.properties import UPSERT_MODE, property_value
from skipstone.metadata.types import DoubleType, Field, FloatType, PrimitiveType, StructType
from skipstone.predicate import Predicate
from skipstone.predicate.nodes import TRUE, Column, Compare, In, Op, and_
from skipstone.read import read_plan
from skipstone.read.equality_deletes import among, plain_keys
from skipstone.row_level import RowLevel
from skipstone.upsert_by_value import upsert_by_value
from skipstone.write import write_rows

pa: Any = pyarrow
pc: Any = pyarrow.compute

# Beyond this a key column prunes by its range instead of by each value.
_LISTED_MAX = 10_000


def upsert_change(
    rows: RowLevel, table: Any, *, on: Sequence[str] | None, order_by: str | None = None, name: str
) -> Change | None:
    """The change that adds the table's rows and removes those with the same keys; None if there are no rows.

    Of several rows with one key the last in the order of `order_by` is taken.
    """
    keys = upsert_keys(rows.schema, on, name)
    if table.num_rows == 0:
        return None
    columns = [_key_column(table, k, name) for k in keys]
    if order_by is not None:
        last = pa.array(_is_last(columns, _order_column(table, order_by, name)))
        table, columns = table.filter(last), [c.filter(last) for c in columns]
    _check_unique(columns, keys, name)
    if property_value(rows.metadata.properties, UPSERT_MODE) == "equality-delete":
        return upsert_by_value(table, keys, metadata=rows.metadata, storage=rows.storage, ref=rows.ref, name=name)
    predicate = and_(*(reach(k, c) for k, c in zip(keys, columns)))
    plan = rows.plan(predicate)
    gone: dict[str, list[Any]] = {}
    wanted = StructType((*keys, FILE, POS))
    new = [plain_keys(c) for c in columns]
    for batch in read_plan(plan, rows.storage, wanted=wanted):
        old = [plain_keys(batch.column(i)) for i in range(len(keys))]
        hit = among(old, new)
        if hit.any():
            chosen = batch.filter(pa.array(hit))
            gone.setdefault(chosen.column(len(keys))[0].as_py(), []).append(chosen.column(len(keys) + 1).to_numpy())
    files = write_rows(table.to_reader(), metadata=rows.metadata, storage=rows.storage)
    return rows.replace_positions({p: np.concatenate(v) for p, v in gone.items()}, plan, files, predicate)


def upsert_keys(schema: Schema, on: Sequence[str] | None, name: str) -> list[Field]:
    """The columns that say which row is which: those given, else the identifier fields."""
    if on is None:
        if not schema.identifier_field_ids:
            raise InvalidInput(
                f"Cannot upsert into {name}: the table has no identifier fields. Pass on=[...] or set them."
            )
        fields = [schema.field(i) for i in schema.identifier_field_ids]
    elif isinstance(on, str) or not on:
        raise InvalidInput(f"Cannot upsert into {name}: expected on as a list of one or more columns, got {on!r}.")
    else:
        fields = [schema.field(n) for n in on]
    for f in fields:
        if not isinstance(f.type, PrimitiveType) or schema.parents_by_id.get(f.id) is not None:
            raise InvalidInput(f"Cannot upsert into {name} on {f.name!r}: expected top-level primitive columns.")
        if isinstance(f.type, FloatType | DoubleType):
            raise InvalidInput(f"Cannot upsert into {name} on {f.name!r}: {f.type} is no key.")
    return fields


def _key_column(table: Any, key: Field, name: str) -> Any:
    if key.name not in table.column_names:
        raise InvalidInput(
            f"Cannot upsert into {name}: expected key column {key.name!r} among {', '.join(table.column_names)}."
        )
    from_user = table.column(key.name).combine_chunks()
    from_user = from_user.combine_chunks() if isinstance(from_user, pa.ChunkedArray) else from_user
    wanted = _arrow_type(key)
    return from_user if from_user.type == wanted else from_user.cast(wanted)


def _order_column(table: Any, order_by: str, name: str) -> Any:
    if order_by not in table.column_names:
        raise InvalidInput(
            f"Cannot upsert into {name} in the order of {order_by!r}: expected one of {', '.join(table.column_names)}."
        )
    return table.column(order_by)


def _is_last(columns: list[Any], order: Any) -> Any:
    """Which rows come last among those with their key; null comes first. Rows that tie are all last."""
    codes = [pc.fill_null(c.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False) for c in columns]
    group = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].reshape(-1)
    rank = np.where(order.is_null(), 0, pc.rank(order, tiebreaker="dense"))
    last = np.zeros(group.max() + 1, rank.dtype)
    np.maximum.at(last, group, rank)
    return rank == last[group]


def _arrow_type(key: Field) -> Any:
    arrow: Any = to_arrow_type(key.type)
    return arrow.storage_type if isinstance(arrow, pa.BaseExtensionType) else arrow


def _check_unique(columns: list[Any], keys: list[Field], name: str) -> None:
    table = pa.table(columns, names=[k.name for k in keys])
    distinct = table.group_by(table.column_names).aggregate([]).num_rows
    if distinct != table.num_rows:
        raise InvalidInput(
            f"Cannot upsert into {name}: expected one row a key, got {table.num_rows - distinct} rows with a key that "
            "another row has. Pass order_by= a column that tells them apart to take the last."
        )


def reach(key: Field, column: Any) -> Predicate:
    """A predicate that every row with one of these keys matches."""
    assert isinstance(key.type, PrimitiveType)
    if column.null_count:
        return TRUE
    term = Column(field_id=key.id, type=key.type, name=key.name)
    distinct = pc.unique(column)
    if len(distinct) <= _LISTED_MAX:
        values = sorted(arrow_to_value(key.type, s) for s in distinct)
        return Compare(Op.EQ, term, values[0]) if len(values) == 1 else In(term, tuple(values))
    ends = pc.min_max(column)
    low, high = (arrow_to_value(key.type, ends[e]) for e in ("min", "max"))
    return and_(Compare(Op.GE, term, low), Compare(Op.LE, term, high))
