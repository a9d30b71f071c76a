"""Names of namespaces and tables."""

from __future__ import annotations

import pytest

from skipstone.catalog.identifiers import display, parse_identifier, parse_namespace
from skipstone.catalog.locations import location_under
from skipstone.errors import InvalidInput


def test_names_are_levels_joined_by_dots() -> None:
    assert parse_identifier("db.t") == ("db", "t")
    assert parse_identifier("a.b.t") == ("a", "b", "t")
    assert parse_identifier(["db", "t"]) == ("db", "t")
    assert parse_namespace("a.b") == ("a", "b")
    assert parse_namespace(("a",)) == ("a",)
    assert display(("a", "b", "t")) == "a.b.t"


def test_a_tables_own_name_may_have_a_dot_when_given_as_levels() -> None:
    assert parse_identifier(("db", "v1.2")) == ("db", "v1.2")


@pytest.mark.parametrize("name", ["t", "", ".t", "db.", "a..t", ("db",), (), ("a.b", "t"), ("db", "\ud800"), ("db", 1)])
def test_what_is_no_table_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid"):
        parse_identifier(name)


@pytest.mark.parametrize("name", ["", (), "a..b", ("x" * 200, "y" * 200), ("a.b",)])
def test_what_is_no_namespace_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid"):
        parse_namespace(name)


def test_a_table_lies_under_the_warehouse_or_its_namespaces_location() -> None:
    assert location_under("s3://lake", ("a", "b", "t")) == "s3://lake/a/b/t"
    assert location_under("s3://lake", ("a", "b", "t"), namespace_location="s3://far/") == "s3://far/t"
