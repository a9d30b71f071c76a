"""What a Python worker of Spark keeps from one task to the next, so that a task starts in milliseconds.

Before every task Spark makes Python forget what it knows of the path, on which are its jars and its own archives; a jar
has tens of thousands of entries, and reading them takes a quarter of a second. After every task it looks for garbage
among all objects of the process, most of which came with modules and stay.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path
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
    """From here on this process keeps what it has read of Spark's archives. Modules in them are found as before."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and _is_of_spark(finder.archive):
            sys.path_importer_cache[path] = KeptArchive(finder)


def keep_modules() -> None:
    """From here on what this process has imported is not searched for garbage. Call it when modules are loaded."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def _is_of_spark(archive: str) -> bool:
    """Jars, and the two archives that Spark's own Python is in. Archives of the user may be sent anew."""
    name = Path(archive).name
    return name.endswith(".jar") or (name.endswith(".zip") and name.startswith(("pyspark", "py4j-")))
