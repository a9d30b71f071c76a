"""What commands about tables have in common: which table, in which catalog, with or without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

import skipstone
from skipstone.errors import SkipstoneError
from skipstone.hosts import spark_host
from skipstone.lake import Lake
from skipstone.table import Table

TableName = Annotated[str, typer.Argument(metavar="TABLE", help="The table, such as shop.orders.")]
CatalogUri = Annotated[
    str,
    typer.Option("--catalog", envvar="SKIPSTONE_CATALOG", help="sqlite:///file.db, postgresql://…, or a directory."),
]
Warehouse = Annotated[
    str | None, typer.Option(envvar="SKIPSTONE_WAREHOUSE", help="Where tables are; a directory is its own.")
]
SnapshotId = Annotated[int | None, typer.Option("--snapshot", help="A snapshot's id; the current one by default.")]
SparkMaster = Annotated[
    str | None, typer.Option("--spark", metavar="MASTER", help="Let Spark read the files: local[*], spark://host:7077.")
]


@contextmanager
def told_plainly() -> Iterator[None]:
    """An error of ours ends the command with its message and exit code 2; others show where they come from."""
    try:
        yield
    except SkipstoneError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


def open_lake(catalog: str, warehouse: str | None) -> Lake:
    return skipstone.catalog(catalog) if warehouse is None else skipstone.catalog(catalog, warehouse=warehouse)


def open_table(name: str, catalog: str, warehouse: str | None) -> Table:
    return open_lake(catalog, warehouse).load_table(name)


def spark_at(master: str | None, what: str) -> Any:
    """A session at a master; None where none is asked for."""
    return None if master is None else spark_host(what).session(master)
