"""`skipstone tables` and `skipstone describe`: what is there, and how it is made."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import typer
from rich.console import Console
from rich.table import Table as Grid

from skipstone.cli.options import CatalogUri, TableName, Warehouse, open_lake, open_table, told_plainly
from skipstone.lake import Lake
from skipstone.metadata.partitions.partitioning import PartitionField
from skipstone.metadata.partitions.sorting import SortField
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.table import Table


def tables(catalog: CatalogUri, warehouse: Warehouse = None) -> None:
    """List the tables of a catalog, one a line."""
    with told_plainly():
        for name in _names(open_lake(catalog, warehouse)):
            typer.echo(name)


def describe(table: TableName, catalog: CatalogUri, warehouse: Warehouse = None) -> None:
    """Show columns, partitioning, sort order, properties, branches and snapshots of a table."""
    with told_plainly():
        opened = open_table(table, catalog, warehouse)
        console = Console()
        console.print(f"[bold]{table}[/] v{opened.format_version} at {opened.location}")
        console.print(_columns(opened))
        partition = [_term(f, opened.schema) for f in opened.spec.fields]
        order = [f"{_term(f, opened.schema)} {f.direction} {f.null_order}" for f in opened.sort_order.fields]
        console.print(f"partitioned by: {', '.join(partition) or 'nothing'}", markup=False)
        console.print(f"sorted by: {', '.join(order) or 'nothing'}", markup=False)
        for name, value in sorted(opened.properties.items()):
            console.print(f"property {name} = {value}", markup=False)
        for name, ref in sorted(opened.refs.items()):
            console.print(f"{ref.type} {name}: snapshot {ref.snapshot_id}", markup=False)
        console.print(_snapshots(opened.snapshots))


def _names(lake: Lake, parent: str = "") -> Iterator[str]:
    for namespace in lake.list_namespaces(parent) if parent else lake.list_namespaces():
        yield from lake.list_tables(namespace)
        yield from _names(lake, namespace)


def _term(field: PartitionField | SortField, schema: Schema) -> str:
    columns = ", ".join(".".join(schema.paths_by_id.get(i, (f"field {i}",))) for i in field.source_ids)
    return columns if str(field.transform) == "identity" else f"{field.transform}({columns})"


def _columns(table: Table) -> Grid:
    grid = Grid("id", "column", "type", "required", "comment", box=None, pad_edge=False, header_style="bold")
    for field in table.schema.fields:
        required = "yes" if field.required else ""
        grid.add_row(str(field.id), field.name, str(field.type), required, field.doc or "")
    return grid


def _snapshots(snapshots: tuple[Snapshot, ...]) -> Grid:
    grid = Grid("snapshot", "parent", "made at (UTC)", "operation", "files", "rows", box=None, pad_edge=False,
                header_style="bold")  # fmt: skip
    for made in snapshots:
        summary = made.summary or {}
        counts = (summary.get(f"total-{what}", "") for what in ("data-files", "records"))
        parent = "" if made.parent_snapshot_id is None else str(made.parent_snapshot_id)
        at = dt.datetime.fromtimestamp(made.timestamp_ms / 1000, dt.UTC)
        grid.add_row(str(made.snapshot_id), parent, f"{at:%Y-%m-%d %H:%M:%S}",
                     summary.get("operation", ""), *counts)  # fmt: skip
    return grid
