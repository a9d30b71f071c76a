"""A data file of a plan, opened with what the plan says about it: partition values, name mapping, how to read it.

Spec: "Column Projection".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from skipstone.metadata.schemas.name_mapping import NAME_MAPPING_PROPERTY, NameMapping, parse_name_mapping
from skipstone.metadata.schemas.projection import Projection, resolve
from skipstone.metadata.tables.properties import ORC_BATCH_SIZE, PARQUET_BATCH_SIZE, hint_value
from skipstone.metadata.types import StructType
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import TRUE, Predicate
from skipstone.read.formats import open_file
from skipstone.read.opened import BATCH_ROWS_MAX, Batches, OpenedFile, Question, Stretch
from skipstone.storage.protocol import Storage

_BATCH_SIZES: Final = {"parquet": PARQUET_BATCH_SIZE, "orc": ORC_BATCH_SIZE}


@dataclass(frozen=True, slots=True)
class Piece:
    """A file of the plan, or a span of its bytes; no end means up to the end of the file."""

    row: int
    first_byte: int
    end_byte: int | None


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """An open file, and how its columns become those wanted."""

    file: OpenedFile
    projection: Projection
    float_order: FloatOrder

    def stretches(self, piece: Piece, predicate: Predicate = TRUE) -> list[Stretch]:
        """The stretches of a piece that may hold a match."""
        question = Question(
            projection=self.projection,
            predicate=predicate,
            float_order=self.float_order,
            first_byte=piece.first_byte,
            end_byte=piece.end_byte,
        )
        return self.file.stretches(question)

    def batches(self, stretch: Stretch) -> Batches:
        """The stored columns that those wanted are made of."""
        return self.file.batches(self.projection.file_columns, stretch)


@contextmanager
def opened_file(
    plan: ScanPlan, storage: Storage, row: int, wanted: StructType, *, use_threads: bool
) -> Iterator[PlannedFile]:
    """A file of the plan, for these columns."""
    files, properties = plan.files, plan.metadata.properties
    path, file_format = (files.column(name)[row].as_py() for name in ("file_path", "file_format"))
    mapping = properties.get(NAME_MAPPING_PROPERTY)
    opened = open_file(
        storage,
        path,
        file_format,
        key_metadata=files.column("key_metadata")[row].as_py(),
        batch_rows_max=_batch_rows_max(properties, file_format),
        use_threads=use_threads,
    )
    try:
        projection = resolve(
            wanted,
            opened.struct,
            partition_spec=plan.metadata.spec(files.column("spec_id")[row].as_py()),
            partition=plan.partition_of(row),
            name_mapping=None if mapping is None else _name_mapping(mapping),
            source=path,
        )
        yield PlannedFile(opened, projection, plan.float_order)
    finally:
        opened.close()


@lru_cache(maxsize=16)
def _name_mapping(text: str) -> NameMapping:
    """Kept, because all files of a table have the same."""
    return parse_name_mapping(text)


def _batch_rows_max(properties: Mapping[str, str], file_format: str) -> int:
    """What the table says, if it says anything: Iceberg's default is made for engines that work row by row."""
    asked = _BATCH_SIZES.get(file_format.lower())
    return hint_value(properties, asked) if asked is not None and asked.key in properties else BATCH_ROWS_MAX
