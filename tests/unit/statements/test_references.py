"""The tables a query names, and the query with other names in their places."""

from __future__ import annotations

import pytest

from skipstone.statements.references import find_references, rewrite


def rewritten(text: str) -> str:
    found = find_references(text)
    return rewrite(text, {r: f"V{i}" for i, r in enumerate(found) if len(r.parts) > 1})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from shop.t", "select * from V0 AS `t`"),
        ("select * from shop.t x", "select * from V0 x"),
        ("select shop.t.a, t.b from shop.t", "select t.a, t.b from V0 AS `t`"),
        ("select `s p`.`t``x`.a from `s p`.`t``x`", "select `t``x`.a from V0 AS `t``x`"),
        ("select * from a.t join b.t on a.t.id = b.t.id", "select * from V0 AS `t` join V1 AS `t` on t.id = t.id"),
        ("select * from shop.t version as of 7 where a = 1", "select * from V0 AS `t` where a = 1"),
        ("select * from shop.t timestamp as of '2026-11-16' x", "select * from V0 x"),
        ("select * from shop.t for system_version as of 'v' as x where 1", "select * from V0 as x where 1"),
        ("select * from shop.t for version as of 7 x, a.b", "select * from V0 x, V1 AS `b`"),
        ("select * from shop.t for system_time as of now() AS x", "select * from V0 AS x"),
        ("select * from shop.t for timestamp as of '2026-11-16'", "select * from V0 AS `t`"),
        ("select * from s.t for version as of 7 join s.u on 1", "select * from V0 AS `t` join V1 AS `u` on 1"),
        ("select * from s.t version as of 7 left join s.u on 1", "select * from V0 AS `t` left join V1 AS `u` on 1"),
        ("select * from s.t for version as of 7 tablesample (5 rows)", "select * from V0 tablesample (5 rows) AS `t`"),
        ("select * from s.t for version as of 7 lateral view x", "select * from V0 AS `t` lateral view x"),
        ("from s.t version as of 7 pivot (min(a) for b in (1))", "from V0 AS `t` pivot (min(a) for b in (1))"),
        ("select * from s.t tablesample (5 rows) where a", "select * from V0 tablesample (5 rows) AS `t` where a"),
        ("select (select 1 from a.b where c = 'a.b')", "select (select 1 from V0 AS `b` where c = 'a.b')"),
        ("table shop.t", "table V0"),
        ("from shop.t |> where a = 1", "from V0 AS `t` |> where a = 1"),
        ("select * from range(10)", "select * from range(10)"),
    ],
)  # fmt: skip
def test_names_of_tables_are_replaced_and_nothing_else(text: str, expected: str) -> None:
    assert rewritten(text) == expected


def test_a_name_that_a_with_clause_defines_is_no_table() -> None:
    found = find_references("with t as (select * from shop.u), v as (select * from t) select * from t, v, w")
    assert [r.parts for r in found] == [("shop", "u"), ("w",)]


def test_a_definition_does_not_see_itself() -> None:
    found = find_references("with t as (select * from t) select * from t")
    assert [r.parts for r in found] == [("t",)]


def test_points_in_time_are_kept_as_text() -> None:
    version, moment = find_references("select * from a.b version as of 'main' join a.c timestamp as of now() d")
    assert (version.version, version.timestamp) == ("'main'", None)
    assert (moment.version, moment.timestamp) == (None, "now()")
