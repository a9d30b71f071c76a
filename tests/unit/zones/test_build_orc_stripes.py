"""Stripes as zones: the tail of an ORC file."""

from __future__ import annotations

import io
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from skipstone.errors import FormatViolation
from skipstone.metadata.formats.orc_types import from_orc_schema, orc_write_schema
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.projection import resolve
from skipstone.metadata.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMPTZ,
    DecimalType,
    Field,
    StructType,
    Type,
)
from skipstone.predicate import as_predicate, bind
from skipstone.zones import ColumnFacts, ZoneMap, judge
from skipstone.zones.build import FileBytes, from_orc_stripes
from skipstone.zones.build.orc_tail import read_orc_tail
from skipstone.zones.levels import prove_stripes

CODECS = ["uncompressed", "snappy", "zstd", "zlib", "lz4"]


class OrcZones:
    """A file of one column `a`, and the table's schema over it."""

    def __init__(self, type_: Type, values: list[Any], schema: Schema | None = None, **options: Any) -> None:
        stored = Schema(fields=(Field(id=1, name="a", type=type_),))
        target = orc_write_schema(stored)
        sink = io.BytesIO()
        orc.write_table(pa.table([_array(values, target.field(0).type)], schema=target), sink, **options)
        self.data = sink.getvalue()
        self.schema = schema or stored
        self.projection = resolve(self.schema, from_orc_schema(orc.ORCFile(io.BytesIO(self.data)).schema))

    def zones(self) -> ZoneMap:
        found = from_orc_stripes(FileBytes.of_buffer(self.data, "a.orc"), self.projection, strict=True)
        assert found is not None
        return found

    def facts(self) -> ColumnFacts:
        return self.zones().columns[1]

    def verdicts(self, text: str) -> list[int]:
        return [int(v) for v in judge(bind(as_predicate(text), self.schema), self.zones())]


def _array(values: list[Any], arrow: Any) -> Any:
    if pa.types.is_temporal(arrow):
        return pa.array(values, pa.int32() if arrow.bit_width == 32 else pa.int64()).view(arrow)
    return pa.array(values, arrow)


def bounds(facts: ColumnFacts) -> tuple[Any, Any]:
    lower, upper = facts.lower, facts.upper
    if pa.types.is_temporal(lower.type):
        as_number = pa.int32() if lower.type.bit_width == 32 else pa.int64()
        lower, upper = lower.view(as_number), upper.view(as_number)
    return lower[0].as_py(), upper[0].as_py()


@pytest.mark.parametrize("compression", CODECS)
def test_the_tail_is_read_under_every_compression(compression: str) -> None:
    file = OrcZones(LONG, [5, None, -7], compression=compression)
    facts = file.facts()
    assert bounds(facts) == (-7, 5)
    assert (facts.null_count.to_pylist(), facts.value_count.to_pylist()) == ([1], [3])
    assert file.zones().row_count.to_pylist() == [3]


def test_bounds_of_every_type_that_has_some() -> None:
    assert bounds(OrcZones(INT, [3, 1]).facts()) == (1, 3)
    assert bounds(OrcZones(DOUBLE, [1.5, -2.0]).facts()) == (-2.0, 1.5)
    assert bounds(OrcZones(STRING, ["b", "a", "é"]).facts()) == ("a", "é")
    assert bounds(OrcZones(DATE, [-5, 9]).facts()) == (-5, 9)
    assert bounds(OrcZones(BOOLEAN, [True, False]).facts()) == (False, True)
    assert bounds(OrcZones(BOOLEAN, [True, True]).facts()) == (True, True)
    assert bounds(OrcZones(BOOLEAN, [False]).facts()) == (False, False)
    cents = [Decimal("-1.20"), Decimal("3.40")]
    assert bounds(OrcZones(DecimalType(9, 2), cents).facts()) == (cents[0], cents[1])
    assert bounds(OrcZones(BINARY, [b"a"]).facts()) == (None, None)


@pytest.mark.parametrize("type_", [TIMESTAMP, TIMESTAMPTZ])
def test_timestamps_are_a_millisecond_wider(type_: Type) -> None:
    lower, upper = bounds(OrcZones(type_, [5_000_001, 7_123_456]).facts())
    assert lower <= 5_000_001 and upper >= 7_123_456
    assert upper - lower <= 2_122_455 + 4_000


def test_nan_makes_the_bounds_unknown_and_is_never_ruled_out() -> None:
    assert bounds(OrcZones(DOUBLE, [1.0, math.nan]).facts()) == (None, None)
    assert bounds(OrcZones(DOUBLE, [math.nan, 1.0]).facts()) == (None, None)
    assert OrcZones(DOUBLE, [1.0, 2.0]).verdicts("a > 5") == [1]
    assert OrcZones(DOUBLE, [1.0, 2.0]).verdicts("a < 0") == [0]


def test_all_null_and_no_null_are_proven() -> None:
    assert OrcZones(LONG, [None, None]).verdicts("a IS NULL") == [2]
    assert OrcZones(LONG, [1, 2]).verdicts("a IS NULL") == [0]
    assert OrcZones(LONG, [1, None]).verdicts("a IS NULL") == [1]
    assert OrcZones(LONG, [1, 2]).verdicts("a <= 2") == [2]


def test_a_field_of_a_struct_does_not_count_rows_without_the_struct() -> None:
    struct = StructType((Field(id=2, name="x", type=LONG),))
    some = OrcZones(struct, [{"x": 1}, None, {"x": 5}])
    assert some.verdicts("a.x = 9") == [0]
    assert some.verdicts("a.x IS NULL") == [1]
    assert some.verdicts("a.x >= 1") == [1]
    assert OrcZones(struct, [{"x": 1}, {"x": 5}]).verdicts("a.x >= 1") == [2]
    assert OrcZones(struct, [None, {"x": None}]).verdicts("a.x IS NULL") == [2]


def test_missing_columns_are_null_or_their_default() -> None:
    schema = Schema(
        fields=(
            Field(id=1, name="a", type=LONG),
            Field(id=8, name="z", type=STRING),
            Field(id=9, name="d", type=INT, initial_default=4),
        )
    )
    file = OrcZones(LONG, [1], schema)
    assert file.verdicts("z IS NULL") == [2]
    assert file.verdicts("d = 4") == [2]


def test_promoted_bounds_are_those_of_the_wider_type() -> None:
    assert bounds(OrcZones(INT, [1, 2], Schema(fields=(Field(id=1, name="a", type=LONG),))).facts()) == (1, 2)
    day = 86_400_000_000
    schema = Schema(fields=(Field(id=1, name="a", type=TIMESTAMP),))
    assert bounds(OrcZones(DATE, [-1, 2], schema).facts()) == (-day, 2 * day)


def test_every_stripe_is_a_zone() -> None:
    values = [f"{n:08}" * 20 for n in range(4000)]
    file = OrcZones(STRING, values, stripe_size=100_000, batch_size=500, row_index_stride=1000)
    zones = file.zones()
    assert zones.num_zones == orc.ORCFile(io.BytesIO(file.data)).nstripes > 1
    assert sum(zones.row_count.to_pylist()) == 4000
    verdicts = file.verdicts(f"a = '{values[10]}'")
    assert verdicts == [1] + [0] * (zones.num_zones - 1)


def test_stripes_are_proven_like_any_level() -> None:
    file = OrcZones(LONG, [1, 2])
    predicate = bind(as_predicate("a = 9"), file.schema)
    proofs = prove_stripes(predicate, FileBytes.of_buffer(file.data), file.projection)
    assert proofs is not None and proofs.verdicts().tolist() == [0]
    assert prove_stripes(predicate, FileBytes.of_buffer(b"no"), file.projection) is None


@pytest.mark.parametrize("data", [b"", b"ORC", b"\x00" * 40, b"ORC" + b"\xff" * 300])
def test_what_is_no_orc_file_is_refused_or_unknown(data: bytes) -> None:
    projection = OrcZones(LONG, [1]).projection
    file = FileBytes.of_buffer(data, "bad.orc")
    assert from_orc_stripes(file, projection) is None
    with pytest.raises(FormatViolation, match=r"bad\.orc"):
        read_orc_tail(file)
