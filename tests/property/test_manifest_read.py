"""Laws of reading manifests: wished metrics equal what the maps say, by either decoder, whatever else is asked for."""

from __future__ import annotations

import struct
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.avro_files import PLAIN, SIZED, SPLIT
from tests.support.manifest_files import MAPS, entry, manifest

from skipstone.errors import SkipstoneError
from skipstone.metadata.avro import reading
from skipstone.metadata.manifests.manifest_read import METRIC_KINDS, read_manifest

IDS = st.sampled_from([1, 2, 3, 4, 70000])
OTHER_IDS = st.integers(0, 300) | st.sampled_from([-1, 2**31 - 1, -(2**31), 65536])
COUNTS = st.integers(-(2**63), 2**63 - 1)
PACKED = {
    1: st.binary(min_size=8, max_size=8),
    2: st.text(max_size=30).map(str.encode),
    70000: st.binary(min_size=4, max_size=4),
}
PACKED |= {3: st.floats(allow_nan=False).map(lambda v: struct.pack("<d", v)), 4: st.binary(min_size=4, max_size=4)}


def bound_maps() -> st.SearchStrategy[Any]:
    wished = st.fixed_dictionaries({}, optional=PACKED)
    others = st.dictionaries(OTHER_IDS.filter(lambda i: i not in PACKED), st.binary(max_size=20), max_size=4)
    return st.none() | st.builds(lambda a, b: {**b, **a}, wished, others)


def count_maps() -> st.SearchStrategy[Any]:
    return st.none() | st.dictionaries(IDS | OTHER_IDS, COUNTS, max_size=6)


def entries() -> st.SearchStrategy[list[dict[str, Any]]]:
    maps = {name: bound_maps() if value[3] == "bytes" else count_maps() for name, value in MAPS.items()}
    return st.lists(st.fixed_dictionaries(maps), max_size=6)


def read_both(data: bytes, **wishes: Any) -> tuple[pa.Table, pa.Table]:
    tables = []
    for compiled in (False, True):
        with patch.object(reading, "_use_compiled", return_value=compiled):
            tables.append(read_manifest(data, source="m0.avro", **wishes))
    return tables[0], tables[1]


@settings(max_examples=200, deadline=None)
@given(
    entries(), st.lists(IDS, unique=True, min_size=1), st.sampled_from([PLAIN, SIZED, SPLIT]), st.booleans(),
)  # fmt: skip
def test_wished_metrics_equal_the_maps(maps: list[dict[str, Any]], ids: list[int], lists: str, whole: bool) -> None:
    data = manifest([entry(i, **m) for i, m in enumerate(maps)], lists=lists, block_records=3)
    reference, compiled = read_both(data, metrics=ids, maps=whole)
    assert compiled.equals(reference)
    for field_id in ids:
        for kind, name in METRIC_KINDS.items():
            expected = [(m[name] or {}).get(field_id) for m in maps]
            got = compiled.column(f"{field_id}.{kind}").combine_chunks()
            if kind in ("lower", "upper"):
                expected = [None if v is None else _value(field_id, v) for v in expected]
                got = got.view(pa.int32()) if pa.types.is_date32(got.type) else got
            assert got.to_pylist() == expected


def _value(field_id: int, data: bytes) -> Any:
    if field_id == 2:
        return data.decode()
    return struct.unpack({1: "<q", 3: "<d", 4: "<i", 70000: "<i"}[field_id], data)[0]


@settings(max_examples=200, deadline=None)
@given(entries(), st.data())
def test_a_damaged_manifest_is_refused_or_read_the_same_by_both_decoders(
    maps: list[dict[str, Any]], data: st.DataObject
) -> None:
    damaged = bytearray(manifest([entry(i, **m) for i, m in enumerate(maps)], codec="null"))
    at = data.draw(st.integers(len(damaged) // 3, len(damaged) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    outcomes: list[Any] = []
    for compiled in (False, True):
        with patch.object(reading, "_use_compiled", return_value=compiled):
            try:
                table = read_manifest(bytes(damaged), source="m0.avro", metrics=[1, 2, 3])
                table.validate(full=True)
                outcomes.append(repr(table.to_pydict()))
            except SkipstoneError as error:
                outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]
