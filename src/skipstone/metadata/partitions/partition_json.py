"""Partition specs as JSON: the object form with the spec id, and the list of fields alone.

Law: what is read and written again means the same; a transform not known here keeps its text. Fields without ids
(v1) are numbered by position from 1000.

Spec: "Partition Specs" and "Sort Orders" of Appendix C, "Partition Evolution".
"""

from __future__ import annotations

from typing import Any

from skipstone.errors import FormatViolation
from skipstone.metadata.json_reader import JsonObject, fail
from skipstone.metadata.partitions.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from skipstone.metadata.partitions.transforms import Transform, UnknownTransform, VoidTransform, parse_transform


def spec_to_json(spec: PartitionSpec) -> dict[str, Any]:
    """The object form, with the spec id."""
    return {"spec-id": spec.spec_id, "fields": spec_fields_to_json(spec)}


def spec_fields_to_json(spec: PartitionSpec) -> list[dict[str, Any]]:
    """The list of fields alone: `partition-spec` of v1 metadata and of manifests."""
    return [
        {**sources_to_json(f.source_ids), "field-id": f.field_id, "name": f.name, "transform": str(f.transform)}
        for f in spec.fields
    ]


def spec_from_json(value: object, *, source: str = "partition spec", place: str = "$") -> PartitionSpec:
    """A spec from its object form."""
    obj = JsonObject.of(value, label=source, place=place)
    fields = _fields_from_json(list(obj.objects("fields")), source, place)
    spec_id = obj.int_("spec-id", low=0)
    return obj.guard(lambda: PartitionSpec(spec_id=spec_id, fields=fields))


def spec_from_fields_json(
    value: object, *, spec_id: int = 0, source: str = "partition spec", place: str = "$"
) -> PartitionSpec:
    """A spec from its list of fields alone."""
    if not isinstance(value, list):
        fail(source, place, "a list of partition fields", value)
    objects = [JsonObject.of(v, label=source, place=f"{place}[{i}]") for i, v in enumerate(value)]
    fields = _fields_from_json(objects, source, place)
    holder = JsonObject({}, source, place)
    return holder.guard(lambda: PartitionSpec(spec_id=spec_id, fields=fields))


def _fields_from_json(objects: list[JsonObject], source: str, place: str) -> tuple[PartitionField, ...]:
    with_id = sum(o.has("field-id") for o in objects)
    if with_id not in (0, len(objects)):
        raise FormatViolation(
            f"Invalid {source}: {place}: expected a field-id on all {len(objects)} partition fields or on none, "
            f"got {with_id}."
        )
    return tuple(_field_from_json(o, PARTITION_FIELD_ID_START + i) for i, o in enumerate(objects))


def _field_from_json(obj: JsonObject, id_by_position: int) -> PartitionField:
    source_ids = sources_from_json(obj)
    field_id = obj.optional_int("field-id", low=0)
    name, text = obj.text("name"), obj.text("transform")
    return obj.guard(
        lambda: PartitionField(
            source_ids=source_ids,
            field_id=id_by_position if field_id is None else field_id,
            name=name,
            transform=transform_of_sources(text, source_ids),
        )
    )


def sources_to_json(source_ids: tuple[int, ...]) -> dict[str, Any]:
    """`source-id` for one source column, `source-ids` for several: never both."""
    return {"source-id": source_ids[0]} if len(source_ids) == 1 else {"source-ids": list(source_ids)}


def sources_from_json(obj: JsonObject) -> tuple[int, ...]:
    if not obj.has("source-ids"):
        return (obj.int_("source-id"),)
    source_ids = obj.ints("source-ids")
    if not source_ids:
        obj.fail("source-ids", "at least one source column id", [])
    return source_ids


def transform_of_sources(text: str, source_ids: tuple[int, ...]) -> Transform:
    """The transform a text names. No transform with several arguments is defined yet, so such a one is unknown."""
    transform = parse_transform(text)
    if len(source_ids) > 1 and not isinstance(transform, VoidTransform):
        return UnknownTransform(text)
    return transform
