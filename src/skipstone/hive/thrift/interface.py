"""The metastore's structs, exceptions and methods, made from `metastore.thrift` when this module is imported.

`api.Table(tableName="t")` makes a value; what is not given is None, which is absent on the wire. A struct that was
encoded already may stand wherever its value may: `Encoded` is written as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from skipstone.hive.thrift import binary
from skipstone.hive.thrift.binary import Input, ProtocolViolation, Read, Write
from skipstone.hive.thrift.idl import (
    Declaration,
    Field,
    ListOf,
    MapOf,
    MethodDeclaration,
    Named,
    Scalar,
    TypeRef,
    parse_idl,
    type_code,
)

_READ: Final[Mapping[str, Read]] = {
    "bool": binary.read_bool, "byte": binary.read_byte, "double": binary.read_double, "i16": binary.read_i16,
    "i32": binary.read_i32, "i64": binary.read_i64, "string": binary.read_string, "binary": binary.read_binary,
}  # fmt: skip
_WRITE: Final[Mapping[str, Write]] = {
    "bool": binary.write_bool, "byte": binary.write_byte, "double": binary.write_double, "i16": binary.write_i16,
    "i32": binary.write_i32, "i64": binary.write_i64, "string": binary.write_string, "binary": binary.write_binary,
}  # fmt: skip


class Encoded(bytes):
    """A struct's bytes, its end included."""


class Struct:
    """A value of the interface. Its class says which fields there are."""

    __slots__ = ()
    _declaration: ClassVar[Declaration]
    _names: ClassVar[tuple[str, ...]]
    _known: ClassVar[dict[tuple[int, int], tuple[str, Read]]]
    _written: ClassVar[tuple[tuple[str, bytes, Write], ...]]
    _required: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, **values: Any) -> None:
        for name in self._names:
            setattr(self, name, values.pop(name, None))
        if values:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(values)}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in self._names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = ", ".join(f"{n}={v!r}" for n in self._names if (v := getattr(self, n)) is not None)
        return f"{type(self).__name__}({given})"

    @classmethod
    def read(cls, source: Input) -> Any:
        value = cls()

        def put(name: str, field: Any) -> None:
            setattr(value, name, field)

        binary.read_fields(source, cls._known, put)
        for name in cls._required:
            if getattr(value, name) is None:
                raise ProtocolViolation(f"Invalid Thrift struct {cls.__name__}: expected the field {name}, got none.")
        return value

    def write(self, out: bytearray) -> None:
        for name, header, write in self._written:
            value = getattr(self, name)
            if value is not None:
                out += header
                write(out, value)
        out.append(binary.STOP)

    def members(self) -> list[str]:
        """The fields that are set; a union must have exactly one."""
        return [name for name in self._names if getattr(self, name) is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A call: its arguments and its answer as structs. The answer's field 0, `success`, is the result."""

    name: str
    arguments: type[Struct]
    answer: type[Struct]
    throws: Mapping[type, str]
    is_void: bool


def _write_struct(out: bytearray, value: Any) -> None:
    if isinstance(value, Encoded):
        out += value
    else:
        value.write(out)


def _reader(ref: TypeRef, types: Mapping[str, type[Struct]]) -> Read:
    match ref:
        case Scalar(name):
            return _READ[name]
        case Named(name):
            return types[name].read
        case ListOf(element):
            return binary.read_list(_reader(element, types), type_code(element))
        case MapOf(key, value):
            return binary.read_map(_reader(key, types), type_code(key), _reader(value, types), type_code(value))


def _writer(ref: TypeRef) -> Write:
    match ref:
        case Scalar(name):
            return _WRITE[name]
        case Named():
            return _write_struct
        case ListOf(element):
            return binary.write_list(_writer(element), type_code(element))
        case MapOf(key, value):
            return binary.write_map(_writer(key), type_code(key), _writer(value), type_code(value))


def _make(declaration: Declaration, types: Mapping[str, type[Struct]]) -> type[Struct]:
    fields = declaration.fields
    names = tuple(field.name for field in fields)
    bases = (Struct, Exception) if declaration.kind == "exception" else (Struct,)
    return type(
        declaration.name,
        bases,
        {
            "__slots__": names,
            "__module__": __name__,
            "_declaration": declaration,
            "_names": names,
            "_known": {(type_code(f.type), f.id): (f.name, _reader(f.type, types)) for f in fields},
            "_written": tuple((f.name, binary.field_header(type_code(f.type), f.id), _writer(f.type)) for f in fields),
            "_required": tuple(f.name for f in fields if f.is_required),
        },
    )


def _make_method(declared: MethodDeclaration, types: Mapping[str, type[Struct]]) -> Method:
    is_void = declared.result == Scalar("void")
    success = () if is_void else (Field(id=0, name="success", type=declared.result, is_required=False),)
    make: Callable[..., type[Struct]] = lambda name, fields: _make(  # noqa: E731
        Declaration(kind="struct", name=f"{declared.name}_{name}", fields=fields), types
    )
    return Method(
        name=declared.name,
        arguments=make("args", declared.arguments),
        answer=make("result", (*success, *declared.throws)),
        throws={types[f.type.name]: f.name for f in declared.throws if isinstance(f.type, Named)},
        is_void=is_void,
    )


def _load() -> tuple[dict[str, type[Struct]], dict[str, Method]]:
    text = files("skipstone.hive.thrift").joinpath("metastore.thrift").read_text("utf-8")
    declarations, declared_methods = parse_idl(text)
    types: dict[str, type[Struct]] = {}
    for declaration in declarations:
        types[declaration.name] = _make(declaration, types)
    return types, {m.name: _make_method(m, types) for m in declared_methods}


_types, methods = _load()
api: Any = SimpleNamespace(**_types)
