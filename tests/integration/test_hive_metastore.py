"""Real Hive software on both sides: its client against our service, our client and catalog against its metastore."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.support.hive import TYPES, by_name, every_type, statistics_of

import skipstone
from skipstone.errors import AlreadyExists, CommitRejected, InvalidInput, NotFound, Unsupported
from skipstone.hive.accurate import accurate_columns
from skipstone.hive.catalog import HiveCatalog, open_hive_catalog
from skipstone.hive.client import HiveClient
from skipstone.hive.errors import MetastoreError
from skipstone.hive.java_doubles import java_double
from skipstone.hive.mirror import partition_naming
from skipstone.hive.objects import HiveDatabase
from skipstone.hive.publish import import_statistics, publish_statistics, publish_table
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.statistics import ColumnStatistics, all_null
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import api
from skipstone.hive.wire import for_old_metastores
from skipstone.stats.hyperloglog.hashing import hash_doubles, hash_longs
from skipstone.storage import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.support.metastore import JavaClient, Metastore

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def metastore() -> Iterator[Metastore]:
    from tests.support.metastore import Metastore  # late: it needs pyspark

    running = Metastore()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def theirs(metastore: Metastore) -> Iterator[HiveClient]:
    """Our client, connected to a real metastore."""
    with HiveClient(metastore.uri) as client:
        yield client


@pytest.fixture(scope="module")
def store() -> HiveStore:
    made = HiveStore("sqlite://")
    made.create_database(HiveDatabase(name="default", location="/lake/default.db"))
    return made


@pytest.fixture(scope="module")
def ours(store: HiveStore) -> Iterator[HiveServer]:
    with HiveServer(HiveService(store, allow_writes=True), ServerSettings(port=0)) as server:
        yield server


@pytest.fixture(scope="module")
def java(iceberg_java: SparkSession, store: HiveStore) -> Iterator[JavaClient]:
    """Hive's own client, of Hive 2, connected to our service, which knows it as such by what it says."""
    from tests.support.metastore import JavaClient

    service = HiveService(store, allow_writes=True)
    with HiveServer(service, ServerSettings(port=0)) as server:
        client = JavaClient(iceberg_java, server.port)
        yield client
        client.close()


def make_table(client: HiveClient, name: str, *, partitions: int = 0) -> None:
    keys = [api.FieldSchema(name="p", type="string")] if partitions else []
    sd = api.StorageDescriptor(
        cols=[api.FieldSchema(name=n, type=t) for n, t in TYPES.items()],
        location=None,
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        numBuckets=-1,
        serdeInfo=api.SerDeInfo(serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={}),
    )
    table = api.Table(
        tableName=name, dbName="default", owner="x", sd=sd, partitionKeys=keys, parameters={}, tableType="MANAGED_TABLE"
    )
    client.call("create_table", tbl=table)
    for number in range(partitions):
        part = api.Partition(values=[f"v {number}/x"], dbName="default", tableName=name, sd=sd, parameters={})
        client.call("add_partition", new_part=part)


def names_of_partitions(client: HiveClient, table: str) -> list[str]:
    found: list[str] = client.call("get_partition_names", db_name="default", tbl_name=table, max_parts=-1)
    return found


@pytest.fixture(params=["their metastore", "our service"])
def client(request: pytest.FixtureRequest) -> Iterator[HiveClient]:
    if request.param == "their metastore":
        yield request.getfixturevalue("theirs")
        return
    server: HiveServer = request.getfixturevalue("ours")
    with HiveClient(f"thrift://127.0.0.1:{server.port}") as made:
        yield made


EXTREMES = [
    replace(statistics_of("bi", "bigint"), low=-(2**63), high=2**63 - 1),
    replace(statistics_of("d", "double"), low=-1.7976931348623157e308, high=5e-324),
    replace(statistics_of("de", "decimal(38,18)"), low=Decimal("-1E+19"), high=Decimal("0.000000000000000001")),
    replace(statistics_of("dt", "date"), low=-719162, high=2932896),
    replace(statistics_of("ts", "timestamp"), low=-62135596800, high=253402300799),
]


def as_kept(client: HiveClient, statistics: ColumnStatistics) -> ColumnStatistics:
    return for_old_metastores(statistics) if client.is_old else statistics


def test_our_client_stores_and_reads_statistics_of_every_type(client: HiveClient) -> None:
    make_table(client, "every")
    client.put_table_statistics("default", "every", every_type())
    expected = by_name(as_kept(client, one) for one in every_type())
    assert by_name(client.table_statistics("default", "every", list(TYPES))) == expected
    entry = client.call("get_table", dbname="default", tbl_name="every")
    assert accurate_columns(entry.parameters) == set(TYPES)
    client.put_table_statistics("default", "every", EXTREMES)
    found = {one.column: one for one in client.table_statistics("default", "every", list(TYPES))}
    for extreme in EXTREMES:
        got = found[extreme.column]
        assert (got.low, got.high) == (extreme.low, extreme.high)
    client.put_table_statistics("default", "every", [all_null("i", "int", 4), all_null("s", "string", 4)])
    nulls = client.table_statistics("default", "every", ["i"])[0]
    assert (nulls.low, nulls.high, nulls.num_nulls, nulls.num_distincts) == (None, None, 4, 1)
    client.delete_table_statistics("default", "every", "i")
    assert client.table_statistics("default", "every", ["i"]) == []
    with pytest.raises(NotFound):
        client.delete_table_statistics("default", "every", "i")
    client.call("drop_table", dbname="default", name="every", deleteData=True)
    with pytest.raises(NotFound):
        client.call("get_table", dbname="default", tbl_name="every")


def test_our_client_stores_reads_and_adds_up_partitions(client: HiveClient) -> None:
    make_table(client, "parts", partitions=3)
    names = names_of_partitions(client, "parts")
    assert names == [f"p=v {number}%2Fx" for number in range(3)]
    columns = [name for name in TYPES if name != "de"]
    given = {name: [s for s in every_type(number + 1) if s.column != "de"] for number, name in enumerate(names)}
    client.put_partition_statistics("default", "parts", given)
    found = client.partition_statistics("default", "parts", names[:2], columns)
    assert {name: by_name(values) for name, values in found.items()} == {
        name: by_name(as_kept(client, one) for one in given[name]) for name in names[:2]
    }
    added, count = client.aggregate("default", "parts", names, columns)
    assert count == 3
    by_column = {one.column: one for one in added}
    assert (by_column["i"].low, by_column["i"].high, by_column["i"].num_nulls) == (-3, 3, 6)
    assert (by_column["bo"].num_trues, by_column["bo"].num_falses) == (6, 3)
    assert by_column["s"].max_length == 3
    part = client.call("get_partition_by_name", db_name="default", tbl_name="parts", part_name=names[0])
    assert accurate_columns(part.parameters) == set(columns)
    client.delete_partition_statistics("default", "parts", names[0], "i")
    assert "i" not in [s.column for s in client.partition_statistics("default", "parts", names[:1], columns)[names[0]]]
    client.call("drop_partition_by_name", db_name="default", tbl_name="parts", part_name=names[0], deleteData=True)
    assert client.partition_statistics("default", "parts", names[:1], columns) == {}
    client.call("drop_table", dbname="default", name="parts", deleteData=True)


def test_what_is_not_there_is_not_found(client: HiveClient) -> None:
    make_table(client, "few")
    with pytest.raises(NotFound):
        client.put_table_statistics("default", "nosuch", every_type())
    with pytest.raises((NotFound, MetastoreError), match="nosuch"):
        client.put_table_statistics("default", "few", [statistics_of("nosuch", "int")])
    with pytest.raises(AlreadyExists):
        make_table(client, "few")
    client.call("drop_table", dbname="default", name="few", deleteData=True)


def test_what_our_analysis_found_is_published_and_imported(client: HiveClient, tmp_path: Path) -> None:
    make_table(client, "published", partitions=2)
    names = names_of_partitions(client, "published")
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path / "lake"))
    columns = [("I", "int"), ("d", "double"), ("f", "float"), ("de", "decimal(38,18)"), ("s", "string"),
               ("bn", "binary"), ("bo", "boolean"), ("dt", "date"), ("ts", "timestamptz"), ("bi", "long")]  # fmt: skip
    # A metastore before Hive 4 has no place for histograms, and takes the rest.
    wanted = {"skipstone.stats.hive-histograms": "true"}
    ours = lake.create_table("db.t", [*columns, ("p", "string")], partition_by=["p"], properties=wanted)
    moment = datetime(1969, 12, 31, 23, 59, 59, 500_000, UTC)
    row = {"I": 5, "d": -2.5, "f": 1.5, "de": Decimal("-99999999999999999999.000000000000000001"), "s": "\U0001f600",
           "bn": b"\0\0\0", "bo": True, "dt": date(1, 1, 1), "ts": moment, "bi": None}  # fmt: skip
    nothing = dict.fromkeys(row)
    ours.append([{**row, "p": "v 0/x"}, {**nothing, "p": "v 0/x"}, {**nothing, "d": float("nan"), "p": "v 1/x"}])
    ours.analyze(partitions=partition_naming(ours.metadata))
    assert publish_table(client, ours, "default", "published") == [name for name, _ in columns if name != "d"]
    imported = import_statistics(client, "default", "published", partitions=names)
    found = {(one.partition, one.statistics.column): one for one in imported}
    assert all(one.is_accurate for one in imported)
    assert (None, "d") not in found
    assert (names[1], "d") not in found
    assert found[names[0], "d"].statistics.low == -2.5
    whole = {column: one.statistics for (partition, column), one in found.items() if partition is None}
    assert (whole["i"].low, whole["i"].high, whole["i"].num_nulls) == (5, 5, 2)
    assert (whole["bi"].low, whole["bi"].high, whole["bi"].num_nulls) == (None, None, 3)
    assert whole["de"].low == row["de"]
    assert (whole["s"].max_length, whole["bn"].max_length) == (1, 3)
    assert whole["s"].avg_length == pytest.approx(1 / 3)
    assert (whole["bo"].num_trues, whole["bo"].num_falses, whole["bo"].num_nulls) == (1, 0, 2)
    assert (whole["dt"].low, whole["ts"].low) == (-719162, -1)
    # Statistics of older rows are kept, and no longer said to be accurate.
    publish_statistics(client, "default", "published", [statistics_of("i", "int", 9)], is_current=False)
    again = {one.statistics.column: one for one in import_statistics(client, "default", "published")}
    assert again["i"].statistics.num_nulls == 9
    assert {name for name, one in again.items() if not one.is_accurate} == {"i"}
    client.call("drop_table", dbname="default", name="published", deleteData=True)


def test_their_client_lists_and_reads_what_we_serve(java: JavaClient, store: HiveStore, ours: HiveServer) -> None:
    with HiveClient(f"thrift://127.0.0.1:{ours.port}") as client:
        make_table(client, "seen", partitions=2)
        names = names_of_partitions(client, "seen")
        store.put_table_statistics("default", "seen", every_type(), now=1)
        store.put_partition_statistics("default", "seen", {name: every_type(2) for name in names}, now=1)
    hive = java.client
    assert "default" in list(hive.getAllDatabases())
    assert "seen" in list(hive.getAllTables("default"))
    assert hive.tableExists("default", "seen")
    assert not hive.tableExists("default", "unseen")
    table = hive.getTable("default", "seen")
    assert {c.getName(): c.getType() for c in table.getSd().getCols()} == TYPES
    assert list(hive.listPartitionNames("default", "seen", -1)) == names
    assert [list(p.getValues()) for p in hive.listPartitions("default", "seen", -1)] == [["v 0/x"], ["v 1/x"]]
    columns = java.list(*TYPES)
    found = {obj.getColName(): obj for obj in hive.getTableColumnStatistics("default", "seen", columns)}
    assert found["i"].getStatsData().getLongStats().getLowValue() == -3
    assert found["d"].getStatsData().getDoubleStats().getHighValue() == 3.25
    assert found["s"].getStatsData().getStringStats().getAvgColLen() == 1.5
    assert found["bo"].getStatsData().getBooleanStats().getNumTrues() == 3
    assert found["dt"].getStatsData().getDateStats().getHighValue().getDaysSinceEpoch() == 3
    assert found["de"].getStatsData().getDecimalStats().getLowValue().getScale() == 2
    assert found["bn"].getStatsData().getBinaryStats().getMaxColLen() == 3
    assert found["ts"].getStatsData().getLongStats().getHighValue() == 3
    assert found.keys() == TYPES.keys()
    assert all(one.getStatsData().isSet() for one in found.values())
    by_partition = hive.getPartitionColumnStatistics("default", "seen", java.list(*names), columns)
    assert {name: len(by_partition[name]) for name in names} == {name: len(TYPES) for name in names}
    assert all(one.getStatsData().isSet() for name in names for one in by_partition[name])
    added = hive.getAggrColStatsFor("default", "seen", java.list("i", "s"), java.list(*names))
    assert added.getPartsFound() == 2
    assert added.getColStats()[0].getStatsData().getLongStats().getNumNulls() == 4
    store.drop_table("default", "seen")


def test_their_client_writes_and_deletes_through_our_service(
    java: JavaClient, store: HiveStore, ours: HiveServer
) -> None:
    with HiveClient(f"thrift://127.0.0.1:{ours.port}") as client:
        make_table(client, "written", partitions=1)
    data = java.api("LongColumnStatsData")()
    data.setNumNulls(2)
    data.setNumDVs(7)
    data.setLowValue(-(2**63))
    data.setHighValue(2**63 - 1)
    union = java.api("ColumnStatisticsData")()
    union.setLongStats(data)
    described = java.api("ColumnStatisticsDesc")(True, "default", "written")
    sent = java.api("ColumnStatistics")(described, java.list(java.api("ColumnStatisticsObj")("i", "int", union)))
    assert java.client.updateTableColumnStatistics(sent)
    found = store.table_statistics("default", "written", ["i"])[0]
    assert (found.low, found.high, found.num_nulls, found.num_distincts) == (-(2**63), 2**63 - 1, 2, 7)
    assert java.client.deleteTableColumnStatistics("default", "written", "i")
    with pytest.raises(Exception, match="NoSuchObjectException"):
        java.client.deleteTableColumnStatistics("default", "written", "i")
    with pytest.raises(Exception, match="NoSuchObjectException"):
        java.client.getTable("default", "nosuch")
    part = java.api("ColumnStatisticsDesc")(False, "default", "written")
    part.setPartName("p=v 0%2Fx")
    sent = java.api("ColumnStatistics")(part, java.list(java.api("ColumnStatisticsObj")("i", "int", union)))
    assert java.client.updatePartitionColumnStatistics(sent)
    assert store.partition_statistics("default", "written", ["p=v 0%2Fx"])["p=v 0%2Fx"][0].num_nulls == 2
    java.client.dropTable("default", "written")
    assert "written" not in store.table_names("default")


def test_doubles_are_written_as_java_writes_them(iceberg_java: SparkSession) -> None:
    jvm, rng = iceberg_java._jvm, np.random.default_rng(11)
    assert jvm is not None
    if jvm.java.lang.Runtime.version().feature() > 18:
        pytest.skip("This Java writes the fewest digits, which no Java that Hive runs on did.")
    bits = rng.integers(0, 1 << 64, 20_000, np.uint64).view(np.float64)
    whole = rng.integers(-(1 << 62), 1 << 62, 5_000).astype(np.float64)
    with np.errstate(invalid="ignore"):  # some are NaNs of the kind that signals
        floats = rng.integers(0, 1 << 32, 5_000, np.uint64).astype(np.uint32).view(np.float32).astype(np.float64)
    powers = np.concatenate([np.ldexp(1.0, np.arange(-1074, 1024)), [10.0**n for n in range(-323, 309)]])
    beside = np.nextafter(powers, np.inf)
    shares = (np.arange(1, 2_000)[:, None] / np.array([3, 7, 10, 1000])).ravel()
    values = np.concatenate([bits, whole, floats, powers, beside, shares, np.arange(1, 3_000) * 5e-324, [0.0, -0.0]])
    column = iceberg_java.sparkContext._gateway.new_array(jvm.double, len(values))
    jvm.java.nio.ByteBuffer.wrap(bytearray(values.astype(">f8").tobytes())).asDoubleBuffer().get(column)
    theirs = jvm.java.util.Arrays.toString(column)[1:-1].split(", ")
    assert [java_double(value) for value in values.tolist()] == theirs


def test_hashes_are_those_of_hives_own_class(iceberg_java: SparkSession) -> None:
    from tests.support.spark import jvm_class

    murmur = jvm_class(iceberg_java, "org.apache.hive.common.util.Murmur3")
    values = [0, 1, -1, 2**63 - 1, -(2**63), 1577836800]
    expected = [murmur.hash64(bytearray(struct.pack(">q", value))) for value in values]
    assert hash_longs(np.array(values)).view(np.int64).tolist() == expected
    floats = [0.0, -0.0, 1.5, float("inf"), 5e-324]
    expected = [murmur.hash64(bytearray(struct.pack(">d", value))) for value in floats]
    assert hash_doubles(np.array(floats)).view(np.int64).tolist() == expected


# -- the Hive catalog


@pytest.fixture
def spark_with_metastore(iceberg_java: SparkSession, metastore: Metastore) -> SparkSession:
    """The session with a catalog `hms` of Iceberg's own, over the real metastore."""
    for key, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "hive",
        ".uri": metastore.uri,
        ".warehouse": metastore.warehouse,
        ".cache-enabled": "false",
        # Iceberg asks for its locks in a way that a metastore refuses while it makes its lock tables by itself.
        ".hadoop.iceberg.engine.hive.lock-enabled": "false",
    }.items():
        iceberg_java.conf.set(f"spark.sql.catalog.hms{key}", value)
    return iceberg_java


def test_spark_and_we_read_and_change_one_table_in_turn(
    spark_with_metastore: SparkSession, metastore: Metastore, tmp_path: Path
) -> None:
    spark = spark_with_metastore
    lake = open_hive_catalog(metastore.uri, warehouse=str(tmp_path / "lake"))
    table = lake.create_table("turns.ours", [("id", "long"), ("name", "string")], partition_by=["bucket(2, id)"])
    table.append([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    read = "SELECT id, name FROM hms.turns.ours ORDER BY id"
    assert [tuple(row) for row in spark.sql(read).collect()] == [(1, "a"), (2, "b")]
    spark.sql("INSERT INTO hms.turns.ours VALUES (3, 'c')")
    again = lake.load_table("turns.ours")
    assert sorted(row["id"] for row in again.scan().to_arrow().to_pylist()) == [1, 2, 3]
    again.append([{"id": 4, "name": "ü"}])
    assert [row[0] for row in spark.sql(read).collect()] == [1, 2, 3, 4]
    spark.sql("CREATE TABLE hms.turns.theirs (id BIGINT, name STRING) USING iceberg")
    spark.sql("INSERT INTO hms.turns.theirs VALUES (1, 'x')")
    theirs = lake.load_table("turns.theirs")
    theirs.append([{"id": 2, "name": "y"}])
    assert [row[0] for row in spark.sql("SELECT id FROM hms.turns.theirs ORDER BY id").collect()] == [1, 2]
    assert sorted(lake.list_tables("turns")) == ["turns.ours", "turns.theirs"]
    # Columns, properties and deletes of one side are those of the other.
    again = lake.load_table("turns.ours")
    with again.update_schema() as update:
        update.add_column("Größe", "double")
        update.rename_column("name", "label")
    again.append([{"id": 5, "label": "x", "Größe": float("nan")}])
    again.delete("id = 2")
    spark.sql("DELETE FROM hms.turns.ours WHERE id = 3")
    spark.sql("ALTER TABLE hms.turns.ours SET TBLPROPERTIES ('theirs' = '1', 'gone' = '1')")
    spark.sql("ALTER TABLE hms.turns.ours UNSET TBLPROPERTIES ('gone')")
    rows = [tuple(row) for row in spark.sql("SELECT id, label FROM hms.turns.ours ORDER BY id").collect()]
    assert rows == [(1, "a"), (4, "ü"), (5, "x")]
    again = lake.load_table("turns.ours")
    assert sorted(row["id"] for row in again.scan().to_arrow().to_pylist()) == [1, 4, 5]
    assert again.metadata.properties["theirs"] == "1"
    again.append([{"id": 6, "label": None, "Größe": None}])
    with HiveClient(metastore.uri) as client:
        entry = client.call("get_table", dbname="turns", tbl_name="ours")
    assert entry.parameters["current-snapshot-id"] == str(again.metadata.current_snapshot_id)
    assert entry.parameters["theirs"] == "1"
    assert "gone" not in entry.parameters
    assert spark.sql("SELECT count(*) FROM hms.turns.ours").collect()[0][0] == 4
    spark.sql("DROP TABLE hms.turns.theirs")
    lake.drop_table("turns.ours")
    assert lake.list_tables("turns") == []


@pytest.mark.parametrize("uses_locks", [True, False])
def test_of_two_writers_to_a_real_metastore_one_is_first(
    metastore: Metastore, tmp_path: Path, uses_locks: bool
) -> None:
    name = f"race_{'locked' if uses_locks else 'free'}"
    catalog = HiveCatalog(
        metastore.uri, warehouse=str(tmp_path / "lake"), storage=LocalStorage(is_durable=False), uses_locks=uses_locks
    )
    lake: Any = open_hive_catalog(metastore.uri, warehouse=str(tmp_path / "lake"))
    lake.create_table(f"{name}.t", [("id", "long")])
    first = catalog.load((name, "t"))
    second = catalog.publish((name, "t"), first, replace(first.metadata, properties={"a": "1"}))
    with pytest.raises(CommitRejected, match="Retry is safe"):
        catalog.publish((name, "t"), first, replace(first.metadata, properties={"a": "2"}))
    assert catalog.load((name, "t")).metadata_location == second.metadata_location
    catalog.rename((name, "t"), (name, "u"))
    assert catalog.list_tables((name,)) == [(name, "u")]
    with pytest.raises(NotFound, match="Cannot find table"):
        catalog.load((name, "t"))
    catalog.drop((name, "u"))
    catalog.drop_namespace((name,))
    assert not catalog.namespace_exists((name,))
    catalog.close()


ODD_COLUMNS = (
    "id", "Upper", "with space", "O'Brien", 'say "x"', "back`tick", "Größe", "日本語", "\U0001f600", "a/b=c%d",
    "x'); DROP TABLE TBLS; --", "select", "a.b",
)  # fmt: skip
ODD_TEXT = "'; DROP TABLE TBLS; -- \" ` ü 日本語 \U0001f600"


def test_odd_names_go_through_a_real_metastore_as_far_as_it_takes_them(metastore: Metastore, tmp_path: Path) -> None:
    lake = open_hive_catalog(metastore.uri, warehouse=str(tmp_path / "lake"))
    # It writes names in small letters, and finds them in any.
    lake.create_namespace("Odd", {"comment": ODD_TEXT})
    lake.update_namespace_properties("odd", {ODD_TEXT: ODD_TEXT})
    assert lake.namespace_properties("ODD").items() >= {ODD_TEXT: ODD_TEXT, "comment": ODD_TEXT}.items()
    # Hive 2 takes no other description of a database, and is silent about it.
    lake.update_namespace_properties("odd", {"comment": "another"})
    assert lake.namespace_properties("odd").items() >= {ODD_TEXT: ODD_TEXT, "comment": "another"}.items()
    lake.update_namespace_properties("odd", {"k": "v"}, ["comment"])
    assert lake.namespace_properties("odd").keys() >= {ODD_TEXT, "k"}
    assert "comment" not in lake.namespace_properties("odd")
    with pytest.raises(Unsupported, match="Cannot move namespace odd"):
        lake.update_namespace_properties("odd", {"location": str(tmp_path / "elsewhere")})
    table = lake.create_table("Odd.Select", [(name, "long") for name in ODD_COLUMNS], properties={"k": ODD_TEXT})
    row = {name: number for number, name in enumerate(ODD_COLUMNS)}
    table.append([row])
    assert lake.list_tables("odd") == ["odd.select"]
    assert lake.load_table("odd.select").scan().to_arrow().to_pylist() == [row]
    with pytest.raises(AlreadyExists):
        lake.create_table("odd.select", [("id", "long")])
    # Statistics go by the names that it has, and are those of our columns.
    table.analyze()
    with HiveClient(metastore.uri) as client:
        assert set(publish_table(client, table, "odd", "select")) == set(ODD_COLUMNS)
        imported = {one.statistics.column: one for one in import_statistics(client, "odd", "select")}
        entry = client.call("get_table", dbname="odd", tbl_name="select")
    assert {name: one.statistics.low for name, one in imported.items()} == {k.lower(): v for k, v in row.items()}
    assert all(one.is_accurate for one in imported.values())
    assert accurate_columns(entry.parameters) == {name.lower() for name in ODD_COLUMNS}
    assert entry.parameters["k"] == ODD_TEXT
    # What it has no room for is in the table's metadata alone.
    table = lake.load_table("odd.select")
    with table.update_schema() as update:
        update.add_column("long", "int", doc="ü" * 300)
    table.set_properties({"x" * 257: "1", "y": "ü" * 40_000})
    again = lake.load_table("odd.select")
    assert again.metadata.current_schema.field("long").doc == "ü" * 300
    assert (again.properties["x" * 257], again.properties["y"]) == ("1", "ü" * 40_000)
    # What it cannot take is refused, and leaves nothing behind.
    with pytest.raises(InvalidInput, match="at most 767 characters"), again.update_schema() as update:
        update.add_column("z" * 768, "int")
    with again.update_schema() as update:
        update.add_column("z" * 767, "int")
    with pytest.raises(InvalidInput, match="'id' and 'ID'"), again.update_schema() as update:
        update.add_column("ID", "int")
    for name in ("O'Brien", "Größe", "x; DROP TABLE TBLS", "日本語", "\U0001f600", "back`tick", "with space"):
        with pytest.raises(InvalidInput, match=r"Cannot create namespace .* It takes letters"):
            lake.create_namespace((name,))
        with pytest.raises(InvalidInput, match=r"Cannot create table .* It takes letters"):
            lake.create_table(("odd", name), [("id", "long")])
        with pytest.raises(InvalidInput, match=r"Cannot rename table .* It takes letters"):
            lake.rename_table("odd.select", ("odd", name))
        assert not lake.table_exists(("odd", name))
    assert lake.list_tables("odd") == ["odd.select"]
    assert not list((tmp_path / "lake").rglob("O'Brien/**/*.json"))
    lake.rename_table("odd.select", "odd.From")
    assert lake.load_table("odd.from").scan().to_arrow().num_rows == 1
    lake.drop_table("odd.FROM")
    lake.drop_namespace("odd")
