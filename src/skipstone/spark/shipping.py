"""The package as one file that Spark carries to executors on other machines.

Executors need the same interpreter with the dependencies installed; this package itself travels with the job, so that
driver and executors always run the same code. The file's name says its content: two versions never share one. It is
unpacked where it arrives (see `shipped_init`).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import skipstone

_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same sources make the same bytes
_PREFIX = "skipstone-"


def ship(context: Any) -> None:
    """Make the package importable in the Python workers of a running context. Once is enough, twice does no harm."""
    if is_local(context.master) or any(Path(p).name.startswith(_PREFIX) for p in context._python_includes):
        return
    context.addPyFile(str(packed()))


def is_local(master: str) -> bool:
    """Whether executors live in the driver's own process, and so see its files."""
    return master == "local" or master.startswith("local[")


@cache
def packed() -> Path:
    """The package as a zip file in this user's temporary directory."""
    files = sources()
    digest = hashlib.sha256()
    for name, data in files:
        digest.update(name.encode() + b"\0" + len(data).to_bytes(8, "big") + data)
    folder = Path(tempfile.gettempdir()) / f"skipstone-shipped-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{_PREFIX}{skipstone.__version__}-{digest.hexdigest()[:12]}.zip"
    partial = target.with_suffix(f".{os.getpid()}.part")
    _write_zip(partial, files)
    partial.replace(target)
    return target


def sources() -> list[tuple[str, bytes]]:
    """What is in the zip file, by name and in order: a beginning that unpacks, and every source file to unpack."""
    root = Path(skipstone.__file__).parent
    found = sorted(p for p in root.rglob("*") if p.suffix == ".py" or p.name == "py.typed")
    beginning = (root / "spark" / "shipped_init.py").read_bytes()
    package = [(f"sources/{root.name}/{p.relative_to(root).as_posix()}", p.read_bytes()) for p in found]
    return [(f"{root.name}/__init__.py", beginning), *package]


def package_home() -> Path:
    """The directory to import the package from."""
    return Path(skipstone.__file__).parents[1]


def _write_zip(path: Path, files: list[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), data, zipfile.ZIP_DEFLATED)
