"""Hypothesis strategies for bound predicates and the rows they are asked about.

    bound_columns(...)          a bound column of a type, id 1
    leaves(term, type, ...)     any leaf on a term, with literals near the given values
    predicates(leaves, ...)     trees of AND, OR and optionally NOT and NULL over leaves

Literals are drawn from the same pool as the rows, so that equality, prefixes and edges are hit often.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from tests.support.strategies import values

from skipstone.metadata.types import (
    BinaryType,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StringType,
    UnknownType,
    Value,
    VariantType,
)
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    UNKNOWN,
    And,
    Box,
    Compare,
    In,
    Intersects,
    IsNan,
    IsNull,
    Leaf,
    Like,
    Not,
    NotIn,
    NotIntersects,
    NotLike,
    NotNan,
    NotNull,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Term,
)


def leaves(
    term: Term, type_: PrimitiveType, *, pool: Sequence[Value] = (), null_literals: bool = False
) -> st.SearchStrategy[Leaf]:
    """Leaves on a term of a type; literals come from the pool half of the time."""
    kinds: list[st.SearchStrategy[Leaf]] = [st.sampled_from([IsNull(term), NotNull(term)])]
    if isinstance(type_, FloatType | DoubleType):
        kinds.append(st.sampled_from([IsNan(term), NotNan(term)]))
    if isinstance(type_, GeometryType | GeographyType):
        edge = st.sampled_from([-180.0, -1.0, 0.0, 1.0, 180.0]) | st.floats(-200, 200)
        boxes = st.builds(Box, edge, edge, edge, edge)
        return st.one_of(
            *kinds, st.builds(Intersects, st.just(term), boxes), st.builds(NotIntersects, st.just(term), boxes)
        )
    if isinstance(type_, VariantType | UnknownType):
        return kinds[0]
    known = [v for v in pool if v is not None]
    literals = values(type_) if not known else st.one_of(st.sampled_from(known), values(type_))
    if null_literals:
        literals = st.one_of(literals, literals, literals, st.none())
    kinds.append(st.builds(Compare, st.sampled_from(Op), st.just(term), literals))
    lists = st.lists(literals, max_size=5).map(tuple)
    kinds += [st.builds(In, st.just(term), lists), st.builds(NotIn, st.just(term), lists)]
    if isinstance(type_, StringType | BinaryType):
        prefixes = st.builds(lambda v, n: None if v is None else v[:n], literals, st.integers(0, 4))
        kinds += [st.builds(StartsWith, st.just(term), prefixes), st.builds(NotStartsWith, st.just(term), prefixes)]
    if isinstance(type_, StringType):
        patterns = like_patterns([v for v in known if isinstance(v, str)])
        kinds += [st.builds(Like, st.just(term), patterns), st.builds(NotLike, st.just(term), patterns)]
    return st.one_of(kinds)


def like_patterns(pool: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Valid patterns, some made from known texts by putting wildcards in."""
    piece = st.sampled_from(["%", "_", "a", "b", "%a", "\\%", "\\_", "\\\\", "é", "😀", "\n", ".", "*"])
    made = st.lists(piece, max_size=6).map("".join)
    if not pool:
        return made
    cut = st.builds(
        lambda text, at, wild: _escaped(text[:at]) + wild + _escaped(text[at + 1 :]),
        st.sampled_from(list(pool)),
        st.integers(0, 5),
        st.sampled_from(["%", "_", "%%", ""]),
    )
    return st.one_of(made, cut)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def predicates(
    leaf: st.SearchStrategy[Leaf], *, negations: bool = False, leaves_max: int = 6
) -> st.SearchStrategy[Predicate]:
    """Trees over leaves. With `negations`, NOT anywhere and NULL as a leaf."""
    constants = [TRUE, FALSE, UNKNOWN] if negations else [TRUE, FALSE]
    base: st.SearchStrategy[Predicate] = st.one_of(leaf, leaf, leaf, st.sampled_from(constants))

    def combine(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        ways: list[st.SearchStrategy[Predicate]] = [st.builds(And, several), st.builds(Or, several)]
        if negations:
            ways.append(st.builds(Not, inner))
        return st.one_of(ways)

    return st.recursive(base, combine, max_leaves=leaves_max)
