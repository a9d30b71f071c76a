"""Predicates on rows turned into predicates on partition tuples.

Inclusive: if a row matches the predicate, its partition tuple matches the projection; so a partition that does not
match holds no matching row. Strict: if a partition tuple matches the projection, every row in it matches the
predicate. Both are made leaf by leaf for the spec a file was written with.

Spec: "Scan Planning", "Partition Transforms".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import IdentityTransform, UnknownTransform, VoidTransform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import PrimitiveType, Value
from skipstone.predicate.evaluate import evaluate
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import (
    FALSE,
    TRUE,
    Column,
    Leaf,
    Predicate,
    Transformed,
    and_,
    map_leaves,
    or_,
)
from skipstone.predicate.project_leaf import inclusive_leaf, same_leaf, source_ranges, strict_leaf


def project_inclusive(predicate: Predicate, spec: PartitionSpec, schema: Schema) -> Predicate:
    """A predicate on the partition tuple that is true wherever a row of that partition can match."""
    return map_leaves(predicate, lambda leaf: and_(*_candidates(leaf, spec, schema, strict=False)))


def project_strict(predicate: Predicate, spec: PartitionSpec, schema: Schema) -> Predicate:
    """A predicate on the partition tuple that is true only where every row of that partition matches."""
    return map_leaves(predicate, lambda leaf: or_(*_candidates(leaf, spec, schema, strict=True)))


def residual(
    predicate: Predicate,
    spec: PartitionSpec,
    schema: Schema,
    partition: Mapping[int, Value],
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Predicate:
    """What is left to check on the rows of one partition, given by partition field id."""

    def reduce(leaf: Leaf) -> Predicate:
        if evaluate(project_inclusive(leaf, spec, schema), partition, float_order) is not True:
            return FALSE
        if evaluate(project_strict(leaf, spec, schema), partition, float_order) is True:
            return TRUE
        return leaf

    return map_leaves(predicate, reduce)


def partition_column(field: PartitionField, type_: PrimitiveType) -> Column:
    return Column(field_id=field.field_id, type=type_, name=field.name)


def _candidates(leaf: Leaf, spec: PartitionSpec, schema: Schema, *, strict: bool) -> list[Predicate]:
    """What each partition field of the leaf's column says about it."""
    term = leaf.term
    source = term.source if isinstance(term, Transformed) else term
    if not isinstance(source, Column):
        return []
    found: list[Predicate] = []
    for field in spec.fields:
        if field.source_ids != (source.field_id,) or isinstance(field.transform, VoidTransform | UnknownTransform):
            continue
        if not field.transform.can_transform(source.type):
            continue
        result = field.transform.result_type(source.type)
        assert isinstance(result, PrimitiveType)
        projected = _project(leaf, field, source, partition_column(field, result), strict=strict)
        if projected is not None:
            found.append(projected)
    return found


def _project(leaf: Leaf, field: PartitionField, source: Column, target: Column, *, strict: bool) -> Predicate | None:
    """The leaf on one partition field; None if the field says nothing about it."""
    if isinstance(leaf.term, Transformed):
        if leaf.term.transform == field.transform:
            return same_leaf(leaf, target)
        if isinstance(field.transform, IdentityTransform):
            return same_leaf(leaf, Transformed(leaf.term.transform, target))
        ranges = source_ranges(leaf, source)
        if ranges is None:
            return None
        combine: Callable[[Leaf], Predicate] = lambda inner: _or_nothing(  # noqa: E731
            _project(inner, field, source, target, strict=strict), strict=strict
        )
        return map_leaves(ranges, combine)
    if isinstance(field.transform, IdentityTransform):
        return same_leaf(leaf, target)
    make = strict_leaf if strict else inclusive_leaf
    return make(leaf, field.transform, source.type, target)


def _or_nothing(projected: Predicate | None, *, strict: bool) -> Predicate:
    if projected is not None:
        return projected
    return FALSE if strict else TRUE
