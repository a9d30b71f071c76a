"""What can be done to a table, alone or as part of a transaction.

`Table` commits each change at once; `TableTransaction` collects them. Both inherit the verbs from here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import pyarrow

from skipstone.commit import (
    Append,
    Change,
    RemoveRef,
    ReplacePartitions,
    SetRef,
    UpdateProperties,
    UpdateSchema,
    UpdateSortOrder,
    UpdateSpec,
    UpgradeFormat,
)
from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.evolution import SchemaUpdate
from skipstone.metadata.partition_evolution import PartitionSpecUpdate
from skipstone.metadata.refs import MAIN, RefType, SnapshotRef
from skipstone.metadata.sorting import build_sort_order
from skipstone.metadata.table_metadata import TableMetadata
from skipstone.metadata.user_schema import schema_of
from skipstone.predicate import FloatOrder, Predicate, as_predicate, bind
from skipstone.row_level import RowLevel
from skipstone.rows_in import as_reader
from skipstone.storage.protocol import Storage
from skipstone.upsert import upsert_change
from skipstone.write import write_rows

pa: Any = pyarrow


class Writes:
    """The verbs that change a table."""

    name: str

    @property
    def metadata(self) -> TableMetadata:
        raise NotImplementedError

    @property
    def storage(self) -> Storage:
        raise NotImplementedError

    def _apply(self, change: Change) -> None:
        raise NotImplementedError

    # -- rows

    def append(
        self, rows: Any, *, branch: str = MAIN, merge_schema: bool = False, summary: Mapping[str, str] | None = None
    ) -> None:
        """Add rows: an Arrow table, batch or reader, a pandas or Polars frame, or a list of dicts."""
        files = self._write(rows, merge_schema=merge_schema)
        self._apply(Append(files=files, ref=branch, summary=summary or {}))

    def overwrite(
        self,
        rows: Any,
        *,
        filter: Any = None,
        mode: Literal["filter", "dynamic"] = "filter",
        branch: str = MAIN,
        merge_schema: bool = False,
    ) -> None:
        """Replace rows: those that match a filter (all by default), or whole partitions that the new rows touch."""
        files = self._write(rows, merge_schema=merge_schema)
        if mode == "dynamic":
            if filter is not None:
                raise InvalidInput(f"Cannot overwrite {self.name}: expected a filter or mode='dynamic', got both.")
            self._apply(ReplacePartitions(files=files, ref=branch))
            return
        self._apply(self._rows(branch).overwrite(self._bound(filter), files))

    def delete(self, filter: Any, *, branch: str = MAIN) -> None:
        """Remove the rows that match a filter."""
        self._apply_if(self._rows(branch).delete(self._bound(filter)))

    def update(self, filter: Any, values: Mapping[str, Any], *, branch: str = MAIN) -> None:
        """Set columns of the rows that match a filter."""
        self._apply_if(self._rows(branch).update(self._bound(filter), values))

    def upsert(self, rows: Any, *, on: Sequence[str] | None = None, branch: str = MAIN) -> None:
        """Add rows; rows of the table with the same key go. The key is `on`, or the table's identifier fields."""
        table = as_reader(rows, self.metadata.current_schema, what=self.name).read_all()
        self._apply_if(upsert_change(self._rows(branch), table, on=on, name=self.name))

    def add_files(self, files: Any, *, branch: str = MAIN) -> None:
        """Add files that were written before, as `write_rows` describes them."""
        self._apply(Append(files=files, ref=branch))

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

    # -- refs

    def create_branch(
        self,
        name: str,
        snapshot_id: int | None = None,
        *,
        min_snapshots_to_keep: int | None = None,
        max_snapshot_age_ms: int | None = None,
        max_ref_age_ms: int | None = None,
    ) -> None:
        """A branch at a snapshot, the current one by default."""
        ref = SnapshotRef(
            snapshot_id=self._snapshot_id(snapshot_id),
            type=RefType.BRANCH,
            min_snapshots_to_keep=min_snapshots_to_keep,
            max_snapshot_age_ms=max_snapshot_age_ms,
            max_ref_age_ms=max_ref_age_ms,
        )
        self._apply(SetRef(name=name, ref=ref, is_new=True))

    def create_tag(self, name: str, snapshot_id: int | None = None, *, max_ref_age_ms: int | None = None) -> None:
        """A tag on a snapshot, the current one by default."""
        ref = SnapshotRef(snapshot_id=self._snapshot_id(snapshot_id), type=RefType.TAG, max_ref_age_ms=max_ref_age_ms)
        self._apply(SetRef(name=name, ref=ref, is_new=True))

    def drop_ref(self, name: str) -> None:
        self._apply(RemoveRef(name=name))

    # -- help

    def _rows(self, branch: str) -> RowLevel:
        return RowLevel(metadata=self.metadata, storage=self.storage, ref=branch)

    def _bound(self, filter_: Any) -> Predicate:
        return bind(as_predicate(filter_), self.metadata.current_schema, table=self.name, float_order=FloatOrder.IEEE)

    def _apply_if(self, change: Change | None) -> None:
        if change is not None:
            self._apply(change)

    def _write(self, rows: Any, *, merge_schema: bool) -> Any:
        reader = as_reader(rows, self.metadata.current_schema, what=self.name, new_columns=merge_schema)
        if merge_schema:
            wider = schema_of(reader.schema, format_version=self.metadata.format_version)
            with self.update_schema() as update:
                update.union_by_name(wider)
        return write_rows(reader, metadata=self.metadata, storage=self.storage)

    def _snapshot_id(self, given: int | None) -> int:
        if given is not None:
            return self.metadata.snapshot(given).snapshot_id
        current = self.metadata.current_snapshot_id
        if current is None:
            raise NotFound(f"Cannot refer to the current snapshot of {self.name}: the table has none. Append first.")
        return current


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
