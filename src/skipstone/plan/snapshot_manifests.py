"""The manifests of a snapshot: listed, and pruned by their partition summaries.

Spec: "Manifest Lists", "Scan Planning".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from skipstone.errors import FormatViolation, Unsupported
from skipstone.index.opened import opened
from skipstone.metadata.blobs.encryption import decrypt_file, manifest_list_key_metadata
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.manifests.manifest_list import embedded_manifests, read_manifest_list
from skipstone.metadata.manifests.manifest_read import read_manifest_header
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import StructType
from skipstone.plan.recent import recent
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.storage.keyed import keys_of
from skipstone.storage.protocol import Storage
from skipstone.zones.build.summaries import from_field_summaries
from skipstone.zones.levels import prove_partitions
from skipstone.zones.verdict import Verdict
from skipstone.zones.zone_map import ZoneMap

_MANIFEST_BYTES: Final = 1024  # about what a listed manifest takes in memory


def manifests_of(snapshot: Snapshot, metadata: TableMetadata, storage: Storage) -> tuple[ManifestFile, ...]:
    """All manifests of a snapshot, in the order of its list."""
    if snapshot.manifest_list is not None:
        path = snapshot.manifest_list
        return tuple(read_manifest_list(_list_bytes(snapshot, path, metadata, storage), source=path))
    return tuple(_embedded(storage, snapshot))


def _list_bytes(snapshot: Snapshot, path: str, metadata: TableMetadata, storage: Storage) -> bytes:
    if snapshot.key_id is None:
        return storage.read(path)
    kms = keys_of(storage)
    if kms is None:
        raise Unsupported(
            f"Cannot read snapshot {snapshot.snapshot_id} of {metadata.location}: its manifest list is encrypted with "
            f"key {snapshot.key_id!r}. Open the table with its key management: open_table(..., kms=...)."
        )
    key = manifest_list_key_metadata(metadata.encryption_keys, snapshot.key_id, kms, source=metadata.location)
    return decrypt_file(storage.read(path), key, source=path)


def manifest_bytes(manifest: ManifestFile, storage: Storage) -> bytes:
    """A manifest, opened with the key that its list holds if it is encrypted."""
    data = storage.read(manifest.manifest_path)
    if manifest.key_metadata is None:
        return data
    return decrypt_file(data, manifest.key_metadata, source=manifest.manifest_path)


def recent_manifests_of(snapshot: Snapshot, metadata: TableMetadata, storage: Storage) -> tuple[ManifestFile, ...]:
    """The same from memory where a plan has read the list before: lists never change."""
    path = snapshot.manifest_list
    if path is None or snapshot.key_id is not None:
        return manifests_of(snapshot, metadata, storage)
    known: tuple[ManifestFile, ...] | None = opened.find(storage, path)
    if known is None:
        known = manifests_of(snapshot, metadata, storage)
        opened.keep(storage, path, known, _MANIFEST_BYTES * len(known))
    return known


def _embedded(storage: Storage, snapshot: Snapshot) -> Iterator[ManifestFile]:
    """The manifests of a v1 snapshot without a list; each tells its own spec."""
    for location in snapshot.manifests or ():
        data = storage.read(location)
        spec_id = read_manifest_header(data, source=location).spec_id or 0
        yield from embedded_manifests(
            [location], [len(data)], snapshot_id=snapshot.snapshot_id, partition_spec_id=spec_id
        )


def spec_of(manifest: ManifestFile, metadata: TableMetadata) -> PartitionSpec:
    spec = metadata.specs_by_id.get(manifest.partition_spec_id)
    if spec is None:
        raise FormatViolation(
            f"Invalid manifest list: manifest {manifest.manifest_path} has partition spec "
            f"{manifest.partition_spec_id}, expected one of {sorted(metadata.specs_by_id)}."
        )
    return spec


def partition_type_of(spec: PartitionSpec, metadata: TableMetadata) -> StructType:
    """The tuple type of a spec; sources that are gone are looked up in older schemas, latest first."""
    return spec.partition_type(metadata.current_schema, schemas=tuple(reversed(metadata.schemas)))


def prune_manifests(
    manifests: Sequence[ManifestFile],
    predicate: Predicate,
    metadata: TableMetadata,
    schema: Schema,
    float_order: FloatOrder,
) -> list[Verdict]:
    """A verdict for each manifest: what its partition summaries prove about the rows of all its files."""
    if predicate == TRUE:
        return [Verdict.NO_ROW_MATCHES if m.has_no_live_files else Verdict.EVERY_ROW_MATCHES for m in manifests]
    verdicts = [Verdict.UNKNOWN] * len(manifests)
    by_spec: dict[int, list[int]] = defaultdict(list)
    for place, manifest in enumerate(manifests):
        by_spec[manifest.partition_spec_id].append(place)
    for places in by_spec.values():
        chosen = [manifests[p] for p in places]
        spec = spec_of(chosen[0], metadata)
        zones = _summaries(chosen, partition_type_of(spec, metadata))
        proofs = prove_partitions(predicate, spec, schema, zones, float_order)
        for place, verdict in zip(places, proofs.verdicts().tolist()):
            verdicts[place] = Verdict(verdict)
    return verdicts


def _summaries(manifests: Sequence[ManifestFile], partition_type: StructType) -> ZoneMap:
    return recent.derived(
        ("summaries", partition_type), manifests, lambda: from_field_summaries(manifests, partition_type)
    )
