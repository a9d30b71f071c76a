"""From the names in a statement to tables.

A name is looked up in the session's catalogs: `orders` in the current namespace, `shop.orders` in the default catalog,
`archive.shop.orders` in another one. After a table's name may stand a branch (`shop.orders.branch_audit`), a tag
(`tag_eom`) or one of its inspection tables (`shop.orders.snapshots`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from skipstone.catalog.identifiers import display
from skipstone.errors import InvalidInput, NotFound, what_exists
from skipstone.inspect import Inspector
from skipstone.lake import Lake
from skipstone.spark.catalogs import Attached
from skipstone.table import Table

_BRANCH: Final = "branch_"
_TAG: Final = "tag_"
_SNAPSHOT: Final = "snapshot_id_"
INSPECTIONS: Final = frozenset(n for n in vars(Inspector) if not n.startswith("_") and callable(vars(Inspector)[n]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A table that a name means, at a point of its history, or one of its inspection tables."""

    table: Table
    ref: str | None = None
    snapshot_id: int | None = None
    inspection: str | None = None
    columns: tuple[str, ...] | None = None  # what to read of it; None for its schema's columns

    def options(self) -> dict[str, Any]:
        """What a scan is told."""
        return {k: v for k, v in (("ref", self.ref), ("snapshot_id", self.snapshot_id)) if v is not None}


@dataclass(frozen=True, slots=True)
class Names:
    """How names are looked up in one session. `bound` names mean what a statement says they mean.

    A temporary view of the session, which `is_view` tells, comes before a table of the current namespace.
    """

    attached: Attached
    bound: Mapping[str, Found] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)
    is_view: Callable[[str], bool] = lambda name: False

    def with_target(self, name: str, found: Found, columns: tuple[str, ...]) -> Names:
        """The same names and one for the table that a statement changes, with metadata columns."""
        return replace(self, bound={**self.bound, name: replace(found, columns=columns)})

    def with_frame(self, name: str, frame: Any) -> Names:
        """The same names and one for a DataFrame."""
        return replace(self, frames={**self.frames, name: frame})

    def place(self, parts: tuple[str, ...]) -> tuple[Lake, tuple[str, ...]]:
        """The catalog and the identifier that a table's name means, whether or not the table is there."""
        if len(parts) > 2 and parts[0] in self.attached.lakes:
            return self.attached.lake(parts[0]), parts[1:]
        full = parts if len(parts) > 1 else (*self.attached.namespace, *parts)
        if len(full) < 2:
            raise InvalidInput(
                f"Invalid table name {display(parts)!r}: expected namespace.table, got no namespace. "
                "Name it, or set one with USE."
            )
        return self.attached.lake(), full

    def namespace(self, parts: tuple[str, ...]) -> tuple[Lake, tuple[str, ...]]:
        """The catalog and the namespace that a name means."""
        if len(parts) > 1 and parts[0] in self.attached.lakes:
            return self.attached.lake(parts[0]), parts[1:]
        return self.attached.lake(), parts

    def find(self, parts: tuple[str, ...]) -> Found | None:
        """The table that a name in a query means; None if it is none of ours."""
        if len(parts) == 1 and parts[0] in self.bound:
            return self.bound[parts[0]]
        if not self.attached.lakes:
            return None
        if len(parts) == 1 and (not self.attached.namespace or self.is_view(parts[0])):
            return None
        lake, identifier = self.place(parts)
        table = _load(lake, identifier)
        if table is not None:
            return Found(table=table)
        if len(identifier) < 3:
            return None
        table = _load(lake, identifier[:-1])
        return None if table is None else _inside(table, identifier[-1])

    def table(self, parts: tuple[str, ...]) -> Table:
        """The table that a statement changes or describes; NotFound if there is none."""
        lake, identifier = self.place(parts)
        return lake.load_table(identifier)

    def changed(self, parts: tuple[str, ...]) -> Found:
        """The table, and the branch if one is named, that a statement changes."""
        found = self.find(parts)
        if found is None:
            lake, identifier = self.place(parts)
            return Found(table=lake.load_table(identifier))
        if found.inspection is not None or found.snapshot_id is not None:
            raise InvalidInput(f"Cannot change {display(parts)}: expected a table or a branch of it.")
        return found


def _load(lake: Lake, identifier: tuple[str, ...]) -> Table | None:
    try:
        return lake.load_table(identifier)
    except NotFound:
        if lake.table_exists(identifier):
            raise  # it is there, but something it needs is not
        return None


def _inside(table: Table, word: str) -> Found:
    for prefix in (_BRANCH, _TAG):
        if word.startswith(prefix):
            name = word.removeprefix(prefix)
            table.metadata.ref(name)
            return Found(table=table, ref=name)
    if word.startswith(_SNAPSHOT) and word.removeprefix(_SNAPSHOT).isdigit():
        return Found(table=table, snapshot_id=int(word.removeprefix(_SNAPSHOT)))
    if word.lower() in INSPECTIONS:
        return Found(table=table, inspection=word.lower())
    raise NotFound(
        f"Cannot find {word!r} in table {table.name}: expected {_BRANCH}<name>, {_TAG}<name> or an inspection table. "
        f"{what_exists('Inspection tables', word, sorted(INSPECTIONS))}"
    )
