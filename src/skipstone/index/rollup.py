"""Roll-ups: the zones of a snapshot's manifests, their partitions and blocks, in one small file.

A row is a fact about an immutable manifest, so a roll-up is never stale: rows about manifests that a snapshot does not
list are passed over, and manifests without a row are read themselves. That makes growing cheap: a roll-up holds the new
rows and names another, its base, that has the rest, until there is so much that all of it is written anew.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from skipstone.errors import FormatViolation
from skipstone.index.identity import Identity
from skipstone.index.seals import OPEN_SEAL, check_seal, seal
from skipstone.index.zone_rows import promoted
from skipstone.metadata.manifests.manifest import ManifestFile

pa: Any = pyarrow
pc: Any = pyarrow.compute
pq: Any = pyarrow.parquet

VERSION: Final = 1
_HEADER_KEY: Final = b"skipstone.rollup"
_SEAL_KEY: Final = b"skipstone.seal"
_MANIFEST: Final = "manifest"


class ManifestRecord(msgspec.Struct, kw_only=True, frozen=True):
    identity: Identity
    has_sidecar: bool


class RollupHeader(msgspec.Struct, kw_only=True, frozen=True):
    """`base` is the path of the roll-up that has more rows; `manifests` numbers those that the rows here are about."""

    version: int = VERSION
    base: str | None = None
    manifests: tuple[ManifestRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestZones:
    """The zones of one manifest, as a roll-up takes them in."""

    record: ManifestRecord
    rows: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Rollup:
    """A roll-up that was read and checked. Columns become Arrow when they are asked for, and then stay."""

    path: str
    header: RollupHeader
    file: Any = field(repr=False)
    places: Mapping[str, int] = field(repr=False)
    _columns: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def num_rows(self) -> int:
        return int(self.file.metadata.num_rows)

    def find(self, manifest: ManifestFile) -> int | None:
        """The number of a manifest, if there are rows about it."""
        place = self.places.get(manifest.manifest_path)
        if place is None or self.header.manifests[place].identity.why_not(manifest) is not None:
            return None
        return place

    def columns(self, names: Iterable[str] | None = None) -> Any:
        """All rows, with the columns asked for as far as they are there, and which manifest each row is about."""
        stored = self.file.schema_arrow.names
        wanted = stored if names is None else [n for n in stored if n in {_MANIFEST, *names}]
        missing = [n for n in wanted if n not in self._columns]
        if missing:
            table = self.file.read(columns=missing, use_threads=False)
            self._columns.update({n: table.column(n).combine_chunks() for n in missing})
        return pa.table({n: self._columns[n] for n in wanted})

    def part(self, places: Sequence[int]) -> Part:
        """The rows about some manifests."""
        table = self.columns()
        renumbered = np.full(len(self.header.manifests), -1, np.int64)
        renumbered[list(places)] = np.arange(len(places))
        owner = renumbered[table.column(_MANIFEST).to_numpy()]
        rows = table.drop_columns([_MANIFEST])
        if bool((owner < 0).any()):
            rows, owner = rows.filter(pa.array(owner >= 0)), owner[owner >= 0]
        return Part(records=tuple(self.header.manifests[p] for p in places), rows=rows, owner=owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows about several manifests; `owner` numbers the record that each row belongs to."""

    records: tuple[ManifestRecord, ...]
    rows: Any
    owner: npt.NDArray[np.int64]

    @staticmethod
    def of(zones: ManifestZones) -> Part:
        return Part(records=(zones.record,), rows=zones.rows, owner=np.zeros(zones.rows.num_rows, np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenRollup:
    """The bytes of a roll-up, and its rows for those who read it next."""

    data: bytes
    rows: Any


def write_rollup(parts: Sequence[Part], *, base: str | None = None) -> WrittenRollup:
    """A roll-up of these parts, older ones first."""
    header = RollupHeader(base=base, manifests=tuple(r for p in parts for r in p.records))
    before = np.cumsum([0, *(len(p.records) for p in parts)])
    owner = np.concatenate([p.owner + n for p, n in zip(parts, before[:-1].tolist(), strict=True)])
    rows = join_rows([p.rows for p in parts])
    table = rows.append_column(_MANIFEST, pa.array(owner, pa.int32()))
    metadata = {_HEADER_KEY: msgspec.json.encode(header), _SEAL_KEY: OPEN_SEAL.encode()}
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        table.schema.remove_metadata(),
        compression="lz4",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.add_key_value_metadata(metadata)
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    data = bytearray(sink.getbuffer())
    seal(data)
    return WrittenRollup(data=bytes(data), rows=table)


def parse_rollup(data: bytes, path: str, rows: Any = None) -> Rollup:
    """The roll-up in some bytes. `rows` are its rows if they are known, in the types that reading gives."""
    check_seal(data, path)
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        header = msgspec.json.decode(file.metadata.metadata[_HEADER_KEY], type=RollupHeader)
    except (msgspec.MsgspecError, pa.ArrowException, KeyError, ValueError) as error:
        raise FormatViolation(f"Invalid roll-up {path}: {error}. Build the index again.") from error
    if header.version != VERSION:
        raise FormatViolation(f"Invalid roll-up {path}: expected version {VERSION}, got {header.version}.")
    places = {r.identity.manifest_path: i for i, r in enumerate(header.manifests)}
    known = {} if rows is None else {n: rows.column(n).combine_chunks() for n in rows.column_names}
    return Rollup(path=path, header=header, file=file, places=places, _columns=known)


def join_rows(tables: Sequence[Any]) -> Any:
    """Rows of several tables. A column that one lacks, or has in a type that does not fit, is unknown there.

    Types are those of the last table that has the column: callers put newer rows last.
    """
    try:
        return pa.concat_tables(tables, promote_options="default").combine_chunks() if tables else pa.table({})
    except pa.ArrowException:
        pass  # a type was promoted between them
    types: dict[str, Any] = reduce(lambda known, t: {**known, **{f.name: f.type for f in t.schema}}, tables, {})
    columns = {
        name: pa.chunked_array([chunk for t in tables for chunk in _fitting(t, name, arrow)], arrow)
        for name, arrow in types.items()
    }
    return pa.table(columns).combine_chunks() if columns else pa.table({})


def _fitting(table: Any, name: str, arrow: Any) -> list[Any]:
    if name in table.column_names:
        column = table.column(name)
        fitted = promoted(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0), arrow)
        if fitted is not None:
            return [fitted]
    return [pa.nulls(table.num_rows, arrow)]
