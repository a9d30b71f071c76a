"""What a statement gives to a column, and which rows it may choose: as Spark does on Iceberg's own tables.

The expected rows are those that Spark 4.1 leaves in a table of Iceberg's runtime after the same statement.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark import interpreted

import skipstone
from skipstone.errors import InvalidInput, Unsupported

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

Run = Callable[[str], Any]
SWAPPED = "named_struct('y', 1, 'x', 2)"
BY_NAME, BY_PLACE = {"x": 2, "y": 1}, {"x": 1, "y": 2}
OLD = {"x": 7, "y": 8}


@pytest.fixture
def run(iceberg_java: Any, tmp_path: Path) -> Run:
    spark = interpreted(iceberg_java)
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))

    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    run(
        "CREATE TABLE shop.t (id INT, p STRUCT<x:INT,y:INT>, ps ARRAY<STRUCT<x:INT,y:INT>>, "
        "pm MAP<STRING,STRUCT<x:INT,y:INT>>) USING skipstone"
    )
    run("INSERT INTO shop.t VALUES (1, named_struct('x', 7, 'y', 8), NULL, NULL)")
    return run


def fields(run: Run) -> dict[int, Any]:
    """For each row its struct, and those in its list and its map."""
    found = run("SELECT id, p, ps, pm['k'] AS v FROM shop.t").collect()
    return {
        r.id: [r.p and r.p.asDict(), r.ps and [s and s.asDict() for s in r.ps], r.v and r.v.asDict()] for r in found
    }


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (f"UPDATE shop.t SET p = {SWAPPED}", {1: [BY_NAME, None, None]}),
        ("UPDATE shop.t SET P = named_struct('Y', 1L, 'X', 2)", {1: [BY_NAME, None, None]}),
        (
            f"UPDATE shop.t SET ps = array({SWAPPED}, NULL), pm = map('k', {SWAPPED})",
            {1: [OLD, [BY_NAME, None], BY_NAME]},
        ),
        (
            f"MERGE INTO shop.t t USING (SELECT explode(array(1, 2)) AS id, {SWAPPED} AS p) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET p = s.p WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, s.p)",
            {1: [BY_NAME, None, None], 2: [BY_NAME, None, None]},
        ),
        (
            f"MERGE INTO shop.t t USING (SELECT {SWAPPED} AS p, 1 AS id, array({SWAPPED}) AS ps, "
            f"map('k', {SWAPPED}) AS pm) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            {1: [BY_NAME, [BY_NAME], BY_NAME]},
        ),
        (
            f"INSERT OVERWRITE shop.t BY NAME SELECT {SWAPPED} AS p, array({SWAPPED}) AS ps, "
            f"map('k', {SWAPPED}) AS pm, 1 AS id",
            {1: [BY_NAME, [BY_NAME], BY_NAME]},
        ),
        (
            f"INSERT OVERWRITE shop.t SELECT 1, {SWAPPED}, array({SWAPPED}), map('k', {SWAPPED})",
            {1: [BY_PLACE, [BY_PLACE], BY_PLACE]},
        ),
        (
            f"INSERT OVERWRITE shop.t (id, ps, p, pm) SELECT 1, array({SWAPPED}), {SWAPPED}, map('k', {SWAPPED})",
            {1: [BY_PLACE, [BY_NAME], BY_NAME]},
        ),
    ],
)  # fmt: skip
def test_fields_of_structs_are_found_by_name_where_spark_does(
    run: Run, statement: str, expected: dict[int, Any]
) -> None:
    run(statement)
    assert fields(run) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("named_struct('x', 1, 'z', 2)", "shop.t.p: expected one field 'y'"),
        ("named_struct('x', 1)", "shop.t.p: expected one field 'y'"),
        ("named_struct('x', 1, 'y', 2, 'z', 3)", "shop.t.p: it has no field 'z'"),
        ("named_struct('y', 'a', 'x', 1)", "'p' of shop.t: expected struct<x:int,y:int>, got struct<y:string,x:int>"),
    ],
)
def test_a_struct_with_other_fields_is_refused(run: Run, value: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(f"UPDATE shop.t SET p = {value}")
    assert fields(run) == {1: [OLD, None, None]}


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM shop.t WHERE rand() < 2",
        "UPDATE shop.t SET id = 5 WHERE rand() < 2",
        "WITH one AS (SELECT 1 AS id) DELETE FROM shop.t WHERE id IN (SELECT id FROM one) AND rand() < 2",
        "MERGE INTO shop.t t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED AND rand() < 2 THEN DELETE",
        "MERGE INTO shop.t t USING (SELECT 1 AS id) s ON t.id = s.id "
        "WHEN MATCHED AND rand() < 2 THEN UPDATE SET id = 5",
    ],
)
def test_rows_are_not_chosen_by_chance(run: Run, statement: str) -> None:
    with pytest.raises(InvalidInput, match="the same answer each time"):
        run(statement)
    assert fields(run) == {1: [OLD, None, None]}


def test_a_source_may_hold_what_chance_says(run: Run) -> None:
    run(
        "MERGE INTO shop.t t USING (SELECT 1 AS id, CAST(rand() AS INT) AS n) s ON t.id = s.id "
        "WHEN MATCHED AND t.p.x > s.n THEN UPDATE SET id = s.n + 5"
    )
    assert list(fields(run)) == [5]


def test_a_with_stands_before_any_change(run: Run) -> None:
    run("WITH a AS (SELECT 1 AS id), b (n) AS (SELECT 9) UPDATE shop.t SET id = 2 WHERE id IN (SELECT id FROM a)")
    assert list(fields(run)) == [2]
    run(
        "WITH merge AS (SELECT 2 AS id) MERGE INTO shop.t t USING merge ON t.id = merge.id "
        "WHEN MATCHED THEN UPDATE SET id = 3"
    )
    assert list(fields(run)) == [3]
    assert run("WITH update AS (SELECT 4 AS id) SELECT * FROM update").first().id == 4
    run("WITH a AS (SELECT max(id) AS id FROM shop.t) DELETE FROM shop.t WHERE id = (SELECT id FROM a)")
    assert fields(run) == {}


def test_a_merge_does_not_change_the_schema(run: Run) -> None:
    with pytest.raises(Unsupported, match="Add them before, with ALTER TABLE"):
        run(
            "MERGE WITH SCHEMA EVOLUTION INTO shop.t t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
        )
