"""Runs one benchmark (or all): prints its figures as a table and writes them to benchmarks/results/<name>.json.

A benchmark is a module of this package with `figures(quick: bool) -> list[Figure]`. The exit code is 1 when a figure
that was measured misses its goal.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks
from benchmarks.report import Figure, print_table, store


def names() -> list[str]:
    """Every module that is a benchmark; `report` and the peers are not."""
    modules = (m.name for m in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(m for m in modules if m not in ("report", "__main__") and not m.startswith("peers"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="?", choices=names(), help="which benchmark to run")
    parser.add_argument("--all", action="store_true", help="run every benchmark")
    parser.add_argument("--quick", action="store_true", help="fewer passes: under a minute each")
    chosen = parser.parse_args(arguments)
    if not chosen.all and chosen.name is None:
        parser.error(f"name one of {', '.join(names())}, or pass --all")
    missed: list[Figure] = []
    for name in names() if chosen.all else [chosen.name]:
        figures = importlib.import_module(f"benchmarks.{name}").figures(quick=chosen.quick)
        print_table(name, figures)
        print(f"written to {store(Path(benchmarks.__path__[0]) / 'results', name, figures)}\n")
        missed += [f for f in figures if f.met is False]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
