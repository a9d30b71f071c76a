"""Statements through us and through Iceberg's Spark runtime on one table, in turn: both read the same after each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import skipstone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODES = ("copy-on-write", "merge-on-read")
LINEAGE = ", _row_id, _last_updated_sequence_number"
STATEMENTS = (
    "INSERT INTO {t} SELECT id, IF(id % 2 = 0, 'a', 'b'), CAST(id AS INT) FROM range(12)",
    "DELETE FROM {t} WHERE id IN (1, 2)",
    "UPDATE {t} SET n = n + 100 WHERE id % 5 = 0",
    "MERGE INTO {t} t USING (SELECT 3L id, 7 n UNION ALL SELECT 90L, 8) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, s, n) VALUES (s.id, 'a', s.n)",
    "MERGE INTO {t} t USING (SELECT 4L id) s ON t.id = s.id WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED BY SOURCE AND t.id = 7 THEN UPDATE SET s = 'c'",
    "DELETE FROM {t} WHERE s = 'b'",
)


class Turns:
    """One table; statements are run by us or by Java, and every row is asked of both afterwards."""

    def __init__(self, spark: SparkSession, lake: Any, name: str, version: int, mode: str) -> None:
        self.spark, self.lake, self.name, self.version = spark, lake, name, version
        modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
        self.ours(
            f"CREATE TABLE {{t}} (id BIGINT, s STRING, n INT) USING skipstone PARTITIONED BY (s) "
            f"TBLPROPERTIES ('format-version' = '{version}', {modes})"
        )

    def ours(self, text: str) -> Any:
        return skipstone.sql(self.spark, text.format(t=f"db.{self.name}"), catalog=self.lake)

    def java(self, text: str) -> Any:
        return self.spark.sql(text.format(t=f"java.db.{self.name}"))

    def same(self) -> list[Any]:
        query = f"SELECT id, s, n{LINEAGE if self.version >= 3 else ''} FROM {{t}}"
        ours, theirs = (sorted(map(tuple, run(query).collect()), key=repr) for run in (self.ours, self.java))
        assert ours == theirs
        return ours


@pytest.fixture
def turns(
    iceberg_java: SparkSession, iceberg_warehouse: Path, request: pytest.FixtureRequest
) -> Callable[[int, str], Turns]:
    name = "changes_" + "".join(c if c.isalnum() else "_" for c in request.node.name).lower()
    return lambda version, mode: Turns(iceberg_java, skipstone.catalog(str(iceberg_warehouse)), name, version, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [2, 3])
def test_statements_in_turn_leave_a_table_that_both_read(
    turns: Callable[[int, str], Turns], version: int, mode: str
) -> None:
    table = turns(version, mode)
    rows: list[Any] = []
    for number, statement in enumerate(STATEMENTS):
        (table.ours if number % 2 == 0 else table.java)(statement)
        rows = table.same()
    assert sorted(r[0] for r in rows) == [0, 6, 7, 8, 10, 90]
    table.java("INSERT INTO {t} VALUES (200, 'z', 1)")
    table.ours("UPDATE {t} SET n = 5 WHERE id = 200")
    table.java("DELETE FROM {t} WHERE id = 0")
    assert sorted(r[0] for r in table.same()) == [6, 7, 8, 10, 90, 200]
