"""First row ids for manifests: which range of row ids each new data manifest of a snapshot takes.

Law: an id range is never given twice. Every data manifest without a first row id gets the next free one, and moves it
on by all rows that could inherit an id from that manifest: added and existing ones.

Spec: "First Row ID Assignment", "Snapshot Row IDs", "Row Lineage Example".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import ManifestContent, ManifestFile


def assign_first_row_ids(
    manifests: Iterable[ManifestFile], snapshot_first_row_id: int
) -> tuple[list[ManifestFile], int]:
    """The manifests with first row ids, in the same order, and the table's next row id after them.

    The difference between that and `snapshot_first_row_id` is the snapshot's `added-rows`.
    """
    if snapshot_first_row_id < 0:
        raise InvalidInput(f"Cannot assign row ids: expected a first row id of 0 or more, got {snapshot_first_row_id}.")
    next_row_id = snapshot_first_row_id
    assigned: list[ManifestFile] = []
    for manifest in manifests:
        if manifest.content == ManifestContent.DELETES:
            if manifest.first_row_id is not None:
                raise InvalidInput(
                    f"Cannot assign row ids to delete manifest {manifest.manifest_path}: expected first_row_id null, "
                    f"got {manifest.first_row_id}."
                )
        elif manifest.first_row_id is None:
            rows = rows_that_may_inherit(manifest)
            manifest = replace(manifest, first_row_id=next_row_id)
            next_row_id += rows
        assigned.append(manifest)
    return assigned, next_row_id


def rows_that_may_inherit(manifest: ManifestFile) -> int:
    """How many rows of a manifest could take an inherited id: those of added and existing files."""
    if manifest.added_rows_count is None or manifest.existing_rows_count is None:
        raise InvalidInput(
            f"Cannot assign row ids to manifest {manifest.manifest_path}: expected added_rows_count and "
            f"existing_rows_count, got {manifest.added_rows_count} and {manifest.existing_rows_count}. "
            f"Count the rows of its entries first."
        )
    return manifest.added_rows_count + manifest.existing_rows_count
