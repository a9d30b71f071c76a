"""One table twice, changed by the same operations through Iceberg Java's API and through ours.

Files are only named, and lie about as empty files, so that an expiry has something to delete. Snapshots go by their
number in the order in which they were made, because ids and times differ. The seed makes everything.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import skipstone
from skipstone.commit import Append, Delete, Overwrite, ReplacePartitions, SetRef
from skipstone.errors import SkipstoneError
from skipstone.metadata.tables.history import ancestors_of
from skipstone.metadata.tables.properties import MAX_REF_AGE_MS, MAX_SNAPSHOT_AGE_MS, MIN_SNAPSHOTS_TO_KEEP
from skipstone.metadata.tables.table_metadata import TableMetadata

TABLE: Final = "db.t"
PARTITIONS: Final = "abc"
BRANCHES: Final = ("main", "main", "main", "dev", "old")
REFS: Final = (*BRANCHES, "t1", "t2")
LONG: Final = 10**12
WAP_IDS: Final = tuple(f"w{i}" for i in range(9))
# Java takes files in that are there already, so that their rows are there twice; we do not.
DOUBLED: Final = "of its files are in the table already"


@dataclass
class Side:
    """One of the two tables, as our reader sees it, whoever writes it."""

    root: Path
    numbers: dict[int, int] = field(default_factory=dict)
    live: dict[int, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.data = self.root / "db/t/data"

    def table(self) -> Any:
        return skipstone.catalog(str(self.root)).load_table(TABLE)

    def id(self, number: int) -> int:
        return next((i for i, n in self.numbers.items() if n == number), 1)

    def timestamp_ms(self, number: int) -> int:
        snapshot = self.table().metadata.snapshots_by_id.get(self.id(number))
        return 1 if snapshot is None else int(snapshot.timestamp_ms)

    def state(self) -> dict[str, Any]:
        table = self.table()
        for s in table.snapshots:
            self.numbers.setdefault(s.snapshot_id, len(self.numbers))
        number = self.numbers.get
        return {
            "current": number(table.metadata.current_snapshot_id),
            "refs": {n: (number(r.snapshot_id), replace(r, snapshot_id=0)) for n, r in table.refs.items()},
            "snapshots": {number(s.snapshot_id): dict(self._snapshot(table, s)) for s in table.snapshots},
            # Java notes main once more when only its retention changes.
            "log": [n for n, _ in groupby(number(e.snapshot_id) for e in table.metadata.snapshot_log)],
            "lists": len(list(self.root.glob("db/t/metadata/snap-*.avro"))),
        }

    def _snapshot(self, table: Any, snapshot: Any) -> Iterator[tuple[str, Any]]:
        if snapshot.snapshot_id not in self.live:
            self.live[snapshot.snapshot_id] = self.names(table, snapshot.snapshot_id)
        summary, parent = snapshot.summary or {}, snapshot.parent_snapshot_id
        yield "files", self.live[snapshot.snapshot_id]
        yield "parent", self.numbers.get(parent) if parent in table.metadata.snapshots_by_id else None
        yield "source", self.numbers.get(int(summary.get("source-snapshot-id", 0)))
        for key in ("operation", "wap.id", "published-wap-id", "added-data-files", "deleted-data-files"):
            yield key, summary.get(key)

    def names(self, table: Any, snapshot_id: int) -> list[str]:
        """The live files of a snapshot."""
        return sorted(Path(p).name for p in table.scan(snapshot_id=snapshot_id).plan().files["file_path"].to_pylist())

    def stored(self) -> set[str]:
        return {p.name for p in self.data.iterdir()}


class Timelines:
    """The two tables, and operations that are done to both."""

    def __init__(self, spark: Any, root: Path, seed: int) -> None:
        self.random = Random(seed)
        self.jvm, self.conf = spark._jvm, spark._jsc.hadoopConfiguration()
        self.ours, self.java = Side(root / "ours"), Side(root / "java")
        properties = {"write.wap.enabled": "true", "commit.manifest.min-count-to-merge": "3"}
        for side in (self.ours, self.java):
            lake = skipstone.catalog(str(side.root))
            columns = [("id", "long"), ("p", "string")]
            lake.create_table(TABLE, columns, partition_by=["p"], format_version=1 + seed % 3, properties=properties)
            side.data.mkdir(parents=True)
        self.partition: dict[str, str] = {}
        self.told: list[str] = []
        self.is_over = False

    def step(self) -> None:
        """One random operation on both, which must have the same effect."""
        name, *arguments = self._operation()
        self.told.append(f"{name} {arguments}")
        refused = self._refusal("_our_" + name, arguments), self._refusal("_java_" + name, arguments)
        self.told.append(f"    ours: {refused[0] or 'done'} | Java: {refused[1] or 'done'}")
        if refused[0] is not None and DOUBLED in refused[0] and refused[1] is None:
            self.is_over = True
            return
        story = "\n".join(self.told)
        assert (refused[0] is None) == (refused[1] is None), story
        ours, theirs = self.ours.state(), self.java.state()
        assert ours == theirs, story
        needed = {file for s in ours["snapshots"].values() for file in s["files"]}
        # Java leaves some files behind that no snapshot needs.
        assert needed <= self.ours.stored() <= self.java.stored(), story

    def _refusal(self, verb: str, arguments: list[Any]) -> str | None:
        try:
            getattr(self, verb)(*arguments)
        except SkipstoneError as e:
            return str(e)
        except (Py4JJavaError, PySparkException) as e:
            return str(getattr(e, "java_exception", e))
        return None

    def _operation(self) -> tuple[Any, ...]:
        random, ref = self.random, self.random.choice(REFS)
        branch, snapshot = random.choice(BRANCHES), random.randrange(max(1, len(self.ours.numbers)))
        match random.choice(("files", "files", "files", "refs", "refs", "main", "main", "pick", "expire", "property")):
            case "files":
                return self._change_of_files(branch)
            case "refs":
                age = random.choice((None, 1, LONG))
                return random.choice(
                    [
                        ("branch", random.choice(("dev", "old", "t1")), snapshot),
                        ("tag", random.choice(("t1", "t2", "dev")), snapshot),
                        ("drop", ref),
                        ("move", ref, snapshot),
                        ("retain", ref, random.choice((None, 1, 2, 3)), age, random.choice((1, LONG, LONG))),
                        ("rename", ref, random.choice(("dev", "old", "x"))),
                        ("forward", ref, random.choice(REFS)),
                        ("forward", "main", random.choice(("dev", "old"))),
                    ]
                )
            case "main":
                verbs = [("rollback", snapshot), ("rollback_to_time", snapshot, random.choice((0, 1)))]
                return random.choice([*verbs, ("current", snapshot)])
            case "pick":
                return ("pick", snapshot)
            case "expire":
                there = [self.ours.numbers[s.snapshot_id] for s in self.ours.table().snapshots]
                ids = random.sample(there, 1) if there and random.random() < 0.3 else []
                older = snapshot if ids or random.random() < 0.5 else None
                return ("expire", older, random.choice((None, None, 1, 2, 3)), ids)
            case _:
                key = random.choice((MIN_SNAPSHOTS_TO_KEEP, MAX_SNAPSHOT_AGE_MS, MAX_REF_AGE_MS))
                return ("property", key, random.choice(("1", "2", "1000000")))

    def _change_of_files(self, branch: str) -> tuple[Any, ...]:
        random = self.random
        match random.choice(("append", "append", "stage", "replace", "stage-replace", "overwrite", "delete")):
            case "append":
                return ("append", self._new(random.randint(1, 2)), branch, None)
            case "stage":
                return ("append", self._new(1), "main", random.choice(WAP_IDS))
            case "replace":
                return ("replace", self._new(1), branch, None)
            case "stage-replace":
                return ("replace", self._new(1), "main", random.choice(WAP_IDS))
            case "overwrite":
                return ("overwrite", self._new(1), branch, self._some_live(branch))
            case _:
                return ("overwrite", [], branch, self._some_live(branch))

    def _new(self, count: int) -> list[str]:
        names = [f"f{len(self.partition) + i}.parquet" for i in range(count)]
        for name in names:
            self.partition[name] = self.random.choice(PARTITIONS)
            for side in (self.ours, self.java):
                (side.data / name).touch()
        return names

    def _some_live(self, branch: str) -> list[str]:
        table = self.ours.table()
        ref = table.refs.get(branch)
        snapshot_id = ref.snapshot_id if ref else table.metadata.current_snapshot_id
        return [] if snapshot_id is None else self.ours.names(table, snapshot_id)[:1]

    # -- ours

    def _our_files(self, names: list[str]) -> pa.Table:
        struct = pa.struct([("p", pa.string())])
        rows = [
            {
                "file_path": str(self.ours.data / name),
                "file_format": "PARQUET",
                "record_count": 1,
                "file_size_in_bytes": 10,
                "partition": {"p": self.partition[name]},
            }
            for name in names
        ]
        table = pa.Table.from_pylist(rows)
        return table.set_column(4, "partition", table["partition"].cast(struct)) if rows else table

    def _our_append(self, names: list[str], ref: str, wap_id: str | None) -> None:
        self.ours.table().apply(Append(files=self._our_files(names), ref=ref, wap_id=wap_id))

    def _our_replace(self, names: list[str], ref: str, wap_id: str | None) -> None:
        self.ours.table().apply(ReplacePartitions(files=self._our_files(names), ref=ref, wap_id=wap_id))

    def _our_overwrite(self, names: list[str], ref: str, gone: list[str]) -> None:
        paths = [str(self.ours.data / name) for name in gone]
        change = Overwrite(files=self._our_files(names), remove_files=paths, ref=ref)
        self.ours.table().apply(change if names else Delete(files=paths, ref=ref))

    def _our_branch(self, name: str, number: int) -> None:
        self.ours.table().create_branch(name, self.ours.id(number))

    def _our_tag(self, name: str, number: int) -> None:
        self.ours.table().create_tag(name, self.ours.id(number))

    def _our_drop(self, name: str) -> None:
        self.ours.table().drop_ref(name)

    def _our_move(self, name: str, number: int) -> None:
        self.ours.table().replace_ref(name, self.ours.id(number))

    def _our_retain(self, name: str, kept: int | None, age: int | None, ref_age: int) -> None:
        table = self.ours.table()
        ref = replace(table.metadata.ref(name), max_ref_age_ms=ref_age)
        ref = ref if kept is None else replace(ref, min_snapshots_to_keep=kept)
        table.apply(SetRef(name=name, ref=ref if age is None else replace(ref, max_snapshot_age_ms=age)))

    def _our_rename(self, name: str, new_name: str) -> None:
        self.ours.table().rename_branch(name, new_name)

    def _our_forward(self, name: str, to: str) -> None:
        self.ours.table().fast_forward(name, to)

    def _our_rollback(self, number: int) -> None:
        self.ours.table().rollback_to(self.ours.id(number))

    def _our_rollback_to_time(self, number: int, later_ms: int) -> None:
        self.ours.table().rollback_to(as_of=self.ours.timestamp_ms(number) + later_ms)

    def _our_current(self, number: int) -> None:
        self.ours.table().set_current_snapshot(self.ours.id(number))

    def _our_pick(self, number: int) -> None:
        self.ours.table().cherry_pick(self.ours.id(number))

    def _our_expire(self, older: int | None, kept: int | None, numbers: list[int]) -> None:
        start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        then = None if older is None else start + dt.timedelta(milliseconds=self.ours.timestamp_ms(older))
        ids = [self.ours.id(n) for n in numbers]
        self.ours.table().expire_snapshots(older_than=then, retain_last=kept, snapshot_ids=ids)

    def _our_property(self, key: str, value: str) -> None:
        self.ours.table().set_properties({key: value})

    # -- Java's

    def _load(self) -> Any:
        return self.jvm.org.apache.iceberg.hadoop.HadoopTables(self.conf).load(str(self.java.root / "db/t"))

    def _manage(self) -> Any:
        return self._load().manageSnapshots()

    def _is_tag(self, name: str) -> bool:
        ref = self.java.table().refs.get(name)
        return ref is not None and not ref.is_branch

    def _java_file(self, name: str) -> Any:
        builder = self.jvm.org.apache.iceberg.DataFiles.builder(self._load().spec()).withFormat("parquet")
        builder = builder.withPath(str(self.java.data / name)).withFileSizeInBytes(10).withRecordCount(1)
        return builder.withPartitionPath(f"p={self.partition[name]}").build()

    def _java_append(self, names: list[str], ref: str, wap_id: str | None) -> None:
        change = self._load().newAppend()
        for name in names:
            change = change.appendFile(self._java_file(name))
        self._commit(change, ref, wap_id)

    def _java_replace(self, names: list[str], ref: str, wap_id: str | None) -> None:
        change = self._load().newReplacePartitions()
        for name in names:
            change = change.addFile(self._java_file(name))
        self._commit(change, ref, wap_id)

    def _java_overwrite(self, names: list[str], ref: str, gone: list[str]) -> None:
        change = self._load().newOverwrite() if names else self._load().newDelete()
        for name in names:
            change = change.addFile(self._java_file(name))
        for name in gone:
            change = change.deleteFile(self._java_file(name))
        self._commit(change, ref, None)

    def _commit(self, change: Any, ref: str, wap_id: str | None) -> None:
        if wap_id is not None:
            change = change.set("wap.id", wap_id).stageOnly()
        elif ref != "main":
            change = change.toBranch(ref)
        change.commit()

    def _java_branch(self, name: str, number: int) -> None:
        self._manage().createBranch(name, self.java.id(number)).commit()

    def _java_tag(self, name: str, number: int) -> None:
        self._manage().createTag(name, self.java.id(number)).commit()

    def _java_drop(self, name: str) -> None:
        (self._manage().removeTag(name) if self._is_tag(name) else self._manage().removeBranch(name)).commit()

    def _java_move(self, name: str, number: int) -> None:
        manage = self._manage()
        (manage.replaceTag if self._is_tag(name) else manage.replaceBranch)(name, self.java.id(number)).commit()

    def _java_retain(self, name: str, kept: int | None, age: int | None, ref_age: int) -> None:
        manage = self._manage().setMaxRefAgeMs(name, ref_age)
        manage = manage if kept is None else manage.setMinSnapshotsToKeep(name, kept)
        (manage if age is None else manage.setMaxSnapshotAgeMs(name, age)).commit()

    def _java_rename(self, name: str, new_name: str) -> None:
        self._manage().renameBranch(name, new_name).commit()

    def _java_forward(self, name: str, to: str) -> None:
        self._manage().fastForwardBranch(name, to).commit()

    def _java_rollback(self, number: int) -> None:
        self._manage().rollbackTo(self.java.id(number)).commit()

    def _java_rollback_to_time(self, number: int, later_ms: int) -> None:
        # Java wants a snapshot older than the time, we take one of the time itself, too.
        self._manage().rollbackToTime(self.java.timestamp_ms(number) + later_ms + 1).commit()

    def _java_current(self, number: int) -> None:
        self._manage().setCurrentSnapshot(self.java.id(number)).commit()

    def _java_pick(self, number: int) -> None:
        self._manage().cherrypick(self.java.id(number)).commit()

    def _java_expire(self, older: int | None, kept: int | None, numbers: list[int]) -> None:
        before = self.java.table().metadata
        change = self._load().expireSnapshots()
        if older is not None:
            change = change.expireOlderThan(self.java.timestamp_ms(older))
        if kept is not None:
            change = change.retainLast(kept)
        for number in numbers:
            change = change.expireSnapshotId(self.java.id(number))
        change.commit()
        self._expire_unreached(before)

    def _expire_unreached(self, before: TableMetadata) -> None:
        """The spec's last step: Java keeps snapshots that no ref reaches for as long as those of a branch."""
        after = self.java.table().metadata
        reached: set[int] = set()
        for ref in after.refs.values():
            reached.add(ref.snapshot_id)
            if ref.is_branch:
                reached.update(s.snapshot_id for s in ancestors_of(before, ref.snapshot_id))
        change = self._load().expireSnapshots().expireOlderThan(0)
        for snapshot_id in after.snapshots_by_id.keys() - reached:
            change = change.expireSnapshotId(snapshot_id)
        change.commit()

    def _java_property(self, key: str, value: str) -> None:
        self._load().updateProperties().set(key, value).commit()
