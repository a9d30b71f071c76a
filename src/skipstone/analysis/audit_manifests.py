"""Manifest lists held against manifests, and totals of snapshots against the files that are live.

Laws: a summary is right if it admits to every live partition tuple; tuples of deleted entries may be in it. Counts
are those of all entries. What a list leaves out is not wrong, but for bounds: without them a reader concludes that
there is no value but null and NaN. A least sequence number that is too great hides deletes, one too small does not.

Spec: "Manifest Lists", "Optional Snapshot Summary Fields".
"""

from __future__ import annotations

from typing import Any

import pyarrow
import pyarrow.compute

from skipstone.analysis.audit import Finding, outside_of
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.manifests.description import COUNTS, DESCRIBED_BY, described, summaries_of
from skipstone.metadata.manifests.manifest import EntryStatus, FieldSummary, ManifestFile
from skipstone.metadata.manifests.manifest_read import read_manifest
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.summary import TOTALLED, totals_of
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field, PrimitiveType, StructType, UnknownType, UuidType
from skipstone.plan.entries import in_parallel, read_live_entries
from skipstone.plan.snapshot_manifests import manifest_bytes, manifests_of, partition_type_of, spec_of
from skipstone.storage.protocol import Storage
from skipstone.zones.build.summaries import from_field_summaries

pa: Any = pyarrow
pc: Any = pyarrow.compute


def audit_manifest_list(metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> list[Finding]:
    """What the snapshot's list says about each manifest, against the manifest itself."""
    stored_in = snapshot.manifest_list
    if stored_in is None:  # a v1 snapshot names its manifests and says nothing about them
        return []

    def audit(manifest: ManifestFile) -> list[Finding]:
        return _of_manifest(manifest, stored_in, metadata, storage)

    return [f for found in in_parallel(audit, manifests_of(snapshot, metadata, storage)) for f in found]


def _of_manifest(manifest: ManifestFile, stored_in: str, metadata: TableMetadata, storage: Storage) -> list[Finding]:
    path, spec = manifest.manifest_path, spec_of(manifest, metadata)
    data = manifest_bytes(manifest, storage)
    entries = read_manifest(
        data, source=path, schema=metadata.current_schema, spec=spec, columns=DESCRIBED_BY, inherit_from=manifest
    )
    type_ = partition_type_of(spec, metadata)
    actual = described(manifest, entries, type_)
    found: list[tuple[str, str, Any, Any]] = []
    about = f"manifest {path}"
    for name in COUNTS:
        was, is_ = getattr(manifest, name), getattr(actual, name)
        if was is not None and was != is_:
            found.append((about, name, was, is_))
    if manifest.key_metadata is None and manifest.manifest_length != len(data):
        found.append((about, "manifest_length", manifest.manifest_length, len(data)))
    if manifest.min_sequence_number > actual.min_sequence_number:
        found.append((about, "min_sequence_number", manifest.min_sequence_number, actual.min_sequence_number))
    if manifest.partitions is not None and len(manifest.partitions) != len(type_.fields):
        found.append((about, "field summaries", len(manifest.partitions), len(type_.fields)))
    elif manifest.partitions:
        live = entries.filter(pc.not_equal(entries.column("status"), int(EntryStatus.DELETED)))
        found += _of_summaries(manifest, actual, summaries_of(live, type_), type_)
    return [
        Finding(stored_in=stored_in, about=a, fact=f, stored=was, actual=is_, manifest_path=path)
        for a, f, was, is_ in found
    ]


def _of_summaries(
    manifest: ManifestFile, actual: ManifestFile, live: tuple[FieldSummary, ...], type_: StructType
) -> list[tuple[str, str, Any, Any]]:
    assert manifest.partitions is not None and actual.partitions is not None
    found: list[tuple[str, str, Any, Any]] = []
    values = [_bounds(partitions, type_) for partitions in (manifest.partitions, live)]
    for place, (field, was) in enumerate(zip(type_.fields, manifest.partitions, strict=True)):
        about = f"partition field {field.name!r} of manifest {manifest.manifest_path}"
        for name in ("contains_null", "contains_nan"):
            told = getattr(was, name)
            possible = [getattr(s[place], name) for s in (live, actual.partitions)]
            if told is not None and told not in possible:
                found.append((about, name, told, possible[0]))
        found += [(about, *wrong) for wrong in _of_bounds(field, was, live[place], *(v[place] for v in values))]
    return found


def _of_bounds(
    field: Field, was: FieldSummary, live: FieldSummary, stored: tuple[Any, Any], true: tuple[Any, Any]
) -> list[tuple[str, Any, Any]]:
    """Bounds that leave a live value out. Those of UUIDs may be in either order, which then tells nothing."""
    if live.lower_bound is None:
        return []
    found: list[tuple[str, Any, Any]] = []
    for name, value, actual in zip(("lower_bound", "upper_bound"), stored, true, strict=True):
        if value is None:  # not there, or not of the type
            found.append((name, getattr(was, name), actual))
    if isinstance(field.type, UuidType) and None not in stored and stored[0] > stored[1]:
        return []
    return [*found, *outside_of(*stored, *true)]


def _bounds(partitions: tuple[FieldSummary, ...], type_: StructType) -> list[tuple[Any, Any]]:
    """The bounds of each field as values."""
    manifest = ManifestFile(manifest_path="", manifest_length=0, added_snapshot_id=0, partitions=partitions)
    zones = from_field_summaries([manifest], type_)
    return [_pair(zones.columns.get(f.id), f) for f in type_.fields]


def _pair(facts: Any, field: Field) -> tuple[Any, Any]:
    if facts is None or not isinstance(field.type, PrimitiveType) or isinstance(field.type, UnknownType):
        return None, None
    lower, upper = (None if b is None else arrow_to_value(field.type, b[0]) for b in (facts.lower, facts.upper))
    return lower, upper


def audit_totals(metadata: TableMetadata, storage: Storage, snapshot: Snapshot) -> list[Finding]:
    """The totals in a snapshot's summary, against its live files."""
    told = snapshot.summary or {}
    if not any(key.startswith("total-") for key in told):
        return []
    manifests = manifests_of(snapshot, metadata, storage)
    actual = totals_of(read_live_entries(manifests, metadata, storage, columns=TOTALLED))
    about = f"the summary of snapshot {snapshot.snapshot_id}"
    return [
        Finding(stored_in="table metadata", about=about, fact=name, stored=told[name], actual=value)
        for name, value in actual.items()
        if name in told and told[name] != value
    ]
