"""`skipstone analyze` and `skipstone audit` as typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from typer.testing import CliRunner

import skipstone
from skipstone.cli import app
from skipstone.maintenance.metrics_repair import with_facts
from skipstone.metadata.values import serialize_bound
from skipstone.write import write_rows

ROWS = pa.table({"id": pa.array(range(10), pa.int64()), "state": ["CA", "NY"] * 5})


def make_table(home: Path) -> tuple[Any, list[str]]:
    uri = f"sqlite:///{home}/catalog.db"
    lake = skipstone.catalog(uri, warehouse=str(home))
    lake.create_namespace("shop")
    table = lake.create_table("shop.orders", ROWS.schema, partition_by=["state"])
    table.append(ROWS)
    return table, ["shop.orders", "--catalog", uri, "--warehouse", str(home)]


def run(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


def test_an_analysis_tells_what_it_found(tmp_path: Path) -> None:
    table, where = make_table(tmp_path)
    some = run("analyze", *where, "--column", "id", "--partitions", "state = 'CA'")
    assert some.exit_code == 0 and "Read 1 files; 0 were known." in some.output
    done = run("analyze", *where)
    assert "Read 2 files" in done.output or "Read 1 files; 1 were known." in done.output
    assert "id long: value_count 10, null_count 0" in done.output and "ndv 10, low 0, high 9" in done.output
    assert table.refresh().statistics().column("state").ndv.value == 2
    wrong = run("analyze", *where, "--column", "nosuch")
    assert wrong.exit_code == 2 and "Cannot find column 'nosuch'" in wrong.output


def test_an_audit_fails_while_something_is_wrong_and_repairs_on_request(tmp_path: Path) -> None:
    table, where = make_table(tmp_path)
    clean = run("audit", *where)
    assert clean.exit_code == 0 and "0 wrong" in clean.output
    entries = write_rows(ROWS.slice(0, 1), metadata=table.metadata, storage=table.storage)
    path = entries.column("file_path")[0].as_py()
    high = serialize_bound(table.schema.field("id").type, -1)
    table.add_files(with_facts(entries, {path: {"upper_bounds": {1: high}, "lower_bounds": {1: high}}}))
    found = run("audit", *where)
    assert found.exit_code == 1
    assert f"upper_bound of column 'id' of {path}: stored -1, actual 0" in found.output
    repaired = run("audit", *where, "--repair")
    assert repaired.exit_code == 0 and "Repaired." in repaired.output
    assert run("audit", *where).exit_code == 0


def test_a_repair_says_what_it_cannot_put_right(tmp_path: Path) -> None:
    table, where = make_table(tmp_path)
    ours, theirs = (write_rows(ROWS.slice(i, 1), metadata=table.metadata, storage=table.storage) for i in (0, 1))
    place = ours.schema.get_field_index("partition")
    table.add_files(ours.set_column(place, ours.schema.field(place), theirs.column("partition")))
    path = ours.column("file_path")[0].as_py()
    repaired = run("audit", *where, "--repair")
    assert repaired.exit_code == 1
    assert f"Cannot repair partition value of partition field 'state' of {path}: rows lie" in repaired.output
