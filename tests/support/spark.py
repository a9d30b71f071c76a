"""One Spark session with Iceberg's own runtime, for tests that ask Iceberg Java what it sees.

The runtime comes from Maven Central through `spark.jars.packages` and is cached by Ivy. Where the JVM cannot
reach it but Python can (a proxy or certificate that only Python knows), Python fetches it. Where nobody can,
`RuntimeUnavailable` says so and the tests are skipped and counted.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

GROUP: Final = "org.apache.iceberg"
ARTIFACT: Final = "iceberg-spark-runtime-4.1_2.13"
VERSION: Final = "1.12.0"
PACKAGE: Final = f"{GROUP}:{ARTIFACT}:{VERSION}"
MAVEN_CENTRAL: Final = "https://repo1.maven.org/maven2"
UNREACHABLE: Final = "Maven Central unreachable"
CATALOG: Final = "java"

_JAR_PATH: Final = f"{GROUP.replace('.', '/')}/{ARTIFACT}/{VERSION}/{ARTIFACT}-{VERSION}.jar"
_PROBE_TIMEOUT_SECONDS: Final = 15


class RuntimeUnavailable(Exception):
    """Iceberg's runtime is neither cached nor to be had."""


def iceberg_runtime_jar() -> Path | None:
    """The cached jar of Iceberg's Spark runtime, or None when nothing has fetched it yet."""
    candidates = [_own_cache() / f"{ARTIFACT}-{VERSION}.jar"]
    candidates += sorted(Path.home().glob(f".ivy2*/jars/{GROUP}_{ARTIFACT}-{VERSION}.jar"))
    candidates.append(Path.home() / ".m2" / "repository" / _JAR_PATH)
    return next((jar for jar in candidates if jar.is_file()), None)


def iceberg_session(warehouse: Path) -> SparkSession:
    """A local session whose catalog `java` is Iceberg's Hadoop catalog over `warehouse`."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    jar = iceberg_runtime_jar()
    if jar is not None:
        return _start(warehouse, {"spark.jars": str(jar)})
    repository = _reachable_repository()
    packages = {"spark.jars.packages": PACKAGE}
    if repository != MAVEN_CENTRAL:
        packages["spark.jars.ivySettings"] = str(_ivy_settings(repository))
    try:
        return _start(warehouse, packages)
    except PySparkException:
        return _start(warehouse, {"spark.jars": str(_fetch(repository))})


def _start(warehouse: Path, where_the_runtime_is: dict[str, str]) -> SparkSession:
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse / "spark-warehouse"),
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dderby.system.home={warehouse}",
        "spark.log.level": "ERROR",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{CATALOG}.type": "hadoop",
        f"spark.sql.catalog.{CATALOG}.warehouse": str(warehouse),
        f"spark.sql.catalog.{CATALOG}.cache-enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("skipstone-conformance")
    for key, value in (settings | where_the_runtime_is).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def maven_jar(group: str, artifact: str, version: str) -> Path:
    """A jar from Maven Central, fetched once."""
    jar_path = f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"
    cached = _own_cache() / jar_path.rpartition("/")[2]
    return cached if cached.is_file() else _fetch(_reachable_repository(jar_path), jar_path)


def jvm_class(spark: SparkSession, name: str) -> Any:
    """A Java class by its full name, for static calls."""
    found: Any = spark._jvm
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _own_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "skipstone" / "jars"


def _reachable_repository(jar_path: str = _JAR_PATH) -> str:
    tried = [*_maven_mirrors(), MAVEN_CENTRAL]
    for repository in tried:
        request = urllib.request.Request(f"{repository}/{jar_path}", method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=_PROBE_TIMEOUT_SECONDS):
                return repository
        except (urllib.error.URLError, OSError):
            continue
    raise RuntimeUnavailable(f"{UNREACHABLE}: cannot fetch {jar_path}.")


def _maven_mirrors() -> list[str]:
    """Mirrors of Maven Central that this machine's Maven settings name."""
    path = Path.home() / ".m2" / "settings.xml"
    if not path.is_file():
        return []
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return []
    mirrors = [{_local_name(e): (e.text or "").strip() for e in m} for m in root.iter() if _local_name(m) == "mirror"]
    return [m["url"].rstrip("/") for m in mirrors if m.get("url") and _mirrors_central(m.get("mirrorOf", ""))]


def _mirrors_central(mirror_of: str) -> bool:
    return not {"*", "central", "external:*"}.isdisjoint(mirror_of.split(","))


def _local_name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _ivy_settings(repository: str) -> Path:
    path = Path(tempfile.mkdtemp(prefix="skipstone-ivy-")) / "ivysettings.xml"
    path.write_text(
        '<ivysettings><settings defaultResolver="mirror"/><resolvers>'
        f'<ibiblio name="mirror" m2compatible="true" root="{repository}/"/>'
        "</resolvers></ivysettings>"
    )
    return path


def _fetch(repository: str, jar_path: str = _JAR_PATH) -> Path:
    """Download the jar with Python and check it against the repository's SHA-1."""
    with urllib.request.urlopen(f"{repository}/{jar_path}.sha1", timeout=60) as answer:
        expected = answer.read().decode("ascii").split()[0]
    with urllib.request.urlopen(f"{repository}/{jar_path}", timeout=600) as answer:
        data = answer.read()
    if hashlib.sha1(data, usedforsecurity=False).hexdigest() != expected:
        raise RuntimeUnavailable(f"{UNREACHABLE}: {repository} sent a damaged {jar_path}.")
    target = _own_cache() / jar_path.rpartition("/")[2]
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}.part")
    partial.write_bytes(data)
    partial.replace(target)
    return target


def interpreted(spark: SparkSession) -> SparkSession:
    """A session beside this one that compiles nothing: for many small queries, compiling costs more than running."""
    session = spark.newSession()
    for key, value in {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
    }.items():
        session.conf.set(key, value)
    return session
