"""`skipstone hive`: serve the metastore's column statistics, and run HiveQL about them."""

from __future__ import annotations

import signal
from contextlib import suppress
from types import FrameType
from typing import Annotated

import typer

from skipstone.errors import AlreadyExists, SkipstoneError
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.describe import render
from skipstone.hive.objects import HiveDatabase
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.session import HiveSession
from skipstone.hive.store import HiveStore, Layout
from skipstone.lake import open_catalog

app = typer.Typer(no_args_is_help=True, help="Hive column statistics: a Thrift service, and HiveQL.")

Store = Annotated[str, typer.Option("--store", help="Where statistics are kept: sqlite:///file.db or postgresql://…")]
Catalog = Annotated[
    str | None,
    typer.Option(help="A catalog to mirror: sqlite:///…, postgresql://… or a directory."),
]
LayoutOption = Annotated[Layout, typer.Option(help="The lay-out of the statistics tables.")]


Warehouse = Annotated[
    str | None, typer.Option(help="Where the catalog's tables and those of the database `default` are kept.")
]
WAREHOUSE_DEFAULT = "warehouse"


@app.command()
def serve(
    store: Store = "sqlite:///hive.db",
    layout: LayoutOption = Layout.HIVE_4_1,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at; 0 takes a free one.")] = 9083,
    allow_writes: Annotated[bool, typer.Option("--allow-writes", help="Let clients change things.")] = False,
    for_hive_2: Annotated[
        bool, typer.Option("--for-hive-2", help="Give statistics in the form that clients before Hive 3 know.")
    ] = False,
    catalog: Catalog = None,
    warehouse: Warehouse = None,
) -> None:
    """Serve the Hive metastore's Thrift interface until interrupted."""
    opened = _open(store, layout, warehouse)
    try:
        analyzer = _analyzer(opened, catalog, warehouse)
        if analyzer is not None:
            analyzer.publish()
    except SkipstoneError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    service = HiveService(opened, allow_writes=allow_writes, for_hive_2=for_hive_2)
    try:
        server = HiveServer(service, ServerSettings(host=host, port=port))
    except (OSError, OverflowError) as error:
        typer.echo(f"Cannot listen at {host}:{port}: {error}. Choose another port, or 0 for a free one.", err=True)
        raise typer.Exit(1) from None
    signal.signal(signal.SIGTERM, lambda _signal, _frame: _stop(server, _frame))
    mode = "reads and writes" if allow_writes else "reads only"
    typer.echo(f"Serving {opened!r} at thrift://{host}:{server.port} ({mode}).")
    with server:
        try:
            server.wait()
        except KeyboardInterrupt:
            typer.echo("Stopped.")


@app.command()
def run(
    statement: Annotated[str, typer.Argument(help="One HiveQL statement.")],
    store: Store = "sqlite:///hive.db",
    layout: LayoutOption = Layout.HIVE_4_1,
    database: Annotated[str, typer.Option(help="Where tables without a database are.")] = "default",
    catalog: Catalog = None,
    warehouse: Warehouse = None,
) -> None:
    """Run one HiveQL statement about statistics."""
    opened = _open(store, layout, warehouse)
    try:
        analyzer = _analyzer(opened, catalog, warehouse)
        rows = HiveSession(opened, database=database, analyzer=analyzer).run(statement)
    except SkipstoneError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(render(rows), nl=False)


def _analyzer(store: HiveStore, catalog: str | None, warehouse: str | None) -> LakeAnalyzer | None:
    return None if catalog is None else LakeAnalyzer(open_catalog(catalog, warehouse=warehouse), store)


def _open(uri: str, layout: Layout, warehouse: str | None) -> HiveStore:
    try:
        store = HiveStore(uri, layout=layout)
    except SkipstoneError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    with suppress(AlreadyExists):
        store.create_database(HiveDatabase(name="default", location=warehouse or WAREHOUSE_DEFAULT))
    return store


def _stop(server: HiveServer, _frame: FrameType | None) -> None:
    server.close()
