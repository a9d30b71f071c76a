"""DESCRIBE in all its forms: what stands where, in Hive's own lay-out and Java's own text."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.support.hive import TYPES, fill, statistics_of

from skipstone.hive.describe import render
from skipstone.hive.java_doubles import java_double
from skipstone.hive.java_text import (
    escaped,
    escaped_to_ascii,
    java_date,
    java_decimal,
    java_moment,
    java_struct,
)
from skipstone.hive.objects import Column, HiveDatabase, HivePartition, HiveTable, Storage
from skipstone.hive.partition_names import NULL_NAME
from skipstone.hive.session import HiveSession
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import api

STORAGE = Storage(location="/lake/s", input_format="In", output_format="Out", serde="Serde")


@pytest.fixture
def store() -> HiveStore:
    made = HiveStore("sqlite://")
    made.create_database(HiveDatabase(name="db"))
    columns = (Column(name="i", type="int", comment="first\nsecond"), Column(name="st", type="struct<x:int,y:string>"))
    keys = (Column(name="p", type="int"), Column(name="day", type="date"))
    table = HiveTable(
        database="db", name="t", columns=columns, partition_keys=keys, parameters={"b": 'q"\n', "a": "1"},
        storage=STORAGE, owner="me", create_time=1_700_000_000,
    )  # fmt: skip
    made.create_table(table)
    values = [("3", "2026-11-16"), ("-4", "1969-12-31"), (NULL_NAME, "2026-11-16")]
    counts = {"numRows": "10", "numFiles": "2", "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'}
    made.add_partitions("db", "t", [HivePartition(values=v, parameters=counts, storage=STORAGE) for v in values])
    return made


@pytest.fixture
def session(store: HiveStore) -> HiveSession:
    return HiveSession(store, database="db")


def test_extended_lists_columns_and_then_all_in_one_line(session: HiveSession) -> None:
    lines = render(session.run("DESCRIBE EXTENDED t")).splitlines()
    assert lines[:6] == [
        "i                   \tint                 \tfirst               ",
        "                    \t                    \tsecond              ",
        "st                  \tstruct<x:int,y:string>\t                    ",
        "p                   \tint                 \t                    ",
        "day                 \tdate                \t                    ",
        "\t \t ",
    ]
    assert lines[6:11] == [
        "# Partition Information\t \t ",
        "# col_name            \tdata_type           \tcomment             ",
        "p                   \tint                 \t                    ",
        "day                 \tdate                \t                    ",
        "\t \t ",
    ]
    assert len(lines) == 12
    title, text, comment = lines[11].split("\t")
    assert (title, comment) == ("Detailed Table Information", "")
    assert text.startswith(
        "Table(tableName:t, dbName:db, owner:me, createTime:1700000000, lastAccessTime:0, retention:0, "
        "sd:StorageDescriptor(cols:[FieldSchema(name:i, type:int, comment:first\\nsecond), "
        "FieldSchema(name:st, type:struct<x:int,y:string>, comment:null)], location:/lake/s, inputFormat:In, "
        "outputFormat:Out, compressed:false, numBuckets:-1, "
        "serdeInfo:SerDeInfo(name:null, serializationLib:Serde, parameters:{}), bucketCols:[], sortCols:[], "
        "parameters:{}, skewedInfo:SkewedInfo(skewedColNames:[], skewedColValues:[], skewedColValueLocationMaps:{}), "
        "storedAsSubDirectories:false), partitionKeys:[FieldSchema(name:p, type:int, comment:null), "
        "FieldSchema(name:day, type:date, comment:null)], parameters:{"
    )
    assert text.endswith(
        "}, viewOriginalText:null, viewExpandedText:null, tableType:MANAGED_TABLE, rewriteEnabled:false, "
        "catName:hive, ownerType:USER)"
    )
    assert 'b=q\\"\\n' in text and "numPartitions=3" in text


def test_extended_of_a_partition_and_of_a_column(session: HiveSession) -> None:
    *_, blank, last = session.run("DESCRIBE EXTENDED t PARTITION(p=3, day='2026-11-16')")
    assert blank == ("", " ", " ")
    assert last[0] == "Detailed Partition Information"
    assert last[1].startswith("Partition(values:[3, 2026-11-16], dbName:db, tableName:t, createTime:0,")
    assert "numRows=10" in last[1] and last[1].endswith("catName:hive)")
    assert session.run("DESCRIBE EXTENDED t i") == [("i", "int", "first\nsecond")]
    assert session.run("DESCRIBE t st.y") == [("y", "string", "from deserializer")]


def test_a_struct_is_described_by_its_fields(session: HiveSession) -> None:
    assert session.run("DESCRIBE t st")[:2] == [("x", "int", "from deserializer"), ("y", "string", "from deserializer")]
    # Hive has room for one, and takes the first.
    shown = dict(session.run("DESCRIBE FORMATTED t st"))  # type: ignore[arg-type]
    assert (shown["col_name"], shown["data_type"], shown["num_nulls"]) == ("x", "int", "")
    assert session.run("DESCRIBE t st.y")[0] == ("y", "string", "from deserializer")


def test_a_column_has_the_name_that_was_typed(session: HiveSession) -> None:
    assert session.run("DESCRIBE FORMATTED t I")[0] == ("col_name", "I")


def test_formatted_adds_up_what_partitions_count(session: HiveSession, store: HiveStore) -> None:
    def told(statement: str) -> dict[str, str]:
        return {row[1]: row[2] for row in session.run(statement) if row[0] == ""}

    counted = told("DESCRIBE FORMATTED t")
    assert (counted["numPartitions"], counted["numRows"], counted["numFiles"]) == ("3", "30", "6")
    assert counted["COLUMN_STATS_ACCURATE"] == '{\\"BASIC_STATS\\":\\"true\\"}'
    store.add_partitions("db", "t", [HivePartition(values=("9", "2026-11-16"))])
    counted = told("DESCRIBE FORMATTED t")
    assert counted["numPartitions"] == "4"
    assert "COLUMN_STATS_ACCURATE" not in counted
    rows = session.run("DESCRIBE FORMATTED t PARTITION(p=9, day='2026-11-16')")
    assert ("Partition Parameters:", " ", " ") not in rows
    assert ("CreateTime:", "UNKNOWN", " ") in rows


def test_a_partition_key_is_described_by_the_partitions(session: HiveSession) -> None:
    assert dict(session.run("DESCRIBE FORMATTED t p")) == {  # type: ignore[arg-type]
        "col_name": "p", "data_type": "int", "min": "-4", "max": "3", "num_nulls": "10", "distinct_count": "3",
        "avg_col_len": "", "max_col_len": "", "num_trues": "", "num_falses": "", "bit_vector": "", "comment": "",
        "COLUMN_STATS_ACCURATE": '{\\"COLUMN_STATS\\":{\\"p\\":\\"true\\"}}',
    }  # fmt: skip
    day = dict(session.run("DESCRIBE FORMATTED t `DAY`"))  # type: ignore[arg-type]
    assert (day["min"], day["max"], day["distinct_count"]) == ("1969-12-31", "2026-11-16", "2")
    assert session.run("DESCRIBE t p") == [("p", "int", "from deserializer")]


@pytest.mark.parametrize(
    ("column", "low", "high", "expected"),
    [
        ("bi", -(2**63), 2**63 - 1, ("-9223372036854775808", "9223372036854775807")),
        ("d", -5e-324, 1e23, ("-4.9E-324", "9.999999999999999E22")),
        ("d", -1.7976931348623157e308, 1e7, ("-1.7976931348623157E308", "1.0E7")),
        ("f", 0.001, 9999999.0, ("0.001", "9999999.0")),
        ("de", Decimal("-99999999999999999999.999999999999999999"), Decimal("1E-18"),
         ("-99999999999999999999.999999999999999999", "0.000000000000000001")),
        ("de", Decimal("-12.50"), Decimal("1E+19"), ("-12.5", "10000000000000000000")),
        ("de", Decimal("-0.00"), Decimal("0"), ("0", "0")),
        ("dt", -719162, 2932896, ("0001-01-01", "9999-12-31")),
        ("dt", -719528 - 365, 2932897, ("-0001-01-01", "+10000-01-01")),
        ("ts", -62135596800, 253402300799, ("0001-01-01 00:00:00", "9999-12-31 23:59:59")),
        ("ts", -1, 253402300800, ("1969-12-31 23:59:59", "+10000-01-01 00:00:0000")),
        ("ts", -62135596801, 24002385993359, ("0001-12-31 23:59:59", "+762575-05-02 10:35:59:59")),
        ("ts", -46752291799197, -62167219201, ("+1479553-11-06 14:00:030:03", "0002-12-31 23:59:599")),
        ("ts", -(2**63), 2**63 - 1, ("-9223372036854775808", "9223372036854775807")),
    ],
)  # fmt: skip
def test_extreme_values_are_shown_as_java_shows_them(column: str, low: Any, high: Any, expected: Any) -> None:
    store = HiveStore("sqlite://")
    fill(store)
    store.put_table_statistics("db", "t", [replace(statistics_of(column, TYPES[column]), low=low, high=high)], now=1)
    shown = dict(HiveSession(store, database="db").run(f"DESCRIBE FORMATTED t {column}"))  # type: ignore[arg-type]
    assert (shown["min"], shown["max"]) == expected


def test_java_text_of_odd_values() -> None:
    assert [java_double(v) for v in (float("nan"), float("-inf"), 2e23, 123456.789, -0.0)] == [
        "NaN", "-Infinity", "1.9999999999999998E23", "123456.789", "-0.0",
    ]  # fmt: skip
    assert (java_date(2**31 - 1), java_date(-(2**31))) == ("+5881580-07-11", "-5877641-06-23")
    assert java_date(2**31) == java_date(-(2**31))
    assert java_moment(-62198755200) == "0002-01-01 00:00:000"
    assert java_moment(365_241_780_472 * 86_400) == str(365_241_780_472 * 86_400)
    assert java_decimal(Decimal(10) ** 38) == ""
    assert java_decimal(Decimal("9." + "4" * 50)) == "9." + "4" * 37
    assert java_decimal(Decimal("0." + "0" * 40 + "1")) == "0"
    assert escaped('a"\\\té\x01') == 'a\\"\\\\\\té\x01'
    assert escaped_to_ascii("é\U0001f600\x01/") == "\\u00E9\\uD83D\\uDE00\\u0001/"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3.3999999521443642e38, "3.3999999521443642E38"),  # the float 3.4e38
        (1.1754943508222875e-38, "1.1754943508222875E-38"),  # the least float that is not denormal
        (3.4028234663852886e38, "3.4028234663852886E38"),
        (9.623032968962125e17, "9.6230329689621248E17"),
        (-2.27648774880596e18, "-2.27648774880595994E18"),
        (2.0**63, "9.223372036854776E18"),
        (1e-323, "1.0E-323"),
        (1.036131e-317, "1.0361308E-317"),
        (7.120236347223045e-307, "7.1202363472230444E-307"),
        (3.5164885265445947e25, "3.5164885265445946E25"),
        (2.0**-44, "5.6843418860808015E-14"),
        (2e-3, "0.002"),
        (9.999e-4, "9.999E-4"),
        (1234567.0, "1234567.0"),
        (12345678.0, "1.2345678E7"),
        (100.0, "100.0"),
        (2.8333333333333335, "2.8333333333333335"),
    ],
)
def test_doubles_have_the_digits_that_java_gives_them(value: float, expected: str) -> None:
    assert java_double(value) == expected


@pytest.mark.parametrize(
    ("comment", "lines"),
    [
        ("a\r\nb", ["a", "", "b"]),
        ("a\n", ["a"]),
        ("a\\nb\\rc", ["a", "b", "c"]),
        ("\n\n", [""]),
        ("", [""]),
    ],
)
def test_lines_end_where_hive_ends_them(comment: str, lines: list[str]) -> None:
    first, *further = render([("i", "int", comment)]).split("\n")[:-1]
    assert first == f"{'i':20}\t{'int':20}\t{lines[0]:20}"
    assert further == [f"{'':20}\t{'':20}\t{line:20}" for line in lines[1:]]


def test_parameters_of_a_table_have_lines_and_those_of_its_storage_have_none() -> None:
    rows = [
        ("Table Parameters:", " ", " "), ("", "k", "a\\nb"), ("", " ", " "),
        ("Storage Desc Params:", " ", " "), ("", "k", "a\\nb"),
    ]  # fmt: skip
    assert render(rows).split("\n") == [
        "Table Parameters:\t \t ", f"\t{'k':20}\t{'a':20}", f"\t{'':20}\t{'b':20}", "\t \t ",
        "Storage Desc Params:\t \t ", "\t" + "k".ljust(20) + "\t" + "a\\nb".ljust(20), "",
    ]  # fmt: skip


def test_a_map_is_shown_in_the_order_of_javas_hash_map() -> None:
    # As java.util.HashMap, read from the wire and copied once, iterates over them.
    keys = ["numFiles", "EXTERNAL", "totalSize", "numRows", "rawDataSize", "transient_lastDdlTime", "bucketing_version"]
    shown = java_struct(api.SerDeInfo(parameters=dict.fromkeys(keys, "1")))
    found = [part.partition("=")[0] for part in shown.partition("{")[2].partition("}")[0].split(", ")]
    assert sorted(found) == sorted(keys)
    assert found == ["totalSize", "EXTERNAL", "numRows", "rawDataSize", "numFiles", "transient_lastDdlTime",
                     "bucketing_version"]  # fmt: skip
