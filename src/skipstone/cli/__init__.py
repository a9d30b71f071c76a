"""The command line: one module a command."""

from __future__ import annotations

import typer

from skipstone.cli.analyze import analyze
from skipstone.cli.audit import audit
from skipstone.cli.hive import app as hive

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Statistics-first lakehouse tables.")
app.add_typer(hive, name="hive")
app.command()(analyze)
app.command()(audit)


@app.callback()
def _root() -> None:
    """Statistics-first lakehouse tables."""


def main() -> None:
    """What the command `skipstone` runs."""
    app()
