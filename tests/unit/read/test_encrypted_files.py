"""Encrypted data and delete files are opened with their key metadata, in every format, and with no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption as parquet_encryption

from skipstone.errors import FormatViolation
from skipstone.metadata.blobs import deletion_vector
from skipstone.metadata.blobs.encryption import encrypt_file, new_key_metadata, serialize_key_metadata
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.predicate import FloatOrder, as_predicate, bind
from skipstone.read.formats import open_file
from skipstone.read.opened import Question
from skipstone.read.position_deletes import PositionDeletes
from skipstone.storage import MemoryStorage

PATH = "memory://lake/f"
SCHEMA = schema_of([("id", "long"), ("s", "string")], format_version=3)
ROWS = pa.table({"id": np.arange(100), "s": [f"v{i}" for i in range(100)]})


def parquet_file() -> tuple[MemoryStorage, bytes]:
    """Ten row groups with page indexes and dictionaries, all of it encrypted with one key."""
    key = new_key_metadata()
    properties = parquet_encryption.create_encryption_properties(
        key.encryption_key, aad_prefix=key.aad_prefix, store_aad_prefix=False
    )
    fields = [
        pa.field(f.name, t.type, metadata={b"PARQUET:field_id": str(f.id).encode()})
        for f, t in zip(SCHEMA.fields, ROWS.schema)
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(
        ROWS.cast(pa.schema(fields)), sink, row_group_size=10, write_page_index=True, encryption_properties=properties
    )
    storage = MemoryStorage()
    storage.write_new(PATH, sink.getvalue().to_pybytes())
    return storage, serialize_key_metadata(key)


def ids(storage: MemoryStorage, key_metadata: bytes, filter_: str) -> tuple[list[int], int]:
    """The ids of the stretches that may match, and how many stretches that are."""
    opened = open_file(storage, PATH, "PARQUET", key_metadata=key_metadata)
    projection = resolve(SCHEMA.struct, opened.struct, source=PATH)
    predicate = bind(as_predicate(filter_), SCHEMA, table="t", float_order=FloatOrder.IEEE)
    stretches = opened.stretches(Question(projection=projection, predicate=predicate))
    found: list[int] = []
    for stretch in stretches:
        for batch in opened.batches(projection.file_columns, stretch):
            found += batch.columns.column("id").to_pylist()
    opened.close()
    return found, len(stretches)


def test_row_groups_of_an_encrypted_parquet_file_are_skipped_by_its_footer() -> None:
    storage, key = parquet_file()
    assert ids(storage, key, "true") == (list(range(100)), 10)
    assert ids(storage, key, "id = 42") == (list(range(40, 50)), 1)


@pytest.mark.parametrize("key", [None, serialize_key_metadata(new_key_metadata())], ids=["no key", "another key"])
def test_an_encrypted_parquet_file_stays_closed_to_others(key: bytes | None) -> None:
    storage, _ = parquet_file()
    with pytest.raises(FormatViolation, match=PATH):
        open_file(storage, PATH, "PARQUET", key_metadata=key)


def test_a_deletion_vector_in_an_encrypted_file_is_read_at_its_place_in_the_plain_one() -> None:
    blob = deletion_vector.encode([3, 5, 70_000])
    sealed, key = encrypt_file(b"PFA1" + blob)
    storage = MemoryStorage()
    storage.write_new(PATH, sealed)
    deletes: Any = pa.table(
        {
            "file_path": [PATH],
            "content_offset": [4],
            "content_size_in_bytes": [len(blob)],
            "record_count": [3],
            "key_metadata": [key],
        }
    )
    plan: Any = SimpleNamespace(deletes=deletes)
    assert PositionDeletes(plan, storage).of("memory://lake/data", [0]).tolist() == [3, 5, 70_000]
