"""The encrypted table of Iceberg Java, read row by row through the door with nothing but its master key."""

from __future__ import annotations

import json
from typing import Any

import pyarrow.compute as pc
import pytest
from tests.support.golden import RECORDED_ROOT, GoldenTable, golden_root
from tests.support.toy_kms import ToyKms

import skipstone
from skipstone.errors import Unsupported

GOLDEN = GoldenTable("v3_encrypted")
METADATA_COLUMNS = ["_file", "_pos", "_spec_id", "_row_id", "_last_updated_sequence_number"]


def opened(master_key: str | None = GOLDEN.inspect["kms_master_key_hex"]) -> skipstone.Table:
    kms = None if master_key is None else ToyKms(bytes.fromhex(master_key))
    return skipstone.open_table(str(GOLDEN.metadata_file), moved={RECORDED_ROOT: str(golden_root())}, kms=kms)


def expected() -> list[dict[str, Any]]:
    text = (GOLDEN.expected / "rows.current.jsonl").read_text("utf-8")
    return sorted((json.loads(line) for line in text.splitlines()), key=lambda row: row["id"])


def rows(filter_: str | None = None) -> list[dict[str, Any]]:
    found = opened().scan(filter_, columns=["id", "s", *METADATA_COLUMNS]).to_arrow().sort_by("id").to_pylist()
    return [{**row, "_file": row["_file"].rpartition("/")[2]} for row in found]


def test_rows_are_those_that_java_reads() -> None:
    assert rows() == expected()


@pytest.mark.parametrize(
    ("filter_", "ids"), [("id = 2", [2]), ("s = 'one'", [1, 11]), ("s IS NULL", [2, 12]), ("id > 99", [])]
)
def test_filters_keep_the_rows_that_match(filter_: str, ids: list[int]) -> None:
    assert rows(filter_) == [row for row in expected() if row["id"] in ids]


def test_counts_and_metadata_tables_need_no_more_than_the_key() -> None:
    table = opened()
    assert table.scan().count() == len(expected())
    assert table.audit().is_clean
    assert table.inspect.files().num_rows == len(GOLDEN.entries())
    assert pc.sum(table.inspect.partitions().column("record_count")).as_py() == len(expected())


def test_without_key_management_it_is_refused_by_name() -> None:
    with pytest.raises(Unsupported, match=r"encrypted with key .* kms="):
        opened(None).scan().to_arrow()
