"""The metadata tables of every golden table are what Iceberg Java shows, row by row."""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from tests.support.golden import RECORDED_ROOT, GoldenTable, golden_root, golden_tables
from tests.support.golden_values import base_name

import skipstone
from skipstone import Table
from skipstone.errors import Unsupported

ENCRYPTED = "v3_encrypted"
TABLES = [t for t in golden_tables() if t.name != ENCRYPTED]
COUNTED = (
    "snapshots", "history", "refs", "metadata_log_entries", "manifests", "entries", "files", "data_files",
    "delete_files", "partitions", "position_deletes", "all_manifests", "all_entries", "all_files", "all_data_files",
    "all_delete_files",
)  # fmt: skip
IN_ROWS = ("snapshots", "history", "refs", "manifests", "entries", "partitions", "position_deletes")
STATUS = {"EXISTING": 0, "ADDED": 1, "DELETED": 2}
CONTENT = {"DATA": 0, "POSITION_DELETES": 1, "EQUALITY_DELETES": 2}


@cache
def opened(table: GoldenTable) -> Table:
    return skipstone.open_table(str(table.metadata_file), moved={RECORDED_ROOT: str(golden_root())})


@cache
def shown(table: GoldenTable, name: str) -> pa.Table:
    ask: Callable[[], pa.Table] = getattr(opened(table).inspect, name)
    return ask()


def rows_of(found: pa.Table) -> list[dict[str, Any]]:
    return [{name: as_golden(value) for name, value in row.items()} for row in typed_rows(found)]


def typed_rows(found: pa.Table) -> list[dict[str, Any]]:
    columns = {name: [_plain(scalar) for scalar in found.column(name)] for name in found.column_names}
    return [{name: values[i] for name, values in columns.items()} for i in range(found.num_rows)]


def _plain(scalar: Any) -> Any:
    """Python values, with maps told apart from lists of pairs."""
    if not scalar.is_valid:
        return None
    if pa.types.is_map(scalar.type):
        return {"keys": [k for k, _ in scalar.as_py()], "values": [v for _, v in scalar.as_py()]}
    if pa.types.is_struct(scalar.type):
        return {f.name: _plain(scalar[i]) for i, f in enumerate(scalar.type)}
    return scalar.as_py()


def as_golden(value: Any) -> Any:
    match value:
        case {"keys": keys, "values": values}:
            pairs = sorted(zip(keys, values), key=lambda pair: str(pair[0]))
            return {"keys": [k for k, _ in pairs], "values": [as_golden(v) for _, v in pairs]}
        case dict():
            return {name: as_golden(v) for name, v in value.items()}
        case list():
            return [as_golden(v) for v in value]
        case bytes():
            return value.hex()
        case datetime.datetime():
            return value.isoformat(timespec="microseconds")
        case datetime.date():
            return value.isoformat()
        case Decimal():
            return f"{value:f}"
        case UUID():
            return str(value)
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case _:
            return value


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    """The rows in any order. As text, which tells -0.0 from 0.0."""
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_metadata_table_has_as_many_rows_as_java_counts(table: GoldenTable) -> None:
    counts: Mapping[str, int] = table.inspect["counts"]
    assert {name: shown(table, name).num_rows for name in counts} == counts
    assert set(counts) <= set(COUNTED)


@pytest.mark.parametrize("name", IN_ROWS)
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_the_rows_of_a_metadata_table_are_those_of_java(table: GoldenTable, name: str) -> None:
    if not (table.expected / f"meta.{name}.jsonl").exists():
        return  # Spark cannot show it; java.entries has the entries of all tables
    expected = table.metadata_table(name)
    if name == "position_deletes":
        # The deleted row itself is no longer written by anyone, and not shown.
        expected = [{k: v for k, v in row.items() if k != "row"} for row in expected]
    if name == "manifests":
        expected = [_with_null_bounds(row) for row in expected]
    assert counted(rows_of(shown(table, name))) == counted(expected)


def _with_null_bounds(row: dict[str, Any]) -> dict[str, Any]:
    """Java shows a bound that is not there as the text null; here it is null, for a partition may be named so."""
    summaries = [{k: None if v == "null" else v for k, v in s.items()} for s in row["partition_summaries"]]
    return {**row, "partition_summaries": summaries}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_the_metadata_log_is_that_of_java(table: GoldenTable) -> None:
    ours = rows_of(shown(table, "metadata_log_entries"))
    expected = table.metadata_table("metadata_log_entries")
    # The current file is shown where it was opened, which is not where Java wrote it.
    assert base_name(ours[-1]["file"]) == base_name(expected[-1]["file"])
    assert [*ours[:-1], {**ours[-1], "file": expected[-1]["file"]}] == expected


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_entries_hold_what_java_reads_from_manifests(table: GoldenTable) -> None:
    ours = rows_of(shown(table, "entries"))
    expected = table.entries()
    assert len(ours) == len(expected)
    for row, java in zip(ours, expected, strict=True):
        file = row["data_file"]
        assert row["status"] == STATUS[java["status"]]
        assert row["snapshot_id"] == java["snapshot_id"]
        assert row["sequence_number"] == java["data_sequence_number"]
        assert file["content"] == CONTENT[java["content"]]
        for name in ("file_path", "spec_id", "record_count", "file_size_in_bytes", "split_offsets", "sort_order_id"):
            assert file[name] == java[name], name
        for name in ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"):
            assert _as_map(file[name]) == java[name], name


def _as_map(pairs: dict[str, list[Any]] | None) -> dict[str, Any] | None:
    return None if pairs is None else {str(k): v for k, v in zip(pairs["keys"], pairs["values"], strict=True)}


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_files_are_the_live_entries(table: GoldenTable) -> None:
    live = [r for r in rows_of(shown(table, "entries")) if r["status"] != STATUS["DELETED"]]
    expected = [{**r["data_file"], "readable_metrics": r["readable_metrics"]} for r in live]
    assert rows_of(shown(table, "files")) == expected
    is_data = [r for r in expected if r["content"] == CONTENT["DATA"]]
    assert rows_of(shown(table, "data_files")) == is_data


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_older_snapshots_can_be_inspected(table: GoldenTable) -> None:
    inspector = opened(table).inspect
    everywhere = inspector.all_manifests()
    for snapshot in opened(table).snapshots:
        own = everywhere.filter(pa.compute.equal(everywhere.column("reference_snapshot_id"), snapshot.snapshot_id))
        assert inspector.manifests(snapshot_id=snapshot.snapshot_id) == own.drop_columns(["reference_snapshot_id"])


def test_an_encrypted_table_shows_what_its_metadata_file_says_and_refuses_the_rest() -> None:
    table = next(t for t in golden_tables() if t.name == ENCRYPTED)
    assert shown(table, "snapshots").num_rows > 0
    with pytest.raises(Unsupported, match="encrypted"):
        shown(table, "files")
