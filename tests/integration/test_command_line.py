"""`skipstone sql` as typed, on a real Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import skipstone
from skipstone.cli import app


def run(home: Path, statement: str) -> Any:
    where = ["--catalog", f"sqlite:///{home}/catalog.db", "--warehouse", str(home)]
    return CliRunner().invoke(app, ["sql", statement, *where])


def test_statements_change_and_query_a_table(
    iceberg_java: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "CREATE TABLE shop.orders (id BIGINT, state STRING) USING skipstone").exit_code == 0
    assert run(tmp_path, "INSERT INTO shop.orders VALUES (1, 'NY'), (2, 'CA')").exit_code == 0
    asked = run(tmp_path, "SELECT id, upper(state) AS s FROM shop.orders WHERE id = 2")
    assert asked.exit_code == 0 and "|2  |CA |" in asked.output + capfd.readouterr().out
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    assert lake.load_table("shop.orders").scan().count() == 2


def test_what_spark_refuses_is_told_in_a_line(iceberg_java: Any, tmp_path: Path) -> None:
    run(tmp_path, "CREATE TABLE shop.orders (id BIGINT) USING skipstone")
    unknown = run(tmp_path, "SELECT nosuch FROM shop.orders")
    assert (
        unknown.exit_code == 2 and "`nosuch` cannot be resolved" in unknown.output and "Project" not in unknown.output
    )
    wrong = run(tmp_path, "SELEC 1")
    assert wrong.exit_code == 2 and "Syntax error" in wrong.output
