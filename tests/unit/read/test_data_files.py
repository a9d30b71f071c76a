"""Data files of each format: columns, stretches that are skipped, positions, and damage."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest

from skipstone.errors import FormatViolation, NotFound, Unsupported
from skipstone.metadata.schema import Schema
from skipstone.metadata.schemas.name_mapping import create_name_mapping
from skipstone.metadata.schemas.projection import Projection, resolve
from skipstone.metadata.types import LONG, STRING, TIMESTAMP, DecimalType, Field, StructType
from skipstone.predicate import bind, parse_sql
from skipstone.predicate.nodes import TRUE
from skipstone.read.formats import open_file
from skipstone.read.opened import OpenedFile, Question
from skipstone.read.orc_decimals import decimals
from skipstone.read.whole_file import project_file
from skipstone.storage.memory import MemoryStorage

pa: Any = pyarrow
pq: Any = pyarrow.parquet
orc: Any = pyarrow.orc

SCHEMA = Schema(
    fields=(Field(id=1, name="id", type=LONG), Field(id=2, name="s", type=STRING)),
)
PATH = "memory://files/data"


def ids(*fields: tuple[str, Any, int]) -> Any:
    return pa.schema([pa.field(n, t, metadata={"PARQUET:field_id": str(i)}) for n, t, i in fields])


def parquet(rows: int, **options: Any) -> MemoryStorage:
    table = pa.table(
        [pa.array(range(rows)), pa.array([f"s{i}" for i in range(rows)])],
        schema=ids(("id", pa.int64(), 1), ("s", pa.string(), 2)),
    )
    return stored(lambda sink: pq.write_table(table, sink, **options))


def stored(write: Any) -> MemoryStorage:
    storage = MemoryStorage()
    sink = pa.BufferOutputStream()
    write(sink)
    storage.write_new(PATH, sink.getvalue().to_pybytes())
    return storage


def projection(file: OpenedFile) -> Projection:
    return resolve(SCHEMA, file.struct, source=PATH)


def asked(file: OpenedFile, sql: str, **span: Any) -> Question:
    return Question(projection=projection(file), predicate=bind(parse_sql(sql), SCHEMA), **span)


def test_row_groups_that_cannot_match_are_left_out() -> None:
    file = open_file(parquet(1000, row_group_size=100), PATH, "PARQUET")
    found = file.stretches(asked(file, "id BETWEEN 250 AND 420"))
    assert [(s.number, s.position, s.every_row_matches) for s in found] == [
        (2, 200, False),
        (3, 300, True),
        (4, 400, False),
    ]


def test_page_index_narrows_a_row_group_and_rules_out_one_with_a_gap() -> None:
    values = np.concatenate([np.arange(5_000), np.arange(1_000_000, 1_005_000)])
    table = pa.table([pa.array(values)], schema=ids(("id", pa.int64(), 1)))
    options = {"write_page_index": True, "data_page_size": 4_000, "write_batch_size": 500, "use_dictionary": False}
    storage = stored(lambda sink: pq.write_table(table, sink, **options))
    file = open_file(storage, PATH, "parquet")
    assert file.stretches(asked(file, "id = 500000")) == []
    (found,) = file.stretches(asked(file, "id = 1200"))
    assert found.start <= 1200 < found.stop and found.stop - found.start < 2_000
    (batch,) = file.batches([0], found)
    assert batch.position == found.start and batch.columns.column(0)[0].as_py() == found.start


def test_pieces_of_a_file_share_its_row_groups_without_loss() -> None:
    storage = parquet(1000, row_group_size=100)
    file = open_file(storage, PATH, "parquet")
    size = storage.size(PATH)
    cuts = [0, size // 3, size // 2, size]
    found = []
    for first, end in zip(cuts, [*cuts[1:-1], None, None], strict=True):
        if first < size:
            found += file.stretches(
                Question(projection=projection(file), predicate=TRUE, first_byte=first, end_byte=end)
            )
    assert sorted(s.number for s in found) == list(range(10))


def test_no_columns_still_tell_how_many_rows_there_are() -> None:
    storage = parquet(250, row_group_size=100)
    file = open_file(storage, PATH, "parquet")
    batches = [b for s in file.stretches(Question(projection=projection(file))) for b in file.batches([], s)]
    assert [(b.position, b.columns.num_rows) for b in batches] == [(0, 100), (100, 100), (200, 50)]


def test_wide_rows_come_in_small_batches() -> None:
    wide = pa.table([pa.array([b"x" * 100_000] * 3_000)], schema=ids(("id", pa.binary(), 9)))
    storage = stored(lambda sink: pq.write_table(wide, sink, compression="zstd", use_dictionary=False))
    file = open_file(storage, PATH, "parquet")
    (stretch,) = file.stretches(Question(projection=projection(file)))
    sizes = [b.columns.num_rows for b in file.batches([0], stretch)]
    assert sum(sizes) == 3_000 and max(sizes) <= 1_024


def test_orc_stripes_that_cannot_match_are_left_out() -> None:
    table = pa.table({"id": pa.array(range(200_000)), "s": pa.array(["a"] * 200_000)})
    storage = stored(lambda sink: orc.write_table(table, sink, stripe_size=64 * 1024, batch_size=10_000))
    file = open_file(storage, PATH, "orc")
    named = resolve(SCHEMA, file.struct, source=PATH, name_mapping=create_name_mapping(SCHEMA))
    everything = file.stretches(Question(projection=named))
    assert len(everything) > 2
    found = file.stretches(Question(projection=named, predicate=bind(parse_sql("id = 150000"), SCHEMA)))
    assert len(found) == 1 and found[0].position <= 150_000 < found[0].position + found[0].stop
    batches = list(file.batches([0], found[0]))
    assert batches[0].position == found[0].position
    assert batches[0].columns.column(0)[0].as_py() == found[0].position


def test_orc_moments_beyond_nanoseconds_are_read() -> None:
    far = [253_402_300_799_999_999, None, -62_135_596_800_000_000, 0, 1_500_000]  # from year 1 to 9999
    table = pa.table({"t": pa.array(far, pa.timestamp("us")), "id": pa.array(range(5))})
    storage = stored(lambda sink: orc.write_table(table, sink, compression="zlib"))
    wanted = Schema(fields=(Field(id=1, name="id", type=LONG), Field(id=2, name="t", type=TIMESTAMP)))
    found = list(project_file(storage, PATH, "orc", wanted.struct, name_mapping=create_name_mapping(wanted)))
    ((position, batch),) = found
    assert position == 0
    assert batch.column(1).view(pa.int64()).to_pylist() == far
    assert batch.column(0).to_pylist() == [0, 1, 2, 3, 4]


def test_orc_decimals_beside_moments_beyond_nanoseconds_are_read() -> None:
    amounts = [Decimal("-9999999.99"), None, Decimal("0.00"), Decimal("12.30"), Decimal("-0.01")]
    far = [253_402_300_799_999_999, None, -62_135_596_800_000_000, 0, 1_500_000]
    parts = [pa.array(amounts, pa.decimal128(9, 2)), pa.array(far, pa.timestamp("us"))]
    table = pa.table({"st": pa.StructArray.from_arrays(parts, ["amount", "at"])})
    storage = stored(lambda sink: orc.write_table(table, sink))
    fields = Field(id=2, name="amount", type=DecimalType(9, 2)), Field(id=3, name="at", type=TIMESTAMP)
    wanted = Schema(fields=(Field(id=1, name="st", type=StructType(fields)),))
    ((_, batch),) = project_file(storage, PATH, "orc", wanted.struct, name_mapping=create_name_mapping(wanted))
    assert batch.column(0).field("amount").to_pylist() == amounts
    assert batch.column(0).field("at").view(pa.int64()).to_pylist() == far


@pytest.mark.parametrize(
    ("data", "scales", "precision", "scale", "expected"),
    [
        (b"\x02", [0, 0], 9, 2, "expected 2 decimals, got 1"),
        (b"\x02\x80", [0], 9, 2, "expected 1 decimals"),
        (b"\x80" * 19 + b"\x01", [0], 38, 0, "at most 128 bits"),
        (b"\x02", [3], 9, 2, "scales up to 2, got 3"),
        (b"\x02", [-40], 9, 2, "scales up to 2, got -40"),
        (b"\x02", [0], 2, 2, "at most 2 digits"),
        (b"\x02", [0], 39, 2, "at most 38 digits"),
        (b"\x02", [0], 2, 3, "at most 38 digits"),
    ],
)
def test_orc_decimals_that_cannot_be_are_a_violation(
    data: bytes, scales: list[int], precision: int, scale: int, expected: str
) -> None:
    with pytest.raises(FormatViolation, match=expected):
        decimals(data, np.array(scales, np.int64), precision=precision, scale=scale, source="a column")


def test_orc_decimals_may_leave_trailing_zeros_out() -> None:
    """12.3 and -5 of a decimal(9, 2), as Java writes them."""
    found = decimals(b"\xf6\x01\x09", np.array([1, 0]), precision=9, scale=2, source="a column")
    assert found.to_pylist() == [Decimal("12.30"), Decimal("-5.00")]


def test_file_cut_short_is_a_violation_that_names_it() -> None:
    whole = parquet(100)
    for file_format in ("parquet", "orc", "avro"):
        storage = MemoryStorage()
        storage.write_new(PATH, whole.read(PATH)[:-20])
        with pytest.raises(FormatViolation, match="memory://files/data"):
            open_file(storage, PATH, file_format)


def test_damaged_page_is_a_violation_with_the_row_group() -> None:
    data = bytearray(parquet(50_000, compression="zstd", use_dictionary=False).read(PATH))
    data[4:60] = b"\xff" * 56
    storage = MemoryStorage()
    storage.write_new(PATH, bytes(data))
    with pytest.raises(FormatViolation, match="row group 0"):
        list(project_file(storage, PATH, "parquet", SCHEMA.struct))


def test_missing_file_and_unknown_format_say_so() -> None:
    with pytest.raises(NotFound, match="memory://files/data"):
        open_file(MemoryStorage(), PATH, "parquet")
    with pytest.raises(Unsupported, match="'csv'"):
        open_file(MemoryStorage(), PATH, "csv")


def test_columns_are_found_by_id_whatever_their_names_and_order() -> None:
    table = pa.table(
        [pa.array(["a", "b"]), pa.array([7, 8], pa.int32())],
        schema=ids(("id", pa.string(), 2), ("s", pa.int32(), 1)),
    )
    storage = stored(lambda sink: pq.write_table(table, sink))
    ((_, batch),) = project_file(storage, PATH, "parquet", StructType(SCHEMA.fields))
    assert batch.to_pydict() == {"id": [7, 8], "s": ["a", "b"]}
