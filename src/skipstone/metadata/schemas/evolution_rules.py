"""What a schema update must not do to a column, whatever the change: one check per rule.

Spec: "Schema Evolution", "Partition Evolution".
"""

from __future__ import annotations

from collections.abc import Sequence

from skipstone.errors import InvalidInput, NotFound, what_exists
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import SortOrder
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_tree import Node
from skipstone.metadata.types import ListType, MapType


def check_name(name: str, label: str) -> None:
    if not name:
        raise InvalidInput(f"Invalid name for {label}: expected at least one character, got none.")


def check_free_name(parent: Node, name: str, label: str, *, case_sensitive: bool) -> None:
    """No column that stays in the struct has the name of a new one."""
    for sibling in parent.children:
        if sibling.name == name or (not case_sensitive and sibling.name.lower() == name.lower()):
            raise InvalidInput(
                f"Cannot add column {label}: the name is taken by {sibling} (id {sibling.id}). Choose another name."
            )


def check_sibling_names(root: Node, *, case_sensitive: bool) -> None:
    """After all changes, names are unique in every struct."""
    for parent in (root, *root.walk()):
        seen: dict[str, Node] = {}
        for n in parent.children:
            other = seen.setdefault(n.name if case_sensitive else n.name.lower(), n)
            if other is not n:
                raise InvalidInput(
                    f"Cannot name two columns {n}: ids {other.id} and {n.id} would share the name. Choose another name."
                )


def check_struct_field(node: Node, verb: str) -> None:
    """List elements, map keys and map values have no name, place, default or life of their own."""
    parent = node.parent
    if parent is not None and not parent.is_struct:
        kind = "list" if isinstance(parent.type, ListType) else "map"
        raise InvalidInput(f"Cannot {verb} column {node}: the {node.name} of a {kind} is no struct field.")


def check_not_in_map_key(node: Node, verb: str) -> None:
    """A changed key could make two entries of one map equal."""
    for n in (node, *node.ancestors()):
        if n.parent is not None and isinstance(n.parent.type, MapType) and n is n.parent.children[0]:
            raise InvalidInput(
                f"Cannot {verb} column {node}: it is, or is part of, the key of map {n.parent}. Map keys cannot change."
            )


def check_not_needed(node: Node, deleted: Node, *, spec: PartitionSpec | None, sort_order: SortOrder | None) -> None:
    """The current spec and sort order must stay usable for the next write."""
    for f in spec.fields if spec is not None else ():
        if node.id in f.source_ids and str(f.transform).lower() != "void":
            raise InvalidInput(
                f"Cannot delete column {deleted}: partition field '{f.name}' of the current spec is derived from "
                f"{node}. Remove it from the spec first."
            )
    for s in sort_order.fields if sort_order is not None else ():
        if node.id in s.source_ids:
            raise InvalidInput(
                f"Cannot delete column {deleted}: the current sort order sorts by {node}. Replace the order first."
            )


def spec_by_id(specs: Sequence[PartitionSpec], spec_id: int | None) -> PartitionSpec | None:
    """The spec with this id; the last one when no id is given."""
    if spec_id is None:
        return specs[-1] if specs else None
    for spec in specs:
        if spec.spec_id == spec_id:
            return spec
    ids = [str(s.spec_id) for s in specs]
    raise NotFound(f"Cannot find partition spec {spec_id}. " + what_exists("Specs", str(spec_id), ids))


def is_identical(a: Schema, b: Schema) -> bool:
    """Equal in every bit: `==` alone would take a default of 0.0 for -0.0."""
    return a.same_as(b) and repr(a.fields) == repr(b.fields)
