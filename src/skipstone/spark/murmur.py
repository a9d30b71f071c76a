"""The 32-bit hash of the bucket transform, in expressions that Spark compiles.

Spark's own `hash` is Murmur3 (x86, 32 bits) too, with two differences: it begins with seed 42, and it treats the bytes
after the last whole word one by one. The first is undone by hashing a number in front whose hash is 0, because Spark
takes the hash of one value as the seed of the next. For the second, every step of Murmur3 can be turned round: the
state after the whole words comes from Spark's hash of just those bytes, and what the rest contributes from Spark's
hash of one padded word.

Law: equal to `metadata.partitions.hashing`, bit by bit. Arithmetic wraps, so frames are built without ANSI mode.

Spec: "Appendix B: 32-bit Hash Requirements".
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import functions as F

from skipstone.spark.scan_names import quoted

_MASK: Final = 0xFFFFFFFF
_SPARK_SEED: Final = 42
_C1: Final = 0xCC9E2D51
_C2: Final = 0x1B873593
_ADDED: Final = 0xE6546B64
_F1: Final = 0x85EBCA6B
_F2: Final = 0xC2B2AE35
_WORD: Final = 4


def _signed(number: int) -> int:
    number &= _MASK
    return number - (1 << 32) if number >= 1 << 31 else number


def _inverse(number: int) -> int:
    return pow(number, -1, 1 << 32)


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return ((number << bits) | (number >> (32 - bits))) & _MASK


def _number_that_hashes_to_zero() -> int:
    """The int whose hash, from Spark's seed, is 0: Murmur3 for one word, backwards."""
    before_length = _WORD  # the last mixing keeps 0, and the length was put in before it
    word = _rotated((before_length - _ADDED) * _inverse(5), 32 - 13) ^ _SPARK_SEED
    return _signed(_rotated(word * _inverse(_C2), 32 - 15) * _inverse(_C1))


ZERO_SEED: Final = _number_that_hashes_to_zero()


def hash_of_long(column: Any) -> Any:
    """The hash of a column of longs."""
    return F.hash(F.lit(ZERO_SEED), column)


def hash_of_words(column: Any) -> Any:
    """The hash of a binary column whose values are all some multiple of four bytes long."""
    return F.hash(F.lit(ZERO_SEED), column)


def add_hash_of_bytes(frame: Any, source: Any, name: str) -> Any:
    """The frame with the hash of a binary column as column `name`, null where the source is null.

    Steps that use a value more than once stand in a projection of their own, else the expression would double with
    each of them.
    """
    b, n, h, t = (f"{name}.{part}" for part in ("bytes", "length", "state", "rest"))
    frame = frame.withColumn(b, source)
    frame = frame.withColumn(n, F.length(_at(b)))
    whole = _at(n).bitwiseAND(F.lit(~3))
    padded = F.substring(F.concat(_from(_at(b), whole), F.lit(bytearray(_WORD))), 1, _WORD)
    frame = frame.withColumns({h: hash_of_words(F.substr(_at(b), F.lit(1), whole)), t: hash_of_words(padded)})
    frame = frame.withColumns({c: _xor_shifted(_at(c), 16) * F.lit(_signed(_inverse(_F2))) for c in (h, t)})
    unshifted = {c: _at(c).bitwiseXOR(_right(_at(c), 13)).bitwiseXOR(_right(_at(c), 26)) for c in (h, t)}
    frame = frame.withColumns({c: e * F.lit(_signed(_inverse(_F1))) for c, e in unshifted.items()})
    frame = frame.withColumns(
        {
            h: _xor_shifted(_at(h), 16).bitwiseXOR(whole),
            t: (_xor_shifted(_at(t), 16).bitwiseXOR(F.lit(_WORD)) - F.lit(_signed(_ADDED)))
            * F.lit(_signed(_inverse(5))),
        }
    )
    rest = F.shiftleft(_at(t), 19).bitwiseOR(_right(_at(t), 13))
    frame = frame.withColumn(h, _at(h).bitwiseXOR(rest).bitwiseXOR(_at(n)))
    frame = frame.withColumn(h, _xor_shifted(_at(h), 16) * F.lit(_signed(_F1)))
    frame = frame.withColumn(h, _xor_shifted(_at(h), 13) * F.lit(_signed(_F2)))
    return frame.withColumn(name, _xor_shifted(_at(h), 16)).drop(b, n, h, t)


def _at(name: str) -> Any:
    return F.col(quoted(name))


def _from(column: Any, start: Any) -> Any:
    """At most three bytes from a place counted from 0."""
    return F.substr(column, start + F.lit(1), F.lit(3))


def _right(column: Any, bits: int) -> Any:
    return F.shiftrightunsigned(column, bits)


def _xor_shifted(column: Any, bits: int) -> Any:
    return column.bitwiseXOR(_right(column, bits))
