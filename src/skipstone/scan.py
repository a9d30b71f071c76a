"""A scan: what to read from a table, not yet read.

A snapshot id, a tag or a point in time is read with the schema of that time, a branch with the table's current one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import pyarrow

from skipstone.errors import InvalidInput, NotFound, Unsupported, what_exists
from skipstone.hosts import spark_host
from skipstone.index.columns import indexed_ids, is_enabled
from skipstone.metadata.formats.arrow_types import empty_table, to_arrow_schema
from skipstone.metadata.reserved import METADATA_COLUMNS, PARTITION_NAME, partition_column
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.history import snapshot_as_of
from skipstone.metadata.tables.refs import MAIN
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field, StructType
from skipstone.moments import timestamp_ms
from skipstone.plan import ScanPlan, plan_scan
from skipstone.plan.aggregates import parse_aggregate
from skipstone.plan.column_facts import column_named
from skipstone.plan.entries import unified_type
from skipstone.plan.explain import explain_plan
from skipstone.plan.explanation import Explanation
from skipstone.plan.join_keys import JoinKeys, join_keys
from skipstone.plan.joins import join_predicate, prune_by_join
from skipstone.plan.scan import count_by_index
from skipstone.plan.sort_keys import sort_keys
from skipstone.plan.tasks import pack
from skipstone.plan.topk import plan_top
from skipstone.predicate import FloatOrder, Predicate, as_predicate, bind
from skipstone.predicate.nodes import Compare, Op, Ref, and_
from skipstone.read import read_plan
from skipstone.read.aggregates import Aggregated, aggregate_plan
from skipstone.read.top_rows import TopRows, read_top
from skipstone.rows_out import for_pandas, without_extensions
from skipstone.storage.protocol import Storage

pa: Any = pyarrow


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Rows of one snapshot: those that match a filter, the columns asked for, up to a limit."""

    name: str
    metadata: TableMetadata
    storage: Storage
    filter: Any = None
    columns: Sequence[str] | None = None
    snapshot_id: int | None = None
    ref: str | None = None
    as_of: Any = None
    limit: int | None = None
    float_order: FloatOrder = FloatOrder.IEEE
    case_sensitive: bool = True
    use_index: bool = True
    joins: tuple[JoinKeys, ...] = field(default=(), repr=False)
    threads: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given = [n for n in ("snapshot_id", "ref", "as_of") if getattr(self, n) is not None]
        if len(given) > 1:
            raise InvalidInput(
                f"Cannot scan {self.name}: expected at most one of snapshot_id, ref and as_of, got {given}."
            )
        limit: Any = self.limit
        if limit is not None and not (isinstance(limit, int) and limit >= 0):
            raise InvalidInput(f"Cannot scan {self.name} with limit {limit!r}: expected an integer, 0 or more.")
        if isinstance(self.columns, str):
            raise InvalidInput(f"Cannot scan {self.name}: expected columns as a list of names, got {self.columns!r}.")

    @cached_property
    def snapshot(self) -> Snapshot | None:
        """The snapshot to read; None for a table without any."""
        if self.snapshot_id is not None:
            return self.metadata.snapshot(self.snapshot_id)
        if self.as_of is not None:
            return snapshot_as_of(self.metadata, timestamp_ms(self.as_of))
        return self.metadata.ref_snapshot(self.ref or MAIN)

    @cached_property
    def schema(self) -> Schema:
        """The schema to read with."""
        is_branch = (
            self.snapshot_id is None
            and self.as_of is None
            and (self.ref in (None, MAIN) or self.metadata.ref(str(self.ref)).is_branch)
        )
        if is_branch or self.snapshot is None:
            return self.metadata.current_schema
        return self.metadata.snapshot_schema(self.snapshot)

    @cached_property
    def predicate(self) -> Predicate:
        bound = bind(
            as_predicate(self.filter),
            self.schema,
            table=self.name,
            case_sensitive=self.case_sensitive,
            float_order=self.float_order,
        )
        return and_(bound, *(join_predicate(keys) for keys in self.joins))

    @cached_property
    def wanted(self) -> StructType:
        """The fields to read, in the order asked for."""
        if self.columns is None:
            return self.schema.struct
        return StructType(tuple(_wanted_fields(self.columns, self.schema, self.metadata, self.case_sensitive)))

    @cached_property
    def _plan(self) -> ScanPlan:
        plan = self._plan_all()
        return plan if self.limit is None else plan.limited(self.limit)

    def _plan_all(self, facts_of: Collection[int] = ()) -> ScanPlan:
        """The plan without the limit, with facts of further columns."""
        key_ids = [c.field_id for keys in self.joins for c in keys.columns]
        plan = plan_scan(
            self.metadata,
            self.storage,
            snapshot=self.snapshot,
            schema=self.schema,
            predicate=self.predicate,
            float_order=self.float_order,
            facts_of=[*facts_of, *key_ids],
            use_index=self.use_index,
        )
        for keys in self.joins:
            plan = prune_by_join(plan, keys)
        return plan

    def plan_with_facts(self, field_ids: Collection[int]) -> ScanPlan:
        """Which files will be read, a limit apart, with what is known about further columns in each."""
        return self._plan_all(field_ids)

    def planned(self, plan: ScanPlan) -> Scan:
        """The same scan with a plan made before, over fewer files for example."""
        other = Scan(**self._arguments())
        other.__dict__["_plan"] = plan
        return other

    def plan(self) -> ScanPlan:
        """Which files will be read, and why."""
        return self._plan

    def tasks(self) -> Any:
        """The plan as tasks for workers of one's own: Arrow, a row for each `task`, `file_path`, `offset`, `length`.

        Their size follows `read.split.target-size`, `read.split.planning-lookback` and `read.split.open-file-cost`.
        """
        pieces = pack(self._plan)
        paths = self._plan.files.column("file_path").take(pieces.column("file"))
        return pieces.set_column(pieces.schema.get_field_index("file"), "file_path", paths)

    def explain(self) -> str:
        """What was skipped at each level."""
        return self._plan.explain()

    def explanation(self) -> Explanation:
        """What was skipped at each level, by which part of the filter and which fact, and why the rest was kept."""
        indexed = indexed_ids(self.metadata) if self.use_index and is_enabled(self.metadata) else None
        return explain_plan(self._plan, self.storage, indexed_ids=indexed)

    def to_batches(self) -> Any:
        """The rows as a stream of Arrow batches."""
        schema: Any = to_arrow_schema(self.wanted)
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: Any) -> Iterator[Any]:
        for batch in read_plan(self._plan, self.storage, wanted=self.wanted, threads=self.threads, limit=self.limit):
            yield batch if batch.schema.equals(schema, check_metadata=True) else batch.cast(schema)

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        rows = self.to_batches().read_all()
        # Without a single batch its columns have no chunks, which Spark's `createDataFrame` does not take.
        return rows if rows.num_rows else empty_table(rows.schema)

    def to_pandas(self) -> Any:
        """The rows as a pandas frame; UUIDs inside lists, maps and structs as their bytes."""
        _needs("pandas", self.name)
        return for_pandas(self.to_arrow()).to_pandas()

    def to_polars(self) -> Any:
        """The rows as a Polars frame; UUIDs as their bytes."""
        return _needs("polars", self.name).from_arrow(without_extensions(self.to_arrow()))

    def to_duckdb(self, connection: Any = None) -> Any:
        """The rows as a DuckDB relation."""
        duckdb = _needs("duckdb", self.name)
        return (connection or duckdb).from_arrow(self.to_arrow())

    def to_spark(self, spark: Any = None) -> Any:
        """The rows as a native Spark DataFrame over the files that are left; by default in the active session."""
        return spark_host(f"read {self.name} with Spark").read_scan(self, spark)

    def count(self) -> int:
        """How many rows match: from metadata alone where it proves the number, by reading otherwise."""
        # Zones above files know the filter, and not the keys of a join.
        proven = self._counted_by_index() if self.use_index and not self.joins else None
        if proven is not None:
            return proven if self.limit is None else min(proven, self.limit)
        whole = self._plan if self.limit is None else self._unlimited().plan()
        proven = whole.count()
        total = proven if proven is not None else self._read_count(whole)
        return total if self.limit is None else min(total, self.limit)

    def top_k(self, by: Any, k: int, *, descending: bool = True, nulls: Literal["first", "last"] = "last") -> TopRows:
        """The first k rows by a column, or by several, reading only the files whose bounds can hold one of them.

        `by` is a name or a list of names; a pair such as `("price", "asc")` overrides `descending`. Which of equal rows
        are taken is not said.
        """
        keys = sort_keys(
            by, self.schema, descending=descending, nulls=nulls, table=self.name, exact=self.case_sensitive
        )
        most = k if self.limit is None else min(k, self.limit)
        top = plan_top(self._plan_all(facts_of=[keys[0].column.field_id]), keys, most)
        return read_top(top, self.storage, wanted=self.wanted, threads=self.threads)

    def aggregate(self, *aggregates: str, group_by: Sequence[str] = ()) -> Aggregated:
        """`count(*)`, `count(c)`, `min(c)`, `max(c)` of the rows: from metadata where it is exact, else by reading.

        Files partitioned by the columns of `group_by` are grouped without reading them.
        """
        if self.limit is not None:
            raise InvalidInput(f"Cannot aggregate {self.name} with limit {self.limit}: drop the limit.")
        names: dict[str, Any] = {"table": self.name, "case_sensitive": self.case_sensitive}
        wanted = [parse_aggregate(text, self.schema, **names) for text in aggregates]
        groups = [column_named(g, self.schema, what="group by", **names) for g in group_by]
        plan = self._plan_all(facts_of=[a.column.field_id for a in wanted if a.column is not None])
        return aggregate_plan(plan, self.storage, aggregates=wanted, group_by=groups, threads=self.threads)

    def for_join(self, on: str | Sequence[str], keys: Any = None, *, between: tuple[Any, Any] | None = None) -> Scan:
        """The same scan without files, and mostly without rows, that cannot join with the keys of a build side.

        `keys` is an Arrow array or a sequence of values, or for several columns an Arrow table with a column for each;
        of one column it may be enough to know that its keys lie `between` two values. No row that joins is left out;
        rows without a partner may be there when the keys are many.
        """
        names = [on] if isinstance(on, str) else list(on)
        if (keys is None) == (between is None) or (between is not None and len(names) != 1):
            raise InvalidInput(f"Cannot join {self.name}: expected keys, or for one column what they lie between.")
        if between is not None:
            low, high = (Compare(op, Ref(names[0]), v) for op, v in zip((Op.GE, Op.LE), between, strict=True))
            return Scan(**{**self._arguments(), "filter": and_(as_predicate(self.filter), low, high)})
        columns = [
            column_named(n, self.schema, what="join on", table=self.name, case_sensitive=self.case_sensitive)
            for n in names
        ]
        found = join_keys(columns, keys, self.float_order, table=self.name)
        return Scan(**{**self._arguments(), "joins": (*self.joins, found)})

    def _counted_by_index(self) -> int | None:
        return count_by_index(
            self.metadata,
            self.storage,
            snapshot=self.snapshot,
            schema=self.schema,
            predicate=self.predicate,
            float_order=self.float_order,
        )

    def _unlimited(self) -> Scan:
        return Scan(**{**self._arguments(), "limit": None})

    def _arguments(self) -> dict[str, Any]:
        return {n: getattr(self, n) for n in self.__dataclass_fields__}

    def _read_count(self, plan: ScanPlan) -> int:
        batches = read_plan(plan, self.storage, wanted=StructType(()), threads=self.threads, limit=self.limit)
        return sum(b.num_rows for b in batches)


def _wanted_fields(
    columns: Sequence[str], schema: Schema, metadata: TableMetadata, case_sensitive: bool
) -> Iterator[Field]:
    special = {**METADATA_COLUMNS, PARTITION_NAME: partition_column(unified_type(metadata))}
    ordinary = [c for c in columns if c not in special or schema.find(c) is not None]
    for name in ordinary:
        if schema.find(name, case_sensitive=case_sensitive) is None:
            names = [*(".".join(p) for p in schema.paths_by_id.values()), *special]
            raise NotFound(f"Cannot find column {name!r}. {what_exists('Columns', name, names)}")
    selected = {f.id: f for f in schema.select(ordinary, case_sensitive=case_sensitive).fields} if ordinary else {}
    done: set[int] = set()
    for name in columns:
        if name in special and schema.find(name) is None:
            top = special[name]
        else:
            found = schema.field(name, case_sensitive=case_sensitive)
            above = [*schema.ancestors(found.id)]
            top = selected[above[-1].id if above else found.id]
        if top.id not in done:
            done.add(top.id)
            yield top


def _needs(package: str, name: str) -> Any:
    try:
        return __import__(package)
    except ImportError:
        raise Unsupported(f"Cannot hand {name} to {package}: it is not installed. Run pip install {package}.") from None
