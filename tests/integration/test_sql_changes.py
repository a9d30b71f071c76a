"""INSERT, DELETE, UPDATE and MERGE against a model: after each statement the table holds what plain rows would."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.support.spark import interpreted

import skipstone
from skipstone.commit import RowDelta
from skipstone.errors import InvalidInput, NotFound
from skipstone.write import write_equality_deletes

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

Row = tuple[int | None, str | None, int | None]
MODES = ("copy-on-write", "merge-on-read")
STEPS = 8


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


def made(spark: Any, lake: Any, version: int, mode: str, more: str = "") -> Callable[[str], Any]:
    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    run(
        f"CREATE TABLE shop.t (id BIGINT, s STRING, n INT) USING skipstone PARTITIONED BY (s) "
        f"TBLPROPERTIES ('format-version' = '{version}', {modes}{more})"
    )
    return run


def rows_of(run: Callable[[str], Any]) -> list[Row]:
    return sorted((tuple(r) for r in run("SELECT id, s, n FROM shop.t").collect()), key=repr)


@dataclass(frozen=True)
class Condition:
    """A condition on a row, as SQL and as what it means. Unknown is not true."""

    sql: str
    holds: Callable[[Row], bool]


CONDITIONS = [
    Condition("t.id % 3 = 1", lambda r: r[0] is not None and r[0] % 3 == 1),
    Condition("t.s = 'a'", lambda r: r[1] == "a"),
    Condition("t.s IS NULL", lambda r: r[1] is None),
    Condition("NOT (t.n > 20)", lambda r: r[2] is not None and not r[2] > 20),
    Condition("t.id BETWEEN 5 AND 9 OR t.n IS NULL", lambda r: (r[0] is not None and 5 <= r[0] <= 9) or r[2] is None),
    Condition("t.id IN (SELECT n FROM shop.t WHERE s = 'b')", lambda r: False),  # its meaning depends on the table
    Condition("coalesce(t.s, '') <> 'c'", lambda r: r[1] != "c"),
    Condition("t.id > 1000", lambda r: False),
]


class Model:
    """The rows that the table should hold."""

    def __init__(self, seed: int) -> None:
        self.rows: list[Row] = []
        self._random = random.Random(seed)

    def new_rows(self, count: int) -> list[Row]:
        r = self._random
        return [
            (
                r.choice([None, *range(14)]) if r.random() < 0.1 else r.randrange(14),
                r.choice([None, "a", "b", "c"]),
                r.choice([None, r.randrange(40)]),
            )
            for _ in range(count)
        ]

    def condition(self) -> Condition:
        chosen = self._random.choice(CONDITIONS)
        if "SELECT" not in chosen.sql:
            return chosen
        listed = {n for _, s, n in self.rows if s == "b" and n is not None}
        return Condition(chosen.sql, lambda r: r[0] in listed and r[0] is not None)

    def step(self) -> str:
        """A statement, after which `rows` holds what the table should."""
        return self._random.choice([self._insert, self._delete, self._update, self._merge])()

    def _insert(self) -> str:
        rows = self.new_rows(5)
        self.rows += rows
        return f"INSERT INTO shop.t VALUES {_values(rows)}"

    def _delete(self) -> str:
        c = self.condition()
        self.rows = [r for r in self.rows if not c.holds(r)]
        return f"DELETE FROM shop.t t WHERE {c.sql}"

    def _update(self) -> str:
        c = self.condition()
        self.rows = [(r[0], "c", None if r[2] is None else r[2] + 1) if c.holds(r) else r for r in self.rows]
        return f"UPDATE shop.t AS t SET s = 'c', n = t.n + 1 WHERE {c.sql}"

    def _merge(self) -> str:
        source = {r[0]: r for r in self.new_rows(6)}  # one row a key
        by_source = self._random.random() < 0.4
        with_delete = self._random.random() < 0.5
        clauses = ["WHEN MATCHED AND s.n IS NULL THEN DELETE"] if with_delete else []
        clauses += ["WHEN MATCHED AND t.n < s.n OR t.n IS NULL THEN UPDATE SET n = s.n, s = s.s"]
        clauses += ["WHEN NOT MATCHED AND s.id <> 3 THEN INSERT (n, id) VALUES (s.n + 100, s.id)"]
        clauses += ["WHEN NOT MATCHED BY SOURCE AND t.s = 'a' THEN UPDATE SET n = -1"] if by_source else []
        kept: list[Row] = []
        matched: set[int] = set()
        for row in self.rows:
            pair = source.get(row[0]) if row[0] is not None else None
            if pair is None:
                kept.append((row[0], row[1], -1) if by_source and row[1] == "a" else row)
                continue
            matched.add(pair[0])  # type: ignore[arg-type]
            if with_delete and pair[2] is None:
                continue
            takes = row[2] is None or (pair[2] is not None and row[2] < pair[2])
            kept.append((row[0], pair[1], pair[2]) if takes else row)
        for key, pair in source.items():
            if key not in matched and key is not None and key != 3:
                kept.append((key, None, None if pair[2] is None else pair[2] + 100))
        self.rows = kept
        using = f"(SELECT * FROM VALUES {_values(list(source.values()))} AS v(id, s, n))"
        return f"MERGE INTO shop.t t USING {using} s ON t.id = s.id {' '.join(clauses)}"


def _values(rows: list[Row]) -> str:
    def text(value: Any, type_: str) -> str:
        return f"CAST({'NULL' if value is None else repr(value)} AS {type_})"

    return ", ".join(f"({text(a, 'BIGINT')}, {text(b, 'STRING')}, {text(c, 'INT')})" for a, b, c in rows)


@pytest.mark.parametrize(
    ("version", "mode"), [(1, MODES[0]), (2, MODES[0]), (2, MODES[1]), (3, MODES[0]), (3, MODES[1])]
)
def test_random_statements_leave_what_the_model_holds(spark: Any, lake: Any, version: int, mode: str) -> None:
    run = made(spark, lake, version, mode)
    model = Model(seed=version * 10 + len(mode))
    first = model.new_rows(12)
    model.rows += first
    run(f"INSERT INTO shop.t VALUES {_values(first)}")
    for step in range(STEPS):
        if step == 3:
            run("ALTER TABLE shop.t ADD PARTITION FIELD bucket(3, id)")
        if step == 5:
            run("ALTER TABLE shop.t DROP PARTITION FIELD s")
        statement = model.step()
        run(statement)
        assert rows_of(run) == sorted(model.rows, key=repr), statement


@pytest.mark.parametrize("mode", MODES)
def test_rows_keep_their_ids_through_updates_and_merges(spark: Any, lake: Any, mode: str) -> None:
    run = made(spark, lake, 3, mode)
    run("INSERT INTO shop.t SELECT id, 'a', CAST(id AS INT) FROM range(6)")
    lineage = "SELECT id, _row_id, _last_updated_sequence_number FROM shop.t"
    before = {r[0]: r[1] for r in run(lineage).collect()}
    run("UPDATE shop.t SET n = 100 WHERE id = 2")
    run("MERGE INTO shop.t t USING (SELECT 4L id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 7")
    after = {r[0]: (r[1], r[2]) for r in run(lineage).collect()}
    assert {i: row_id for i, (row_id, _) in after.items()} == before
    assert {i: number for i, (_, number) in after.items()} == {0: 1, 1: 1, 2: 2, 3: 1, 4: 3, 5: 1}


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
def test_statements_may_look_at_the_file_and_place_of_a_row(mode: str, spark: Any, lake: Any) -> None:
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    table = lake.create_table(
        "shop.placed", [("id", "long"), ("note", "string")], format_version=3, properties=properties
    )
    for start in (0, 10):
        table.append(pa.table({"id": list(range(start, start + 10)), "note": ["old"] * 10}))
    first = skipstone.sql(spark, "SELECT DISTINCT _file FROM shop.placed WHERE id < 10", catalog=lake).first()[0]

    def run(text: str) -> None:
        skipstone.sql(spark, text, catalog=lake)

    def shown() -> dict[int, str]:
        table.refresh()
        return {r["id"]: r["note"] for r in table.scan().to_arrow().to_pylist()}

    run(f"DELETE FROM shop.placed WHERE _file = '{first}' AND id % 5 = 0")
    run("DELETE FROM shop.placed WHERE length(_FILE) < 5")
    assert sorted(shown()) == [i for i in range(20) if i not in (0, 5)]
    run("UPDATE shop.placed SET note = substring_index(_file, '.', -1) WHERE id = 12")
    run("UPDATE shop.placed SET note = to_json(struct(*)) WHERE id = 13")
    assert shown()[12] == "parquet" and '"_file":"' in shown()[13] and ".parquet" in shown()[13]
    run("UPDATE shop.placed SET note = 'x' || (id * 2) WHERE id = 14 AND id*1 = 14")
    assert shown()[14] == "x28"
    spark.createDataFrame([(15,), (16,)], "k long").createOrReplaceTempView("placed_keys")
    run(
        "MERGE INTO shop.placed t USING placed_keys s ON t.id = s.k WHEN MATCHED THEN UPDATE SET note = right(_file, 7)"
    )
    assert (shown()[15], shown()[16], shown()[17]) == ("parquet", "parquet", "old")
    spark.createDataFrame([(17,), (17,)], "k long").createOrReplaceTempView("placed_keys")
    with pytest.raises(
        InvalidInput, match=r"2 rows of the source match one row of the table \(position \d+ of .*parquet"
    ):
        run("MERGE INTO shop.placed t USING placed_keys s ON t.id = s.k WHEN MATCHED THEN UPDATE SET note = 'twice'")


def test_a_condition_that_covers_whole_files_changes_metadata_only(spark: Any, lake: Any) -> None:
    run = made(spark, lake, 3, "merge-on-read")
    run("INSERT INTO shop.t SELECT id, IF(id < 5, 'a', 'b'), 1 FROM range(10)")
    run("DELETE FROM shop.t WHERE s = 'a'")
    table = lake.load_table("shop.t")
    summary = table.current_snapshot.summary
    assert summary["deleted-data-files"] == "1"
    assert "added-delete-files" not in summary and "added-data-files" not in summary
    run("DELETE FROM shop.t")
    assert rows_of(run) == []


def test_merge_on_read_writes_vectors_and_copy_on_write_none(spark: Any, lake: Any) -> None:
    run = made(spark, lake, 3, "merge-on-read")
    run("INSERT INTO shop.t SELECT id, 'a', 1 FROM range(10)")
    run("DELETE FROM shop.t WHERE id = 3")
    run("DELETE FROM shop.t WHERE id = 4")
    table = lake.load_table("shop.t")
    assert table.inspect.delete_files().num_rows == 1, "one vector a file, the old one taken in"
    assert table.current_snapshot.summary["added-dvs"] == "1"


# -- what is refused


def test_several_source_rows_for_one_row_are_refused_unless_it_is_only_deleted(spark: Any, lake: Any) -> None:
    run = made(spark, lake, 2, "copy-on-write")
    run("INSERT INTO shop.t VALUES (1, 'a', 1)")
    twice = "MERGE INTO shop.t t USING (SELECT 1L id UNION ALL SELECT 1L) s ON t.id = s.id WHEN MATCHED THEN"
    with pytest.raises(InvalidInput, match="2 rows of the source match one row"):
        run(f"{twice} UPDATE SET n = 2")
    assert rows_of(run) == [(1, "a", 1)]
    run(f"{twice} DELETE")
    assert rows_of(run) == []


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("UPDATE shop.t SET nope = 1", NotFound, "Cannot set 'nope' of shop.t: no such column. Columns: id, s, n."),
        ("UPDATE shop.t SET n = 'x'", InvalidInput, "Cannot write to column 'n' of shop.t: expected int, got string."),
        ("INSERT INTO shop.t VALUES (1)", InvalidInput, "expected 3 columns (id, s, n), got 1"),
        ("INSERT INTO shop.t (id, nope) VALUES (1, 2)", InvalidInput, "unknown column 'nope'"),
        ("INSERT INTO shop.t VALUES ('x', 'y', 1)", InvalidInput, "expected bigint, got string"),
        ("DELETE FROM shop.nope WHERE id = 1", NotFound, "shop.nope"),
        ("DELETE FROM shop.t HERE id = 1", InvalidInput, "expected WHERE"),
        ("DELETE FROM shop.t WHERE id = = 1", InvalidInput, "Syntax error at or near '='"),
        ("SELECT * FROM shop.t WHERE (id = 1", InvalidInput, "Syntax error"),
        ("MERGE INTO shop.t USING shop.t s ON true WHEN MATCHED THEN UPDATE SET n", InvalidInput, "expected ="),
    ],
)  # fmt: skip
def test_bad_statements_are_refused_and_nothing_happens(
    spark: Any, lake: Any, text: str, error: type[Exception], message: str
) -> None:
    run = made(spark, lake, 2, "copy-on-write")
    run("INSERT INTO shop.t VALUES (1, 'a', 1)")
    with pytest.raises(error) as caught:
        run(text)
    assert message in str(caught.value)
    assert rows_of(run) == [(1, "a", 1)]


# -- the same verbs from the door


def test_the_door_changes_rows_with_spark(spark: Any, lake: Any) -> None:
    run = made(spark, lake, 3, "merge-on-read")
    run("INSERT INTO shop.t SELECT id, 'a', CAST(id AS INT) FROM range(6)")
    table = lake.load_table("shop.t")
    table.delete("id % 2 = 0", spark=spark)
    table.update("id = 1", {"n": skipstone.expr("n + 10"), "s": "it's"}, spark=spark)
    source = spark.createDataFrame([(3, "new", 30), (9, "new", 90)], "id bigint, s string, n int")
    merge = table.merge(source, on="target.id = source.id")
    merge.when_matched_update_all().when_not_matched_insert_all().when_not_matched_by_source_delete(
        condition="target.id = 5"
    ).execute()
    assert rows_of(run) == [(1, "it's", 11), (3, "new", 30), (9, "new", 90)]
    table.upsert(spark.createDataFrame([(9, "up", 1)], "id bigint, s string, n int"), on=["id"])
    assert rows_of(run) == [(1, "it's", 11), (3, "new", 30), (9, "up", 1)]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_file_that_has_deletes_is_rewritten_without_them_and_without_what_goes(
    spark: Any, lake: Any, file_format: str
) -> None:
    """Rows that a vector and a key have deleted stay away; the others keep their ids; files that lose none stay."""

    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    run(
        "CREATE TABLE shop.t (id BIGINT, `odd.name` STRING) USING skipstone TBLPROPERTIES ('format-version' = '3', "
        f"'write.format.default' = '{file_format}', 'write.delete.mode' = 'merge-on-read')"
    )
    for start in (0, 10, 20):
        run(f"INSERT INTO shop.t SELECT /*+ COALESCE(1) */ id, 'a' FROM range({start}, {start + 10})")
    run("DELETE FROM shop.t WHERE id % 10 = 1")
    table = lake.load_table("shop.t")
    keys = pa.table({"id": pa.array([2, 12, 22], pa.int64())})
    table.apply(
        RowDelta(files=write_equality_deletes(keys, equality_ids=[1], metadata=table.metadata, storage=table.storage))
    )
    row_ids = {r.id: r._row_id for r in run("SELECT id, _row_id FROM shop.t").collect()}
    untouched = run("SELECT DISTINCT _file FROM shop.t WHERE id = 20").collect()
    run("ALTER TABLE shop.t SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')")
    run("UPDATE shop.t SET `odd.name` = 'b' WHERE id = 3")
    run("DELETE FROM shop.t WHERE id IN (4, 5, 16)")
    found = {r.id: (r[1], r._row_id) for r in run("SELECT id, `odd.name`, _row_id FROM shop.t").collect()}
    gone = {i for i in range(30) if i % 10 in (1, 2)} | {4, 5, 16}
    assert found == {i: ("b" if i == 3 else "a", row_ids[i]) for i in range(30) if i not in gone}
    assert run("SELECT DISTINCT _file FROM shop.t WHERE id = 20").collect() == untouched
