"""The columns of an Arrow batch by field id, and the values of a bound term as one plain array.

Ids are those in the field metadata, at all levels of structs. A value under a null struct is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow
import pyarrow.compute

from skipstone.errors import InvalidInput
from skipstone.metadata.formats.arrow_convert import convert_array, decoded
from skipstone.metadata.formats.arrow_types import FIELD_ID_KEY, arrow_to_value, values_to_array
from skipstone.metadata.partitions.transforms import Transform
from skipstone.metadata.partitions.transforms_arrow import apply_arrow
from skipstone.metadata.types import PrimitiveType, Value
from skipstone.metadata.values.variant import parse_variant
from skipstone.predicate.arrow_values import Array
from skipstone.predicate.nodes import Column, Term, Transformed, VariantGet, WholeType, term_type
from skipstone.predicate.variant_terms import get_path

pa: Any = pyarrow
pc: Any = pyarrow.compute

# For each field id the way to its array: the position of a column, then of a child in each struct on the way.
Paths: TypeAlias = Mapping[int, tuple[int, ...]]


def column_paths(schema: pyarrow.Schema) -> Paths:
    """Where the columns of batches with this schema are, by the field ids in its metadata."""
    return dict(_walk(list(schema), ()))


def _walk(fields: list[Any], above: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    for position, field in enumerate(fields):
        path = (*above, position)
        if FIELD_ID_KEY in (field.metadata or {}):
            yield int(field.metadata[FIELD_ID_KEY]), path
        if pa.types.is_struct(field.type):
            yield from _walk([field.type.field(i) for i in range(field.type.num_fields)], path)


class TermValues:
    """The values of terms over one batch. Each is made once, however often a predicate names it."""

    def __init__(self, batch: pyarrow.RecordBatch, paths: Paths) -> None:
        self._batch: Any = batch
        self._paths = paths
        self._made: dict[Term, Array | None] = {}

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def array(self, term: Term) -> Array | None:
        """One value a row; None if a value leaves the term's type, which only Python can then hold."""
        if term not in self._made:
            self._made[term] = self._make(term)
        return self._made[term]

    def rows(self, term: Term) -> list[Value]:
        """One value a row, as the reference sees them."""
        match term:
            case Column():
                return [arrow_to_value(term.type, scalar) for scalar in self._column(term)]
            case Transformed(transform, Column() as source):
                return [transform.apply(source.type, value) for value in self.rows(source)]
            case VariantGet(Column() as source, path, type_):
                return [_field_of(variant, path, type_, source) for variant in self._column(source)]
            case _:
                raise TypeError(f"Cannot evaluate unbound term {term}. Bind the predicate first.")

    def _make(self, term: Term) -> Array | None:
        match term:
            case Column():
                return self._column(term)
            case Transformed(transform, Column() as source):
                return _transformed(transform, source.type, self.array(source))
            case _:
                return decoded(values_to_array(term_type(term), self.rows(term)))

    def _column(self, column: Column) -> Array:
        path = self._paths.get(column.field_id)
        if path is None:
            raise InvalidInput(
                f"Cannot filter rows by field {column.field_id} '{column.name}': expected a column with this id among "
                f"{', '.join(self._batch.schema.names)}, got none. Read the columns of the filter too."
            )
        array = self._batch.column(path[0])
        for position in path[1:]:
            array = pc.struct_field(decoded(array), [position])  # null where the struct is
        if isinstance(column.type, WholeType):
            return array
        return decoded(convert_array(array, column.type, where=f"column '{column.name}' (id {column.field_id})"))


def _transformed(transform: Transform, type_: PrimitiveType, array: Array) -> Array | None:
    try:
        return apply_arrow(transform, type_, array)
    except InvalidInput:  # a result that does not fit its type: `truncate` just above the smallest value
        return None


def _field_of(variant: Any, path: str, type_: PrimitiveType, column: Column) -> Value:
    if not variant.is_valid:
        return None
    parts = variant.as_py()
    source = f"variant in column '{column.name}' (id {column.field_id})"
    return get_path(parse_variant(parts["metadata"], parts["value"], source=source), path, type_)
