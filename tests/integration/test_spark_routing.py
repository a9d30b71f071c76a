"""Partition keys in Spark against the kernel's transforms: equal keys exactly where the kernel's results are equal."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from skipstone.metadata.formats.arrow_types import values_to_array
from skipstone.metadata.partitions.hashing import hash_value
from skipstone.metadata.partitions.partitioning import partition_key
from skipstone.metadata.partitions.transforms import parse_transform
from skipstone.metadata.types import Field, StructType, parse_primitive
from skipstone.metadata.values.decimals import from_unscaled

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

DAY = 86_400_000_000
LONG = 2**63 - 1
MOMENT_MIN = -62_135_596_800_000_000  # the first of the year 1
MOMENT_MAX = 253_402_300_799_999_999  # the last of the year 9999
BUCKETS = ("bucket[2147483647]",)
TIMES = ("year", "month", "day")
TRANSFORMS = {
    "boolean": ("identity",),
    "int": ("identity", "bucket[16]", *BUCKETS, "truncate[1]", "truncate[10]", "truncate[3000000000]"),
    "long": ("identity", *BUCKETS, "truncate[7]", "truncate[9223372036854775807]"),
    "float": ("identity",),
    "double": ("identity",),
    "decimal(9, 2)": ("identity", *BUCKETS, "truncate[1]", "truncate[50]"),
    "decimal(18, 0)": ("identity", *BUCKETS, "truncate[999]"),
    "decimal(18, 18)": ("bucket[16]", "truncate[10000000000000000]"),
    "decimal(38, 10)": ("identity", *BUCKETS, "truncate[1000]"),
    "date": ("identity", *BUCKETS, *TIMES),
    "timestamp": ("identity", *BUCKETS, *TIMES, "hour"),
    "timestamptz": ("identity", *BUCKETS, *TIMES, "hour"),
    "string": ("identity", *BUCKETS, "truncate[1]", "truncate[3]", "truncate[9223372036854775807]"),
    "binary": ("identity", *BUCKETS, "truncate[2]"),
}
TEXTS = ["", "~", "~~", "a", "A", "null", "NaN", "__HIVE_DEFAULT_PARTITION__", "a/b=c%20 d", "é", "ß", "\U0001f600",
         "\U0001f600\U0001f601x\U0010ffff", "ab", "abc", "abcd", "abcde", "x" * 300, "x" * 299 + "y", "~" + "x" * 300,
         "\t\n", " ", ".", "..", "_hidden"]  # fmt: skip


def values_of(kind: str, chance: random.Random) -> list[Any]:
    def near(*points: int, spread: int = 40) -> list[int]:
        return [p + chance.randint(-spread, spread) for p in points for _ in range(12)]

    match kind:
        case "boolean":
            return [True, False]
        case "int":
            edges = [0, 1, -1, 2**31 - 1, -(2**31) + 3_000_000_000 % 2**31, 10, -10, 9, -9]
            return [*edges, *near(0, 1000, -1000), *(chance.randint(-(2**30), 2**31 - 1) for _ in range(60))]
        case "long":
            edges = [0, 1, -1, LONG, -LONG + 10, 34, 2**32, -(2**32), 7, -7]
            return [*edges, *near(0, -(2**40)), *(chance.randint(-(2**62), LONG) for _ in range(60))]
        case "float" | "double":
            return [
                0.0,
                -0.0,
                float("nan"),
                float("inf"),
                float("-inf"),
                1.5,
                -1.5,
                0.1,
                1e30,
                5e-324 * (kind != "float"),
            ]
        case "date":
            edges = [0, -1, 1, 364, 365, -365, -366, 30, 31, -719162, 2932896]
            return [*edges, *(chance.randint(-719162, 2932896) for _ in range(60))]
        case "timestamp" | "timestamptz":
            edges = [0, -1, 1, DAY, -DAY, DAY - 1, -DAY - 1, 3_600_000_000, -3_600_000_000, -3_600_000_001, MOMENT_MAX]
            return [
                *edges,
                *near(0, 365 * DAY),
                *(chance.randint(-62_135_596_800_000_000, MOMENT_MAX) for _ in range(60)),
            ]
        case "string":
            return [*TEXTS, *("".join(chance.choices("abé\U0001f600xyz", k=chance.randint(0, 13))) for _ in range(60))]
        case "binary":
            return [
                *(t.encode() for t in TEXTS),
                *(chance.randbytes(chance.randint(0, 19)) for _ in range(60)),
                b"\0",
                b"\0\0",
            ]
    type_: Any = parse_primitive(kind)
    most = 10**type_.precision - 1
    numbers = [0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769, most, -most + 10**5, 49, 50, -50, -51]
    numbers += [chance.randint(-(10 ** chance.randint(1, type_.precision)) + 1, most) for _ in range(60)]
    return [from_unscaled(n, type_.scale) for n in numbers if abs(n) <= most]


def same_groups(keys: Sequence[Any], expected: Sequence[Any]) -> bool:
    pairs = set(zip(map(repr, keys), map(repr, expected), strict=True))
    return len(pairs) == len({k for k, _ in pairs}) == len({e for _, e in pairs})


def test_keys_in_spark_group_rows_as_the_kernel_does(iceberg_java: Any) -> None:
    from skipstone.spark.frames_in import apart
    from skipstone.spark.session import temporarily
    from skipstone.spark.types import to_spark_struct

    chance = random.Random(20261116)
    kinds = {kind: [*values_of(kind, chance), None] for kind in TRANSFORMS}
    longest = max(map(len, kinds.values()))
    columns = {kind: [v[i % len(v)] for i in range(longest)] for kind, v in kinds.items()}
    arrays = {f"c{i}": _plain(values_to_array(parse_primitive(k), v)) for i, (k, v) in enumerate(columns.items())}
    fields = [Field(id=i, name=f"c{i}", type=parse_primitive(kind)) for i, kind in enumerate(TRANSFORMS)]
    schema = to_spark_struct(StructType(tuple(fields)))
    with temporarily(iceberg_java, {"spark.sql.session.timeZone": "America/New_York"}):
        frame = iceberg_java.createDataFrame(pa.table(arrays), schema)
        with apart(frame, {}) as own:
            keys = _keys(own)
    for i, (kind, values) in enumerate(columns.items()):
        type_ = parse_primitive(kind)
        for text in TRANSFORMS[kind]:
            transform = parse_transform(text)
            result = StructType((Field(id=1, name="p", type=transform.result_type(type_)),))
            expected = [partition_key(result, {1: transform.apply(type_, v)}) for v in values]
            found = keys[f"k{i}.{text}"]
            assert same_groups(found, expected), (kind, text)
            assert all((k is None) == (v is None) for k, v in zip(found, values, strict=True)), (kind, text)
            if text.startswith("bucket"):
                assert found == [transform.apply(type_, v) for v in values], (kind, text)


def _keys(frame: Any) -> dict[str, list[Any]]:
    from pyspark.sql import functions as F

    from skipstone.spark.routing import add_key, directory_key

    collected: dict[str, list[Any]] = {}
    for i, (kind, transforms) in enumerate(TRANSFORMS.items()):
        made, type_ = frame, parse_primitive(kind)
        for n, text in enumerate(transforms):
            transform = parse_transform(text)
            made = add_key(made, transform, type_, F.col(f"c{i}"), f"k{n}")
            made = directory_key(made, transform.result_type(type_), f"k{n}")
        table = made.select(*[F.col(f"k{n}").cast("string") for n in range(len(transforms))]).toArrow()
        for n, text in enumerate(transforms):
            values = table.column(n).to_pylist()
            collected[f"k{i}.{text}"] = [int(v) if v is not None and text.startswith("bucket") else v for v in values]
    return collected


def _plain(array: Any) -> Any:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def test_the_first_number_brings_sparks_hash_to_seed_zero() -> None:
    from skipstone.spark.murmur import ZERO_SEED

    # Spark's own seed is 42: one word of Murmur3 from there must end at 0.
    mask = 2**32 - 1

    def rotated(x: int, r: int) -> int:
        return ((x << r) | (x >> (32 - r))) & mask

    word = rotated(ZERO_SEED * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    state = (rotated(42 ^ word, 13) * 5 + 0xE6546B64) & mask
    assert state ^ 4 == 0
    assert hash_value(parse_primitive("long"), 34) == 2017239379
