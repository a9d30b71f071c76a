"""`*` leaves out the metadata columns that a table shows only because the query names them."""

from __future__ import annotations

import pytest

from skipstone.statements.references import find_references, rewrite

CASES = [
    ("SELECT *, _pos FROM shop.a", "SELECT * EXCEPT (`a`.`_pos`), _pos FROM X0 AS `a`"),
    ("SELECT t.*, 2 * 3 FROM shop.a t", "SELECT t.* EXCEPT (`_pos`), 2 * 3 FROM X0 t"),
    ("SELECT * EXCEPT (s) FROM shop.a", "SELECT * EXCEPT (s, `a`.`_pos`) FROM X0 AS `a`"),
    ("SELECT count(*), k * 2 FROM shop.a", "SELECT count(*), k * 2 FROM X0 AS `a`"),
    (
        "SELECT * FROM shop.a x JOIN shop.b ON x.id = b.id",
        "SELECT * EXCEPT (`x`.`_pos`, `b`.`_pos`) FROM X0 x JOIN X1 AS `b` ON x.id = b.id",
    ),
    ("SELECT * FROM (SELECT _pos FROM shop.a) q", "SELECT * FROM (SELECT _pos FROM X0 AS `a`) q"),
    (
        "SELECT id FROM shop.b WHERE id IN (SELECT * FROM shop.a WHERE _pos = b.id)",
        "SELECT id FROM X0 AS `b` WHERE id IN (SELECT * EXCEPT (`a`.`_pos`) FROM X1 AS `a` WHERE _pos = b.id)",
    ),
    (
        "SELECT * FROM shop.a UNION ALL SELECT * FROM plain EXCEPT SELECT * FROM shop.b",
        "SELECT * EXCEPT (`a`.`_pos`) FROM X0 AS `a` UNION ALL SELECT * FROM plain EXCEPT "
        "SELECT * EXCEPT (`b`.`_pos`) FROM X1 AS `b`",
    ),
    ("SELECT * FROM (shop.a x JOIN plain)", "SELECT * EXCEPT (`x`.`_pos`) FROM (X0 x JOIN plain)"),
    ("FROM shop.a SELECT struct(*) s", "FROM X0 AS `a` SELECT struct(* EXCEPT (`a`.`_pos`)) s"),
    ("SELECT * FROM shop.a VERSION AS OF 1 AS o", "SELECT * EXCEPT (`o`.`_pos`) FROM X0 AS o"),
    ("SELECT /*+ BROADCAST(a) */ * FROM shop.a", "SELECT /*+ BROADCAST(a) */ * EXCEPT (`a`.`_pos`) FROM X0 AS `a`"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_stars_see_the_tables_of_their_own_select(text: str, expected: str) -> None:
    ours = [r for r in find_references(text) if r.parts[0] == "shop"]
    hidden = dict.fromkeys(ours, ("_pos",))
    assert rewrite(text, {r: f"X{i}" for i, r in enumerate(ours)}, hidden) == expected


def test_nothing_changes_where_nothing_is_hidden() -> None:
    (reference,) = find_references("SELECT * FROM shop.a")
    assert rewrite("SELECT * FROM shop.a", {reference: "X"}, {reference: ()}) == "SELECT * FROM X AS `a`"
