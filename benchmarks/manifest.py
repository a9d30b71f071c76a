"""Reading and writing a manifest of 20,000 entries with all metric maps of 10 columns, on one core.

The manifest is one that Iceberg Java wrote. Ours becomes Arrow: all flat columns and every metric of 3 columns.
PyIceberg and fastavro make their own objects of every entry; Java iterates over all entries, once with everything and
once with what a planner needs. Memory is what the process gains at its peak while it reads the file and decodes it.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
from pyiceberg.manifest import ManifestFile as PeerManifestFile
from pyiceberg.manifest import write_manifest as peer_write_manifest
from pyiceberg.partitioning import PartitionField as PeerPartitionField
from pyiceberg.partitioning import PartitionSpec as PeerPartitionSpec
from pyiceberg.transforms import IdentityTransform

from benchmarks import peers_java
from benchmarks.report import Figure, median_seconds
from skipstone.metadata.manifests.manifest import ManifestContent as OurContent
from skipstone.metadata.manifests.manifest_read import read_manifest, read_manifest_header
from skipstone.metadata.manifests.manifest_write import write_manifest

WISHED: Final = (1, 3, 4)  # a long, a string and a double
MEMORY_RATIO: Final = 2


def figures(*, quick: bool) -> list[Figure]:
    passes = 3 if quick else 9
    pa.set_cpu_count(1)  # per core
    manifest, by_java = _manifest()
    data = manifest.read_bytes()
    entries = read(data).num_rows
    micro = 1e6 / entries
    ours = median_seconds(lambda: read(data), passes * 3) * micro
    note = "" if by_java else "on a manifest that PyIceberg wrote"
    decode: dict[str, Any] = {"unit": "us/entry", "ours": ours, "note": note}
    pyiceberg = median_seconds(lambda: _peer_entries(manifest), passes) * micro
    avro = median_seconds(lambda: list(fastavro.reader(io.BytesIO(data))), passes // 3) * micro
    # Java needs more passes until its compiler is done with the code.
    full, planned = _java_micros(manifest, 4 * passes, entries) if by_java else (None, None)
    peak, limit = _peak_memory(manifest)
    return [
        Figure(name="decode, against PyIceberg", peer=pyiceberg, peer_name="PyIceberg 0.12", goal=10, **decode),
        Figure(name="decode, against fastavro", peer=avro, peer_name="fastavro", goal=10, **decode),
        Figure(name="decode, against Java in full", peer=full, peer_name="Iceberg Java 1.12", goal=1.2, **decode),
        Figure(name="decode, against Java planning", peer=planned, peer_name="Iceberg Java 1.12", goal=1.2, **decode),
        Figure(
            name="decode, peak memory",
            unit="MB",
            ours=peak / 1e6,
            peer=limit / 1e6,
            peer_name="2x result + file",
            goal=1,
        ),
        _write_figure(data, manifest, passes, micro),
    ]


def read(data: bytes) -> pa.Table:
    return read_manifest(data, source="benchmark", metrics=WISHED)


def _manifest() -> tuple[Path, bool]:
    """Java's manifest; PyIceberg's where Java cannot run."""
    try:
        return peers_java.java_manifest(), True
    except Exception as error:
        print(f"Iceberg Java cannot run here, so its figures are missing: {error}", file=sys.stderr)
    home = Path(tempfile.mkdtemp(prefix="skipstone-benchmark-")) / "source"
    peers_java._write_with_pyiceberg(home, peers_java.ENTRIES)
    return next(home.rglob("*-m0.avro")), False


def _java_micros(manifest: Path, passes: int, entries: int) -> tuple[float | None, float | None]:
    try:
        full = peers_java.java_decode_seconds(manifest, passes=passes)
        planned = peers_java.java_decode_seconds(manifest, peers_java.COLUMNS_WITH_STATS, passes=passes)
    except Exception as error:
        print(f"Iceberg Java cannot run here, so its figures are missing: {error}", file=sys.stderr)
        return None, None
    return full * 1e6 / entries, planned * 1e6 / entries


def _peer_manifest_file(manifest: Path) -> Any:
    return PeerManifestFile.from_args(
        manifest_path=str(manifest),
        manifest_length=manifest.stat().st_size,
        partition_spec_id=0,
        content=ManifestContent.DATA,
        sequence_number=1,
        min_sequence_number=1,
        added_snapshot_id=1,
    )


def _peer_entries(manifest: Path) -> list[Any]:
    entries: list[Any] = _peer_manifest_file(manifest).fetch_manifest_entry(PyArrowFileIO(), discard_deleted=False)
    return entries


def _write_figure(data: bytes, manifest: Path, passes: int, micro: float) -> Figure:
    header = read_manifest_header(data, source="benchmark")
    table = read_manifest(data, source="benchmark", maps=True)
    assert header.schema is not None and header.spec is not None
    schema, spec = header.schema, header.spec

    def ours() -> bytes:
        return write_manifest(
            table, format_version=2, schema=schema, spec=spec, content=OurContent.DATA, snapshot_id=1
        ).data

    peers = _peer_entries(manifest)
    peer_spec = PeerPartitionSpec(PeerPartitionField(3, 1000, IdentityTransform(), "region"))

    def theirs() -> None:
        with tempfile.TemporaryDirectory() as folder:
            output = PyArrowFileIO().new_output(f"{folder}/m.avro")
            with peer_write_manifest(2, peer_spec, peers_java._SCHEMA, output, 1, "deflate") as writer:
                for entry in peers:
                    entry.status = ManifestEntryStatus.ADDED
                    writer.add_entry(entry)

    return Figure(
        name="write, against PyIceberg",
        unit="us/entry",
        ours=median_seconds(ours, passes) * micro,
        peer=median_seconds(theirs, max(1, passes // 3)) * micro,
        peer_name="PyIceberg 0.12",
        goal=1,
    )


def _peak_memory(manifest: Path) -> tuple[int, int]:
    """Bytes gained at the peak, and how many are allowed."""
    # A process of its own, so that nothing else has raised its peak.
    command = [sys.executable, "-m", "benchmarks.peers_memory", str(manifest), *map(str, WISHED)]
    out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    peak, result, file = (int(word) for word in out.stdout.split())
    return peak, MEMORY_RATIO * (result + file)
