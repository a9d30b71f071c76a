"""Golden tables: written by Apache Iceberg Java, with what Java itself reads and plans from them.

The archive stays packed in the repository. The first test that asks unpacks it into a directory named after
the archive's hash, so parallel workers and later runs share one copy, which nobody may change.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

ARCHIVE: Final = Path(__file__).parents[1] / "conformance" / "golden" / "tables.tar.gz"
RECORDED_ROOT: Final = "file:/golden/open/"  # where the tables lay when Java wrote them


@cache
def golden_root() -> Path:
    """The directory of the unpacked tables. Safe when several processes ask at once."""
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()[:16]
    final = Path(tempfile.gettempdir()) / f"skipstone-golden-{os.getuid()}-{digest}"
    if not final.exists():
        private = Path(tempfile.mkdtemp(prefix="skipstone-golden-", dir=final.parent))
        try:
            with tarfile.open(ARCHIVE) as archive:
                archive.extractall(private, filter="data")
            private.rename(final)  # atomic: another process sees all of it or nothing
        except OSError:
            shutil.rmtree(private, ignore_errors=True)
            if not final.exists():
                raise
    return final / "tables"


def local(location: str) -> Path:
    """Where a location recorded in golden metadata lies on this machine."""
    if not location.startswith(RECORDED_ROOT):
        raise ValueError(f"Cannot map {location!r}: expected it to start with {RECORDED_ROOT!r}.")
    return golden_root() / location.removeprefix(RECORDED_ROOT)


@dataclass(frozen=True)
class GoldenTable:
    """One table and its expectations."""

    name: str

    @property
    def root(self) -> Path:
        return golden_root() / self.name

    @property
    def expected(self) -> Path:
        return golden_root() / f"{self.name}.expected"

    @cached_property
    def inspect(self) -> Mapping[str, Any]:
        """Counts of Java's metadata tables, and which metadata file is current."""
        return dict(_read_json(self.expected / "inspect.json"))

    @property
    def metadata_file(self) -> Path:
        return local(self.inspect["metadata_file"])

    def metadata_files(self) -> list[Path]:
        """Every metadata file that was kept, plain and gzip."""
        return sorted(p for p in (self.root / "metadata").iterdir() if ".metadata.json" in p.name)

    def entries(self) -> list[dict[str, Any]]:
        """Every manifest entry of the current snapshot as Java reads it, inherited values filled in."""
        return _read_jsonl(self.expected / "java.entries.jsonl")

    def manifests(self) -> list[dict[str, Any]]:
        """Every manifest of the current snapshot as Java reads it from the manifest list."""
        return _read_jsonl(self.expected / "java.manifests.jsonl")

    def metadata_table(self, name: str) -> list[dict[str, Any]]:
        """The rows of one of Java's metadata tables: history, refs, snapshots and others; empty where not kept."""
        return _read_jsonl(self.expected / f"meta.{name}.jsonl")

    def plans(self) -> Mapping[str, Any]:
        return _read_json(self.expected / "plans.json") if (self.expected / "plans.json").exists() else {}

    def row_sets(self) -> list[dict[str, Any]]:
        """The index of expected rows: label, file, snapshot id or ref, reader, Spark schema."""
        path = self.expected / "rows.json"
        return list(_read_json(path)) if path.exists() else []

    def current_rows(self) -> list[dict[str, Any]] | None:
        """The rows of the current snapshot, or None where they were not kept."""
        current = self.inspect.get("current_snapshot_id")
        for row_set in self.row_sets():
            if row_set["label"] == "current" or (current and row_set["snapshot_id"] == current and not row_set["ref"]):
                return self.rows(row_set)
        return None

    def rows(self, row_set: Mapping[str, Any]) -> list[dict[str, Any]]:
        return _read_jsonl(self.expected / row_set["file"])

    def __str__(self) -> str:
        return self.name


@cache
def table_names() -> Sequence[str]:
    """Every golden table with expectations, read from the archive's listing so that collecting tests is cheap."""
    with tarfile.open(ARCHIVE) as archive:
        tops = {member.name.split("/")[1] for member in archive if member.name.count("/") >= 1}
    return sorted(top.removesuffix(".expected") for top in tops if top.endswith(".expected"))


def golden_tables(*, prefix: str = "") -> list[GoldenTable]:
    return [GoldenTable(name) for name in table_names() if name.startswith(prefix)]


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _read_jsonl(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
