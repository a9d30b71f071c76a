"""Iceberg's expression JSON, as the REST catalog and scan reports write it, both ways.

Iceberg's logic has two values where SQL's has three: `not-eq`, `not-in`, `not-starts-with` and `not` of a comparison
match null. Parsing spells this out (`x != 5 OR x IS NULL`), and serialising adds `not-null` where SQL needs it, so
that both sides select the same rows.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.partitions.transforms import UnknownTransform, parse_transform
from skipstone.metadata.types import BinaryType, FixedType, PrimitiveType
from skipstone.metadata.values import value_to_json
from skipstone.predicate.literals import JsonLiteral, TypedLiteral
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    AlwaysFalse,
    AlwaysTrue,
    And,
    Column,
    Compare,
    In,
    IsNan,
    IsNull,
    Leaf,
    Not,
    NotIn,
    NotNan,
    NotNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    Ref,
    StartsWith,
    Term,
    Transformed,
    and_,
    or_,
    term_type,
)
from skipstone.predicate.normalise import normalise

_COMPARE: Final = {"eq": Op.EQ, "not-eq": Op.NE, "lt": Op.LT, "lt-eq": Op.LE, "gt": Op.GT, "gt-eq": Op.GE}
_NAMES: Final = {op: name for name, op in _COMPARE.items()}
_UNARY: Final[dict[str, type[IsNull | NotNull | IsNan | NotNan]]] = {
    "is-null": IsNull,
    "not-null": NotNull,
    "is-nan": IsNan,
    "not-nan": NotNan,
}
_DEPTH_MAX: Final = 150


def parse_expression(json: Any) -> Predicate:
    """The predicate a JSON expression means, with its two-valued logic spelled out."""
    return _parse(json, negated=False, depth=0)


def _parse(json: Any, *, negated: bool, depth: int) -> Predicate:
    if depth > _DEPTH_MAX:
        raise InvalidInput(f"Invalid expression: expected at most {_DEPTH_MAX} levels of nesting.")
    if isinstance(json, bool):
        return TRUE if json is not negated else FALSE
    kind = _kind(json)
    match kind:
        case "true" | "false":
            return _parse(kind == "true", negated=negated, depth=depth)
        case "literal":
            if not isinstance(value := _need(json, "value"), bool):
                raise InvalidInput(f"Invalid expression of type 'literal': expected true or false, got {value!r}.")
            return _parse(value, negated=negated, depth=depth)
        case "not":
            return _parse(_need(json, "child"), negated=not negated, depth=depth + 1)
        case "and" | "or":
            sides = [_parse(side, negated=negated, depth=depth + 1) for side in _sides(json, kind)]
            return (and_ if (kind == "and") is not negated else or_)(*sides)
        case _:
            leaf = _parse_leaf(json, kind)
            return _without_null(leaf) if not negated else _negated_two_valued(leaf)


def _kind(json: Any) -> str:
    """The type of an expression. As in Iceberg, case does not matter, and `_` may stand for `-`."""
    if not isinstance(json, Mapping):
        raise InvalidInput(f"Invalid expression: expected a JSON object or boolean, got {json!r}.")
    return str(json.get("type")).lower().replace("_", "-")


def _sides(json: Mapping[str, Any], kind: str) -> list[Any]:
    """The operands of a chain of one connector, without recursion: a chain of 10,000 is 10,000 levels of JSON."""
    found: list[Any] = []
    pending: list[Any] = [json]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping) and _kind(current) == kind:
            pending.extend((_need(current, "right"), _need(current, "left")))
        else:
            found.append(current)
    return found


def _need(json: Mapping[str, Any], key: str) -> Any:
    if key not in json:
        raise InvalidInput(
            f"Invalid expression of type {json.get('type')!r}: expected key {key!r}, got {sorted(json)}."
        )
    return json[key]


def _parse_leaf(json: Mapping[str, Any], kind: str) -> Leaf:
    if kind in _UNARY:
        _refuse(json, "value", "values")
        return _UNARY[kind](_parse_term(_need(json, "term")))
    if kind in ("in", "not-in"):
        _refuse(json, "value")
        values = _need(json, "values")
        if not isinstance(values, list | tuple):
            raise InvalidInput(f"Invalid expression of type {kind!r}: expected a list of values, got {values!r}.")
        literals = tuple(_parse_literal(v) for v in values)
        return (In if kind == "in" else NotIn)(_parse_term(_need(json, "term")), literals)
    if kind in _COMPARE or kind in ("starts-with", "not-starts-with"):
        _refuse(json, "values")
        term, literal = _parse_term(_need(json, "term")), _parse_literal(_need(json, "value"))
        if kind in _COMPARE:
            return Compare(_COMPARE[kind], term, literal)
        return (StartsWith if kind == "starts-with" else NotStartsWith)(term, literal)
    known = ["true", "false", "not", "and", "or", *_UNARY, *_COMPARE, "in", "not-in", "starts-with", "not-starts-with"]
    raise InvalidInput(f"Invalid expression type {json.get('type')!r}: expected one of {', '.join(known)}.")


def _refuse(json: Mapping[str, Any], *keys: str) -> None:
    for key in keys:
        if key in json:
            raise InvalidInput(f"Invalid expression of type {json.get('type')!r}: expected no {key!r}, got one.")


def _parse_literal(json: Any) -> JsonLiteral | None:
    """A literal as it is, or wrapped in an object of type literal."""
    if isinstance(json, Mapping) and "type" in json:
        if str(json["type"]).lower() != "literal":
            raise InvalidInput(f"Invalid value {json!r}: expected a literal, got type {json['type']!r}.")
        json = _need(json, "value")
    return None if json is None else JsonLiteral(json)


def _parse_term(json: Any) -> Term:
    if isinstance(json, str):
        return Ref(json)
    if isinstance(json, Mapping) and json.get("type") == "reference" and isinstance(json.get("term"), str):
        return Ref(json["term"])
    if isinstance(json, Mapping) and json.get("type") == "transform":
        source, transform = _parse_term(_need(json, "term")), parse_transform(str(_need(json, "transform")))
        if not isinstance(source, Ref) or isinstance(transform, UnknownTransform):
            raise Unsupported(f"Cannot use term {json!r} in a predicate: expected a known transform of a column.")
        return Transformed(transform, source)
    raise InvalidInput(f"Invalid term {json!r}: expected a column name or a transform.")


def _without_null(leaf: Leaf) -> Predicate:
    """A parsed leaf with Iceberg's meaning: a negative comparison is true for null."""
    match leaf:
        case Compare(Op.NE, term, _) | NotStartsWith(term, _):
            return or_(leaf, IsNull(term))
        case NotIn(term, values):
            # Iceberg drops nulls from the list instead of making the whole unknown.
            return or_(NotIn(term, tuple(v for v in values if v is not None)), IsNull(term))
        case _:
            return leaf


def _negated_two_valued(leaf: Leaf) -> Predicate:
    """True wherever the leaf is not true."""
    match leaf:
        case Compare(Op.NE, term, value):
            return Compare(Op.EQ, term, value)
        case Compare(op, term, value):
            return or_(Compare(op.negated, term, value), IsNull(term))
        case In(term, values):
            return _without_null(NotIn(term, values))
        case NotIn(term, values):
            return In(term, values)
        case StartsWith(term, prefix):
            return or_(NotStartsWith(term, prefix), IsNull(term))
        case NotStartsWith(term, prefix):
            return StartsWith(term, prefix)
        case _:
            return normalise(Not(leaf))


def serialize_expression(predicate: Predicate) -> Any:
    """The predicate as Iceberg's JSON; bound or not. Raises Unsupported for what Iceberg cannot express."""
    return _serialize(normalise(predicate))


def _serialize(predicate: Predicate) -> Any:
    match predicate:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case And(children):
            return _joined("and", _serialize_sides(children, NotNull))
        case Or(children):
            return _joined("or", _serialize_sides(children, IsNull))
        case Compare(Op.NE) | NotIn() | NotStartsWith():
            not_null = {"type": "not-null", "term": _serialize_term(predicate.term)}
            return {"type": "and", "left": not_null, "right": _serialize_leaf(predicate)}
        case _:
            return _serialize_leaf(predicate)


def _serialize_sides(children: tuple[Predicate, ...], null_test: type[IsNull | NotNull]) -> list[Any]:
    """The operands of AND or OR. A negative comparison beside a null test of its term needs none of its own: beside
    IS NOT NULL in an AND it cannot meet null, and beside IS NULL in an OR it says that too."""
    tested = {c.term for c in children if isinstance(c, null_test)}
    negative = {c.term for c in children if _is_negative(c)}
    said = negative if null_test is IsNull else set()
    return [
        _serialize_leaf(c) if _is_negative(c) and c.term in tested else _serialize(c)
        for c in children
        if not (isinstance(c, IsNull) and c.term in said)
    ]


def _is_negative(predicate: Predicate) -> TypeGuard[Compare | NotIn | NotStartsWith]:
    """Whether Iceberg's comparison of this name matches null, and SQL's does not."""
    return isinstance(predicate, NotIn | NotStartsWith) or (isinstance(predicate, Compare) and predicate.op is Op.NE)


def _serialize_leaf(leaf: Predicate) -> Any:
    match leaf:
        case IsNull(term) | NotNull(term) | IsNan(term) | NotNan(term):
            name = next(n for n, c in _UNARY.items() if isinstance(leaf, c))
            return {"type": name, "term": _serialize_term(term)}
        case Compare(op, term, value):
            return {"type": _NAMES[op], "term": _serialize_term(term), "value": _serialize_value(term, value)}
        case In(term, values) | NotIn(term, values):
            name = "in" if isinstance(leaf, In) else "not-in"
            return {"type": name, "term": _serialize_term(term), "values": [_serialize_value(term, v) for v in values]}
        case StartsWith(term, prefix) | NotStartsWith(term, prefix):
            name = "starts-with" if isinstance(leaf, StartsWith) else "not-starts-with"
            return {"type": name, "term": _serialize_term(term), "value": _serialize_value(term, prefix)}
        case _:
            raise Unsupported(f"Cannot write {leaf} as Iceberg expression JSON: Iceberg has no such expression.")


def _joined(kind: str, sides: list[Any]) -> Any:
    """A chain as a balanced tree, which no reader's limit on depth stops."""
    while len(sides) > 1:
        pairs = [{"type": kind, "left": a, "right": b} for a, b in zip(sides[::2], sides[1::2])]
        sides = pairs + sides[len(pairs) * 2 :]
    return sides[0]


def _serialize_term(term: Term) -> Any:
    match term:
        case Ref(name):
            return name
        case Column():
            return term.name
        case Transformed(transform, source):
            return {"type": "transform", "transform": str(transform), "term": source.name}
        case _:
            raise Unsupported(f"Cannot write term {term} as Iceberg expression JSON: Iceberg has no such term.")


def _serialize_value(term: Term, value: Any) -> Any:
    if isinstance(term, Column | Transformed) and not isinstance(getattr(term, "source", term), Ref):
        return _typed_json(term_type(term), value)
    match value:
        case JsonLiteral(raw):
            return raw
        case TypedLiteral(type_, inner):
            return _typed_json(type_, inner)
        case bytes():
            return value.hex().upper()
        case datetime.date() | datetime.time() | decimal.Decimal() | uuid.UUID():
            return value.isoformat() if hasattr(value, "isoformat") else str(value)
        case _:
            return value


def _typed_json(type_: PrimitiveType, value: Any) -> Any:
    if isinstance(type_, FixedType | BinaryType):
        return value.hex().upper()
    return value_to_json(type_, value)
