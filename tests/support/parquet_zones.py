"""Small Parquet files with field ids, and what is judged about them."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skipstone.metadata.formats.parquet_types import from_parquet_schema
from skipstone.metadata.partitions.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.projection import Projection, resolve
from skipstone.predicate import FloatOrder, as_predicate, bind
from skipstone.zones import ZoneMap
from skipstone.zones.build import FileBytes, from_parquet_footer
from skipstone.zones.build.parquet_columns import StoredColumn, parquet_columns
from skipstone.zones.build.parquet_structures import FooterPlaces, read_footer
from skipstone.zones.levels import page_ranges, prove_row_groups


class ParquetZones:
    """A file of the given columns; ids count from 1 in the order of columns, and the table's schema is the file's."""

    def __init__(
        self,
        columns: dict[str, Any],
        schema: Schema | None = None,
        *,
        partition: dict[int, Any] | None = None,
        spec: PartitionSpec | None = None,
        **options: Any,
    ) -> None:
        table = pa.table(columns)
        fields = [f.with_metadata({"PARQUET:field_id": str(n)}) for n, f in enumerate(table.schema, 1)]
        sink = io.BytesIO()
        pq.write_table(table.cast(pa.schema(fields)), sink, store_schema=False, **options)
        self.data = sink.getvalue()
        self.file = FileBytes.of_buffer(self.data, "a.parquet")
        self.metadata = pq.ParquetFile(io.BytesIO(self.data)).metadata
        struct = from_parquet_schema(self.metadata.schema)
        self.schema = schema if schema is not None else Schema(fields=struct.fields)
        self.projection: Projection = resolve(self.schema, struct, partition=partition, partition_spec=spec)

    @property
    def zones(self) -> ZoneMap:
        return from_parquet_footer(self.metadata, self.projection)

    @property
    def footer(self) -> FooterPlaces:
        return read_footer(self.file)

    def column(self, field_id: int) -> StoredColumn:
        found = parquet_columns(self.metadata.schema, self.projection)[field_id]
        assert isinstance(found, StoredColumn)
        return found

    def by_statistics(self, text: str, float_order: FloatOrder = FloatOrder.SPARK) -> list[int]:
        predicate = bind(as_predicate(text), self.schema)
        found = prove_row_groups(predicate, self.metadata, self.projection, float_order=float_order)
        return [int(v) for v in found.verdicts()]

    def by_all(
        self, text: str, float_order: FloatOrder = FloatOrder.SPARK, *, file: FileBytes | None = None
    ) -> list[int]:
        predicate = bind(as_predicate(text), self.schema)
        found = prove_row_groups(
            predicate, self.metadata, self.projection, file=file or self.file, float_order=float_order
        )
        return [int(v) for v in found.verdicts()]

    def pages(self, text: str, row_group: int = 0, *, file: FileBytes | None = None) -> list[list[int]]:
        predicate = bind(as_predicate(text), self.schema)
        found = page_ranges(predicate, self.metadata, self.projection, row_group, file or self.file)
        return [[int(a), int(b)] for a, b in found]
