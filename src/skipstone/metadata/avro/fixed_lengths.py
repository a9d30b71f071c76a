"""Partition values of type fixed that were written with a length before them.

Iceberg Java 1.12 declares a partition value of type fixed as Avro's fixed, but writes it with a length before it, as
bytes, and reads it back so, in manifests and in partition statistics. Others write by the letter. Either may be read as
the other without an error: where the last byte of a value has its high bit set, the letter takes the length for the
first byte, and the last byte for a part of the number that follows. So what tells them apart is the length: where every
value has its own right one before it, these are lengths. What is written here is declared as the bytes it is, which
every reader follows.

Spec: "Appendix A: Format-specific Requirements", "Avro".
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, reduce
from typing import Any

import msgspec
import pyarrow
import pyarrow.compute

from skipstone.errors import FormatViolation
from skipstone.metadata.avro.container import AvroContainer
from skipstone.metadata.avro.reading import decode_wish
from skipstone.metadata.avro.schema_program import EVERYTHING, Fields

pc: Any = pyarrow.compute


def as_written(container: AvroContainer, partition: tuple[str, ...]) -> AvroContainer:
    """The container with plain fixed partition values declared as bytes if that is how they were written.

    `partition` leads to the partition tuple, by names from the outermost record on.
    """
    if b'"fixed"' not in container.schema_text:
        return container
    schema_text, sizes = _redeclared(container.schema_text, partition)
    if not sizes:
        return container
    redeclared = replace(container, schema=msgspec.json.decode(schema_text), schema_text=schema_text)
    return redeclared if _has_lengths(redeclared, partition, sizes) else container


@lru_cache(maxsize=64)
def _redeclared(schema_text: bytes, partition: tuple[str, ...]) -> tuple[bytes, dict[str, int]]:
    """The Avro schema with bytes for plain fixed partition values, and their sizes by field."""
    schema = msgspec.json.decode(schema_text)
    record = reduce(_field_type, partition, schema)
    sizes = _redeclare(record) if isinstance(record, dict) else {}
    return msgspec.json.encode(schema), sizes


def _has_lengths(container: AvroContainer, partition: tuple[str, ...], sizes: dict[str, int]) -> bool:
    wish = Fields(tuple((name, EVERYTHING) for name in sizes))
    for name in reversed(partition):
        wish = Fields(((name, wish),))
    try:
        _, top = decode_wish(container, wish)
    except FormatViolation:
        return False
    outermost, *inner = partition
    lengths = {name: pc.binary_length(pc.struct_field(top[outermost], [*inner, name])) for name in sizes}
    return all(pc.all(pc.equal(lengths[name], size)).as_py() is not False for name, size in sizes.items())


def _field_type(record: Any, name: str) -> Any:
    fields = record.get("fields") if isinstance(record, dict) else None
    return next((f.get("type") for f in fields or () if isinstance(f, dict) and f.get("name") == name), None)


def _redeclare(partition: dict[str, Any]) -> dict[str, int]:
    """Put bytes for each fixed of the record, also where a later field refers to one by its name: sizes by field."""
    found: dict[str, int] = {}
    sizes: dict[Any, int] = {}  # of types by name
    for field in partition.get("fields") or ():
        union = field.get("type") if isinstance(field, dict) else None
        if not isinstance(union, list):
            continue
        for i, branch in enumerate(union):
            if isinstance(branch, dict) and branch.get("type") == "fixed" and "logicalType" not in branch:
                sizes[name := str(branch.get("name"))] = branch["size"]
            elif isinstance(branch, str) and branch in sizes:
                name = branch
            else:
                continue
            union[i], found[field["name"]] = "bytes", sizes[name]
    return found
