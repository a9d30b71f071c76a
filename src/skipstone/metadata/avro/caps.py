"""How much memory and work a stored Avro file may cost before it is refused.

Law: every cap is checked before the memory it guards is allocated. A decoded table takes at most about nine times
the inflated bytes (a one-byte varint becomes an eight-byte integer and a validity byte), so `inflated_bytes_max`
bounds the whole.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Limits for one Avro file."""

    inflated_bytes_max: int = 512 * 1024 * 1024
    metadata_bytes_max: int = 64 * 1024 * 1024
    schema_depth_max: int = 48
    schema_nodes_max: int = 20_000
