"""All rows of one file as columns of a wanted struct: how delete files are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skipstone.metadata.name_mapping import NameMapping
from skipstone.metadata.projection import resolve
from skipstone.metadata.projection_arrow import project_arrow
from skipstone.metadata.types import StructType
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE
from skipstone.read.opened import open_file
from skipstone.storage.protocol import Storage


def project_file(
    storage: Storage, path: str, file_format: str, wanted: StructType, *, name_mapping: NameMapping | None = None
) -> Iterator[tuple[int, Any]]:
    """Batches with the position of their first row."""
    file = open_file(storage, path, file_format)
    try:
        projection = resolve(wanted, file.struct, name_mapping=name_mapping, source=path)
        columns = projection.file_columns
        every = file.stretches(TRUE, projection, FloatOrder.IEEE)
        for position, batch in file.batches(columns, every.tolist()):
            yield position, project_arrow(projection, batch, columns=columns)
    finally:
        file.close()
