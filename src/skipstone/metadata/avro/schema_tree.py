"""An Avro schema as a tree of nodes, each with the Arrow type it decodes to.

Laws: named references are resolved; a recursive type, a union other than [null, T] and an array whose items take no
bytes are refused (the last one because a lying count could then cost unbounded work); depth and size are capped.

Spec (Apache Avro): "Schema Declaration", "Logical Types". Iceberg: "Appendix A: Format-specific Requirements", "Avro".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NoReturn, TypeAlias

import msgspec
import pyarrow as pa

from skipstone.metadata.avro.caps import Caps
from skipstone.metadata.avro.varint import Beyond, Damage

FIELD_ID_KEY: Final = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A value without children. `kind` says how it is stored, `size` its bytes when fixed."""

    kind: str  # null, boolean, int, long, float, double, bytes, string, fixed, enum, decimal
    arrow: pa.DataType
    size: int = 0  # of a fixed, or of a decimal stored in a fixed; 0 = length-prefixed
    symbols: tuple[str, ...] = ()

    @property
    def min_bytes(self) -> int:
        match self.kind:
            case "null":
                return 0
            case "float":
                return 4
            case "double":
                return 8
            case "fixed":
                return self.size
            case "decimal":
                return self.size or 1
            case _:
                return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordField:
    name: str
    node: Node
    field_id: int | None

    @property
    def arrow_metadata(self) -> dict[bytes, bytes] | None:
        return id_metadata(self.field_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    fields: tuple[RecordField, ...]

    @property
    def min_bytes(self) -> int:
        return sum(f.node.min_bytes for f in self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Optional:
    """A union of null and one other type; `null_index` is null's place in it, -1 when there is no null."""

    value: Leaf | Record | Array
    null_index: int
    min_bytes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """A repeated item. With `is_map` the item is a record of key and value and decodes to an Arrow map."""

    item: Node
    is_map: bool
    element_id: int | None = None
    min_bytes: int = 1


Node: TypeAlias = Leaf | Record | Optional | Array

_PRIMITIVES: Final[dict[str, pa.DataType]] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_TIME_UNITS: Final[dict[str, Any]] = {"millis": "ms", "micros": "us", "nanos": "ns"}
_DECIMAL_PRECISION_MAX: Final = 38
_FIXED_BYTES_MAX: Final = 1 << 20


def id_metadata(field_id: int | None) -> dict[bytes, bytes] | None:
    return None if field_id is None else {FIELD_ID_KEY: str(field_id).encode()}


@lru_cache(maxsize=64)
def parse_schema_tree(text: bytes, caps: Caps) -> Record:
    """The tree of the top-level record; raises Damage or Beyond. Cached: a table's manifests share their schema."""
    return _Parser(caps=caps).top(msgspec.json.decode(text))


@dataclass(slots=True, kw_only=True)
class _Parser:
    caps: Caps
    named: dict[str, tuple[Any, str]] = field(default_factory=dict)
    open_names: list[str] = field(default_factory=list)
    nodes_left: int = field(init=False)

    def __post_init__(self) -> None:
        self.nodes_left = self.caps.schema_nodes_max

    def top(self, schema: Any) -> Record:
        node = self.node(schema, namespace="", path=(), depth=0)
        if not isinstance(node, Record):
            raise Beyond(f"expected an Avro schema that is a record, got {_short(schema)}")
        if node.min_bytes == 0:
            raise Beyond("expected records of at least one byte, got an empty record")
        return node

    def node(self, schema: Any, *, namespace: str, path: tuple[str, ...], depth: int) -> Node:
        self.nodes_left -= 1
        if depth > self.caps.schema_depth_max:
            self.bad(path[:4], f"expected at most {self.caps.schema_depth_max} levels, got more")
        if self.nodes_left < 0:
            self.bad(path[:4], f"expected at most {self.caps.schema_nodes_max} types, got more")
        if isinstance(schema, list):
            return self.union(schema, namespace, path, depth)
        if isinstance(schema, str):
            return self.by_name(schema, namespace, path, depth)
        if not isinstance(schema, dict):
            self.bad(path, f"expected a type, got {_short(schema)}")
        kind = schema.get("type")
        match kind:
            case "record" | "error":
                return self.record(schema, namespace, path, depth)
            case "array":
                return self.array(schema, namespace, path, depth)
            case "map":
                return self.map(schema, namespace, path, depth)
            case "fixed":
                return self.fixed(schema, namespace, path)
            case "enum":
                return self.enum(schema, namespace, path)
            case str() if kind in _PRIMITIVES:
                return self.primitive(kind, schema, path)
            case _:
                # {"type": {...}} and {"type": "some.name"} wrap another schema.
                return self.node(kind, namespace=namespace, path=path, depth=depth + 1)

    def by_name(self, name: str, namespace: str, path: tuple[str, ...], depth: int) -> Node:
        if name in _PRIMITIVES:
            return Leaf(kind=name, arrow=_PRIMITIVES[name])
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        full = full if full in self.named else name
        if full not in self.named:
            self.bad(path, f"expected a type, got the unknown name {_short(name)}")
        if full in self.open_names:
            raise Beyond(f"Avro schema at {_dotted(path)}: expected no recursion, got {full!r} inside itself")
        schema, outer = self.named[full]
        return self.node({**schema, "name": full}, namespace=outer, path=path, depth=depth + 1)

    def declare(self, schema: dict[str, Any], namespace: str, path: tuple[str, ...]) -> tuple[str, str]:
        """The full name of a named type and the namespace inside it."""
        name = schema.get("name")
        if not isinstance(name, str) or not name:
            self.bad(path, f"expected a name for the {schema.get('type')}, got {_short(name)}")
        own = schema.get("namespace", namespace)
        inner = name.rpartition(".")[0] if "." in name else own if isinstance(own, str) else ""
        full = name if "." in name or not inner else f"{inner}.{name}"
        self.named[full] = (schema, namespace)
        return full, inner

    def record(self, schema: dict[str, Any], namespace: str, path: tuple[str, ...], depth: int) -> Record:
        full, inner = self.declare(schema, namespace, path)
        listed = schema.get("fields")
        if not isinstance(listed, list):
            self.bad(path, f"expected a list of fields, got {_short(listed)}")
        self.open_names.append(full)
        fields: list[RecordField] = []
        names: set[str] = set()
        for entry in listed:
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or "type" not in entry:
                self.bad(path, f"expected a field with name and type, got {_short(entry)}")
            name = entry["name"]
            if name in names:
                self.bad(path, f"expected unique field names, got {name!r} twice")
            names.add(name)
            node = self.node(entry["type"], namespace=inner, path=(*path, name), depth=depth + 1)
            fields.append(RecordField(name=name, node=node, field_id=self.id_of(entry, "field-id", (*path, name))))
        self.open_names.pop()
        return Record(fields=tuple(fields))

    def union(self, branches: list[Any], namespace: str, path: tuple[str, ...], depth: int) -> Node:
        if not branches:
            self.bad(path, "expected a union of at least one type, got none")
        null_index = branches.index("null") if "null" in branches else -1
        others = [b for b in branches if b != "null"]
        if len(branches) > 2 or len(others) > 1:
            raise Beyond(
                f"Avro schema at {_dotted(path)}: expected a union of null and one type, got {len(branches)} branches"
            )
        if not others:
            if len(branches) > 1:
                self.bad(path, "expected null once in a union, got it twice")
            return Optional(value=Leaf(kind="null", arrow=pa.null()), null_index=0)
        value = self.node(others[0], namespace=namespace, path=path, depth=depth + 1)
        if isinstance(value, Optional):
            self.bad(path, "expected no union directly inside a union, got one")
        return Optional(value=value, null_index=null_index)

    def array(self, schema: dict[str, Any], namespace: str, path: tuple[str, ...], depth: int) -> Array:
        item = self.node(schema.get("items"), namespace=namespace, path=(*path, "[]"), depth=depth + 1)
        self.check_item(item, path)
        is_map = schema.get("logicalType") == "map" and isinstance(item, Record) and len(item.fields) == 2
        return Array(item=item, is_map=is_map, element_id=self.id_of(schema, "element-id", path))

    def map(self, schema: dict[str, Any], namespace: str, path: tuple[str, ...], depth: int) -> Array:
        value = self.node(schema.get("values"), namespace=namespace, path=(*path, "[]"), depth=depth + 1)
        key = Leaf(kind="string", arrow=pa.string())
        return Array(
            item=Record(
                fields=(
                    RecordField(name="key", node=key, field_id=self.id_of(schema, "key-id", path)),
                    RecordField(name="value", node=value, field_id=self.id_of(schema, "value-id", path)),
                )
            ),
            is_map=True,
        )

    def check_item(self, item: Node, path: tuple[str, ...]) -> None:
        if item.min_bytes == 0:
            raise Beyond(f"Avro schema at {_dotted(path)}: expected array items of at least one byte, got empty ones")

    def fixed(self, schema: dict[str, Any], namespace: str, path: tuple[str, ...]) -> Leaf:
        self.declare(schema, namespace, path)
        size = schema.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _FIXED_BYTES_MAX:
            self.bad(path, f"expected a size of fixed from 0 to {_FIXED_BYTES_MAX}, got {_short(size)}")
        if schema.get("logicalType") == "decimal" and size > 0 and (arrow := _decimal(schema)) is not None:
            return Leaf(kind="decimal", arrow=arrow, size=size)
        return Leaf(kind="fixed", arrow=pa.binary(size), size=size)

    def enum(self, schema: dict[str, Any], namespace: str, path: tuple[str, ...]) -> Leaf:
        self.declare(schema, namespace, path)
        symbols = schema.get("symbols")
        if not isinstance(symbols, list) or not symbols or not all(isinstance(s, str) for s in symbols):
            self.bad(path, f"expected a list of symbols, got {_short(symbols)}")
        return Leaf(kind="enum", arrow=pa.string(), symbols=tuple(symbols))

    def primitive(self, kind: str, schema: dict[str, Any], path: tuple[str, ...]) -> Leaf:
        logical = schema.get("logicalType")
        if isinstance(logical, str):
            if kind == "bytes" and logical == "decimal" and (arrow := _decimal(schema)) is not None:
                return Leaf(kind="decimal", arrow=arrow)
            if (arrow := _temporal(kind, logical, schema)) is not None:
                return Leaf(kind=kind, arrow=arrow)
        return Leaf(kind=kind, arrow=_PRIMITIVES[kind])

    def id_of(self, schema: dict[str, Any], key: str, path: tuple[str, ...]) -> int | None:
        value = schema.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.bad(path, f"expected an integer for {key}, got {_short(value)}")
        return value

    def bad(self, path: tuple[str, ...], text: str) -> NoReturn:
        raise Damage(f"Avro schema at {_dotted(path)}: {text}")


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[]", "[]") or "the top"


def _short(value: Any) -> str:
    return repr(value)[:80]


def _decimal(schema: dict[str, Any]) -> pa.DataType | None:
    """None when precision and scale make no sense: Avro readers then ignore the logical type."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return None
    if not (1 <= precision <= _DECIMAL_PRECISION_MAX and 0 <= scale <= precision):
        return None
    return pa.decimal128(precision, scale)


def _temporal(kind: str, logical: str, schema: dict[str, Any]) -> pa.DataType | None:
    if kind == "int":
        return pa.date32() if logical == "date" else pa.time32("ms") if logical == "time-millis" else None
    if kind != "long":
        return None
    if logical == "time-micros":
        return pa.time64("us")
    family, _, unit = logical.rpartition("-")
    if unit not in _TIME_UNITS or family not in ("timestamp", "local-timestamp"):
        return None
    # Iceberg writes adjust-to-utc on every timestamp; without it the reference implementation assumes no zone.
    in_utc = family == "timestamp" and schema.get("adjust-to-utc") is True
    arrow: pa.DataType = pa.timestamp(_TIME_UNITS[unit], tz="UTC" if in_utc else None)
    return arrow
