"""Records of a checked container become Arrow: chooses the decoder, and words the errors.

Law: both decoders give the same table or the same error; which one runs is only a matter of cost. The compiled one
takes about half a second to load, so a process loads it once it has decoded as many records in Python as cost the same.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import pyarrow as pa

from skipstone.errors import FormatViolation, InvalidInput, Unsupported, what_exists
from skipstone.metadata.avro import decode_python
from skipstone.metadata.avro.container import AvroContainer
from skipstone.metadata.avro.decode_python import Place
from skipstone.metadata.avro.schema_program import EVERYTHING, Fields, Program, Wish, program_of
from skipstone.metadata.avro.schema_tree import Record, parse_schema_tree
from skipstone.metadata.avro.slots import Decoded
from skipstone.metadata.avro.to_arrow import BadValue, to_arrays, to_table
from skipstone.metadata.avro.varint import Beyond, Damage

_MACHINE: Final = "skipstone.metadata.avro.machine"
_COMPILED_RECORDS_MIN: Final = 16
_PYTHON_RECORDS_MAX: Final = 4096
_PYTHON_BYTES_MAX: Final = 4 * 1024 * 1024


@dataclass(slots=True)
class _Seen:
    """Records that went to the reference decoder for want of the compiled one."""

    records: int = 0


_seen: Final = _Seen()


def decode(container: AvroContainer, *, fields: Collection[str] | None = None) -> pa.Table:
    """The records as an Arrow table, all fields or the named ones, in the file's order."""
    wish: Wish = EVERYTHING
    if fields is not None:
        known = [f.name for f in schema_tree(container).fields]
        for name in fields:
            if name not in known:
                raise InvalidInput(
                    f"Cannot read field {name!r} of {container.kind} {container.source}. "
                    + what_exists("Fields", name, known)
                )
        wish = Fields(tuple((name, EVERYTHING) for name in dict.fromkeys(fields)))
    program = _program(container, wish, "")
    decoded = _run(container, program)
    try:
        return to_table(program.plan, decoded)
    except BadValue as bad:
        _fail(container, bad.row, bad.path, str(bad))


def decode_wish(container: AvroContainer, wish: Wish, *, transparent: str = "") -> tuple[int, dict[str, pa.Array[Any]]]:
    """The record count and the top-level columns of what is wished for."""
    program = _program(container, wish, transparent)
    decoded = _run(container, program)
    try:
        return decoded.record_count, to_arrays(program.plan, decoded)
    except BadValue as bad:
        _fail(container, bad.row, bad.path.removeprefix(f"{transparent}."), str(bad))


def schema_tree(container: AvroContainer) -> Record:
    """The container's schema as a checked tree."""
    try:
        return parse_schema_tree(container.schema_text, container.caps)
    except Damage as damage:
        container.fail(str(damage))
    except Beyond as beyond:
        _unsupported(container, str(beyond))


def _program(container: AvroContainer, wish: Wish, transparent: str) -> Program:
    try:
        return program_of(container.schema_text, container.caps, wish, transparent)
    except Damage as damage:
        container.fail(str(damage))
    except Beyond as beyond:
        _unsupported(container, str(beyond))


def _run(container: AvroContainer, program: Program) -> Decoded:
    count, decoded_max = container.record_count, container.caps.decoded_bytes_max
    try:
        if not _use_compiled(count):
            try:
                return decode_python.decode_blocks(program, _few_bytes(container.inflated()), decoded_max)
            except _ManyBytesError:
                pass  # few records, but large ones
        # Late, because importing Numba takes half a second, which small files are not worth.
        from skipstone.metadata.avro import decode_numba

        return decode_numba.decode_blocks(program, container.inflated(), count, decoded_max)
    except Place as place:
        _fail(container, place.record, place.path, str(place))


class _ManyBytesError(Exception):
    """More bytes than the reference decoder should see."""


def _few_bytes(blocks: Iterable[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
    left = _PYTHON_BYTES_MAX
    for data, count in blocks:
        left -= len(data)
        if left < 0:
            raise _ManyBytesError
        yield data, count


def is_compiled_loaded() -> bool:
    return _MACHINE in sys.modules


def _use_compiled(record_count: int) -> bool:
    """Small files never pay, large ones always do, and many small ones do together."""
    if record_count < _COMPILED_RECORDS_MIN:
        return False
    if is_compiled_loaded():
        return True
    _seen.records += record_count
    return _seen.records > _PYTHON_RECORDS_MAX


def _unsupported(container: AvroContainer, text: str) -> NoReturn:
    raise Unsupported(f"Cannot read {container.kind} {container.source}: {text}.")


def _fail(container: AvroContainer, record: int | None, path: str, text: str) -> NoReturn:
    where = "" if record is None else f"{container.row_word} {record}{', ' if path else ''}{path}: "
    raise FormatViolation(f"Invalid {container.kind} {container.source}: {where}{text}.")
