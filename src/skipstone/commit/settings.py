"""Changes of properties, format version and location, and of the statistics files that a table names.

Spec: "Table Metadata Fields", "Table Statistics", "Partition Statistics", Appendix E.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from skipstone.commit.context import CommitContext
from skipstone.errors import InvalidInput
from skipstone.metadata.tables.metadata_changes import (
    remove_partition_statistics,
    remove_properties,
    remove_statistics,
    set_location,
    set_partition_statistics,
    set_properties,
    set_statistics,
)
from skipstone.metadata.tables.properties import FORMAT_VERSION, check_levels, check_properties
from skipstone.metadata.tables.statistics_files import PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.upgrade import upgrade_format_version


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdateProperties:
    """Set and remove table properties; for each key the last writer wins. Setting `format-version` upgrades."""

    updates: Mapping[str, str] = field(default_factory=dict)
    removals: Collection[str] = ()

    @property
    def operation(self) -> str:
        return "property update"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        both = sorted(set(self.updates) & set(self.removals))
        if both:
            raise InvalidInput(f"Cannot update table property {both[0]}: expected to set or to remove it, got both.")
        check_properties(self.updates)
        changed = current
        updates = dict(self.updates)
        version = updates.pop(FORMAT_VERSION, None)
        if version is not None:
            changed = upgrade_format_version(changed, int(version))
        if any(changed.properties.get(key) != value for key, value in updates.items()):
            changed = set_properties(changed, updates)
        if any(key in changed.properties for key in self.removals):
            changed = remove_properties(changed, self.removals)
        if changed is not current:
            check_levels(changed.properties, {*updates, *self.removals})
        return changed


@dataclass(frozen=True, kw_only=True, eq=False)
class UpgradeFormat:
    """Raise the format version; a table that has it already stays as it is."""

    format_version: int

    @property
    def operation(self) -> str:
        return "upgrade"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        wanted: object = self.format_version
        if not isinstance(wanted, int):
            raise InvalidInput(f"Cannot upgrade a table to format version {wanted!r}: expected an integer.")
        if base.format_version < self.format_version <= context.start.format_version:
            # Somebody else has upgraded meanwhile, perhaps further.
            return current
        return upgrade_format_version(current, self.format_version)


@dataclass(frozen=True, kw_only=True, eq=False)
class SetLocation:
    """Where new files go; old ones stay where they are."""

    location: str

    @property
    def operation(self) -> str:
        return "location update"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        if base.location != context.start.location:
            raise context.conflict(self.operation, f"the location became {context.start.location} meanwhile")
        return current if current.location == self.location else set_location(current, self.location)


@dataclass(frozen=True, kw_only=True, eq=False)
class UpdateStatistics:
    """Register statistics files, each for a snapshot of the table, and forget those of other snapshots."""

    set_table: Collection[StatisticsFile] = ()
    set_partition: Collection[PartitionStatisticsFile] = ()
    remove_table: Collection[int] = ()  # snapshot ids
    remove_partition: Collection[int] = ()

    @property
    def operation(self) -> str:
        return "statistics update"

    def apply(self, base: TableMetadata, current: TableMetadata, context: CommitContext) -> TableMetadata:
        changed = current
        for snapshot_id in self.remove_table:
            changed = remove_statistics(changed, snapshot_id)
        for snapshot_id in self.remove_partition:
            changed = remove_partition_statistics(changed, snapshot_id)
        files: list[StatisticsFile | PartitionStatisticsFile] = [*self.set_table, *self.set_partition]
        for file in files:
            is_gone = file.snapshot_id not in current.snapshots_by_id
            if is_gone and file.snapshot_id in base.snapshots_by_id:
                raise context.conflict(self.operation, f"snapshot {file.snapshot_id} was removed meanwhile")
            if isinstance(file, StatisticsFile):
                changed = set_statistics(changed, file)
            else:
                changed = set_partition_statistics(changed, file)
        return changed
