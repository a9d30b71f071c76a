"""Golden tables scanned: which snapshot and schema an expectation means, and our rows in comparable form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.support.golden import RECORDED_ROOT, GoldenTable, golden_root

from skipstone.metadata import reserved
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.schema import Schema
from skipstone.metadata.tables.snapshots import Snapshot
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.metadata.tables.table_metadata_json import parse_table_metadata
from skipstone.metadata.types import Field, StructType
from skipstone.plan import plan_scan
from skipstone.plan.entries import unified_type
from skipstone.predicate import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.read import read_plan
from skipstone.storage.local import LocalStorage
from skipstone.storage.moved import MovedStorage

Rows = dict[tuple[str, int], dict[str, Any]]

# The other labels were read when their snapshot was the current one, under a schema that is still in use.
_OF_A_SNAPSHOT = re.compile(r"s\d\d-|before-drop$")


@cache
def golden_storage() -> MovedStorage:
    """Locations recorded in golden metadata, read where the tables were unpacked."""
    return MovedStorage(LocalStorage(), {RECORDED_ROOT: str(golden_root())})


@cache
def golden_metadata(name: str) -> TableMetadata:
    table = GoldenTable(name)
    return parse_table_metadata(table.metadata_file.read_bytes(), source=name)


def meant(metadata: TableMetadata, expectation: Mapping[str, Any]) -> tuple[Snapshot | None, Schema]:
    """A snapshot id or tag is read with the schema of its snapshot, a branch and the table itself with the current."""
    ref, snapshot_id = expectation.get("ref"), expectation.get("snapshot_id")
    if ref and ref.isdigit() and ref not in metadata.refs:
        snapshot = metadata.snapshot(int(ref))
        return snapshot, metadata.snapshot_schema(snapshot)
    if ref and ref in metadata.refs:
        snapshot = metadata.ref_snapshot(ref)
        is_branch = metadata.ref(ref).is_branch
    else:
        snapshot = metadata.snapshot(snapshot_id) if snapshot_id else metadata.current_snapshot
        is_branch = not _OF_A_SNAPSHOT.match(expectation.get("label", ""))
    return snapshot, metadata.current_schema if is_branch or snapshot is None else metadata.snapshot_schema(snapshot)


def metadata_columns(metadata: TableMetadata) -> list[Field]:
    return [
        reserved.FILE,
        reserved.POS,
        reserved.SPEC_ID,
        reserved.partition_column(unified_type(metadata)),
        reserved.ROW_ID,
        reserved.LAST_UPDATED_SEQUENCE_NUMBER,
    ]


def scanned(
    metadata: TableMetadata,
    snapshot: Snapshot | None,
    schema: Schema,
    wanted: StructType,
    predicate: Predicate = TRUE,
    float_order: FloatOrder = FloatOrder.IEEE,
) -> Rows:
    """Our rows by file and position, which `wanted` must include."""
    storage = golden_storage()
    plan = plan_scan(metadata, storage, snapshot=snapshot, schema=schema, predicate=predicate, float_order=float_order)
    found: Rows = {}
    for batch in read_plan(plan, storage, wanted=wanted, threads=1):
        for row in range(batch.num_rows):
            values = {f.name: arrow_to_value(f.type, batch.column(i)[row]) for i, f in enumerate(wanted.fields)}
            key = (values["_file"].rpartition("/")[2], values["_pos"])
            assert key not in found, f"row {key} twice"
            found[key] = values
    return found
