"""Field ids put into footers: all of them there, the rows unchanged, twice the same as once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.types import walk
from skipstone.spark.footer_ids import add_ids
from skipstone.storage.local import LocalStorage

ROWS = pa.table(
    {
        "tags": pa.array([["a", None], None, []], pa.list_(pa.string())),
        "m": pa.array([[("k", [1.5])], None, []], pa.map_(pa.string(), pa.list_(pa.float64()))),
        **{f"c{i}": [i, None, -i] for i in range(20)},
    }
)
IDS = {
    "tags": 1, "tags.list.element": 30, "m": 2, "m.key_value.key": 31, "m.key_value.value": 32,
    "m.key_value.value.list.element": 2_000_000_000, **{f"c{i}": i + 3 for i in range(20)},
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "file.parquet"
    pq.write_table(ROWS, target, write_page_index=True, store_schema=False)
    return target


def test_every_id_is_there_and_the_rows_are_the_same(path: Path) -> None:
    size = add_ids(LocalStorage(), str(path), path.stat().st_size, IDS)
    assert size == path.stat().st_size
    file = pq.ParquetFile(path)
    assert sorted(f.id for f in walk(from_parquet_schema(file.schema))) == sorted(IDS.values())
    assert file.read().to_pylist() == ROWS.to_pylist()
    assert file.metadata.row_group(0).column(4).statistics.min == -1


def test_done_twice_is_the_same_as_once(path: Path) -> None:
    before = path.stat().st_size
    add_ids(LocalStorage(), str(path), before, IDS)
    once = path.read_bytes()
    path.write_bytes(once[: before + 5])  # a task that died while it wrote
    assert add_ids(LocalStorage(), str(path), before, IDS) == len(once)
    assert path.read_bytes() == once


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not parquet at all")
    with pytest.raises(FormatViolation, match="PAR1"):
        add_ids(LocalStorage(), str(tmp_path / "x"), 18, IDS)
