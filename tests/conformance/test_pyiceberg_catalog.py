"""PyIceberg's SqlCatalog and ours on one database: each lists, loads and commits what the other made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog as PyIcebergCatalog
from pyiceberg.schema import Schema as PyIcebergSchema
from pyiceberg.types import LongType, NestedField
from tests.support.metadata_builder import empty_table

from skipstone.catalog import SqlCatalog
from skipstone.errors import AlreadyExists, CommitRejected
from skipstone.storage import LocalStorage

SCHEMA = PyIcebergSchema(NestedField(1, "id", LongType(), required=True))
V0_TABLES = (
    "CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, "
    "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), "
    "PRIMARY KEY (catalog_name, table_namespace, table_name))"
)
V0_PROPERTIES = (
    "CREATE TABLE iceberg_namespace_properties(catalog_name VARCHAR(255) NOT NULL, namespace VARCHAR(255) NOT NULL, "
    "property_key VARCHAR(255), property_value VARCHAR(1000), PRIMARY KEY (catalog_name, namespace, property_key))"
)


@pytest.fixture(params=["ours first", "theirs first", "older database"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[SqlCatalog, PyIcebergCatalog]]:
    """Our catalog and PyIceberg's on one SQLite file, whoever made it."""
    uri = f"sqlite:///{tmp_path}/catalog.db"

    def open_ours() -> SqlCatalog:
        return SqlCatalog(uri, name="lake", warehouse=str(tmp_path / "lake"), storage=LocalStorage())

    def open_theirs() -> PyIcebergCatalog:
        return PyIcebergCatalog("lake", uri=uri, warehouse=str(tmp_path / "lake"))

    if request.param == "older database":
        engine = sa.create_engine(uri)
        with engine.begin() as connection:
            connection.execute(sa.text(V0_TABLES))
            connection.execute(sa.text(V0_PROPERTIES))
        engine.dispose()
    if request.param == "theirs first":
        theirs = open_theirs()
        ours = open_ours()
    else:
        ours = open_ours()
        theirs = open_theirs()
    yield ours, theirs
    ours.close()
    theirs.close()


def test_namespaces_are_shared(both: tuple[SqlCatalog, PyIcebergCatalog]) -> None:
    ours, theirs = both
    ours.create_namespace(("a", "b"), {"owner": "us"})
    theirs.create_namespace("c", {"owner": "them"})
    assert sorted(theirs.list_namespaces()) == ours.list_namespaces() == [("a",), ("c",)]
    assert theirs.list_namespaces("a") == ours.list_namespaces(("a",)) == [("a", "b")]
    assert theirs.load_namespace_properties("a.b")["owner"] == "us"
    assert ours.namespace_properties(("c",)) == {"owner": "them"}
    ours.update_namespace_properties(("c",), {"owner": "us"})
    assert theirs.load_namespace_properties("c")["owner"] == "us"
    theirs.drop_namespace("a.b")
    ours.drop_namespace(("c",))
    assert theirs.list_namespaces() == ours.list_namespaces() == []


def test_a_table_of_theirs_is_changed_here_and_there(both: tuple[SqlCatalog, PyIcebergCatalog]) -> None:
    ours, theirs = both
    theirs.create_namespace("db")
    table = theirs.create_table("db.t", SCHEMA)
    loaded = ours.load(("db", "t"))
    assert ours.list_tables(("db",)) == [("db", "t")]
    assert loaded.metadata_location == table.metadata_location
    assert ours.default_location(("db", "t")) == table.location()
    published = ours.publish(("db", "t"), loaded, replace(loaded.metadata, properties={"by": "us"}))
    assert published.metadata_location.rsplit("/", 1)[1].startswith("00001-")
    table.refresh()
    assert table.properties == {"by": "us"}
    with table.transaction() as transaction:
        transaction.set_properties(by="them")
    assert ours.load(("db", "t")).metadata.properties == {"by": "them"}
    assert ours.load(("db", "t")).metadata.metadata_log[-1].metadata_file == published.metadata_location


def test_a_table_of_ours_is_changed_there_and_here(both: tuple[SqlCatalog, PyIcebergCatalog]) -> None:
    ours, theirs = both
    ours.create_namespace(("db",))
    made = ours.publish(("db", "t"), None, replace(empty_table(), location=ours.default_location(("db", "t"))))
    table = theirs.load_table("db.t")
    assert theirs.list_tables("db") == [("db", "t")]
    assert table.metadata_location == made.metadata_location
    with table.transaction() as transaction:
        transaction.set_properties(by="them")
    with pytest.raises(CommitRejected):
        ours.publish(("db", "t"), made, replace(made.metadata, properties={"by": "us"}))
    now = ours.load(("db", "t"))
    assert now.metadata.properties["by"] == "them"
    ours.publish(("db", "t"), now, replace(now.metadata, properties={"by": "us"}))
    # PyIceberg retries a change of properties on top of whatever is current.
    with table.transaction() as transaction:
        transaction.set_properties(also="them")
    assert ours.load(("db", "t")).metadata.properties == {"by": "us", "also": "them"}


def test_names_are_renamed_dropped_and_taken_for_both(both: tuple[SqlCatalog, PyIcebergCatalog]) -> None:
    ours, theirs = both
    theirs.create_namespace("db")
    table = theirs.create_table("db.t", SCHEMA)
    metadata = replace(empty_table(), location=ours.default_location(("db", "t")))
    with pytest.raises(AlreadyExists):
        ours.publish(("db", "t"), None, metadata)
    ours.rename(("db", "t"), ("db", "u"))
    assert theirs.load_table("db.u").metadata_location == table.metadata_location
    theirs.drop_table("db.u")
    assert not ours.table_exists(("db", "u"))
    ours.register(("db", "v"), table.metadata_location)
    assert theirs.load_table("db.v").metadata == table.metadata


def _rows(catalog: SqlCatalog) -> list[dict[str, Any]]:
    with catalog._database.reading() as connection:
        found = connection.execute(sa.text("SELECT * FROM iceberg_tables ORDER BY table_name")).mappings()
        return [dict(row) for row in found]


def test_rows_of_both_are_alike(both: tuple[SqlCatalog, PyIcebergCatalog]) -> None:
    ours, theirs = both
    theirs.create_namespace("db")
    with theirs.create_table("db.a", SCHEMA).transaction() as transaction:
        transaction.set_properties(x="1")
    made = ours.publish(("db", "b"), None, replace(empty_table(), location=ours.default_location(("db", "b"))))
    ours.publish(("db", "b"), made, made.metadata)
    of_theirs, of_ours = _rows(ours)
    assert of_theirs.keys() == of_ours.keys()
    for column in of_theirs.keys() - {"table_name", "metadata_location", "previous_metadata_location"}:
        assert of_theirs[column] == of_ours[column]
    for row in (of_theirs, of_ours):
        names = [row[c].rsplit("/", 1)[1] for c in ("previous_metadata_location", "metadata_location")]
        assert [name[:6] for name in names] == ["00000-", "00001-"]


def test_a_catalog_of_another_name_is_another_catalog(
    both: tuple[SqlCatalog, PyIcebergCatalog], tmp_path: Path
) -> None:
    _, theirs = both
    theirs.create_namespace("db")
    theirs.create_table("db.t", SCHEMA)
    other = SqlCatalog(
        f"sqlite:///{tmp_path}/catalog.db", name="other", warehouse=str(tmp_path), storage=LocalStorage()
    )
    assert other.list_namespaces() == []
    assert not other.table_exists(("db", "t"))
    other.close()
