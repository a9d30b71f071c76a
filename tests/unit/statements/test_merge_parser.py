"""MERGE: its clauses, and what is refused."""

from __future__ import annotations

import pytest

from skipstone.errors import InvalidInput, NotFound
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.statements.merge import Action, Merge, Side, parse_merge
from skipstone.statements.tokens import Tokens

SCHEMA = schema_of([("id", "long"), ("n", "int"), ("st", "struct<a: int, b: string>")])


def parsed(text: str) -> Merge:
    return parse_merge(Tokens.of(text), SCHEMA, "t", "shop.t")


def test_all_kinds_of_clauses() -> None:
    merge = parsed(
        "using (select 1 id) s on t.id = s.id and t.n > 3 "
        "when matched and s.gone then delete "
        "when matched then update set n = s.n + 1, t.st.b = case when s.x then 'y' end "
        "when not matched by target and s.id > 0 then insert (id, n) values (s.id, f(1, 2)) "
        "when not matched by source then update set n = 0"
    )
    assert (merge.source, merge.alias, merge.on) == ("(select 1 id)", "s", "t.id = s.id and t.n > 3")
    assert [(c.side, c.action, c.condition) for c in merge.clauses] == [
        (Side.MATCHED, Action.DELETE, "s.gone"),
        (Side.MATCHED, Action.UPDATE, None),
        (Side.NOT_MATCHED, Action.INSERT, "s.id > 0"),
        (Side.NOT_MATCHED_BY_SOURCE, Action.UPDATE, None),
    ]
    set_, insert = merge.clauses[1].values, merge.clauses[2].values
    assert [a.text for a in set_] == ["s.n + 1", "case when s.x then 'y' end"]
    assert [f.name for f in set_[1].path] == ["st", "b"]
    assert [(a.path[0].name, a.text) for a in insert] == [("id", "s.id"), ("n", "f(1, 2)")]


def test_stars_take_every_column() -> None:
    merge = parsed("using shop.u on t.id = u.id when matched then update set * when not matched then insert *")
    assert (merge.source, merge.alias) == ("shop.u", "u")
    assert all(c.takes_all for c in merge.clauses)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("using s on t.id = s.id", "expected WHEN MATCHED or WHEN NOT MATCHED, got the end"),
        ("using s on t.id = s.id when matched update", "expected THEN, got 'update'"),
        ("using s on t.id = s.id when matched then insert *", "expected UPDATE or DELETE, got 'insert'"),
        ("using s when matched then delete", "expected ON, got 'matched'"),
        ("using s on t.id = s.id when matched then update set n = 1, n = 2", "n is set twice"),
        ("using s on t.id = s.id when not matched then insert (id, n) values (1)", "as many values as columns"),
        ("using s on t.id = s.id when matched then delete when matched then delete", "only the last WHEN MATCHED"),
        ("using s on t.id = s.id when not matched then insert (nope) values (1)", "unknown column 'nope'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parsed(text)


def test_setting_an_unknown_column_lists_those_there_are() -> None:
    with pytest.raises(NotFound, match=r"Cannot set 'nope' of shop\.t: no such column\. Columns: id, n, st\."):
        parsed("using s on t.id = s.id when matched then update set nope = 1")
