"""Partition tuples and field summaries as zones."""

from __future__ import annotations

import math
import uuid
from typing import Any

import pyarrow as pa
import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.manifests.manifest import FieldSummary, ManifestFile
from skipstone.metadata.partitions.partitioning import PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import DATE, DOUBLE, INT, LONG, STRING, TIMESTAMP, UNKNOWN, UUID, Field, StructType
from skipstone.metadata.values import serialize_value
from skipstone.predicate import as_predicate, bind
from skipstone.zones import ZoneMap
from skipstone.zones.build import from_field_summaries, from_partitions
from skipstone.zones.levels import prove_files, prove_partitions

SCHEMA = Schema(
    fields=(
        Field(id=1, name="id", type=LONG),
        Field(id=2, name="state", type=STRING),
        Field(id=3, name="ts", type=TIMESTAMP),
        Field(id=4, name="d", type=DOUBLE),
        Field(id=5, name="u", type=UUID),
    )
)


def spec_of(**transforms: str) -> PartitionSpec:
    fields = [
        PartitionField(
            source_ids=(SCHEMA.field(name).id,), field_id=1000 + n, name=f"p{n}", transform=parse_transform(t)
        )
        for n, (name, t) in enumerate(transforms.items())
    ]
    return PartitionSpec(fields=tuple(fields))


def verdicts(text: str, spec: PartitionSpec, zones: ZoneMap) -> list[int]:
    return [int(v) for v in prove_partitions(bind(as_predicate(text), SCHEMA), spec, SCHEMA, zones).verdicts()]


def tuples(spec: PartitionSpec, *rows: tuple[Any, ...]) -> ZoneMap:
    type_ = spec.partition_type(SCHEMA)
    columns = [pa.array([r[n] for r in rows], _arrow(f.type)) for n, f in enumerate(type_.fields)]
    return from_partitions(pa.StructArray.from_arrays(columns, names=[f.name for f in type_.fields]), type_, spec)


def _arrow(type_: Any) -> Any:
    return {LONG: pa.int64(), INT: pa.int32(), STRING: pa.string(), DATE: pa.date32(), DOUBLE: pa.float64()}[type_]


def manifest(*summaries: FieldSummary, **counts: int | None) -> ManifestFile:
    return ManifestFile(
        manifest_path="m", manifest_length=1, added_snapshot_id=1, partitions=summaries or None, **counts
    )


def summary(type_: Any, lower: Any, upper: Any, *, null: bool = False, nan: bool | None = False) -> FieldSummary:
    return FieldSummary(
        contains_null=null,
        contains_nan=nan,
        lower_bound=None if lower is None else serialize_value(type_, lower),
        upper_bound=None if upper is None else serialize_value(type_, upper),
    )


# -- tuples


def test_identity_tuples_decide_every_leaf() -> None:
    spec = spec_of(state="identity")
    zones = tuples(spec, ("CA",), ("NY",), (None,))
    assert verdicts("state = 'NY'", spec, zones) == [0, 2, 0]
    assert verdicts("state != 'NY'", spec, zones) == [2, 0, 0]
    assert verdicts("state IS NULL", spec, zones) == [0, 0, 2]
    assert verdicts("state LIKE 'C%'", spec, zones) == [2, 0, 0]
    assert verdicts("state IN ('CA', 'TX')", spec, zones) == [2, 0, 0]


def test_day_tuples_skip_other_days_and_prove_whole_ones() -> None:
    spec = spec_of(ts="day")
    zones = tuples(spec, (9,), (10,), (11,))
    assert verdicts("ts >= TIMESTAMP_NTZ '1970-01-11 12:00:00'", spec, zones) == [0, 1, 2]


def test_null_tuple_holds_only_null_rows_under_any_transform() -> None:
    spec = spec_of(id="bucket[16]")
    zones = tuples(spec, (None,), (3,))
    assert verdicts("id IS NULL", spec, zones) == [2, 0]
    assert verdicts("id = 7", spec, zones)[0] == 0


def test_nan_tuple_matches_as_the_engine_compares() -> None:
    spec = spec_of(d="identity")
    zones = tuples(spec, (math.nan,), (1.0,))
    assert verdicts("d > 5", spec, zones) == [2, 0]
    assert verdicts("isnan(d)", spec, zones) == [2, 0]


def test_unknown_transforms_and_types_are_left_out() -> None:
    spec = spec_of(state="zorder[3]", id="identity")
    type_ = StructType((Field(id=1000, name="p0", type=STRING), Field(id=1001, name="p1", type=UNKNOWN)))
    array = pa.StructArray.from_arrays([pa.array(["x"]), pa.nulls(1)], names=["p0", "p1"])
    assert dict(from_partitions(array, type_, spec).columns) == {}


def test_too_few_fields_are_refused() -> None:
    array = pa.StructArray.from_arrays([pa.array([1])], names=["a"])
    two = StructType((Field(id=1000, name="a", type=LONG), Field(id=1001, name="b", type=LONG)))
    with pytest.raises(InvalidInput, match="expected 2 fields, got 1"):
        from_partitions(array, two)


def test_files_take_the_best_proof_of_partition_and_metrics() -> None:
    spec = spec_of(state="identity")
    partitions = tuples(spec, ("CA",), ("NY",), ("NY",))
    metrics = ZoneMap(num_zones=3, row_count=pa.array([5, 5, 0]))
    predicate = bind(as_predicate("state = 'NY'"), SCHEMA)
    proofs = prove_files(predicate, metrics=metrics, partitions=partitions, spec=spec, schema=SCHEMA)
    assert proofs.verdicts().tolist() == [0, 2, 0]
    with pytest.raises(InvalidInput, match="expected their spec"):
        prove_files(predicate, partitions=partitions)
    with pytest.raises(InvalidInput, match="got none"):
        prove_files(predicate)


# -- field summaries


def test_summaries_skip_manifests_outside_their_bounds() -> None:
    spec = spec_of(id="identity")
    zones = from_field_summaries(
        [manifest(summary(LONG, 0, 9)), manifest(summary(LONG, 10, 19)), manifest(summary(LONG, 10, 19, null=True))],
        spec.partition_type(SCHEMA),
    )
    assert verdicts("id = 5", spec, zones) == [1, 0, 0]
    assert verdicts("id >= 10", spec, zones) == [0, 2, 1]
    assert verdicts("id IS NULL", spec, zones) == [0, 0, 1]
    assert verdicts("id IS NOT NULL", spec, zones) == [2, 2, 1]


def test_a_summary_without_bounds_and_with_nulls_means_all_null() -> None:
    spec = spec_of(id="identity")
    zones = from_field_summaries(
        [manifest(summary(LONG, None, None, null=True)), manifest(summary(LONG, None, None))],
        spec.partition_type(SCHEMA),
    )
    assert verdicts("id IS NULL", spec, zones) == [2, 0]
    assert verdicts("id = 5", spec, zones) == [0, 1]


def test_missing_bounds_of_a_float_may_hide_nan() -> None:
    spec = spec_of(d="identity")
    zones = from_field_summaries(
        [
            manifest(summary(DOUBLE, None, None, null=True, nan=None)),
            manifest(summary(DOUBLE, None, None, null=True, nan=False)),
            manifest(summary(DOUBLE, None, None, null=False, nan=True)),
            manifest(summary(DOUBLE, None, None, null=True, nan=True)),
            manifest(summary(DOUBLE, 0.0, 1.0, nan=True)),
            manifest(summary(DOUBLE, 0.0, 1.0, nan=None)),
            manifest(summary(DOUBLE, 0.0, 1.0, nan=False)),
        ],
        spec.partition_type(SCHEMA),
    )
    assert verdicts("d > 5", spec, zones) == [1, 0, 2, 1, 1, 1, 0]
    assert verdicts("isnan(d)", spec, zones) == [1, 0, 2, 1, 1, 1, 0]
    assert verdicts("d < 5", spec, zones) == [1, 0, 0, 0, 1, 1, 2]
    assert verdicts("d IS NULL", spec, zones) == [1, 2, 0, 1, 0, 0, 0]


def test_manifests_without_usable_summaries_are_kept() -> None:
    spec = spec_of(id="identity")
    zones = from_field_summaries(
        [manifest(), manifest(summary(LONG, 1, 2), summary(LONG, 1, 2))], spec.partition_type(SCHEMA)
    )
    assert verdicts("id = 5", spec, zones) == [1, 1]


def test_a_manifest_without_live_files_is_skipped() -> None:
    spec = spec_of(id="identity")
    both = summary(LONG, 1, 9)
    zones = from_field_summaries(
        [
            manifest(both, added_files_count=0, existing_files_count=0, deleted_files_count=4),
            manifest(both, added_files_count=None, existing_files_count=0),
            manifest(both, added_files_count=1, existing_files_count=0),
        ],
        spec.partition_type(SCHEMA),
    )
    assert verdicts("id = 5", spec, zones) == [0, 1, 1]


def test_a_damaged_bound_is_unknown_or_refused() -> None:
    spec = spec_of(id="identity")
    bad = FieldSummary(contains_null=False, lower_bound=b"123", upper_bound=serialize_value(LONG, 4))
    type_ = spec.partition_type(SCHEMA)
    assert verdicts("id = 3", spec, from_field_summaries([manifest(bad)], type_)) == [1]
    assert verdicts("id = 5", spec, from_field_summaries([manifest(bad)], type_)) == [0]
    with pytest.raises(FormatViolation, match=r"list-1.*partitions\[0\]"):
        from_field_summaries([manifest(bad)], type_, source="list-1", on_bad_bound="raise")


def test_uuid_summaries_hold_in_the_order_of_bytes_and_in_that_of_java() -> None:
    spec = spec_of(u="identity")
    # In Java's signed order the first is the least of the three, in the order of bytes the second is.
    a, b, c = (uuid.UUID(hex=h) for h in ("01" * 8 + "80" * 8, "01" * 8 + "7f" * 8, "02" * 16))
    zones = from_field_summaries(
        [manifest(summary(UUID, a, c)), manifest(summary(UUID, b, b))], spec.partition_type(SCHEMA)
    )
    for value in (a, b, c):
        assert verdicts(f"u = '{value}'", spec, zones)[0] == 1
    assert verdicts(f"u = '{uuid.UUID(int=0)}'", spec, zones) == [0, 0]
    assert verdicts(f"u = '{b}'", spec, zones)[1] == 2
