"""Limits, top-k, aggregates and joins read an exact, small number of files; bad input gets one clear error."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import skipstone
from skipstone.errors import InvalidInput, NotFound
from skipstone.plan import joins

pa: Any = pyarrow

FILES = 10


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home: Path = tmp_path_factory.mktemp("beyond")
    made = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home))
    made.create_namespace("t")
    return made


@pytest.fixture(scope="module")
def table(lake: Any) -> Any:
    """Ten files of ten rows: `n` in order, `u` over all of them, `s` long texts, `ts` on whole seconds."""
    form = [("p", "string"), ("n", "long"), ("u", "double"), ("s", "string"), ("ts", "timestamp"), ("l", "list<long>")]
    made = lake.create_table("t.t", form, partition_by=["p"], format_version=3)
    for i in range(FILES):
        made.append([row(i, j) for j in range(10)])
    return made


def row(i: int, j: int) -> dict[str, Any]:
    start = datetime.datetime(2026, 1, 1)
    return {
        "p": "xy"[i % 2],
        "n": i * 10 + j,
        "u": float(j * 10 + i),
        "s": f"a long beginning, then {i * 10 + j:03}",
        "ts": start + datetime.timedelta(seconds=i * 10 + j),
        "l": None,
    }


@pytest.fixture(scope="module")
def with_deletes(lake: Any) -> Any:
    """Ten files, one of which has lost three rows to a deletion vector."""
    properties = {"write.delete.mode": "merge-on-read"}
    made = lake.create_table("t.d", [("n", "long"), ("m", "long")], format_version=3, properties=properties)
    for i in range(FILES):
        made.append([{"n": i * 10 + j, "m": None if i == 4 else j} for j in range(10)])
    made.delete("n IN (40, 41, 99)")
    return made


# -- limit


def test_a_limit_reads_as_few_sure_files_as_hold_the_rows(table: Any) -> None:
    plan = table.scan("n >= 30", limit=15).plan()
    assert len(plan) == 2
    level = plan.levels[-1]
    assert (level.name, level.zones_in, level.skipped) == ("limit", 7, 5)


def test_files_with_deletion_vectors_count_for_a_limit_with_what_is_left(with_deletes: Any) -> None:
    assert len(with_deletes.scan("n >= 40 AND n < 50", limit=8).plan()) == 1
    assert with_deletes.scan("n >= 40 AND n < 50", limit=8).to_arrow().num_rows == 8
    assert len(with_deletes.scan(limit=97).plan()) == 10


def test_sure_files_come_first_where_they_are_not_enough(table: Any) -> None:
    plan = table.scan("n >= 85", limit=12).plan()
    assert plan.files.column("verdict").to_pylist() == [2, 1]


# -- top-k


def test_top_k_reads_one_file_where_one_is_enough(table: Any) -> None:
    top = table.scan(threads=1).top_k("n", 5)
    assert top.rows.column("n").to_pylist() == [99, 98, 97, 96, 95]
    assert (top.files_read, top.files_planned) == (1, 10)
    assert table.scan(threads=1).top_k("n", 5, descending=False).rows.column("n").to_pylist() == [0, 1, 2, 3, 4]


def test_top_k_over_an_edge_reads_two_files(table: Any) -> None:
    assert table.scan(threads=1).top_k("n", 11).files_read == 2
    assert table.scan("n < 50", threads=1).top_k("n", 3).rows.column("n").to_pylist() == [49, 48, 47]


def test_top_k_of_cut_texts_is_right_though_bounds_are_all_alike(table: Any) -> None:
    top = table.scan(columns=["s"]).top_k("s", 2)
    assert [s[-3:] for s in top.rows.column("s").to_pylist()] == ["099", "098"]
    assert top.files_read == 10


def test_top_k_of_a_partition_column_needs_no_metrics(table: Any) -> None:
    assert table.scan(threads=1).top_k("p", 3).files_read == 1


def test_top_k_sees_deletes(with_deletes: Any) -> None:
    assert with_deletes.scan().top_k("n", 2).rows.column("n").to_pylist() == [98, 97]


def test_top_none_reads_nothing(table: Any) -> None:
    top = table.scan().top_k("n", 0)
    assert top.rows.num_rows == 0 and top.files_read == 0


# -- aggregates


def test_metadata_alone_answers_counts_and_ends(table: Any) -> None:
    found = table.scan("n >= 30").aggregate("count(*)", "count(n)", "min(n)", "max(n)", "max(u)")
    assert found.to_pylist() == [{"count(*)": 70, "count(n)": 70, "min(n)": 30, "max(n)": 99, "max(u)": 99.0}]
    assert found.files_read == 0


def test_groups_of_partitions_come_from_metadata(table: Any) -> None:
    found = table.scan().aggregate("count(*)", "max(n)", group_by=["p"])
    assert found.to_pylist() == [{"p": "x", "count(*)": 50, "max(n)": 89}, {"p": "y", "count(*)": 50, "max(n)": 99}]
    assert found.files_read == 0


def test_only_undecided_files_are_read_for_a_count(table: Any) -> None:
    found = table.scan("n >= 35").aggregate("count(*)")
    assert (found.to_pylist(), found.files_read) == ([{"count(*)": 65}], 1)


def test_ends_of_undecided_files_are_read_only_while_they_can_matter(table: Any) -> None:
    found = table.scan("n >= 35").aggregate("max(n)")
    assert (found.to_pylist(), found.files_read) == ([{"max(n)": 99}], 0)
    found = table.scan("n >= 35").aggregate("min(n)")
    assert (found.to_pylist(), found.files_read) == ([{"min(n)": 35}], 1)


def test_a_cut_text_is_read_and_not_believed(table: Any) -> None:
    found = table.scan().aggregate("min(s)")
    assert found.to_pylist() == [{"min(s)": "a long beginning, then 000"}]
    assert found.files_read > 0


def test_a_timestamp_on_a_whole_millisecond_may_be_rounded_and_is_read(table: Any) -> None:
    found = table.scan().aggregate("max(ts)")
    assert found.to_pylist() == [{"max(ts)": datetime.datetime(2026, 1, 1, 0, 1, 39)}]
    assert found.files_read == 1


def test_deletion_vectors_count_but_hide_which_values_are_left(with_deletes: Any) -> None:
    found = with_deletes.scan().aggregate("count(*)", "count(n)", "count(m)")
    assert found.to_pylist() == [{"count(*)": 97, "count(n)": 97, "count(m)": 89}]
    assert found.files_read == 0
    ends = with_deletes.scan().aggregate("min(n)", "max(n)")
    assert (ends.to_pylist(), ends.files_read) == ([{"min(n)": 0, "max(n)": 98}], 1)


def test_aggregates_of_no_rows(table: Any) -> None:
    found = table.scan("n > 1000").aggregate("count(*)", "min(n)")
    assert found.to_pylist() == [{"count(*)": 0, "min(n)": None}]
    assert table.scan("n > 1000").aggregate("count(*)", group_by=["p"]).to_pylist() == []


# -- joins


def test_few_keys_are_a_filter(table: Any) -> None:
    scan = table.scan().for_join("n", [3, 55, None, 1000])
    assert len(scan.plan()) == 2
    assert sorted(scan.to_arrow().column("n").to_pylist()) == [3, 55]


def test_many_keys_skip_files_between_them(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "FILTERED_KEYS_MAX", 2)
    plan = table.scan().for_join("n", pa.array([3, 4, 5, 55, 56], pa.int32())).plan()
    assert len(plan) == 2
    assert (plan.levels[-1].name, plan.levels[-1].zones_in, plan.levels[-1].skipped) == ("join", 6, 4)


def test_a_count_of_a_join_is_that_of_its_rows(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "FILTERED_KEYS_MAX", 0)
    scan = table.scan().for_join("n", [0, 59])
    assert scan.count() == scan.to_arrow().num_rows < table.scan().count()


def test_keys_of_a_partition_skip_the_others(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "FILTERED_KEYS_MAX", 0)
    assert len(table.scan().for_join("p", ["y", "z"]).plan()) == 5


def test_few_tuples_are_looked_for_together(table: Any) -> None:
    keys = pa.table({"p": ["x", "y"], "n": pa.array([3, 15], pa.int64())})
    found = table.scan().for_join(["p", "n"], keys)
    assert sorted(found.to_arrow().column("n").to_pylist()) == [3, 15]
    assert len(found.plan()) == 2


def test_no_keys_read_nothing(table: Any) -> None:
    assert len(table.scan().for_join("n", pa.array([], pa.int64())).plan()) == 0


def test_a_range_of_keys_is_enough(table: Any) -> None:
    scan = table.scan("p = 'x'").for_join("n", between=(25, 44))
    assert sorted(scan.to_arrow().column("n").to_pylist()) == [25, 26, 27, 28, 29, 40, 41, 42, 43, 44]
    assert len(scan.plan()) == 2


# -- bad input

BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda s: s.top_k("n", -1), InvalidInput, "Cannot take the first -1 rows"),
    (lambda s: s.top_k("nn", 1), NotFound, "Did you mean 'n'"),
    (lambda s: s.top_k("l", 1), InvalidInput, "expected one primitive value a row"),
    (lambda s: s.top_k([], 1), InvalidInput, "expected a column to sort by"),
    (lambda s: s.top_k(("n", "up"), 1), InvalidInput, "expected 'asc' or 'desc'"),
    (lambda s: s.top_k("n", 1, nulls="middle"), InvalidInput, "expected 'first' or 'last'"),
    (lambda s: s.aggregate(), InvalidInput, "expected at least one"),
    (lambda s: s.aggregate("sum(n)"), InvalidInput, "Invalid aggregate 'sum\\(n\\)'"),
    (lambda s: s.aggregate("min(*)"), InvalidInput, "Only count takes"),
    (lambda s: s.aggregate("min(x)"), NotFound, "Columns: "),
    (lambda s: s.aggregate("count(*)", "count(*)"), InvalidInput, "asked for twice"),
    (lambda s: s.aggregate("count(*)", group_by=["l"]), InvalidInput, "expected one primitive value a row"),
    (lambda s: s.for_join("n", ["a"]), InvalidInput, "the column is long, the keys are string"),
    (lambda s: s.for_join(["n", "p"], [1]), InvalidInput, "expected an Arrow table of keys"),
    (lambda s: s.for_join("x", [1]), NotFound, "Columns: "),
    (lambda s: s.for_join("n", [1, "a"]), InvalidInput, "expected keys of one type"),
    (lambda s: s.for_join("n"), InvalidInput, "expected keys, or for one column"),
    (lambda s: s.for_join(["n", "p"], between=(1, 2)), InvalidInput, "expected keys, or for one column"),
]


@pytest.mark.parametrize(("ask", "error", "message"), BAD)
def test_bad_input_is_refused(table: Any, ask: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask(table.scan())


def test_aggregates_of_a_limited_scan_are_refused(table: Any) -> None:
    with pytest.raises(InvalidInput, match="drop the limit"):
        table.scan(limit=3).aggregate("count(*)")
