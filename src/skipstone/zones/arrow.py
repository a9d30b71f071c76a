"""Arrow as the judge sees it: untyped, because the type of a bound is known only at run time."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow
import pyarrow.compute

pa: Any = pyarrow
pc: Any = pyarrow.compute

Array: TypeAlias = Any  # one entry a zone, of any type
Bits: TypeAlias = Any  # one boolean a zone
Counts: TypeAlias = Any  # one int64 a zone, null for unknown
Scalar: TypeAlias = Any
