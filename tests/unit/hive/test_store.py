"""The metastore's tables in SQL, in every lay-out and database."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.hive import ODD_NAMES, TYPES, by_name, every_type, fill, sketch, statistics_of

from skipstone.errors import AlreadyExists, CommitRejected, FormatViolation, InvalidInput, NotFound
from skipstone.hive.accurate import accurate_columns
from skipstone.hive.objects import Column, HiveDatabase, HivePartition, HiveTable, Storage
from skipstone.hive.statistics import ColumnStatistics, all_null, merge_statistics, updated
from skipstone.hive.store import HiveStore, Layout
from skipstone.hive.store.rows import row_of
from skipstone.hive.types import Kind

KINDS = [(database, layout) for database in ("sqlite", "postgres") for layout in Layout]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-{kind[1].value}")
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HiveStore]:
    database, layout = request.param
    uri = f"sqlite:///{tmp_path}/m.db" if database == "sqlite" else request.getfixturevalue("postgres_uri")
    made = HiveStore(uri, layout=layout)
    fill(made, partitions=3)
    yield made
    made.close()


def rows(store: HiveStore, table: str) -> int:
    with store._database.reading() as connection:
        return connection.scalar(sa.text(f'SELECT count(*) FROM "{table}"')) or 0


def test_every_type_is_stored_and_read_back(store: HiveStore) -> None:
    store.put_table_statistics("db", "t", every_type(), now=7)
    assert store.table_statistics("db", "t") == every_type()
    assert store.table_statistics("db", "t", ["i", "nosuch"]) == [statistics_of("i", "int")]
    store.put_partition_statistics("db", "t", {"p=0": every_type(1), "p=2": every_type(2)}, now=7)
    assert store.partition_statistics("db", "t", ["p=2", "p=1", "nosuch"]) == {"p=2": by_name(every_type(2))}
    assert accurate_columns(store.partition("db", "t", "p=2").parameters) == set(TYPES)
    assert accurate_columns(store.table("db", "t").parameters) == set(TYPES)


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("bi", -(2**63), 2**63 - 1),
        ("d", -1.7976931348623157e308, 5e-324),
        ("de", Decimal("-99999999999999999999.999999999999999999"), Decimal("1E-18")),
        ("dt", -719162, 2932896),
        ("ts", -62135596800, 253402300799),
    ],
)
def test_extreme_values_lose_no_digit(store: HiveStore, column: str, low: object, high: object) -> None:
    extreme = replace(statistics_of(column, TYPES[column]), low=low, high=high)  # type: ignore[arg-type]
    store.put_table_statistics("db", "t", [extreme], now=1)
    found = store.table_statistics("db", "t", [column])[0]
    assert (found.low, found.high) == (low, high)


def test_only_sqlites_doubles_lose_the_sign_of_a_zero(store: HiveStore) -> None:
    zero = replace(statistics_of("d", "double"), low=-0.0, high=-0.0)
    store.put_table_statistics("db", "t", [zero], now=1)
    found = store.table_statistics("db", "t", ["d"])[0]
    assert (found.low, found.high) == (0.0, 0.0)
    # As in Derby, which Hive ships with.
    is_lost = store.layout.has_typed_bounds and "sqlite" in repr(store)
    assert math.copysign(1, found.low) == (1 if is_lost else -1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [("0.000000000000000001", "1E-18"), ("-0.0000012", "-0.0000012"), ("-0.00000012", "-1.2E-7"),
     ("12345678901234567890", "12345678901234567890"), ("1E+3", "1E+3"), ("0", "0")],
)  # fmt: skip
def test_decimals_are_stored_as_hive_writes_them(value: str, text: str) -> None:
    row = row_of(replace(statistics_of("de", TYPES["de"]), low=Decimal(value)), Layout.HIVE_4_0)
    assert row["BIG_DECIMAL_LOW_VALUE"] == text


def test_all_null_and_empty_columns_are_kept_apart(store: HiveStore) -> None:
    for name, type_ in TYPES.items():
        store.put_table_statistics("db", "t", [all_null(name, type_, 5)], now=1)
        found = store.table_statistics("db", "t", [name])[0]
        assert (found.low, found.high, found.num_nulls) == (None, None, 5)
        if found.kind not in (Kind.BOOLEAN, Kind.BINARY):
            assert found.num_distincts == 1


def test_a_put_replaces_only_its_own_columns_and_engine(store: HiveStore) -> None:
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.put_table_statistics("db", "t", [statistics_of("i", "int", 9)], now=2)
    found = {s.column: s for s in store.table_statistics("db", "t")}
    assert found["i"].num_nulls == 9
    assert found["s"].num_nulls == 3
    assert rows(store, "TAB_COL_STATS") == len(TYPES)
    if store.layout.has_engine:
        store.put_table_statistics("db", "t", [statistics_of("i", "int", 4)], now=2, engine="impala")
        assert store.table_statistics("db", "t", ["i"])[0].num_nulls == 9
        assert store.table_statistics("db", "t", ["i"], engine="impala")[0].num_nulls == 4


def test_a_merge_keeps_what_was_there(store: HiveStore) -> None:
    before = replace(statistics_of("i", "int", 2), bit_vector=sketch(1, 2))
    after = replace(statistics_of("i", "int", 5), bit_vector=sketch(2, 3))
    store.put_partition_statistics("db", "t", {"p=0": [before]}, now=1)
    store.put_partition_statistics("db", "t", {"p=0": [after], "p=1": [after]}, now=2, is_merged=True)
    found = store.partition_statistics("db", "t", ["p=0", "p=1"])
    assert found["p=0"] == [merge_statistics([before, after])]
    assert (found["p=0"][0].num_distincts, found["p=0"][0].num_nulls) == (3, 7)
    assert found["p=1"] == [after]


def test_dropping_a_partition_or_table_drops_its_statistics(store: HiveStore) -> None:
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.put_partition_statistics("db", "t", {"p=0": every_type(), "p=1": every_type()}, now=1)
    store.drop_partitions("db", "t", ["p=0"])
    assert rows(store, "PART_COL_STATS") == len(TYPES)
    store.drop_table("db", "t")
    for table in ("TAB_COL_STATS", "PART_COL_STATS", "PARTITIONS", "TBLS", "SDS", "COLUMNS_V2", "TABLE_PARAMS"):
        assert rows(store, table) == 0, table


def test_statistics_do_not_survive_their_column(store: HiveStore) -> None:
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.put_partition_statistics("db", "t", {"p=0": every_type()}, now=1)
    table = store.table("db", "t")
    new = {"i": Column(name="i", type="bigint"), "s": Column(name="renamed", type="string")}
    columns = tuple(new.get(c.name, c) for c in table.columns if c.name != "d")
    store.alter_table("db", "t", replace(table, columns=columns))
    kept = set(TYPES) - {"i", "s", "d"}
    assert {s.column for s in store.table_statistics("db", "t")} == kept
    assert {s.column for s in store.partition_statistics("db", "t", ["p=0"])["p=0"]} == kept
    assert accurate_columns(store.table("db", "t").parameters) == kept
    store.alter_table("db", "t", replace(store.table("db", "t"), columns=table.columns))
    assert {s.column for s in store.table_statistics("db", "t")} == kept


def test_a_renamed_table_keeps_its_statistics(store: HiveStore) -> None:
    store.create_database(HiveDatabase(name="other"))
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.put_partition_statistics("db", "t", {"p=0": every_type()}, now=1)
    store.alter_table("db", "t", replace(store.table("db", "t"), database="other", name="u"))
    assert store.table_statistics("other", "u") == every_type()
    assert store.partition_statistics("other", "u", ["p=0"]) == {"p=0": by_name(every_type())}
    with pytest.raises(NotFound):
        store.table("db", "t")


def test_a_put_that_fails_stores_nothing(store: HiveStore) -> None:
    bad = replace(statistics_of("i", "int"), low=9, high=1)
    with pytest.raises(InvalidInput, match="expected low <= high"):
        store.put_table_statistics("db", "t", [statistics_of("s", "string"), bad], now=1)
    with pytest.raises(NotFound, match=r"Cannot find partition p=9 of db\.t\. Partitions: p=0, p=1, p=2"):
        store.put_partition_statistics("db", "t", {"p=0": every_type(), "p=9": every_type()}, now=1)
    with pytest.raises(NotFound, match=r"Cannot find column 'x' in db\.t\. Columns: bo, ti"):
        store.put_table_statistics("db", "t", [statistics_of("s", "string"), statistics_of("x", "int")], now=1)
    with pytest.raises(InvalidInput, match="expected one object, got two"):
        store.put_table_statistics("db", "t", [statistics_of("i", "int"), statistics_of("I", "int")], now=1)
    assert rows(store, "TAB_COL_STATS") == rows(store, "PART_COL_STATS") == 0
    assert accurate_columns(store.table("db", "t").parameters) == set()


def test_deleting_says_what_is_not_there(store: HiveStore) -> None:
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.delete_table_statistics("db", "t", ["i"])
    assert "i" not in accurate_columns(store.table("db", "t").parameters)
    with pytest.raises(NotFound, match="Cannot find statistics of column i"):
        store.delete_table_statistics("db", "t", ["i"])
    with pytest.raises(NotFound, match="Cannot find column 'nosuch'"):
        store.delete_table_statistics("db", "t", ["nosuch"])
    store.delete_table_statistics("db", "t")
    assert store.table_statistics("db", "t") == []
    with pytest.raises(NotFound, match="Cannot find statistics of column i of partition p=0"):
        store.delete_partition_statistics("db", "t", ["p=0"], ["i"])


def test_partitions_add_up_like_their_parts(store: HiveStore) -> None:
    parts = {f"p={n}": every_type(n + 1) for n in range(3)}
    store.put_partition_statistics("db", "t", parts, now=1)
    added = store.aggregate("db", "t", list(parts), list(TYPES))
    expected = [merge_statistics([parts[p][i] for p in parts]) for i in range(len(TYPES))]
    assert list(added.statistics) == expected
    assert (added.partitions_found, added.is_complete) == (3, True)
    some = store.aggregate("db", "t", ["p=0", "p=2"], ["i", "de"])
    assert [(s.low, s.high) for s in some.statistics] == [(-3, 3), (Decimal("-0.75"), Decimal("0.375"))]


def test_counts_add_up_to_no_more_than_64_bits(store: HiveStore) -> None:
    most = 2**63 - 1
    given = [
        replace(statistics_of("bo", "boolean"), num_nulls=most, num_trues=most, num_falses=2**62),
        replace(statistics_of("i", "int"), num_nulls=2**62 - 1, num_distincts=most),
    ]
    store.put_partition_statistics("db", "t", {f"p={n}": given for n in range(3)}, now=1)
    two = {s.column: s for s in store.aggregate("db", "t", ["p=0", "p=1"], ["bo", "i", "i"]).statistics}
    assert (two["bo"].num_nulls, two["bo"].num_trues, two["bo"].num_falses) == (most, most, most)
    assert (two["i"].num_nulls, two["i"].num_distincts) == (2**63 - 2, most)
    store.put_partition_statistics("db", "t", {"p=0": given}, now=1, is_merged=True)
    assert store.partition_statistics("db", "t", ["p=0"], ["bo"])["p=0"][0].num_nulls == most


def test_statistics_of_another_kind_than_the_column_are_refused(store: HiveStore) -> None:
    with pytest.raises(InvalidInput, match="expected those of its type string, got longStats"):
        store.put_table_statistics("db", "t", [statistics_of("s", "int")], now=1)
    assert store.table_statistics("db", "t") == []


def test_nothing_of_what_was_dropped_is_left_behind(store: HiveStore) -> None:
    own = HivePartition(values=("7",), storage=Storage(location="/far/7"))
    store.add_partitions("db", "t", [own])
    store.alter_partitions("db", "t", [replace(own, storage=Storage(location="/further/7"))])
    assert store.partition("db", "t", "p=7").storage.location == "/further/7"
    assert rows(store, "SDS") == 2
    store.drop_partitions("db", "t", ["p=7"])
    assert rows(store, "SDS") == 1
    store.add_partitions("db", "t", [own])
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.drop_database("db", cascade=True)
    for table in ("SDS", "COLUMNS_V2", "TBLS", "PARTITIONS", "PARTITION_KEYS", "TAB_COL_STATS", "TABLE_PARAMS"):
        assert rows(store, table) == 0, table


def test_a_partition_without_statistics_leaves_no_bound(store: HiveStore) -> None:
    store.put_partition_statistics("db", "t", {"p=0": every_type(1), "p=1": every_type(2)[:4]}, now=1)
    added = store.aggregate("db", "t", ["p=0", "p=1", "p=2"], ["i", "bi"])
    assert not added.is_complete
    assert added.partitions_found == 1
    assert all((s.low, s.high) == (None, None) for s in added.statistics)
    known = store.aggregate("db", "t", ["p=0", "p=1"], ["i", "bi"])
    assert {s.column: (s.low, s.high) for s in known.statistics} == {"i": (-2, 2), "bi": (None, None)}


def test_bit_vectors_of_partitions_are_merged(store: HiveStore) -> None:
    for number in range(3):
        one = replace(statistics_of("i", "int"), bit_vector=sketch(*range(number * 40, number * 40 + 60)))
        store.put_partition_statistics("db", "t", {f"p={number}": [one]}, now=1)
    added = store.aggregate("db", "t", ["p=0", "p=1", "p=2"], ["i"]).statistics[0]
    assert added.bit_vector == sketch(*range(140))
    assert added.num_distincts == 140


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_go_through_unharmed(store: HiveStore, name: str) -> None:
    store.create_database(HiveDatabase(name=name, description=name, parameters={name: name}))
    column = Column(name=name, type="int", comment=name)
    key = Column(name=f"k{name}", type="string")
    store.create_table(
        HiveTable(database=name, name=name, columns=(column,), partition_keys=(key,), parameters={name: name},
                  storage=Storage(location=name, serde_parameters={name: name}))
    )  # fmt: skip
    store.add_partitions(name, name, [HivePartition(values=(name,), parameters={name: name})])
    part = store.partition_names(name, name)[0]
    store.put_table_statistics(name, name, [statistics_of(name, "int")], now=1)
    store.put_partition_statistics(name, name, {part: [statistics_of(name, "int", 8)]}, now=1)
    assert store.partition(name, name, part).values == (name,)
    assert store.table(name, name).columns == (column,)
    assert store.table_statistics(name, name, [name]) == [statistics_of(name, "int")]
    assert store.partition_statistics(name, name, [part], [name]) == {part: [statistics_of(name, "int", 8)]}
    assert [s.low for s in store.aggregate(name, name, [part], [name]).statistics] == [-8]
    assert store.table_names("db") == ["t"]


def test_names_are_found_in_any_case_and_missing_ones_are_named(store: HiveStore) -> None:
    assert store.table("DB", "T").name == "t"
    with pytest.raises(NotFound, match=r"Cannot find table db\.tt\. Tables of db: t\. Did you mean 't'"):
        store.table("db", "tt")
    with pytest.raises(NotFound, match=r"Cannot find database dbx\. Databases: db"):
        store.table("dbx", "t")
    with pytest.raises(AlreadyExists):
        store.create_database(HiveDatabase(name="db"))
    with pytest.raises(AlreadyExists):
        store.create_table(store.table("db", "t"))
    with pytest.raises(InvalidInput, match="got 1 tables"):
        store.drop_database("db")
    store.drop_database("db", cascade=True)
    assert rows(store, "PARTITIONS") == 0


def test_a_change_of_an_expected_parameter_is_one_step(store: HiveStore) -> None:
    table = store.table("db", "t")
    store.alter_table("db", "t", replace(table, parameters={"v": "1"}), expected={"v": None})
    with pytest.raises(CommitRejected, match="expected parameter v = 0, got 1"):
        store.alter_table("db", "t", replace(table, parameters={"v": "2"}), expected={"v": "0"})
    assert store.table("db", "t").parameters == {"v": "1"}


def test_a_store_is_opened_in_its_own_layout_only(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/m.db"
    HiveStore(uri, layout=Layout.HIVE_4_1).close()
    HiveStore(uri, layout=Layout.HIVE_4_1).close()
    with pytest.raises(FormatViolation, match="expected lay-out original"):
        HiveStore(uri, layout=Layout.ORIGINAL)


def test_the_tables_have_the_columns_of_the_layout(tmp_path: Path) -> None:
    def columns(layout: Layout, table: str) -> set[str]:
        made = HiveStore("sqlite://", layout=layout)
        with made._database.reading() as connection:
            return {column["name"] for column in sa.inspect(connection).get_columns(table)}

    original = columns(Layout.ORIGINAL, "PART_COL_STATS")
    assert {"LOW_VALUE", "HIGH_VALUE", "BIT_VECTOR", "PART_NAME", "DB_NAME", "TABLE_NAME"} <= original
    assert not original & {"ENGINE", "HISTOGRAM", "LONG_LOW_VALUE"}
    four = columns(Layout.HIVE_4_0, "PART_COL_STATS")
    assert {"CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME", "ENGINE", "HISTOGRAM", "LONG_LOW_VALUE"} <= four
    newest = columns(Layout.HIVE_4_1, "PART_COL_STATS")
    assert newest == four - {"CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME"}


@pytest.mark.parametrize(
    ("column", "changes", "expected"),
    [
        ("i", {"numDVs": "10", "lowValue": "-5"}, {"num_distincts": 10, "low": -5}),
        ("d", {"highValue": "1e3"}, {"high": 1000.0}),
        ("dt", {"lowValue": "1969-01-01"}, {"low": -365}),
        ("ts", {"highValue": "1970-01-01 00:01:00"}, {"high": 60}),
        ("s", {"avgColLen": "2.5", "maxColLen": "9"}, {"avg_length": 2.5, "max_length": 9}),
        ("bo", {"numTrues": "4"}, {"num_trues": 4}),
        ("de", {"lowValue": "-12.50"}, {"low": Decimal("-12.50")}),
        ("de", {"lowValue": ".5", "highValue": "1E+3"}, {"low": Decimal("0.5"), "high": Decimal(1000)}),
        (
            "d",
            {"lowValue": "4.9E-324", "highValue": "1.7976931348623157E308"},
            {"low": 5e-324, "high": 2.0**1023 * (2 - 2**-52)},
        ),
        ("dt", {"lowValue": "1-1-1", "highValue": "9999-12-31"}, {"low": -719162, "high": 2932896}),
        (
            "ts",
            {"lowValue": "1969-12-31 23:59:59.999", "highValue": "2000-1-2 03:04:05"},
            {"low": -1, "high": 946782245},
        ),
        (
            "ts",
            {"lowValue": "0001-01-01 1:2:3", "highValue": "9999-12-31 23:59:59.999999999"},
            {"low": -62135593077, "high": 253402300799},
        ),
        (
            "ts",
            {"lowValue": "0000-01-01 00:00:00", "highValue": "10000-01-01 00:00:00"},
            {"low": -62167219200, "high": 253402300800},
        ),
        (
            "ts",
            {"lowValue": "-0001-01-01 00:00:00", "highValue": "9999-12-31T23:59:59.999999+00:00"},
            {"low": -62198755200, "high": 253402300799},
        ),
        ("dt", {"lowValue": "-0001-01-01", "highValue": "2020-01-05 10:11:12"}, {"low": -719893, "high": 18266}),
    ],
)
def test_values_are_set_by_their_hive_names(column: str, changes: dict[str, str], expected: dict[str, object]) -> None:
    old = statistics_of(column, TYPES[column])
    changed = updated(old, column, TYPES[column], changes)
    assert {name: getattr(changed, name) for name in expected} == expected
    assert changed.num_nulls == old.num_nulls


@pytest.mark.parametrize(
    ("column", "changes", "problem"),
    [
        ("i", {"avgColLen": "1"}, "expected one of numNulls, numDVs, lowValue, highValue"),
        ("i", {"lowValue": "x"}, "expected a value of its type, got 'x'"),
        ("i", {"numDVs": "-1"}, "expected a count"),
        ("i", {"lowValue": "9", "highValue": "1"}, "expected low <= high"),
        ("d", {"lowValue": "nan"}, "expected finite"),
        ("de", {"lowValue": "sNaN"}, "expected finite"),
        ("de", {"lowValue": "-Infinity"}, "expected finite"),
        ("de", {"lowValue": "1E+129"}, "expected lows and highs of at most 128 digits"),
        ("de", {"lowValue": "1E-129"}, "expected lows and highs of at most 128 digits"),
        ("bi", {"lowValue": "9223372036854775808"}, "expected lows and highs of 64 bits"),
        ("dt", {"highValue": "-9223372036854775809"}, "expected lows and highs of 64 bits"),
        ("bi", {"lowValue": "1_0"}, "expected a value of its type"),
        ("d", {"lowValue": "1_0"}, "expected a value of its type"),
        ("de", {"lowValue": "\u0661"}, "expected a value of its type"),
        ("dt", {"lowValue": "2026-W01-1"}, "expected a value of its type"),
        ("dt", {"lowValue": "2026-02-30"}, "expected a value of its type"),
        ("ts", {"lowValue": "2026-W01-1 00:00:00"}, "expected a value of its type"),
        ("ts", {"lowValue": "2026-01-01 25:00:00"}, "expected a value of its type"),
        ("ts", {"lowValue": "2026-02-29 00:00:00"}, "expected a value of its type"),
        ("bi", {"numNulls": "9" * 5000}, "expected a value of its type"),
    ],
)
def test_values_that_make_no_sense_are_refused(column: str, changes: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        updated(None, column, TYPES[column], changes)


def test_statistics_of_a_type_that_has_none_are_refused() -> None:
    strange = ColumnStatistics(column="a", type="array<int>", kind=Kind.LONG, num_nulls=0)
    with pytest.raises(InvalidInput, match="expected a type that has statistics, got array<int>"):
        strange.checked()
    with pytest.raises(InvalidInput, match="expected statistics for string, got longStats"):
        replace(strange, type="string").checked()
