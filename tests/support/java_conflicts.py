"""Two operations that begin on one state of a table, and commit one after the other: by Iceberg Java and by us.

Java checks what it is asked to check; it is asked what its Spark writers ask, for each isolation level. Files are only
named.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import skipstone
from skipstone.commit import Append, Delete, Isolation, Overwrite, Replace, ReplacePartitions, RowDelta
from skipstone.errors import SkipstoneError
from skipstone.metadata.manifests.manifest import ENTRY_COLUMNS
from skipstone.metadata.types import LONG
from skipstone.metadata.values import serialize_bound
from skipstone.predicate import as_predicate, bind

Kind = Literal["data", "position", "file-position", "vector", "equality"]
TABLE: Final = "db.t"
ROWS: Final = 10
_LEFT_OUT: Final = ("status", "snapshot_id", "sequence_number", "file_sequence_number", "partition", "first_row_id")


@dataclass(frozen=True)
class File:
    """A file of rows with ids from `first` on, or of deletes of one data file, `target`."""

    name: str
    partition: str
    first: int = 0
    kind: Kind = "data"
    target: str | None = None


# What is there before: two files of one partition and one of another.
BASE: Final = (File("a1", "a", 0), File("a2", "a", 10), File("b1", "b", 20))


@dataclass(frozen=True)
class Operation:
    """What is added and removed, and which rows were looked at."""

    name: str
    kind: str
    added: tuple[File, ...] = ()
    removed: tuple[str, ...] = ()
    filter: str | None = None
    isolation: Isolation = Isolation.SERIALIZABLE

    def __str__(self) -> str:
        return f"{self.name}[{self.isolation}]" if self.kind not in ("append", "delete") else self.name


class Side:
    """A table with the base files, made anew."""

    def __init__(self, root: Path, version: int) -> None:
        self.root = root
        lake = skipstone.catalog(str(root))
        lake.create_table(TABLE, [("id", "long"), ("p", "string")], partition_by=["p"], format_version=version)
        self.table().apply(Append(files=self.files(BASE)))

    def table(self) -> Any:
        return skipstone.catalog(str(self.root)).load_table(TABLE)

    def path(self, name: str) -> str:
        return f"{self.root}/db/t/data/{name}"

    def live(self) -> list[str]:
        table = self.table()
        found = table.inspect.files()
        return sorted(Path(p).name for p in found.column("file_path").to_pylist())

    def files(self, files: tuple[File, ...]) -> pa.Table:
        rows = [self._row(f) for f in files]
        columns = {n: pa.array([r.get(n) for r in rows], t) for n, t in ENTRY_COLUMNS.items() if n not in _LEFT_OUT}
        return pa.table({**columns, "partition": pa.array([{"p": f.partition} for f in files])})

    def _row(self, file: File) -> dict[str, Any]:
        row: dict[str, Any] = {
            "file_path": self.path(file.name),
            "file_format": "puffin" if file.kind == "vector" else "parquet",
            "content": {"data": 0, "equality": 2}.get(file.kind, 1),
            "record_count": ROWS if file.kind == "data" else 1,
            "file_size_in_bytes": 100,
        }
        if file.kind == "data":
            lower, upper = (serialize_bound(LONG, i) for i in (file.first, file.first + ROWS - 1))
            row |= {"lower_bounds": [(1, lower)], "upper_bounds": [(1, upper)]}
        if file.kind == "equality":
            row["equality_ids"] = [1]
        if file.kind in ("vector", "file-position"):
            row["referenced_data_file"] = self.path(str(file.target))
        if file.kind == "vector":
            row |= {"content_offset": 4, "content_size_in_bytes": 40}
        return row


class Ours:
    """Our side: an operation begins with the table as it is, and is committed later."""

    def __init__(self, root: Path, version: int) -> None:
        self.side = Side(root, version)

    def begin(self, operation: Operation) -> Any:
        table = self.side.table()
        change = self._change(operation, table)
        return lambda: table.apply(change)

    def _change(self, op: Operation, table: Any) -> Any:
        files = self.side.files(op.added)
        paths = [self.side.path(name) for name in op.removed]
        looked_at = None if op.filter is None else bind(as_predicate(op.filter), table.schema)
        match op.kind:
            case "append":
                return Append(files=files)
            case "delete":
                return Delete(files=paths) if paths else Delete(predicate=looked_at)
            case "overwrite":
                return Overwrite(files=files, predicate=looked_at, isolation=op.isolation)
            case "dynamic":
                return ReplacePartitions(files=files, isolation=op.isolation)
            case "copy-on-write":
                return Overwrite(files=files, remove_files=paths, conflict_filter=looked_at, isolation=op.isolation)
            case "rewrite":
                number = table.current_snapshot.sequence_number
                return Replace(files=files, remove_files=paths, data_sequence_number=number)
            case "row-delta":
                pointed = [self.side.path(f.target) for f in op.added if f.target is not None]
                return RowDelta(
                    files=files, conflict_filter=looked_at, isolation=op.isolation, referenced_files=pointed or None
                )
        raise AssertionError(op.kind)


class Java:
    """Java's side of it."""

    def __init__(self, spark: Any, root: Path, version: int) -> None:
        self.side = Side(root, version)
        self._spark, self._jvm = spark, spark._jvm
        self._conf = spark._jsc.hadoopConfiguration()

    def begin(self, op: Operation) -> Any:
        table = self._jvm.org.apache.iceberg.hadoop.HadoopTables(self._conf).load(f"{self.side.root}/db/t")
        return self._change(op, table).commit

    def _change(self, op: Operation, table: Any) -> Any:
        base = table.currentSnapshot().snapshotId()
        added = [self._file(table, f) for f in op.added]
        removed = [self._file(table, f) for f in BASE if f.name in op.removed]
        is_serializable = op.isolation == Isolation.SERIALIZABLE
        looked_at = None if op.filter is None else self._expression(op.filter)
        match op.kind:
            case "append":
                change = table.newAppend()
                for file in added:
                    change.appendFile(file)
            case "delete":
                change = table.newDelete().validateFilesExist()
                for file in removed:
                    change.deleteFile(file)
                if looked_at is not None:
                    change.deleteFromRowFilter(looked_at)
            case "overwrite":
                change = table.newOverwrite().overwriteByRowFilter(looked_at).validateFromSnapshot(base)
                change.validateNoConflictingDeletes()
                if is_serializable:
                    change.validateNoConflictingData()
                for file in added:
                    change.addFile(file)
            case "dynamic":
                change = table.newReplacePartitions().validateFromSnapshot(base).validateNoConflictingDeletes()
                if is_serializable:
                    change.validateNoConflictingData()
                for file in added:
                    change.addFile(file)
            case "copy-on-write":
                change = table.newOverwrite().validateFromSnapshot(base).conflictDetectionFilter(looked_at)
                change.validateNoConflictingDeletes()
                if is_serializable:
                    change.validateNoConflictingData()
                for file in removed:
                    change.deleteFile(file)
                for file in added:
                    change.addFile(file)
            case "rewrite":
                change = table.newRewrite().validateFromSnapshot(base)
                change.dataSequenceNumber(table.currentSnapshot().sequenceNumber())
                for file in removed:
                    change.deleteFile(file)
                for file in added:
                    change.addFile(file)
            case "row-delta":
                change = self._row_delta(op, table, added, looked_at)
            case _:
                raise AssertionError(op.kind)
        return change

    def _row_delta(self, op: Operation, table: Any, added: list[Any], looked_at: Any) -> Any:
        change = table.newRowDelta().validateFromSnapshot(table.currentSnapshot().snapshotId())
        if looked_at is not None:
            change.conflictDetectionFilter(looked_at)
        pointed = self._jvm.java.util.ArrayList()
        for file in op.added:
            if file.target is not None:
                pointed.add(self.side.path(file.target))
        if pointed.size():
            change.validateDataFilesExist(pointed)
        if any(f.kind == "data" for f in op.added):
            # An update or a merge.
            change.validateDeletedFiles()
            if looked_at is not None:
                change.validateNoConflictingDeleteFiles()
        if op.isolation == Isolation.SERIALIZABLE and looked_at is not None:
            change.validateNoConflictingDataFiles()
        for file, made in zip(op.added, added, strict=True):
            if file.kind == "data":
                change.addRows(made)
            else:
                change.addDeletes(made)
        return change

    def _file(self, table: Any, file: File) -> Any:
        iceberg = self._jvm.org.apache.iceberg
        if file.kind == "data":
            builder = iceberg.DataFiles.builder(table.spec()).withFormat("parquet").withMetrics(self._metrics(file))
        else:
            builder = iceberg.FileMetadata.deleteFileBuilder(table.spec()).withRecordCount(1)
            builder = builder.withFormat("puffin" if file.kind == "vector" else "parquet")
            if file.kind == "equality":
                ids = self._spark._sc._gateway.new_array(self._spark._jvm.int, 1)
                ids[0] = 1
                builder = builder.ofEqualityDeletes(ids)
            else:
                builder = builder.ofPositionDeletes()
            if file.kind in ("vector", "file-position"):
                builder = builder.withReferencedDataFile(self.side.path(str(file.target)))
            if file.kind == "vector":
                builder = builder.withContentOffset(4).withContentSizeInBytes(40)
        builder = builder.withPath(self.side.path(file.name)).withFileSizeInBytes(100)
        return builder.withPartitionPath(f"p={file.partition}").build()

    def _metrics(self, file: File) -> Any:
        # Without counts: a Long cannot be kept one on its way through the gateway.
        bounds = []
        for value in (file.first, file.first + ROWS - 1):
            bounds.append(self._jvm.java.util.HashMap())
            bounds[-1].put(1, self._jvm.java.nio.ByteBuffer.wrap(bytearray(serialize_bound(LONG, value))))
        return self._jvm.org.apache.iceberg.Metrics(ROWS, None, None, None, None, *bounds)

    def _expression(self, text: str) -> Any:
        expressions = self._jvm.org.apache.iceberg.expressions.Expressions
        if text == "true":
            return expressions.alwaysTrue()
        column, sign, value = text.split(" ")
        if column == "p":
            return expressions.equal("p", value.strip("'"))
        assert sign == "<"
        return expressions.lessThan("id", int(value))


def refusal(commit: Any) -> str | None:
    """Why a commit was refused; None if it was not."""
    try:
        commit()
    except SkipstoneError as e:
        return str(e)
    except (Py4JJavaError, PySparkException) as e:
        return str(getattr(e, "java_exception", e))
    return None


def operations(version: int, tag: str) -> list[Operation]:
    """One of each kind, with isolation levels where there are any; `tag` makes the names of files their own."""

    def file(name: str, partition: str, first: int = 0, kind: Kind = "data", target: str | None = None) -> File:
        return File(f"{tag}-{name}", partition, first, kind, target)

    position: Kind = "vector" if version > 2 else "position"
    made = [
        Operation("append of ids that others look at", "append", (file("x", "a"),)),
        Operation("append of other ids", "append", (file("x", "a", 50),)),
        Operation("delete of a1", "delete", removed=("a1",)),
        Operation("delete where p = 'a'", "delete", filter="p = 'a'"),
        Operation("rewrite of a1", "rewrite", (file("x", "a"),), ("a1",)),
        Operation("equality delete", "row-delta", (file("x", "a", 0, "equality"),)),
        Operation("upsert", "row-delta", (file("x", "a", 0, "equality"), file("y", "a"))),
    ]
    for isolation in Isolation:
        made += [
            Operation("overwrite where p = 'a'", "overwrite", (file("x", "a"),), (), "p = 'a'", isolation),
            Operation("overwrite of all", "overwrite", (file("x", "a"),), (), "true", isolation),
            Operation("overwrite of partition a", "dynamic", (file("x", "a"),), isolation=isolation),
            Operation("overwrite of partition b", "dynamic", (file("x", "b", 50),), isolation=isolation),
            Operation("update of a1", "copy-on-write", (file("x", "a"),), ("a1",), "id < 5", isolation),
            Operation("delete of all of a1", "copy-on-write", (), ("a1",), "id < 10", isolation),
            Operation("deletes in a1", "row-delta", (file("x", "a", 0, position, "a1"),), (), "id < 5", isolation),
            Operation("update in a1", "row-delta", (file("x", "a", 0, position, "a1"), file("y", "a")), (), "id < 5",
                      isolation),
            Operation("update in b1", "row-delta", (file("x", "b", 0, position, "b1"), file("y", "b", 20)), (),
                      "p = 'b'", isolation),
        ]  # fmt: skip
    return made


class Race:
    """Both tables, put back to the base files before each race."""

    def __init__(self, spark: Any, root: Path, version: int) -> None:
        self.version = version
        self.sides = (Ours(root / "ours", version), Java(spark, root / "java", version))
        self._bases = [s.side.table().current_snapshot.snapshot_id for s in self.sides]
        self._number = 0

    def run(self, first: int, second: int) -> tuple[str, list[tuple[str | None, list[str]]]]:
        """What happens to the second operation, and which files are live afterwards: here and in Java."""
        self._number += 1
        before, after = (operations(self.version, f"{self._number}-{n}") for n in ("first", "second"))
        story = f"{before[first]}, then {after[second]}"
        outcomes = []
        for side, base in zip(self.sides, self._bases, strict=True):
            side.side.table().set_current_snapshot(base)
            begun = side.begin(before[first]), side.begin(after[second])
            refused = refusal(begun[0])
            assert refused is None, f"{story}: {refused}"
            outcomes.append((refusal(begun[1]), side.side.live()))
        return story, outcomes
