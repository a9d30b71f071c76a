"""Roll-ups: the zones of a snapshot's manifests, their partitions and blocks, in one small file.

A row is a fact about an immutable manifest, so a roll-up is never stale: rows about manifests that a snapshot does not
list are passed over, and manifests without a row are read themselves. That makes growing cheap: a roll-up holds the new
rows and names another, its base, that has the rest, until there is so much that all of it is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow

from skipstone.errors import FormatViolation
from skipstone.index.identity import Identity
from skipstone.index.rollup_bytes import RollupRows, parse_rows, serialize_rows
from skipstone.index.zone_rows import promoted
from skipstone.metadata.manifests.manifest import ManifestFile

pa: Any = pyarrow

VERSION: Final = 3
_MANIFEST: Final = "manifest"


class ManifestRecord(msgspec.Struct, kw_only=True, frozen=True):
    """`cut` is how the sidecar cuts the manifest into blocks; one made anew may cut it in another way."""

    identity: Identity
    has_sidecar: bool
    cut: str | None = None


class RollupHeader(msgspec.Struct, kw_only=True, frozen=True):
    """`base` is the path of the roll-up that has more rows; `manifests` numbers those that the rows here are about."""

    version: int = VERSION
    base: str | None = None
    manifests: tuple[ManifestRecord, ...] = ()


_HEADER: Final = msgspec.json.Decoder(RollupHeader)  # made once: its types take longer to resolve than a header to read


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
    stored: RollupRows = field(repr=False)
    places: Mapping[str, int] = field(repr=False)
    _columns: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def num_rows(self) -> int:
        return self.stored.num_rows

    def find(self, manifest: ManifestFile) -> int | None:
        """The number of a manifest, if there are rows about it."""
        place = self.places.get(manifest.manifest_path)
        if place is None or self.header.manifests[place].identity.why_not(manifest) is not None:
            return None
        return place

    def columns(self, names: Iterable[str] | None = None) -> Any:
        """All rows, with the columns asked for as far as they are there, and which manifest each row is about."""
        if names is None and self.stored.table is not None:
            return self.stored.table
        asked = None if names is None else {_MANIFEST, *names}
        wanted = [n for n in self.stored.names if asked is None or n in asked]
        missing = [n for n in wanted if n not in self._columns]
        if missing:
            table = self.stored.read(missing)
            self._columns.update({n: _one(table.column(n)) for n in missing})
        return pa.table({n: self._columns[n] for n in wanted})

    def part(self, places: Sequence[int]) -> Part:
        """The rows about some manifests."""
        if not places:
            return Part(records=(), rows=pa.table({}), owner=np.zeros(0, np.int64))
        table = self.columns()
        if len(places) == len(self.header.manifests):
            owner = table.column(_MANIFEST).to_numpy().astype(np.int64)
            return Part(records=self.header.manifests, rows=table.drop_columns([_MANIFEST]), owner=owner)
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
    """The bytes of a roll-up, and what reading them would give, for those who read it next."""

    data: bytes
    header: RollupHeader
    rows: RollupRows

    def at(self, path: str) -> Rollup:
        return _rollup(path, self.header, self.rows)


def write_rollup(parts: Sequence[Part], *, base: str | None = None) -> WrittenRollup:
    """A roll-up of these parts, older ones first."""
    header = RollupHeader(base=base, manifests=tuple(r for p in parts for r in p.records))
    before = np.cumsum([0, *(len(p.records) for p in parts)])
    owner = np.concatenate([p.owner + n for p, n in zip(parts, before[:-1].tolist(), strict=True)])
    rows = join_rows([p.rows for p in parts if p.records])
    table = rows.append_column(_MANIFEST, pa.array(owner.astype(np.int32)))
    encoded = msgspec.json.encode(header)
    return WrittenRollup(
        data=serialize_rows(table, encoded), header=header, rows=RollupRows(header=encoded, table=table)
    )


def parse_rollup(data: bytes, path: str) -> Rollup:
    """The roll-up in some bytes."""
    rows = parse_rows(data, path)
    try:
        header = _HEADER.decode(rows.header)
    except msgspec.MsgspecError as error:
        raise FormatViolation(f"Invalid roll-up {path}: {error}. Build the index again.") from error
    if header.version != VERSION:
        raise FormatViolation(f"Invalid roll-up {path}: expected version {VERSION}, got {header.version}.")
    return _rollup(path, header, rows)


def _rollup(path: str, header: RollupHeader, rows: RollupRows) -> Rollup:
    places = {r.identity.manifest_path: i for i, r in enumerate(header.manifests)}
    return Rollup(path=path, header=header, stored=rows, places=places)


def join_rows(tables: Sequence[Any]) -> Any:
    """Rows of several tables. A column that one lacks, or has in a type that does not fit, is unknown there.

    Types are those of the last table that has the column: callers put newer rows last.
    """
    if not tables:
        return pa.table({})
    is_same = all(t.schema == tables[0].schema for t in tables)
    try:
        return pa.concat_tables(tables, promote_options="none" if is_same else "default").combine_chunks()
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
        fitted = promoted(_one(column), arrow)
        if fitted is not None:
            return [fitted]
    return [pa.nulls(table.num_rows, arrow)]


def _one(column: Any) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
