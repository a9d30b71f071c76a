"""What can be done to a table, alone or as part of a transaction.

`Table` commits each change at once; `TableTransaction` collects them. Both inherit the verbs from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import pyarrow

from skipstone.commit import (
    Append,
    Change,
    ReplacePartitions,
    UpdateProperties,
    UpdateSchema,
    UpdateSortOrder,
    UpdateSpec,
    UpgradeFormat,
)
from skipstone.errors import InvalidInput
from skipstone.hosts import is_spark_frame, spark_host, statements_host
from skipstone.metadata.partitions.partition_evolution import PartitionSpecUpdate
from skipstone.metadata.partitions.sorting import build_sort_order
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.evolution import SchemaUpdate
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.metadata.tables.properties import UPSERT_MODE, property_value
from skipstone.metadata.tables.refs import MAIN
from skipstone.predicate import FloatOrder, Predicate, as_predicate, bind
from skipstone.row_level import RowLevel
from skipstone.rows_in import as_reader
from skipstone.storage.protocol import Storage
from skipstone.timeline import Timeline
from skipstone.upsert import upsert_change, upsert_keys
from skipstone.write import write_rows

pa: Any = pyarrow


class Writes(Timeline):
    """The verbs that change a table."""

    @property
    def storage(self) -> Storage:
        raise NotImplementedError

    # -- rows

    def append(
        self,
        rows: Any,
        *,
        branch: str = MAIN,
        merge_schema: bool = False,
        summary: Mapping[str, str] | None = None,
        wap_id: str | None = None,
    ) -> None:
        """Add rows: an Arrow table, batch or reader, a pandas or Polars frame, a list of dicts or a Spark DataFrame.

        With a `wap_id` the rows are staged: readers see them once they are published under this id.
        """
        files, written_with = self._write(rows, merge_schema=merge_schema)
        self._apply(Append(files=files, ref=branch, summary=summary or {}, wap_id=wap_id, written_with=written_with))

    def overwrite(
        self,
        rows: Any,
        *,
        filter: Any = None,
        mode: Literal["filter", "dynamic"] = "filter",
        branch: str = MAIN,
        merge_schema: bool = False,
        wap_id: str | None = None,
    ) -> None:
        """Replace rows: those that match a filter (all by default), or whole partitions that the new rows touch.

        With a `wap_id` the change is staged, to be published later. Others' commits then matter: whole partitions can
        be published while nobody has changed them, a filter only while the table is the same.
        """
        files, written_with = self._write(rows, merge_schema=merge_schema)
        if mode == "dynamic":
            if filter is not None:
                raise InvalidInput(f"Cannot overwrite {self.name}: expected a filter or mode='dynamic', got both.")
            self._apply(ReplacePartitions(files=files, ref=branch, wap_id=wap_id, written_with=written_with))
            return
        change: Any = self._rows(branch).overwrite(self._bound(filter), files)
        self._apply(replace(change, wap_id=wap_id, written_with=written_with))

    def delete(self, filter: Any, *, branch: str = MAIN, spark: Any = None) -> None:
        """Remove the rows that match a filter. With a Spark session it may be any condition that Spark knows."""
        self._check_given(filter, "delete from")
        if spark is not None:
            self._statements("delete").delete_rows(self, _condition(filter), branch=branch, spark=spark)
            return
        self._apply_if(self._rows(branch).delete(self._bound(filter)))

    def update(self, filter: Any, values: Mapping[str, Any], *, branch: str = MAIN, spark: Any = None) -> None:
        """Set columns of the rows that match a filter. With a Spark session a value may be `expr("n + 1")`."""
        self._check_given(filter, "update")
        if spark is not None:
            self._statements("update").update_rows(self, _condition(filter), values, branch=branch, spark=spark)
            return
        self._apply_if(self._rows(branch).update(self._bound(filter), values))

    def upsert(
        self, rows: Any, *, on: Sequence[str] | None = None, order_by: str | None = None, branch: str = MAIN
    ) -> None:
        """Add rows; rows of the table with the same key go. The key is `on`, or the table's identifier fields.

        Of several rows with one key the last in the order of the column `order_by` is taken; without it they are an
        error. With `write.upsert.mode` equality-delete the table is not read: readers find out what is gone.
        """
        if is_spark_frame(rows):
            self._upsert_spark(rows, on, order_by, branch)
            return
        table = as_reader(rows, self.metadata.current_schema, what=self.name).read_all()
        self._apply_if(upsert_change(self._rows(branch), table, on=on, order_by=order_by, name=self.name))

    def merge(self, rows: Any, *, on: str, branch: str = MAIN, spark: Any = None) -> Any:
        """Merge rows by a condition.

        `table.merge(df, on="target.id = source.id").when_matched_update_all().when_not_matched_insert_all().execute()`
        """
        host = self._statements("merge")
        return host.MergeBuilder(table=self, rows=rows, on=on, branch=branch, spark=spark)

    def add_files(self, files: Any, *, branch: str = MAIN, check_duplicate_files: bool = True) -> None:
        """Add files that were written before, as `write_rows` describes them.

        A file that is in the table already is refused; the check reads the paths of all its files.
        """
        self._apply(Append(files=files, ref=branch, refuses_known=check_duplicate_files))

    def apply(self, change: Change) -> None:
        """Make a change that was computed elsewhere, by a Spark job for example."""
        self._apply(change)

    # -- structure

    @contextmanager
    def update_schema(self, *, allow_incompatible: bool = False) -> Iterator[SchemaUpdate]:
        """`with table.update_schema() as schema: schema.add_column("x", "int")`."""
        recorder: Any = _Recorder()
        yield recorder
        self._apply(UpdateSchema(change=recorder.replay, allow_incompatible=allow_incompatible))

    @contextmanager
    def update_spec(self) -> Iterator[PartitionSpecUpdate]:
        """`with table.update_spec() as spec: spec.add_term("day(ts)")`."""
        recorder: Any = _Recorder()
        yield recorder
        self._apply(UpdateSpec(change=recorder.replay))

    def sort_by(self, *terms: str) -> None:
        """Set the order new files are sorted in; none for unsorted."""
        self._apply(UpdateSortOrder(build=lambda schema: build_sort_order(schema, terms)))

    def set_properties(self, properties: Mapping[str, str] | None = None, **named: str) -> None:
        self._apply(UpdateProperties(updates={**(properties or {}), **named}))

    def remove_properties(self, *keys: str) -> None:
        self._apply(UpdateProperties(removals=keys))

    def upgrade(self, format_version: int) -> None:
        """Make this a table of a later version of the format. There is no way back."""
        self._apply(UpgradeFormat(format_version=format_version))

    # -- help

    def _statements(self, verb: str) -> Any:
        return statements_host(f"{verb} rows of {self.name} with Spark")

    def _rows(self, branch: str) -> RowLevel:
        return RowLevel(metadata=self.metadata, storage=self.storage, ref=branch)

    def _bound(self, filter_: Any) -> Predicate:
        return bind(as_predicate(filter_), self.metadata.current_schema, table=self.name, float_order=FloatOrder.IEEE)

    def _check_given(self, filter_: Any, verb: str) -> None:
        # A filter that somebody forgot to fill in must not stand for every row.
        if filter_ is None:
            raise InvalidInput(
                f"Cannot {verb} {self.name}: expected a filter, got None. Pass 'true' to mean every row."
            )

    def _apply_if(self, change: Change | None) -> None:
        if change is not None:
            self._apply(change)

    def _upsert_spark(self, frame: Any, on: Sequence[str] | None, order_by: str | None, branch: str) -> None:
        host = spark_host(f"upsert a Spark DataFrame into {self.name}")
        keys = upsert_keys(self.metadata.current_schema, on, self.name)
        frame = frame if order_by is None else host.last_of_each_key(frame, keys, order_by, name=self.name)
        if property_value(self.metadata.properties, UPSERT_MODE) == "equality-delete":
            self._apply_if(
                host.upsert_frame_by_value(
                    frame, keys, metadata=self.metadata, storage=self.storage, ref=branch, name=self.name
                )
            )
        else:
            self._statements("upsert").upsert_rows(self, frame, on=on, branch=branch)

    def _write(self, rows: Any, *, merge_schema: bool) -> tuple[Any, Schema]:
        """The new files, and the schema they were written with."""
        if is_spark_frame(rows):
            return self._write_spark(rows, merge_schema=merge_schema)
        reader = as_reader(rows, self.metadata.current_schema, what=self.name, new_columns=merge_schema)
        if merge_schema:
            wider = schema_of(reader.schema, format_version=self.metadata.format_version)
            with self.update_schema() as update:
                update.union_by_name(wider)
        metadata = self.metadata
        return write_rows(reader, metadata=metadata, storage=self.storage), metadata.current_schema

    def _write_spark(self, frame: Any, *, merge_schema: bool) -> tuple[Any, Schema]:
        host = spark_host(f"write a Spark DataFrame to {self.name}")
        if merge_schema:
            now = self.metadata
            wider = host.schema_to_merge(frame, now.current_schema, format_version=now.format_version)
            with self.update_schema() as update:
                update.union_by_name(wider)
        metadata = self.metadata
        files = host.write_frame(frame, metadata=metadata, storage=self.storage, name=self.name)
        return files, metadata.current_schema


def _condition(filter_: Any) -> str:
    """A filter as text for Spark."""
    if isinstance(filter_, str):
        return filter_
    return "true" if filter_ is None or filter_ is True else str(as_predicate(filter_))


class _Recorder:
    """Takes down calls, to make them on an update that is built anew in each attempt to commit."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def record(*args: Any, **kwargs: Any) -> _Recorder:
            self._calls.append((name, args, kwargs))
            return self

        return record

    def replay(self, update: Any) -> None:
        for name, args, kwargs in self._calls:
            method = getattr(update, name, None)
            if method is None:
                known = [n for n in dir(update) if not n.startswith("_")]
                raise InvalidInput(f"Cannot update with {name!r}: expected one of {', '.join(known)}.")
            method(*args, **kwargs)
