"""Data files that the library wrote, read back without its reader: the kernel's projection over pyarrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from skipstone.metadata.avro import parse_container
from skipstone.metadata.avro.reading import decode
from skipstone.metadata.formats.arrow_types import arrow_to_value
from skipstone.metadata.formats.avro_read_types import from_avro_schema
from skipstone.metadata.formats.orc_types import from_orc_schema
from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.schemas.projection_arrow import project_arrow
from skipstone.metadata.types import StructType
from skipstone.storage.protocol import Storage


def stored(storage: Storage, path: str) -> tuple[StructType, pa.Table]:
    """A file's own schema and its rows as they are in the file."""
    data = storage.read(path)
    match path.rsplit(".", 1)[1]:
        case "parquet":
            file = pq.ParquetFile(pa.BufferReader(data))
            return from_parquet_schema(file.schema, source=path), file.read()
        case "orc":
            reader = orc.ORCFile(pa.BufferReader(data))
            return from_orc_schema(reader.schema, source=path), reader.read()
        case _:
            container = parse_container(data, source=path)
            return from_avro_schema(container.schema, source=path), decode(container)


def read_values(storage: Storage, path: str, struct: StructType) -> list[dict[int, Any]]:
    """The rows of a file by field id, found by field id."""
    file_struct, table = stored(storage, path)
    projection = resolve(struct, file_struct, source=path)
    rows: list[dict[int, Any]] = []
    for batch in table.to_batches():
        projected = project_arrow(projection, batch)
        columns = [[arrow_to_value(f.type, v) for v in projected.column(i)] for i, f in enumerate(struct.fields)]
        rows += [{f.id: column[r] for f, column in zip(struct.fields, columns)} for r in range(batch.num_rows)]
    return rows
