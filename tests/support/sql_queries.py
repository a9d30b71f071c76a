"""Random queries over two tables `{a}` and `{b}` whose answers are certain: no sums of doubles, no open ties."""

from __future__ import annotations

import random
from collections.abc import Callable

_LITERALS = {
    "id": ["0", "3", "17", "25", "-1"],
    "k": ["0", "1", "2", "5"],
    "s": ["'a'", "'ab'", "'b'", "''", "'zz'"],
    "x": ["0.0D", "-0.0D", "1.5D", "double('NaN')", "double('inf')", "-2.5D"],
    "d": ["DATE'2026-01-01'", "DATE'2026-06-15'", "'2025-12-31'"],
    "m": ["1.50", "-3.25", "0"],
    "ts": ["TIMESTAMP'2026-01-01 00:00:00'", "'2026-03-01 12:00:00'"],
}
_PATTERNS = ["'a%'", "'%b'", "'_'"]
_OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]


class Queries:
    """A stream of queries that a seed decides."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def next(self) -> str:
        shapes: list[Callable[[], str]] = [
            self._filter, self._group, self._join, self._semi, self._subquery, self._with, self._union, self._window,
            self._top, self._scalar, self._nested,
        ]  # fmt: skip
        return self._random.choice(shapes)()

    def predicate(self, alias: str, depth: int = 2) -> str:
        r = self._random
        if depth and r.random() < 0.4:
            joined = f" {r.choice(['AND', 'OR'])} ".join(self.predicate(alias, depth - 1) for _ in range(2))
            return f"NOT ({joined})" if r.random() < 0.2 else f"({joined})"
        column = r.choice(list(_LITERALS))
        name = f"{alias}.{column}" if alias else column
        kind = r.random()
        if kind < 0.15:
            return f"{name} IS {r.choice(['NULL', 'NOT NULL'])}"
        if kind < 0.3:
            chosen = ", ".join(r.sample(_LITERALS[column], 2))
            return f"{name} {r.choice(['IN', 'NOT IN'])} ({chosen})"
        if kind < 0.36:
            return f"{alias + '.' if alias else ''}s LIKE {r.choice(_PATTERNS)}"
        if kind < 0.42:
            return f"coalesce({name}, {_LITERALS[column][0]}) = {r.choice(_LITERALS[column])}"
        if kind < 0.46:
            return f"{alias + '.' if alias else ''}id % 3 = {r.randrange(3)}"
        return f"{name} {r.choice(_OPERATORS)} {r.choice(_LITERALS[column])}"

    def _filter(self) -> str:
        return f"SELECT id, k, s, x, d, m, ts FROM {{a}} WHERE {self.predicate('')}"

    def _group(self) -> str:
        having = self._random.choice(["", " HAVING count(*) > 1", " HAVING min(id) < 10"])
        return (
            f"SELECT k, count(*), count(x), min(s), max(d), sum(id), sum(m) FROM {{a}} WHERE {self.predicate('')} "
            f"GROUP BY k{having}"
        )

    def _join(self) -> str:
        kind = self._random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        more = self._random.choice(["", " AND a.k = b.k", " AND b.s > 'a'"])
        return (
            f"SELECT a.id, b.id, a.s, b.x FROM {{a}} a {kind} {{b}} b ON a.id = b.id{more} "
            f"WHERE {self.predicate('a', 1)}"
        )

    def _semi(self) -> str:
        kind = self._random.choice(["LEFT SEMI JOIN", "LEFT ANTI JOIN"])
        return (
            f"SELECT a.id, a.s FROM {{a}} a {kind} {{b}} b ON a.id = b.id AND {self.predicate('b', 1)} "
            f"WHERE {self.predicate('a', 1)}"
        )

    def _subquery(self) -> str:
        kind = self._random.choice(
            ["a.id IN (SELECT b.id", "a.id NOT IN (SELECT coalesce(b.id, 7)", "EXISTS (SELECT 1"]
        )
        link = "" if " IN " in kind else " AND b.id = a.id"
        negation = self._random.choice(["", "NOT "]) if link else ""
        return (
            f"SELECT a.id, a.k FROM {{a}} a WHERE {self.predicate('a', 1)} AND {negation}{kind} FROM {{b}} b "
            f"WHERE {self.predicate('b', 1)}{link})"
        )

    def _with(self) -> str:
        return (
            f"WITH low AS (SELECT * FROM {{a}} WHERE {self.predicate('', 1)}), "
            "both AS (SELECT low.id, b.s FROM low JOIN {b} b ON low.id = b.id) "
            "SELECT id, count(*) FROM both WHERE s IS NOT NULL OR id > 3 GROUP BY id"
        )

    def _union(self) -> str:
        kind = self._random.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
        return (
            f"SELECT id, s, x FROM {{a}} WHERE {self.predicate('', 1)} {kind} "
            f"SELECT id, s, x FROM {{b}} WHERE {self.predicate('', 1)}"
        )

    def _window(self) -> str:
        return (
            "SELECT id, s, row_number() OVER (PARTITION BY k ORDER BY id, s, x, d, m, ts) AS n, "
            f"count(*) OVER (PARTITION BY k) AS c FROM {{a}} WHERE {self.predicate('', 1)}"
        )

    def _top(self) -> str:
        order = self._random.choice(["", "DESC"])
        return f"SELECT id FROM {{a}} WHERE {self.predicate('', 1)} ORDER BY id {order} LIMIT 5"

    def _scalar(self) -> str:
        return (
            "SELECT id, (SELECT max(b.id) FROM {b} b WHERE b.k = a.k) FROM {a} a "
            f"WHERE a.id >= (SELECT min(id) FROM {{b}} WHERE {self.predicate('', 1)})"
        )

    def _nested(self) -> str:
        return (
            f"SELECT q.k, count(*) FROM (SELECT * FROM {{a}} WHERE {self.predicate('', 1)}) q "
            f"JOIN {{a}} z ON q.id = z.id WHERE {self.predicate('z', 1)} GROUP BY q.k"
        )
