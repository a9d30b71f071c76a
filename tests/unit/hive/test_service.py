"""The service over sockets: what it answers, what it refuses, and that nothing a client sends ends it."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import hive_metastore.ThriftHiveMetastore as peer
import hive_metastore.ttypes as peer_types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.hive import ODD_NAMES, TYPES, by_name, every_type, fill, sketch, statistics_of
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport

from skipstone.errors import InvalidInput, NotFound, Unsupported
from skipstone.hive.client import HiveClient
from skipstone.hive.errors import MetastoreError
from skipstone.hive.objects import Column, HiveDatabase, HiveTable
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.service.encoding import RowEncoder
from skipstone.hive.store import HiveStore, Layout
from skipstone.hive.store.rows import row_of
from skipstone.hive.thrift import Message, MessageKind, api, methods
from skipstone.hive.thrift.binary import Input, ProtocolViolation
from skipstone.hive.thrift.messages import read_head, write_message
from skipstone.hive.types import Kind
from skipstone.hive.wire import to_wire

SETTINGS = ServerSettings(port=0, message_bytes_max=1 << 20, message_seconds_max=0.5, clients_max=20)


@pytest.fixture
def store() -> HiveStore:
    made = HiveStore("sqlite://")
    fill(made, partitions=2)
    return made


@pytest.fixture
def server(store: HiveStore) -> Iterator[HiveServer]:
    with HiveServer(HiveService(store, allow_writes=True), SETTINGS) as running:
        yield running


@pytest.fixture
def client(server: HiveServer) -> Iterator[HiveClient]:
    with HiveClient(f"thrift://127.0.0.1:{server.port}") as made:
        yield made


def talk(server: HiveServer, data: bytes) -> bytes:
    """What the server answers to raw bytes before it closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        # A server that closes before it has read everything resets the connection.
        with suppress(ConnectionResetError):
            while chunk := connection.recv(1 << 16):
                answer += chunk
        return answer


def call_bytes(name: str, *, is_framed: bool = False, **arguments: Any) -> bytes:
    head = Message(name=name, kind=MessageKind.CALL, sequence=1, is_framed=is_framed)
    return bytes(write_message(head, methods[name].arguments(**arguments).write))


def is_alive(server: HiveServer) -> bool:
    with HiveClient(f"thrift://127.0.0.1:{server.port}") as client:
        return bool(client.call("get_all_databases") == ["db"])


WHOLE = call_bytes("get_table", dbname="db", tbl_name="t")
BROKEN = {
    "empty": b"",
    "one byte": WHOLE[:1],
    "cut in the head": WHOLE[:9],
    "cut in the arguments": WHOLE[:-4],
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "compact protocol": b"\x82\x21\x01\x09get_table\x18\x02db\x18\x01t\x00",
    "unstrict binary": struct.pack(">i", 9) + b"get_table" + b"\x01" + struct.pack(">i", 1) + b"\0",
    "frame over the limit": struct.pack(">i", 1 << 30) + WHOLE,
    "string over the limit": WHOLE[:21] + b"\x0b\x00\x01\x7f\xff\xff\xff",
    "negative size": WHOLE[:21] + b"\x0b\x00\x01\xff\xff\xff\xff",
    "unknown type": WHOLE[:21] + b"\x63\x00\x01",
    "not utf-8": WHOLE[:21] + b"\x0b\x00\x01\x00\x00\x00\x02\xff\xfe\x00",
    "nested without end": WHOLE[:21] + b"\x0c\x00\x09" * 200,
    "list over the limit": call_bytes("set_ugi", user_name="x")[:-1] + b"\x0f\x00\x02\x0b\x7f\xff\xff\xff",
    "wrong kind": b"\x80\x01\x00\x09" + WHOLE[4:],
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_message_ends_its_connection_and_nothing_else(server: HiveServer, name: str) -> None:
    answer = talk(server, BROKEN[name])
    if answer:
        head = read_head(Input(answer))
        assert head.kind is MessageKind.EXCEPTION
    assert is_alive(server)


@settings(deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_violation(data: bytes) -> None:
    source = Input(data, limit=1 << 16)
    try:
        head = read_head(source)
        if head.name in methods:
            methods[head.name].arguments.read(source)
    except ProtocolViolation:
        return


@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_message_is_read_or_a_violation(data: st.DataObject) -> None:
    stats = api.ColumnStatistics(
        statsDesc=api.ColumnStatisticsDesc(isTblLevel=True, dbName="db", tableName="t"),
        statsObj=[to_wire(one) for one in every_type()],
    )
    whole = bytearray(call_bytes("update_table_column_statistics", stats_obj=stats))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    source = Input(bytes(whole), limit=1 << 16)
    try:
        head = read_head(source)
        if head.name in methods:
            methods[head.name].arguments.read(source)
    except ProtocolViolation:
        return


def test_a_slow_client_is_left_and_holds_nobody_up(server: HiveServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow:
        slow.sendall(WHOLE[:10])
        assert is_alive(server)
        # The rest does not come in time: the server closes.
        assert slow.recv(10) == b""
    assert is_alive(server)


def test_a_message_over_the_limit_is_refused(server: HiveServer, client: HiveClient) -> None:
    request = api.PartitionsStatsRequest(dbName="db", tblName="t", colNames=["i"], partNames=["x" * 100] * 20_000)
    with pytest.raises((ConnectionError, MetastoreError)):
        client.call("get_partitions_statistics_req", request=request)
    assert is_alive(server)


def test_more_clients_than_allowed_are_turned_away_until_one_leaves(server: HiveServer) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(SETTINGS.clients_max)]
    for one in held:
        one.sendall(WHOLE)
        assert one.recv(1)
    with pytest.raises(ConnectionError), HiveClient(f"thrift://127.0.0.1:{server.port}") as client:
        client.call("get_all_databases")
    for one in held:
        one.close()


def test_a_silent_client_makes_room_when_all_places_are_taken(store: HiveStore) -> None:
    few = replace(SETTINGS, clients_max=3, idle_seconds_kept=0.0, message_seconds_max=30.0)
    with HiveServer(HiveService(store), few) as server:
        address = ("127.0.0.1", server.port)
        silent = [socket.create_connection(address, timeout=10) for _ in range(3)]
        # One is in the middle of a message, which is not silence.
        silent[0].sendall(WHOLE[:10])
        while len(server._clients) < 3 or all(one.idle_since is not None for one in [*server._clients.values()]):
            threading.Event().wait(0.001)
        assert is_alive(server)
        assert silent[1].recv(1) == b""
        silent[0].sendall(WHOLE[10:])
        assert silent[0].recv(1)
        for one in silent:
            one.close()


def test_a_frame_must_end_where_its_message_ends(server: HiveServer) -> None:
    inner = WHOLE
    for size in (len(inner) - 5, len(inner) + 3):
        answer = talk(server, struct.pack(">i", size) + inner + b"\0" * 3)
        assert b"Invalid Thrift" in answer
        assert is_alive(server)
    assert b"Invalid" not in talk(server, struct.pack(">i", len(inner)) + inner)


def test_very_many_tiny_elements_are_refused_before_they_take_memory(server: HiveServer) -> None:
    count = 1 << 17
    columns = b"\x0c\x00\x01\x0c\x00\x07\x0f\x00\x01\x0c" + struct.pack(">i", count) + b"\0" * count + b"\0\0\0"
    head = call_bytes("create_table")[:-1]
    answer = talk(server, head + columns)
    assert b"expected at most 65536 elements" in answer
    assert is_alive(server)


def test_an_answer_that_cannot_be_written_is_an_exception(
    server: HiveServer, client: HiveClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HiveService, "get_all_databases", lambda self, arguments: ["\ud800"])
    with pytest.raises(MetastoreError, match="Cannot answer get_all_databases"):
        client.call("get_all_databases")
    monkeypatch.undo()
    assert client.call("get_all_databases") == ["db"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("update_table_column_statistics", {}),
        ("get_table_statistics_req", {}),
        ("get_table", {"dbname": "db"}),
        ("alter_table", {"dbname": "db", "tbl_name": "t"}),
        ("set_aggr_stats_for", {}),
        ("delete_table_column_statistics", {"db_name": "db"}),
        ("lock", {}),
    ],
)
def test_a_call_without_its_arguments_says_which(client: HiveClient, name: str, arguments: dict[str, str]) -> None:
    with pytest.raises((InvalidInput, MetastoreError), match=rf"Invalid call of {name}: expected the argument \w+"):
        client.call(name, **arguments)
    assert client.call("get_all_databases") == ["db"]


def test_counts_near_the_end_of_64_bits_are_added_up_and_answered(client: HiveClient) -> None:
    most = 2**63 - 1
    given = [replace(statistics_of("i", "int"), num_nulls=most, num_distincts=most)]
    client.put_partition_statistics("db", "t", {"p=0": given, "p=1": given})
    added, count = client.aggregate("db", "t", ["p=0", "p=1"], ["i"])
    assert (added[0].num_nulls, added[0].num_distincts, count) == (most, most, 2)


def test_many_clients_at_once_get_their_own_answers(server: HiveServer, store: HiveStore) -> None:
    store.put_partition_statistics("db", "t", {"p=0": every_type(1), "p=1": every_type(2)}, now=1)
    wrong: list[object] = []

    def ask(number: int) -> None:
        name = f"p={number % 2}"
        with HiveClient(f"thrift://127.0.0.1:{server.port}") as client:
            for _ in range(5):
                found = client.partition_statistics("db", "t", [name], list(TYPES))
                if found != {name: by_name(every_type(number % 2 + 1))}:
                    wrong.append(found)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_without_the_switch_nothing_is_written(store: HiveStore) -> None:
    with HiveServer(HiveService(store), SETTINGS) as server, HiveClient(f"thrift://127.0.0.1:{server.port}") as client:
        with pytest.raises(MetastoreError, match="this service only reads"):
            client.put_table_statistics("db", "t", every_type())
        with pytest.raises(MetastoreError, match="this service only reads"):
            client.call("drop_table", dbname="db", name="t", deleteData=False)
        assert client.call("get_all_tables", db_name="db") == ["t"]
    assert store.table_statistics("db", "t") == []


@pytest.mark.parametrize("members", [[], ["longStats", "stringStats"]])
def test_a_union_without_exactly_one_member_is_an_invalid_object(
    client: HiveClient, store: HiveStore, members: list[str]
) -> None:
    values = {
        "longStats": api.LongColumnStatsData(numNulls=1, numDVs=1),
        "stringStats": api.StringColumnStatsData(maxColLen=1, avgColLen=1.0, numNulls=1, numDVs=1),
    }
    data = api.ColumnStatisticsData(**{name: values[name] for name in members})
    good = to_wire(statistics_of("s", "string"))
    bad = api.ColumnStatisticsObj(colName="i", colType="int", statsData=data)
    described = api.ColumnStatisticsDesc(isTblLevel=True, dbName="db", tableName="t")
    sent = api.ColumnStatistics(statsDesc=described, statsObj=[good, bad])
    with pytest.raises(InvalidInput, match="expected exactly one kind of statistics"):
        client.call("update_table_column_statistics", stats_obj=sent)
    assert store.table_statistics("db", "t") == []


def put(client: HiveClient, **changes: Any) -> None:
    described = {"isTblLevel": True, "dbName": "db", "tableName": "t", **changes}
    objects = described.pop("statsObj", [to_wire(statistics_of("i", "int"))])
    level = "table" if described["isTblLevel"] else "partition"
    sent = api.ColumnStatistics(statsDesc=api.ColumnStatisticsDesc(**described), statsObj=objects)
    client.call(f"update_{level}_column_statistics", stats_obj=sent)


def test_wrong_objects_are_refused_as_declared(client: HiveClient, store: HiveStore) -> None:
    with pytest.raises(NotFound, match="Cannot find database nosuch"):
        put(client, dbName="nosuch")
    with pytest.raises(NotFound, match=r"Cannot find table db\.nosuch"):
        put(client, tableName="nosuch")
    with pytest.raises(NotFound, match="Cannot find partition p=9"):
        put(client, isTblLevel=False, partName="p=9")
    with pytest.raises(InvalidInput, match="expected its name"):
        put(client, isTblLevel=False)
    with pytest.raises(NotFound, match="Cannot find column 'x'"):
        put(client, statsObj=[to_wire(statistics_of("x", "int"))])
    with pytest.raises(InvalidInput, match="at least one column"):
        put(client, statsObj=[])
    with pytest.raises(InvalidInput, match="expected a type that has statistics, got map<int,int>"):
        put(client, statsObj=[to_wire(replace(statistics_of("i", "int"), type="map<int,int>"))])
    with pytest.raises(InvalidInput, match="Invalid FM bit vector"):
        put(client, statsObj=[to_wire(replace(statistics_of("i", "int"), bit_vector=b"FMx"))])
    with pytest.raises(NotFound, match="Compute them first"):
        client.call("get_table_column_statistics", db_name="db", tbl_name="t", col_name="i")
    with pytest.raises(NotFound, match="Cannot find column 'x'"):
        client.call("get_table_column_statistics", db_name="db", tbl_name="t", col_name="x")
    with pytest.raises(InvalidInput):
        client.call("get_table_column_statistics", db_name="db", tbl_name="t", col_name="")
    assert store.table_statistics("db", "t") == []


def test_an_unknown_method_is_said_to_be_unknown(server: HiveServer) -> None:
    head = Message(name="no_such_call", kind=MessageKind.CALL, sequence=5)
    answer = Input(
        talk(server, bytes(write_message(head, api.EnvironmentContext(properties={"a": "b"}).write)) + WHOLE)
    )
    reply = read_head(answer)
    assert (reply.kind, reply.sequence) == (MessageKind.EXCEPTION, 5)
    assert api.TApplicationException.read(answer).type == 1
    answer.next_message()
    assert read_head(answer).kind is MessageKind.REPLY


def test_statistics_say_when_they_were_stored_and_of_which_table(client: HiveClient) -> None:
    before = int(time.time())
    put(client, lastAnalyzed=7)
    put(client, isTblLevel=False, partName="p=0", lastAnalyzed=7)
    asked = {"db_name": "DB", "tbl_name": "T", "col_name": "I"}
    of_table = client.call("get_table_column_statistics", **asked).statsDesc
    of_part = client.call("get_partition_column_statistics", **asked, part_name="p=0").statsDesc
    for found, part in ((of_table, None), (of_part, "p=0")):
        assert (found.dbName, found.tableName, found.partName, found.catName) == ("db", "t", part, "hive")
        # The service's time, as in Hive, not what a client says.
        assert before <= found.lastAnalyzed <= int(time.time())


def test_the_six_methods_and_their_successors(client: HiveClient) -> None:
    names = ["p=0", "p=1"]
    put(client)
    put(client, isTblLevel=False, partName="p=0")
    got = client.call("get_table_column_statistics", db_name="db", tbl_name="t", col_name="i")
    assert got.statsObj == [to_wire(statistics_of("i", "int"))]
    assert got.statsDesc.isTblLevel
    got = client.call("get_partition_column_statistics", db_name="db", tbl_name="t", part_name="p=0", col_name="i")
    assert got.statsDesc.partName == "p=0"
    one = {"statsDesc": api.ColumnStatisticsDesc(isTblLevel=False, dbName="db", tableName="t", partName="p=1")}
    sent = api.ColumnStatistics(statsObj=[to_wire(statistics_of("i", "int", 5))], **one)
    request = api.SetPartitionsStatsRequest(colStats=[sent], engine="hive")
    assert client.call("update_partition_column_statistics_req", req=request).result
    added, found = client.aggregate("db", "t", names, ["i"])
    assert (added[0].low, added[0].high, found) == (-5, 5, 2)
    assert client.call(
        "delete_partition_column_statistics", db_name="db", tbl_name="t", part_name="p=1", col_name="i", engine="hive"
    )
    gone = api.DeleteColumnStatisticsRequest(db_name="db", tbl_name="t", part_names=["p=0"], col_names=["i"])
    assert client.call("delete_column_statistics_req", req=gone)
    assert client.partition_statistics("db", "t", names, ["i"]) == {}
    assert client.call("delete_table_column_statistics", db_name="db", tbl_name="t", col_name="i", engine="hive")
    with pytest.raises(NotFound):
        client.call("delete_table_column_statistics", db_name="db", tbl_name="t", col_name="i", engine="hive")


@pytest.mark.parametrize("transport", [TBufferedTransport, TFramedTransport])
def test_another_implementation_of_thrift_reads_every_type(
    server: HiveServer, store: HiveStore, transport: Any
) -> None:
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.put_partition_statistics("db", "t", {"p=0": every_type(2)}, now=1)
    pipe = transport(TSocket("127.0.0.1", server.port))
    pipe.open()
    hive = peer.Client(TBinaryProtocol(pipe))
    assert hive.get_all_tables("db") == ["t"]
    assert [c.name for c in hive.get_table("db", "t").sd.cols] == list(TYPES)
    asked = peer_types.PartitionsStatsRequest(dbName="db", tblName="t", colNames=list(TYPES), partNames=["p=0"])
    found = {obj.colName: obj.statsData for obj in hive.get_partitions_statistics_req(asked).partStats["p=0"]}
    assert found["bi"].longStats.lowValue == -2
    assert found["ts"].timestampStats.highValue.secondsSinceEpoch == 2
    assert found["de"].decimalStats.lowValue.unscaled == b"\xfb"
    with pytest.raises(peer_types.NoSuchObjectException):
        hive.get_table("db", "nosuch")
    pipe.close()


@pytest.mark.parametrize("layout", Layout)
def test_rows_are_encoded_as_their_values_are(layout: Layout) -> None:
    encoder = RowEncoder(layout)
    given = [*every_type(), *every_type(0)]
    given += [replace(one, low=None, high=None, bit_vector=sketch(1, 2)) for one in every_type()]
    for one in given:
        expected = bytearray()
        to_wire(one).write(expected)
        assert encoder.encode(row_of(one, layout)) == bytes(expected), one


@pytest.mark.parametrize("layout", Layout)
def test_clients_of_hive_2_get_timestamps_as_whole_numbers(layout: Layout) -> None:
    store = HiveStore("sqlite://", layout=layout)
    fill(store, partitions=2)
    store.put_table_statistics("db", "t", every_type(), now=1)
    store.put_partition_statistics("db", "t", {"p=0": every_type(1), "p=1": every_type(2)}, now=1)
    with (
        HiveServer(HiveService(store, for_hive_2=True), SETTINGS) as server,
        HiveClient(f"thrift://127.0.0.1:{server.port}") as client,
    ):
        found = [*client.table_statistics("db", "t", ["ts"]), *client.aggregate("db", "t", ["p=0", "p=1"], ["ts"])[0]]
        found += client.partition_statistics("db", "t", ["p=1"], ["ts"])["p=1"]
    assert [(one.kind, one.low, one.high) for one in found] == [
        (Kind.LONG, -3, 3), (Kind.LONG, -2, 2), (Kind.LONG, -2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_go_over_the_wire_unharmed(client: HiveClient, store: HiveStore, name: str) -> None:
    store.create_database(HiveDatabase(name=name))
    store.create_table(HiveTable(database=name, name=name, columns=(Column(name=name, type="int"),)))
    client.put_table_statistics(name, name, [statistics_of(name, "int")])
    assert client.table_statistics(name, name, [name]) == [statistics_of(name, "int")]
    assert client.call("get_table", dbname=name, tbl_name=name).sd.cols[0].name == name
    assert client.call("get_databases", pattern="*") == sorted(["db", name])


def test_a_client_that_lost_its_connection_opens_another(store: HiveStore) -> None:
    service = HiveService(store)
    with HiveServer(service, SETTINGS) as first:
        client = HiveClient(f"thrift://127.0.0.1:{first.port}")
        assert client.call("get_all_databases") == ["db"]
        port = first.port
    with pytest.raises(ConnectionError):
        client.call("get_all_databases")
    with HiveServer(service, replace(SETTINGS, port=port)):
        assert client.call("get_all_databases") == ["db"]
        client.close()


def test_a_call_that_a_metastore_lacks_is_unsupported(server: HiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("skipstone.hive.service.reading.ReadingCalls.get_catalogs")
    with HiveClient(f"thrift://127.0.0.1:{server.port}") as client:
        with pytest.raises(Unsupported, match="does not know this call"):
            client.call("get_catalogs")
        assert client.is_old
