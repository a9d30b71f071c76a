"""`skipstone analyze`: what only rows can tell, found out and stored."""

from __future__ import annotations

from typing import Annotated

import typer

from skipstone.cli.options import (
    CatalogUri,
    SnapshotId,
    SparkMaster,
    TableName,
    Warehouse,
    open_table,
    spark_at,
    told_plainly,
)


def analyze(
    table: TableName,
    catalog: CatalogUri,
    warehouse: Warehouse = None,
    column: Annotated[list[str] | None, typer.Option(help="A column; give it several times. All by default.")] = None,
    partitions: Annotated[str | None, typer.Option(help="A filter on partition columns: state = 'CA'.")] = None,
    snapshot: SnapshotId = None,
    full: Annotated[bool, typer.Option("--full", help="Read files again that were analysed before.")] = False,
    spark: SparkMaster = None,
) -> None:
    """Analyse columns: distinct values, quantiles, frequent values, lengths, exact bounds."""
    with told_plainly():
        opened = open_table(table, catalog, warehouse)
        session = spark_at(spark, f"analyse {table} with Spark")
        done = opened.analyze(column or None, partitions=partitions, snapshot_id=snapshot, full=full, spark=session)
        typer.echo(f"Read {done.files_read} files; {done.files_known} were known.")
        for row in opened.statistics(snapshot_id=snapshot).to_rows():
            told = {name: value for name, value in row.items() if name not in ("column", "type") and value is not None}
            typer.echo(f"{row['column']} {row['type']}: " + ", ".join(f"{n} {v}" for n, v in told.items()))
