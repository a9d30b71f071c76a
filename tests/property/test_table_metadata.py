"""Laws of table metadata: JSON loses nothing, damage is one clear error, changes keep every cross-reference."""

from __future__ import annotations

import copy
import gzip
import json
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.metadata_builder import START_MS, table
from tests.support.strategies import names, primitive_types, schemas, strings, values

from skipstone.errors import FormatViolation, SkipstoneError, Unsupported
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.sorting import NullOrder, SortDirection, SortField, SortOrder
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_json import schema_from_json, schema_to_json
from skipstone.metadata.tables import metadata_changes as changes
from skipstone.metadata.tables.encryption_keys import EncryptedKey
from skipstone.metadata.tables.history import ancestors_of
from skipstone.metadata.tables.new_table import new_table_metadata
from skipstone.metadata.tables.refs import MAIN, RefType, SnapshotRef, branch
from skipstone.metadata.tables.snapshot_ids import new_snapshot_id
from skipstone.metadata.tables.snapshots import Operation, Snapshot
from skipstone.metadata.tables.statistics_files import BlobMetadata, PartitionStatisticsFile, StatisticsFile
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import (
    parse_table_metadata,
    serialize_table_metadata,
    table_metadata_from_json,
    table_metadata_to_json,
)
from skipstone.metadata.tables.upgrade import upgrade_format_version
from skipstone.metadata.tables.validation import faults_of
from skipstone.metadata.types import (
    Field,
    GeographyType,
    GeometryType,
    PrimitiveType,
    StructType,
    UnknownType,
    VariantType,
)

_NO_DEFAULT = UnknownType | VariantType | GeometryType | GeographyType
_TRANSFORMS = ["identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour", "void"]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


@st.composite
def schemas_with_defaults(draw: st.DrawFn) -> Schema:
    """A schema where some primitive columns have docs and defaults."""
    schema = draw(schemas(primitives=primitive_types(geo=True, variant=True, unknown=True)))
    fields: list[Field] = []
    for f in schema.fields:
        if isinstance(f.type, PrimitiveType) and not isinstance(f.type, _NO_DEFAULT) and draw(st.booleans()):
            # NaN is not equal to itself, which would hide a loss.
            default = st.none() | values(f.type).filter(lambda v: not _is_nan(v))
            f = replace(f, initial_default=draw(default), write_default=draw(default))
        elif isinstance(f.type, StructType) and draw(st.booleans()):
            f = replace(f, initial_default={})
        fields.append(replace(f, doc=draw(st.none() | strings())))
    return replace(schema, fields=tuple(fields))


def _of_version(schema: Schema, version: int) -> bool:
    return version >= 3 or all(
        f.type.min_format_version <= version and f.initial_default is None for f in schema.fields_by_id.values()
    )


@st.composite
def specs_of(draw: st.DrawFn, schema: Schema) -> PartitionSpec:
    fields: list[PartitionField] = []
    for source in schema.primitive_leaves[:4]:
        transform = parse_transform(draw(st.sampled_from(_TRANSFORMS)))
        if transform.can_transform(source.type) and draw(st.booleans()):
            name = f"part {len(fields)} of {schema.schema_id}"
            fields.append(
                PartitionField(source_ids=(source.id,), field_id=1000 + len(fields), name=name, transform=transform)
            )
    return PartitionSpec(spec_id=0, fields=tuple(fields))


@st.composite
def orders_of(draw: st.DrawFn, schema: Schema) -> SortOrder:
    fields: list[SortField] = []
    for source in schema.primitive_leaves[:3]:
        transform = parse_transform(draw(st.sampled_from(_TRANSFORMS[:-1])))
        if transform.can_transform(source.type):
            fields.append(
                SortField(
                    source_ids=(source.id,),
                    transform=transform,
                    direction=draw(st.sampled_from(list(SortDirection))),
                    null_order=draw(st.sampled_from(list(NullOrder))),
                )
            )
    return SortOrder(order_id=1 if fields else 0, fields=tuple(fields))


def next_snapshot(metadata: TableMetadata, parent: int | None, operation: str, rows: int) -> Snapshot:
    has_row_ids = metadata.format_version >= 3
    return Snapshot(
        snapshot_id=new_snapshot_id(metadata.snapshots_by_id),
        parent_snapshot_id=parent,
        sequence_number=metadata.next_sequence_number,
        timestamp_ms=metadata.last_updated_ms + 1,
        manifest_list="s3://lake/snap.avro",
        summary={"operation": operation},
        schema_id=metadata.current_schema_id,
        first_row_id=metadata.next_row_id if has_row_ids else None,
        added_rows=rows if has_row_ids else None,
    )


@st.composite
def tables(draw: st.DrawFn) -> TableMetadata:
    """Metadata of any version, made by a random series of commits."""
    version = draw(st.sampled_from([1, 2, 3]))
    schema = draw(schemas_with_defaults())
    if not _of_version(schema, version):
        schema = Schema(fields=tuple(f for f in schema.fields if _of_version(Schema(fields=(f,)), version)))
    metadata = new_table_metadata(
        schema,
        location=draw(strings().filter(bool)),
        now_ms=START_MS,
        spec=draw(specs_of(schema)),
        sort_order=draw(orders_of(schema)),
        properties=draw(st.dictionaries(strings(), strings(), max_size=3)),
        format_version=version,
    )
    for step in draw(st.lists(st.sampled_from(sorted(_STEPS)), max_size=8)):
        changed = _STEPS[step](draw, metadata)
        metadata = changes.next_metadata(
            metadata, changed, now_ms=metadata.last_updated_ms + 5, base_metadata_file=f"v{step}.json"
        )
    return metadata


def _append(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    snapshot = next_snapshot(
        m, m.current_snapshot_id, draw(st.sampled_from(list(Operation))).value, draw(st.integers(0, 99))
    )
    name = draw(st.sampled_from([MAIN, MAIN, "side", "ünï/cödé"]))
    return changes.set_ref(changes.add_snapshot(m, snapshot), name, branch(snapshot.snapshot_id))


def _tag(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    if not m.snapshots:
        return m
    age = st.none() | st.integers(1, 2**63 - 1)
    snapshot = draw(st.sampled_from(m.snapshots))
    ref = SnapshotRef(snapshot_id=snapshot.snapshot_id, type=RefType.TAG, max_ref_age_ms=draw(age))
    return changes.set_ref(m, "tag " + draw(names()), ref)


def _expire(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    referenced = {r.snapshot_id for r in m.refs.values()}
    old = [s.snapshot_id for s in m.snapshots if s.snapshot_id not in referenced]
    return changes.remove_snapshots(m, draw(st.sets(st.sampled_from(old))) if old else ())


def _roll_back(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    return changes.set_ref(m, MAIN, branch(draw(st.sampled_from(m.snapshots)).snapshot_id)) if m.snapshots else m


def _analyze(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    if m.current_snapshot is None:
        return m
    snapshot_id = m.current_snapshot.snapshot_id
    blob = BlobMetadata(
        type="apache-datasketches-theta-v1",
        snapshot_id=snapshot_id,
        sequence_number=m.current_snapshot.sequence_number,
        fields=tuple(draw(st.lists(st.integers(1, 99), max_size=2))),
        properties=draw(st.dictionaries(strings(), strings(), max_size=1)),
    )
    file = StatisticsFile(
        snapshot_id=snapshot_id,
        statistics_path=draw(strings()),
        file_size_in_bytes=9,
        file_footer_size_in_bytes=8,
        blob_metadata=(blob,),
        key_metadata=draw(st.none() | st.binary(max_size=3)),
    )
    partition_file = PartitionStatisticsFile(snapshot_id=snapshot_id, statistics_path="p", file_size_in_bytes=7)
    return changes.set_partition_statistics(changes.set_statistics(m, file), partition_file)


def _evolve(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    top = m.current_schema.fields
    if not top:
        return m
    renamed = replace(top[0], name=f"renamed {len(m.schemas)}")
    changed, schema_id = changes.add_schema(m, replace(m.current_schema, fields=(renamed, *top[1:])))
    return changes.set_current_schema(changed, schema_id)


def _upgrade(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    return upgrade_format_version(m, draw(st.integers(m.format_version, 3)))


def _encrypt(draw: st.DrawFn, m: TableMetadata) -> TableMetadata:
    if m.format_version < 3:
        return m
    key = EncryptedKey(
        key_id=f"k{len(m.encryption_keys)}",
        encrypted_key_metadata=draw(st.binary(max_size=4)),
        encrypted_by_id=draw(st.none() | st.just("kms")),
    )
    return changes.add_encryption_key(m, key)


_STEPS = {f.__name__: f for f in (_append, _tag, _expire, _roll_back, _analyze, _evolve, _upgrade, _encrypt)}


@given(schema=schemas_with_defaults())
def test_a_schema_survives_json(schema: Schema) -> None:
    stored = json.loads(json.dumps(schema_to_json(schema)))
    again = schema_from_json(stored, source="t")
    assert again == schema
    assert schema_to_json(again) == stored


@settings(max_examples=100, deadline=None)
@given(metadata=tables(), compression=st.sampled_from(["none", "gzip"]))
def test_metadata_of_every_version_survives_json(metadata: TableMetadata, compression: Any) -> None:
    assert parse_table_metadata(serialize_table_metadata(metadata, compression=compression), source="t") == metadata


@settings(max_examples=75, deadline=None)
@given(metadata=tables())
def test_commits_keep_every_reference_and_the_clock(metadata: TableMetadata) -> None:
    assert list(faults_of(metadata)) == []
    main = metadata.refs.get(MAIN)
    assert metadata.current_snapshot_id == (None if main is None else main.snapshot_id)
    if metadata.snapshot_log and main is not None:
        assert metadata.snapshot_log[-1].snapshot_id == main.snapshot_id
    assert all(e.timestamp_ms <= metadata.last_updated_ms for e in metadata.snapshot_log)
    sequence_numbers = [s.sequence_number for s in metadata.snapshots if s.sequence_number]
    assert sequence_numbers == sorted(set(sequence_numbers))
    ranges = [(s.first_row_id, s.added_rows) for s in metadata.snapshots if s.first_row_id is not None]
    assert all(first + (added or 0) <= metadata.next_row_id for first, added in ranges)
    for snapshot in metadata.snapshots:
        assert next(ancestors_of(metadata, snapshot.snapshot_id)) is snapshot


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
    | st.sampled_from([-1, 0, 1, 2**31, 2**63, 10**30, "", "long", "struct", "decimal(99,1)", "bucket[0]"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=3,
)  # fmt: skip


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value below the top one."""
    found: list[tuple[Any, ...]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found.append((*path, key))
        found.extend(_places(inner, (*path, key)))
    return found


_VALID = {v: json.loads(json.dumps(table_metadata_to_json(table(v)))) for v in (1, 2, 3)}
# Columns with defaults, so that default values are damaged too.
_VALID[3]["last-column-id"] = 20
_VALID[3]["schemas"][1]["fields"] += [
    {"id": 10 + i, "name": f"d{i}", "required": False, "type": type_, "initial-default": value, "write-default": value}
    for i, (type_, value) in enumerate(
        [
            ("boolean", True),
            ("decimal(9, 2)", "14.20"),
            ("timestamptz_ns", "2007-12-03T10:15:30.123456789+00:00"),
            ("uuid", "eb26bdb1-a1d8-4aa6-990e-da940875492c"),
            ("fixed[2]", "0aff"),
            ("double", 1.5),
            ({"type": "list", "element-id": 19, "element": "date", "element-required": False}, ["2007-12-03"]),
            ({"type": "struct", "fields": [{"id": 20, "name": "x", "required": False, "type": "int"}]}, {}),
        ]
    )
]
_PLACES = {v: _places(j) for v, j in _VALID.items()}


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """Valid metadata with one to three members replaced, dropped or copied from elsewhere."""
    version = draw(st.sampled_from([1, 2, 3]))
    damaged = copy.deepcopy(_VALID[version])
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(_PLACES[version]))
        holder = damaged
        try:
            for key in parents:
                holder = holder[key]
            match draw(st.sampled_from(["replace", "drop", "copy"])):
                case "replace":
                    holder[last] = draw(_JSON)
                case "drop":
                    del holder[last]
                case _:
                    other = _VALID[version]
                    for key in draw(st.sampled_from(_PLACES[version])):
                        other = other[key]
                    holder[last] = copy.deepcopy(other)
        except (LookupError, TypeError):
            continue  # an earlier mutation took the place away
    return damaged


@settings(max_examples=300, deadline=None)
@given(damaged=mutated())
def test_damaged_json_gives_valid_metadata_or_one_clear_error(damaged: Any) -> None:
    try:
        metadata = table_metadata_from_json(damaged, source="v7.metadata.json")
    except (FormatViolation, Unsupported) as error:
        assert "v7.metadata.json" in str(error)
    else:
        assert parse_table_metadata(serialize_table_metadata(metadata), source="again") == metadata


@settings(max_examples=300, deadline=None)
@given(data=st.data(), compress=st.booleans())
def test_damaged_bytes_give_valid_metadata_or_one_clear_error(data: st.DataObject, compress: bool) -> None:
    stored = bytearray(serialize_table_metadata(table(data.draw(st.sampled_from([1, 2, 3])))))
    stored = bytearray(gzip.compress(stored, mtime=0)) if compress else stored
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(stored) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "insert"])):
            case "flip":
                stored[at] = data.draw(st.integers(0, 255))
            case "cut":
                stored = stored[: at + 1]
            case _:
                stored[at:at] = data.draw(st.binary(min_size=1, max_size=4))
    try:
        parse_table_metadata(bytes(stored), source="v7.metadata.json")
    except SkipstoneError as error:
        assert isinstance(error, FormatViolation | Unsupported)
        assert "v7.metadata.json" in str(error)
