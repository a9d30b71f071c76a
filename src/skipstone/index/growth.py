"""A roll-up grown by one commit: the cost follows what is new, not what is there.

New rows go into a roll-up that names the parent's as its base. When the rows on top of a base have become many, or the
base is small, all that the snapshot still needs is written into one roll-up again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from skipstone.index.rollup import ManifestZones, Part, Rollup, WrittenRollup, write_rollup
from skipstone.metadata.manifests.manifest import ManifestFile

_SMALL_ROWS: Final = 256
_GROWN_SHARE: Final = 4  # a quarter of the base


def grown_rollup(
    listed: Sequence[ManifestFile], new: Mapping[str, ManifestZones], before: Sequence[Rollup]
) -> WrittenRollup | None:
    """The roll-up of a snapshot with these manifests; `before` is what its parent has, the base last. None: no rows."""
    fresh = [Part.of(new[m.manifest_path]) for m in listed if m.manifest_path in new]
    rest = [m for m in listed if m.manifest_path not in new]
    if not before:
        return write_rollup(fresh) if fresh else None
    first, *more = before
    if more:
        carried = _part(first, rest)
        top = sum(p.rows.num_rows for p in (carried, *fresh))
        if top <= max(_SMALL_ROWS, more[0].num_rows // _GROWN_SHARE):
            return write_rollup([carried, *fresh], base=more[0].path)
        known = {r.identity.manifest_path for r in carried.records}
        old = _part(more[0], [m for m in rest if m.manifest_path not in known])
        return write_rollup([old, carried, *fresh])
    if first.header.base is None and first.num_rows > _SMALL_ROWS:
        return write_rollup([_part(first, ()), *fresh], base=first.path)
    kept = _part(first, rest)
    return write_rollup([kept, *fresh]) if kept.records or fresh else None


def _part(rollup: Rollup, manifests: Sequence[ManifestFile]) -> Part:
    return rollup.part([p for m in manifests if (p := rollup.find(m)) is not None])
