"""The zone of a small manifest says nothing that merging the zones of its files does not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstone.index.blocks import cut_blocks
from skipstone.index.entry_facts import live_entries
from skipstone.index.whole_zone import whole_zone
from skipstone.index.zone_rows import zone_rows
from skipstone.metadata.manifests.manifest import DataFile, EntryStatus, ManifestEntry
from skipstone.metadata.manifests.manifest_rows import entries_to_arrow
from skipstone.metadata.schemas.user_schema import schema_of
from skipstone.metadata.types import StructType
from skipstone.metadata.values import serialize_value

SCHEMA = schema_of([("id", "long"), ("x", "double"), ("s", "string"), ("d", "date")])
VALUES: dict[int, st.SearchStrategy[Any]] = {
    1: st.integers(-3, 3),
    2: st.sampled_from([-0.0, 0.0, 1.5, float("inf"), float("nan")]),
    3: st.sampled_from(["", "a", "é", "\U0001f600"]),
    4: st.integers(-2, 2),
}


@st.composite
def entries(draw: st.DrawFn) -> ManifestEntry:
    lows, highs = {}, {}
    for field_id, values in VALUES.items():
        for bounds in (lows, highs):
            if draw(st.integers(0, 4)):
                bounds[field_id] = serialize_value(SCHEMA.field(field_id).type, draw(values))
    counts = st.dictionaries(st.sampled_from(list(VALUES)), st.integers(-1, 4))
    return ManifestEntry(
        status=draw(st.sampled_from([EntryStatus.ADDED, EntryStatus.ADDED, EntryStatus.DELETED])),
        sequence_number=1,
        data_file=DataFile(
            file_path=f"f{draw(st.integers(0, 10**9))}",
            file_format=draw(st.sampled_from(["PARQUET", "parquet", "ORC"])),
            record_count=draw(st.integers(-1, 5)),
            file_size_in_bytes=10,
            lower_bounds=draw(st.sampled_from([lows, None])),
            upper_bounds=highs,
            null_value_counts=draw(counts),
            nan_value_counts=draw(counts),
            value_counts=draw(counts),
        ),
    )


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(entries(), min_size=1, max_size=5), uniform=st.booleans())
def test_whole_zones_are_covered_by_merged_ones(rows: list[ManifestEntry], uniform: bool) -> None:
    table = entries_to_arrow(rows[:1] * 3 if uniform else rows, StructType(()))
    found, count = whole_zone(table, tuple(VALUES), SCHEMA, "test")
    live = live_entries(table, ids=tuple(VALUES), schema=SCHEMA, partition_type=StructType(()), source="test")
    assert live is not None and count == len(live)
    if not count:
        return
    merged = zone_rows(live, cut_blocks(live), SCHEMA).slice(0, 1)
    for name in found.column_names:
        ours = found.column(name)[0]
        if ours.is_valid and not name.endswith(".covered"):
            theirs = merged.column(name)[0] if name in merged.column_names else pa.scalar(None, ours.type)
            if not theirs.is_valid:
                # Files without an ordinary value need no bounds; here all of them have some.
                assert name.endswith(("lower", "upper"))
                assert live.table.column(name).null_count == 0
                continue
            if name.startswith("2.") and name.endswith(("lower", "upper")) and ours.as_py() == 0:
                # Zeros are widened: the smaller one below, the larger above.
                assert theirs.as_py() == 0
                continue
            assert theirs.cast(pa.string() if pa.types.is_string(ours.type) else ours.type) == ours, name
