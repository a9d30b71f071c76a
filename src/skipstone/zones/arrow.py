"""Arrow as the judge sees it: untyped, because the type of a bound is known only at run time."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

pa: Any = pyarrow
pc: Any = pyarrow.compute

Array: TypeAlias = Any  # one entry a zone, of any type
Bits: TypeAlias = Any  # one boolean a zone
Counts: TypeAlias = Any  # one int64 a zone, null for unknown
Scalar: TypeAlias = Any
Mask: TypeAlias = npt.NDArray[np.bool_]


def certain(proof: Bits) -> Bits:
    """True only where it is known to be true. (Much faster than filling nulls: two bitmaps, one AND.)"""
    if proof.null_count == 0:
        return proof
    known, true = (
        pa.Array.from_buffers(pa.bool_(), len(proof), [None, buffer], offset=proof.offset) for buffer in proof.buffers()
    )
    return pc.and_(known, true)


def has_any(proof: Bits) -> bool:
    return bool(proof.true_count)


def unpacked(proof: Bits) -> Mask:
    """Bits as NumPy booleans; what stands where a bit is null is anything. (Several times faster than Arrow's own.)"""
    end = proof.offset + len(proof)
    packed = np.frombuffer(proof.buffers()[1], np.uint8) if len(proof) else np.zeros(0, np.uint8)
    return np.unpackbits(packed[: (end + 7) // 8], count=end, bitorder="little")[proof.offset :].view(np.bool_)


def numbers(array: Array) -> npt.NDArray[Any]:
    """The numbers of an array without a copy; what stands where a value is null is anything."""
    values: npt.NDArray[Any] = pa.Array.from_buffers(
        array.type, len(array), [None, array.buffers()[1]], offset=array.offset
    ).to_numpy()
    return values


def is_known(array: Array) -> Mask | None:
    """Where an array is not null; None where all of it is not."""
    return None if array.null_count == 0 else unpacked(array.is_valid())
