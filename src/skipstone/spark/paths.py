"""Locations in table metadata as the URIs that Spark's file systems take.

A location is literal text, a Hadoop URI is percent-encoded: `a b%.parquet` becomes `a%20b%25.parquet`. A table that was
copied is read where its files are now.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import pyarrow
import pyarrow.compute

from skipstone.errors import Unsupported
from skipstone.storage.keyed import without_keys
from skipstone.storage.moved import MovedStorage
from skipstone.storage.protocol import Storage

pa: Any = pyarrow
pc: Any = pyarrow.compute

# RFC 3986's unreserved characters, and those that may stand in a path.
_SAFE: Final = "/-._~!$&'()*+,;=:@"
_UNSAFE: Final = r"[^A-Za-z0-9/\-._~!$&'()*+,;=:@]"
_LOCAL: Final = r"^(file:(//(localhost)?)?)?/"
_S3: Final = r"^s3n?://"
_IN_MEMORY: Final = r"^mem(ory)?:"


def hadoop_uris(storage: Storage, locations: Any) -> Any:
    """The URIs of many locations, as an Arrow array of strings."""
    paths = locations.combine_chunks() if isinstance(locations, pa.ChunkedArray) else locations
    storage = without_keys(storage)
    if isinstance(storage, MovedStorage):
        paths = pa.array([storage.where(path) for path in paths.to_pylist()], pa.string())
    in_memory = pc.match_substring_regex(paths, _IN_MEMORY)
    if pc.any(in_memory).as_py():
        raise Unsupported(
            f"Cannot read {paths.filter(in_memory)[0]} with Spark: the file lives in the memory of this process. "
            "Read with to_arrow(), or keep the table on disk."
        )
    unsafe = pc.match_substring_regex(paths, _UNSAFE)
    if pc.any(unsafe).as_py():
        quoted = pa.array([quote(p, safe=_SAFE) for p in paths.filter(unsafe).to_pylist()], pa.string())
        paths = pc.replace_with_mask(paths, unsafe, quoted)
    paths = pc.replace_substring_regex(paths, _LOCAL, "file:///")
    return pc.replace_substring_regex(paths, _S3, "s3a://")
