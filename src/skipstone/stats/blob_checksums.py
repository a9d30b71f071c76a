"""A checksum of a blob among its properties: other engines pass it over, and we notice what is damaged.

It is over what the footer says of the blob and over its content before compression, so that it holds in a copy that is
compressed in another way.

Laws: a wrong bit in either is noticed, or takes the checksum away and leaves the rest right. A blob without a checksum,
as of other engines, is taken as it is.

Puffin spec: "BlobMetadata".
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from skipstone.errors import FormatViolation
from skipstone.metadata.blobs.puffin import BlobMetadata

CHECKSUM: Final = "skipstone.crc-32"


def with_checksum(
    properties: Mapping[str, str],
    *,
    type: str,
    fields: Sequence[int],
    snapshot_id: int,
    sequence_number: int,
    data: bytes,
) -> dict[str, str]:
    """The properties of a blob with its checksum among them."""
    said = {k: v for k, v in properties.items() if k != CHECKSUM}
    text = msgspec.json.encode([type, list(fields), snapshot_id, sequence_number, sorted(said.items())])
    return {**said, CHECKSUM: f"{zlib.crc32(data, zlib.crc32(text)):08x}"}


def check_blob(blob: BlobMetadata, data: bytes, *, source: str) -> None:
    """Refuse a blob that is not what it was when its checksum was made."""
    told = blob.properties.get(CHECKSUM)
    if told is None:
        return
    found = with_checksum(
        blob.properties,
        type=blob.type,
        fields=blob.fields,
        snapshot_id=blob.snapshot_id,
        sequence_number=blob.sequence_number,
        data=data,
    )[CHECKSUM]
    if found != told:
        raise FormatViolation(
            f"Invalid Puffin file {source}: blob {blob.type} at {blob.offset}: expected the checksum {told}, got "
            f"{found}. Analyze the table again."
        )
