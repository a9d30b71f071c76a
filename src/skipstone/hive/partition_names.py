"""Names of partitions: `k1=v1/k2=v2`, with the characters that a path cannot hold written as %XX.

On an Iceberg table a partition is a partition tuple, its keys are the names of the spec's fields and its values the
text form of the transformed ones (`ts_day=2026-11-16`). A null value has a name of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from skipstone.errors import InvalidInput

NULL_NAME: Final = "__HIVE_DEFAULT_PARTITION__"

_ESCAPED: Final = frozenset([*map(chr, range(1, 32)), *"\"#%'*/:=?\\\x7f{[]^"])
_CODE: Final = re.compile("%([0-9a-fA-F]{2})")


def partition_name(keys: Sequence[str], values: Sequence[str | None]) -> str:
    """The name of a partition by its keys and values."""
    if len(keys) != len(values):
        raise InvalidInput(f"Invalid partition values {list(values)}: expected one for each of {', '.join(keys)}.")
    return "/".join(f"{_escape(key)}={_escape(value)}" for key, value in zip(keys, values, strict=True))


def parse_partition_name(name: str) -> dict[str, str]:
    """The keys and values in a partition's name, in its order. A null is NULL_NAME."""
    found: dict[str, str] = {}
    for part in name.split("/"):
        key, sign, value = part.partition("=")
        if not sign or not key:
            raise InvalidInput(f"Invalid partition name {name!r}: expected key=value in every level, got {part!r}.")
        if _unescape(key) in found:
            raise InvalidInput(f"Invalid partition name {name!r}: expected each key once, got {key!r} again.")
        found[_unescape(key)] = _unescape(value)
    return found


def _escape(text: str | None) -> str:
    if not text:
        return NULL_NAME
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def _unescape(text: str) -> str:
    return _CODE.sub(lambda found: chr(int(found.group(1), 16)), text)
