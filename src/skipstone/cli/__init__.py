"""The command line: one module a command."""

from __future__ import annotations

import typer

from skipstone.cli.analyze import analyze
from skipstone.cli.audit import audit
from skipstone.cli.hive import app as hive
from skipstone.cli.skipping import explain, layout
from skipstone.cli.sql import sql
from skipstone.cli.tables import describe, tables

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Statistics-first lakehouse tables.")
app.add_typer(hive, name="hive")
for command in (tables, describe, sql, explain, layout, analyze, audit):
    app.command()(command)


@app.callback()
def _root() -> None:
    """Statistics-first lakehouse tables."""


def main() -> None:
    """What the command `skipstone` runs."""
    app()
