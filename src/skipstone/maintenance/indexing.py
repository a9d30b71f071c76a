"""Indexing a table in place: sidecars for manifests that have none, and a roll-up for the snapshot.

Nothing of the table is rewritten, so tables of other engines are indexed as they are. One manifest is one piece of work
that crosses processes: a host with many machines maps `index_one` over the jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skipstone.commit.manifests import manifests_of
from skipstone.errors import InvalidInput
from skipstone.index.build import index_manifest
from skipstone.index.cleaning import index_files
from skipstone.index.loading import find_sidecar, forget_opened, rollups_of
from skipstone.index.places import index_directory, rollup_path, sidecar_path
from skipstone.index.rollup import ManifestRecord, ManifestZones, Part, write_rollup
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel
from skipstone.storage.protocol import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexJob:
    """One manifest to index."""

    manifest: ManifestFile
    metadata: TableMetadata
    storage: Storage
    directory: str


Run = Callable[[Callable[[IndexJob], ManifestZones | None], Sequence[IndexJob]], Sequence[ManifestZones | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an index covers. `indexed` manifests were done now, `known` ones before; `left` cannot be indexed."""

    manifests: int
    indexed: int
    known: int
    left: int
    files: int
    size_in_bytes: int


def index_one(job: IndexJob) -> ManifestZones | None:
    """Index one manifest and store its sidecar; its zones, or None where it cannot be indexed."""
    data = job.storage.read(job.manifest.manifest_path)
    made = index_manifest(data, job.manifest, job.metadata)
    if made is None:
        return None
    if made.sidecar is not None:
        job.storage.write_over(sidecar_path(job.directory, job.manifest.manifest_path), made.sidecar)
        job.storage.settle()
    return made.zones


def build_index(
    metadata: TableMetadata,
    storage: Storage,
    snapshot: Snapshot | None,
    *,
    run: Run | None = None,
    rebuild: bool = False,
) -> IndexReport:
    """Index what is not indexed of a snapshot, all of it with `rebuild`, and write its roll-up in one piece."""
    directory = index_directory(metadata)
    if directory is None:
        raise InvalidInput(
            f"Cannot index {metadata.location}: there is no place beside it. Set skipstone.index.path to a directory."
        )
    if snapshot is None or snapshot.manifest_list is None:
        return IndexReport(manifests=0, indexed=0, known=0, left=0, files=0, size_in_bytes=0)
    manifests = manifests_of(storage, metadata, snapshot)
    known = {} if rebuild else _known(manifests, snapshot, metadata, storage, directory)
    jobs = [
        IndexJob(manifest=m, metadata=metadata, storage=storage, directory=directory)
        for m in manifests
        if m.manifest_path not in known and not m.has_no_live_files
    ]
    done = run(index_one, jobs) if run is not None else in_parallel(index_one, jobs)
    zones = [*known.values(), *(Part.of(z) for z in done if z is not None)]
    if zones and (rebuild or jobs):
        storage.write_over(rollup_path(directory, snapshot.manifest_list), write_rollup(zones).data)
        storage.settle()
        forget_opened()
    return IndexReport(
        manifests=len(manifests),
        indexed=sum(z is not None for z in done),
        known=len(known),
        left=sum(z is None for z in done),
        files=sum(
            record.identity.live_files
            for part in zones
            for record in part.records
            if record.identity.content == ManifestContent.DATA
        ),
        size_in_bytes=sum(info.size_in_bytes for info in index_files(metadata, storage)),
    )


def _known(
    manifests: Sequence[ManifestFile], snapshot: Snapshot, metadata: TableMetadata, storage: Storage, directory: str
) -> dict[str, Part]:
    """The zones of manifests whose index is whole."""
    found: dict[str, Part] = {}
    for rollup in rollups_of(snapshot, metadata, storage, directory, []):
        places = {m.manifest_path: p for m in manifests if (p := rollup.find(m)) is not None}
        for path, place in places.items():
            found.setdefault(path, rollup.part([place]))
    by_path = {m.manifest_path: m for m in manifests}
    return {path: p for path, p in found.items() if _is_whole(p.records[0], by_path[path], storage, directory)}


def _is_whole(record: ManifestRecord, manifest: ManifestFile, storage: Storage, directory: str) -> bool:
    """Whether what a roll-up says of a manifest needs no sidecar, or has the one whose blocks it numbers."""
    if not record.has_sidecar:
        return True
    sidecar = find_sidecar(storage, directory, manifest, [])
    return sidecar is not None and sidecar.header.cut is not None and sidecar.header.cut == record.cut
