"""The parameter COLUMN_STATS_ACCURATE: which statistics of a table or partition are still those of its rows.

Its value is a JSON text: `{"BASIC_STATS":"true","COLUMN_STATS":{"a":"true"}}`. Statistics that are stored but not named
there are out of date.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

KEY: Final = "COLUMN_STATS_ACCURATE"
_BASIC: Final = "BASIC_STATS"
_COLUMNS: Final = "COLUMN_STATS"


def accurate_columns(parameters: Mapping[str, str]) -> set[str]:
    """The columns whose statistics are accurate; none if the parameter is missing or damaged."""
    columns = _parsed(parameters).get(_COLUMNS)
    return {name for name, value in columns.items() if value == "true"} if isinstance(columns, dict) else set()


def has_basic(parameters: Mapping[str, str]) -> bool:
    """Whether the counts of rows and files are accurate."""
    return _parsed(parameters).get(_BASIC) == "true"


def with_basic(parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters with the counts of rows and files accurate."""
    return _with({**parameters, KEY: json.dumps({**_parsed(parameters), _BASIC: "true"})}, accurate_columns(parameters))


def with_columns(parameters: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
    """The parameters with more columns accurate."""
    return _with(parameters, accurate_columns(parameters) | set(columns))


def without_columns(parameters: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
    """The parameters with these columns no longer accurate."""
    if KEY not in parameters:
        return dict(parameters)
    return _with(parameters, accurate_columns(parameters) - set(columns))


def _with(parameters: Mapping[str, str], columns: set[str]) -> dict[str, str]:
    state: dict[str, object] = {}
    if has_basic(parameters):
        state[_BASIC] = "true"
    if columns:
        state[_COLUMNS] = dict.fromkeys(sorted(columns), "true")
    kept = {key: value for key, value in parameters.items() if key != KEY}
    return {**kept, KEY: json.dumps(state, ensure_ascii=False, separators=(",", ":"))} if state else kept


def _parsed(parameters: Mapping[str, str]) -> dict[str, object]:
    try:
        state = json.loads(parameters.get(KEY, "{}"))
    except json.JSONDecodeError:
        return {}
    return state if isinstance(state, dict) else {}
