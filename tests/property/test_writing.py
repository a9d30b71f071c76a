"""Writing loses nothing and lies about nothing: rows come back, files hold one partition each, in order, with metrics
that cover them. Any schema, spec, sort order and format."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.support.strategies import primitive_types, same, schemas, values
from tests.support.written import read_values, stored

from skipstone.errors import Unsupported
from skipstone.metadata.formats.arrow_types import to_arrow_schema, values_to_array
from skipstone.metadata.manifests.manifest_rows import partition_values
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec, partition_key
from skipstone.metadata.partitions.sorting import (
    UNSORTED,
    NullOrder,
    SortDirection,
    SortField,
    SortOrder,
    float_order_key,
)
from skipstone.metadata.partitions.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import (
    Field,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    UnknownType,
    Value,
    VariantType,
    children,
    walk,
)
from skipstone.metadata.values import parse_bound
from skipstone.storage import MemoryStorage
from skipstone.write import write_rows

TRANSFORMS = (
    IdentityTransform(),
    BucketTransform(3),
    TruncateTransform(4),
    YearTransform(),
    MonthTransform(),
    DayTransform(),
    HourTransform(),
)


@st.composite
def writes(draw: st.DrawFn, primitives: Any = None) -> tuple[TableMetadata, list[dict[int, Value]]]:
    leaf_types = primitive_types(geo=True, unknown=True) if primitives is None else primitives
    # A new table numbers its columns anew.
    metadata = new_table_metadata(
        draw(schemas(fields_max=4, primitives=leaf_types)), location="memory://lake/t", now_ms=1, format_version=3
    )
    schema = metadata.current_schema
    rows = draw(st.lists(values(schema.struct), max_size=8))
    leaves = [f for f in schema.primitive_leaves if not _is_special(f)]
    spec_fields = []
    for i, leaf in enumerate(draw(st.lists(st.sampled_from(leaves), max_size=2)) if leaves else []):
        transform = draw(st.sampled_from([t for t in TRANSFORMS if t.can_transform(leaf.type)]))
        if all(_fits(transform, leaf, schema, row) for row in rows):
            field = PartitionField(source_ids=(leaf.id,), field_id=1000 + i, name=f"p{i}", transform=transform)
            spec_fields.append(field)
    sort_fields = []
    for leaf in draw(st.lists(st.sampled_from(leaves), max_size=2)) if leaves else []:
        transform = draw(st.sampled_from([t for t in TRANSFORMS if t.can_transform(leaf.type)]))
        if all(_fits(transform, leaf, schema, row) for row in rows):
            sort_fields.append(
                SortField(
                    source_ids=(leaf.id,),
                    transform=transform,
                    direction=draw(st.sampled_from(SortDirection)),
                    null_order=draw(st.sampled_from(NullOrder)),
                )
            )
    properties = {
        "write.format.default": draw(st.sampled_from(["parquet", "parquet", "orc", "avro"])),
        "write.target-file-size-bytes": draw(st.sampled_from(["100", "536870912"])),
        "write.parquet.row-group-size-bytes": draw(st.sampled_from(["64", "134217728"])),
        "write.metadata.metrics.default": draw(st.sampled_from(["full", "truncate(3)", "truncate(16)", "counts"])),
    }
    order = SortOrder(order_id=1, fields=tuple(sort_fields)) if sort_fields else UNSORTED
    metadata = replace(
        metadata,
        partition_specs=(PartitionSpec(spec_id=0, fields=tuple(spec_fields)),),
        sort_orders=(order,),
        default_sort_order_id=order.order_id,
        properties=properties,
    )
    return metadata, rows


def _is_special(f: Field) -> bool:
    return isinstance(f.type, UnknownType | VariantType | GeometryType | GeographyType)


def _at(schema: Schema, row: dict[int, Value], field_id: int) -> Value:
    """The value of a leaf in a row, null where a struct above it is."""
    chain = [field_id, *(a.id for a in schema.ancestors(field_id))][::-1]
    value: Value = row
    for i in chain:
        value = None if value is None else value[i]
    return value


def _fits(transform: Any, leaf: Field, schema: Schema, row: dict[int, Value]) -> bool:
    """Results outside the type (truncation below the lowest long, say) are refused, which is not at issue here."""
    value = _at(schema, row, leaf.id)
    try:
        values_to_array(transform.result_type(leaf.type), [transform.apply(leaf.type, value)])
    except ValueError:
        return False
    return True


def _table(schema: Schema, rows: list[dict[int, Value]]) -> pa.Table:
    columns = [values_to_array(f.type, [row[f.id] for row in rows]) for f in schema.fields]
    return pa.Table.from_arrays(columns, schema=to_arrow_schema(schema))


def _has_empty_struct(schema: Schema) -> bool:
    """Whether nothing of a struct is stored, which the formats refuse."""
    structs = [schema.struct, *(f.type for f in walk(schema.struct) if isinstance(f.type, StructType))]
    return any(all(isinstance(c.type, UnknownType) for c in s.fields) for s in structs)


def _holds_lists_or_maps_of_unknown(schema: Schema) -> bool:
    nested = [f.type for f in walk(schema.struct) if isinstance(f.type, ListType | MapType)]
    return any(isinstance(c.type, UnknownType) for type_ in nested for c in children(type_))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(write=writes(), data=st.data())
def test_rows_come_back_from_sorted_files_of_one_partition_each(
    write: tuple[TableMetadata, list[dict[int, Value]]], data: st.DataObject
) -> None:
    metadata, rows = write
    schema = metadata.current_schema
    assume(not _has_empty_struct(schema))
    storage = MemoryStorage()
    table = _table(schema, rows)
    chunk = data.draw(st.integers(1, 8), label="rows a batch")
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=chunk))
    buffer = data.draw(st.sampled_from([1, 200, 1 << 28]), label="buffer")
    try:
        files = write_rows(reader, metadata=metadata, storage=storage, buffer_bytes=buffer)
    except Unsupported as e:
        # Timestamps that would not be read from ORC as they were meant; lists and maps that ORC and Avro cannot hold.
        assert "to ORC: expected timestamps" in str(e) or _holds_lists_or_maps_of_unknown(schema)
        assert not list(storage.list("memory://lake/t"))
        return

    assert {f.path for f in storage.list("memory://lake/t")} == set(files.column("file_path").to_pylist())
    spec, order = metadata.default_spec, metadata.default_sort_order
    partition_type = spec.partition_type(schema)
    partitions = partition_values(files.column("partition").combine_chunks(), partition_type) if len(files) else []
    found: list[dict[int, Value]] = []
    for entry, partition in zip(files.drop_columns("partition").to_pylist(), partitions, strict=True):
        held = read_values(storage, entry["file_path"], schema.struct)
        found += held
        assert entry["record_count"] == len(held) > 0
        assert entry["file_size_in_bytes"] == storage.size(entry["file_path"])
        assert entry["sort_order_id"] == order.order_id
        for row in held:
            got = [f.transform.apply(spec.source_type(f, schema), _at(schema, row, f.source_id)) for f in spec.fields]
            assert partition_key(partition_type, got) == partition_key(partition_type, partition)
        _check_sorted(schema, order, held)
        _check_metrics(schema, metadata, entry, held)
        _check_ids(schema, stored(storage, entry["file_path"])[0])
    _check_same_rows(rows, found)


def _check_same_rows(expected: list[dict[int, Value]], found: list[dict[int, Value]]) -> None:
    assert len(expected) == len(found)
    left = list(found)
    for row in expected:
        place = next((i for i, other in enumerate(left) if same(row, other)), None)
        assert place is not None, row
        del left[place]


def _check_ids(schema: Schema, file_struct: StructType) -> None:
    wanted = {f.id for f in walk(schema.struct) if not isinstance(f.type, UnknownType)}
    assert {f.id for f in walk(file_struct) if not isinstance(f.type, UnknownType)} >= wanted
    assert {f.id for f in walk(file_struct)} <= {f.id for f in walk(schema.struct)}


# -- order ----------------------------------------------------------------------------------------------------------


def _check_sorted(schema: Schema, order: SortOrder, rows: list[dict[int, Value]]) -> None:
    keys = [[_key(schema, f, row) for f in order.fields] for row in rows]
    for before, after in itertools.pairwise(keys):
        assert functools.reduce(lambda found, pair: found or _compare(*pair), zip(before, after, order.fields), 0) <= 0


def _key(schema: Schema, field: SortField, row: dict[int, Value]) -> Value:
    type_ = schema.field(field.source_id).type
    value = field.transform.apply(type_, _at(schema, row, field.source_id))
    if isinstance(value, float):
        return float_order_key(value)
    return value.bytes if hasattr(value, "bytes") else value


def _compare(a: Value, b: Value, field: SortField) -> int:
    if a is None or b is None:
        if a is None and b is None:
            return 0
        first = -1 if a is None else 1
        return first if field.null_order is NullOrder.NULLS_FIRST else -first
    result = (a > b) - (a < b)
    return result if field.direction is SortDirection.ASC else -result


# -- metrics --------------------------------------------------------------------------------------------------------


def _check_metrics(
    schema: Schema, metadata: TableMetadata, entry: dict[str, Any], rows: list[dict[int, Value]]
) -> None:
    counts, nulls, nans, lower, upper = (
        dict(entry[name])
        for name in ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    )
    mode = metadata.properties["write.metadata.metrics.default"]
    sort_ids = {f.source_id for f in metadata.default_sort_order.fields}
    leaves = [f for f in schema.primitive_leaves if not isinstance(f.type, UnknownType)]
    assert counts.keys() == nulls.keys() == {f.id for f in leaves}
    for leaf in leaves:
        assert isinstance(leaf.type, PrimitiveType)
        present = [v for row in rows if (v := _at(schema, row, leaf.id)) is not None]
        numbers = [v for v in present if not (isinstance(v, float) and math.isnan(v))]
        assert counts[leaf.id] == len(rows)
        assert nulls[leaf.id] == len(rows) - len(present)
        assert nans.get(leaf.id, 0) == len(present) - len(numbers)
        assert (leaf.id in nans) == (str(leaf.type) in ("float", "double"))
        if _is_special(leaf):
            continue
        has_bounds = bool(numbers) and (mode != "counts" or leaf.id in sort_ids)
        assert (leaf.id in lower) == has_bounds
        assert has_bounds or leaf.id not in upper
        if leaf.id in lower:
            assert _order(parse_bound(leaf.type, lower[leaf.id])) <= min(map(_order, numbers))
        if leaf.id in upper:
            assert _order(parse_bound(leaf.type, upper[leaf.id])) >= max(map(_order, numbers))
        if mode == "full" and has_bounds:
            exact = (min(numbers, key=_order), max(numbers, key=_order))
            assert _same_but_zero(parse_bound(leaf.type, lower[leaf.id]), exact[0])
            assert _same_but_zero(parse_bound(leaf.type, upper[leaf.id]), exact[1])


def _same_but_zero(a: Value, b: Value) -> bool:
    """Equal as numbers: a Parquet footer widens zero to the zero of the other sign."""
    return bool(a == b)


def _order(value: Value) -> Any:
    if isinstance(value, float):
        return float_order_key(value)
    return value.bytes if hasattr(value, "bytes") else value


@settings(max_examples=30, deadline=None)
@given(write=writes(primitives=primitive_types(geo=True)))
def test_split_offsets_are_where_row_groups_begin(write: tuple[TableMetadata, list[dict[int, Value]]]) -> None:
    metadata, rows = write
    storage = MemoryStorage()
    table = _table(metadata.current_schema, rows)
    for entry in (
        write_rows(table, metadata=metadata, storage=storage, file_format="parquet")
        .drop_columns("partition")
        .to_pylist()
    ):
        footer = pq.read_metadata(pa.BufferReader(storage.read(entry["file_path"])))
        starts = []
        for group in range(footer.num_row_groups):
            column = footer.row_group(group).column(0)
            starts.append(min(o for o in (column.dictionary_page_offset, column.data_page_offset) if o is not None))
        assert entry["split_offsets"] == starts
        assert starts[0] == 4
