"""Changes of a schema: add, delete, rename, reorder, promote, set defaults and identifier fields.

Laws: a column keeps its id for life and a new column gets an id no column ever had; whatever would change what
existing rows say, or leave them without a value, is refused with the reason. Columns are named as in the schema before
the update; new and renamed ones also by their new names where no old column has that name.

Spec: "Schema Evolution", "Default values", "Identifier Field IDs".
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from skipstone.errors import FormatViolation, InvalidInput, NotFound, SkipstoneError, what_exists
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.partitions.sorting import SortOrder
from skipstone.metadata.reserved import FIELD_ID_MAX
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.defaults import check_field_defaults, default_of
from skipstone.metadata.schemas.evolution_rules import (
    check_free_name,
    check_name,
    check_not_in_map_key,
    check_not_needed,
    check_sibling_names,
    check_struct_field,
    is_identical,
    spec_by_id,
)
from skipstone.metadata.schemas.fresh_ids import assign_fresh_ids
from skipstone.metadata.schemas.promotion import (
    allowed_promotions,
    partition_refusal,
    promote_value,
    promotion_refusal,
)
from skipstone.metadata.schemas.schema_merge import merge_by_name
from skipstone.metadata.schemas.schema_tree import (
    Node,
    Path,
    PathIndex,
    dotted,
    field_of,
    node_of,
    position,
    quoted,
    tree_of,
)
from skipstone.metadata.schemas.user_schema import parse_type
from skipstone.metadata.types import Field, ListType, MapType, StructType, Type, Value, children, walk


class _Keep(Enum):
    KEEP = "keep"


KEEP: Final = _Keep.KEEP


class SchemaUpdate:
    """Changes to one schema, collected by calls that can be chained; `apply` gives the schema they lead to.

    A refused call leaves the update as it was.

    `schemas` are all schemas of the table: their highest id, and an equal one to reuse. `specs` are all its partition
    specs, of which `default_spec_id` (the last one if not given) is the one new files are written with.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        last_column_id: int | None = None,
        format_version: int = 2,
        schemas: Iterable[Schema] = (),
        specs: Sequence[PartitionSpec] = (),
        default_spec_id: int | None = None,
        sort_order: SortOrder | None = None,
        allow_incompatible: bool = False,
        case_sensitive: bool = True,
    ) -> None:
        self._schema = schema
        self._schemas = (*schemas,)
        self._format_version = format_version
        self._specs = (*specs,)
        self._default_spec = spec_by_id(self._specs, default_spec_id)
        self._sort_order = sort_order
        self._allow_incompatible = allow_incompatible
        self._case_sensitive = case_sensitive
        known = (schema, *self._schemas)
        self._last_column_id = max(last_column_id or 0, *(s.highest_field_id for s in known))
        self._root = tree_of(schema.struct)
        self._old_names = PathIndex(self._root, case_sensitive=case_sensitive)
        self._new_names: PathIndex | None = None  # made when first needed after a change
        self._deleted: set[int] = set()
        self._added: set[int] = set()
        self._changed: set[int] = set()
        self._identifiers: list[Path] | None = None

    @property
    def last_column_id(self) -> int:
        """The highest id given out so far: the table's new `last-column-id`."""
        return self._last_column_id

    def add_column(
        self,
        path: Path,
        type: Type | str,
        *,
        doc: str | None = None,
        required: bool = False,
        default: Value = None,
        first: bool = False,
        before: Path | None = None,
        after: Path | None = None,
    ) -> SchemaUpdate:
        """A new column, last in its struct unless placed. The default is for old rows and for later writes.

        The type may be a text, such as `list<string>`.
        """
        parent, name = self._new_place(path)
        full_path = (*parent.path(), name) if parent.parent is not None else (name,)
        label = quoted(full_path)
        check_free_name(parent, name, label, case_sensitive=self._case_sensitive)
        self._check_default_version(default, label)
        named = parse_type(type) if isinstance(type, str) else type
        numbered = Field(id=0, name=name, type=named, required=required, doc=doc)
        column = assign_fresh_ids(StructType((numbered,)), start=self._last_column_id + 1).fields[0]
        value = default_of(column.type, default, where=f"column {label}")
        column = replace(column, initial_default=value, write_default=value)
        check_field_defaults(column, where=dotted(full_path), default_needed=required and not self._allow_incompatible)
        for below in walk(column.type):
            self._check_default_version(below.initial_default, label)
            self._check_default_version(below.write_default, label)
        node = node_of(column, parent)
        place = self._place_of(node, first=first, before=before, after=after)
        self._take_ids(column, label)
        parent.children.append(node)
        _put(node, place)
        self._added.update((node.id, *(n.id for n in node.walk())))
        if self._new_names is not None:
            self._new_names.insert(node)
        return self

    def delete_column(self, path: Path) -> SchemaUpdate:
        """Remove a column with everything below it. Its id is never used again."""
        node = self._changeable(path, "delete")
        check_struct_field(node, "delete")
        if node.id in self._added:
            raise InvalidInput(f"Cannot delete column {node}: it was added in the same update. Leave out the addition.")
        for n in (node, *node.walk()):
            if n.id in self._changed or n.id in self._added:
                raise InvalidInput(
                    f"Cannot delete column {node}: {n} was changed in the same update. Leave out the change."
                )
            check_not_needed(n, node, spec=self._default_spec, sort_order=self._sort_order)
        self._siblings(node).remove(node)
        self._deleted.update((node.id, *(n.id for n in node.walk())))
        self._new_names = None
        return self

    def rename_column(self, path: Path, new_name: str) -> SchemaUpdate:
        """Give a column another name; `new_name` is the last part only. Names may be swapped in one update."""
        node = self._changeable(path, "rename")
        check_struct_field(node, "rename")
        check_name(new_name, f"column {node}")
        node.name = new_name
        self._new_names = None
        self._changed.add(node.id)
        return self

    def update_column(
        self,
        path: Path,
        type: Type | str | None = None,
        *,
        doc: str | _Keep | None = KEEP,
        required: bool | None = None,
    ) -> SchemaUpdate:
        """Promote a column's type, change its documentation, or whether it must have a value."""
        node = self._changeable(path, "change")
        if doc is not KEEP:
            check_struct_field(node, "document")
        if required and not node.required:
            self._check_can_be_required(node)
        wanted = parse_type(type) if isinstance(type, str) else type
        if wanted is not None and wanted != _current_type(node):
            self._promote(node, wanted)
        if doc is not KEEP and doc != node.doc:
            node.doc = doc
            self._changed.add(node.id)
        if required is not None and required != node.required:
            node.required = required
            self._changed.add(node.id)
        return self

    def make_column_optional(self, path: Path) -> SchemaUpdate:
        return self.update_column(path, required=False)

    def require_column(self, path: Path) -> SchemaUpdate:
        return self.update_column(path, required=True)

    def set_default(self, path: Path, value: Value) -> SchemaUpdate:
        """Set the write-default. Rows that exist keep the value the initial-default gave them."""
        node = self._changeable(path, "set the default of")
        check_struct_field(node, "set the default of")
        self._check_default_version(value, str(node))
        default = default_of(_current_type(node), value, where=f"column {node}")
        check_field_defaults(replace(field_of(node), write_default=default), where=dotted(node.path()))
        node.write_default = default
        self._changed.add(node.id)
        return self

    def move_first(self, path: Path) -> SchemaUpdate:
        return self._move(self._movable(path), first=True)

    def move_before(self, path: Path, other: Path) -> SchemaUpdate:
        return self._move(self._movable(path), before=other)

    def move_after(self, path: Path, other: Path) -> SchemaUpdate:
        return self._move(self._movable(path), after=other)

    def set_identifier_fields(self, paths: Iterable[Path]) -> SchemaUpdate:
        """The columns that identify a row, all of them; they may be new ones."""
        self._identifiers = list(paths)
        return self

    def union_by_name(self, schema: Schema) -> SchemaUpdate:
        """Take in another schema by its names: missing columns are added, wider types and weaker rules taken over."""
        before = copy.deepcopy(self.__dict__)
        try:
            merge_by_name(self, schema.struct, format_version=self._format_version)
        except SkipstoneError:
            self.__dict__.update(before)
            raise
        return self

    def find(self, path: Path) -> Field | None:
        """The column as it stands after the changes so far."""
        node = self._find(path)
        return None if node is None else field_of(node)

    def apply(self) -> Schema:
        """The new schema. Its id is that of an equal schema of the table if there is one, else the next free one."""
        check_sibling_names(self._root, case_sensitive=self._case_sensitive)
        identifiers = self._identifier_ids()
        fields = tuple(field_of(n) for n in self._root.children)
        try:
            schema = Schema(fields=fields, identifier_field_ids=identifiers)
        except FormatViolation as e:
            raise InvalidInput(f"Cannot apply the schema update: {e}") from e
        schema.check_format_version(self._format_version)
        if not is_identical(schema, self._schema):
            schema.check_full_names()
        known = (self._schema, *self._schemas)
        for other in known:
            if is_identical(schema, other):
                return schema.with_id(other.schema_id)
        return schema.with_id(max(s.schema_id for s in known) + 1)

    # -- finding columns

    def _find(self, path: Path) -> Node | None:
        old = self._old_names.find(path, among=lambda n: n.id not in self._deleted)
        if old is not None:
            return old
        if self._new_names is None:
            self._new_names = PathIndex(self._root, case_sensitive=self._case_sensitive)
        return self._new_names.find(path)

    def _node(self, path: Path, verb: str) -> Node:
        node = self._find(path)
        if node is not None:
            return node
        if self._old_names.find(path) is not None:
            raise InvalidInput(f"Cannot {verb} column {quoted(path)}: it is deleted in the same update.")
        names = [".".join(n.path()) for n in self._root.walk()]
        raise NotFound(
            f"Cannot {verb} column {quoted(path)}: not found in schema {self._schema.schema_id}. "
            + what_exists("Columns", dotted(path), names)
        )

    def _changeable(self, path: Path, verb: str) -> Node:
        node = self._node(path, verb)
        check_not_in_map_key(node, verb)
        return node

    def _movable(self, path: Path) -> Node:
        node = self._changeable(path, "move")
        check_struct_field(node, "move")
        return node

    def _new_place(self, path: Path) -> tuple[Node, str]:
        """The struct a new column goes into, and its name. Lists and maps stand for their structs."""
        if isinstance(path, str):
            above, _, name = path.rpartition(".")
            parent_path: Path = above
        else:
            *names, name = path or ("",)
            parent_path = tuple(names)
        check_name(name, f"new column {quoted(path)}")
        if not parent_path:
            return self._root, name
        parent = self._node(parent_path, f"add {quoted(path)} to")
        while isinstance(parent.type, ListType | MapType):
            parent = parent.children[-1]
        if not parent.is_struct:
            raise InvalidInput(
                f"Cannot add column {quoted(path)}: expected a struct above it, got {parent} of type {parent.type}. "
                f"A name with a dot in it is passed as a tuple."
            )
        check_not_in_map_key(parent, "add to")
        return parent, name

    # -- changing them

    def _promote(self, node: Node, target: Type) -> None:
        source = _current_type(node)
        what = f"Cannot change column {node} (id {node.id}) from {source} to {target}"
        if (reason := promotion_refusal(source, target, self._format_version)) is not None:
            allowed = allowed_promotions(source, self._format_version)
            raise InvalidInput(f"{what}: expected {allowed}; {reason}. Add a new column instead.")
        if (reason := partition_refusal(node.id, source, target, self._specs)) is not None:
            raise InvalidInput(f"{what}: {reason}. Add a new column instead.")
        initial = promote_value(source, target, node.initial_default)
        write = promote_value(source, target, node.write_default)
        if target.is_nested:
            below = assign_fresh_ids(StructType((Field(id=0, name="", type=target),)), start=self._last_column_id)
            target = below.fields[0].type
        changed = replace(field_of(node), type=target, initial_default=initial, write_default=write)
        check_field_defaults(changed, where=dotted(node.path()))
        self._take_ids(replace(changed, id=0), str(node))
        node.type, node.initial_default, node.write_default = target, initial, write
        node.children = [node_of(child, node) for child in children(target)]
        self._new_names = None
        self._added.update(n.id for n in node.walk())
        self._changed.add(node.id)

    def _check_can_be_required(self, node: Node) -> None:
        is_new_with_default = node.id in self._added and node.initial_default is not None
        if not (is_new_with_default or self._allow_incompatible):
            raise InvalidInput(
                f"Cannot make column {node} (id {node.id}) required: rows that exist may hold nulls. "
                f"Allow incompatible changes if they do not."
            )
        check_field_defaults(replace(field_of(node), required=True), where=dotted(node.path()))

    def _move(
        self, node: Node, *, first: bool = False, before: Path | None = None, after: Path | None = None
    ) -> SchemaUpdate:
        _put(node, self._place_of(node, first=first, before=before, after=after))
        return self

    def _place_of(self, node: Node, *, first: bool, before: Path | None, after: Path | None) -> _Place | None:
        if first + (before is not None) + (after is not None) > 1:
            raise InvalidInput(f"Cannot place column {node}: expected one of first, before and after, got several.")
        if first:
            return _Place(neighbour=None, offset=0)
        if before is not None:
            return _Place(neighbour=self._sibling(node, before), offset=0)
        if after is not None:
            return _Place(neighbour=self._sibling(node, after), offset=1)
        return None

    def _sibling(self, node: Node, path: Path) -> Node:
        other = self._find(path)
        if other is None:
            name = path if isinstance(path, str) else path[-1]
            other = next((n for n in self._siblings(node) if n.name == name), None) or self._node(path, "move next to")
        if other is node:
            raise InvalidInput(f"Cannot move column {node} next to itself.")
        if other.parent is not node.parent:
            raise InvalidInput(
                f"Cannot move column {node} next to {other}: expected a column of the same struct. "
                f"Columns cannot move between structs."
            )
        return other

    def _take_ids(self, column: Field, label: str) -> None:
        highest = max(column.id, *(f.id for f in walk(column.type)), 0)
        if highest > FIELD_ID_MAX:
            raise InvalidInput(f"Cannot add column {label}: expected ids up to {FIELD_ID_MAX}, got {highest}.")
        self._last_column_id = max(self._last_column_id, highest)

    # -- refusing what is not allowed

    def _siblings(self, node: Node) -> list[Node]:
        return node.parent.children if node.parent is not None else self._root.children

    def _check_default_version(self, value: Value, label: str) -> None:
        if value is not None and self._format_version < 3:
            raise InvalidInput(
                f"Cannot set a default for column {label}: defaults need table format v3, the table is "
                f"v{self._format_version}. Upgrade the table."
            )

    def _identifier_ids(self) -> tuple[int, ...]:
        if self._identifiers is not None:
            return tuple(self._node(p, "identify rows by").id for p in self._identifiers)
        for field_id in self._schema.identifier_field_ids:
            if field_id in self._deleted:
                raise InvalidInput(
                    f"Cannot delete identifier column '{self._schema.name_of(field_id)}' (id {field_id}), or a column "
                    f"above it. Set the identifier fields without it in the same update."
                )
        return self._schema.identifier_field_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Next to a neighbour, or first in the struct without one."""

    neighbour: Node | None
    offset: int


def _put(node: Node, place: _Place | None) -> None:
    """Move a node among its siblings; without a place it stays."""
    if place is None or node.parent is None:
        return
    siblings = node.parent.children
    siblings.remove(node)
    at = 0 if place.neighbour is None else position(siblings, place.neighbour)
    siblings.insert(at + place.offset, node)


def _current_type(node: Node) -> Type:
    return field_of(node).type
