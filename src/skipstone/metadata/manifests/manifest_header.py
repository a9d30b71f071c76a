"""What a manifest says about itself in its Avro key-value metadata: schema, partition spec, version, content.

Law: what is missing in old manifests is None or the default of v1; what is there and wrong is refused.

Spec: "Manifests".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from skipstone.errors import FormatViolation, UnknownVersion
from skipstone.metadata.avro.container import AvroContainer, parse_container
from skipstone.metadata.json_reader import parse_json
from skipstone.metadata.manifests.manifest import ManifestContent
from skipstone.metadata.partitions.partition_json import spec_from_fields_json, spec_from_json
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.schema_json import schema_from_json

FORMAT_VERSION_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestHeader:
    """`schema` and `spec` are None when the manifest does not carry them."""

    schema: Schema | None
    schema_id: int | None
    spec: PartitionSpec | None
    spec_id: int
    format_version: int
    content: ManifestContent


def parse_manifest_container(data: bytes | memoryview, *, source: str) -> AvroContainer:
    """The checked frame of a manifest."""
    return parse_container(data, source=source, kind="manifest", row_word="entry")


def read_manifest_header(data: bytes | memoryview, *, source: str) -> ManifestHeader:
    """The header of a manifest; its entries are not decoded."""
    return header_of(parse_manifest_container(data, source=source))


def header_of(container: AvroContainer) -> ManifestHeader:
    schema = schema_of(container)
    schema_id = _number(container, "schema-id", None)
    return ManifestHeader(
        schema=schema,
        schema_id=schema.schema_id if schema_id is None and schema is not None else schema_id,
        spec=spec_of(container),
        spec_id=_number(container, "partition-spec-id", 0) or 0,
        format_version=format_version_of(container),
        content=content_of(container),
    )


def format_version_of(container: AvroContainer) -> int:
    version = _number(container, "format-version", 1) or 0
    if version > FORMAT_VERSION_MAX:
        raise UnknownVersion(
            f"Invalid manifest {container.source}: metadata format-version: expected 1 to {FORMAT_VERSION_MAX}, "
            f"got {version}. Use a newer release to read this table."
        )
    if version < 1:
        container.fail(f"metadata format-version: expected 1 to {FORMAT_VERSION_MAX}, got {version}")
    return version


def content_of(container: AvroContainer) -> ManifestContent:
    text = container.metadata.get("content", b"data")
    found = next((c for c in ManifestContent if c.text.encode() == text.lower()), None)
    if found is None:
        container.fail(f"metadata content: expected 'data' or 'deletes', got {text[:40]!r}")
    return found


def schema_of(container: AvroContainer) -> Schema | None:
    """The table's schema at the time the manifest was written."""
    text = container.metadata.get("schema")
    if text is None:
        return None
    try:
        return _parse_schema(text)
    except FormatViolation as violation:
        container.fail(f"metadata schema: {str(violation).rstrip('.')}")


def spec_of(container: AvroContainer) -> PartitionSpec | None:
    text = container.metadata.get("partition-spec")
    if text is None:
        return None
    spec_id = _number(container, "partition-spec-id", 0) or 0
    try:
        return _parse_spec(text, spec_id)
    except FormatViolation as violation:
        container.fail(f"metadata partition-spec: {str(violation).rstrip('.')}")


# A table's manifests share these texts, so they are parsed once; the messages get the file's name above.
@lru_cache(maxsize=64)
def _parse_schema(text: bytes) -> Schema:
    return schema_from_json(parse_json(text, label="schema"), source="metadata")


@lru_cache(maxsize=64)
def _parse_spec(text: bytes, spec_id: int) -> PartitionSpec:
    parsed = parse_json(text, label="partition spec")
    if isinstance(parsed, dict):  # some writers store the whole spec
        return spec_from_json(parsed).with_id(spec_id)
    return spec_from_fields_json(parsed, spec_id=spec_id)


def _number(container: AvroContainer, key: str, default: int | None) -> int | None:
    text = container.metadata.get(key)
    if text is None:
        return default
    if not (text.isdigit() and len(text) < 10):
        container.fail(f"metadata {key}: expected a number, got {text[:40]!r}")
    return int(text)
