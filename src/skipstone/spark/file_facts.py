"""What is known about a row's file, as Spark columns: metadata columns, lineage, and what deletes ask for.

Each row knows its file's ordinal. The facts of all files travel with the query as constants, of which a row asks for
its own. Each is asked for once, because Spark then looks only at rows that are left in the end, after filters and
joins. If files are many, their facts are one value, and if they are very many, that is broadcast and joined.

Spec: "Reserved Field IDs", "Row Lineage".
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow
import pyarrow.compute
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from skipstone.metadata.reserved import (
    DELETED,
    FILE,
    LAST_UPDATED_SEQUENCE_NUMBER,
    PARTITION_ID,
    POS,
    ROW_ID,
    SPEC_ID,
)
from skipstone.metadata.types import STRING, Field, StructType
from skipstone.plan.entries import partition_codes, unified_type
from skipstone.plan.scan import ScanPlan
from skipstone.spark.java import selected
from skipstone.spark.literals import literal_sql
from skipstone.spark.scan_names import PREFIX, ROW_INDEX, quoted
from skipstone.spark.shown_arrow import shown_batch, spark_arrow_schema
from skipstone.spark.types import FIELD_ID_KEY, to_spark_struct, to_spark_type

pa: Any = pyarrow
pc: Any = pyarrow.compute

ORDINAL: Final = f"{PREFIX}ordinal"
POSITION: Final = f"{PREFIX}position"
SEQUENCE: Final = f"{PREFIX}sequence"
SCOPE: Final = f"{PREFIX}scope"
IS_DELETED: Final = f"{PREFIX}deleted"
_POSITION_BITS: Final = 40
_OTHER_ORDINAL: Final = f"{PREFIX}other_ordinal"
_FACTS: Final = f"{PREFIX}facts"
_PATH: Final = f"{PREFIX}path"
_SPEC_ID: Final = f"{PREFIX}spec_id"
_PARTITION: Final = f"{PREFIX}partition"
_FIRST_ROW_ID: Final = f"{PREFIX}first_row_id"
_INHERITED: Final = f"{PREFIX}inherited_sequence"  # of rows without one, where rows have ids

# Up to here facts are constants in the query's text; they show in its plan.
_CONSTANT_FILES_MAX: Final = 1_000
# Beyond this, facts are better broadcast once than carried by every stage.
_CARRIED_FILES_MAX: Final = 10_000

LINEAGE: Final = (ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)
SUPPLIED: Final = frozenset({FILE.id, POS.id, DELETED.id, SPEC_ID.id, PARTITION_ID, *(f.id for f in LINEAGE)})
_NEEDS: Final[dict[int, tuple[str, ...]]] = {
    FILE.id: (_PATH,),
    SPEC_ID.id: (_SPEC_ID,),
    PARTITION_ID: (_PARTITION,),
    ROW_ID.id: (_FIRST_ROW_ID,),
    LAST_UPDATED_SEQUENCE_NUMBER.id: (_INHERITED,),
}


def lineage_name(field: Field) -> str:
    """The name under which a stored lineage column is scanned."""
    return f"{PREFIX}stored{field.name}"


def lineage_fields(ids: set[int]) -> list[T.StructField]:
    """The lineage columns that files may store, as they are asked of the reader."""
    return [T.StructField(lineage_name(f), T.LongType(), True, {FIELD_ID_KEY: f.id}) for f in LINEAGE if f.id in ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A row's ordinal of its file and its position there, as SQL over a frame."""

    ordinal: str
    position: str
    is_added: bool  # as columns

    @property
    def is_read(self) -> bool:
        """Whether the position is a column that the reader is to be asked for."""
        return self.position == ROW_INDEX

    def added(self, frame: DataFrame) -> DataFrame:
        """The frame with both as columns, which come out of one number: a query that looks at either looks at both."""
        if self.is_added:
            return frame
        both = f"(shiftleft({self.ordinal}, {_POSITION_BITS}) | {self.position})"
        parts = (
            f"shiftright({both}, {_POSITION_BITS}) AS {ORDINAL}",
            f"{both} & {(1 << _POSITION_BITS) - 1}L AS {POSITION}",
        )
        return selected(frame, ["*", *parts])


# Asked of Spark's reader as a column, a position is a bare number; as a part of `_metadata` it is an object.
POSITION_FIELD: Final = T.StructField(ROW_INDEX, T.LongType())
AS_COLUMNS: Final = Place(ordinal=ORDINAL, position=POSITION, is_added=True)
_ORDINAL_IN_FILE: Final = "unix_millis(_metadata.file_modification_time)"
# Settings by which a session has all of `_metadata` read, whatever a query asks of it.
_PRUNES_METADATA: Final = "spark.sql.optimizer.nestedSchemaPruning.enabled"
_RULES_LEFT_OUT: Final = "spark.sql.optimizer.excludedRules"


def in_file(spark: SparkSession) -> Place:
    """The place in a frame of files as it is read. A filter that looks at it needs no column and no frame in between.

    The position is that of `POSITION_FIELD` where it can be read: the reader refuses to give it together with all of
    `_metadata`, and that is what Spark asks for where a query looks at the position and not at the ordinal.
    """
    can_ask = spark.conf.get(_PRUNES_METADATA, "true") == "true" and not spark.conf.get(_RULES_LEFT_OUT, "")
    return Place(ordinal=_ORDINAL_IN_FILE, position=ROW_INDEX if can_ask else "_metadata.row_index", is_added=False)


def facts_needed(ids: set[int], *, by_equality: bool) -> set[str]:
    """Which facts the metadata columns and deletes look at."""
    needed = {name for i in ids for name in _NEEDS.get(i, ())}
    return needed | {SEQUENCE, SCOPE} if by_equality else needed


def with_facts(
    spark: SparkSession, frame: DataFrame, plan: ScanPlan, needed: set[str], numbered: Sequence[str] = ()
) -> DataFrame:
    """Every row with facts of its file. The path of a file that is `numbered` is its number, as text."""
    if not needed:
        return frame
    facts, schema = _facts(plan, needed)
    if _PATH in needed and numbered:
        facts = facts.set_column(facts.column_names.index(_PATH), _PATH, numbers_of(facts.column(_PATH), numbered))
    # What rows are deleted by is joined with, and a key of a join had better be a column.
    if len(plan) > _CARRIED_FILES_MAX or SCOPE in needed:
        return frame.join(
            F.broadcast(spark.createDataFrame(facts, schema)), F.expr(f"{ORDINAL} = {_OTHER_ORDINAL}"), "left"
        )
    if len(plan) <= _CONSTANT_FILES_MAX and _PARTITION not in needed:
        own = [f"get({_constant(facts, f)}, cast({ORDINAL} as int)) AS {f.name}" for f in schema.fields[1:]]
        return selected(frame, ["*", *own])
    fact = F.get(_value(spark, facts, schema), F.col(ORDINAL).cast("int"))
    return frame.select("*", *[fact.getField(name).alias(name) for name in schema.names if name != _OTHER_ORDINAL])


def numbers_of(paths: Any, numbered: Sequence[str]) -> Any:
    """For each path its number as text, or the path where it has none."""
    return pc.coalesce(pc.index_in(paths, value_set=pa.array(numbered, pa.string())).cast(pa.string()), paths)


def _constant(facts: Any, field: T.StructField) -> str:
    """A fact of all files as SQL: text that Spark makes an array of once, when it plans."""
    text = json.dumps(facts.column(field.name).to_pylist(), ensure_ascii=False)
    return f"from_json({literal_sql(STRING, text)}, 'array<{field.dataType.simpleString()}>')"


def _value(spark: SparkSession, facts: Any, schema: T.StructType) -> Column:
    """All facts as one value: an array with a struct for every ordinal."""
    rows = facts.to_struct_array().combine_chunks()
    whole = pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)
    return spark.createDataFrame(
        pa.table([whole], [_FACTS]), T.StructType([T.StructField(_FACTS, T.ArrayType(schema, False))])
    ).scalar()


def _facts(plan: ScanPlan, needed: set[str]) -> tuple[Any, T.StructType]:
    files = plan.files
    columns: dict[str, Any] = {_OTHER_ORDINAL: pa.array(np.arange(len(plan)), pa.int64())}
    types: dict[str, Any] = {_OTHER_ORDINAL: T.LongType()}
    for name, source, spark_type in (
        (_PATH, "file_path", T.StringType()),
        (_SPEC_ID, "spec_id", T.IntegerType()),
        (_FIRST_ROW_ID, "first_row_id", T.LongType()),
        (SEQUENCE, "sequence_number", T.LongType()),
    ):
        if name in needed:
            columns[name], types[name] = files.column(source).combine_chunks(), spark_type
    if SEQUENCE in needed:
        columns[SEQUENCE] = pc.fill_null(columns[SEQUENCE], 0)
    if _INHERITED in needed:
        numbers = pc.fill_null(files.column("sequence_number"), 0)
        known = pc.if_else(files.column("first_row_id").is_valid(), numbers, pa.scalar(None, pa.int64()))
        columns[_INHERITED], types[_INHERITED] = known.combine_chunks(), T.LongType()
    if SCOPE in needed:
        columns[SCOPE], types[SCOPE] = pa.array(scopes_of(plan)[0], pa.int64()), T.LongType()
    if _PARTITION in needed:
        columns[_PARTITION], types[_PARTITION] = _partitions(plan)
    schema = T.StructType([T.StructField(n, t, True) for n, t in types.items()])
    return pa.table(columns), schema


def _partitions(plan: ScanPlan) -> tuple[Any, Any]:
    unified = unified_type(plan.metadata)
    # Every field may be null: specs that lack it have it so.
    partition = Field(id=PARTITION_ID, name="partition", type=unified)
    struct = StructType((partition,))
    batch = pa.RecordBatch.from_arrays([plan.files.column("partition").combine_chunks()], ["partition"])
    shown = shown_batch(batch, struct, spark_arrow_schema(struct))
    return shown.column(0), to_spark_struct(struct, all_optional=True).fields[0].dataType


def scopes_of(plan: ScanPlan) -> tuple[Any, Any]:
    """A number for each data file's and each delete's partition; files of one spec and tuple have the same."""
    both = [plan.files, plan.deletes]
    spec_ids = pa.concat_arrays([c for t in both for c in t.column("spec_id").chunks])
    partitions = pa.concat_arrays([c for t in both for c in t.column("partition").chunks])
    codes = partition_codes(spec_ids, partitions)
    return codes[: len(plan)], codes[len(plan) :]


def metadata_column(field: Field) -> str:
    """A metadata column out of the row's place and facts, under its own name, as SQL."""
    return f"{_expression(field)} AS {quoted(field.name)}"


def _expression(field: Field) -> str:
    if field.id == PARTITION_ID:
        assert isinstance(field.type, StructType)
        # A table that never was partitioned has null here, as other engines show it, and not a struct of nothing.
        return _PARTITION if field.type.fields else f"CAST(NULL AS {to_spark_type(field.type).simpleString()})"
    return {
        FILE.id: _PATH,
        POS.id: POSITION,
        DELETED.id: IS_DELETED,
        SPEC_ID.id: _SPEC_ID,
        ROW_ID.id: f"coalesce({lineage_name(ROW_ID)}, {_FIRST_ROW_ID} + {POSITION})",
        LAST_UPDATED_SEQUENCE_NUMBER.id: f"coalesce({lineage_name(LAST_UPDATED_SEQUENCE_NUMBER)}, {_INHERITED})",
    }[field.id]
