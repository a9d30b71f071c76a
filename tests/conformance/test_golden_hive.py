"""What real Hive software wrote, said and estimated: read, matched and estimated here."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path
from typing import Any

import hive_metastore.ttypes
import numpy as np
import pyarrow as pa
import pytest
from thrift.protocol.TJSONProtocol import TJSONProtocolFactory
from thrift.TSerialization import deserialize, serialize

import skipstone
from skipstone.errors import NotFound
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.describe import render
from skipstone.hive.histogram import parse_histogram
from skipstone.hive.ndv import HyperLogLog, parse_bit_vector
from skipstone.hive.objects import Column, HiveDatabase, HivePartition, HiveTable
from skipstone.hive.service.conversion import partition_from_wire, table_from_wire
from skipstone.hive.session import HiveSession
from skipstone.hive.statistics import ColumnStatistics
from skipstone.hive.store import HiveStore, Layout
from skipstone.hive.store.layout import tables_of
from skipstone.hive.store.rows import row_of, statistics_in
from skipstone.hive.thrift import api
from skipstone.hive.thrift.binary import Input
from skipstone.hive.types import Kind
from skipstone.hive.wire import from_wire, to_wire
from skipstone.stats.hyperloglog.hashing import hash_doubles, hash_longs, hash_texts
from skipstone.stats.quantiles import RANK_ERROR

GOLDEN = Path(__file__).parent / "golden" / "hive"
OBJECTS: list[dict[str, Any]] = json.loads((GOLDEN / "thrift_hive401_clean.json").read_text("utf-8"))
STORED: dict[str, Any] = json.loads((GOLDEN / "metastore_tables_hive401_derby.json").read_text("utf-8"))
LAYOUTS = list(Layout)
JSON = TJSONProtocolFactory()


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("utf-8")


def read(entry: dict[str, Any]) -> Any:
    return getattr(api, entry["struct"]).read(Input(bytes.fromhex(entry["tbinary_hex"])))


def statistics(call: str) -> list[ColumnStatistics]:
    return [from_wire(read(o)) for o in OBJECTS if o["call"] == call and "tbinary_hex" in o]


def one(call: str) -> Any:
    return read(next(o for o in OBJECTS if o["call"] == call))


def test_every_statistics_object_goes_through_unchanged() -> None:
    seen = 0
    for entry in OBJECTS:
        if entry.get("struct") not in ("ColumnStatisticsObj", "AggrStats"):
            continue
        value, out = read(entry), bytearray()
        value.write(out)
        assert out.hex() == entry["tbinary_hex"]
        for obj in [value] if entry["struct"] == "ColumnStatisticsObj" else value.colStats:
            assert to_wire(from_wire(obj)) == obj
            seen += 1
    assert seen > 60


def vectors() -> list[dict[str, Any]]:
    rows = STORED["TAB_COL_STATS"] + STORED["PART_COL_STATS"]
    return [row for row in rows if row["BIT_VECTOR"] and len(row["BIT_VECTOR"]) > len("hex:484c")]


def test_every_bit_vector_is_estimated_and_written_as_hive_did() -> None:
    assert len(vectors()) == 100
    for row in vectors():
        data = bytes.fromhex(row["BIT_VECTOR"].removeprefix("hex:"))
        sketch = parse_bit_vector(data)
        assert sketch is not None
        assert sketch.estimate() == row["NUM_DISTINCTS"], row["COLUMN_NAME"]
        assert sketch.serialize() == data, row["COLUMN_NAME"]


def stored_vector(table: str, column: str) -> HyperLogLog:
    row = next(r for r in STORED["TAB_COL_STATS"] if (r["TABLE_NAME"], r["COLUMN_NAME"]) == (table, column))
    return HyperLogLog.parse(bytes.fromhex(row["BIT_VECTOR"].removeprefix("hex:")))


@pytest.mark.parametrize(
    ("table", "column", "hashes"),
    [
        ("t", "i", hash_longs(np.array([100, 200, 100, 300]))),
        ("t", "ti", hash_longs(np.array([1, 2, 3]))),
        ("t", "f", hash_doubles(np.array([1.5, -1.5, 0.1, 9.75], np.float32).astype(np.float64))),
        ("t", "d", hash_doubles(np.array([2.5, -2.5, 0.2, 9.5]))),
        ("t", "de", hash_doubles(np.array([10.25, -3.1, 7.0, 10.2]))),
        ("t", "s", hash_texts(pa.array(["apple", "zürich", "pear", "kiwi fruit"]))),
        ("t", "vc", hash_texts(pa.array(["va", "日本語", "vp", ""]))),
        ("t", "ch", hash_texts(pa.array(["c1", "c2", "c3", ""]))),
        ("t", "dt", hash_longs(np.array([18262, 18293, 18261, 18628]))),
        ("t", "ts", hash_longs(np.array([1577836800, 1580551872, -1, 1609459201]))),
        ("hist", "i", hash_longs(np.arange(1000))),
        ("hist", "d", hash_doubles(np.arange(1000) / 4)),
        ("em", "i", hash_longs(np.empty(0, np.int64))),
    ],
)
def test_the_same_values_give_the_same_sketch(table: str, column: str, hashes: Any) -> None:
    assert HyperLogLog.of(hashes) == stored_vector(table, column)


def test_histograms_are_read() -> None:
    row = next(r for r in STORED["TAB_COL_STATS"] if (r["TABLE_NAME"], r["COLUMN_NAME"]) == ("hist", "i"))
    histogram = parse_histogram(bytes.fromhex(row["HISTOGRAM"].removeprefix("hex:")))
    assert histogram is not None
    assert histogram.count == 1000
    assert (histogram.low, histogram.high) == (0.0, 999.0)
    assert abs(histogram.quantile(0.5) - 500) < 25
    again = parse_histogram(histogram.serialize())
    assert again is not None
    assert again.count == 1000
    assert again.quantile(0.25) == histogram.quantile(0.25)


def stored_histogram(table: str, column: str) -> bytes:
    row = next(r for r in STORED["TAB_COL_STATS"] if (r["TABLE_NAME"], r["COLUMN_NAME"]) == (table, column))
    return bytes.fromhex(row["HISTOGRAM"].removeprefix("hex:"))


NAUGHT, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
EXTREMES: dict[str, tuple[str, list[Any]]] = {
    "ti": ("int", [1, -128, 127, 1, 0]),
    "si": ("int", [100, -32768, 32767, 100, 0]),
    "i": ("int", [1000, -(2**31), 2**31 - 1, 1000, 0]),
    "bi": ("long", [10**12, -(2**63), 2**63 - 1, 10**12, 0]),
    "f": ("float", [1.5, -3.4e38, 3.4e38, -0.0]),
    "d": ("double", [2.5, -1.7e308, 1.7e308, -0.0]),
    "de": ("decimal(10,2)", [Decimal(t) for t in ("10.25", "-99999999.99", "99999999.99", "10.25", "0")]),
    "dt": ("date", [date(2020, 1, 1), date(1969, 12, 31), date(9999, 12, 31), date(2020, 1, 1), date(1, 1, 1)]),
    "ts": ("timestamp", [datetime(2020, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 500_000), LAST,
                         datetime(2020, 1, 1), NAUGHT]),
}  # fmt: skip


def analysed_histogram(home: Path, values: dict[str, tuple[str, list[Any]]]) -> dict[str, bytes | None]:
    lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home / "lake"))
    wanted = {"skipstone.stats.hive-histograms": "true"}
    table = lake.create_table("db.t", [(name, kind) for name, (kind, _) in values.items()], properties=wanted)
    rows = zip_longest(*(given for _, given in values.values()))
    table.append([dict(zip(values, row, strict=True)) for row in rows])
    store = HiveStore("sqlite://", layout=Layout.HIVE_4_0)
    HiveSession(store, database="db", analyzer=LakeAnalyzer(lake, store)).run(
        "analyze table t compute statistics for columns"
    )
    found = {one.column: one.histogram for one in store.table_statistics("db", "t")}
    store.close()
    return found


def test_the_histograms_of_the_same_values_are_those_of_hive(tmp_path: Path) -> None:
    found = analysed_histogram(tmp_path, EXTREMES)
    for column in EXTREMES:
        assert found[column] == stored_histogram("auto2", column), column


def test_the_histograms_of_many_values_tell_what_those_of_hive_tell(tmp_path: Path) -> None:
    numbers = range(1000)
    days = [date(2020, 1, 1) + timedelta(days=n) for n in numbers]
    values: dict[str, tuple[str, list[Any]]] = {
        "i": ("int", list(numbers)), "d": ("double", [n / 4 for n in numbers]), "dt": ("date", days),
        "ts": ("timestamp", [datetime(2020, 1, 1)] * 1000), "de": ("decimal(10,2)", [Decimal(n) for n in numbers]),
    }  # fmt: skip
    found = analysed_histogram(tmp_path, values)
    for column in values:
        ours, theirs = parse_histogram(found[column]), parse_histogram(stored_histogram("hist", column))
        assert ours is not None
        assert theirs is not None
        assert (ours.count, ours.low, ours.high) == (theirs.count, theirs.low, theirs.high), column
        for rank in (0.1, 0.5, 0.9):
            apart = abs(ours.quantile(rank) - theirs.quantile(rank))
            assert apart <= 4 * RANK_ERROR * (theirs.high - theirs.low), column


@pytest.fixture(params=LAYOUTS, ids=lambda layout: layout.value)
def store(request: pytest.FixtureRequest) -> HiveStore:
    """A store with the tables and statistics that the golden session had."""
    made = HiveStore("sqlite://", layout=request.param)
    made.create_database(HiveDatabase(name="g2", location="/hive/g2.db"))
    table: HiveTable = table_from_wire(one("get_table g2.t"))
    table = replace(table, storage=replace(table.storage, location="file:/hive/warehouse_ext/g2.db/t"))
    made.create_table(table)
    made.create_table(replace(table, name="tp", partition_keys=(Column(name="p", type="string"),), parameters={}))
    x: HivePartition = partition_from_wire(one("get_partition g2.tp x"))
    x = replace(x, storage=replace(x.storage, location="file:/hive/warehouse_ext/g2.db/tp/p=x"))
    made.add_partitions("g2", "tp", [x, HivePartition(values=("y",))])
    made.put_table_statistics("g2", "t", statistics("get_table_statistics_req g2.t"), now=1)
    by_partition = {name: statistics(f"get_partitions_statistics_req g2.tp {name}") for name in ("p=x", "p=y")}
    made.put_partition_statistics("g2", "tp", by_partition, now=1)
    made.create_table(replace(table, name="em", columns=tuple(table.column(c) for c in ("i", "s", "d", "bo")),  # type: ignore[arg-type]
                              parameters={}))  # fmt: skip
    made.put_table_statistics("g2", "em", statistics("get_table_statistics_req g2.em (one all-null row)"), now=1)
    return made


def test_describe_prints_what_the_hive_command_line_printed(store: HiveStore) -> None:
    session = HiveSession(store, database="g2")
    text = (GOLDEN / "cli_describe_formatted.txt").read_text("utf-8")
    checked = 0
    for block in re.split(r"(?m)^(?=describe |use |set |explain )", text):
        statement, _, expected = block.partition("\n")
        if statement.startswith("describe"):
            assert render(session.run(statement)).rstrip("\n") == expected.rstrip("\n"), statement
            checked += 1
    assert checked == 14


def test_describe_rows_are_what_hive_server_answered(store: HiveStore) -> None:
    session = HiveSession(store, database="g2")
    answers = json.loads((GOLDEN / "hs2_session2.json").read_text("utf-8"))
    checked = 0
    for entry in answers:
        found = re.fullmatch(r"describe formatted (t|em) (\w+)", entry["sql"])
        if found is None or "rows" not in entry or (["num_nulls", "0"] in entry["rows"] and found[1] == "em"):
            continue
        rows = [list(row) for row in session.run(entry["sql"])]
        expected = [row for row in entry["rows"] if found[1] == "t" or row[0] != "COLUMN_STATS_ACCURATE"]
        assert [row for row in rows if found[1] == "t" or row[0] != "COLUMN_STATS_ACCURATE"] == expected
        checked += 1
    assert checked >= 14


def test_partitions_add_up_as_hive_added_them_up(store: HiveStore) -> None:
    expected = one("get_aggr_stats_for g2.tp all partitions")
    columns = [obj.colName for obj in expected.colStats]
    added = store.aggregate("g2", "tp", ["p=x", "p=y"], columns)
    assert added.partitions_found == expected.partsFound
    assert added.is_complete
    for got, obj in zip(added.statistics, expected.colStats, strict=True):
        if got.column == "de":
            # The metastore's database rounded decimals to whole numbers there.
            assert (float(got.low), float(got.high)) == (-3.1, 10.25)  # type: ignore[arg-type]
        else:
            assert got == from_wire(obj)


def test_a_partition_that_does_not_exist_takes_no_part(store: HiveStore) -> None:
    expected = one("get_aggr_stats_for g2.tp with unknown partition")
    added = store.aggregate("g2", "tp", ["p=x", "p=nosuch"], ["i", "s"])
    assert added.partitions_found == expected.partsFound
    assert list(added.statistics) == [from_wire(obj) for obj in expected.colStats]


def shown(found: ColumnStatistics) -> dict[str, Any]:
    """Statistics in the words of Hive's structs, made of our value alone."""
    low, high = found.low, found.high
    bounds: dict[str, Any] = {"lowValue": low, "highValue": high}
    distincts = {"numDVs": found.num_distincts}
    lengths = {"maxColLen": found.max_length, "avgColLen": found.avg_length}
    data: dict[Kind, dict[str, Any]] = {
        Kind.BOOLEAN: {"numTrues": found.num_trues, "numFalses": found.num_falses},
        Kind.LONG: bounds | distincts,
        Kind.DOUBLE: bounds | distincts,
        Kind.DECIMAL: bounds | distincts,
        Kind.DATE: {name: {"daysSinceEpoch": value} for name, value in bounds.items()} | distincts,
        Kind.STRING: lengths | distincts,
        Kind.BINARY: lengths,
    }
    values = {found.kind.value: data[found.kind] | {"numNulls": found.num_nulls}}
    return {"colName": found.column, "colType": found.type, "statsData": values}


def test_statistics_of_hive_2_are_read() -> None:
    kinds = {}
    for entry in json.loads((GOLDEN / "thrift_hive239_stored.json").read_text("utf-8")):
        if "tjson" not in entry:
            continue
        peer = deserialize(hive_metastore.ttypes.ColumnStatisticsObj(), compact(entry["tjson"]), JSON)
        data = serialize(peer)
        found = from_wire(api.ColumnStatisticsObj.read(Input(data))).checked()
        expected = entry["simple"]
        if found.kind is Kind.DECIMAL:
            # Bytes of a number are no text, which is what Hive shows them as.
            expected["statsData"]["decimalStats"] |= {"lowValue": Decimal("-3.1"), "highValue": Decimal("10.25")}
        assert shown(found) == expected
        assert (found.bit_vector, found.histogram) == (None, None)
        out = bytearray()
        to_wire(found).write(out)
        assert bytes(out) == data
        kinds[found.type] = found.kind
    assert len(kinds) == 14
    # Before Hive 3 a timestamp's statistics were those of a whole number.
    assert kinds["timestamp"] is Kind.LONG


def test_statistics_of_hive_2_go_through_the_store() -> None:
    golden = json.loads((GOLDEN / "thrift_hive239_stored.json").read_text("utf-8"))
    peers = [deserialize(hive_metastore.ttypes.ColumnStatisticsObj(), compact(e["tjson"]), JSON)
             for e in golden if "tjson" in e]  # fmt: skip
    found = [from_wire(api.ColumnStatisticsObj.read(Input(serialize(peer)))) for peer in peers]
    for layout in LAYOUTS:
        kept = HiveStore("sqlite://", layout=layout)
        kept.create_database(HiveDatabase(name="db"))
        columns = tuple(Column(name=one.column, type=one.type) for one in found)
        kept.create_table(HiveTable(database="db", name="t", columns=columns))
        kept.put_table_statistics("db", "t", found, now=1)
        again = kept.table_statistics("db", "t")
        # A timestamp is a kind of its own in the store, whatever the client that sent it knew.
        proper = [replace(one, kind=Kind.TIMESTAMP) if one.type == "timestamp" else one for one in found]
        assert sorted(again, key=lambda one: one.column) == sorted(proper, key=lambda one: one.column)
        missing = next(e for e in golden if "error" in e)
        assert missing["error"].endswith("NoSuchObjectException")
        with pytest.raises(NotFound):
            kept.delete_table_statistics("db", "t", ["nosuch"])
        kept.close()


def stored_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row as a database gives it: blobs as bytes, what older releases lack as null."""
    blobs = {
        name: bytes.fromhex((row.get(name) or "hex:").removeprefix("hex:")) for name in ("BIT_VECTOR", "HISTOGRAM")
    }
    return {**row, **blobs}


@pytest.mark.parametrize("name", ["metastore_tables_hive401_derby", "metastore_tables_hive239_datanucleus_derby"])
def test_every_row_that_hive_stored_is_read_and_written_the_same(name: str) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    rows = [stored_row(row) for row in golden["TAB_COL_STATS"] + golden["PART_COL_STATS"]]
    assert len(rows) in (53 + 64, 14)
    for row in rows:
        found = statistics_in(row, Layout.HIVE_4_0)
        assert (found.column, found.type, found.num_nulls) == (row["COLUMN_NAME"], row["COLUMN_TYPE"], row["NUM_NULLS"])
        if row["BIT_VECTOR"] != b"HL":
            found = found.checked()
        for column, value in row_of(found, Layout.HIVE_4_0).items():
            assert (value or None) == (row[column] or None), (row["COLUMN_NAME"], column)


def test_the_lay_out_is_that_of_hive() -> None:
    tables = tables_of(Layout.HIVE_4_0)
    for ours in (tables.table_statistics, tables.partition_statistics):
        theirs = {column["name"]: column["nullable"] for column in STORED["schema"][ours.name]}
        assert {column.name for column in ours.columns} == theirs.keys()
        assert all(theirs[column.name] or not column.nullable for column in ours.columns), ours.name
