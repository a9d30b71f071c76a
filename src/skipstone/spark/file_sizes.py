"""How many rows make a file of the target size.

Spark's writer starts another file after a number of rows, not of bytes. What a row takes is known from the table's own
files once there are some; before that it is guessed from the types, on the large side, so that files come out too
small rather than too large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntType,
    ListType,
    MapType,
    StructType,
    Type,
    children,
)
from skipstone.write.settings import WriteSettings

_ROWS_MAX: Final = 2**31 - 1
# In smaller tables footers weigh more than rows.
_KNOWN_ROWS_MIN: Final = 10_000
_TOTAL_SIZE: Final = "total-files-size"
_TOTAL_ROWS: Final = "total-records"
# Values are compressed; text is longer than numbers.
_GUESSED_BYTES: Final[Mapping[type[Type], int]] = {BooleanType: 1, IntType: 4, FloatType: 4, DateType: 3}
_GUESSED_NUMBER: Final = 8
_GUESSED_TEXT: Final = 16
_GUESSED_ELEMENTS: Final = 4


def rows_a_file(metadata: TableMetadata, settings: WriteSettings) -> int:
    """The number of rows after which another file starts."""
    known = _known_bytes_a_row(metadata)
    bytes_a_row = known if known is not None else float(_guessed(metadata.current_schema.struct))
    return max(1, min(_ROWS_MAX, int(settings.target_file_size_bytes / max(bytes_a_row, 0.01))))


def _known_bytes_a_row(metadata: TableMetadata) -> float | None:
    """What a row of the table takes now, as its last snapshot tells."""
    snapshot = metadata.current_snapshot
    summary: Any = {} if snapshot is None else snapshot.summary
    try:
        size, rows = int(summary.get(_TOTAL_SIZE, 0)), int(summary.get(_TOTAL_ROWS, 0))
    except (TypeError, ValueError):
        return None
    return size / rows if size > 0 and rows >= _KNOWN_ROWS_MIN else None


def _guessed(type_: Type) -> int:
    match type_:
        case StructType():
            return sum(_guessed(f.type) for f in children(type_))
        case ListType() | MapType():
            return _GUESSED_ELEMENTS * sum(_guessed(f.type) for f in children(type_))
        case DecimalType(precision, _):
            return (precision + 1) // 2
    found = _GUESSED_BYTES.get(type(type_))
    return found if found is not None else (_GUESSED_TEXT if _is_text(type_) else _GUESSED_NUMBER)


def _is_text(type_: Type) -> bool:
    return str(type_) in ("string", "binary", "variant") or str(type_).startswith(("fixed", "geo", "uuid"))
