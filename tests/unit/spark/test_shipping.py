from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import skipstone

pytest.importorskip("pyspark")

from skipstone.spark.shipping import is_local, packed, ship, sources


class Context:
    """What shipping asks of a Spark context."""

    def __init__(self, master: str, includes: tuple[str, ...] = ()) -> None:
        self.master = master
        self._python_includes = list(includes)
        self.added: list[str] = []

    def addPyFile(self, path: str) -> None:
        self.added.append(path)
        self._python_includes.append(Path(path).name)


def test_the_same_sources_make_the_same_file() -> None:
    first = packed().read_bytes()
    packed.cache_clear()
    assert packed().read_bytes() == first


def test_every_module_travels_and_nothing_else() -> None:
    names = {name for name, _ in sources()}
    root = Path(skipstone.__file__).parent
    modules = {f"sources/skipstone/{p.relative_to(root).as_posix()}" for p in root.rglob("*.py")}
    assert names == modules | {"skipstone/__init__.py", "sources/skipstone/py.typed"}
    with zipfile.ZipFile(packed()) as archive:
        assert set(archive.namelist()) == names


def test_the_package_is_shipped_once_and_never_to_this_machine() -> None:
    cluster, local = Context("spark://host:7077"), Context("local[2]")
    ship(cluster)
    ship(cluster)
    ship(local)
    assert cluster.added == [str(packed())]
    assert local.added == []


@pytest.mark.parametrize(
    ("master", "expected"),
    [("local", True), ("local[*]", True), ("local[4,2]", True), ("local-cluster[2,1,1024]", False), ("yarn", False)],
)
def test_only_local_masters_see_the_drivers_files(master: str, expected: bool) -> None:
    assert is_local(master) is expected


def run_from_the_file(temporary: Path, code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(packed()), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=temporary, env=environment, capture_output=True, text=True, check=False)


def test_a_process_with_only_the_file_on_its_path_imports_the_unpacked_package(tmp_path: Path) -> None:
    code = "import skipstone, skipstone.errors as e; print(skipstone.__file__, e.__file__, skipstone.__version__)"
    done = run_from_the_file(tmp_path, code)
    assert done.returncode == 0, done.stderr
    package, module, version = done.stdout.split()
    home = tmp_path / f"skipstone-unpacked-{os.getuid()}" / packed().stem / "sources" / "skipstone"
    assert (Path(package), Path(module)) == (home / "__init__.py", home / "errors.py")
    assert version == skipstone.__version__
    # The next process finds it unpacked, with the bytecode kept.
    assert (home / "__pycache__").is_dir()
    assert run_from_the_file(tmp_path, code).stdout == done.stdout
    assert [p.name for p in home.parents[2].iterdir()] == [packed().stem]


def test_a_directory_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from skipstone.spark import shipped_init

    class Foreign:
        st_uid = os.getuid() + 1

    real: Any = Path.stat
    monkeypatch.setattr(shipped_init.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(
        Path, "stat", lambda self, **k: Foreign() if self.name.startswith("skipstone-unpacked") else real(self, **k)
    )
    with pytest.raises(PermissionError, match="belongs to another user"):
        shipped_init.unpacked(packed())
