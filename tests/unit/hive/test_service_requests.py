"""What Hive 3 and 4 ask in requests, and which client gets the form of Hive 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.support.hive import every_type, fill

from skipstone.errors import InvalidInput, NotFound, SkipstoneError
from skipstone.hive.client import HiveClient
from skipstone.hive.objects import HivePartition
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.service.conversion import table_to_wire
from skipstone.hive.store import HiveStore, Layout
from skipstone.hive.thrift import Struct, api

SETTINGS = ServerSettings(port=0)


@pytest.fixture(params=Layout)
def store(request: pytest.FixtureRequest) -> HiveStore:
    made = HiveStore("sqlite://", layout=request.param)
    fill(made, partitions=3)
    return made


@pytest.fixture
def client(store: HiveStore) -> Iterator[HiveClient]:
    with (
        HiveServer(HiveService(store, allow_writes=True), SETTINGS) as server,
        HiveClient(f"thrift://127.0.0.1:{server.port}") as made,
    ):
        yield made


@pytest.mark.parametrize("value", ["old", None])
def test_a_change_that_expects_another_value_in_its_request_is_refused(
    client: HiveClient, store: HiveStore, value: str | None
) -> None:
    table = store.table("db", "t")
    store.alter_table("db", "t", replace(table, parameters={"metadata_location": "now"}))
    new = table_to_wire(replace(table, parameters={"metadata_location": "new"}))
    request = api.AlterTableRequest(
        dbName="db", tableName="t", table=new, expectedParameterKey="metadata_location", expectedParameterValue=value
    )
    with pytest.raises(SkipstoneError, match="The table has been modified"):
        client.call("alter_table_req", req=request)
    assert store.table("db", "t").parameters["metadata_location"] == "now"
    request.expectedParameterValue = "now"
    client.call("alter_table_req", req=request)
    assert store.table("db", "t").parameters["metadata_location"] == "new"


def changed(number: int) -> Struct:
    made: Struct = api.Partition(values=[str(number)], dbName="db", tableName="t", parameters={"k": "v"})
    return made


@pytest.mark.parametrize("name", ["alter_partitions", "alter_partitions_with_environment_context"])
def test_partitions_are_changed_all_or_none(client: HiveClient, store: HiveStore, name: str) -> None:
    with pytest.raises(SkipstoneError, match="p=7"):
        client.call(name, db_name="db", tbl_name="t", new_parts=[changed(0), changed(7)])
    assert [part.parameters for part in store.partitions("db", "t")] == [{}, {}, {}]
    request = api.AlterPartitionsRequest(dbName="db", tableName="t", partitions=[changed(0), changed(2)])
    client.call("alter_partitions_req", req=request)
    assert [part.parameters for part in store.partitions("db", "t")] == [{"k": "v"}, {}, {"k": "v"}]


def test_partitions_are_added_unless_they_are_there(client: HiveClient, store: HiveStore) -> None:
    request = api.AddPartitionsRequest(dbName="db", tblName="t", parts=[changed(1), changed(5)], ifNotExists=False)
    with pytest.raises(SkipstoneError, match="there already"):
        client.call("add_partitions_req", request=request)
    assert len(store.partition_names("db", "t")) == 3
    request.ifNotExists = True
    assert [part.values for part in client.call("add_partitions_req", request=request).partitions] == [["5"]]
    assert store.partition("db", "t", "p=1").parameters == {}


def test_partitions_are_dropped_by_their_names_all_or_none(client: HiveClient, store: HiveStore) -> None:
    request = api.DropPartitionsRequest(dbName="db", tblName="t", parts=api.PartitionsToDrop(names=["p=0", "p=7"]))
    with pytest.raises(NotFound, match="p=7"):
        client.call("drop_partitions_req", req=request)
    assert len(store.partition_names("db", "t")) == 3
    request.ifExists = True
    assert [part.values for part in client.call("drop_partitions_req", req=request).partitions] == [["0"]]
    assert store.partition_names("db", "t") == ["p=1", "p=2"]
    request.parts = api.PartitionsToDrop()
    with pytest.raises(SkipstoneError, match="Name the partitions"):
        client.call("drop_partitions_req", req=request)
    with pytest.raises(NotFound):
        client.call(
            "drop_partition_req", dropPartitionReq=api.DropPartitionRequest(dbName="db", tblName="t", partVals=["0"])
        )


def test_partitions_are_found_by_some_of_their_values(client: HiveClient, store: HiveStore) -> None:
    store.add_partitions("db", "t", [HivePartition(values=("12",))])
    assert client.call("get_partition_names_ps", db_name="db", tbl_name="t", part_vals=["1"], max_parts=-1) == ["p=1"]
    found = client.call("get_partitions_ps", db_name="db", tbl_name="t", part_vals=[""], max_parts=2)
    assert [part.values for part in found] == [["0"], ["1"]]
    request = api.GetPartitionsPsRequest(dbName="db", tblName="t", partNames=["p=12", "p=99"])
    found = client.call("get_partitions_ps_with_auth_req", req=request).partitions
    assert [part.values for part in found] == [["12"]]


def test_tables_are_listed_by_a_pattern_of_the_request(client: HiveClient) -> None:
    for pattern, expected in (("t*", ["t"]), (None, ["t"]), ("x*", [])):
        request = api.GetTablesRequest(dbName="db", tablesPattern=pattern)
        found = client.call("get_table_objects_by_name_req", req=request).tables
        assert [table.tableName for table in found] == expected
    assert client.call("get_table_objects_by_name_req", req=api.GetTablesRequest(dbName="nosuch")).tables == []


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ('hive_filter_field_tableName__ like ".*"', ["sold", "sold.x", "t"]),
        ('hive_filter_field_tableName__ like "SO.*"', ["sold", "sold.x"]),
        ('hive_filter_field_tableName__ like "sold"', ["sold"]),
        ('hive_filter_field_tableName__ like "(?i)sOld.*"', ["sold", "sold.x"]),
        ("hive_filter_field_tableName__ = 'sold.x'", ["sold.x"]),
        ('hive_filter_field_tableName__ like "s?ld"', []),
        ('hive_filter_field_tableName__ like "s[o]ld"', []),
        ('hive_filter_field_params__table_type = "iceberg"', ["sold"]),
        ('hive_filter_field_owner__ <> "you"', ["sold", "sold.x"]),
    ],
)
def test_tables_are_listed_by_one_comparison(
    client: HiveClient, store: HiveStore, filter_: str, expected: list[str]
) -> None:
    own = replace(store.table("db", "t"), owner="me")
    store.create_table(replace(own, name="sold", parameters={"table_type": "ICEBERG"}))
    store.create_table(replace(own, name="sold.x"))
    assert client.call("get_table_names_by_filter", dbname="db", filter=filter_, max_tables=-1) == expected
    assert client.call("get_table_names_by_filter", dbname="db", filter=filter_, max_tables=1) == expected[:1]


@pytest.mark.parametrize("filter_", ["", "x = 'y'", 'hive_filter_field_tableName__ = "a" or owner = "b"'])
def test_another_filter_of_tables_is_refused(client: HiveClient, filter_: str) -> None:
    with pytest.raises(InvalidInput, match="expected one comparison"):
        client.call("get_table_names_by_filter", dbname="db", filter=filter_, max_tables=-1)


def test_a_name_of_a_partition_needs_a_value_of_every_key(client: HiveClient, store: HiveStore) -> None:
    request = api.AppendPartitionsRequest(dbName="db", tableName="t", name="q=5")
    with pytest.raises(InvalidInput, match="expected a value for p"):
        client.call("append_partition_req", appendPartitionsReq=request)
    request.name = "P=5"
    assert client.call("append_partition_req", appendPartitionsReq=request).values == ["5"]
    assert "p=5" in store.partition_names("db", "t")


@pytest.mark.parametrize("names", [{}, {"catName": "hive"}, {"engine": "hive"}])
@pytest.mark.parametrize("is_named", [False, True])
def test_only_a_client_that_names_its_user_and_nothing_newer_gets_the_form_of_hive_2(
    store: HiveStore, names: dict[str, str], is_named: bool
) -> None:
    parts = ["p=0", "p=1"]
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.put_partition_statistics("db", "t", dict.fromkeys(parts, every_type()), now=1)
    member = "longStats" if is_named and not names else "timestampStats"
    with HiveServer(HiveService(store), SETTINGS) as server:
        uri = f"thrift://127.0.0.1:{server.port}"
        # The other kind of client has asked the same before.
        for is_one_named in (not is_named, is_named):
            with HiveClient(uri) as client:
                if is_one_named:
                    client.call("set_ugi", user_name="me", group_names=[])
                request = api.TableStatsRequest(dbName="db", tblName="t", colNames=["ts"], **names)
                found = client.call("get_table_statistics_req", request=request).tableStats
                request = api.PartitionsStatsRequest(
                    dbName="db", tblName="t", colNames=["ts"], partNames=parts, **names
                )
                found += client.call("get_partitions_statistics_req", request=request).partStats["p=1"]
                found += client.call("get_aggr_stats_for", request=request).colStats
        assert [one.statsData.members() for one in found] == [[member]] * 3
