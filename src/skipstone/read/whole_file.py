"""All rows of one file as columns of a wanted struct: how delete files are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skipstone.metadata.schemas.name_mapping import NameMapping
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import StructType
from skipstone.read.formats import open_file
from skipstone.read.opened import Question
from skipstone.storage.protocol import Storage


def project_file(
    storage: Storage,
    path: str,
    file_format: str,
    wanted: StructType,
    *,
    key_metadata: bytes | None = None,
    name_mapping: NameMapping | None = None,
) -> Iterator[tuple[int, Any]]:
    """Batches with the position of their first row."""
    file = open_file(storage, path, file_format, key_metadata=key_metadata)
    try:
        projection = resolve(wanted, file.struct, name_mapping=name_mapping, source=path)
        for stretch in file.stretches(Question(projection=projection)):
            for batch in file.batches(projection.file_columns, stretch):
                yield batch.position, project_arrow(projection, batch.columns, columns=projection.file_columns)
    finally:
        file.close()
