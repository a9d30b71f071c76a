"""`skipstone hive` as typed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.hive import fill, statistics_of
from typer.testing import CliRunner

import skipstone
from skipstone.cli import app
from skipstone.errors import InvalidInput
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.client import HiveClient
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.store import HiveStore


def test_a_statement_is_run_and_printed(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/hive.db"
    store = HiveStore(uri)
    fill(store)
    store.put_table_statistics("db", "t", [statistics_of("i", "int")], now=1)
    store.close()
    shown = CliRunner().invoke(app, ["hive", "run", "describe formatted db.t i", "--store", uri])
    assert shown.exit_code == 0
    assert "min                 \t-3                  \n" in shown.stdout
    wrong = CliRunner().invoke(app, ["hive", "run", "describe formatted db.nosuch i", "--store", uri])
    assert wrong.exit_code == 1
    assert "Cannot find table db.nosuch" in wrong.output
    other = CliRunner().invoke(app, ["hive", "run", "describe db.t", "--store", uri, "--layout", "original"])
    assert other.exit_code == 1
    assert "expected lay-out original" in other.output


def test_the_service_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    skipstone.catalog(str(tmp_path / "lake")).create_table("shop.sales", [("id", "long")])
    command = [sys.executable, "-c", "from skipstone.cli import main; main()", "hive", "serve"]
    serving = subprocess.Popen(
        [*command, "--store", f"sqlite:///{tmp_path}/hive.db", "--port", "0", "--catalog", str(tmp_path / "lake")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert serving.stdout is not None
    try:
        line = serving.stdout.readline()
        assert "(reads only)" in line
        with HiveClient(line.split(" at ")[1].split(" ")[0]) as client:
            assert sorted(client.call("get_all_databases")) == ["default", "shop"]
            assert client.call("get_all_tables", db_name="shop") == ["sales"]
    finally:
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(30) == 0
        serving.stdout.close()


def test_tables_of_a_catalog_are_analysed_served_and_opened_through_the_service(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))
    table = lake.create_table("shop.sales", [("id", "long"), ("state", "string")], partition_by=["state"])
    table.append([{"id": 1, "state": "NY"}, {"id": 7, "state": "CA"}])
    options = ["--store", f"sqlite:///{tmp_path}/hive.db", "--catalog", f"sqlite:///{tmp_path}/catalog.db"]
    options += ["--warehouse", str(tmp_path / "lake")]
    analyze = "ANALYZE TABLE shop.sales PARTITION(state) COMPUTE STATISTICS FOR COLUMNS"
    assert CliRunner().invoke(app, ["hive", "run", analyze, *options]).exit_code == 0
    describe = "describe formatted shop.sales partition(state='CA') id"
    shown = CliRunner().invoke(app, ["hive", "run", describe, *options])
    assert "min                 \t7                   \n" in shown.stdout
    table.refresh().analyze(full=True)
    # A store that knows nothing yet gets what is known already.
    store = HiveStore("sqlite://")
    analyzer = LakeAnalyzer(lake, store)
    analyzer.publish()
    assert store.table("shop", "sales").parameters["EXTERNAL"] == "TRUE"
    assert [(one.low, one.high) for one in store.table_statistics("shop", "sales")] == [(1, 7)]
    with HiveServer(HiveService(store, allow_writes=True), ServerSettings(port=0)) as server:
        opened = skipstone.catalog(f"thrift://127.0.0.1:{server.port}", warehouse=str(tmp_path / "lake"))
        assert opened.load_table("shop.sales").scan().count() == 2


def test_a_metastore_needs_a_warehouse(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected a warehouse"):
        skipstone.catalog("thrift://127.0.0.1:1")
    options = ["--store", f"sqlite:///{tmp_path}/hive.db", "--catalog", "sqlite:///x.db"]
    refused = CliRunner().invoke(app, ["hive", "serve", *options])
    assert refused.exit_code == 1
    assert "expected a warehouse" in refused.output


def test_a_port_that_is_taken_is_a_clear_error(tmp_path: Path) -> None:
    with HiveServer(HiveService(HiveStore("sqlite://")), ServerSettings(port=0)) as server:
        options = ["--store", f"sqlite:///{tmp_path}/hive.db", "--port"]
        for port in (str(server.port), "70000"):
            refused = CliRunner().invoke(app, ["hive", "serve", *options, port])
            assert refused.exit_code == 1
            assert f"Cannot listen at 127.0.0.1:{port}" in refused.output
