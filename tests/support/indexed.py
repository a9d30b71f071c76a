"""A table whose every manifest has a sidecar with small blocks, and what is asserted about its plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

import skipstone
from skipstone.commit.replace import Replace
from skipstone.index import blocks
from skipstone.index.loading import forget_opened
from skipstone.write import write_rows

pa: Any = pyarrow

SCHEMA = [("id", "long"), ("state", "string"), ("x", "double"), ("n", "int")]
SIDECARS_ALWAYS = {"skipstone.index.sidecar-min-files": "1"}


def small_blocks(monkeypatch: pytest.MonkeyPatch, size: int = 4) -> None:
    monkeypatch.setattr(blocks, "BLOCK_FILES", size)


def make_table(home: Path, *, format_version: int = 2, **properties: str) -> Any:
    lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home))
    return lake.create_table(
        "db.t",
        SCHEMA,
        partition_by=["state"],
        format_version=format_version,
        properties={**SIDECARS_ALWAYS, **{k.replace("__", "."): v for k, v in properties.items()}},
    )


def rows(first: int, count: int = 6, states: str = "abc") -> Any:
    ids = list(range(first, first + count))
    return pa.table(
        {
            "id": ids,
            "state": [states[i % len(states)] for i in ids],
            "x": pa.array([float(i) / 2 if i % 5 else None for i in ids], pa.float64()),
            "n": pa.array([i % 7 for i in ids], pa.int32()),
        }
    )


def compact(table: Any) -> None:
    """Exchange all data files for new ones with the same rows, as compaction does; delete files stay."""
    scan = table.scan(use_index=False)
    paths = scan.plan().files.column("file_path").to_pylist()
    if paths:
        rows = scan.to_arrow()
        files = write_rows(rows, metadata=table.metadata, storage=table.storage) if rows.num_rows else None
        table.apply(Replace(files=files, remove_files=paths))


def index_files_of(table: Any) -> list[Path]:
    directory = Path(table.index.status().directory)
    return sorted(p for p in directory.iterdir() if not p.name.startswith(".")) if directory.exists() else []


def assert_same_plan(table: Any, predicate: Any, **scan: Any) -> Any:
    """The plan with the index has the files, verdicts, residuals, deletes and rows of the plan without; returns it."""
    forget_opened()
    with_index, without = (table.scan(predicate, use_index=use, **scan) for use in (True, False))
    ours, plain = with_index.plan(), without.plan()
    assert is_same(ours.files, plain.files), (predicate, ours.files.to_pylist(), plain.files.to_pylist())
    assert is_same(ours.deletes, plain.deletes)
    assert [ours.residual_of(i) for i in range(len(ours))] == [plain.residual_of(i) for i in range(len(plain))]
    for level in (*ours.levels, *plain.levels):
        assert 0 <= level.proven <= level.kept <= level.zones_in
    assert ours.levels[-1].kept == plain.levels[-1].kept == len(ours)
    assert sorted(map(str, with_index.to_arrow().to_pylist())) == sorted(map(str, without.to_arrow().to_pylist()))
    return ours


def is_same(left: Any, right: Any) -> bool:
    """Equal tables; a NaN, as a partition value may be, equals a NaN."""
    return bool(
        left.schema.equals(right.schema) and (left.equals(right) or str(left.to_pylist()) == str(right.to_pylist()))
    )
