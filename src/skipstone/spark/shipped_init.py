"""What `skipstone/__init__.py` is inside the file that travels to executors: it unpacks the package and becomes it.

Modules imported out of a zip file are compiled anew in every Python worker, and compiled loops cannot be cached beside
them. Unpacked once a machine, under a name that says the content, both are kept for the next worker and the next job.

This file runs before anything else of the package and imports nothing of it.
"""

import os
import sys
import tempfile
import zipfile
from pathlib import Path

_SOURCES = "sources"  # the directory inside the zip file that has the package itself


def unpacked(archive: Path) -> Path:
    """The directory with the package of an archive; unpacked on first use, by whoever comes first."""
    folder = Path(tempfile.gettempdir()) / f"skipstone-unpacked-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"Cannot unpack {archive}: {folder} belongs to another user. Remove it.")
    home = folder / archive.stem / _SOURCES
    if not home.is_dir():
        mine = Path(tempfile.mkdtemp(dir=folder))
        with zipfile.ZipFile(archive) as sources:
            sources.extractall(mine, [n for n in sources.namelist() if n.startswith(f"{_SOURCES}/")])
        try:
            mine.rename(home.parent)
        except OSError:  # another worker was first, with the same content
            if not home.is_dir():
                raise
    return home


def become_the_package(module: str) -> None:
    """Run the unpacked package's own beginning in place of this file."""
    here = sys.modules[module]
    archive = next(p for p in Path(__file__).parents if p.suffix == ".zip")
    home = unpacked(archive) / module
    beginning = home / "__init__.py"
    here.__path__ = [str(home)]
    here.__file__ = str(beginning)
    if here.__spec__ is not None:
        here.__spec__.submodule_search_locations = here.__path__
        here.__spec__.origin = here.__file__
    exec(compile(beginning.read_text("utf-8"), str(beginning), "exec"), here.__dict__)


if __name__ == "skipstone":
    become_the_package(__name__)
