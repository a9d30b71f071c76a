"""Random statements over columns, partition fields and rows, against plain rows in memory.

The model knows columns by an identity of its own, as the format does by field ids: a name may be given to another
column later. Sources of merges hold several rows for one row of the table, and keys that are null.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark import interpreted

import skipstone
from skipstone.errors import InvalidInput

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

Row = dict[int, Any]
Source = tuple[int | None, str | None, int | None]
STEPS = 12
WIDER = {"INT": "BIGINT", "DECIMAL(4,1)": "DECIMAL(9,1)", "FLOAT": "DOUBLE"}
TWICE = "rows of the source match one row"


@pytest.fixture(scope="module")
def spark(iceberg_java: Any) -> Any:
    return interpreted(iceberg_java)


@dataclass(frozen=True)
class Column:
    key: int
    name: str
    type: str


@dataclass
class Model:
    """What the table should hold, and the random choices of what happens next."""

    random: random.Random
    version: int
    columns: list[Column] = field(
        default_factory=lambda: [Column(0, "id", "BIGINT"), Column(1, "s", "STRING"), Column(2, "n", "INT")]
    )
    rows: list[Row] = field(default_factory=list)
    spec: dict[str, str] = field(default_factory=lambda: {"s": "s"})  # what partition fields are called, and mean
    next_key: int = 3

    def name(self, key: int) -> str:
        return next(c.name for c in self.columns if c.key == key)

    def shown(self) -> list[tuple[Any, ...]]:
        return sorted((tuple(_plain(r.get(c.key)) for c in self.columns) for r in self.rows), key=repr)

    # -- rows

    def source(self, count: int) -> list[Source]:
        r = self.random
        return [
            (
                None if r.random() < 0.15 else r.randrange(9),
                r.choice([None, "a", "b", "c"]),
                r.choice([None, r.randrange(40)]),
            )
            for _ in range(count)
        ]

    def insert(self) -> str:
        rows = self.source(5)
        self.rows += [{0: i, 1: s, 2: n} for i, s, n in rows]
        # What is not named is null, or what a default says of rows to come.
        for row in self.rows[-len(rows) :]:
            row.update({c.key: 7 for c in self.columns if c.name.startswith("given")})
        names = ", ".join(self.name(k) for k in (0, 1, 2))
        return f"INSERT INTO shop.t ({names}) {_values(rows)}"

    def condition(self) -> tuple[str, Callable[[Row], bool]]:
        i, s, n = (f"t.{self.name(k)}" for k in (0, 1, 2))
        return self.random.choice(
            [
                (f"{i} % 3 = 1", lambda r: r[0] is not None and r[0] % 3 == 1),
                (f"{s} = 'a' OR {i} IS NULL", lambda r: r[1] == "a" or r[0] is None),
                (f"NOT ({n} > 20)", lambda r: r[2] is not None and not r[2] > 20),
                (f"{s} <> 'b' AND {i} < 5", lambda r: r[1] not in (None, "b") and r[0] is not None and r[0] < 5),
            ]
        )

    def delete(self) -> str:
        text, holds = self.condition()
        self.rows = [r for r in self.rows if not holds(r)]
        return f"DELETE FROM shop.t t WHERE {text}"

    def update(self) -> str:
        text, holds = self.condition()
        changed = self.random.choice([c for c in self.columns if c.key != 0])
        value: Any = "c" if changed.type == "STRING" else 11
        self.rows = [{**r, changed.key: value} if holds(r) else r for r in self.rows]
        shown = "'c'" if value == "c" else f"CAST(11 AS {changed.type})"
        return f"UPDATE shop.t t SET {changed.name} = {shown} WHERE {text}"

    # -- merges

    def merge(self) -> tuple[str, bool]:
        """The statement, and whether it must be refused."""
        source = self.source(self.random.choice([2, 4, 6]))
        null_safe = self.random.random() < 0.3
        matched = self.random.choice(["", "delete", "delete if", "update", "update if"])
        inserts = self.random.random() < 0.7
        by_source = self.random.choice(["", "", "update", "delete"])
        if not (matched or inserts or by_source):
            matched = "update"
        pairs = [[s for s in source if _equal(r[0], s[0], null_safe)] for r in self.rows]
        if matched and matched != "delete" and any(len(p) > 1 for p in pairs):
            return self._merge_text(source, null_safe, matched, inserts, by_source), True
        kept = [new for r, p in zip(self.rows, pairs) if (new := self._merged(r, p, matched, by_source)) is not None]
        if inserts:
            used = {s[0] for p in pairs for s in p}
            alone = [s for s in source if s[0] not in used or (s[0] is None and not null_safe)]
            given = {c.key: 7 for c in self.columns if c.name.startswith("given")}
            kept += [{**given, 0: i, 1: s, 2: None if n is None else n + 100} for i, s, n in alone if s != "c"]
        self.rows = kept
        return self._merge_text(source, null_safe, matched, inserts, by_source), False

    def _merged(self, row: Row, pair: list[Source], matched: str, by_source: str) -> Row | None:
        if not pair:
            is_asked = row[1] == "a"
            if by_source == "delete" and is_asked:
                return None
            return {**row, 2: -1} if by_source == "update" and is_asked else row
        _, s, n = pair[0]
        applies = not matched.endswith(" if") or (n is not None and n > 10)
        if matched.startswith("delete") and applies:
            return None
        return {**row, 1: s, 2: n} if matched.startswith("update") and applies else row

    def _merge_text(self, source: list[Source], null_safe: bool, matched: str, inserts: bool, by_source: str) -> str:
        i, s, n = (self.name(k) for k in (0, 1, 2))
        clauses = []
        if matched:
            condition = " AND v.z > 10" if matched.endswith(" if") else ""
            what = "DELETE" if matched.startswith("delete") else f"UPDATE SET {n} = v.z, t.{s} = v.y"
            clauses.append(f"WHEN MATCHED{condition} THEN {what}")
        if inserts:
            condition = "v.y IS NULL OR v.y <> 'c'"
            clauses.append(f"WHEN NOT MATCHED AND {condition} THEN INSERT ({n}, {i}, {s}) VALUES (v.z + 100, v.x, v.y)")
        if by_source:
            what = "DELETE" if by_source == "delete" else f"UPDATE SET {n} = -1"
            clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{s} = 'a' THEN {what}")
        equal = "<=>" if null_safe else "="
        using = f"(SELECT x, y, z FROM {_values(source)} AS w(x, y, z))"
        return f"MERGE INTO shop.t t USING {using} v ON t.{i} {equal} v.x {' '.join(clauses)}"

    # -- columns and partitions

    def alter(self) -> str:
        return self.random.choice([self._add, self._drop, self._rename, self._widen, self._partition])()

    def _add(self) -> str:
        taken = {c.name for c in self.columns}
        name = next(n for n in (f"c{i}" for i in range(99)) if n not in taken)  # the name of a dropped one, if any
        type_ = self.random.choice([*WIDER, "STRING"])
        key, self.next_key = self.next_key, self.next_key + 1
        default = ""
        if self.version >= 3 and type_ == "INT":
            name, default = f"given{key}", " DEFAULT 7"
            self.rows = [{**r, key: 7} for r in self.rows]
        self.columns.append(Column(key, name, type_))
        return f"ALTER TABLE shop.t ADD COLUMN {name} {type_}{default}"

    def _drop(self) -> str:
        extra = [c for c in self.columns if c.key > 2]
        if not extra:
            return self._add()
        gone = self.random.choice(extra)
        self.columns.remove(gone)
        self.rows = [{k: v for k, v in r.items() if k != gone.key} for r in self.rows]
        return f"ALTER TABLE shop.t DROP COLUMN {gone.name}"

    def _rename(self) -> str:
        chosen = self.random.choice([c for c in self.columns if not c.name.startswith("given")])
        name = f"{chosen.name[:1]}{self.next_key}"
        self.next_key += 1
        self.columns[self.columns.index(chosen)] = replace(chosen, name=name)
        return f"ALTER TABLE shop.t RENAME COLUMN {chosen.name} TO {name}"

    def _widen(self) -> str:
        narrow = [c for c in self.columns if c.type in WIDER]
        if not narrow:
            return self._rename()
        chosen = self.random.choice(narrow)
        self.columns[self.columns.index(chosen)] = replace(chosen, type=WIDER[chosen.type])
        return f"ALTER TABLE shop.t ALTER COLUMN {chosen.name} TYPE {WIDER[chosen.type]}"

    def _partition(self) -> str:
        kinds = {"bucket(3, {i})", "truncate(1, {s})", "truncate(4, {i})"} - set(self.spec.values())
        if not kinds or (self.spec and self.random.random() < 0.5):
            gone = self.random.choice(list(self.spec))
            del self.spec[gone]
            return f"ALTER TABLE shop.t DROP PARTITION FIELD {gone}"
        name, self.next_key = f"p{self.next_key}", self.next_key + 1
        kind = self.random.choice(sorted(kinds))
        self.spec[name] = kind
        term = kind.format(i=self.name(0), s=self.name(1))
        return f"ALTER TABLE shop.t ADD PARTITION FIELD {term} AS {name}"


def _equal(a: Any, b: Any, null_safe: bool) -> bool:
    return (a == b and a is not None) or (null_safe and a is None and b is None)


def _plain(value: Any) -> Any:
    return float(value) if value is not None and not isinstance(value, str) else value


def _values(rows: list[Source]) -> str:
    def text(value: Any, type_: str) -> str:
        return f"CAST({'NULL' if value is None else repr(value)} AS {type_})"

    return "VALUES " + ", ".join(f"({text(i, 'BIGINT')}, {text(s, 'STRING')}, {text(n, 'INT')})" for i, s, n in rows)


def _statements(model: Model) -> Iterator[tuple[str, bool]]:
    """Statements one after the other, each with whether it must be refused. The model is ahead of the table by one."""
    yield model.insert(), False
    for _ in range(STEPS):
        kind = model.random.choice(["insert", "delete", "update", "merge", "merge", "merge", "alter", "alter"])
        if kind == "merge":
            yield model.merge()
        else:
            yield getattr(model, kind)(), False


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("version", "mode"),
    [(1, "copy-on-write"), (2, "copy-on-write"), (2, "merge-on-read"), (3, "copy-on-write"), (3, "merge-on-read")],
)
def test_random_changes_of_rows_columns_and_partitions_leave_what_the_model_holds(
    spark: Any, tmp_path: Path, version: int, mode: str, seed: int
) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path / "lake"))

    def run(text: str) -> Any:
        return skipstone.sql(spark, text, catalog=lake)

    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    run(
        "CREATE TABLE shop.t (id BIGINT, s STRING, n INT) USING skipstone PARTITIONED BY (s) "
        f"TBLPROPERTIES ('format-version' = '{version}', {modes})"
    )
    model = Model(random=random.Random(seed * 100 + version * 10 + len(mode)), version=version)
    done: list[str] = []
    for text, is_refused in _statements(model):
        done.append(text)
        before = lake.load_table("shop.t").metadata_location
        if is_refused:
            with pytest.raises(InvalidInput, match=TWICE):
                run(text)
            assert lake.load_table("shop.t").metadata_location == before, "nothing is half done"
        else:
            run(text)
        answer = run("SELECT * FROM shop.t")
        assert answer.columns == [c.name for c in model.columns], done
        found = sorted((tuple(_plain(v) for v in r) for r in answer.collect()), key=repr)
        assert found == model.shown(), "\n".join(done)
