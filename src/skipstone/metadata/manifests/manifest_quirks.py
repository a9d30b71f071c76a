"""What writers get wrong in manifests, and how to read it all the same.

Iceberg Java 1.12 declares a partition value of type fixed as Avro's fixed, but writes it with a length before it, as
bytes, and reads it back so. By the letter such a manifest is damaged: it is read by the letter first, and with the
length only when that fails. What is written here is declared as the bytes it is, which every reader follows.

Spec: "Appendix A: Format-specific Requirements", "Avro".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from skipstone.metadata.avro.container import AvroContainer


def with_prefixed_fixed_partitions(container: AvroContainer) -> AvroContainer | None:
    """The container with plain fixed partition values declared as bytes; None when the manifest has none."""
    schema = msgspec.json.decode(container.schema_text)
    partition = _field_type(_field_type(schema, "data_file"), "partition")
    names: set[str] = set()
    if not isinstance(partition, dict) or not _redeclare(partition, names):
        return None
    return replace(container, schema=schema, schema_text=msgspec.json.encode(schema))


def _field_type(record: Any, name: str) -> Any:
    fields = record.get("fields") if isinstance(record, dict) else None
    return next((f.get("type") for f in fields or () if isinstance(f, dict) and f.get("name") == name), None)


def _redeclare(partition: dict[str, Any], names: set[str]) -> bool:
    """Put bytes for each fixed of the record, also where a later field refers to one by its name."""
    changed = False
    for field in partition.get("fields") or ():
        union = field.get("type") if isinstance(field, dict) else None
        if not isinstance(union, list):
            continue
        for i, branch in enumerate(union):
            if isinstance(branch, dict) and branch.get("type") == "fixed" and "logicalType" not in branch:
                names.add(str(branch.get("name")))
            elif branch not in names:
                continue
            union[i], changed = "bytes", True
    return changed
