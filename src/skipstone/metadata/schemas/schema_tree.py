"""A schema as a tree that can be changed: the working copy of an update.

Laws: a node keeps its id for life; every path finds one node or an error says why not.

Spec: "Schema Evolution".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from skipstone.errors import InvalidInput
from skipstone.metadata.types import (
    Field,
    ListType,
    MapType,
    StructType,
    Type,
    Value,
    children,
)

# A dotted name, or the names from the root down when a name has a dot in it.
Path: TypeAlias = "str | tuple[str, ...]"


@dataclass(slots=True, eq=False)
class Node:
    """One field. `type` is the field's own type; for nested types the children say what is inside."""

    id: int
    name: str
    type: Type
    required: bool
    doc: str | None = None
    initial_default: Value = None
    write_default: Value = None
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def is_struct(self) -> bool:
        return isinstance(self.type, StructType)

    def ancestors(self) -> Iterator[Node]:
        """The nodes above, nearest first, without the root."""
        above = self.parent
        while above is not None and above.parent is not None:
            yield above
            above = above.parent

    def walk(self) -> Iterator[Node]:
        """Every node below, parents before children."""
        for child in self.children:
            yield child
            yield from child.walk()

    def path(self) -> tuple[str, ...]:
        return (*reversed([a.name for a in self.ancestors()]), self.name)

    def short_path(self) -> tuple[str, ...]:
        """The path as users write it through lists and maps of structs: `points.x` for `points.element.x`."""
        return (*reversed([a.name for a in self.ancestors() if not a._is_silent]), self.name)

    @property
    def _is_silent(self) -> bool:
        """Whether short paths leave this node out: a struct that is the element of a list or the value of a map."""
        above = self.parent
        return (
            self.is_struct
            and above is not None
            and isinstance(above.type, ListType | MapType)
            and self is above.children[-1]
        )

    def __str__(self) -> str:
        return f"'{'.'.join(self.path())}'"


def tree_of(struct: StructType) -> Node:
    """The root of a working copy. The root itself is no field."""
    root = Node(id=-1, name="", type=struct, required=True)
    root.children = [node_of(f, root) for f in struct.fields]
    return root


def node_of(f: Field, parent: Node) -> Node:
    node = Node(
        id=f.id,
        name=f.name,
        type=f.type,
        required=f.required,
        doc=f.doc,
        initial_default=f.initial_default,
        write_default=f.write_default,
        parent=parent,
    )
    node.children = [node_of(c, node) for c in children(f.type)]
    return node


def field_of(node: Node) -> Field:
    """The frozen field a node has become."""
    return Field(
        id=node.id,
        name=node.name,
        type=type_of(node),
        required=node.required,
        doc=node.doc,
        initial_default=node.initial_default,
        write_default=node.write_default,
    )


def type_of(node: Node) -> Type:
    match node.type:
        case StructType():
            return StructType(tuple(field_of(c) for c in node.children))
        case ListType():
            (element,) = node.children
            return ListType(element_id=element.id, element=type_of(element), element_required=element.required)
        case MapType():
            key, value = node.children
            return MapType(
                key_id=key.id,
                key=type_of(key),
                value_id=value.id,
                value=type_of(value),
                value_required=value.required,
            )
        case _:
            return node.type


class PathIndex:
    """Nodes by the paths they have now: by full names, and by short ones that leave out `element` and `value`."""

    def __init__(self, root: Node, *, case_sensitive: bool = True) -> None:
        self._fold: Callable[[str], str] = str if case_sensitive else str.lower
        self._full: dict[Path, list[Node]] = {}
        self._short: dict[Path, list[Node]] = {}
        for child in root.children:
            self.insert(child)

    def insert(self, node: Node) -> None:
        """Take in a node that was added to the tree, with everything below it."""
        for n in (node, *node.walk()):
            full, short = n.path(), n.short_path()
            self._keep(self._full, full, n)
            if short != full:
                self._keep(self._short, short, n)

    def find(self, path: Path, *, among: Callable[[Node], bool] = lambda node: True) -> Node | None:
        """The one node at a path, of those that pass `among`."""
        key = self._key(path)
        for index in (self._full, self._short):
            found = [n for n in index.get(key, ()) if among(n)]
            if len(found) > 1:
                raise InvalidInput(
                    f"Cannot choose a column for {dotted(path)!r}: expected one, got "
                    f"{' and '.join(repr(n.path()) for n in found)}. Pass the names from the root as a tuple."
                )
            if found:
                return found[0]
        return None

    def _keep(self, index: dict[Path, list[Node]], path: tuple[str, ...], node: Node) -> None:
        for key in (self._key(path), self._key(".".join(path))):
            index.setdefault(key, []).append(node)

    def _key(self, path: Path) -> Path:
        return self._fold(path) if isinstance(path, str) else tuple(map(self._fold, path))


def dotted(path: Path) -> str:
    return path if isinstance(path, str) else ".".join(path)


def quoted(path: Path) -> str:
    return f"'{dotted(path)}'"


def position(nodes: Sequence[Node], node: Node) -> int:
    """Where a node is among its siblings, by identity."""
    return next(i for i, n in enumerate(nodes) if n is node)
