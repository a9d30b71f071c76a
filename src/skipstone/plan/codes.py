"""Values as numbers that keep their order, for grouping and for least and greatest values.

Only floats need it: all NaNs are one value, -0.0 and 0.0 are one value, and NaN has the place that the float order
gives it. Other values stand for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.metadata.types import PrimitiveType, UuidType, Value

pa: Any = pyarrow
pc: Any = pyarrow.compute

_LOW_BITS: Final = np.int64(2**63 - 1)
NAN_LAST: Final = 2**63 - 1
NAN_FIRST: Final = -(2**63)


def encoded(values: Any, *, nan: int = NAN_LAST) -> Any:
    """Comparable values as they are grouped and compared; floats as integers in their order."""
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int8())
    if not pa.types.is_floating(values.type):
        return values
    numbers = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False) + 0.0  # no -0.0
    bits = numbers.view(np.int64)
    codes = bits ^ ((bits >> 63) & _LOW_BITS)
    codes = np.where(np.isnan(numbers), nan, codes)
    return pa.array(codes, pa.int64(), mask=values.is_null().to_numpy(zero_copy_only=False))


def encoded_type(arrow_type: Any) -> Any:
    if pa.types.is_boolean(arrow_type):
        return pa.int8()
    return pa.int64() if pa.types.is_floating(arrow_type) else arrow_type


def decoded_values(type_: PrimitiveType, arrow_type: Any, codes: Any) -> list[Value]:
    """Encoded values as values of a column's type; `arrow_type` is that of its comparable values."""
    if pa.types.is_boolean(arrow_type):
        return [None if v is None else bool(v) for v in codes.to_pylist()]
    if pa.types.is_floating(arrow_type):
        return [None if v is None else _float(v) for v in codes.to_pylist()]
    if isinstance(type_, UuidType):
        return list(pa.array(codes.to_pylist(), pa.binary(16)).cast(pa.uuid()).to_pylist()) if len(codes) else []
    return list(codes.to_pylist())


def _float(code: int) -> float:
    if code in (NAN_LAST, NAN_FIRST):
        return float("nan")
    bits = np.int64(code)
    return float((bits ^ ((bits >> 63) & _LOW_BITS)).view(np.float64))


def group_codes(columns: Sequence[Any], num_rows: int) -> npt.NDArray[np.int64]:
    """One number per row: rows that are equal in all columns get the same; null equals null."""
    codes = np.zeros(num_rows, np.int64)
    for column in columns:
        # Joined before: Arrow cannot join no chunks at all of a dictionary of decimals.
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        places = values.dictionary_encode(null_encoding="encode")
        numbers = codes * (len(places.dictionary) + 1) + places.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return codes
