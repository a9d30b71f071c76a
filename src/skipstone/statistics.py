"""What a table can say about its rows without reading them: the verbs of statistics.

table.analyze()
table.statistics().column("zip_code").ndv
table.estimate("zip_code = '10001'").rows
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from skipstone.analysis.analyze import AnalysisPlan, analysed_ids, plan_analysis
from skipstone.analysis.audit import AuditReport, finish_audit, plan_audit
from skipstone.analysis.audit_deletes import audit_deletes
from skipstone.analysis.audit_manifests import audit_manifest_list, audit_totals
from skipstone.analysis.audit_own import audit_analysis, audit_index
from skipstone.analysis.audit_statistics import audit_partition_statistics, audit_sketches
from skipstone.analysis.collect import Wishes
from skipstone.analysis.estimate import Estimate, estimate
from skipstone.analysis.finish import FinishedAnalysis, finish_analysis
from skipstone.analysis.gather import GatherStatistics
from skipstone.analysis.partition_files import find_partition_statistics, store_partition_statistics
from skipstone.analysis.publish import WritePartitionStatistics, partition_statistics_of
from skipstone.analysis.repairs import beyond_repair, right_entries
from skipstone.analysis.table_statistics import statistics_by_partition, table_statistics
from skipstone.commit import Change, Transaction, UpdateStatistics
from skipstone.commit.retry import now_ms
from skipstone.errors import InvalidInput
from skipstone.hosts import running_spark, spark_host
from skipstone.maintenance.metrics_repair import RepairEntries
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.tables.properties import STATS_AUTO_GATHER, STATS_PARTITION_ON_COMMIT, property_value
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.plan.entries import in_parallel
from skipstone.plan.snapshot_manifests import manifests_of
from skipstone.predicate import FloatOrder, Predicate, as_predicate, bind, col
from skipstone.predicate.nodes import TRUE
from skipstone.stats.column_statistics import TableStatistics
from skipstone.stats.partition_statistics import PartitionStatistics
from skipstone.stats.summary import FileSummary
from skipstone.storage.protocol import Storage
from skipstone.table_index import TableIndex

# From this many bytes on, a running Spark session reads them faster than this process.
_SPARK_BYTES: Final = 256 << 20
# An expression has one of these beside its type; a column may be named "type" as well.
_EXPRESSION: Final = frozenset({"term", "child", "left", "right"})


def with_partition_statistics(transaction: Transaction) -> None:
    """Let the commit write statistics of partitions and columns, where the table's properties say so."""
    if property_value(transaction.metadata.properties, STATS_AUTO_GATHER):
        transaction.add(GatherStatistics(analyse=_read_added))
    if property_value(transaction.metadata.properties, STATS_PARTITION_ON_COMMIT):
        transaction.add(WritePartitionStatistics())


def _read_added(work: AnalysisPlan) -> Sequence[FileSummary]:
    """The summaries of files that were just written: on this machine, or with Spark where it runs and they are big."""
    sizes = work.plan.files.column("file_size_in_bytes").to_numpy()[list(work.rows)]
    spark = running_spark() if int(sizes.sum()) >= _SPARK_BYTES else None
    if spark is not None:
        return spark_host("gather statistics").analyse_files(work, spark, table="the files of a commit")  # type: ignore[no-any-return]
    return work.analysed_here()


class StatisticsVerbs:
    """The verbs of `Table` about statistics."""

    name: str

    @property
    def metadata(self) -> TableMetadata:
        raise NotImplementedError

    @property
    def storage(self) -> Storage:
        raise NotImplementedError

    def _apply(self, change: Change) -> None:
        raise NotImplementedError

    def _changeable(self) -> Any:
        raise NotImplementedError

    def compute_partition_statistics(
        self,
        *,
        snapshot_id: int | None = None,
        incremental: bool = True,
        exact_rows: bool = False,
        zone_columns: Sequence[str] | None = None,
    ) -> PartitionStatistics:
        """Compute and register the partition statistics of a snapshot, by default the current one.

        Built upon earlier statistics where there are any, unless `incremental` is false. `exact_rows` reads data where
        metadata cannot tell how many rows deletes have left. `zone_columns` are the columns to keep bounds of.
        """
        self._changeable()  # before any file is written
        snapshot, schema = self._snapshot(snapshot_id), self.metadata.current_schema
        found = partition_statistics_of(
            self.metadata,
            self.storage,
            snapshot,
            incremental=incremental,
            exact_rows=exact_rows,
            zone_ids=None if zone_columns is None else [schema.field(name).id for name in zone_columns],
        )
        file = store_partition_statistics(found, self.metadata, self.storage)
        self._apply(UpdateStatistics(set_partition=(file,)))
        return found

    def partition_statistics(
        self, filter: Any = None, *, snapshot_id: int | None = None, float_order: FloatOrder = FloatOrder.IEEE
    ) -> PartitionStatistics | None:
        """The registered partition statistics of a snapshot; with a filter, of the partitions that can match."""
        schema = self.metadata.current_schema
        found = find_partition_statistics(self.metadata, self.storage, self._snapshot(snapshot_id).snapshot_id)
        if found is None or filter is None:
            return found
        predicate = bind(as_predicate(filter), schema, table=self.name, float_order=float_order)
        return found.filter(predicate, self.metadata, schema, float_order)

    def analyze(
        self,
        columns: Sequence[str] | None = None,
        *,
        partitions: Any = None,
        snapshot_id: int | None = None,
        full: bool = False,
        sketches: bool = True,
        bit_vectors: bool = False,
        threads: int | None = None,
        spark: Any = None,
    ) -> FinishedAnalysis:
        """Find out what only rows can tell: distinct values, quantiles, frequent values, lengths, exact bounds.

        Reads only files that were not analysed yet, unless `full` is true. `partitions` is a filter on partition
        columns, or a mapping of columns to values, in which None stands for any value, or a function of a spec id and
        partition values by name, which gives a name to each partition that is meant. Without `sketches` only counts,
        bounds and lengths are collected, and what manifests or a Parquet footer prove of them is not read; with `full`
        manifests are not believed. `bit_vectors` collects what Hive counts distinct values with as well. With a Spark
        session, its tasks read the files.
        """
        self._changeable()
        snapshot, schema = self._snapshot(snapshot_id), self.metadata.current_schema
        work = plan_analysis(
            self.metadata,
            self.storage,
            snapshot,
            field_ids=analysed_ids(schema, columns, table=self.name),
            partitions=TRUE if callable(partitions) else self._partitions(partitions),
            name_of=partitions if callable(partitions) else None,
            full=full,
            wishes=Wishes(ndv=sketches, quantiles=sketches, heavy_values=sketches, bit_vectors=bit_vectors),
        )
        if spark is None:
            summaries = work.analysed_here(threads)
        else:
            summaries = spark_host(f"analyse {self.name} with Spark").analyse_files(work, spark, table=self.name)
        finished = finish_analysis(work, summaries, now_ms=now_ms())
        if finished.file is not None:
            self._apply(UpdateStatistics(set_table=(finished.file,)))
        return finished

    def statistics(self, *, partitions: Any = None, snapshot_id: int | None = None) -> TableStatistics:
        """What is known about the columns: from the last analysis, or else from manifests and registered sketches.

        `partitions` chooses partitions, as in `analyze`.
        """
        chosen = self._partitions(partitions)
        return table_statistics(self.metadata, self.storage, self._snapshot(snapshot_id), partitions=chosen)

    def statistics_by_partition(
        self, *, snapshot_id: int | None = None
    ) -> Iterator[tuple[int, Mapping[str, Any], TableStatistics]]:
        """Spec id, partition values by name, and statistics, of every analysed partition."""
        return statistics_by_partition(self.metadata, self.storage, self._snapshot(snapshot_id))

    def estimate(
        self,
        filter: Any,
        *,
        snapshot_id: int | None = None,
        float_order: FloatOrder = FloatOrder.IEEE,
        distinct_counts: Mapping[str, int] | None = None,
    ) -> Estimate:
        """How many rows and bytes match a filter, from statistics, with bounds.

        `distinct_counts` are numbers of distinct values by column that come from elsewhere, a Hive metastore for one.
        They are used for columns that were not analysed, and never move a bound.
        """
        schema = self.metadata.current_schema
        predicate = bind(as_predicate(filter), schema, table=self.name, float_order=float_order)
        snapshot = self._snapshot(snapshot_id)
        counts = {schema.field(name).id: count for name, count in (distinct_counts or {}).items()}
        return estimate(
            self.metadata, self.storage, snapshot, predicate, distinct_counts=counts, float_order=float_order
        )

    def audit(
        self, *, snapshot_id: int | None = None, repair: bool = False, threads: int | None = None, spark: Any = None
    ) -> AuditReport:
        """Read every file of a snapshot and hold all that is stored about it against it.

        With `repair`, registered statistics files that are wrong are computed anew, and files and manifests that
        something wrong is told about are listed again, by a snapshot that changes no row. The report's `beyond_repair`
        is what stays wrong, and why. With a Spark session, its tasks read the data files.
        """
        snapshot = self._snapshot(snapshot_id)
        work = plan_audit(self.metadata, self.storage, snapshot)
        if spark is None:
            audited = in_parallel(work.audit, range(len(work.places)), threads)
        else:
            audited = spark_host(f"audit {self.name} with Spark").audit_files(work, spark, table=self.name)
        has_deletes = any(
            m.content == ManifestContent.DELETES for m in manifests_of(snapshot, self.metadata, self.storage)
        )
        others = [
            *audit_manifest_list(self.metadata, self.storage, snapshot),
            *audit_deletes(self.metadata, self.storage, snapshot, threads=threads),
            *audit_totals(self.metadata, self.storage, snapshot),
            *audit_partition_statistics(self.metadata, self.storage, snapshot, work.analysis.plan.files, audited),
            *audit_sketches(self.metadata, self.storage, snapshot, audited, has_deletes=has_deletes),
            *audit_analysis(self.metadata, self.storage, snapshot, audited),
            *audit_index(self.metadata, self.storage, snapshot),
        ]
        report = finish_audit(work, audited, others)
        report = replace(report, beyond_repair=beyond_repair(report.findings, self.metadata, snapshot))
        if repair and not report.is_clean:
            self._repair(report, snapshot, spark)
        return report

    def _repair(self, report: AuditReport, snapshot: Snapshot, spark: Any) -> None:
        self._changeable()
        if report.recompute_partition_statistics:
            self.compute_partition_statistics(snapshot_id=snapshot.snapshot_id, incremental=False)
        if report.recompute_table_statistics:
            self.analyze(snapshot_id=snapshot.snapshot_id, full=True, spark=spark)
        if report.rebuild_index:
            TableIndex(metadata=self.metadata, storage=self.storage).tighten(snapshot_id=snapshot.snapshot_id)
        right = right_entries(report.findings, self.metadata)
        misdescribed = frozenset(f.manifest_path for f in report.findings if f.manifest_path is not None)
        recounts = any(f.fact.startswith("total-") for f in report.findings)
        if right or misdescribed or recounts:
            self._apply(RepairEntries(right=right, misdescribed=misdescribed, recounts=recounts))
            # Bounds of partitions were made of those that were wrong, and are carried on from file to file.
            if self.metadata.partition_statistics:
                self.compute_partition_statistics(incremental=False)

    def _partitions(self, chosen: Any) -> Predicate:
        if isinstance(chosen, Mapping) and not ("type" in chosen and chosen.keys() & _EXPRESSION):
            chosen = _static_values(chosen)
        return bind(as_predicate(chosen), self.metadata.current_schema, table=self.name, float_order=FloatOrder.IEEE)

    def _snapshot(self, snapshot_id: int | None) -> Snapshot:
        found = self.metadata.current_snapshot if snapshot_id is None else self.metadata.snapshot(snapshot_id)
        if found is None:
            raise InvalidInput(f"Cannot tell statistics of {self.name}: the table has no snapshot. Append rows first.")
        return found


def _static_values(values: Mapping[str, Any]) -> Any:
    """A filter of the values that are told; a column without one may have any."""
    chosen: Any = TRUE
    for name, value in values.items():
        if value is not None:
            chosen = (col(name) == value) if chosen is TRUE else chosen & (col(name) == value)
    return chosen
