"""The demo's flags, and the story told chapter by chapter."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

import skipstone
from skipstone.demo.chapters import CHAPTERS
from skipstone.demo.story import TABLE, Story
from skipstone.errors import AlreadyExists, InvalidInput, SkipstoneError
from skipstone.spark import session

ROWS_DEFAULT: Final = 1_500_000
SEED_DEFAULT: Final = 7
WIDTH_DEFAULT: Final = 110


def main(arguments: Sequence[str] | None = None) -> int:
    console = _console()
    flags = _flags(arguments)
    started = time.perf_counter()
    try:
        story = begin(flags.directory, rows=flags.rows, seed=flags.seed, master=flags.master, console=console)
        for tell in CHAPTERS:
            tell(story)
    except SkipstoneError as error:
        console.print(f"[red]{error}", highlight=False)
        return 1
    console.print(
        f"Told in {time.perf_counter() - started:.0f} s. The table stays in {story.directory}.", highlight=False
    )
    return 0


def begin(
    directory: Path | None,
    *,
    rows: int,
    seed: int,
    console: Console,
    passes: int = 3,
    master: str | None = None,
    spark: Any = None,
) -> Story:
    """The beginning of the story: an empty lake on this machine, a SQLite catalog, and Spark."""
    home = directory or Path(tempfile.mkdtemp(prefix="skipstone-demo-"))
    if home.exists() and not home.is_dir():
        raise InvalidInput(f"Cannot keep the demo's table in {home}: it is a file. Name a directory.")
    home.mkdir(parents=True, exist_ok=True)
    lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home))
    if lake.table_exists(TABLE):
        raise AlreadyExists(f"Cannot load {TABLE} into {home}: it is there already. Name another directory.")
    return Story(
        lake=lake,
        spark=spark or session(master),
        console=console,
        directory=home,
        rows=rows,
        seed=seed,
        passes=passes,
    )


def _console() -> Console:
    """As wide as the terminal; wide enough for the tables where there is none."""
    found = Console()
    return found if found.is_terminal else Console(width=WIDTH_DEFAULT)


def _flags(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m skipstone.demo", description="What statistics do to one query.")
    parser.add_argument("--rows", type=_positive, default=ROWS_DEFAULT, help=f"how many orders ({ROWS_DEFAULT:,})")
    parser.add_argument("--seed", type=int, default=SEED_DEFAULT, help=f"other rows for another seed ({SEED_DEFAULT})")
    parser.add_argument("--directory", type=Path, help="where the table is kept; a new temporary one by default")
    parser.add_argument("--master", help="where Spark runs; all cores of this machine by default")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    try:
        number = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return number


if __name__ == "__main__":
    sys.exit(main())
