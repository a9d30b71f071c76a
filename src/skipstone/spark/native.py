"""The files of a plan that Spark's own Parquet reader reads, in a few frames: one for each kind of treatment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from skipstone.metadata.reserved import DELETED, FIELD_ID_MAX
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import Field, StructType
from skipstone.plan.scan import ScanPlan
from skipstone.predicate.nodes import TRUE, field_ids
from skipstone.scan import Scan
from skipstone.spark import file_facts
from skipstone.spark.columns import ScanColumn, column_of, is_native, read_schema, scan_columns
from skipstone.spark.deleted_positions import (
    deleted_bits,
    either,
    told_bits,
    with_deleted_mark,
    without_positions,
)
from skipstone.spark.deleted_values import delete_columns, without_deleted_values
from skipstone.spark.file_list import file_frame
from skipstone.spark.filters import Untranslatable, to_spark_filter
from skipstone.spark.java import selected
from skipstone.spark.optimizer_statistics import Published, fresh_statistics, is_wanted, published
from skipstone.spark.paths import hadoop_uris
from skipstone.spark.treatments import Treatment, natively_readable, treatments, without_filter


def native_frames(
    spark: SparkSession, scan: Scan, plan: ScanPlan, without: Mapping[str, Any], numbered: Sequence[str]
) -> tuple[list[DataFrame], Any]:
    """The frames, without rows at positions told by path, and the plan's files that are left to another reader.

    Files that are `numbered` are told by their number.
    """
    fields = _data_fields(scan.wanted.fields)
    known = all(f.id <= FIELD_ID_MAX or f.id in file_facts.SUPPLIED for f in scan.wanted.fields)
    if not known or not all(is_native(f) for f in fields):
        return [], np.arange(len(plan))
    filter_fields = _filter_fields(plan)
    needed = _merged([*fields, *filter_fields])
    left = ~natively_readable(spark, plan, scan.storage, list(needed.values()))
    is_told = is_wanted(spark)
    analysed = fresh_statistics(plan, scan) if is_told else None
    frames = []
    waiting = treatments(plan, ~left, filter_is_read={f.id for f in filter_fields} <= {f.id for f in fields})
    while waiting:
        treatment = waiting.pop(0)
        part = plan.taking(treatment.rows)
        try:
            native = _Native(spark, scan, part, treatment, without, numbered)
            told = published(scan, part, native.columns, analysed) if is_told else None
            frames.append(native.frame(told))
        except Untranslatable:
            sure = without_filter(plan, treatment)
            left[np.setdiff1d(treatment.rows, sure.rows) if treatment.filtered else treatment.rows] = True
            if treatment.filtered and len(sure.rows):
                waiting.append(sure)
    return frames, np.flatnonzero(left)


def _data_fields(fields: Iterable[Field]) -> list[Field]:
    return [f for f in fields if f.id <= FIELD_ID_MAX]


def _filter_fields(plan: ScanPlan) -> list[Field]:
    return [_top_level(plan.schema, i) for i in sorted(field_ids(plan.predicate))]


def _top_level(schema: Schema, field_id: int) -> Field:
    return next(iter(reversed([*schema.ancestors(field_id)])), schema.field(field_id))


def _merged(fields: Iterable[Field]) -> dict[int, Field]:
    """Each top-level column once, with everything below that any of the fields asks for."""
    merged: dict[int, Field] = {}
    for f in fields:
        merged[f.id] = f if f.id not in merged else _both(merged[f.id], f)
    return merged


def _both(a: Field, b: Field) -> Field:
    if not (isinstance(a.type, StructType) and isinstance(b.type, StructType)):
        return a
    return replace(a, type=StructType(tuple(_merged([*a.type.fields, *b.type.fields]).values())))


class _Native:
    """One frame over files with the same treatment."""

    def __init__(
        self,
        spark: SparkSession,
        scan: Scan,
        plan: ScanPlan,
        treatment: Treatment,
        without: Mapping[str, Any],
        numbered: Sequence[str],
    ) -> None:
        self.spark = spark
        self.scan = scan
        self.plan = plan
        self.treatment = treatment
        self.without = without
        self.numbered = numbered
        self.metadata_ids = {f.id for f in scan.wanted.fields if f.id > FIELD_ID_MAX}
        self.filtered = treatment.filtered and plan.predicate != TRUE
        self.columns = self._columns()
        self.place = self._place()

    def _place(self) -> file_facts.Place | None:
        """How a row's place in the frame is told, if it is asked for."""
        is_asked = self.treatment.by_position or self.treatment.by_equality or self.metadata_ids or self.without
        return file_facts.in_file(self.spark) if is_asked else None

    def _columns(self) -> dict[int, ScanColumn]:
        fields = _data_fields(self.scan.wanted.fields)
        if self.filtered:
            fields += _filter_fields(self.plan)
        if self.treatment.by_equality:
            keys = delete_columns(self.plan)
            if DELETED.id in self.metadata_ids or not all(is_native(f) for f in keys):
                raise Untranslatable("such rows deleted by value are marked by our own reader")
            fields += keys
        return scan_columns(list(_merged(fields).values()), self.plan.metadata)

    def frame(self, statistics: Published | None = None) -> DataFrame:
        condition = self._condition()
        frame = self._files(statistics)
        if condition is not None:
            frame = frame.where(condition)
        return selected(self._without_deleted(frame), [self._shown(f) for f in self.scan.wanted.fields])

    def _condition(self) -> str | None:
        if not self.filtered:
            return None
        return to_spark_filter(self.plan.predicate, column_of(self.columns, self.plan.schema))

    def _files(self, statistics: Published | None) -> DataFrame:
        stored = read_schema(self.columns).fields + file_facts.lineage_fields(self.metadata_ids)
        if self.place is not None and self.place.is_read:
            stored = [*stored, file_facts.POSITION_FIELD]
        return file_frame(
            self.spark,
            hadoop_uris(self.scan.storage, self.plan.files.column("file_path")),
            self.plan.files.column("file_size_in_bytes").combine_chunks(),
            np.arange(len(self.plan)),
            T.StructType(stored),
            offsets=self.plan.files.column("split_offsets"),
            statistics=statistics,
        )

    def _without_deleted(self, frame: DataFrame) -> DataFrame:
        place = self.place
        if place is None:
            return frame
        if self.treatment.by_equality or self.metadata_ids:
            frame, place = place.added(frame), file_facts.AS_COLUMNS
        needed = file_facts.facts_needed(self.metadata_ids, by_equality=self.treatment.by_equality)
        gone = told_bits(self.plan, self.without)
        if DELETED.id in self.metadata_ids:
            frame = with_deleted_mark(self.spark, frame, self.plan, self.scan.storage)
        elif self.treatment.by_position:
            gone = either(deleted_bits(self.plan, self.scan.storage), gone)
        frame = without_positions(self.spark, frame, gone, place=place)
        frame = file_facts.with_facts(self.spark, frame, self.plan, needed, self.numbered)
        if self.treatment.by_equality:
            frame = without_deleted_values(self.spark, frame, self.plan, self.scan.storage, self._key)
        return frame

    def _key(self, field: Field) -> str:
        """A delete column as it is stored, wherever it lies."""
        for schema in (self.plan.metadata.current_schema, *reversed(self.plan.metadata.schemas)):
            if schema.find(field.id) is not None:
                return column_of(self.columns, schema)(field.id)
        raise AssertionError(f"no schema has field {field.id}")

    def _shown(self, field: Field) -> str:
        if field.id > FIELD_ID_MAX:
            return file_facts.metadata_column(field)
        return self.columns[field.id].shown_as(field)
