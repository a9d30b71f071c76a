"""Row delta: rows come in data files and go by delete files or deletion vectors.

A data file has at most one deletion vector: a new one takes in the deletes of the old one, which goes in the same
commit. Data files that new deletes point to must still be there.

Spec: "Delete Formats", "Deletion Vectors", "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from skipstone.commit.conflicts import Conflicts, Isolation
from skipstone.commit.context import CommitContext
from skipstone.commit.producer import Effect, Plan, SnapshotChange
from skipstone.commit.removal import Removal, delete_keys_of, partitions_of, paths_of, referenced_files
from skipstone.commit.still_there import check_all_removed, check_one_vector_each
from skipstone.errors import InvalidInput
from skipstone.metadata.manifests.manifest import FileContent, ManifestContent
from skipstone.metadata.tables.snapshots import Operation
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.predicate.nodes import Predicate
from skipstone.predicate.normalise import normalise


@dataclass(frozen=True, kw_only=True, eq=False)
class RowDelta(SnapshotChange):
    """Add data files and delete files (told apart by `content`); remove delete files that the new ones take in.

    `conflict_filter` (bound) says which rows the change was computed from. `referenced_files` are data files that new
    deletes point to beyond those their metadata names. `only_spec_id` is the one partition spec that equality deletes
    reach: no data file may have another.
    """

    files: pa.Table
    remove_files: Any = None
    remove_delete_files: Any = None
    referenced_files: Any = None
    only_spec_id: int | None = None
    conflict_filter: Predicate | None = None
    isolation: Isolation = Isolation.SERIALIZABLE

    @property
    def operation(self) -> str:
        return "row delta"

    def plan(self, current: TableMetadata, context: CommitContext) -> Plan:
        removal = Removal(
            data_paths=paths_of(self.remove_files),
            data_partitions=partitions_of(self.remove_files, current),
            delete_files=delete_keys_of(self.remove_delete_files),
        )

        def check(conflicts: Conflicts, effect: Effect) -> None:
            vectors, pointed_to = _pointers(effect)
            own = effect.remaining.paths(ManifestContent.DATA)
            check_all_removed(removal, effect.remaining, conflicts)
            check_one_vector_each(vectors, effect.remaining, conflicts, metadata=current, context=context)
            conflicts.data_files_exist((pointed_to | paths_of(self.referenced_files)) - own)
            if self.only_spec_id is not None:
                conflicts.no_data_of_other_specs(self.only_spec_id, effect.remaining.manifests)
            data = [r for r in effect.remaining.removed if r.content == ManifestContent.DATA]
            if data:
                conflicts.no_new_deletes_for(data)
            if self.conflict_filter is None:
                return
            if effect.adds(ManifestContent.DATA):
                # New rows may be copies of rows that are deleted meanwhile. Deletes alone add up in any order.
                conflicts.no_new_deletes(normalise(self.conflict_filter))
            if self.isolation == Isolation.SERIALIZABLE:
                conflicts.no_new_data(normalise(self.conflict_filter))

        return Plan(added=self.files, removal=removal, check=check)

    def kind(self, effect: Effect) -> Operation:
        adds_data, adds_deletes = effect.adds(ManifestContent.DATA), effect.adds(ManifestContent.DELETES)
        if adds_data and not adds_deletes and not effect.removes(ManifestContent.DATA):
            return Operation.APPEND
        return Operation.OVERWRITE if adds_data else Operation.DELETE


def _pointers(effect: Effect) -> tuple[set[str], set[str]]:
    """The data files that get a deletion vector, and all that new position deletes point to."""
    vectors: Counter[str] = Counter()
    pointed_to: set[str] = set()
    for group in effect.added:
        if group.content != ManifestContent.DELETES:
            continue
        offsets: Any = group.entries.column("content_offset")
        content: Any = group.entries.column("content")
        rows = zip(referenced_files(group.entries), offsets.to_pylist(), content.to_pylist(), strict=True)
        for path, offset, kind in rows:
            if path is None or kind != FileContent.POSITION_DELETES:
                continue
            pointed_to.add(path)
            if offset is not None:
                vectors[path] += 1
    doubled = next((path for path, count in vectors.items() if count > 1), None)
    if doubled is not None:
        raise InvalidInput(
            f"Cannot add deletion vectors: data file {doubled}: expected one, got {vectors[doubled]}. Merge them first."
        )
    return set(vectors), pointed_to
