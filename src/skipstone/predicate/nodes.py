"""Predicates as values.

A predicate is a tree of AND, OR and NOT over leaves; a leaf compares one term with literals. The same classes serve
before binding (terms are `Ref`, literals are what the user wrote) and after it (terms are `Column`, literals are
`Value`s of the term's type).

The logic is SQL's, with three values: a comparison with null is unknown, and a row matches only if the predicate is
true. `Unknown` is the leaf that is neither true nor false for any row, such as `x = NULL`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from skipstone.metadata.partitions.transforms import Transform
from skipstone.metadata.types import PrimitiveType, Type, Value


class Op(Enum):
    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def negated(self) -> Op:
        return _NEGATED[self]

    @property
    def mirrored(self) -> Op:
        """The operator after swapping both sides: `5 < x` is `x > 5`."""
        return _MIRRORED[self]


_NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
_MIRRORED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE}


# -- terms


@dataclass(frozen=True, slots=True)
class Ref:
    """A column by its dotted name, not yet bound. The parts are known where a name of one column may have dots."""

    name: str
    parts: tuple[str, ...] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, repr=False)
class WholeType(PrimitiveType):
    """A struct, list or map as a predicate sees it: there or null. It has no literals."""

    type: Type

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A bound column. `is_nested` says that null parents can hide it, so its own counts may not cover every row."""

    field_id: int
    type: PrimitiveType
    name: str
    is_nested: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Transformed:
    """A partition transform of a column, compared by the transform's own result (day ordinals, bucket numbers)."""

    transform: Transform
    source: Ref | Column

    def __str__(self) -> str:
        return f"{self.transform}({self.source})"


@dataclass(frozen=True, slots=True)
class VariantGet:
    """A field inside a variant, by normalised JSON path, read as a primitive type. Null where it does not fit."""

    source: Ref | Column
    path: str
    type: PrimitiveType

    def __str__(self) -> str:
        return f"variant_get({self.source}, {self.path}, {self.type})"


Term: TypeAlias = Ref | Column | Transformed | VariantGet


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-parallel rectangle; edges included."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    def __str__(self) -> str:
        return f"box({self.xmin}, {self.ymin}, {self.xmax}, {self.ymax})"


# -- predicates


@dataclass(frozen=True, slots=True)
class AlwaysTrue:
    def __str__(self) -> str:
        return "true"


@dataclass(frozen=True, slots=True)
class AlwaysFalse:
    def __str__(self) -> str:
        return "false"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Null for every row: it matches none, and neither does its negation."""

    def __str__(self) -> str:
        return "null"


@dataclass(frozen=True, slots=True)
class And:
    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " AND ".join(_grouped(c) for c in self.children)


@dataclass(frozen=True, slots=True)
class Or:
    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " OR ".join(_grouped(c) for c in self.children)


@dataclass(frozen=True, slots=True)
class Not:
    child: Predicate

    def __str__(self) -> str:
        return f"NOT ({self.child})"


@dataclass(frozen=True, slots=True)
class IsNull:
    term: Term

    def __str__(self) -> str:
        return f"{self.term} IS NULL"


@dataclass(frozen=True, slots=True)
class NotNull:
    term: Term

    def __str__(self) -> str:
        return f"{self.term} IS NOT NULL"


@dataclass(frozen=True, slots=True)
class IsNan:
    """False, not unknown, for null: Spark's isnan."""

    term: Term

    def __str__(self) -> str:
        return f"isnan({self.term})"


@dataclass(frozen=True, slots=True)
class NotNan:
    """The negation of `IsNan`: true for null too."""

    term: Term

    def __str__(self) -> str:
        return f"NOT isnan({self.term})"


@dataclass(frozen=True, slots=True)
class Compare:
    op: Op
    term: Term
    value: Value

    def __str__(self) -> str:
        return f"{self.term} {self.op.value} {_shown(self.value)}"


@dataclass(frozen=True, slots=True)
class In:
    term: Term
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.term} IN ({_listed(self.values)})"


@dataclass(frozen=True, slots=True)
class NotIn:
    term: Term
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.term} NOT IN ({_listed(self.values)})"


@dataclass(frozen=True, slots=True)
class StartsWith:
    term: Term
    prefix: Value

    def __str__(self) -> str:
        return f"{self.term} STARTS WITH {_shown(self.prefix)}"


@dataclass(frozen=True, slots=True)
class NotStartsWith:
    term: Term
    prefix: Value

    def __str__(self) -> str:
        return f"{self.term} NOT STARTS WITH {_shown(self.prefix)}"


@dataclass(frozen=True, slots=True)
class Like:
    """A SQL pattern that is more than a prefix: `%` any text, `_` one character."""

    term: Term
    pattern: str
    escape: str = "\\"

    def __str__(self) -> str:
        return f"{self.term} LIKE {_shown(self.pattern)}"


@dataclass(frozen=True, slots=True)
class NotLike:
    term: Term
    pattern: str
    escape: str = "\\"

    def __str__(self) -> str:
        return f"{self.term} NOT LIKE {_shown(self.pattern)}"


@dataclass(frozen=True, slots=True)
class Intersects:
    """The bounding box of a geometry or geography meets a box."""

    term: Term
    box: Box

    def __str__(self) -> str:
        return f"intersects({self.term}, {self.box})"


@dataclass(frozen=True, slots=True)
class NotIntersects:
    term: Term
    box: Box

    def __str__(self) -> str:
        return f"NOT intersects({self.term}, {self.box})"


Leaf: TypeAlias = (
    IsNull | NotNull | IsNan | NotNan | Compare | In | NotIn | StartsWith | NotStartsWith | Like | NotLike
    | Intersects | NotIntersects
)  # fmt: skip
Constant: TypeAlias = AlwaysTrue | AlwaysFalse | Unknown
Predicate: TypeAlias = Constant | And | Or | Not | Leaf

TRUE = AlwaysTrue()
FALSE = AlwaysFalse()
UNKNOWN = Unknown()


def and_(*predicates: Predicate) -> Predicate:
    """AND, flattened; false wins, true drops out."""
    kept: list[Predicate] = []
    for p in predicates:
        if isinstance(p, AlwaysFalse):
            return FALSE
        if isinstance(p, And):
            kept.extend(p.children)
        elif not isinstance(p, AlwaysTrue):
            kept.append(p)
    if not kept:
        return TRUE
    return kept[0] if len(kept) == 1 else And(tuple(kept))


def or_(*predicates: Predicate) -> Predicate:
    """OR, flattened; true wins, false drops out."""
    kept: list[Predicate] = []
    for p in predicates:
        if isinstance(p, AlwaysTrue):
            return TRUE
        if isinstance(p, Or):
            kept.extend(p.children)
        elif not isinstance(p, AlwaysFalse):
            kept.append(p)
    if not kept:
        return FALSE
    return kept[0] if len(kept) == 1 else Or(tuple(kept))


def map_leaves(predicate: Predicate, change: Callable[[Leaf], Predicate]) -> Predicate:
    """The same tree with every leaf replaced, and constants folded on the way up."""
    match predicate:
        case And(children):
            return and_(*[map_leaves(c, change) for c in children])
        case Or(children):
            return or_(*[map_leaves(c, change) for c in children])
        case Not(child):
            return Not(map_leaves(child, change))
        case AlwaysTrue() | AlwaysFalse() | Unknown():
            return predicate
        case _:
            return change(predicate)


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    match predicate:
        case And(children) | Or(children):
            for child in children:
                yield from leaves(child)
        case Not(child):
            yield from leaves(child)
        case AlwaysTrue() | AlwaysFalse() | Unknown():
            return
        case _:
            yield predicate


def column_of(term: Term) -> Ref | Column:
    """The column a term reads."""
    return term if isinstance(term, Ref | Column) else term.source


def term_type(term: Term) -> PrimitiveType:
    """The type of a bound term's values."""
    match term:
        case Column():
            return term.type
        case VariantGet():
            return term.type
        case Transformed(transform, Column() as source):
            result = transform.result_type(source.type)
            assert isinstance(result, PrimitiveType)
            return result
        case _:
            raise TypeError(f"Cannot tell the type of unbound term {term}. Bind the predicate first.")


def field_ids(predicate: Predicate) -> frozenset[int]:
    """The ids of all columns a bound predicate reads."""
    columns = (column_of(leaf.term) for leaf in leaves(predicate))
    return frozenset(c.field_id for c in columns if isinstance(c, Column))


def _grouped(p: Predicate) -> str:
    return f"({p})" if isinstance(p, And | Or) else str(p)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        printable = value.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be printed
        return "'" + printable.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return str(value)


def _listed(values: tuple[Any, ...], shown_max: int = 10) -> str:
    text = ", ".join(_shown(v) for v in values[:shown_max])
    return text if len(values) <= shown_max else f"{text}, and {len(values) - shown_max} more"
