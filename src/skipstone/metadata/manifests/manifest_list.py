"""Manifest lists: the manifests of one snapshot, with what lets a reader skip them.

Writing gives new manifests the snapshot's sequence number and data manifests their first row id; so a retried commit
rewrites only this file. Reading goes by field id, because older writers used other names, and fills in the defaults of
v1. A null count means unknown.

Spec: "Manifest Lists", "First Row ID Assignment", "Sequence Numbers", Appendix E.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skipstone.errors import FormatViolation, InvalidInput, UnknownVersion
from skipstone.metadata.avro import AvroContainer, Caps, decode, parse_container
from skipstone.metadata.avro.encode import Codec, encode
from skipstone.metadata.manifests.manifest import (
    UNASSIGNED_SEQUENCE_NUMBER,
    FieldSummary,
    ManifestContent,
    ManifestFile,
)
from skipstone.metadata.manifests.manifest_list_columns import (
    COLUMNS,
    COUNTS,
    DEFAULTS,
    NOT_NEGATIVE,
    REQUIRED,
    SUMMARY_IDS,
    SUMMARY_TYPE,
    column_of_field,
    summary_of_field,
)
from skipstone.metadata.manifests.manifest_list_quick import quick_manifests
from skipstone.metadata.manifests.manifest_schema import FORMAT_VERSIONS, check_format_version, manifest_file_schema
from skipstone.metadata.tables.row_lineage import assign_first_row_ids

_ZERO: Final = pa.scalar(0)

MANIFEST_LIST_SCHEMA: Final = pa.schema([pa.field(name, arrow) for name, (_, arrow) in COLUMNS.items()])


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenManifestList:
    """The bytes of a manifest list, its manifests with all numbers assigned, and the table's next row id (v3)."""

    data: bytes
    manifests: tuple[ManifestFile, ...]
    next_row_id: int | None


def write_manifest_list(
    manifests: Iterable[ManifestFile],
    *,
    format_version: int,
    snapshot_id: int,
    parent_snapshot_id: int | None,
    sequence_number: int = 0,
    first_row_id: int | None = None,
    codec: Codec = "deflate",
    level: int | None = None,
) -> WrittenManifestList:
    """Encode a snapshot's manifests, in the given order.

    Manifests without a sequence number get the snapshot's; in v3, data manifests without a first row id get the next
    one from `first_row_id`, the table's next row id, on.
    """
    check_format_version(format_version)
    listed = [_numbered(m, format_version, snapshot_id, sequence_number) for m in manifests]
    next_row_id = None
    metadata = {
        "snapshot-id": str(snapshot_id).encode(),
        "parent-snapshot-id": (b"null" if parent_snapshot_id is None else str(parent_snapshot_id).encode()),
    }
    if format_version >= 2:
        metadata["sequence-number"] = str(sequence_number).encode()
    if format_version >= 3:
        if first_row_id is None:
            raise InvalidInput("Cannot write a v3 manifest list: expected first_row_id, the table's next row id.")
        listed, next_row_id = assign_first_row_ids(listed, first_row_id)
        metadata["first-row-id"] = str(first_row_id).encode()
    metadata["format-version"] = str(format_version).encode()
    file_schema = manifest_file_schema(format_version)
    metadata["iceberg.schema"] = file_schema.iceberg_json
    names = [f["name"] for f in file_schema.avro["fields"]]
    data = encode(
        file_schema.avro,
        manifests_to_arrow(listed).select(names),
        metadata=metadata,
        codec=codec,
        level=level,
        schema_json=file_schema.avro_json,
    )
    return WrittenManifestList(data=data, manifests=tuple(listed), next_row_id=next_row_id)


def read_manifest_list(
    data: bytes | memoryview, *, source: str, format_version: int | None = None, caps: Caps | None = None
) -> list[ManifestFile]:
    """The manifests of a snapshot, in the order of the list."""
    container = _container(data, source, format_version, caps)
    quick = quick_manifests(container)
    return manifests_from_arrow(_to_arrow(container)) if quick is None else quick


def manifest_list_to_arrow(
    data: bytes | memoryview, *, source: str, format_version: int | None = None, caps: Caps | None = None
) -> pa.Table:
    """A manifest list as an Arrow table with the columns of `MANIFEST_LIST_SCHEMA`, one row a manifest.

    `format_version` is the table's; a list may be of that version or an earlier one.
    """
    return _to_arrow(_container(data, source, format_version, caps))


def _container(data: bytes | memoryview, source: str, format_version: int | None, caps: Caps | None) -> AvroContainer:
    container = parse_container(data, source=source, caps=caps or Caps(), kind="manifest list", row_word="manifest")
    _check_version(container, format_version)
    return container


def _to_arrow(container: AvroContainer) -> pa.Table:
    fields = _fields_by_name(container)
    decoded = decode(container, fields=[f["name"] for f in fields.values()])
    columns: dict[str, Any] = {}
    for name, (_, arrow) in COLUMNS.items():
        if name in fields:
            column: Any = decoded.column(fields[name]["name"])
            if name == "partitions":
                column = _renamed_summaries(column, fields[name], container)
            columns[name] = _typed(column, arrow, name, container)
        else:
            if name in REQUIRED:
                container.fail(f"expected the field {name} (id {COLUMNS[name][0]}), got none")
            columns[name] = pa.nulls(decoded.num_rows, arrow)
    for name, value in DEFAULTS.items():
        columns[name] = columns[name].fill_null(value)
    _check_values(columns, container)
    return pa.table(columns, schema=MANIFEST_LIST_SCHEMA)


def manifests_to_arrow(manifests: Sequence[ManifestFile]) -> pa.Table:
    """Manifest files as an Arrow table with the columns of `MANIFEST_LIST_SCHEMA`."""
    columns: dict[str, Any] = {}
    for name, (_, arrow) in COLUMNS.items():
        values = [getattr(m, name) for m in manifests]
        if name == "partitions":
            values = [None if v is None else [_summary_row(s) for s in v] for v in values]
        try:
            columns[name] = pa.array(values, arrow)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"Cannot write manifest list: {name}: expected {arrow}, got {error}.") from error
    return pa.table(columns)


def manifests_from_arrow(table: pa.Table) -> list[ManifestFile]:
    """The inverse of `manifests_to_arrow`."""
    manifests = []
    for row in table.select(list(COLUMNS)).to_pylist():
        summaries = row.pop("partitions")
        content = ManifestContent(row.pop("content"))
        partitions = None if summaries is None else tuple(FieldSummary(**s) for s in summaries)
        manifests.append(ManifestFile(content=content, partitions=partitions, **row))
    return manifests


def embedded_manifests(
    locations: Sequence[str], lengths: Sequence[int], *, snapshot_id: int, partition_spec_id: int = 0
) -> list[ManifestFile]:
    """The manifests of a v1 snapshot that names them in the table metadata instead of a list: nothing is counted."""
    if len(locations) != len(lengths):
        raise InvalidInput(
            f"Cannot list the manifests of snapshot {snapshot_id}: expected a length for each of "
            f"{len(locations)} manifests, got {len(lengths)}."
        )
    return [
        ManifestFile(
            manifest_path=location,
            manifest_length=length,
            partition_spec_id=partition_spec_id,
            sequence_number=0,
            min_sequence_number=0,
            added_snapshot_id=snapshot_id,
        )
        for location, length in zip(locations, lengths, strict=True)
    ]


def _numbered(manifest: ManifestFile, format_version: int, snapshot_id: int, sequence_number: int) -> ManifestFile:
    """The manifest with its sequence numbers, checked against what this version requires."""
    where = f"Cannot list manifest {manifest.manifest_path}"
    if manifest.manifest_length < 0:
        raise InvalidInput(f"{where}: expected a length of 0 or more, got {manifest.manifest_length}.")
    if format_version < 3 and manifest.first_row_id is not None:
        raise InvalidInput(f"{where}: expected first_row_id null before v3, got {manifest.first_row_id}.")
    if format_version == 1:
        if manifest.content != ManifestContent.DATA:
            raise InvalidInput(f"{where}: expected a data manifest in a v1 table, got deletes. Upgrade the table.")
        return replace(manifest, sequence_number=0, min_sequence_number=0)
    for name in COUNTS:
        if getattr(manifest, name) is None:
            raise InvalidInput(f"{where}: expected {name}, which v{format_version} requires, got none. Count it first.")
    number, least = manifest.sequence_number, manifest.min_sequence_number
    if UNASSIGNED_SEQUENCE_NUMBER in (number, least) and manifest.added_snapshot_id != snapshot_id:
        raise InvalidInput(
            f"{where}: expected sequence numbers for a manifest that snapshot {manifest.added_snapshot_id} added, "
            f"got none. Only manifests of snapshot {snapshot_id} take its number."
        )
    return replace(
        manifest,
        sequence_number=sequence_number if number == UNASSIGNED_SEQUENCE_NUMBER else number,
        min_sequence_number=sequence_number if least == UNASSIGNED_SEQUENCE_NUMBER else least,
    )


def _summary_row(summary: FieldSummary) -> dict[str, Any]:
    return {name: getattr(summary, name) for name in SUMMARY_IDS.values()}


def _check_version(container: AvroContainer, format_version: int | None) -> None:
    text = container.metadata.get("format-version", b"1").decode("utf-8", "replace")
    if not text.isdecimal() or len(text) > 9:
        container.fail(f"metadata key format-version: expected a number, got {text[:40]!r}")
    if int(text) not in FORMAT_VERSIONS:
        raise UnknownVersion(
            f"Invalid manifest list {container.source}: metadata key format-version: expected 1 to "
            f"{FORMAT_VERSIONS[-1]}, got {text}. Use a newer release to read this table."
        )
    if format_version is not None and int(text) > format_version:
        container.fail(f"expected v{format_version} or earlier, got v{text}")


def _fields_by_name(container: AvroContainer) -> dict[str, dict[str, Any]]:
    """The list's Avro fields under the spec's names: by id, or by name where there is no id."""
    schema: Any = container.schema
    if not isinstance(schema, dict) or not isinstance(schema.get("fields"), list):
        container.fail("avro.schema: expected a record with fields")
    found: dict[str, dict[str, Any]] = {}
    for f in schema["fields"]:
        if not isinstance(f, dict) or not isinstance(f.get("name"), str):
            container.fail(f"avro.schema: expected fields with names, got {f!r}")
        name = column_of_field(f)
        if name is None:
            continue
        if name in found:
            container.fail(f"avro.schema: expected one field {name} (id {COLUMNS[name][0]}), got two")
        found[name] = f
    return found


def _renamed_summaries(column: Any, field: dict[str, Any], container: AvroContainer) -> Any:
    """Field summaries with the spec's names, matched by id."""
    if column.null_count == len(column):
        return pa.nulls(len(column), COLUMNS["partitions"][1])
    union = field["type"]
    array = next((t for t in union if isinstance(t, dict)), None) if isinstance(union, list) else union
    record = array.get("items") if isinstance(array, dict) else None
    if not isinstance(record, dict) or record.get("type") != "record":
        container.fail("avro.schema: expected partitions to be an array of field_summary records")
    places: dict[str, int] = {}
    for place, f in enumerate(record["fields"]):
        name = summary_of_field(f)
        if name is not None:
            places[name] = place
    chunks = [_renamed_chunk(chunk, places, container) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=COLUMNS["partitions"][1])


def _renamed_chunk(chunk: Any, places: dict[str, int], container: AvroContainer) -> Any:
    if not pa.types.is_list(chunk.type) or not pa.types.is_struct(chunk.type.value_type):
        container.fail(f"partitions: expected a list of field_summary structs, got {chunk.type}")
    values = chunk.values
    if values.null_count:
        container.fail("partitions: expected field summaries, got null among them")
    children = []
    for f in SUMMARY_TYPE:
        child = values.field(places[f.name]) if f.name in places else pa.nulls(len(values), f.type)
        children.append(_typed(child, f.type, f"partitions.{f.name}", container))
    if children[0].null_count:
        container.fail("partitions.contains_null: expected a value in every summary, got null")
    structs = pa.StructArray.from_arrays(children, fields=list(SUMMARY_TYPE))
    validity = chunk.is_null() if chunk.null_count else None
    return pa.ListArray.from_arrays(chunk.offsets, structs, type=COLUMNS["partitions"][1], mask=validity)


def _typed(column: Any, arrow: Any, name: str, container: AvroContainer) -> Any:
    if column.type == arrow:
        return column
    both_integers = pa.types.is_integer(column.type) and pa.types.is_integer(arrow)
    if not both_integers and column.null_count != len(column):
        container.fail(f"{name}: expected {arrow}, got {column.type}")
    try:
        return column.cast(arrow) if both_integers else pa.nulls(len(column), arrow)
    except pa.ArrowInvalid as error:
        raise FormatViolation(
            f"Invalid manifest list {container.source}: {name}: expected {arrow}, got {error}."
        ) from error


def _check_values(columns: dict[str, Any], container: AvroContainer) -> None:
    for name in REQUIRED:
        if columns[name].null_count:
            _fail_at(columns[name].is_null(), name, "a value", columns, container)
    is_known: Any = pc.is_in(columns["content"], value_set=pa.array([0, 1], pa.int32()))
    _fail_at(pc.invert(is_known), "content", "0 (data) or 1 (deletes)", columns, container)
    for name in NOT_NEGATIVE:
        if _least(columns[name]) < 0:
            _fail_at(pc.less(columns[name], _ZERO).fill_null(False), name, "0 or more", columns, container)


def _least(column: Any) -> int:
    least: Any = pc.min(column)
    return least.as_py() or 0


def _fail_at(bad: Any, name: str, expected: str, columns: dict[str, Any], container: AvroContainer) -> None:
    if pc.any(bad).as_py():
        row = int(
            np.flatnonzero(bad.to_numpy(zero_copy_only=False) if isinstance(bad, pa.Array) else bad.to_numpy())[0]
        )
        got = columns[name][row].as_py()
        container.fail(f"manifest {row}, {name}: expected {expected}, got {'null' if got is None else repr(got)}")
