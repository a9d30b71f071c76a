"""How much memory and work a stored Avro file may cost before it is refused.

Law: every cap is checked before the memory it guards is taken. Most files decode to a few times their inflated bytes,
but a null may take one byte and stand for a struct of a thousand columns, so what is decoded has a cap of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from skipstone.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Limits for one Avro file."""

    inflated_bytes_max: int = 512 * 1024 * 1024
    decoded_bytes_max: int = 4 * 1024 * 1024 * 1024
    metadata_bytes_max: int = 64 * 1024 * 1024
    schema_depth_max: int = 48
    schema_nodes_max: int = 20_000

    def __post_init__(self) -> None:
        # Arrow's string and list offsets have 32 bits.
        if not 0 < self.inflated_bytes_max < 2**31:
            raise InvalidInput(
                f"Invalid cap of inflated bytes: expected 1 to 2147483647, got {self.inflated_bytes_max}."
            )
