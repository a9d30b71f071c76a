"""`skipstone explain` and `skipstone layout`: what a filter skips, and how well a table lies for skipping."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from skipstone.cli.options import CatalogUri, SnapshotId, TableName, Warehouse, open_table, told_plainly
from skipstone.ui.explain_picture import explanation_svg
from skipstone.ui.explain_table import explanation_table

AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]


def explain(
    table: TableName,
    filter: Annotated[str, typer.Argument(metavar="FILTER", help="A condition: zip_code = '10001'.")],
    catalog: CatalogUri,
    warehouse: Warehouse = None,
    snapshot: SnapshotId = None,
    as_json: AsJson = False,
    picture: Annotated[Path | None, typer.Option(help="Draw it into this SVG file too.")] = None,
) -> None:
    """Show level by level what a filter skips, by which facts, and why the rest has to be read."""
    with told_plainly():
        found = open_table(table, catalog, warehouse).scan(filter, snapshot_id=snapshot).explanation()
        if picture is not None:
            picture.write_text(explanation_svg(found))
        if as_json:
            typer.echo(json.dumps(found.to_json(), indent=2))
        else:
            Console().print(explanation_table(found))


def layout(
    table: TableName,
    catalog: CatalogUri,
    warehouse: Warehouse = None,
    column: Annotated[list[str] | None, typer.Option(help="A column; give it several times. All by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show for each column how many files a query reads, and what would make them fewer."""
    with told_plainly():
        report = open_table(table, catalog, warehouse).layout(column or None)
        typer.echo(report.to_json_text() if as_json else str(report))
