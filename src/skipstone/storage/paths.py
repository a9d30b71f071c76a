"""Locations as text: which scheme, which local path, made absolute.

Text after the scheme is literal: `%20`, `?` and `#` are characters of a name, as in the locations that Hadoop's file
systems and PyIceberg write.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pyarrow.compute

from skipstone.errors import InvalidInput

pc: Any = pyarrow.compute

FILE: Final = "file"
_LOCAL_START: Final = "^(?i:file):(?:///|//localhost/|/([^/]))"
# One letter is a Windows drive, not a scheme.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def scheme_of(location: str) -> str:
    """The scheme in lower case; `file` for an absolute path without one."""
    found = _SCHEME.match(location)
    if found is not None:
        return found[1].lower()
    if location.startswith("/"):
        return FILE
    raise InvalidInput(f"Invalid location {location!r}: expected an absolute path or a URI, got a relative path.")


def split_authority(location: str) -> tuple[str, str]:
    """The authority (bucket or host) and the path of `scheme://authority/path`, the path without its first slash."""
    _, found, rest = location.partition("://")
    if not found:
        raise InvalidInput(f"Invalid location {location!r}: expected scheme://bucket-or-host/path.")
    authority, _, path = rest.partition("/")
    return authority, path


def local_path(location: str) -> str:
    """The path on this machine of `/a`, `file:/a`, `file:///a` or `file://localhost/a`."""
    if scheme_of(location) != FILE:
        raise InvalidInput(f"Invalid local location {location!r}: expected an absolute path or a file: URI.")
    path = location[len(FILE) + 1 :] if not location.startswith("/") else location
    if path.startswith("//") and path is not location:
        host, slash, rest = path[2:].partition("/")
        if host not in ("", "localhost"):
            raise InvalidInput(f"Invalid local location {location!r}: expected no host or localhost, got {host!r}.")
        path = slash + rest
    if not path.startswith("/"):
        raise InvalidInput(f"Invalid local location {location!r}: expected an absolute path, got {path!r}.")
    if "\0" in path:
        raise InvalidInput(f"Invalid local location {location!r}: expected no NUL character in a path.")
    return path


def canonical(location: str) -> str:
    """One spelling for `/a`, `file:/a` and `file:///a`; other locations as they are."""
    return local_path(location) if scheme_of(location) == FILE else location


def key_of(path: str) -> str:
    """The one spelling of a path that names a file of a table."""
    try:
        return canonical(path)
    except InvalidInput:
        # Some old tables name files by relative paths: nothing to make equal.
        return path


def keys_of(paths: Any) -> Any:
    """The same for a column of paths."""
    return pc.replace_substring_regex(paths, _LOCAL_START, r"/\1")


def absolute_location(location: str) -> str:
    """A caller's location made absolute, without a trailing slash: relative paths count from the working directory."""
    if not location:
        raise InvalidInput("Invalid location '': expected a path or URI.")
    if _SCHEME.match(location) is None:
        location = str(Path(location).expanduser().absolute())
    return location.rstrip("/") or location


def join(directory: str, name: str) -> str:
    """The location of a name under a directory."""
    return f"{directory.rstrip('/')}/{name}"
