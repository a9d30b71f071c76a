"""The SQL tables of a metastore, in one of three lay-outs of its statistics.

`original` is the first design: one low and one high as bytes, and the names of database, table and partition in every
row. `4.0` is Hive 4.0's: lows and highs by kind, ENGINE, HISTOGRAM. `4.1` is the same without the names, which then
cannot go stale. A row of statistics belongs to a table or a partition and goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

import sqlalchemy as sa

_ID: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
ENGINE_DEFAULT: Final = "hive"


class Layout(Enum):
    ORIGINAL = "original"
    HIVE_4_0 = "4.0"
    HIVE_4_1 = "4.1"

    @property
    def has_names(self) -> bool:
        return self is not Layout.HIVE_4_1

    @property
    def has_typed_bounds(self) -> bool:
        return self is not Layout.ORIGINAL

    @property
    def has_engine(self) -> bool:
        return self is not Layout.ORIGINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tables of one lay-out."""

    layout: Layout
    metadata: sa.MetaData
    databases: sa.Table
    database_parameters: sa.Table
    storage: sa.Table
    columns: sa.Table
    tables: sa.Table
    table_parameters: sa.Table
    partition_keys: sa.Table
    partitions: sa.Table
    partition_parameters: sa.Table
    table_statistics: sa.Table
    partition_statistics: sa.Table
    version: sa.Table


def tables_of(layout: Layout) -> Tables:
    """The tables of a lay-out, parents first."""
    metadata = sa.MetaData()
    return Tables(
        layout=layout,
        metadata=metadata,
        databases=_databases(metadata),
        database_parameters=_parameters(metadata, "DATABASE_PARAMS", "DB_ID", "DBS"),
        storage=_storage(metadata),
        columns=_columns(metadata),
        tables=_tables(metadata),
        table_parameters=_parameters(metadata, "TABLE_PARAMS", "TBL_ID", "TBLS"),
        partition_keys=_partition_keys(metadata),
        partitions=_partitions(metadata),
        partition_parameters=_parameters(metadata, "PARTITION_PARAMS", "PART_ID", "PARTITIONS"),
        table_statistics=_statistics(metadata, layout, "TAB_COL_STATS", "TBL_ID", "TBLS"),
        partition_statistics=_statistics(metadata, layout, "PART_COL_STATS", "PART_ID", "PARTITIONS"),
        version=sa.Table(
            "VERSION",
            metadata,
            sa.Column("VER_ID", sa.BigInteger, primary_key=True),
            sa.Column("SCHEMA_VERSION", sa.String(127), nullable=False),
            sa.Column("VERSION_COMMENT", sa.String(255)),
        ),
    )


def _parent(
    column: str, table: str, *, is_key: bool = False, nullable: bool = False, index: bool = False
) -> sa.Column[int]:
    target = sa.ForeignKey(f"{table}.{column}", ondelete="CASCADE", deferrable=True, initially="DEFERRED")
    return sa.Column(column, _ID, target, primary_key=is_key, nullable=nullable, autoincrement=False, index=index)


def _databases(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "DBS",
        metadata,
        sa.Column("DB_ID", _ID, primary_key=True),
        sa.Column("DESC", sa.String(4000)),
        sa.Column("DB_LOCATION_URI", sa.String(4000), nullable=False),
        sa.Column("NAME", sa.String(256), nullable=False, unique=True),
        sa.Column("OWNER_NAME", sa.String(128)),
        sa.Column("OWNER_TYPE", sa.String(10)),
    )


def _storage(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "SDS",
        metadata,
        sa.Column("SD_ID", _ID, primary_key=True),
        sa.Column("LOCATION", sa.String(4000)),
        sa.Column("INPUT_FORMAT", sa.String(4000)),
        sa.Column("OUTPUT_FORMAT", sa.String(4000)),
        sa.Column("SLIB", sa.String(4000)),
        sa.Column("SERDE_PARAMS", sa.Text),
    )


def _columns(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "COLUMNS_V2",
        metadata,
        _parent("SD_ID", "SDS", is_key=True),
        sa.Column("COLUMN_NAME", sa.String(767), primary_key=True),
        sa.Column("TYPE_NAME", sa.Text),
        sa.Column("COMMENT", sa.Text),
        sa.Column("INTEGER_IDX", sa.Integer, nullable=False),
    )


def _tables(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "TBLS",
        metadata,
        sa.Column("TBL_ID", _ID, primary_key=True),
        _parent("DB_ID", "DBS", index=True),
        _parent("SD_ID", "SDS", index=True),
        sa.Column("TBL_NAME", sa.String(256), nullable=False),
        sa.Column("TBL_TYPE", sa.String(128)),
        sa.Column("OWNER", sa.String(767)),
        sa.Column("CREATE_TIME", sa.Integer, nullable=False),
        sa.UniqueConstraint("TBL_NAME", "DB_ID", name="UNIQUETABLE"),
    )


def _partition_keys(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "PARTITION_KEYS",
        metadata,
        _parent("TBL_ID", "TBLS", is_key=True),
        sa.Column("PKEY_NAME", sa.String(128), primary_key=True),
        sa.Column("PKEY_TYPE", sa.String(767), nullable=False),
        sa.Column("PKEY_COMMENT", sa.Text),
        sa.Column("INTEGER_IDX", sa.Integer, nullable=False),
    )


def _partitions(metadata: sa.MetaData) -> sa.Table:
    return sa.Table(
        "PARTITIONS",
        metadata,
        sa.Column("PART_ID", _ID, primary_key=True),
        _parent("TBL_ID", "TBLS"),
        _parent("SD_ID", "SDS", nullable=True, index=True),
        sa.Column("PART_NAME", sa.String(767), nullable=False),
        sa.Column("CREATE_TIME", sa.Integer, nullable=False),
        sa.UniqueConstraint("TBL_ID", "PART_NAME", name="UNIQUEPARTITION"),
    )


def _parameters(metadata: sa.MetaData, name: str, parent_column: str, parent: str) -> sa.Table:
    return sa.Table(
        name,
        metadata,
        _parent(parent_column, parent, is_key=True),
        sa.Column("PARAM_KEY", sa.String(256), primary_key=True),
        sa.Column("PARAM_VALUE", sa.Text),
    )


def _statistics(metadata: sa.MetaData, layout: Layout, name: str, parent_column: str, parent: str) -> sa.Table:
    names: list[sa.Column[str]] = []
    if layout.has_names:
        names = [sa.Column("DB_NAME", sa.String(256), nullable=False)]
        names.append(sa.Column("TABLE_NAME", sa.String(256), nullable=False))
        if parent_column == "PART_ID":
            part = "PARTITION_NAME" if layout is Layout.HIVE_4_0 else "PART_NAME"
            names.append(sa.Column(part, sa.String(767), nullable=False))
        if layout is Layout.HIVE_4_0:
            names.insert(0, sa.Column("CAT_NAME", sa.String(256), nullable=False))
    unique = [parent_column, "COLUMN_NAME", *(["ENGINE"] if layout.has_engine else [])]
    return sa.Table(
        name,
        metadata,
        sa.Column("CS_ID", _ID, primary_key=True),
        *names,
        sa.Column("COLUMN_NAME", sa.String(767), nullable=False),
        sa.Column("COLUMN_TYPE", sa.String(128 if layout is Layout.ORIGINAL else 4000), nullable=False),
        _parent(parent_column, parent),
        *_bounds(layout),
        sa.Column("NUM_NULLS", sa.BigInteger, nullable=False),
        sa.Column("NUM_DISTINCTS", sa.BigInteger),
        sa.Column("BIT_VECTOR", sa.LargeBinary),
        *([sa.Column("HISTOGRAM", sa.LargeBinary)] if layout.has_typed_bounds else []),
        sa.Column("AVG_COL_LEN", sa.Double),
        sa.Column("MAX_COL_LEN", sa.BigInteger),
        sa.Column("NUM_TRUES", sa.BigInteger),
        sa.Column("NUM_FALSES", sa.BigInteger),
        sa.Column("LAST_ANALYZED", sa.BigInteger, nullable=False),
        *([sa.Column("ENGINE", sa.String(128), nullable=False)] if layout.has_engine else []),
        sa.UniqueConstraint(*unique, name=f"{name}_UNIQUE"),
    )


def _bounds(layout: Layout) -> list[sa.Column[object]]:
    kinds: dict[str, sa.types.TypeEngine[object]]
    if layout.has_typed_bounds:
        kinds = {"LONG_": sa.BigInteger(), "DOUBLE_": sa.Double(), "BIG_DECIMAL_": sa.String(4000)}  # type: ignore[dict-item]
    else:
        kinds = {"": sa.LargeBinary()}  # type: ignore[dict-item]
    return [sa.Column(f"{kind}{end}_VALUE", type_) for kind, type_ in kinds.items() for end in ("LOW", "HIGH")]
