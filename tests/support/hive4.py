"""Hive 4's own HiveMetaStoreClient, in a JVM of its own: its classes have the names of those that PySpark ships.

Its jars come from Maven Central and are cached; what they need beside them is among PySpark's jars.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.java_gateway import GatewayClient, GatewayParameters, JavaGateway, JavaObject, launch_gateway
from py4j.protocol import Py4JError
from tests.support.spark import maven_jar

_ARTIFACTS: Final = ("hive-standalone-metastore-common", "hive-storage-api")
# Has the code of bit vectors; not every repository has it of every version.
_SERVER: Final = "hive-standalone-metastore-server"
_BESIDE: Final = (
    "commons-codec", "commons-lang3", "guava", "hadoop-client-api", "hadoop-client-runtime",
    "httpclient", "httpcore", "jackson", "javolution", "jcl-over-slf4j", "libfb303", "libthrift", "log4j-api",
    "log4j-core", "log4j-slf4j2-impl", "metrics", "py4j", "slf4j-api",
)  # fmt: skip
_METASTORE: Final = "org.apache.hadoop.hive.metastore"
_COMMON: Final = "org.apache.hadoop.hive.common"
_THROWN: Final = "xr"


class Hive4Error(Py4JError):  # type: ignore[misc]
    """What Hive has thrown, by its class and message."""


class _Client(GatewayClient):  # type: ignore[misc]
    """Says what was thrown before PySpark sees it, which takes every Java exception of a process for one of its own
    JVM and asks that about an object of the same number.
    """

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> Any:
        answer = super().send_command(command, retry, binary)
        if not binary and answer.startswith(_THROWN):
            raise Hive4Error(str(JavaObject(answer[len(_THROWN) :], self).toString()))
        return answer


class Hive4:
    """A JVM with the classes of one version; RuntimeUnavailable if its jars are not to be had."""

    def __init__(self, version: str, *, has_server: bool = False) -> None:
        artifacts = (*_ARTIFACTS, _SERVER) if has_server else _ARTIFACTS
        jars = [maven_jar("org.apache.hive", artifact, version) for artifact in artifacts]
        shipped = Path(pyspark.__file__).parent / "jars"
        jars += [jar for name in _BESIDE for jar in sorted(shipped.glob(f"{name}-*.jar"))]
        port = launch_gateway(
            classpath=":".join(map(str, jars)),
            jarpath=str(next(shipped.glob("py4j-*.jar"))),
            javaopts=["-Xmx256m", "-Dlog4j2.level=error"],
            die_on_exit=True,
        )
        parameters = GatewayParameters(port=port)
        self._gateway = JavaGateway(
            gateway_client=_Client(gateway_parameters=parameters), gateway_parameters=parameters
        )

    def connect(self, port: int) -> Any:
        """A HiveMetaStoreClient of the metastore at a port."""
        conf = self._class("conf.MetastoreConf").newMetastoreConf()
        conf.set("metastore.thrift.uris", f"thrift://127.0.0.1:{port}")
        conf.set("metastore.connect.retries", "1")
        return self._class("HiveMetaStoreClient")(conf)

    def api(self, name: str) -> Any:
        """A class of Hive's interface."""
        return self._class(f"api.{name}")

    def calls(self) -> set[str]:
        """The names of the calls that a metastore of this version knows."""
        interface = self._gateway.jvm.java.lang.Class.forName(f"{_METASTORE}.api.ThriftHiveMetastore$Iface")
        return {method.getName() for method in interface.getMethods()}

    def bit_vector(self, data: bytes) -> Any:
        """What Hive's own code reads from the bytes of a bit vector."""
        factory = self._class("ndv.NumDistinctValueEstimatorFactory", _COMMON)
        return factory.getNumDistinctValueEstimator(bytearray(data))

    def empty_bit_vector(self, kind: str) -> Any:
        return self._class("ndv.NumDistinctValueEstimatorFactory", _COMMON).getEmptyNumDistinctValueEstimator(kind, 16)

    def list(self, *values: Any) -> Any:
        made = self._gateway.jvm.java.util.ArrayList()
        for value in values:
            made.add(value)
        return made

    def map(self, **values: str) -> Any:
        made = self._gateway.jvm.java.util.HashMap()
        for key, value in values.items():
            made.put(key, value)
        return made

    def stop(self) -> None:
        self._gateway.shutdown()

    def _class(self, name: str, package: str = _METASTORE) -> Any:
        found: Any = self._gateway.jvm
        for part in f"{package}.{name}".split("."):
            found = getattr(found, part)
        return found
