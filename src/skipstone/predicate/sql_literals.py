"""The literals of SQL text, as Spark reads them.

Digits are an integer, a point makes a decimal, an exponent or the suffix D a double; quotes make a string. A cast of a
literal is carried out here, with Spark's rounding, or refused: a literal never changes its value unnoticed.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Final

from sqlglot import exp

from skipstone.errors import InvalidInput, Unsupported
from skipstone.metadata.types import DATE, FLOAT, TIME, TIMESTAMP_NS, TIMESTAMPTZ_NS
from skipstone.metadata.values import from_python
from skipstone.metadata.values.checks import to_float32
from skipstone.predicate.literals import DAY_NANOS, LiteralMismatch, TypedLiteral, kind_of, nanos_of

_INTEGER_BITS: Final = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.INT: 32, exp.DType.BIGINT: 64}
_WIDE: Final = Context(prec=100)


def is_literal(tree: exp.Expr) -> bool:
    match tree:
        case exp.Literal() | exp.Boolean() | exp.Null() | exp.HexString() | exp.RawString():
            return True
        case exp.Neg() | exp.Paren() | exp.Cast():
            return is_literal(tree.this)
        case exp.Concat():
            return all(is_literal(e) for e in tree.expressions)
        case _:
            return False


def parse_literal(tree: exp.Expr) -> Any:
    """A literal as Python holds it: int, Decimal, float, str, bytes, bool, None, or a `TypedLiteral`."""
    match tree:
        case exp.Paren():
            return parse_literal(tree.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(tree.this)
        case exp.HexString():
            return _hex(str(tree.this))
        case exp.Neg():
            return _negative(parse_literal(tree.this))
        case exp.Concat():
            return _joined([parse_literal(e) for e in tree.expressions])
        case exp.Cast():
            return _cast(tree)
        case exp.RawString():
            return str(tree.this)
        case exp.Literal() if tree.is_string:
            return str(tree.this)
        case exp.Literal():
            return _number(str(tree.this))
        case _:
            raise Unsupported(f"{tree.sql(dialect='spark')} is no literal.")


def _number(text: str) -> int | float | Decimal:
    try:
        if "e" not in text.lower():
            return Decimal(text) if "." in text else int(text)
        number = float(text)
    except (ValueError, InvalidOperation):
        raise LiteralMismatch(f"expected a number, got {text[:40]}.") from None
    if number in (float("inf"), float("-inf")):
        raise LiteralMismatch(f"expected a number that fits a double, got {text[:40]}. Write it with the suffix BD.")
    return number


def _negative(number: Any) -> Any:
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise LiteralMismatch(f"expected a number after -, got {kind_of(number)} {number!r}.")
    # Plain negation rounds a decimal to the 28 digits of the thread's own context.
    return _WIDE.minus(number) if isinstance(number, Decimal) else -number


def _joined(texts: list[Any]) -> str | None:
    if any(t is None for t in texts):
        return None
    if not all(isinstance(t, str) for t in texts):
        raise LiteralMismatch(f"expected strings to join, got {', '.join(kind_of(t) for t in texts)}.")
    return "".join(texts)


def _hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
    except ValueError:
        raise LiteralMismatch(f"expected hexadecimal digits in X'…', got {digits!r}.") from None


def _cast(tree: exp.Cast) -> Any:
    inner = parse_literal(tree.this)
    if inner is None:
        return None
    try:
        return _converted(tree, inner)
    except (ValueError, InvalidOperation, OverflowError, InvalidInput):
        raise LiteralMismatch(f"{kind_of(inner)} {inner!s} cannot be cast to {tree.to.sql(dialect='spark')}.") from None


def _converted(tree: exp.Cast, inner: Any) -> Any:
    target: Any = tree.to.this
    number = inner.strip() if isinstance(inner, str) else inner
    is_number = isinstance(inner, str | int | float | Decimal)
    match target:
        case exp.DType.DATE:
            return TypedLiteral(DATE, nanos_of(inner) // DAY_NANOS)
        case exp.DType.TIMESTAMPNTZ:
            return TypedLiteral(TIMESTAMP_NS, nanos_of(inner))
        case exp.DType.TIMESTAMP | exp.DType.TIMESTAMPTZ | exp.DType.TIMESTAMPLTZ:
            return TypedLiteral(TIMESTAMPTZ_NS, nanos_of(inner))
        case exp.DType.TIME if isinstance(inner, str):
            return TypedLiteral(TIME, from_python(TIME, inner.strip()))
        case exp.DType.FLOAT if is_number:
            return to_float32(FLOAT, float(number))
        case exp.DType.DOUBLE if is_number:
            return float(number)
        case exp.DType.DECIMAL if is_number:
            return _to_decimal(number, [int(p.name) for p in tree.to.expressions])
        case _ if target in _INTEGER_BITS and is_number:
            return _to_integer(number, _INTEGER_BITS[target])
        case exp.DType.TEXT | exp.DType.VARCHAR | exp.DType.CHAR if isinstance(inner, str) and not tree.to.expressions:
            return inner
        case exp.DType.TEXT if isinstance(inner, int) and not isinstance(inner, bool):
            return str(inner)
        case exp.DType.BINARY if isinstance(inner, str | bytes):
            return inner if isinstance(inner, bytes) else inner.encode()
        case exp.DType.BOOLEAN if isinstance(inner, bool):
            return inner
        case _:
            raise Unsupported(f"{tree.sql(dialect='spark')} casts a literal to a type that is not understood here.")


def _to_decimal(number: Any, given: list[int]) -> Decimal:
    """Rounded half up to the scale, which is 0 if not given. The suffix BD has no precision and keeps all digits."""
    exact = Decimal(repr(number) if isinstance(number, float) else number)
    if not given:
        return exact
    precision, scale = given[0], given[1] if len(given) > 1 else 0
    rounded = exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
    if rounded.adjusted() + scale >= precision:
        raise ValueError(f"{rounded} does not fit decimal({precision}, {scale})")
    return rounded


def _to_integer(number: Any, bits: int) -> int:
    """Toward zero, and only what fits: Spark's ANSI mode refuses the rest too."""
    whole = int(number)
    if not -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1):
        raise ValueError(f"{whole} does not fit {bits} bits")
    return whole
