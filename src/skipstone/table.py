"""The door: a table that can be read, changed and looked into. It delegates; the work is done in the rooms behind.

table = skipstone.catalog("sqlite:///lake/catalog.db", warehouse="lake").load_table("shop.shipping_address")
table.scan("zip_code = '10001'").to_arrow()
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from skipstone.catalog import Catalog, LoadedTable
from skipstone.catalog.identifiers import display
from skipstone.catalog.locations import KnowsPlaces, check_under_one_name
from skipstone.commit import Change, Outcome, Transaction
from skipstone.commit.retry import now_ms
from skipstone.errors import FormatViolation, InvalidInput, NotFound
from skipstone.hosts import spark_host
from skipstone.inspect import Inspector
from skipstone.layout import LayoutReport, measure_layout
from skipstone.maintenance import (
    ConversionReport,
    ExpireSnapshots,
    ExpiryReport,
    ManifestReport,
    PrefixMismatch,
    RewriteManifests,
    Search,
    convert_equality_deletes,
    expire_snapshots,
    find_orphans,
    plan_expiry,
    rewrite_manifests,
)
from skipstone.maintenance.indexing import IndexReport
from skipstone.maintenance.orphans import AGE_MS_DEFAULT as ORPHAN_AGE_MS
from skipstone.maintenance.orphans import EQUAL_SCHEMES
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import SortOrder
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.refs import MAIN, SnapshotRef
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.moments import older_than_ms
from skipstone.plan.incremental import plan_appends
from skipstone.scan import Scan
from skipstone.statistics import StatisticsVerbs, with_partition_statistics
from skipstone.storage import absolute_location
from skipstone.storage.protocol import FileInfo, Storage
from skipstone.table_index import TableIndex
from skipstone.writes import Writes


class Table(Writes, StatisticsVerbs):
    """A table as of the last time it was loaded, changed or refreshed."""

    def __init__(self, loaded: LoadedTable, *, catalog: Catalog | None, storage: Storage) -> None:
        self._loaded = loaded
        self._catalog = catalog
        self._storage = storage
        self.name = display(loaded.identifier)

    def __repr__(self) -> str:
        return f"Table({self.name}, v{self.metadata.format_version}, {self.metadata_location})"

    # -- what it is

    @property
    def metadata(self) -> TableMetadata:
        return self._loaded.metadata

    @property
    def metadata_location(self) -> str:
        return self._loaded.metadata_location

    @property
    def storage(self) -> Storage:
        return self._storage

    @property
    def location(self) -> str:
        return self.metadata.location

    @property
    def format_version(self) -> int:
        return self.metadata.format_version

    @property
    def schema(self) -> Schema:
        return self.metadata.current_schema

    @property
    def spec(self) -> PartitionSpec:
        return self.metadata.default_spec

    @property
    def sort_order(self) -> SortOrder:
        return self.metadata.default_sort_order

    @property
    def properties(self) -> dict[str, str]:
        return dict(self.metadata.properties)

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        return self.metadata.snapshots

    @property
    def current_snapshot(self) -> Snapshot | None:
        return self.metadata.current_snapshot

    @property
    def refs(self) -> dict[str, SnapshotRef]:
        return dict(self.metadata.refs)

    @property
    def inspect(self) -> Inspector:
        """Snapshots, files, partitions and more as Arrow tables: `table.inspect.snapshots()`."""
        return Inspector(self.metadata, self.storage, metadata_location=self.metadata_location)

    # -- reading

    def scan(
        self,
        filter: Any = None,
        *,
        columns: Sequence[str] | None = None,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of: Any = None,
        limit: int | None = None,
        **options: Any,
    ) -> Scan:
        """Rows that match a filter: SQL text, a predicate such as `col("zip_code") == "10001"`, or Iceberg's JSON."""
        return Scan(
            name=self.name,
            metadata=self.metadata,
            storage=self.storage,
            filter=filter,
            columns=columns,
            snapshot_id=snapshot_id,
            ref=ref,
            as_of=as_of,
            limit=limit,
            **options,
        )

    def layout(self, columns: Sequence[str] | None = None, *, range_share: float = 0.01) -> LayoutReport:
        """How well the files lie for skipping, column by column, and what would help: `print(table.layout())`."""
        return measure_layout(
            self.metadata,
            self.storage,
            name=self.name,
            snapshot=self.current_snapshot,
            columns=columns,
            range_share=range_share,
        )

    def appends(
        self,
        *,
        after: int | None = None,
        up_to: int | None = None,
        filter: Any = None,
        columns: Sequence[str] | None = None,
        skip_others: bool = False,
    ) -> Scan:
        """The rows that appends added after one snapshot (by default from the first on) up to another (the current).

        Where something else changed rows in between, appends do not tell it all, and the range is refused; with
        `skip_others` such snapshots are passed over, as Iceberg's incremental scans do.
        """
        scan = self.scan(filter, columns=columns)
        plan = plan_appends(
            self.metadata,
            self.storage,
            after_id=after,
            up_to_id=self._end_of(up_to),
            schema=scan.schema,
            predicate=scan.predicate,
            float_order=scan.float_order,
            skip_others=skip_others,
        )
        return scan.planned(plan)

    def changes(
        self,
        *,
        after: int | None = None,
        up_to: int | None = None,
        filter: Any = None,
        columns: Sequence[str] | None = None,
        identifier: Sequence[str] = (),
        keep_copies: bool = False,
        spark: Any = None,
    ) -> Any:
        """Rows inserted and deleted after one snapshot up to another, as a Spark DataFrame.

        `_change_type`, `_change_ordinal` and `_commit_snapshot_id` say what, in which order and by whom. With
        `identifier` columns, a row that was deleted and inserted by one snapshot is an update.
        """
        host = spark_host(f"read the changes of {self.name}")
        return host.read_changes(
            host.prepared(host.active(spark)),
            self.scan(filter, columns=columns),
            after_id=after,
            up_to_id=self._end_of(up_to),
            identifier=identifier,
            keep_copies=keep_copies,
        )

    def _end_of(self, up_to: int | None) -> int:
        if up_to is not None:
            return self.metadata.snapshot(up_to).snapshot_id
        if self.metadata.current_snapshot_id is None:
            raise NotFound(f"Cannot read what was added to {self.name}: it has no snapshot yet. Append first.")
        return self.metadata.current_snapshot_id

    def refresh(self) -> Self:
        """See what others have committed."""
        if self._catalog is None:
            return self
        fresh = self._catalog.load(self._loaded.identifier)
        ours, theirs = self.metadata.table_uuid, fresh.metadata.table_uuid
        if ours is not None and theirs is not None and ours != theirs:
            raise FormatViolation(
                f"Cannot refresh {self.name}: expected table UUID {ours}, got {theirs}. Another table has taken its "
                "name; load it again."
            )
        self._loaded = fresh
        return self

    # -- changing

    def transaction(self) -> TableTransaction:
        """Several changes, one commit: `with table.transaction() as tx: tx.append(a); tx.delete("...")`."""
        return TableTransaction(self)

    # -- maintenance

    @property
    def index(self) -> TableIndex:
        """The skip index: `table.index.status()`, `table.index.tighten()`, `table.index.drop()`."""
        return TableIndex(metadata=self.metadata, storage=self.storage)

    def build_index(self, **options: Any) -> IndexReport:
        """Index the table as it is, whoever wrote it, without rewriting anything."""
        return self.index.build(**options)

    def expire_snapshots(
        self,
        *,
        older_than: Any = None,
        retain_last: int | None = None,
        snapshot_ids: Collection[int] = (),
        delete_files: bool = True,
        dry_run: bool = False,
    ) -> ExpiryReport:
        """Remove snapshots that the retention policy lets go, then the files that only they needed.

        `older_than` (a point in time, or an age as a timedelta) and `retain_last` stand in for the table's properties;
        rules of a branch or tag itself stay in force. `snapshot_ids` alone removes these and nothing else.
        """
        catalog, now = self._changeable(), now_ms()
        change = ExpireSnapshots(
            snapshot_ids=tuple(snapshot_ids),
            older_than_ms=None if older_than is None else older_than_ms(older_than, now),
            retain_last=retain_last,
        )
        if delete_files:
            check_under_one_name(catalog, self._loaded, f"delete files of expired snapshots of {self.name}")
        if dry_run:
            return plan_expiry(catalog, self.refresh()._loaded, change, deletes_files=delete_files, now_ms=now)
        self._loaded, report = expire_snapshots(catalog, self._loaded, change, deletes_files=delete_files)
        return report

    def rewrite_manifests(self, *, branch: str = MAIN) -> ManifestReport:
        """Merge small manifests and put files of one partition side by side, so that plans read fewer. No row changes.

        `commit.manifest.target-size-bytes` says how large manifests become.
        """
        self._loaded, report = rewrite_manifests(self._changeable(), self._loaded, RewriteManifests(ref=branch))
        return report

    def convert_equality_deletes(self, *, branch: str = MAIN, spark: Any = None) -> ConversionReport:
        """Turn equality deletes into deletion vectors (v3) or position deletes (v2), which cost readers far less.

        No row changes. With a Spark session its tasks read the files that have such deletes.
        """
        self._changeable()
        self.refresh()
        host = None if spark is None else spark_host(f"convert the deletes of {self.name} with Spark")
        find = None if host is None else host.deleted_rows_finder(spark, self.storage)
        change, report = convert_equality_deletes(self.metadata, self.storage, ref=branch, find=find)
        if change is not None:
            self._apply(change)
        return report

    def remove_orphan_files(
        self,
        *,
        older_than: Any = None,
        dry_run: bool = False,
        location: str | None = None,
        prefix_mismatch: Literal["error", "ignore", "delete"] = "error",
        equal_schemes: Mapping[str, str] | None = None,
        equal_authorities: Mapping[str, str] | None = None,
    ) -> list[FileInfo]:
        """Remove files under the table's location that no metadata names, three days old by default.

        Younger files may belong to a commit under way: `older_than` must be before any such commit began.
        """
        catalog, now = self._changeable(), now_ms()
        if prefix_mismatch not in tuple(PrefixMismatch):
            known = ", ".join(PrefixMismatch)
            raise InvalidInput(f"Invalid prefix_mismatch {prefix_mismatch!r}: expected one of {known}.")
        search = Search(
            older_than_ms=now - ORPHAN_AGE_MS if older_than is None else older_than_ms(older_than, now),
            location=None if location is None else absolute_location(location),
            prefix_mismatch=PrefixMismatch(prefix_mismatch),
            equal_schemes={**EQUAL_SCHEMES, **(equal_schemes or {})},
            equal_authorities=equal_authorities or {},
        )
        self._check_alone(catalog, search.location or self.location)
        found = find_orphans(lambda: self.refresh()._loaded, catalog.storage, search)
        if not dry_run:
            catalog.storage.delete_many([info.path for info in found])
        return found

    # -- help

    def _check_alone(self, catalog: Catalog, location: str) -> None:
        """Refuse where files of other tables lie: this table does not know them."""
        there = catalog.tables_under(location) if isinstance(catalog, KnowsPlaces) else []
        others = [display(name) for name in there if name != self._loaded.identifier]
        if others:
            raise InvalidInput(
                f"Cannot remove orphan files of {self.name}: expected no other table under {location}, got "
                f"{', '.join(others[:5])}. Pass a location that holds files of this table only."
            )

    def _apply(self, change: Change) -> None:
        transaction = self._begin()
        transaction.add(change)
        with_partition_statistics(transaction)
        self._take(transaction.commit())

    def _begin(self) -> Transaction:
        return Transaction(self._changeable(), self._loaded)

    def _changeable(self) -> Catalog:
        if self._catalog is None:
            raise InvalidInput(
                f"Cannot change {self.name}: it was opened from a metadata file, read only. Load it from a catalog."
            )
        return self._catalog

    def _take(self, outcome: Outcome) -> None:
        self._loaded = outcome.unwrap()


class TableTransaction(Writes):
    """Changes that are committed together when the block ends, or not at all."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._transaction = table._begin()
        self.name = table.name

    @property
    def metadata(self) -> TableMetadata:
        """The table with the changes so far."""
        return self._transaction.metadata

    @property
    def storage(self) -> Storage:
        return self._table.storage

    def scan(self, filter: Any = None, **options: Any) -> Scan:
        """The table with the changes so far."""
        return Scan(name=self.name, metadata=self.metadata, storage=self.storage, filter=filter, **options)

    def _apply(self, change: Change) -> None:
        self._transaction.add(change)

    def commit(self) -> None:
        with_partition_statistics(self._transaction)
        self._table._take(self._transaction.commit())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self._transaction.discard()
