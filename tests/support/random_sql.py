"""Random values, columns and conditions as SQL text with all that pruners stumble over."""

from __future__ import annotations

from random import Random
from typing import Final

TYPES: Final = {
    "b": "BOOLEAN",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "s": "STRING",
    "bin": "BINARY",
    "dt": "DATE",
    "ts": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
    "dec": "DECIMAL(12,3)",
    "dec2": "DECIMAL(30,10)",
}
STRUCT: Final = "STRUCT<x:INT,y:STRING,z:STRUCT<q:DOUBLE>>"
NESTED: Final = {"st": STRUCT, "ar": "ARRAY<STRUCT<k:INT,v:STRING>>", "mp": "MAP<STRING,DOUBLE>"}
PROMOTIONS: Final = {"INT": "BIGINT", "FLOAT": "DOUBLE", "DECIMAL(12,3)": "DECIMAL(18,3)"}

_FLOATS: Final = ("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1e-300", "3.4e38", "0.25", "-4.75", "3.5")
_TEXTS: Final = ("", "a", "ab", "abc" * 10, "é", "\U0001f600x" * 6, "z" * 17, "\uffff" * 17, "A b", "n%20/1", "n%20/4")
_BINARIES: Final = ("", "00", "ff", "ffff", "7f80", "ab" * 20)
_DAYS: Final = ("1969-12-31", "1970-01-01", "0001-01-01", "9999-12-31", "2024-02-29", "2017-08-12", "2026-03-19")
_TIMES: Final = (
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    "1582-10-04 12:00:00",
    "2024-02-29 06:30:00.123456",
    "2024-02-29 07:00:00",
)
_NUMBERS: Final = {
    "DECIMAL(12,3)": ("0", "-0.001", "999999999.999", "-99999.999", "12.125", "-3.5"),
    "DECIMAL(18,3)": ("0", "-0.001", "999999999999.999", "-99999.999", "12.125"),
    "DECIMAL(30,10)": ("0", "12345678901234567890.0000000001", "-9999999999999999999.9999999999", "-7", "4"),
}
_INTS: Final = {"INT": 2**31 - 1, "BIGINT": 2**63 - 1}


def literal(random: Random, kind: str, null_share: float = 0.15) -> str:
    """A value of a type."""
    if random.random() < null_share:
        return "NULL"
    if kind == "BOOLEAN":
        return random.choice(["true", "false"])
    if kind in _INTS:
        most = _INTS[kind]
        return f"CAST('{random.choice([random.randint(-5, 30), random.randint(-1000, 1000), most, -most])}' AS {kind})"
    if kind in ("FLOAT", "DOUBLE"):
        return f"CAST('{random.choice(_FLOATS)}' AS {kind})"
    if kind == "STRING":
        return f"'{random.choice(_TEXTS)}'"
    if kind == "BINARY":
        return f"X'{random.choice(_BINARIES)}'"
    if kind == "DATE":
        return f"DATE '{random.choice(_DAYS)}'"
    if kind in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return f"{kind} '{random.choice(_TIMES)}'"
    if kind in _NUMBERS:
        return f"CAST('{random.choice(_NUMBERS[kind])}' AS {kind})"
    return _nested(random, kind)


def _nested(random: Random, kind: str) -> str:
    if kind.startswith("MAP"):
        return f"map('k',{literal(random, 'DOUBLE')},'q',{literal(random, 'DOUBLE')})"
    if kind.startswith("ARRAY"):
        items = (f"named_struct('k',{literal(random, 'INT')},'v',{literal(random, 'STRING')})" for _ in range(2))
        return f"array({','.join(items)})"
    inner = f"named_struct('q',{literal(random, 'DOUBLE')})"
    return f"named_struct('x',{literal(random, 'INT')},'y',{literal(random, 'STRING')},'z',{inner})"


def partition_term(random: Random, column: str, kind: str) -> str | None:
    """A transform of a column, or None for what cannot partition."""
    if kind in ("INT", "BIGINT", "STRING") or kind.startswith("DECIMAL"):
        return random.choice([column, f"bucket(3,{column})", f"truncate(2,{column})"])
    if kind == "BINARY":
        return random.choice([f"bucket(3,{column})", f"truncate(1,{column})"])
    if kind == "DATE":
        return random.choice([column, *(f"{unit}({column})" for unit in ("years", "months", "days"))])
    if kind.startswith("TIMESTAMP"):
        return random.choice([f"{unit}({column})" for unit in ("years", "months", "days", "hours")])
    return column if kind == "BOOLEAN" else None


def condition(random: Random, columns: dict[str, str], depth: int = 0) -> str:
    """A filter over the plain columns and over the fields of structs that are still what they were."""
    form = random.random()
    if depth < 2 and form < 0.3:
        both = condition(random, columns, depth + 1), condition(random, columns, depth + 1)
        return f"({random.choice([' AND ', ' OR ']).join(both)})"
    if depth < 2 and form < 0.38:
        return f"NOT ({condition(random, columns, depth + 1)})"
    return _comparison(random, columns)


def _comparison(random: Random, columns: dict[str, str]) -> str:
    asked = {name: kind for name, kind in columns.items() if not kind.startswith(("STRUCT", "ARRAY", "MAP"))}
    for name, kind in columns.items():
        if kind == STRUCT:
            asked |= {f"{name}.x": "INT", f"{name}.z.q": "DOUBLE"}
    column = random.choice(list(asked))
    kind, form = asked[column], random.random()
    if form < 0.1:
        return f"{column} IS {random.choice(['', 'NOT '])}NULL"
    if form < 0.25:
        return f"{column} IN ({literal(random, kind)},{literal(random, kind)})"
    if kind == "STRING" and form < 0.4:
        return f"{column} LIKE '{random.choice(['a', 'ab', 'z', 'n_20', 'é', ''])}%'"
    if form < 0.5:
        return f"{column} <=> {literal(random, kind)}"
    return f"{column} {random.choice(['=', '<', '<=', '>', '>=', '<>'])} {literal(random, kind)}"
