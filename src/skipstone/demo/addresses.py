"""Made-up shipping addresses: states by population, zip codes within their state's range.

Every value is a hash of the row's number and the seed, so that a seed gives the same rows on any number of cores. The
rows are made by Spark itself; no Python touches them.
"""

from __future__ import annotations

from typing import Any, Final

COLUMNS: Final = (
    ("order_id", "string not null"),
    ("customer", "string"),
    ("street", "string"),
    ("state", "string"),
    ("zip_code", "string"),
    ("amount", "decimal(9,2)"),
    ("ordered_at", "timestamptz"),
)
# The first and last zip code of each state, roughly, and its people in hundred thousands.
STATES: Final[dict[str, tuple[int, int, int]]] = {
    "AL": (35004, 36925, 50), "AK": (99501, 99950, 7), "AZ": (85001, 86556, 72), "AR": (71601, 72959, 30),
    "CA": (90001, 96162, 395), "CO": (80001, 81658, 58), "CT": (6001, 6928, 36), "DE": (19701, 19980, 10),
    "DC": (20001, 20599, 7), "FL": (32003, 34997, 215), "GA": (30002, 31999, 107), "HI": (96701, 96898, 15),
    "ID": (83201, 83877, 18), "IL": (60001, 62999, 128), "IN": (46001, 47997, 68), "IA": (50001, 52809, 32),
    "KS": (66002, 67954, 29), "KY": (40003, 42788, 45), "LA": (70001, 71497, 47), "ME": (3901, 4992, 14),
    "MD": (20601, 21930, 62), "MA": (1001, 2791, 70), "MI": (48001, 49971, 101), "MN": (55001, 56763, 57),
    "MS": (38601, 39776, 30), "MO": (63001, 65899, 62), "MT": (59001, 59937, 11), "NE": (68001, 69367, 20),
    "NV": (88901, 89883, 31), "NH": (3031, 3897, 14), "NJ": (7001, 8989, 93), "NM": (87001, 88439, 21),
    "NY": (10001, 14925, 202), "NC": (27006, 28909, 104), "ND": (58001, 58856, 8), "OH": (43001, 45999, 118),
    "OK": (73001, 74966, 40), "OR": (97001, 97920, 42), "PA": (15001, 19640, 130), "RI": (2801, 2940, 11),
    "SC": (29001, 29945, 51), "SD": (57001, 57799, 9), "TN": (37010, 38589, 69), "TX": (75001, 79999, 291),
    "UT": (84001, 84791, 33), "VT": (5001, 5907, 6), "VA": (22001, 24658, 86), "WA": (98001, 99403, 77),
    "WV": (24701, 26886, 18), "WI": (53001, 54990, 59), "WY": (82001, 83128, 6),
}  # fmt: skip
_STREETS: Final = ("Main Street", "Oak Avenue", "Maple Drive", "Park Road", "Second Street", "Lake View", "Hill Lane")
_FIRST_ZIP_PERCENT: Final = 1  # of a state's orders go to its first zip code, as to any busy one
_YEAR_SECONDS: Final = 31_536_000
_YEAR_BEGAN: Final = 1_735_689_600  # 2025-01-01T00:00:00Z


def addresses(spark: Any, rows: int, seed: int) -> Any:
    """A Spark DataFrame of so many orders."""
    people = [i for i, (_, _, weight) in enumerate(STATES.values()) for _ in range(weight)]
    numbered = spark.range(rows).selectExpr(
        "id", f"element_at({_list(people)}, {_draw(len(people), seed, 1)} + 1) AS s"
    )
    first, last = (_list([r[i] for r in STATES.values()]) for i in (0, 1))
    with_zip = numbered.selectExpr(
        "id",
        f"element_at({_list(list(STATES))}, s + 1) AS state",
        f"element_at({first}, s + 1) AS first",
        f"element_at({last}, s + 1) AS last",
    )
    street = f"element_at({_list(list(_STREETS))}, {_draw(len(_STREETS), seed, 5)} + 1)"
    return with_zip.selectExpr(
        f"concat('O-', lpad(hex(xxhash64(id, {seed}, 2)), 16, '0')) AS order_id",
        f"concat('customer ', {_draw(1_000_000, seed, 3)}) AS customer",
        f"concat({_draw(9_998, seed, 4)} + 1, ' ', {street}) AS street",
        "state",
        f"lpad(CASE WHEN {_draw(100, seed, 6)} < {_FIRST_ZIP_PERCENT} THEN first "
        f"ELSE first + {_draw('(last - first + 1)', seed, 7)} END, 5, '0') AS zip_code",
        f"CAST(({_draw(49_900, seed, 8)} + 100) / 100 AS DECIMAL(9, 2)) AS amount",
        f"timestamp_seconds({_YEAR_BEGAN} + {_draw(_YEAR_SECONDS, seed, 9)}) AS ordered_at",
    )


def _draw(below: int | str, seed: int, which: int) -> str:
    """A whole number from 0 to below `below`, evenly."""
    return f"CAST(pmod(xxhash64(id, {seed}, {which}), {below}) AS INT)"


def _list(values: list[int] | list[str]) -> str:
    return f"array({', '.join(repr(v) for v in values)})"
