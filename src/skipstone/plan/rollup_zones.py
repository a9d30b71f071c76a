"""The zones of a snapshot's manifests out of its roll-ups: rows joined once, columns as filters ask for them.

What is here depends on the roll-ups and the manifests alone, so that it serves every plan of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from skipstone.index.rollup import Rollup, join_rows
from skipstone.index.zone_rows import FACT_NAMES, ZoneKind, column_zones, partition_zones
from skipstone.metadata.manifests.manifest import ManifestFile
from skipstone.metadata.schema import Schema
from skipstone.metadata.types import StructType
from skipstone.plan.entries import partition_codes
from skipstone.plan.recent import recent
from skipstone.zones.zone_map import ZoneMap

pa: Any = pyarrow
pc: Any = pyarrow.compute

Ints = npt.NDArray[np.int64]
_EVERY_ROW: Final = ("kind", "number", "files", "rows")
_NO_ROWS: Final = pa.table({name: pa.array([], pa.int64()) for name in _EVERY_ROW})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRows:
    """Zones that are one partition of a manifest: their `rows`, a number for the tuple of each, and its files.

    `is_known` tells of which manifests all partitions are zones.
    """

    is_known: npt.NDArray[np.bool_]
    rows: Ints
    codes: Ints
    files: Ints


def zones_of(rollups: Sequence[Rollup], manifests: Sequence[ManifestFile]) -> RollupZones:
    return recent.derived("roll-up", [*rollups, *manifests], lambda: RollupZones(rollups, manifests))


class RollupZones:
    """Zones of manifests, a row each: `place` is that of the manifest, `kind` and `number` what of it the zone is.

    `sidecars` and `cuts` tell for each manifest whether there is a sidecar and how it is cut; None where nobody knows.
    """

    def __init__(self, rollups: Sequence[Rollup], manifests: Sequence[ManifestFile]) -> None:
        self.sidecars: list[bool | None] = [None] * len(manifests)
        self.cuts: list[str | None] = [None] * len(manifests)
        self._manifests = manifests
        self._columns: dict[str, Any] = {}
        self._maps: dict[Any, ZoneMap] = {}
        parts = []
        for rollup in rollups:
            numbers = {}
            for place, manifest in enumerate(manifests):
                if self.sidecars[place] is None and (number := rollup.find(manifest)) is not None:
                    numbers[number] = place
                    record = rollup.header.manifests[number]
                    self.sidecars[place], self.cuts[place] = record.has_sidecar, record.cut
            if numbers:
                parts.append((rollup, _places(rollup, numbers)))
        # The base has the older rows, whose types give way.
        self._parts = list(reversed(parts))
        known = [places[places >= 0] for _, places in self._parts]
        self.place: npt.NDArray[np.int32] = np.concatenate(known) if known else np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self.place)

    @cached_property
    def kind(self) -> npt.NDArray[np.int8]:
        kinds: npt.NDArray[np.int8] = self._table(()).column("kind").to_numpy()
        return kinds

    @cached_property
    def number(self) -> npt.NDArray[np.int32]:
        numbers: npt.NDArray[np.int32] = self._table(()).column("number").to_numpy()
        return numbers

    @property
    def row_counts(self) -> Any:
        return self._table(()).column("rows")

    def columns(self, field_ids: Iterable[int], schema: Schema) -> ZoneMap:
        """Facts about columns, as a schema types them."""
        ids = sorted(field_ids)
        key = tuple((i, None if (f := schema.find(i)) is None else f.type) for i in ids)
        if key not in self._maps:
            names = [f"{i}.{fact}" for i in ids for fact in FACT_NAMES]
            self._maps[key] = column_zones(self._table(names), ids, schema)
        return self._maps[key]

    def of_spec(self, spec_id: int) -> Ints:
        """The rows about manifests of a partition spec."""
        specs = np.array([m.partition_spec_id for m in self._manifests], np.int64)
        return np.flatnonzero(specs[self.place] == spec_id)

    def tuples(self, spec_id: int, partition_type: StructType) -> ZoneMap:
        """Facts about the partition tuples of the rows of one spec."""
        key = spec_id, partition_type
        if key not in self._maps:
            table = self._table([f"partition.{f.id}.{fact}" for f in partition_type.fields for fact in FACT_NAMES])
            rows = self.of_spec(spec_id)
            chosen = table if len(rows) == len(self) else table.take(pa.array(rows))
            self._maps[key] = partition_zones(chosen, partition_type)
        return self._maps[key]

    @cached_property
    def partitions(self) -> PartitionRows:
        rows = np.flatnonzero(self.kind == ZoneKind.PARTITION)
        is_known = np.bincount(self.place[rows], minlength=len(self._manifests)) > 0
        names = sorted({n for rollup, _ in self._parts for n in rollup.stored.names if _tells_tuples(n)})
        table = self._table(names).take(pa.array(rows))
        specs = np.array([m.partition_spec_id for m in self._manifests], np.int32)[self.place[rows]]
        codes = _tuple_codes(table, pa.array(specs))
        return PartitionRows(is_known=is_known, rows=rows, codes=codes, files=_ints(table, "files"))

    def _table(self, names: Sequence[str]) -> Any:
        """Some columns, as far as they are there, with those that every row has."""
        wanted = list(dict.fromkeys([*_EVERY_ROW, *names]))
        missing = [n for n in wanted if n not in self._columns]
        if missing:
            # One that every row has is in each part, so that none of them is without rows.
            parts = [_rows(part, [*missing, _EVERY_ROW[0]]) for part in self._parts]
            joined = join_rows(parts) if parts else _NO_ROWS
            found = dict(zip(joined.column_names, joined.columns, strict=True))
            self._columns |= {n: found.get(n) for n in missing}
        return pa.table({n: c for n in wanted if (c := self._columns[n]) is not None})


def _places(rollup: Rollup, numbers: dict[int, int]) -> npt.NDArray[np.int32]:
    """For each row of a roll-up the place of its manifest, -1 where that is not asked for."""
    places = np.full(len(rollup.header.manifests), -1, np.int32)
    places[list(numbers)] = list(numbers.values())
    found: npt.NDArray[np.int32] = places[rollup.columns(()).column("manifest").to_numpy()]
    return found


def _rows(part: tuple[Rollup, npt.NDArray[np.int32]], names: Sequence[str]) -> Any:
    rollup, places = part
    table = rollup.columns(names).drop_columns(["manifest"])
    return table if bool((places >= 0).all()) else table.filter(pa.array(places >= 0))


def _tells_tuples(name: str) -> bool:
    """A tuple is its own bound; null and NaN are told apart by their counts."""
    return name.startswith("partition.") and name.endswith((".lower", ".nan_count"))


def _tuple_codes(rows: Any, spec_ids: Any) -> Ints:
    """One number a partition tuple, from 0 on."""
    names = [n for n in rows.column_names if _tells_tuples(n)]
    if not names:
        return np.unique(spec_ids.to_numpy(), return_inverse=True)[1].astype(np.int64)
    columns = [rows.column(n).combine_chunks() for n in names]
    values = [c if n.endswith(".lower") else pc.greater(c, 0) for n, c in zip(names, columns, strict=True)]
    return partition_codes(spec_ids, pa.StructArray.from_arrays(values, [str(i) for i in range(len(values))]))


def _ints(table: Any, name: str) -> Ints:
    values: Ints = table.column(name).to_numpy()
    return values
