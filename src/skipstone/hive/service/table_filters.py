"""Filters with which clients list tables: `hive_filter_field_tableName__ like "(?i)t.*"`. Case never counts.

One comparison of a table's name, owner, or one parameter; clients that offer a choice ask once for each.
"""

from __future__ import annotations

import fnmatch
import re
from typing import Final

from skipstone.errors import InvalidInput
from skipstone.hive.objects import HiveTable

_PATTERN: Final = re.compile(
    r"""\s*hive_filter_field_(?P<field>tableName__|owner__|params__(?P<key>\S+))
    \s*(?P<sign>like|=|!=|<>)\s*(?P<quote>["'])(?P<value>.*)(?P=quote)\s*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def is_kept(table: HiveTable, text: str) -> bool:
    """Whether a table passes a filter."""
    found = _PATTERN.fullmatch(text)
    if found is None or found["quote"] in found["value"]:
        raise InvalidInput(
            f"Invalid filter {text!r}: expected one comparison (like, =, !=) of hive_filter_field_tableName__, "
            "hive_filter_field_owner__ or hive_filter_field_params__<key> with a text in quotes."
        )
    if found["key"] is not None:
        held = table.parameters.get(found["key"])
    else:
        held = table.name if found["field"].lower() == "tablename__" else table.owner
    if held is None:
        return False
    value, held = found["value"].lower(), held.lower()
    if found["sign"].lower() == "like":
        # Only `.*` is more than a character: a whole language of patterns could keep a thread busy for ever.
        shown = (
            value.removeprefix("(?i)").replace("[", "[[]").replace("?", "[?]").replace("*", "[*]").replace(".[*]", "*")
        )
        return fnmatch.fnmatchcase(held, shown)
    return (held == value) is (found["sign"] == "=")
