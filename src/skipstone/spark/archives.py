"""Archives on the path of Spark's Python workers, read once a worker and not once a task.

Spark puts its jars on the path of Python workers and makes Python forget what it knows of the path before every task. A
jar has tens of thousands of entries, and reading them takes a quarter of a second, which is more than many a task.
"""

from __future__ import annotations

import sys
from typing import Any
from zipimport import zipimporter


class KeptArchive:
    """A finder of modules in an archive that does not change: it has nothing to forget."""

    def __init__(self, finder: zipimporter) -> None:
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        if name == "invalidate_caches":
            raise AttributeError(name)
        return getattr(self._finder, name)


def keep_archives_read() -> None:
    """From here on this process keeps what it has read of jars. Modules in them are found as before."""
    for path, finder in list(sys.path_importer_cache.items()):
        if path.endswith(".jar") and isinstance(finder, zipimporter):
            sys.path_importer_cache[path] = KeptArchive(finder)
