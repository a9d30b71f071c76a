"""The two tables of a SQL catalog, as PyIceberg's SqlCatalog and Iceberg Java's JdbcCatalog know them.

Older databases have no column `iceberg_type`; they are used as they are. A null in it means a table. Views of other
implementations share the table, and are never touched.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from skipstone.catalog.database import Database

TABLE_TYPE: Final = "TABLE"
# Both implementations note a namespace without properties by this one.
EXISTS_KEY: Final = "exists"
PROPERTY_CHARACTERS_MAX: Final = 1000
# Any number will do, as long as all writers of a catalog use the same.
_SETUP_LOCK: Final = 7_305_807_150_291

_metadata: Final = sa.MetaData()

TABLES: Final = sa.Table(
    "iceberg_tables",
    _metadata,
    sa.Column("catalog_name", sa.String(255), primary_key=True, nullable=False),
    sa.Column("table_namespace", sa.String(255), primary_key=True, nullable=False),
    sa.Column("table_name", sa.String(255), primary_key=True, nullable=False),
    sa.Column("metadata_location", sa.String(1000)),
    sa.Column("previous_metadata_location", sa.String(1000)),
    sa.Column("iceberg_type", sa.String(5)),
)

NAMESPACE_PROPERTIES: Final = sa.Table(
    "iceberg_namespace_properties",
    _metadata,
    sa.Column("catalog_name", sa.String(255), primary_key=True, nullable=False),
    sa.Column("namespace", sa.String(255), primary_key=True, nullable=False),
    sa.Column("property_key", sa.String(255), primary_key=True, nullable=False),
    sa.Column("property_value", sa.String(1000), nullable=False),
)


def open_schema(database: Database) -> bool:
    """Make the tables that are missing; whether the database tells tables from views."""
    with database.reading() as connection:
        has_type = _has_type_column(connection)
    if has_type is None:
        with database.writing(f"Cannot set up the catalog {database}") as connection:
            if not database.is_sqlite:
                # Two sessions that create one table at the same time can both fail without it.
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SETUP_LOCK)))
            for table in (TABLES, NAMESPACE_PROPERTIES):
                connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
        with database.reading() as connection:
            has_type = _has_type_column(connection)
    return bool(has_type)


def _has_type_column(connection: sa.Connection) -> bool | None:
    """Whether there is the column; None if there is not even the table."""
    if connection.dialect.name == "sqlite":
        # What SQLAlchemy's inspector asks for too, in a tenth of the time.
        tables, namespaces = (
            {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table.name})")}
            for table in (TABLES, NAMESPACE_PROPERTIES)
        )
        return TABLES.c.iceberg_type.name in tables if tables and namespaces else None
    inspector = sa.inspect(connection)
    if not inspector.has_table(TABLES.name) or not inspector.has_table(NAMESPACE_PROPERTIES.name):
        return None
    return any(column["name"] == TABLES.c.iceberg_type.name for column in inspector.get_columns(TABLES.name))
