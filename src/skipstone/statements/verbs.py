"""The verbs of the door that Spark carries out: delete, update, merge, upsert.

    table.delete("id % 100 = 0", spark=spark)
    table.update("state = 'NY'", {"n": skipstone.expr("n + 1")}, spark=spark)
    table.merge(updates, on="target.id = source.id").when_matched_update_all().when_not_matched_insert_all().execute()

They are the statements of SQL under other names: conditions and expressions are Spark's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skipstone.errors import InvalidInput
from skipstone.expressions import SqlExpression
from skipstone.metadata.types import Field
from skipstone.metadata.values import from_python
from skipstone.spark.catalogs import attached_to
from skipstone.spark.literals import literal_sql
from skipstone.spark.scan_names import quoted
from skipstone.spark.session import active, prepared
from skipstone.statements.assignments import Assignment, path_of
from skipstone.statements.merge import Action, Clause, Merge, Side, check_order
from skipstone.statements.merging import merge_rows
from skipstone.statements.names import Found, Names
from skipstone.statements.query import as_frame
from skipstone.statements.row_changes import delete_where, update_where
from skipstone.table import Table

TARGET: str = "target"
SOURCE: str = "source"


def delete_rows(table: Table, condition: str, *, branch: str, spark: Any) -> None:
    """Remove the rows that match a condition of Spark's."""
    session = _session(spark)
    delete_where(session, _names(session), _found(table, branch), TARGET, condition)


def update_rows(table: Table, condition: str, values: Mapping[str, Any], *, branch: str, spark: Any) -> None:
    """Set columns of the rows that match a condition of Spark's."""
    assignments = _assignments(table, values, "__set")
    session = _session(spark)
    update_where(session, _names(session), _found(table, branch), TARGET, condition, assignments)


def upsert_rows(table: Table, rows: Any, *, on: Sequence[str] | None, branch: str, spark: Any = None) -> None:
    """Add rows of a frame; rows of the table with the same key are updated."""
    keys = list(on) if on is not None else [table.schema.name_of(i) for i in table.schema.identifier_field_ids]
    if not keys:
        raise InvalidInput(
            f"Cannot upsert into {table.name}: the table has no identifier fields. Pass on=[...] or set them."
        )
    condition = " AND ".join(f"{TARGET}.{quoted(k)} <=> {SOURCE}.{quoted(k)}" for k in keys)
    merge = MergeBuilder(table=table, rows=rows, on=condition, branch=branch, spark=spark)
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeBuilder:
    """A merge under construction. The table is `target` and the rows are `source` in conditions and expressions."""

    table: Table
    rows: Any
    on: str
    branch: str
    spark: Any = None
    clauses: tuple[Clause, ...] = ()

    def when_matched_update(self, values: Mapping[str, Any], *, condition: str | None = None) -> MergeBuilder:
        return self._with(Side.MATCHED, Action.UPDATE, condition, values)

    def when_matched_update_all(self, *, condition: str | None = None) -> MergeBuilder:
        """Set every column from the source's of the same name."""
        return self._with(Side.MATCHED, Action.UPDATE, condition, None)

    def when_matched_delete(self, *, condition: str | None = None) -> MergeBuilder:
        return self._with(Side.MATCHED, Action.DELETE, condition, {})

    def when_not_matched_insert(self, values: Mapping[str, Any], *, condition: str | None = None) -> MergeBuilder:
        return self._with(Side.NOT_MATCHED, Action.INSERT, condition, values)

    def when_not_matched_insert_all(self, *, condition: str | None = None) -> MergeBuilder:
        """Take every column from the source's of the same name."""
        return self._with(Side.NOT_MATCHED, Action.INSERT, condition, None)

    def when_not_matched_by_source_update(
        self, values: Mapping[str, Any], *, condition: str | None = None
    ) -> MergeBuilder:
        return self._with(Side.NOT_MATCHED_BY_SOURCE, Action.UPDATE, condition, values)

    def when_not_matched_by_source_delete(self, *, condition: str | None = None) -> MergeBuilder:
        return self._with(Side.NOT_MATCHED_BY_SOURCE, Action.DELETE, condition, {})

    def execute(self) -> None:
        """Carry it out, as one commit."""
        if not self.clauses:
            raise InvalidInput(f"Cannot merge into {self.table.name}: expected at least one when_... clause, got none.")
        check_order(self.clauses)
        spark = _session(self.spark if self.spark is not None else getattr(self.rows, "sparkSession", None))
        wanted = Merge(source=SOURCE, alias=SOURCE, on=self.on, clauses=self.clauses)
        found = _found(self.table, self.branch)
        merge_rows(spark, _names(spark), found, TARGET, as_frame(spark, self.rows), wanted)

    def _with(
        self, side: Side, action: Action, condition: str | None, values: Mapping[str, Any] | None
    ) -> MergeBuilder:
        prefix = f"__set_{len(self.clauses)}"
        clause = Clause(
            side=side,
            action=action,
            condition=condition,
            values=() if values is None else tuple(_assignments(self.table, values, prefix)),
            takes_all=values is None,
        )
        return replace(self, clauses=(*self.clauses, clause))


def _assignments(table: Table, values: Mapping[str, Any], prefix: str) -> list[Assignment]:
    found = []
    for i, (name, value) in enumerate(values.items()):
        path = path_of(table.schema, tuple(name.split(".")), TARGET, table.name)
        found.append(Assignment(path=path, text=_text(path[-1], value), alias=f"{prefix}_{i}"))
    return found


def _text(field: Field, value: Any) -> str:
    if isinstance(value, SqlExpression):
        return value.text
    return "NULL" if value is None else literal_sql(field.type, from_python(field.type, value))


def _found(table: Table, branch: str) -> Found:
    return Found(table=table, ref=None if branch == "main" else branch)


def _names(session: Any) -> Names:
    """Conditions may name other tables, of the catalogs that are attached to the session."""
    return Names(attached_to(session))


def _session(spark: Any) -> Any:
    return prepared(active(spark))
