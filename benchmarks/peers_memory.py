"""What a process gains at its peak while it reads and decodes a manifest. Linux only: others cannot reset the peak."""

from __future__ import annotations

import sys
from pathlib import Path

from skipstone.metadata.avro import decode_numba, parse_container
from skipstone.metadata.avro.container import SYNC_BYTES
from skipstone.metadata.manifests.manifest_read import read_manifest


def measure(manifest: Path, metrics: tuple[int, ...]) -> tuple[int, int, int]:
    """Bytes gained at the peak, bytes of the Arrow result, bytes of the file."""
    # Two blocks load and compile everything, and leave next to no freed memory that would hide the peak.
    assert decode_numba is not None
    read_manifest(_head(manifest), source="warm-up", metrics=metrics)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    data = manifest.read_bytes()
    table = read_manifest(data, source="benchmark", metrics=metrics)
    return _status("VmHWM") - before, table.nbytes, len(data)


def _head(manifest: Path) -> bytes:
    """The manifest's first two blocks."""
    data = manifest.read_bytes()
    second = parse_container(data, source="warm-up").blocks[1]
    return data[: second.offset + second.length + SYNC_BYTES]


def _status(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(key)


if __name__ == "__main__":
    print(*measure(Path(sys.argv[1]), tuple(int(word) for word in sys.argv[2:])))
