"""Spark's archives on the path are read once and modules in them are still found; what was imported is left alone."""

from __future__ import annotations

import importlib
import sys
import zipfile
from pathlib import Path
from zipimport import zipimporter

import pytest

from skipstone.spark.workers import KeptArchive, keep_archives_read


def test_a_jar_is_read_once_and_its_modules_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar, archive = str(tmp_path / "some.jar"), str(tmp_path / "some.zip")
    for path in (jar, archive):
        with zipfile.ZipFile(path, "w") as made:
            made.writestr(f"in_{Path(path).suffix[1:]}.py", "VALUE = 7\n")
        monkeypatch.syspath_prepend(path)
        sys.path_importer_cache[path] = zipimporter(path)
    # What is below a package in the archive has a finder of its own.
    sys.path_importer_cache[f"{jar}/inside"] = zipimporter(jar)
    reads: list[object] = []
    monkeypatch.setattr(zipimporter, "invalidate_caches", lambda self: reads.append(self.archive))
    keep_archives_read()
    keep_archives_read()
    try:
        for path in (jar, f"{jar}/inside"):
            assert isinstance(sys.path_importer_cache[path], KeptArchive)
        importlib.invalidate_caches()
        assert reads == [archive]
        assert importlib.import_module("in_jar").VALUE == importlib.import_module("in_zip").VALUE == 7
    finally:
        sys.path_importer_cache.pop(f"{jar}/inside", None)
        for path, module in ((jar, "in_jar"), (archive, "in_zip")):
            sys.path_importer_cache.pop(path, None)
            sys.modules.pop(module, None)
