"""Normalized JSON paths, which name the fields of a variant in its bounds.

One field has exactly one path: `$` is the root, and each step below is `['name']` with only these escapes: \\' and
\\\\, \\b \\t \\n \\f \\r, and \\u00xx in lower case for the other control characters. Steps into arrays are not
written: `$['tags']` covers the elements of an array too.

Spec: "Bounds for Variant, Geometry, and Geography"; RFC 9535, "Normalized Paths".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from skipstone.errors import FormatViolation

ROOT: Final = "$"

_ESCAPES: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "'": "\\'", "\\": "\\\\"}
_UNESCAPES: Final = {escaped: plain for plain, escaped in _ESCAPES.items()}
_TO_ESCAPE: Final = re.compile(r"[\x00-\x1f'\\]")
_ESCAPED: Final = re.compile(r"\\(?:u00[01][0-9a-f]|.)", re.DOTALL)
_STEP: Final = re.compile(r"\['((?:[^\x00-\x1f'\\]|\\[btnfr'\\]|\\u00[01][0-9a-f])*)'\]")


def format_path(names: Iterable[str]) -> str:
    """The normalized path of a field, from the names that lead to it."""
    return ROOT + "".join(f"['{_TO_ESCAPE.sub(_escape, name)}']" for name in names)


def parse_path(path: str, *, source: str = "variant path") -> tuple[str, ...]:
    """The names that lead to a field, from its normalized path."""
    names: list[str] = []
    at = len(ROOT)
    is_path = path.startswith(ROOT)
    while is_path and at < len(path):
        m = _STEP.match(path, at)
        if m is None:
            is_path = False
        else:
            names.append(_ESCAPED.sub(_unescape, m[1]))
            at = m.end()
    # An escape that another spelling is normal for (\u000a for \n) would give one field two paths.
    if not is_path or format_path(names) != path:
        raise FormatViolation(
            f"Invalid {source}: expected a normalized JSON path such as $['location']['latitude'], got {path[:200]!r}."
        )
    return tuple(names)


def _escape(m: re.Match[str]) -> str:
    return _ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}"


def _unescape(m: re.Match[str]) -> str:
    return _UNESCAPES.get(m[0]) or chr(int(m[0][2:], 16))
