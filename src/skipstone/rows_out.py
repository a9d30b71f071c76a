"""Arrow tables as other libraries take them.

Arrow says UUID with an extension type, which not everyone knows at every depth. Values do not change here, only how
they are held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow

pa: Any = pyarrow


def without_extensions(table: Any) -> Any:
    """The table with every extension replaced by what it is stored as."""
    return table.cast(pa.schema([f.with_type(plain_type(f.type)) for f in table.schema]))


def for_pandas(table: Any) -> Any:
    """The table as pyarrow can hand it to pandas: inside lists it knows neither extensions nor bytes of one length."""
    nested = [f.with_type(_varying(plain_type(f.type))) if pa.types.is_nested(f.type) else f for f in table.schema]
    return table.cast(pa.schema(nested))


def plain_type(type_: Any) -> Any:
    """The type with every extension replaced by what it is stored as."""
    return _replaced(type_, lambda t: t.storage_type if isinstance(t, pa.BaseExtensionType) else t)


def _varying(type_: Any) -> Any:
    return _replaced(type_, lambda t: pa.binary() if pa.types.is_fixed_size_binary(t) else t)


def _replaced(type_: Any, leaf: Callable[[Any], Any]) -> Any:
    """The type with every leaf replaced."""
    if pa.types.is_struct(type_):
        return pa.struct([f.with_type(_replaced(f.type, leaf)) for f in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_replaced(type_.value_type, leaf)))
    if pa.types.is_map(type_):
        key, item = type_.key_field, type_.item_field
        return pa.map_(key.with_type(_replaced(key.type, leaf)), item.with_type(_replaced(item.type, leaf)))
    return leaf(type_)
