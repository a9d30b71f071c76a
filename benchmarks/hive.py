"""Column statistics over Thrift: our service beside a real Hive metastore started from PySpark's jars.

Both hold the same table, 10,000 partitions x 20 columns (400 x 20 with --quick), and answer the same bytes: the
request is encoded once, and of the answer only its arrival is timed: the client's own work is in neither figure.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.peers_hive_analyze import analyze_figure
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

TYPES = ["int", "bigint", "double", "string", "date"]
COLUMNS = {f"c{number}": TYPES[number % len(TYPES)] for number in range(20)}
PEER = "Hive 2.3 metastore"
BATCH = 1000


def figures(quick: bool) -> list[Figure]:
    from tests.support.metastore import Metastore  # late: it needs pyspark

    partitions = 400 if quick else 10_000
    asked = min(BATCH, partitions // 4 if quick else BATCH)
    passes = 3 if quick else 5
    metastore = Metastore(heap="1g", has_locks=False)
    try:
        with our_service() as ours:
            sides = {"ours": ours, "peer": ("127.0.0.1", metastore.port)}
            for address in sides.values():
                fill(address, partitions)
            work = {
                "get partitions": (read_call(partitions, asked), 2.0),
                "set partitions": (write_call(asked), 3.0),
                "aggregate all": (aggregate_call(partitions), 5.0),
            }
            found = []
            for name, (request, goal) in work.items():
                seconds = {side: measured(address, *request, passes) for side, address in sides.items()}
                count = partitions if name == "aggregate all" else asked
                found.append(
                    Figure(
                        name=name,
                        unit="s",
                        ours=seconds["ours"],
                        peer=seconds["peer"],
                        peer_name=PEER,
                        goal=goal,
                        note=f"{count} of {partitions} partitions x 20 columns",
                    )
                )
            return [*found, analyze_figure(quick=quick)]
    finally:
        metastore.stop()


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


def fill(address: tuple[str, int], partitions: int) -> None:
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
        for start in range(0, partitions, BATCH):
            numbers = range(start, min(start + BATCH, partitions))
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


def measured(address: tuple[str, int], name: str, request: Any, passes: int) -> float:
    """Seconds from the request's first byte to the answer's last."""
    head = Message(name=name, kind=MessageKind.CALL, sequence=1)
    data = bytes(write_message(head, methods[name].arguments(request=request).write))
    with socket.create_connection(address, timeout=1800) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(data)
        source = Input(more=lambda: connection.recv(1 << 18))
        reply = read_head(source)
        assert reply.kind is MessageKind.REPLY, reply
        answer: Any = methods[name].answer.read(source)
        assert answer.success is not None, answer
        size = source.at
        return median_seconds(exchange(connection, data, size), passes)


def exchange(connection: socket.socket, data: bytes, size: int) -> Callable[[], None]:
    def once() -> None:
        connection.sendall(data)
        left = size
        while left:
            left -= len(connection.recv(min(left, 1 << 18)))

    return once
