"""Column statistics over Thrift: our service beside a real Hive metastore started from PySpark's jars.

Both hold the same table, 10,000 partitions x 20 columns (400 x 20 with --quick), and answer the same bytes: the
request is encoded once, and of the answer only its arrival is timed: the client's own work is in neither figure.

Neither side may have an aggregate ready: statistics change before each question, and the peer's cache is off, which
would take no notice of the change, and answers for other partitions than were asked for. What both sides make of the
same question asked again, the peer with its cache as it is by default, is a figure of its own.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.peers_hive_analyze import analyze_figure
from benchmarks.peers_hive_fill import multiply_partition
from benchmarks.report import Figure, median_seconds
from skipstone.hive.client import HiveClient
from skipstone.hive.objects import HiveDatabase
from skipstone.hive.service import HiveServer, HiveService, ServerSettings
from skipstone.hive.statistics import ColumnStatistics
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Message, MessageKind, api, methods
from skipstone.hive.thrift.binary import Input
from skipstone.hive.thrift.messages import read_head, write_message
from skipstone.hive.types import kind_of
from skipstone.hive.wire import to_wire

if TYPE_CHECKING:
    from tests.support.metastore import Metastore

TYPES = ["int", "bigint", "double", "string", "date"]
COLUMNS = {f"c{number}": TYPES[number % len(TYPES)] for number in range(20)}
PEER = "Hive 2.3 metastore"
BATCH = 1000
# Over 10,000 partitions the peer computes for minutes: each row's name is looked for in the whole list asked for.
ANSWER_SECONDS_MAX = 30.0
# Both sides are warmed by the same small requests for so long; an answer that takes long is not asked for again.
WARM_SECONDS, ANSWER_SECONDS_LONG = 4.0, 5.0
WARM_PARTITIONS = 20
WITHOUT_CACHE = {"hive.metastore.aggregate.stats.cache.enabled": "false"}


def figures(quick: bool) -> list[Figure]:
    from tests.support.metastore import Metastore  # late: it needs pyspark

    partitions, asked, passes = (400, 100, 3) if quick else (10_000, BATCH, 3)
    metastore = Metastore(heap="1g", has_locks=False, settings=WITHOUT_CACHE)
    try:
        with our_service() as ours:
            fill(ours, range(partitions))
            peer = filled_peer(metastore, partitions, is_multiplied=not quick)
            assert_same(ours, peer, partitions)
            found = []
            for name, small, request, goal in (
                ("get partitions", read_call(partitions, WARM_PARTITIONS), read_call(partitions, asked), 2.0),
                ("set partitions", write_call(WARM_PARTITIONS), write_call(asked), 3.0),
            ):
                seconds = [measured(address, small, request, passes) for address in (ours, peer)]
                found.append(_figure(name, seconds, goal, f"{asked} of {partitions} partitions x 20 columns"))
            found.append(_computed_figure(ours, peer, partitions, passes if quick else 1))
            metastore.halt()
            metastore.start()
            peer, again = ("127.0.0.1", metastore.port), min(partitions, BATCH)
            request = aggregate_call(again)
            seconds = [measured(address, request, request, passes) for address in (ours, peer)]
            note = f"{again} of {partitions} partitions x 20 columns, asked once before; the peer with its cache"
            found.append(_figure("aggregate again", seconds, 5.0, note))
            return [*found, analyze_figure(quick=quick)]
    finally:
        metastore.stop()


def _figure(name: str, seconds: list[float], goal: float, note: str) -> Figure:
    ours, peer = seconds
    return Figure(name=name, unit="s", ours=ours, peer=peer, peer_name=PEER, goal=goal, note=note)


def _computed_figure(ours: tuple[str, int], peer: tuple[str, int], partitions: int, passes: int) -> Figure:
    note = f"{partitions} of {partitions} partitions x 20 columns, statistics changed before each question"
    seconds = computed(ours, partitions, max(passes, 3))
    try:
        peer_seconds = computed(peer, partitions, passes)
    except TimeoutError:
        peer_seconds = ANSWER_SECONDS_MAX
        note += f"; the peer gave no answer within {ANSWER_SECONDS_MAX:g} s, so its time is a lower bound"
    return _figure("aggregate all", [seconds, peer_seconds], 5.0, note)


@contextmanager
def our_service() -> Iterator[tuple[str, int]]:
    home = Path(tempfile.mkdtemp(prefix="skipstone-hive-"))
    store = HiveStore(f"sqlite:///{home}/hive.db")
    store.create_database(HiveDatabase(name="default", location=str(home)))
    with HiveServer(HiveService(store, allow_writes=True), ServerSettings(port=0)) as server:
        yield "127.0.0.1", server.port
    store.close()
    shutil.rmtree(home, ignore_errors=True)


def partition(number: int) -> str:
    return f"p={number:05d}"


def statistics(number: int) -> list[ColumnStatistics]:
    """Statistics of one partition; every partition's are different."""
    made = []
    for position, (name, type_) in enumerate(COLUMNS.items()):
        kind = kind_of(type_)
        assert kind is not None
        is_text = type_ == "string"
        made.append(
            ColumnStatistics(
                column=name,
                type=type_,
                kind=kind,
                num_nulls=number,
                num_distincts=number + position + 1,
                low=None if is_text else (number if type_ != "double" else number / 3),
                high=None if is_text else (number + 1000 if type_ != "double" else number * 3.5),
                avg_length=number / 7 if is_text else None,
                max_length=number if is_text else None,
            )
        )
    return made


def filled_peer(metastore: Metastore, partitions: int, *, is_multiplied: bool) -> tuple[str, int]:
    """The real metastore with its partitions: all of them through Thrift, or one that is multiplied."""
    fill(("127.0.0.1", metastore.port), range(1 if is_multiplied else partitions))
    if is_multiplied:
        metastore.halt()
        multiply_partition(metastore.home, range(1, partitions), columns=len(COLUMNS))
        metastore.start(WITHOUT_CACHE)
    return "127.0.0.1", metastore.port


def assert_same(ours: tuple[str, int], peer: tuple[str, int], partitions: int) -> None:
    """Both sides answer the same."""
    names = [partition(number) for number in (0, 1, partitions // 2, partitions - 1)]
    found = []
    for host, port in (ours, peer):
        with HiveClient(f"thrift://{host}:{port}") as client:
            by_name = client.partition_statistics("default", "t", names, list(COLUMNS))
        found.append({name: {one.column: one for one in values} for name, values in by_name.items()})
    assert found[0] == found[1], "the two sides do not hold the same statistics"


def fill(address: tuple[str, int], partitions: range) -> None:
    with HiveClient(f"thrift://{address[0]}:{address[1]}", timeout_seconds=1800) as client:
        sd = api.StorageDescriptor(
            cols=[api.FieldSchema(name=n, type=t) for n, t in COLUMNS.items()],
            inputFormat="org.apache.hadoop.mapred.TextInputFormat",
            outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
            serdeInfo=api.SerDeInfo(
                serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={}
            ),
        )
        keys = [api.FieldSchema(name="p", type="string")]
        client.call(
            "create_table",
            tbl=api.Table(
                tableName="t",
                dbName="default",
                owner="x",
                sd=sd,
                partitionKeys=keys,
                parameters={},
                tableType="MANAGED_TABLE",
            ),
        )
        for start in range(0, len(partitions), BATCH):
            numbers = partitions[start : start + BATCH]
            new = [
                api.Partition(values=[f"{n:05d}"], dbName="default", tableName="t", sd=sd, parameters={})
                for n in numbers
            ]
            client.call("add_partitions", new_parts=new)
            client.put_partition_statistics("default", "t", {partition(n): statistics(n) for n in numbers})


def read_call(partitions: int, asked: int) -> tuple[str, Any]:
    names = [partition(number * (partitions // asked)) for number in range(asked)]
    request = api.PartitionsStatsRequest(
        dbName="default", tblName="t", colNames=list(COLUMNS), partNames=names, engine="hive"
    )
    return "get_partitions_statistics_req", request


def aggregate_call(partitions: int) -> tuple[str, Any]:
    names = [partition(number) for number in range(partitions)]
    request = api.PartitionsStatsRequest(
        dbName="default", tblName="t", colNames=list(COLUMNS), partNames=names, engine="hive"
    )
    return "get_aggr_stats_for", request


def write_call(asked: int) -> tuple[str, Any]:
    sent = []
    for number in range(asked):
        described = api.ColumnStatisticsDesc(
            isTblLevel=False, dbName="default", tableName="t", partName=partition(number)
        )
        objects = [to_wire(one) for one in statistics(number)]
        sent.append(api.ColumnStatistics(statsDesc=described, statsObj=objects, engine="hive"))
    return "set_aggr_stats_for", api.SetPartitionsStatsRequest(colStats=sent, engine="hive")


def computed(address: tuple[str, int], partitions: int, passes: int) -> float:
    """Seconds for the aggregate of all partitions when no answer can be ready: statistics change before each."""
    name, request = aggregate_call(partitions)
    data = encoded(name, request)
    seconds = []
    with (
        HiveClient(f"thrift://{address[0]}:{address[1]}", timeout_seconds=1800) as client,
        socket.create_connection(address, timeout=ANSWER_SECONDS_MAX) as connection,
    ):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(passes):
            client.put_partition_statistics("default", "t", {partition(0): statistics(number)})
            began = time.perf_counter()
            connection.sendall(data)
            found = answered(connection, name)[0]
            seconds.append(time.perf_counter() - began)
            assert found.partsFound == partitions, found
    return median(seconds)


def measured(address: tuple[str, int], small: tuple[str, Any], request: tuple[str, Any], passes: int) -> float:
    """Seconds from the request's first byte to the answer's last, after small requests that warm the other side.

    The first answer tells the size of the others, which nobody takes apart while they are timed. Where it alone takes
    long it is the only one: then the time to take it apart, a few hundredths of it, is the peer's.
    """
    with socket.create_connection(address, timeout=1800) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        while time.perf_counter() - began < WARM_SECONDS:
            timed_answer(connection, *small)
        first, size = timed_answer(connection, *request)
        if first > ANSWER_SECONDS_LONG:
            return first
        return median_seconds(exchange(connection, encoded(*request), size), passes)


def timed_answer(connection: socket.socket, name: str, request: Any) -> tuple[float, int]:
    """Seconds for one answer that is taken apart while it comes, and its size."""
    data = encoded(name, request)
    began = time.perf_counter()
    connection.sendall(data)
    size = answered(connection, name)[1]
    return time.perf_counter() - began, size


def encoded(name: str, request: Any) -> bytes:
    head = Message(name=name, kind=MessageKind.CALL, sequence=1)
    return bytes(write_message(head, methods[name].arguments(request=request).write))


def answered(connection: socket.socket, name: str) -> tuple[Any, int]:
    """What is answered, and in how many bytes."""
    source = Input(more=lambda: connection.recv(1 << 18))
    reply = read_head(source)
    assert reply.kind is MessageKind.REPLY, reply
    answer: Any = methods[name].answer.read(source)
    assert answer.success is not None, answer
    return answer.success, source.at


def exchange(connection: socket.socket, data: bytes, size: int) -> Callable[[], None]:
    def once() -> None:
        connection.sendall(data)
        left = size
        while left:
            left -= len(connection.recv(min(left, 1 << 18)))

    return once
