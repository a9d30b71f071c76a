"""`skipstone audit`: stored statistics held against the data, and put right on request."""

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


def audit(
    table: TableName,
    catalog: CatalogUri,
    warehouse: Warehouse = None,
    snapshot: SnapshotId = None,
    repair: Annotated[bool, typer.Option("--repair", help="Put right what is wrong. No row changes.")] = False,
    spark: SparkMaster = None,
) -> None:
    """Read every data file and compare all stored statistics. Exit code 1 if something is, and stays, wrong."""
    with told_plainly():
        opened = open_table(table, catalog, warehouse)
        session = spark_at(spark, f"audit {table} with Spark")
        report = opened.audit(snapshot_id=snapshot, repair=repair, spark=session)
        for finding in report.findings:
            typer.echo(str(finding))
        typer.echo(f"Snapshot {report.snapshot_id}: {report.files} files, {report.facts} facts, "
                   f"{len(report.findings)} wrong.")  # fmt: skip
        if report.is_clean:
            return
        for finding, reason in report.beyond_repair if repair else ():
            typer.echo(f"Cannot repair {finding.fact} of {finding.about}: {reason}")
        left = opened.audit(spark=session).findings if repair else report.findings
        if repair:
            typer.echo(f"Repaired; {len(left)} wrong facts are left." if left else "Repaired.")
        if left:
            raise typer.Exit(1)
