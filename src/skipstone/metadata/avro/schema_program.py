"""An Avro schema and a wish become a small integer program that both decoders run.

A program is a table of rows (op, slot, arg, null_index, jump, min_bytes). Running it once decodes one record. Values
go to slots: a slot is one growing column of values, of byte strings, of list lengths, or of struct validity. What is
not wished for compiles to skips. A plan tree says how slots become Arrow arrays again.

Law: each slot gets exactly one item each time its parent (record or list item) gets one, so columns stay aligned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from skipstone.metadata.avro.caps import Caps
from skipstone.metadata.avro.schema_tree import Array, Leaf, Node, Optional, Record, RecordField, parse_schema_tree
from skipstone.metadata.avro.varint import Beyond, Damage


class Op(IntEnum):
    LONG = 0  # varint into 8 bytes
    INT = 1  # varint of 32 bits into 4 bytes
    BOOLEAN = 2
    FIXED = 3  # arg bytes as they are: fixed, float, double
    BYTES = 4  # length-prefixed; string too
    ENUM = 5  # an index below arg, into 4 bytes
    DECIMAL = 6  # big-endian two's complement of arg bytes (0: length-prefixed) into 16 little-endian bytes
    NULL = 7  # only the union index of a nullable null
    OPEN_STRUCT = 8  # a nullable record: on null go to jump
    FILL = 9  # one null (or zero) into the slot
    JUMP = 10
    OPEN_LIST = 11  # block counts; when the list ends go to jump
    CLOSE_LIST = 12  # next item: back to arg + 1
    COUNTS = 13  # a map of int to long: wished ids into slot, slot + 1, …
    BOUNDS = 14  # a map of int to bytes: the same
    SKIP_VARINTS = 15  # arg of them
    SKIP_BYTES = 16
    SKIP_FIXED = 17  # arg bytes
    SKIP_OPTIONAL = 18  # on null go to jump
    SKIP_LIST = 19
    SKIP_LIST_CLOSE = 20


class SlotKind(IntEnum):
    VALUES = 0  # `width` bytes an item
    BYTES = 1
    LIST = 2
    STRUCT = 3  # validity only


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSpec:
    kind: SlotKind
    width: int = 0
    nullable: bool = False
    is_integer: bool = False  # VALUES held as integers of `width` bytes, not as raw bytes
    parent: int = -1  # the LIST slot it is directly inside; -1: the record
    item_bytes: int = 0  # of a LIST: what each of its items takes in the slots directly inside

    @property
    def own_bytes(self) -> int:
        """What one item takes in this slot, byte strings and list items not counted."""
        fixed = {SlotKind.VALUES: self.width, SlotKind.STRUCT: 0}.get(self.kind, _OFFSET_BYTES)
        return fixed + int(self.nullable)


_OFFSET_BYTES: Final = 4


# What to decode of a node: everything, nothing, some fields of a record, or wished keys of a map of metrics.
@dataclass(frozen=True, slots=True)
class Everything:
    pass


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


@dataclass(frozen=True, slots=True)
class Fields:
    wishes: tuple[tuple[str, Wish], ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """Of a map from int: these keys, each as a column of its own."""

    ids: tuple[int, ...]


Wish: TypeAlias = Everything | Nothing | Fields | Keys
EVERYTHING: Final = Everything()
NOTHING: Final = Nothing()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPlan:
    slot: int  # -1: the null type
    arrow: pa.DataType
    symbols: tuple[str, ...] = ()
    nullable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildPlan:
    name: str
    plan: Plan
    metadata: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StructPlan:
    slot: int  # -1: never null
    children: tuple[ChildPlan, ...]

    @property
    def nullable(self) -> bool:
        return self.slot >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPlan:
    slot: int
    item: ChildPlan
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPlan:
    slot: int
    key: ChildPlan
    value: ChildPlan
    nullable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysPlan:
    """Columns of wished map keys: a struct of one child a key, named by the key."""

    slot: int  # of the first
    ids: tuple[int, ...]
    arrow: pa.DataType
    nullable: bool = False


Plan: TypeAlias = LeafPlan | StructPlan | ListPlan | MapPlan | KeysPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    code: npt.NDArray[np.int64]
    paths: tuple[str, ...]  # of each row; [] stands for a list index
    slots: tuple[SlotSpec, ...]
    plan: StructPlan
    ids: tuple[int, ...]  # wished metric keys, ascending
    min_bytes: int  # of one record in the file
    row_bytes: int  # of one record in the slots, lists and byte strings not counted
    list_depth: int
    rows: tuple[tuple[int, ...], ...] = field(repr=False)  # `code` as Python integers


@lru_cache(maxsize=128)
def program_of(schema_text: bytes, caps: Caps, wish: Wish, transparent: str = "") -> Program:
    """The program for a schema text; raises Damage or Beyond. Cached: a table's manifests share their schema."""
    return compile_program(parse_schema_tree(schema_text, caps), wish, transparent)


def compile_program(tree: Record, wish: Wish, transparent: str = "") -> Program:
    """The program that decodes what `wish` asks for. `transparent` names a record left out of places in messages."""
    compiler = _Compiler(transparent=transparent)
    plan = compiler.record(tree, wish, "", -2)
    rows = tuple(tuple(int(cell) for cell in row) for row in compiler.code)
    return Program(
        code=np.array(compiler.code, dtype=np.int64).reshape(-1, 6),
        paths=tuple(compiler.paths),
        slots=tuple(compiler.slots),
        plan=plan,
        ids=compiler.ids,
        min_bytes=tree.min_bytes,
        row_bytes=compiler.bytes_inside(0),
        list_depth=compiler.depth_max,
        rows=rows,
    )


_LEAF_OPS: Final = {
    "boolean": (Op.BOOLEAN, 1, True),
    "int": (Op.INT, 4, True),
    "long": (Op.LONG, 8, True),
    "float": (Op.FIXED, 4, False),
    "double": (Op.FIXED, 8, False),
    "enum": (Op.ENUM, 4, True),
    "decimal": (Op.DECIMAL, 16, False),
}


@dataclass(slots=True, kw_only=True)
class _Compiler:
    transparent: str
    code: list[list[int]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    slots: list[SlotSpec] = field(default_factory=list)
    ids: tuple[int, ...] = ()
    parent: int = -1
    depth: int = 0
    depth_max: int = 0

    def emit(self, op: Op, path: str, *, slot: int = -1, arg: int = 0, null: int = -2, min_bytes: int = 0) -> int:
        """A row; `null` is -2 outside a union, -1 in a union without null."""
        self.code.append([op, slot, arg, null, 0, min_bytes])
        self.paths.append(path)
        return len(self.code) - 1

    def land(self, at: int) -> None:
        self.code[at][4] = len(self.code)

    def slot(self, kind: SlotKind, *, width: int = 0, nullable: bool = False, is_integer: bool = False) -> int:
        self.slots.append(
            SlotSpec(kind=kind, width=width, nullable=nullable, is_integer=is_integer, parent=self.parent)
        )
        return len(self.slots) - 1

    def bytes_inside(self, first: int) -> int:
        """What one item takes in the slots from `first` on that are directly inside the current list or record."""
        return sum(s.own_bytes for s in self.slots[first:] if s.parent == self.parent)

    def node(self, node: Node, wish: Wish, path: str) -> Plan:
        if isinstance(node, Optional):
            return self.value(node.value, wish, path, node.null_index)
        return self.value(node, wish, path, -2)

    def value(self, node: Leaf | Record | Array, wish: Wish, path: str, null: int) -> Plan:
        match node:
            case Leaf():
                return self.leaf(node, path, null)
            case Record():
                return self.record(node, wish, path, null)
            case Array():
                return self.keys(node, wish, path, null) if isinstance(wish, Keys) else self.array(node, path, null)

    def leaf(self, leaf: Leaf, path: str, null: int) -> LeafPlan:
        nullable = null >= 0
        if leaf.kind == "null":
            if null != -2:
                self.emit(Op.NULL, path, null=null)
            return LeafPlan(slot=-1, arrow=leaf.arrow, nullable=True)
        if leaf.kind in ("bytes", "string"):
            slot = self.slot(SlotKind.BYTES, nullable=nullable)
            self.emit(Op.BYTES, path, slot=slot, null=null)
        elif leaf.kind == "fixed":
            slot = self.slot(SlotKind.VALUES, width=leaf.size, nullable=nullable)
            self.emit(Op.FIXED, path, slot=slot, arg=leaf.size, null=null)
        else:
            op, width, is_integer = _LEAF_OPS[leaf.kind]
            slot = self.slot(SlotKind.VALUES, width=width, nullable=nullable, is_integer=is_integer)
            arg = {Op.FIXED: width, Op.ENUM: len(leaf.symbols), Op.DECIMAL: leaf.size}.get(op, 0)
            self.emit(op, path, slot=slot, arg=arg, null=null)
        return LeafPlan(slot=slot, arrow=leaf.arrow, symbols=leaf.symbols, nullable=nullable)

    def record(self, record: Record, wish: Wish, path: str, null: int) -> StructPlan:
        if null == -2:
            return StructPlan(slot=-1, children=self.children(record, wish, path))
        slot = self.slot(SlotKind.STRUCT, nullable=True)
        opened = self.emit(Op.OPEN_STRUCT, path, slot=slot, null=null)
        children = self.children(record, wish, path)
        jump = self.emit(Op.JUMP, path)
        self.land(opened)
        for inner in range(slot + 1, len(self.slots)):
            if self.slots[inner].parent == self.parent:
                self.emit(Op.FILL, path, slot=inner)
        self.land(jump)
        return StructPlan(slot=slot, children=children)

    def children(self, record: Record, wish: Wish, path: str) -> tuple[ChildPlan, ...]:
        """Fields in file order, because that is the order of the bytes."""
        wishes = dict(wish.wishes) if isinstance(wish, Fields) else {}
        children: list[ChildPlan] = []
        for f in record.fields:
            inner = wishes.get(f.name, NOTHING) if isinstance(wish, Fields) else EVERYTHING
            below = self.below(path, f.name)
            if isinstance(inner, Nothing):
                self.skip(f.node, below)
            else:
                children.append(_child(f, self.node(f.node, inner, below)))
        return tuple(children)

    def below(self, path: str, name: str) -> str:
        if path == self.transparent:
            return name
        return f"{path}.{name}" if path else name

    def array(self, array: Array, path: str, null: int) -> Plan:
        nullable = null >= 0
        slot = self.slot(SlotKind.LIST, nullable=nullable)
        opened = self.emit(Op.OPEN_LIST, path, slot=slot, null=null, min_bytes=array.item.min_bytes)
        outer, self.parent = self.parent, slot
        self.depth += 1
        self.depth_max = max(self.depth, self.depth_max)
        item = self.node(array.item, EVERYTHING, f"{path}[]")
        self.slots[slot] = replace(self.slots[slot], item_bytes=self.bytes_inside(slot + 1))
        self.parent = outer
        self.depth -= 1
        self.emit(Op.CLOSE_LIST, path, slot=slot, arg=opened, min_bytes=array.item.min_bytes)
        self.land(opened)
        if array.is_map and isinstance(item, StructPlan):
            key, value = item.children
            return MapPlan(slot=slot, key=key, value=value, nullable=nullable)
        element = RecordField(name="element", node=array.item, field_id=array.element_id)
        return ListPlan(slot=slot, item=_child(element, item), nullable=nullable)

    def keys(self, array: Array, wish: Keys, path: str, null: int) -> KeysPlan:
        op = _metrics_op(array, path)
        self.ids = wish.ids
        first = len(self.slots)
        for _ in wish.ids:
            if op is Op.COUNTS:
                self.slot(SlotKind.VALUES, width=8, nullable=True, is_integer=True)
            else:
                self.slot(SlotKind.BYTES, nullable=True)
        self.emit(op, path, slot=first, arg=len(wish.ids), null=null, min_bytes=array.item.min_bytes)
        return KeysPlan(slot=first, ids=wish.ids, arrow=pa.int64() if op is Op.COUNTS else pa.binary())

    def skip(self, node: Node, path: str) -> None:
        value, null = (node.value, node.null_index) if isinstance(node, Optional) else (node, -2)
        opened = -1
        if null != -2:
            opened = self.emit(Op.SKIP_OPTIONAL, path, null=null)
        self.skip_value(value, path)
        if opened >= 0:
            self.land(opened)

    def skip_value(self, node: Leaf | Record | Array, path: str) -> None:
        match node:
            case Leaf(kind="null"):
                pass
            case Leaf(kind="bytes" | "string") | Leaf(kind="decimal", size=0):
                self.emit(Op.SKIP_BYTES, path)
            case Leaf(kind="int" | "long" | "enum"):
                self.emit(Op.SKIP_VARINTS, path, arg=1)
            case Leaf():
                self.emit(Op.SKIP_FIXED, path, arg=node.min_bytes)
            case Record():
                for f in node.fields:
                    self.skip(f.node, self.below(path, f.name))
            case Array():
                opened = self.emit(Op.SKIP_LIST, path, min_bytes=node.item.min_bytes)
                self.depth += 1
                self.depth_max = max(self.depth, self.depth_max)
                self.skip(node.item, f"{path}[]")
                self.depth -= 1
                self.emit(Op.SKIP_LIST_CLOSE, path, arg=opened, min_bytes=node.item.min_bytes)
                self.land(opened)


def _child(f: RecordField, plan: Plan) -> ChildPlan:
    metadata = f.arrow_metadata
    return ChildPlan(name=f.name, plan=plan, metadata=tuple(metadata.items()) if metadata else ())


def _metrics_op(array: Array, path: str) -> Op:
    """COUNTS for a map of int to long, BOUNDS for a map of int to bytes; neither may be null inside."""
    item = array.item
    if not isinstance(item, Record) or len(item.fields) != 2:
        raise Damage(f"Avro schema at {path}: expected an array of key and value, got something else")
    key, value = (f.node for f in item.fields)
    if not isinstance(key, Leaf) or key.kind not in ("int", "long") or not isinstance(value, Leaf):
        raise Beyond(f"Avro schema at {path}: expected a map from int to long or bytes, got other types")
    if value.kind in ("long", "int"):
        return Op.COUNTS
    if value.kind in ("bytes", "string"):
        return Op.BOUNDS
    raise Beyond(f"Avro schema at {path}: expected a map from int to long or bytes, got {value.kind} values")
