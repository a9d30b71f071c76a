"""ANALYZE TABLE on our tables: statistics by partition, in Hive's form, equal to brute force."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import skipstone
from skipstone.hive.accurate import accurate_columns
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.errors import HiveError, HiveInvalid, HiveNotFound
from skipstone.hive.ndv import parse_bit_vector
from skipstone.hive.session import HiveSession
from skipstone.hive.statistics import ColumnStatistics, merge_statistics
from skipstone.hive.store import HiveStore
from skipstone.lake import Lake

SCHEMA = [
    ("id", "long"),
    ("state", "string"),
    ("name", "string"),
    ("price", "decimal(9,2)"),
    ("ratio", "double"),
    ("is_new", "boolean"),
    ("ts", "timestamp"),
    ("tags", "list<string>"),
]
STATES = ("NY", "CA", None)


def row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "state": STATES[number % 3],
        "name": None if number % 7 == 0 else f"name {number % 20}",
        "price": Decimal(number) / 4,
        "ratio": number / 3,
        "is_new": None if number % 5 == 0 else number % 2 == 0,
        "ts": datetime(2026, 11, 14 + number % 3, 5, 0, 0, number),
        "tags": ["x"],
    }


ROWS = [row(number) for number in range(1, 241)]
DAYS = [f"ts_day=2026-11-{day}" for day in (14, 15, 16)]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))


@pytest.fixture
def store(tmp_path: Path) -> HiveStore:
    return HiveStore(f"sqlite:///{tmp_path}/hive.db")


@pytest.fixture
def session(lake: Lake, store: HiveStore) -> HiveSession:
    return HiveSession(store, database="shop", analyzer=LakeAnalyzer(lake, store))


def of_table(store: HiveStore, name: str, column: str) -> ColumnStatistics | None:
    return next(iter(store.table_statistics("shop", name, [column])), None)


def check_brute_force(found: ColumnStatistics, rows: list[dict[str, Any]]) -> None:
    values = [r[found.column] for r in rows if r[found.column] is not None]
    assert found.num_nulls == len(rows) - len(values)
    match found.column:
        case "is_new":
            assert (found.num_trues, found.num_falses) == (sum(values), len(values) - sum(values))
        case "name":
            assert found.max_length == max(map(len, values))
            assert found.avg_length == pytest.approx(sum(map(len, values)) / len(rows))
            assert found.num_distincts == len(set(values))
        case "ts":
            # Hive keeps whole seconds.
            seconds = {int((v - datetime(1970, 1, 1)).total_seconds() // 1) for v in values}
            assert (found.low, found.high, found.num_distincts) == (min(seconds), max(seconds), len(seconds))
        case _:
            assert (found.low, found.high) == (min(values), max(values))
            assert found.num_distincts == pytest.approx(len(set(values)), rel=0.1)


def test_hidden_partitions_get_statistics_equal_to_brute_force(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    table = lake.create_table("shop.sales", SCHEMA, partition_by=["day(ts)"])
    table.append(ROWS[:120])
    table.append(ROWS[120:])
    session.run("ANALYZE TABLE sales COMPUTE STATISTICS FOR COLUMNS")
    assert store.partition_names("shop", "sales") == DAYS
    by_name = store.partition_statistics("shop", "sales", DAYS)
    columns = ["id", "state", "name", "price", "ratio", "is_new", "ts"]
    for day, name in zip((14, 15, 16), DAYS, strict=True):
        rows = [r for r in ROWS if r["ts"].day == day]
        assert sorted(one.column for one in by_name[name]) == sorted(columns)
        for one in by_name[name]:
            if one.column != "state":
                check_brute_force(one, rows)
        params = store.partition("shop", "sales", name).parameters
        assert accurate_columns(params) == set(columns)
        assert (params["numRows"], params["numFiles"]) == ("80", "2")
    assert store.table("shop", "sales").parameters["numRows"] == "240"


def test_merged_partitions_equal_the_table_in_everything_exact(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    lake.create_table("shop.sales", SCHEMA, partition_by=["day(ts)"]).append(ROWS)
    session.run("ANALYZE TABLE shop.sales COMPUTE STATISTICS FOR COLUMNS")
    by_name = store.partition_statistics("shop", "sales", DAYS)
    for whole in store.table_statistics("shop", "sales"):
        merged = merge_statistics([next(s for s in by_name[n] if s.column == whole.column) for n in DAYS])
        for fact in ("num_nulls", "low", "high", "max_length", "num_trues", "num_falses", "num_distincts"):
            assert getattr(merged, fact) == getattr(whole, fact), (whole.column, fact)
        assert parse_bit_vector(merged.bit_vector) == parse_bit_vector(whole.bit_vector)
        if whole.column != "state":
            check_brute_force(whole, ROWS)


def test_static_and_dynamic_partitions_are_those_that_are_analysed(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    lake.create_table("shop.sales", SCHEMA, partition_by=["state", "day(ts)"]).append(
        [{**r, "ts": datetime(2026, 11, 14 + r["id"] % 2)} for r in ROWS]
    )
    session.run("ANALYZE TABLE sales PARTITION(state='NY', ts_day) COMPUTE STATISTICS FOR COLUMNS id, name")
    names = store.partition_names("shop", "sales")
    found = store.partition_statistics("shop", "sales", names)
    assert sorted(found) == ["state=NY/ts_day=2026-11-14", "state=NY/ts_day=2026-11-15"]
    assert {one.column for values in found.values() for one in values} == {"id", "name"}
    assert of_table(store, "sales", "id") is None
    session.run("ANALYZE TABLE sales PARTITION(state='CA', ts_day='2026-11-15') COMPUTE STATISTICS FOR COLUMNS id")
    assert len(store.partition_statistics("shop", "sales", names)) == 3
    with pytest.raises(HiveInvalid) as problem:
        session.run("ANALYZE TABLE sales COMPUTE STATISTICS FOR COLUMNS state")
    assert problem.value.code == 30012


def test_what_changes_afterwards_is_no_longer_accurate(lake: Lake, store: HiveStore, session: HiveSession) -> None:
    table = lake.create_table("shop.sales", SCHEMA, partition_by=["day(ts)"])
    table.append(ROWS)
    session.run("ANALYZE TABLE sales COMPUTE STATISTICS FOR COLUMNS id")
    table.refresh()
    table.append([row(3)])  # of 2026-11-14
    session.run("DESCRIBE sales")
    accurate = {n: accurate_columns(store.partition("shop", "sales", n).parameters) for n in DAYS}
    assert accurate == {DAYS[0]: set(), DAYS[1]: {"id"}, DAYS[2]: {"id"}}
    assert accurate_columns(store.table("shop", "sales").parameters) == set()
    session.run("ANALYZE TABLE sales COMPUTE STATISTICS FOR COLUMNS id")
    assert accurate_columns(store.partition("shop", "sales", DAYS[0]).parameters) == {"id"}
    assert accurate_columns(store.table("shop", "sales").parameters) == {"id"}


def test_deleted_rows_are_left_out_even_of_files_analysed_before(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    table = lake.create_table("shop.plain", SCHEMA, properties={"write.delete.mode": "merge-on-read"})
    table.append(ROWS)
    session.run("ANALYZE TABLE plain COMPUTE STATISTICS FOR COLUMNS id")
    table.refresh()
    table.delete("id > 200 or id = 1")
    session.run("ANALYZE TABLE plain COMPUTE STATISTICS FOR COLUMNS id")
    found = of_table(store, "plain", "id")
    assert found is not None
    check_brute_force(found, [r for r in ROWS if 1 < r["id"] <= 200])
    assert store.table("shop", "plain").parameters["numRows"] == "199"


def test_nan_leaves_nothing_and_an_empty_table_leaves_zeros(lake: Lake, store: HiveStore, session: HiveSession) -> None:
    table = lake.create_table("shop.odd", [("d", "double"), ("i", "int"), ("s", "string")])
    session.run("ANALYZE TABLE odd COMPUTE STATISTICS FOR COLUMNS")
    empty = {one.column: one for one in store.table_statistics("shop", "odd")}
    assert {(one.num_nulls, one.num_distincts) for one in empty.values()} == {(0, 0)}
    table.append([{"d": 1.5, "i": None, "s": ""}])
    session.run("ANALYZE TABLE odd COMPUTE STATISTICS FOR COLUMNS")
    assert of_table(store, "odd", "d") is not None
    table.refresh()
    table.append([{"d": float("nan"), "i": None, "s": "ab"}])
    session.run("ANALYZE TABLE odd COMPUTE STATISTICS FOR COLUMNS")
    assert of_table(store, "odd", "d") is None
    nulls, text = of_table(store, "odd", "i"), of_table(store, "odd", "s")
    assert nulls is not None and text is not None
    assert (nulls.num_nulls, nulls.num_distincts, nulls.low) == (2, 1, None)
    assert (text.num_distincts, text.max_length, text.avg_length) == (2, 2, 1.0)
    assert accurate_columns(store.table("shop", "odd").parameters) == {"i", "s"}


def test_without_columns_only_rows_and_files_are_counted(lake: Lake, store: HiveStore, session: HiveSession) -> None:
    lake.create_table("shop.sales", SCHEMA, partition_by=["day(ts)"]).append(ROWS)
    session.run("ANALYZE TABLE sales PARTITION(ts_day='2026-11-15') COMPUTE STATISTICS NOSCAN")
    told = store.partition("shop", "sales", DAYS[1]).parameters
    assert "numRows" not in told and told["numFiles"] == "1"
    session.run("ANALYZE TABLE sales COMPUTE STATISTICS")
    told = store.partition("shop", "sales", DAYS[1]).parameters
    assert (told["numRows"], told["COLUMN_STATS_ACCURATE"]) == ("80", '{"BASIC_STATS":"true"}')
    assert store.table_statistics("shop", "sales") == []


def test_null_and_empty_text_are_one_partition_in_hive(lake: Lake, store: HiveStore, session: HiveSession) -> None:
    table = lake.create_table("shop.texts", [("s", "string"), ("i", "int")], partition_by=["s"])
    table.append([{"s": None, "i": 1}, {"s": "", "i": 2}, {"s": "a/b='c' %é", "i": 3}])
    session.run("ANALYZE TABLE `Texts` COMPUTE STATISTICS FOR COLUMNS")
    found = store.partition_statistics("shop", "texts", store.partition_names("shop", "texts"))
    bounds = {name: (values[0].low, values[0].high) for name, values in found.items()}
    assert bounds == {"s=__HIVE_DEFAULT_PARTITION__": (1, 2), "s=a%2Fb%3D%27c%27 %25é": (3, 3)}


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("ANALYZE TABLE nothing COMPUTE STATISTICS", 10001),
        ("ANALYZE TABLE nowhere.sales COMPUTE STATISTICS", 10072),
        ("ANALYZE TABLE sales COMPUTE STATISTICS FOR COLUMNS nope", 10002),
        ("ANALYZE TABLE sales PARTITION(ts_day='1999-01-01') COMPUTE STATISTICS", 30007),
        ("ANALYZE TABLE sales COMPUTE STATISTICS FOR COLUMNS tags", 30009),
    ],
)
def test_what_does_not_exist_has_hives_number(lake: Lake, session: HiveSession, statement: str, code: int) -> None:
    lake.create_table("shop.sales", SCHEMA, partition_by=["day(ts)"]).append(ROWS[:3])
    with pytest.raises((HiveNotFound, HiveInvalid)) as problem:
        session.run(statement)
    assert isinstance(problem.value, HiveError)
    assert problem.value.code == code


def test_statistics_do_not_pass_to_another_column_of_the_same_name(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    table = lake.create_table("shop.t", [("a", "int"), ("b", "int"), ("c", "int"), ("p", "int")], partition_by=["p"])
    table.append([{"a": 1, "b": 100, "c": 5, "p": 1}, {"a": 2, "b": 200, "c": 6, "p": 2}])
    session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    table = lake.load_table("shop.t")
    with table.update_schema() as update:
        update.delete_column("c")
    with table.update_schema() as update:
        update.add_column("c", "int")
    for old, new in (("a", "x"), ("b", "a"), ("x", "b")):
        with table.update_schema() as update:
            update.rename_column(old, new)
    shown = dict(session.run("DESCRIBE FORMATTED t c"))  # type: ignore[arg-type]
    assert (shown["min"], shown["max"], shown["num_nulls"]) == ("", "", "")
    assert store.table_statistics("shop", "t") == []
    assert accurate_columns(store.table("shop", "t").parameters) == set()
    for part in store.partitions("shop", "t"):
        assert accurate_columns(part.parameters) == set()
    session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    found = {one.column: (one.low, one.high, one.num_nulls) for one in store.table_statistics("shop", "t")}
    assert found == {"a": (100, 200, 0), "b": (1, 2, 0), "c": (None, None, 2)}


def test_a_table_under_the_name_of_a_dropped_one_starts_without_statistics(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    lake.create_table("shop.t", [("a", "int")]).append([{"a": 1}])
    session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    lake.drop_table("shop.t")
    lake.create_table("shop.t", [("a", "int")])
    assert dict(session.run("DESCRIBE FORMATTED t a"))["num_nulls"] == ""  # type: ignore[arg-type]
    assert store.table_statistics("shop", "t") == []


def test_a_key_that_was_removed_under_version_1_is_a_column_again(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    table = lake.create_table("shop.t", [("id", "int"), ("state", "string")], partition_by=["state"], format_version=1)
    table.append([{"id": 1, "state": "NY"}])
    with table.update_spec() as update:
        update.remove_field("state")
    table.append([{"id": 2, "state": "CAL"}])
    session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    assert [name for name, _, _ in session.run("DESCRIBE t")] == ["id", "state"]
    state = of_table(store, "t", "state")
    assert state is not None
    assert (state.max_length, state.avg_length, state.num_distincts) == (3, 2.5, 2)


@pytest.mark.parametrize(
    ("value", "is_found"),
    [
        ("k=7", True), ("k='07'", True), ("k=+7", True), ("k=8", False), ("k='seven'", False), ("de=1.5", True),
        ("de='1.500'", True), ("bo='TRUE'", True), ("f=1", True), ("f=1e0", True), ("d='2026-01-01'", True),
        ("ts='2026-01-01 05:00:00.5'", True), ("ts='2026-01-01T05:00:00.500000'", True),
        ("ts='2026-01-01 05:00:00'", False), ("s='\\uD83D\\uDE00'", True), ("s='07'", False),
    ],
)  # fmt: skip
def test_a_partition_is_found_however_its_value_is_written(
    lake: Lake, session: HiveSession, value: str, is_found: bool
) -> None:
    schema = [("id", "int"), ("k", "int"), ("de", "decimal(9,2)"), ("bo", "boolean"), ("f", "double"), ("d", "date"),
              ("ts", "timestamp"), ("s", "string")]  # fmt: skip
    table = lake.create_table("shop.t", schema, partition_by=[name for name, _ in schema[1:]])
    moment = datetime(2026, 1, 1, 5, 0, 0, 500_000)
    given = {"k": 7, "de": Decimal("1.50"), "bo": True, "f": 1.0, "d": moment.date(), "ts": moment, "s": "\U0001f600"}
    table.append([{"id": 1, **given}])
    statement = f"ANALYZE TABLE t PARTITION({value}) COMPUTE STATISTICS FOR COLUMNS id"
    if is_found:
        session.run(statement)
        return
    with pytest.raises(HiveNotFound, match="Cannot find partition"):
        session.run(statement)


def test_a_partition_of_a_table_without_keys_is_refused(lake: Lake, session: HiveSession) -> None:
    lake.create_table("shop.t", [("id", "int")])
    for statement in ("DESCRIBE FORMATTED t PARTITION(p='1') id", "ANALYZE TABLE t PARTITION(p) COMPUTE STATISTICS"):
        with pytest.raises(HiveInvalid, match="the table has no partition keys"):
            session.run(statement)


def test_extreme_values_come_out_as_they_went_in(lake: Lake, store: HiveStore, session: HiveSession) -> None:
    schema = [("bi", "long"), ("d", "double"), ("de", "decimal(38,38)"), ("wide", "decimal(38,0)"), ("dt", "date"),
              ("ts", "timestamp"), ("s", "string"), ("bn", "binary"), ("bo", "boolean")]  # fmt: skip
    low = {"bi": -(2**63), "d": 5e-324, "de": Decimal("-0." + "9" * 38), "wide": Decimal("-" + "9" * 38),
           "dt": date(1, 1, 1), "ts": datetime(1969, 12, 31, 23, 59, 59, 500_000), "s": "", "bn": b"\0\0",
           "bo": True}  # fmt: skip
    high = {"bi": 2**63 - 1, "d": 1.7976931348623157e308, "de": Decimal("0." + "0" * 37 + "1"),
            "wide": Decimal("1" + "0" * 37), "dt": date(9999, 12, 31),
            "ts": datetime(9999, 12, 31, 23, 59, 59, 999_999), "s": "\U0001f600x", "bn": b"", "bo": None}  # fmt: skip
    lake.create_table("shop.t", schema).append([low, high])
    session.run("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS")
    found = {one.column: one for one in store.table_statistics("shop", "t")}
    for name in ("bi", "d", "de", "wide"):
        assert (found[name].low, found[name].high) == (low[name], high[name])
        assert found[name].num_distincts == 2
    assert (found["dt"].low, found["dt"].high) == (-719162, 2932896)
    assert (found["ts"].low, found["ts"].high) == (-1, 253402300799)
    # Lengths are in characters, as Hive's own `length` counts them: one that needs four bytes is one.
    assert (found["s"].avg_length, found["s"].max_length) == (1.0, 2)
    assert (found["bn"].avg_length, found["bn"].max_length) == (1.0, 2)
    assert (found["bo"].num_trues, found["bo"].num_falses, found["bo"].num_nulls) == (1, 0, 1)
    shown = dict(session.run("DESCRIBE FORMATTED t de"))  # type: ignore[arg-type]
    assert (shown["min"], shown["max"]) == ("-0." + "9" * 38, "0." + "0" * 37 + "1")


def test_distinct_uuids_of_partitions_add_up_and_times_have_no_statistics(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    table = lake.create_table("shop.ids", [("u", "uuid"), ("at", "time"), ("p", "int")], partition_by=["p"])
    table.append([{"u": UUID(int=number), "at": time(number % 24), "p": number % 2} for number in range(60)])
    session.run("ANALYZE TABLE ids COMPUTE STATISTICS FOR COLUMNS")
    added = store.aggregate("shop", "ids", ["p=0", "p=1"], ["u"]).statistics[0]
    assert (added.num_distincts, added.max_length, added.avg_length) == (60, 36, 36.0)
    # Its text has a length that was not measured, and unknown is never zero.
    assert of_table(store, "ids", "at") is None


def test_a_length_is_in_characters_however_many_units_one_takes(
    lake: Lake, store: HiveStore, session: HiveSession
) -> None:
    # Hive 4 counts the bytes that begin a character in UTF-8; Java's own length would say 2 of the first.
    lake.create_table("shop.wide", [("s", "string")]).append([{"s": "\U0001f600"}, {"s": "é"}, {"s": ""}, {"s": None}])
    session.run("ANALYZE TABLE wide COMPUTE STATISTICS FOR COLUMNS s")
    found = of_table(store, "wide", "s")
    assert found is not None
    assert (found.max_length, found.avg_length, found.num_nulls) == (1, 0.5, 1)
