"""Hive 4's own metastore client against our service: it asks in requests where clients before it asked in arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.hive import ODD_NAMES, TYPES, every_type, sketch, statistics_of

import skipstone.hive
from skipstone.hive.ndv import HyperLogLog, merge_bit_vectors, parse_bit_vector
from skipstone.hive.objects import Column, HiveDatabase, HivePartition, HiveTable
from skipstone.hive.partition_names import partition_name
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.statistics import ColumnStatistics
from skipstone.hive.store import HiveStore, Layout
from skipstone.stats.hyperloglog.hashing import hash_longs

if TYPE_CHECKING:
    from tests.support.hive4 import Hive4

pytestmark = pytest.mark.spark

VERSIONS = ["4.0.1", "4.1.0"]
WITH_SERVER = pytest.mark.parametrize("hive", VERSIONS[:1], indirect=True)
TABLE = HiveTable(
    database="db",
    name="t",
    columns=tuple(Column(name=name, type=type_) for name, type_ in TYPES.items()),
    partition_keys=(Column(name="day", type="date"), Column(name="city", type="string")),
)
PARTS = [("2026-11-16", "Zürich"), ("2026-11-16", "o'Neil/x"), ("2026-11-17", "Zürich")]
NAMES = sorted(partition_name(["day", "city"], part) for part in PARTS)


@pytest.fixture(scope="module", params=VERSIONS)
def hive(request: pytest.FixtureRequest) -> Iterator[Hive4]:
    # Late, because starting pyspark costs a second that most runs do not need.
    from tests.support.hive4 import Hive4
    from tests.support.spark import RuntimeUnavailable

    try:
        running = Hive4(request.param, has_server=request.param == VERSIONS[0])
    except RuntimeUnavailable as e:
        pytest.skip(str(e))
    yield running
    running.stop()


@pytest.fixture(params=Layout)
def store(request: pytest.FixtureRequest) -> HiveStore:
    made = HiveStore("sqlite://", layout=request.param)
    made.create_database(HiveDatabase(name="db", location="/lake/db.db"))
    made.create_table(TABLE)
    made.add_partitions("db", "t", [HivePartition(values=part) for part in PARTS])
    return made


@pytest.fixture
def client(hive: Hive4, store: HiveStore) -> Iterator[Any]:
    with HiveServer(HiveService(store, allow_writes=True), ServerSettings(port=0)) as server:
        connected = hive.connect(server.port)
        yield connected
        connected.close()


def test_our_client_makes_no_call_that_a_metastore_of_hive_4_lacks(hive: Hive4) -> None:
    source = "".join(path.read_text("utf-8") for path in Path(skipstone.hive.__file__).parent.glob("*.py"))
    called = set(re.findall(r'call\(\s*"(\w+)"', source))
    assert {"get_catalogs", "alter_table_with_environment_context", "get_table_req"} <= called
    assert called - hive.calls() == set()


def test_it_lists_and_reads_databases_and_tables(client: Any, hive: Hive4, store: HiveStore) -> None:
    store.create_table(replace(TABLE, name="other"))
    assert list(client.getCatalogs()) == ["hive"]
    assert client.getCatalog("hive").getName() == "hive"
    with pytest.raises(Exception, match=r"NoSuchObjectException.*Catalogs: hive"):
        client.getCatalog("nosuch")
    assert list(client.getAllDatabases()) == list(client.getDatabases("d*")) == ["db"]
    assert client.getDatabase("db").getLocationUri() == "/lake/db.db"
    assert list(client.getAllTables("db")) == ["other", "t"]
    assert list(client.getTables("db", "o*")) == ["other"]
    assert sorted(client.getTables("db", "o*|t|x.y")) == ["other", "t"]
    assert [one.getTableName() for one in client.getTableObjectsByName("db", hive.list("t", "nosuch"))] == ["t"]
    assert client.tableExists("db", "t")
    assert not client.tableExists("db", "nosuch")
    table = client.getTable("db", "t")
    assert {c.getName(): c.getType() for c in table.getSd().getCols()} == TYPES
    assert [key.getName() for key in table.getPartitionKeys()] == ["day", "city"]
    assert [c.getName() for c in client.getFields("db", "t")] == list(TYPES)
    assert [c.getName() for c in client.getSchema("db", "t")] == [*TYPES, "day", "city"]
    with pytest.raises(Exception, match=r"NoSuchObjectException.*Tables of db: other, t"):
        client.getTable("db", "nosuch")


def test_it_lists_and_reads_partitions(client: Any, hive: Hive4) -> None:
    def named(*parts: Any) -> list[tuple[str, ...]]:
        return sorted(tuple(part.getValues()) for part in parts)

    assert list(client.listPartitionNames("db", "t", -1)) == NAMES
    assert list(client.listPartitionNames("db", "t", 2)) == NAMES[:2]
    assert list(client.listPartitionNames("db", "t", hive.list("2026-11-16"), -1)) == NAMES[:2]
    assert list(client.listPartitionNames("db", "t", hive.list("", "Zürich"), -1)) == [NAMES[0], NAMES[2]]
    assert named(*client.listPartitions("db", "t", -1)) == sorted(PARTS)
    assert named(*client.listPartitions("db", "t", hive.list("2026-11-17"), -1)) == [PARTS[2]]
    assert named(*client.listPartitionsWithAuthInfo("db", "t", -1, "me", hive.list())) == sorted(PARTS)
    assert named(client.getPartition("db", "t", hive.list(*PARTS[1]))) == [PARTS[1]]
    assert named(client.getPartition("db", "t", NAMES[1])) == [PARTS[1]]
    assert named(client.getPartitionWithAuthInfo("db", "t", hive.list(*PARTS[0]), "me", hive.list())) == [PARTS[0]]
    assert named(*client.getPartitionsByNames("db", "t", hive.list(NAMES[1], "day=1/city=2"))) == [PARTS[1]]
    assert list(client.partitionNameToVals(NAMES[1])) == list(PARTS[1])
    for values in (["2026-11-18", "Zürich"], ["2026-11-16"]):
        with pytest.raises(Exception, match=r"NoSuchObjectException|MetaException"):
            client.getPartition("db", "t", hive.list(*values))
    with pytest.raises(Exception, match=r"MetaException.*at most one for each partition key"):
        client.listPartitionNames("db", "t", hive.list("1", "2", "3"), -1)


def test_a_filter_that_it_sends_as_javas_bytes_leaves_all_partitions_for_it_to_look_at(
    client: Any, hive: Hive4
) -> None:
    found = hive.list()
    has_unknown = client.listPartitionsByExpr("db", "t", b"\x01\x02", "x", -1, found)
    assert has_unknown
    assert sorted(tuple(part.getValues()) for part in found) == sorted(PARTS)


def test_it_asks_for_what_there_is_none_of(client: Any, hive: Hive4) -> None:
    asked = {
        "PrimaryKeys": ("db", "t"), "NotNullConstraints": ("hive", "db", "t"), "UniqueConstraints": ("hive", "db", "t"),
        "DefaultConstraints": ("hive", "db", "t"), "CheckConstraints": ("hive", "db", "t"),
    }  # fmt: skip
    for name, arguments in asked.items():
        assert list(getattr(client, f"get{name}")(hive.api(f"{name}Request")(*arguments))) == [], name
    everything = client.getAllTableConstraints(hive.api("AllTableConstraintsRequest")("db", "t", "hive"))
    assert list(everything.getPrimaryKeys()) == list(everything.getCheckConstraints()) == []
    assert list(client.getFunctions("db", "*")) == []
    assert list(client.getAllFunctions().getFunctions()) == []
    assert list(client.getMaterializedViewsForRewriting("db")) == []
    assert list(client.getAllMaterializedViewObjectsForRewriting()) == []
    assert client.getConfigValue("hive.nosuch", "50") == "50"


EXTREMES = [
    replace(statistics_of("bi", "bigint"), low=-(2**63), high=2**63 - 1, bit_vector=sketch(1, 2, 3)),
    replace(statistics_of("d", "double"), low=-1.7976931348623157e308, high=5e-324),
    replace(statistics_of("de", "decimal(38,18)"), low=Decimal("-1E+19"), high=Decimal("0.000000000000000001")),
    replace(statistics_of("dt", "date"), low=-719162, high=2932896),
    replace(statistics_of("ts", "timestamp"), low=-62135596800, high=253402300799),
    replace(statistics_of("s", "string"), max_length=2**62, avg_length=0.1),
]


def read_values(stored: Any) -> tuple[Any, ...]:
    """What Hive's classes say of one column: its kind, nulls, low and high."""
    data = stored.getStatsData()
    kind = data.getSetField().getFieldName()
    held = data.getFieldValue()
    if not hasattr(held, "getLowValue") or kind in ("stringStats", "binaryStats", "booleanStats"):
        return kind, held.getNumNulls()
    bounds = [held.getLowValue(), held.getHighValue()]
    match kind:
        case "dateStats":
            bounds = [bound.getDaysSinceEpoch() for bound in bounds]
        case "timestampStats":
            bounds = [bound.getSecondsSinceEpoch() for bound in bounds]
        case "decimalStats":
            numbers = [int.from_bytes(bytes(bound.getUnscaled()), "big", signed=True) for bound in bounds]
            bounds = [Decimal(n).scaleb(-b.getScale()) for n, b in zip(numbers, bounds, strict=True)]
    return kind, held.getNumNulls(), *bounds


def values_of(one: ColumnStatistics) -> tuple[Any, ...]:
    is_bounded = one.low is not None
    return (one.kind.value, one.num_nulls, *((one.low, one.high) if is_bounded else ()))


def test_it_reads_statistics_of_every_type(client: Any, hive: Hive4, store: HiveStore) -> None:
    given = {one.column: one for one in [*every_type(), *EXTREMES]}
    store.put_table_statistics("db", "t", list(given.values()), now=1)
    store.put_partition_statistics("db", "t", {name: list(given.values()) for name in NAMES[:2]}, now=1)
    columns = hive.list(*TYPES)
    expected = {name: values_of(one) for name, one in given.items()}
    found = client.getTableColumnStatistics("db", "t", columns, "hive")
    assert {one.getColName(): read_values(one) for one in found} == expected
    by_partition = client.getPartitionColumnStatistics("db", "t", hive.list(*NAMES), columns, "hive")
    assert {
        name: {one.getColName(): read_values(one) for one in by_partition[name]} for name in by_partition
    } == dict.fromkeys(NAMES[:2], expected)
    added = client.getAggrColStatsFor("db", "t", hive.list("bi", "dt"), hive.list(*NAMES[:2]), "hive")
    assert added.getPartsFound() == 2
    assert {one.getColName(): read_values(one) for one in added.getColStats()} == {
        name: (expected[name][0], 2 * expected[name][1], *expected[name][2:]) for name in ("bi", "dt")
    }


def number_statistics(hive: Hive4, name: str | None, low: int, high: int) -> Any:
    data = hive.api("LongColumnStatsData")(3, 7)
    data.setLowValue(low)
    data.setHighValue(high)
    union = hive.api("ColumnStatisticsData").longStats(data)
    described = hive.api("ColumnStatisticsDesc")(name is None, "db", "t")
    if name is not None:
        described.setPartName(name)
    made = hive.api("ColumnStatistics")(described, hive.list(hive.api("ColumnStatisticsObj")("i", "int", union)))
    made.setEngine("hive")
    return made


def test_it_updates_merges_and_deletes_statistics(client: Any, hive: Hive4, store: HiveStore) -> None:
    assert client.updateTableColumnStatistics(number_statistics(hive, None, 1, 9))
    assert store.table_statistics("db", "t", ["i"])[0].high == 9
    assert client.updatePartitionColumnStatistics(number_statistics(hive, NAMES[0], -4, 4))
    sent = hive.api("SetPartitionsStatsRequest")(hive.list(*(number_statistics(hive, n, -5, 2) for n in NAMES[:2])))
    sent.setNeedMerge(True)
    assert client.setPartitionColumnStatistics(sent)
    held = store.partition_statistics("db", "t", NAMES)
    assert {name: (found[0].low, found[0].high, found[0].num_nulls) for name, found in held.items()} == {
        NAMES[0]: (-5, 4, 6), NAMES[1]: (-5, 2, 3),
    }  # fmt: skip
    assert client.deleteTableColumnStatistics("db", "t", "i", "hive")
    assert client.deletePartitionColumnStatistics("db", "t", NAMES[0], "i", "hive")
    assert store.table_statistics("db", "t") == []
    assert list(store.partition_statistics("db", "t", NAMES)) == [NAMES[1]]
    with pytest.raises(Exception, match="NoSuchObjectException"):
        client.deleteTableColumnStatistics("db", "t", "i", "hive")
    with pytest.raises(Exception, match="NoSuchObjectException"):
        client.updatePartitionColumnStatistics(number_statistics(hive, "day=1/city=2", 1, 2))
    with pytest.raises(Exception, match=r"InvalidObjectException|InvalidInputException"):
        client.updateTableColumnStatistics(number_statistics(hive, None, 2, 1))


def test_it_changes_databases_tables_and_partitions(client: Any, hive: Hive4, store: HiveStore) -> None:
    client.createDatabase(hive.api("Database")("made", "a text", "/lake/made", hive.map(k="v")))
    assert store.database("made").parameters == {"k": "v"}
    client.alterDatabase("made", hive.api("Database")("made", "another", "/lake/made", hive.map()))
    assert store.database("made").description == "another"
    table = client.getTable("db", "t").deepCopy()
    table.setDbName("made")
    client.createTable(table)
    changed = client.getTable("made", "t")
    changed.putToParameters("asked", "ODD' \" ü")
    client.alter_table("made", "t", changed)
    assert store.table("made", "t").parameters["asked"] == "ODD' \" ü"

    def part(*values: str) -> Any:
        made = hive.api("Partition")()
        made.setDbName("made")
        made.setTableName("t")
        made.setValues(hive.list(*values))
        made.setSd(table.getSd().deepCopy())
        made.setParameters(hive.map(numRows="3"))
        return made

    assert list(client.add_partition(part("2026-01-01", "a")).getValues()) == ["2026-01-01", "a"]
    new = hive.list(part("2026-01-01", "a"), part("2026-01-02", "b"))
    with pytest.raises(Exception, match="AlreadyExistsException"):
        client.add_partitions(new)
    assert len(store.partition_names("made", "t")) == 1
    assert [list(one.getValues()) for one in client.add_partitions(new, True, True)] == [["2026-01-02", "b"]]
    client.appendPartition("made", "t", hive.list("2026-01-03", "c"))
    client.appendPartition("made", "t", "day=2026-01-04/city=d")
    held = client.getPartition("made", "t", hive.list("2026-01-02", "b"))
    held.putToParameters("numRows", "4")
    client.alter_partition("made", "t", held)
    assert store.partition("made", "t", "day=2026-01-02/city=b").parameters["numRows"] == "4"
    assert client.dropPartition("made", "t", hive.list("2026-01-01", "a"), True)
    assert client.dropPartition("made", "t", "day=2026-01-03/city=c", True)
    assert store.partition_names("made", "t") == ["day=2026-01-02/city=b", "day=2026-01-04/city=d"]
    client.dropTable("made", "t")
    client.dropDatabase("made")
    assert store.database_names() == ["db"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_reach_it_unharmed(client: Any, hive: Hive4, store: HiveStore, name: str) -> None:
    store.create_database(HiveDatabase(name=name))
    store.create_table(
        HiveTable(
            database=name,
            name=name,
            columns=(Column(name=name, type="int"),),
            partition_keys=(Column(name="k", type="string"),),
        )
    )
    store.add_partitions(name, name, [HivePartition(values=(name,))])
    part = store.partition_names(name, name)[0]
    store.put_partition_statistics(name, name, {part: [statistics_of(name, "int")]}, now=1)
    assert name in list(client.getAllDatabases())
    assert list(client.getAllTables(name)) == [name]
    assert [list(one.getValues()) for one in client.listPartitions(name, name, -1)] == [[name]]
    found = client.getPartitionColumnStatistics(name, name, hive.list(part), hive.list(name), "hive")
    assert [read_values(one) for one in found[part]] == [("longStats", 3, -3, 3)]


def test_without_the_switch_it_only_reads(hive: Hive4, store: HiveStore) -> None:
    with HiveServer(HiveService(store), ServerSettings(port=0)) as server:
        client = hive.connect(server.port)
        assert list(client.listPartitionNames("db", "t", -1)) == NAMES
        with pytest.raises(Exception, match=r"MetaException.*only reads"):
            client.updateTableColumnStatistics(number_statistics(hive, None, 1, 9))
        with pytest.raises(Exception, match=r"MetaException.*only reads"):
            client.dropPartition("db", "t", NAMES[0], True)
        client.close()
    assert store.partition_names("db", "t") == NAMES


def of_longs(values: range) -> HyperLogLog:
    return HyperLogLog.of(hash_longs(np.array(values, np.int64)))


# A sparse sketch turns dense somewhere between these.
COUNTS = [0, 1, 2, 100, 1_000, 2_500, 3_000, 3_400, 4_000, 20_000, 300_000]


@WITH_SERVER
@pytest.mark.parametrize("count", COUNTS)
def test_hives_own_code_estimates_the_same_from_our_bit_vectors(hive: Hive4, count: int) -> None:
    ours = of_longs(range(count))
    theirs = hive.bit_vector(ours.serialize())
    assert theirs.estimateNumDistinctValues() == ours.estimate()
    assert bytes(theirs.serialize()) == ours.serialize()


@WITH_SERVER
@pytest.mark.parametrize(
    ("first", "second"), [(10, 20), (2_500, 2_600), (3_000, 50), (20_000, 300), (0, 5), (9_000, 0)]
)
def test_hives_own_code_merges_bit_vectors_as_we_do(hive: Hive4, first: int, second: int) -> None:
    parts = [of_longs(range(first)), of_longs(range(first // 2, first // 2 + second))]
    ours = merge_bit_vectors(parts)
    theirs = hive.empty_bit_vector("hll")
    for part in parts:
        theirs.mergeEstimators(hive.bit_vector(part.serialize()))
    assert ours is not None
    assert theirs.estimateNumDistinctValues() == ours.estimate()
    assert bytes(theirs.serialize()) == ours.serialize()


@WITH_SERVER
@pytest.mark.parametrize("count", [1, 5, 300, 5_000])
def test_bit_vectors_that_hives_own_code_made_are_read(hive: Hive4, count: int) -> None:
    numbers, old = hive.empty_bit_vector("hll"), hive.empty_bit_vector("fm")
    for value in range(count):
        numbers.addToEstimator(value)
        old.addToEstimator(value)
    for theirs in (numbers, old):
        data = bytes(theirs.serialize())
        ours = parse_bit_vector(data)
        assert ours is not None
        assert parse_bit_vector(ours.serialize()) == ours
        assert ours.estimate() == theirs.estimateNumDistinctValues()
    assert bytes(numbers.serialize()) == of_longs(range(count)).serialize()
