"""Iceberg Java's JdbcCatalog and HadoopCatalog and ours on the same database and directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.metadata_builder import empty_table

from skipstone.catalog import Catalog, FilesystemCatalog, SqlCatalog
from skipstone.errors import CommitRejected
from skipstone.storage import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQLITE_DRIVER = ("org.xerial", "sqlite-jdbc", "3.50.3.0")


@pytest.fixture(scope="session")
def sqlite_driver(iceberg_java: SparkSession) -> None:
    """SQLite's JDBC driver, where Iceberg's classes see it."""
    # Late, because starting pyspark costs a second that most runs do not need.
    from tests.support.spark import RuntimeUnavailable, maven_jar

    try:
        jar = maven_jar(*SQLITE_DRIVER)
    except RuntimeUnavailable as e:
        pytest.skip(str(e))
    java = iceberg_java._jvm.java
    loader = java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(java.io.File(str(jar)).toURI().toURL())
    java.lang.Class.forName("org.sqlite.JDBC", True, loader)


class Java:
    """A catalog of Iceberg Java, in the words of these tests."""

    def __init__(self, spark: SparkSession, catalog: Any) -> None:
        self._spark, self._catalog = spark, catalog

    def namespace(self, *levels: str) -> Any:
        array = self._spark._sc._gateway.new_array(self._spark._jvm.java.lang.String, len(levels))
        for i, level in enumerate(levels):
            array[i] = level
        return self._spark._jvm.org.apache.iceberg.catalog.Namespace.of(array)

    def table(self, name: str) -> Any:
        return self._catalog.loadTable(self.identifier(name))

    def identifier(self, name: str) -> Any:
        return self._spark._jvm.org.apache.iceberg.catalog.TableIdentifier.parse(name)

    def create(self, name: str) -> Any:
        iceberg = self._spark._jvm.org.apache.iceberg
        fields = self._spark._jvm.java.util.ArrayList()
        fields.add(iceberg.types.Types.NestedField.required(1, "id", iceberg.types.Types.LongType.get()))
        return self._catalog.createTable(self.identifier(name), iceberg.Schema(fields))

    def tables(self, *levels: str) -> list[str]:
        return sorted(str(t) for t in self._catalog.listTables(self.namespace(*levels)))

    def set_property(self, name: str, key: str, value: str) -> None:
        self.table(name).updateProperties().set(key, value).commit()

    def properties(self, name: str) -> dict[str, str]:
        return dict(self.table(name).properties())


@pytest.fixture(params=["sqlite", "filesystem"])
def both(request: pytest.FixtureRequest, iceberg_java: SparkSession, tmp_path: Path) -> Iterator[tuple[Catalog, Java]]:
    """Our catalog and Java's over the same tables."""
    warehouse = str(tmp_path / "lake")
    options = iceberg_java._jvm.java.util.HashMap()
    options.put("warehouse", warehouse)
    ours: Catalog
    if request.param == "sqlite":
        request.getfixturevalue("sqlite_driver")
        database = tmp_path / "catalog.db"
        ours = SqlCatalog(f"sqlite:///{database}", name="lake", warehouse=warehouse, storage=LocalStorage())
        options.put("uri", f"jdbc:sqlite:file:{database}")
        theirs = iceberg_java._jvm.org.apache.iceberg.jdbc.JdbcCatalog()
    else:
        ours = FilesystemCatalog(warehouse=warehouse, storage=LocalStorage())
        theirs = iceberg_java._jvm.org.apache.iceberg.hadoop.HadoopCatalog()
    theirs.setConf(iceberg_java._jsc.hadoopConfiguration())
    theirs.initialize("lake", options)
    ours.create_namespace(("db",))
    yield ours, Java(iceberg_java, theirs)
    theirs.close()
    if isinstance(ours, SqlCatalog):
        ours.close()


def test_a_table_of_ours_is_changed_by_java_and_again_by_us(both: tuple[Catalog, Java]) -> None:
    ours, java = both
    t = ("db", "t")
    made = ours.publish(t, None, replace(empty_table(), location=ours.default_location(t)))
    assert java.tables("db") == ["db.t"]
    assert java.table("db.t").location() == made.metadata.location
    java.set_property("db.t", "by", "java")
    with pytest.raises(CommitRejected):
        ours.publish(t, made, made.metadata)
    now = ours.load(t)
    assert now.metadata.properties["by"] == "java"
    assert now.metadata.metadata_log[-1].metadata_file == made.metadata_location
    for number in range(3):
        now = ours.publish(t, now, replace(now.metadata, properties={"by": f"us {number}"}))
    assert java.properties("db.t")["by"] == "us 2"
    java.set_property("db.t", "by", "java again")
    assert ours.load(t).metadata.properties["by"] == "java again"


def test_a_table_of_javas_is_changed_by_us_and_again_by_java(both: tuple[Catalog, Java]) -> None:
    ours, java = both
    t = ("db", "j")
    java.create("db.j")
    assert ours.list_tables(("db",)) == [t]
    loaded = ours.load(t)
    assert loaded.metadata.location == ours.default_location(t)
    ours.publish(t, loaded, replace(loaded.metadata, properties={"by": "us"}))
    assert java.properties("db.j")["by"] == "us"
    java.set_property("db.j", "by", "java")
    assert ours.load(t).metadata.properties["by"] == "java"


def test_gzip_metadata_goes_both_ways(both: tuple[Catalog, Java]) -> None:
    ours, java = both
    t = ("db", "z")
    properties = {"write.metadata.compression-codec": "gzip"}
    made = ours.publish(t, None, replace(empty_table(), location=ours.default_location(t), properties=properties))
    again = ours.publish(t, made, replace(made.metadata, properties={**properties, "by": "us"}))
    assert again.metadata_location.endswith(".gz.metadata.json")
    assert java.properties("db.z")["by"] == "us"
    java.set_property("db.z", "by", "java")
    assert ours.load(t).metadata.properties["by"] == "java"


def test_namespaces_are_shared(both: tuple[Catalog, Java]) -> None:
    ours, java = both
    java._catalog.createNamespace(java.namespace("java"))
    ours.create_namespace(("db", "inner"))
    assert ours.list_namespaces() == [("db",), ("java",)]
    assert [str(ns) for ns in java._catalog.listNamespaces(java.namespace("db"))] == ["db.inner"]
    ours.drop_namespace(("java",))
    assert sorted(str(ns) for ns in java._catalog.listNamespaces()) == ["db"]


def test_a_dropped_table_is_gone_for_both(both: tuple[Catalog, Java]) -> None:
    ours, java = both
    java.create("db.a")
    java.create("db.b")
    ours.drop(("db", "a"))
    assert java.tables("db") == ["db.b"]
    java._catalog.dropTable(java.identifier("db.b"), False)
    assert ours.list_tables(("db",)) == []
