"""A real Hive metastore and a real Hive client, both from the jars that PySpark ships.

The metastore is a process of its own with a Derby database in a temporary directory. The client is Hive's own
HiveMetaStoreClient, called through PySpark's gateway.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pyspark
from pyspark.sql import SparkSession
from tests.support.spark import jvm_class

Settings: TypeAlias = Mapping[str, str]

_CLASS: Final = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_OPENS: Final = ("java.lang", "java.net", "java.util", "java.nio", "java.util.concurrent", "java.io", "sun.nio.ch")
_LOG4J: Final = """status = error
rootLogger.level = error
rootLogger.appenderRef.c.ref = c
appender.c.type = Console
appender.c.name = c
appender.c.target = SYSTEM_ERR
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = %m%n
"""
_START_SECONDS_MAX: Final = 120
_PR_SET_PDEATHSIG: Final = 1


class Metastore:
    """A running Hive metastore."""

    def __init__(
        self,
        *,
        heap: str = "512m",
        has_locks: bool = True,
        settings: Settings = MappingProxyType({}),
    ) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="skipstone-metastore-"))
        (self.home / "log4j2.properties").write_text(_LOG4J)
        self._heap = heap
        self._has_locks = has_locks
        self.start(settings)

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> str:
        return str(self.home / "warehouse")

    def start(self, settings: Settings = MappingProxyType({})) -> None:
        """Begin, or go on after `halt`: with the same tables, behind another port, with other settings."""
        self.port = free_port()
        self._process = subprocess.Popen(
            self._command(settings),
            cwd=self.home,
            stdout=(self.home / "out").open("wb"),
            stderr=(self.home / "err").open("wb"),
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        self._await()

    def halt(self) -> None:
        """End the process; its database stays, and Derby recovers what was committed."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        self.halt()
        shutil.rmtree(self.home, ignore_errors=True)

    def _command(self, changed: Settings) -> list[str]:
        jars = Path(pyspark.__file__).parent / "jars"
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self.home}/db;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": self.warehouse,
            "hive.metastore.event.db.notification.api.auth": "false",
            "hive.async.log.enabled": "false",
            # The default pool is not among the jars; locks would fail at their first use.
            "datanucleus.connectionPoolingType": "HikariCP",
        }
        if self._has_locks:
            # Only then the tables for locks are made; without them a lock, or dropping a database, ends the connection.
            settings["hive.in.test"] = "true"
        settings |= changed
        return [
            "java",
            f"-Xmx{self._heap}",
            "-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.ClassLoaderContextSelector",
            f"-Dlog4j2.configurationFile={self.home}/log4j2.properties",
            f"-Dderby.system.home={self.home}",
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS),
            "-cp",
            f"{jars}/*",
            _CLASS,
            "-p",
            str(self.port),
            *(part for key, value in settings.items() for part in ("--hiveconf", f"{key}={value}")),
        ]

    def _await(self) -> None:
        until = time.monotonic() + _START_SECONDS_MAX
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        text = (self.home / "err").read_text(errors="replace") + (self.home / "out").read_text(errors="replace")
        raise RuntimeError(f"The metastore did not start: {text[-3000:]}")


class JavaClient:
    """Hive's own client, connected to a metastore: the real one or ours."""

    def __init__(self, spark: SparkSession, port: int) -> None:
        self._spark = spark
        conf = jvm_class(spark, "org.apache.hadoop.hive.conf.HiveConf")()
        conf.set("hive.metastore.uris", f"thrift://127.0.0.1:{port}")
        conf.set("hive.metastore.client.socket.timeout", "60s")
        conf.set("hive.metastore.connect.retries", "1")
        conf.set("hive.metastore.failure.retries", "0")
        self.client: Any = jvm_class(spark, "org.apache.hadoop.hive.metastore.HiveMetaStoreClient")(conf)

    def api(self, name: str) -> Any:
        """A class of Hive's interface."""
        return jvm_class(self._spark, f"org.apache.hadoop.hive.metastore.api.{name}")

    def list(self, *values: Any) -> Any:
        made = jvm_class(self._spark, "java.util.ArrayList")()
        for value in values:
            made.add(value)
        return made

    def close(self) -> None:
        self.client.close()


def _end_with_parent() -> None:
    """Linux ends this process with the thread that started it, however that ends; elsewhere `stop` has to."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
