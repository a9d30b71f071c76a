"""`skipstone sql`: one statement on Spark, over pruned scans."""

from __future__ import annotations

from typing import Annotated

import typer

import skipstone
from skipstone.cli.options import CatalogUri, Warehouse, open_lake, told_plainly
from skipstone.hosts import spark_host


def sql(
    statement: Annotated[str, typer.Argument(help="One statement: SELECT, INSERT, MERGE, ALTER TABLE, EXPLAIN, …")],
    catalog: CatalogUri,
    warehouse: Warehouse = None,
    spark: Annotated[
        str | None, typer.Option("--spark", metavar="MASTER", help="Where Spark runs; all cores of this machine.")
    ] = None,
    rows: Annotated[int, typer.Option(help="How many rows to show.", min=1)] = 100,
) -> None:
    """Run a statement on Spark; SELECT reads only what the table's statistics cannot rule out."""
    with told_plainly():
        lake = open_lake(catalog, warehouse)
        host = spark_host("run SQL")
        session = host.session(spark)
        with host.told_in_a_line():
            skipstone.sql(session, statement, catalog=lake).show(rows, truncate=False)
