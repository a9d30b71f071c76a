"""`skipstone hive` as typed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.hive import fill, statistics_of
from typer.testing import CliRunner

from skipstone.cli import app
from skipstone.hive.client import HiveClient
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
    command = [sys.executable, "-c", "from skipstone.cli import main; main()", "hive", "serve"]
    serving = subprocess.Popen(
        [*command, "--store", f"sqlite:///{tmp_path}/hive.db", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert serving.stdout is not None
    try:
        line = serving.stdout.readline()
        assert "(reads only)" in line
        with HiveClient(line.split(" at ")[1].split(" ")[0]) as client:
            assert client.call("get_all_databases") == ["default"]
    finally:
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(30) == 0
        serving.stdout.close()
