"""Registered table statistics: theta sketches in Puffin files, read whoever wrote them, written for everyone.

Laws: only blob types that other engines know are registered. Writing statistics of some columns keeps the sketches of
all others, each with the snapshot it was computed from. A blob that was written here is used only as it was written.

Spec: "Table Statistics". Puffin spec: "Blob types".
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypedDict, Unpack

from skipstone.catalog.metadata_store import metadata_directory
from skipstone.errors import SkipstoneError
from skipstone.metadata.blobs.puffin import THETA_V1, PuffinWriter, load_footer, parse_footer, read_blob
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.statistics_files import BlobMetadata, StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.stats.blob_checksums import CHECKSUM, check_blob, with_checksum
from skipstone.stats.labels import ignore_file
from skipstone.stats.registered import of_known_snapshots
from skipstone.stats.theta import ThetaSketch, parse_theta
from skipstone.storage.paths import join
from skipstone.storage.protocol import Storage

NDV: Final = "ndv"
# Set where rows were deleted since a sketch was made, which takes no value out again. Others pass it over.
UPPER_ESTIMATE: Final = "skipstone.upper-estimate"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSketch:
    """A sketch, the snapshot it is about, and whether it may hold values of rows that were deleted by then."""

    sketch: ThetaSketch
    snapshot_id: int
    sequence_number: int
    is_upper: bool = False


def find_sketches(metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> dict[int, StoredSketch]:
    """The sketches by column that are registered for a snapshot, or else for its nearest ancestor that has any."""
    file = _nearest(metadata, snapshot)
    return {} if file is None else load_sketches(file, storage)


def load_sketches(file: StatisticsFile, storage: Storage) -> dict[int, StoredSketch]:
    """The theta sketches of single columns in a file; none, with a warning, where the file is of no use."""
    try:
        return read_sketches(file, storage)
    except (SkipstoneError, OSError) as error:
        ignore_file(file.statistics_path, error)
        return {}


def read_sketches(file: StatisticsFile, storage: Storage) -> dict[int, StoredSketch]:
    """The same; raises where the file is of no use."""
    path = file.statistics_path

    def read(at: int, length: int) -> bytes:
        return storage.read_range(path, at, length)

    footer = load_footer(read, file_size=storage.size(path), source=path)
    found: dict[int, StoredSketch] = {}
    for blob in footer.blobs:
        is_sketch = blob.type == THETA_V1 and len(blob.fields) == 1
        if not is_sketch and CHECKSUM not in blob.properties:
            continue
        data = read_blob(read, blob, source=path)
        check_blob(blob, data, source=path)
        if is_sketch:
            found[blob.fields[0]] = StoredSketch(
                sketch=parse_theta(data, source=f"theta sketch of column {blob.fields[0]} in {path}"),
                snapshot_id=blob.snapshot_id,
                sequence_number=blob.sequence_number,
                is_upper=UPPER_ESTIMATE in blob.properties,
            )
    return found


def store_sketches(
    sketches: Mapping[int, ThetaSketch],
    metadata: TableMetadata,
    storage: Storage,
    snapshot: Snapshot,
    *,
    upper: Collection[int] = (),
) -> StatisticsFile:
    """Write sketches of a snapshot beside the blobs of other columns, and say how to register the file.

    Those of the columns in `upper` may hold values of rows that were deleted.
    """
    writer = PuffinWriter()
    for field_id, sketch in sorted(sketches.items()):
        _add(
            writer,
            type=THETA_V1,
            fields=(field_id,),
            snapshot_id=snapshot.snapshot_id,
            sequence_number=snapshot.sequence_number,
            data=sketch.serialize(),
            compression_codec="zstd",
            properties={NDV: str(sketch.ndv)} | ({UPPER_ESTIMATE: "true"} if field_id in upper else {}),
        )
    _keep_others(writer, {(THETA_V1, (i,)) for i in sketches}, metadata, storage, snapshot)
    file = writer.finish()
    path = join(metadata_directory(metadata), f"{snapshot.snapshot_id}-{uuid.uuid4()}.stats")
    storage.write_new(path, file.data)
    return StatisticsFile(
        snapshot_id=snapshot.snapshot_id,
        statistics_path=path,
        file_size_in_bytes=file.file_size_in_bytes,
        file_footer_size_in_bytes=file.file_footer_size_in_bytes,
        blob_metadata=tuple(
            BlobMetadata(
                type=b.type,
                snapshot_id=b.snapshot_id,
                sequence_number=b.sequence_number,
                fields=b.fields,
                properties=dict(b.properties),
            )
            for b in file.blobs
        ),
    )


class _Said(TypedDict):
    type: str
    fields: tuple[int, ...]
    snapshot_id: int
    sequence_number: int
    data: bytes


def _add(
    writer: PuffinWriter, *, compression_codec: str | None, properties: Mapping[str, str], **said: Unpack[_Said]
) -> None:
    writer.add(**said, compression_codec=compression_codec, properties=with_checksum(properties, **said))


def _keep_others(
    writer: PuffinWriter,
    written: set[tuple[str, tuple[int, ...]]],
    metadata: TableMetadata,
    storage: Storage,
    snapshot: Snapshot,
) -> None:
    """Blobs of the nearest registered file, but for columns that are gone and those written anew."""
    known = metadata.current_schema.fields_by_id
    file = _nearest(metadata, snapshot)
    if file is None:
        return
    path = file.statistics_path
    try:
        data = storage.read(path)
        for blob in parse_footer(data, source=path).blobs:
            if (blob.type, blob.fields) not in written and all(i in known for i in blob.fields):
                content = read_blob(data, blob, source=path)
                check_blob(blob, content, source=path)
                _add(
                    writer,
                    type=blob.type,
                    fields=blob.fields,
                    snapshot_id=blob.snapshot_id,
                    sequence_number=blob.sequence_number,
                    data=content,
                    compression_codec=blob.compression_codec,
                    properties=blob.properties,
                )
    except (SkipstoneError, OSError) as error:
        ignore_file(path, error)


def _nearest(metadata: TableMetadata, snapshot: Snapshot) -> StatisticsFile | None:
    """The file that is registered for a snapshot, or else for its nearest ancestor that has one."""
    registered = of_known_snapshots(metadata.statistics, metadata)
    at: Snapshot | None = snapshot
    while at is not None:
        file = registered.get(at.snapshot_id)
        if file is not None:
            return file
        parent = at.parent_snapshot_id
        at = None if parent is None else metadata.snapshots_by_id.get(parent)
    return None
