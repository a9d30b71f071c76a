"""Which files of a plan need which treatment, in a few groups: never one for each file.

Law: a file goes to Spark's own Parquet reader only if that reader gives every column asked for. Doubts that metadata
leaves are settled by the file's footer; what is left goes through our own reader.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute
from pyspark.sql import SparkSession

from skipstone.metadata.manifests.manifest import FileContent
from skipstone.metadata.partitions.transforms import IdentityTransform
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.types import Field, ListType, MapType, StructType, Type, walk
from skipstone.plan.scan import ScanPlan
from skipstone.spark.footers import structs_of
from skipstone.storage.protocol import Storage
from skipstone.zones.verdict import Verdict

pa: Any = pyarrow
pc: Any = pyarrow.compute

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """Files that are read alike; `rows` are their places in the plan."""

    rows: Rows
    filtered: bool
    by_position: bool = False
    by_equality: bool = False


def treatments(plan: ScanPlan, native: Mask, *, filter_is_read: bool) -> list[Treatment]:
    """The files for Spark's reader: without and with a filter, with deleted positions, with deleted values.

    Where the columns of the filter are read anyway, files that need it not share the frame of those that do: a filter
    costs less than what a union of frames keeps Spark from compiling into one.
    """
    is_sure = _is_sure(plan)
    positions, values = _has_deletes(plan)
    clean = native & ~positions & ~values
    apart = clean & is_sure if not filter_is_read or not (clean & ~is_sure).any() else np.zeros(len(plan), bool)
    found = [
        Treatment(rows=np.flatnonzero(apart), filtered=False),
        Treatment(rows=np.flatnonzero(clean & ~apart), filtered=True),
    ]
    for rows, has_values in ((native & positions & ~values, False), (native & values, True)):
        found.append(
            Treatment(
                rows=np.flatnonzero(rows),
                filtered=bool((rows & ~is_sure).any()),
                by_position=bool((rows & positions).any()),
                by_equality=has_values,
            )
        )
    return [t for t in found if len(t.rows)]


def without_filter(plan: ScanPlan, treatment: Treatment) -> Treatment:
    """Those files of a treatment that need no filter."""
    return replace(treatment, rows=treatment.rows[_is_sure(plan)[treatment.rows]], filtered=False)


def _is_sure(plan: ScanPlan) -> Mask:
    sure: Mask = plan.files.column("verdict").to_numpy() == Verdict.EVERY_ROW_MATCHES
    return sure


def _has_deletes(plan: ScanPlan) -> tuple[Mask, Mask]:
    """Which files have rows deleted by position, and which by value."""
    lists = plan.files.column("deletes").combine_chunks()
    owners = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    content = plan.deletes.column("content").to_numpy()[pc.list_flatten(lists).to_numpy(zero_copy_only=False)]
    masks = np.zeros((2, len(plan)), bool)
    masks[0][owners[content == FileContent.POSITION_DELETES]] = True
    masks[1][owners[content == FileContent.EQUALITY_DELETES]] = True
    return masks[0], masks[1]


def identity_sources(metadata: TableMetadata) -> frozenset[int]:
    """Columns whose value a file's partition may tell, so that the file need not hold them."""
    return frozenset(
        f.source_ids[0]
        for spec in metadata.partition_specs
        for f in spec.fields
        if isinstance(f.transform, IdentityTransform)
    )


def natively_readable(spark: SparkSession, plan: ScanPlan, storage: Storage, fields: list[Field]) -> Mask:
    """Which files Spark's Parquet reader gives all of these columns of, whatever their footers hold."""
    files = plan.files
    native: Mask = pc.equal(pc.utf8_lower(files.column("file_format")), "parquet").to_numpy(zero_copy_only=False)
    native = native & files.column("key_metadata").is_null().to_numpy()
    doubtful = native & _in_doubt(plan, fields)
    rows = np.flatnonzero(doubtful)
    if len(rows):
        structs = structs_of(spark, plan.taking(rows), storage)
        seen: dict[StructType, bool] = {}
        sources = identity_sources(plan.metadata)
        for row, struct in zip(rows.tolist(), structs, strict=True):
            if struct not in seen:
                seen[struct] = _holds_what_it_must(struct, fields, sources)
            native[row] = seen[struct]
    return native


def _in_doubt(plan: ScanPlan, fields: list[Field]) -> Mask:
    if NAME_MAPPING_PROPERTY in plan.metadata.properties:
        return np.ones(len(plan), bool)
    doubt = np.zeros(len(plan), bool)
    asked = {g.id for f in fields for g in (f, *walk(f.type))}
    spec_ids = plan.files.column("spec_id").to_numpy()
    for spec in plan.metadata.partition_specs:
        ids = [f.source_ids[0] for f in spec.fields if isinstance(f.transform, IdentityTransform)]
        for field_id in asked.intersection(ids):
            doubt |= (spec_ids == spec.spec_id) & ~_is_counted(plan, field_id)
    return doubt


def _is_counted(plan: ScanPlan, field_id: int) -> Mask:
    """Where the metrics prove that a file holds a column: its values were counted."""
    facts = None if plan.facts is None else plan.facts.columns.get(field_id)
    if facts is None or facts.value_count is None:
        return np.zeros(len(plan), bool)
    counted: Mask = facts.value_count.is_valid().to_numpy(zero_copy_only=False)
    return counted


def _holds_what_it_must(struct: StructType, fields: list[Field], identity: frozenset[int]) -> bool:
    """Whether a file has ids on all its columns, and the columns that its partition would have to tell."""
    if any(f.id == NO_ID for f in _numbered(struct)):
        return False
    held = {f.id for f in walk(struct)}
    return all(g.id in held for f in fields for g in (f, *walk(f.type)) if g.id in identity)


def _numbered(type_: Type) -> list[Field]:
    """The fields of structs at any depth; elements, keys and values are found without ids."""
    match type_:
        case StructType(fields):
            return [g for f in fields for g in (f, *_numbered(f.type))]
        case ListType():
            return _numbered(type_.element)
        case MapType():
            return [*_numbered(type_.key), *_numbered(type_.value)]
        case _:
            return []
