"""The store: a metastore's tables in SQLite or PostgreSQL.

Every change is one transaction. Foreign keys hold: what belongs to a table or a partition goes with it.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from skipstone.catalog.database import Database
from skipstone.errors import FormatViolation
from skipstone.hive.store.aggregate import AggregateRows
from skipstone.hive.store.databases import DatabaseRows
from skipstone.hive.store.layout import Layout, tables_of
from skipstone.hive.store.partitions import PartitionRows
from skipstone.hive.store.statistics import StatisticsRows
from skipstone.hive.store.tables import TableRows

_VERSIONS: Final = {Layout.ORIGINAL: "0.10.0", Layout.HIVE_4_0: "4.0.0", Layout.HIVE_4_1: "4.1.0"}
# Any number will do, as long as all who set up a store use the same.
_SETUP_LOCK: Final = 7_305_807_150_292


class HiveStore(DatabaseRows, TableRows, PartitionRows, StatisticsRows, AggregateRows):
    """Databases, tables, partitions and column statistics. Made on first use, in the lay-out asked for."""

    def __init__(self, uri: str, *, layout: Layout = Layout.HIVE_4_1) -> None:
        self._database = Database(uri, has_foreign_keys=True)
        self._tables = tables_of(layout)
        self._set_up()

    def __repr__(self) -> str:
        return f"HiveStore({str(self._database)!r}, layout={self.layout.value!r})"

    @property
    def layout(self) -> Layout:
        return self._tables.layout

    def state(self) -> object | None:
        """What changes as soon as anything is committed to the store; None where its database does not tell."""
        return self._database.state()

    def close(self) -> None:
        """Close the connections to the database; the next use opens new ones."""
        self._database.close()

    def _set_up(self) -> None:
        version = self._tables.version
        wanted = _VERSIONS[self.layout]
        with self._database.writing(f"Cannot set up the metastore {self._database}") as connection:
            if not self._database.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SETUP_LOCK)))
            self._tables.metadata.create_all(connection)
            found = connection.scalar(sa.select(version.c.SCHEMA_VERSION))
            if found is None:
                row = {"VER_ID": 1, "SCHEMA_VERSION": wanted, "VERSION_COMMENT": f"Lay-out {self.layout.value}"}
                connection.execute(sa.insert(version).values(row))
            elif found != wanted:
                raise FormatViolation(
                    f"Cannot open the metastore {self._database}: expected lay-out {self.layout.value} "
                    f"(version {wanted}), got version {found}. Open it with the lay-out it was made with."
                )
