"""Names that Avro and Parquet files can carry.

Iceberg column names are free text; Avro names are letters, digits and underscores that do not start with a digit.
Law: a name is changed the way Iceberg's other writers change it, so that their readers find the columns they expect.
Other characters become `_x` and their UTF-16 code unit in hex, a leading digit gets an underscore.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

from skipstone.errors import InvalidInput

_SURROGATES: Final = range(0xD800, 0xE000)


def is_avro_name(name: str) -> bool:
    """Whether a name can stand as it is."""
    return bool(name) and sanitize_name(name) == name


def sanitize_name(name: str) -> str:
    """The nearest name that Avro allows; unchanged when the name is allowed."""
    if not name:
        raise InvalidInput("Invalid column name '': expected at least one character to write it to a file.")
    units = list(_utf16_units(name))
    return "".join(_escaped(unit, first=i == 0) for i, unit in enumerate(units))


def sanitize_siblings(names: Iterable[str], ids: Iterable[int]) -> list[str]:
    """Sanitized names of the fields of one struct, made unique with the field id where two would collide."""
    taken: set[str] = set()
    result = []
    for name, field_id in zip(names, ids, strict=True):
        safe = sanitize_name(name)
        while safe in taken:
            safe = f"{safe}_{field_id}"
        taken.add(safe)
        result.append(safe)
    return result


def _utf16_units(name: str) -> Iterable[int]:
    data = name.encode("utf-16-le", "surrogatepass")
    return (int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2))


def _escaped(unit: int, *, first: bool) -> str:
    if unit not in _SURROGATES:
        char = chr(unit)
        category = unicodedata.category(char)
        if char == "_" or category.startswith("L"):
            return char
        if category == "Nd":
            return f"_{char}" if first else char
    return f"_x{unit:X}"
