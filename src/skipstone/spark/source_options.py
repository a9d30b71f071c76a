"""The options of `format("skipstone")`: which table, which part of it, and how a stream follows it.

Names are Iceberg's where it has them. Options with a dot in their name go to the file system. An option that nobody
knows is refused, because a misspelt one would read other rows than were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from skipstone.errors import InvalidInput, SkipstoneError, what_exists
from skipstone.lake import open_catalog, open_table
from skipstone.metadata.tables.refs import MAIN
from skipstone.moments import timestamp_ms
from skipstone.predicate.float_order import FloatOrder
from skipstone.scan import Scan
from skipstone.spark.types import to_spark_struct
from skipstone.table import Table
from skipstone.table_stream import StreamSettings

_WHERE: Final = ("catalog", "warehouse", "table", "path")
_WHAT: Final = ("columns", "filter", "snapshot-id", "branch", "tag", "as-of-timestamp", "use-index")
_STREAM_IN: Final = (
    "stream-after-snapshot-id",
    "stream-from-timestamp",
    "streaming-skip-delete-snapshots",
    "streaming-skip-overwrite-snapshots",
    "max-files-per-micro-batch",
    "max-rows-per-micro-batch",
)
_WRITE: Final = ("overwrite-mode", "query-id")
_SPARKS_OWN: Final = ("checkpointlocation", "queryname", "outputmode", "triggerinterval")
KNOWN: Final = (*_WHERE, *_WHAT, *_STREAM_IN, *_WRITE)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a reader or writer of the data source was given; keys are in lower case."""

    given: Mapping[str, str]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceOptions:
        given = {key.lower(): str(value) for key, value in options.items()}
        for key in given:
            if key not in KNOWN and key not in _SPARKS_OWN and "." not in key:
                raise InvalidInput(f"Unknown option {key!r} of skipstone. {what_exists('Options', key, KNOWN)}")
        return cls(given)

    def table(self) -> Table:
        """The table: by name in a catalog, or read only by its metadata file."""
        names = [self.given[k] for k in ("table", "path") if self.given.get(k)]
        if len(names) != 1:
            raise InvalidInput(
                f"Cannot open a table of skipstone: expected one name, as load('shop.orders') or option table, "
                f"got {', '.join(names) or 'none'}."
            )
        name, catalog = names[0], self.given.get("catalog")
        rest = {key: value for key, value in self.given.items() if "." in key}
        if catalog is not None:
            return open_catalog(catalog, warehouse=self.given.get("warehouse"), options=rest).load_table(name)
        if name.endswith((".json", ".json.gz")):
            return open_table(name, options=rest)
        raise InvalidInput(
            f"Cannot open table {name!r}: expected the option catalog, such as sqlite:////lake/catalog.db with the "
            "option warehouse, or the path of a metadata file."
        )

    def scan(self, table: Table, columns: list[str] | None = None) -> Scan:
        """The rows to read; columns are those given, else those of the option, else all."""
        options: dict[str, Any] = {}
        for kind in ("branch", "tag"):
            if (name := self.given.get(kind)) is not None:
                if table.metadata.ref(name).is_branch != (kind == "branch"):
                    raise InvalidInput(f"Cannot read {kind} {name!r} of {table.name}: it is no {kind}.")
                options["ref"] = name
        if "snapshot-id" in self.given:
            options["snapshot_id"] = self._integer("snapshot-id")
        if "as-of-timestamp" in self.given:
            options["as_of"] = self._moment("as-of-timestamp")
        if "use-index" in self.given:
            options["use_index"] = self._is_true("use-index")
        if columns is None and "columns" in self.given:
            columns = [c.strip() for c in self.given["columns"].split(",")]
        return table.scan(self.given.get("filter"), columns=columns, float_order=FloatOrder.SPARK, **options)

    def scan_as(self, table: Table, schema: Any) -> Scan:
        """The scan with the columns of a Spark schema, which the user may have given."""
        scan = self.scan(table, list(schema.names))
        for mine, asked in zip(to_spark_struct(scan.wanted, all_optional=True).fields, schema.fields, strict=True):
            if mine.dataType.simpleString() != asked.dataType.simpleString():
                raise InvalidInput(
                    f"Cannot read column {asked.name!r} of {table.name} as {asked.dataType.simpleString()}: it is "
                    f"{mine.dataType.simpleString()}. Cast it after reading."
                )
        return scan

    def stream_settings(self) -> StreamSettings:
        refused = [k for k in ("snapshot-id", "tag", "as-of-timestamp") if k in self.given]
        if refused:
            raise InvalidInput(
                f"Cannot stream with option {refused[0]}: a stream follows a branch. Use stream-after-snapshot-id or "
                "stream-from-timestamp to say where it begins."
            )
        if {"stream-after-snapshot-id", "stream-from-timestamp"} <= self.given.keys():
            raise InvalidInput(
                "Cannot begin a stream: expected stream-after-snapshot-id or stream-from-timestamp, got both."
            )
        return StreamSettings(
            branch=self.branch,
            after_snapshot_id=self._optional("stream-after-snapshot-id", self._integer),
            from_timestamp_ms=self._optional("stream-from-timestamp", self._moment),
            skip_deletes=self._is_true("streaming-skip-delete-snapshots"),
            skip_overwrites=self._is_true("streaming-skip-overwrite-snapshots"),
            max_files=self._optional("max-files-per-micro-batch", self._count),
            max_rows=self._optional("max-rows-per-micro-batch", self._count),
        )

    @property
    def branch(self) -> str:
        return self.given.get("branch", MAIN)

    @property
    def replaces_partitions(self) -> bool:
        """Whether an overwrite replaces the partitions of the new rows only."""
        mode = self.given.get("overwrite-mode", "static").lower()
        if mode not in ("static", "dynamic"):
            raise InvalidInput(f"Invalid option overwrite-mode: expected static or dynamic, got {mode!r}.")
        return mode == "dynamic"

    def _optional(self, key: str, parse: Any) -> Any:
        return parse(key) if key in self.given else None

    def _integer(self, key: str) -> int:
        try:
            return int(self.given[key])
        except ValueError:
            raise InvalidInput(f"Invalid option {key}: expected an integer, got {self.given[key]!r}.") from None

    def _count(self, key: str) -> int:
        value = self._integer(key)
        if value < 1:
            raise InvalidInput(f"Invalid option {key}: expected 1 or more, got {value}.")
        return value

    def _moment(self, key: str) -> int:
        text = self.given[key].strip()
        if text.lstrip("-").isdigit():
            return int(text)
        try:
            return timestamp_ms(text)
        except SkipstoneError as error:
            raise InvalidInput(f"Invalid option {key}: expected milliseconds or a moment, {error}") from error

    def _is_true(self, key: str) -> bool:
        text = self.given.get(key, "false").lower()
        if text not in ("true", "false"):
            raise InvalidInput(f"Invalid option {key}: expected true or false, got {text!r}.")
        return text == "true"
