"""Variants as plain Python objects and as JSON text.

To Python: None, bool, int, float, Decimal, str, bytes, UUID, date and time objects where Python has them for the
value, else ISO text; list and dict. From Python: the narrowest physical type that holds the value, as engines choose
it when they parse JSON.

JSON text is what Spark prints: dates and times as strings with a space between date and time, bytes in base64,
decimals without trailing zeros, NaN and infinities as strings.

Spec: Apache Parquet, "Variant Binary Encoding".
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np

from skipstone.errors import InvalidInput
from skipstone.metadata.values import iso
from skipstone.metadata.values.variant import (
    DEPTH_MAX,
    VariantArray,
    VariantKind,
    VariantObject,
    VariantPrimitive,
    VariantValue,
)

_INT_KINDS: Final = (
    (VariantKind.INT8, 7),
    (VariantKind.INT16, 15),
    (VariantKind.INT32, 31),
    (VariantKind.INT64, 63),
)
_DECIMAL_KINDS: Final = ((VariantKind.DECIMAL4, 9), (VariantKind.DECIMAL8, 18), (VariantKind.DECIMAL16, 38))
# Digits of a second, and whether the instant is in UTC.
_TIMESTAMPS: Final = {
    VariantKind.TIMESTAMP: (6, False),
    VariantKind.TIMESTAMPTZ: (6, True),
    VariantKind.TIMESTAMP_NS: (9, False),
    VariantKind.TIMESTAMPTZ_NS: (9, True),
}
_EPOCH: Final = dt.datetime(1970, 1, 1)
_DAYS_MIN: Final = (dt.date.min - _EPOCH.date()).days
_DAYS_MAX: Final = (dt.date.max - _EPOCH.date()).days


# -- to Python -------------------------------------------------------------------------------------------------------


def variant_to_python(value: VariantValue) -> Any:
    """The plain object a variant stands for."""
    match value:
        case VariantArray(elements):
            return [variant_to_python(e) for e in elements]
        case VariantObject(fields):
            return {name: variant_to_python(v) for name, v in fields}
        case VariantPrimitive(kind, content):
            return _primitive_to_python(kind, content)


def _primitive_to_python(kind: VariantKind, content: Any) -> Any:
    if kind is VariantKind.DATE and _DAYS_MIN <= content <= _DAYS_MAX:
        return _EPOCH.date() + dt.timedelta(days=content)
    if kind is VariantKind.TIME and 0 <= content < iso.DAY_US:
        return (_EPOCH + dt.timedelta(microseconds=content)).time()
    if kind in _TIMESTAMPS:
        digits, is_utc = _TIMESTAMPS[kind]
        micros, lost = (content, 0) if digits == 6 else divmod(content, 1000)
        if not lost and _DAYS_MIN <= micros // iso.DAY_US <= _DAYS_MAX:
            naive = _EPOCH + dt.timedelta(microseconds=micros)
            return naive.replace(tzinfo=dt.UTC) if is_utc else naive
    if kind in (VariantKind.DATE, VariantKind.TIME) or kind in _TIMESTAMPS:
        return _time_text(kind, content)
    return content


def _time_text(kind: VariantKind, content: int) -> str:
    if kind is VariantKind.DATE:
        return iso.format_date(content)
    if kind is VariantKind.TIME:
        return iso.format_time(content)
    digits, is_utc = _TIMESTAMPS[kind]
    return iso.format_timestamp(content, digits=digits, separator=" ") + ("+00:00" if is_utc else "")


# -- from Python -----------------------------------------------------------------------------------------------------


def variant_from_python(value: object, *, depth: int = 0) -> VariantValue:
    """The variant of a plain object, in the narrowest physical type."""
    if depth > DEPTH_MAX:
        raise InvalidInput(f"Invalid variant: expected at most {DEPTH_MAX} levels of nesting.")
    match value:
        case VariantPrimitive() | VariantArray() | VariantObject():
            return value
        case None:
            return VariantPrimitive(VariantKind.NULL)
        case bool():
            return VariantPrimitive(VariantKind.TRUE if value else VariantKind.FALSE, value)
        case int():
            return _from_int(value)
        case float():
            return VariantPrimitive(VariantKind.DOUBLE, value)
        case Decimal():
            return _from_decimal(value)
        case str():
            return VariantPrimitive(VariantKind.STRING, value)
        case bytes() | bytearray() | memoryview():
            return VariantPrimitive(VariantKind.BINARY, bytes(value))
        case uuid.UUID():
            return VariantPrimitive(VariantKind.UUID, value)
        case dt.datetime():
            local = (value.replace(tzinfo=None) - _EPOCH) - (value.utcoffset() or dt.timedelta())
            kind = VariantKind.TIMESTAMP if value.utcoffset() is None else VariantKind.TIMESTAMPTZ
            return VariantPrimitive(kind, local // dt.timedelta(microseconds=1))
        case dt.date():
            return VariantPrimitive(VariantKind.DATE, (value - _EPOCH.date()).days)
        case dt.time() if value.tzinfo is None:
            since_midnight = dt.datetime.combine(_EPOCH, value) - _EPOCH
            return VariantPrimitive(VariantKind.TIME, since_midnight // dt.timedelta(microseconds=1))
        case Mapping():
            return VariantObject(tuple((_name(k), variant_from_python(v, depth=depth + 1)) for k, v in value.items()))
        case Sequence():
            return VariantArray(tuple(variant_from_python(v, depth=depth + 1) for v in value))
        case _:
            raise InvalidInput(f"Cannot make a variant of {type(value).__name__}: expected plain Python data.")


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"Invalid variant object: expected names of type str, got {key!r}.")
    return key


def _from_int(value: int) -> VariantPrimitive:
    bits = (value if value >= 0 else ~value).bit_length()
    for kind, bits_max in _INT_KINDS:
        if bits <= bits_max:
            return VariantPrimitive(kind, value)
    return _from_decimal(Decimal(value))


def _from_decimal(value: Decimal) -> VariantPrimitive:
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int) and -38 <= exponent <= 38:
        plain = Decimal(f"{value:f}")  # without a positive exponent
        digits = len(plain.as_tuple().digits)
        for kind, digits_max in _DECIMAL_KINDS:
            if digits <= digits_max:
                return VariantPrimitive(kind, plain)
    raise InvalidInput(f"Invalid variant decimal: expected at most 38 digits, got {value!s:.60}.")


# -- JSON ------------------------------------------------------------------------------------------------------------


def variant_to_json(value: VariantValue) -> str:
    """JSON text of a variant."""
    match value:
        case VariantArray(elements):
            return f"[{','.join(variant_to_json(e) for e in elements)}]"
        case VariantObject(fields):
            return f"{{{','.join(f'{_quoted(name)}:{variant_to_json(v)}' for name, v in fields)}}}"
        case VariantPrimitive(kind, content):
            return _primitive_to_json(kind, content)


def _primitive_to_json(kind: VariantKind, content: Any) -> str:
    match content:
        case None:
            return "null"
        case bool():
            return "true" if content else "false"
        case int() if kind in (VariantKind.DATE, VariantKind.TIME) or kind in _TIMESTAMPS:
            return _quoted(_time_text(kind, content))
        case float():
            return _float_to_json(kind, content)
        case Decimal():
            # normalize() would round to the context's precision and change 100 to 1E+2.
            plain = f"{content:f}"
            return plain.rstrip("0").rstrip(".") if "." in plain else plain
        case bytes():
            return _quoted(base64.b64encode(content).decode())
        case uuid.UUID() | str():
            return _quoted(str(content))
        case _:
            return str(content)


def _float_to_json(kind: VariantKind, value: float) -> str:
    if math.isfinite(value):
        return repr(float(str(np.float32(value))) if kind is VariantKind.FLOAT else value)
    return _quoted("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def variant_from_json(text: str) -> VariantValue:
    """The variant of JSON text: whole numbers narrow, other numbers as decimals where 38 digits do, else doubles."""
    try:
        parsed = json.loads(text, parse_float=_number, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as e:
        if isinstance(e, InvalidInput):
            raise
        raise InvalidInput(f"Invalid variant JSON: {str(e)[:200]}.") from None
    return variant_from_python(parsed)


def _number(text: str) -> Decimal | float:
    mantissa_is_plain = "e" not in text.lower()
    if mantissa_is_plain and len(text.strip("-").replace(".", "").lstrip("0")) <= 38 and len(text) <= 40:
        return Decimal(text)
    return float(text)


def _object(pairs: list[tuple[str, Any]]) -> VariantObject:
    return VariantObject(tuple((name, variant_from_python(v)) for name, v in pairs))


def _refuse_constant(text: str) -> Any:
    raise InvalidInput(f"Invalid variant JSON: expected JSON, got the constant {text}.")
