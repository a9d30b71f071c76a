"""The service: one call in, its answer out.

What a method declares it may throw is thrown as that; anything else becomes a Thrift application exception. Without
`allow_writes` every call that changes something is refused before it is looked at.
"""

from __future__ import annotations

import logging
from typing import Final

from skipstone.errors import SkipstoneError
from skipstone.hive.service.faults import declared_exception
from skipstone.hive.service.reading import ReadingCalls
from skipstone.hive.service.statistics import StatisticsReadingCalls, StatisticsWritingCalls
from skipstone.hive.service.writing import LockCalls, WritingCalls
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Message, MessageKind, Struct, api, methods
from skipstone.hive.thrift.binary import Input, skip
from skipstone.hive.thrift.idl import STRUCT
from skipstone.hive.thrift.messages import write_message

_UNKNOWN_METHOD: Final = 1
_INTERNAL_ERROR: Final = 6
_PROTOCOL_ERROR: Final = 7
_log = logging.getLogger(__name__)

_WRITES: Final = frozenset(
    name for part in (WritingCalls, StatisticsWritingCalls, LockCalls) for name in vars(part) if name in methods
)


class HiveService(ReadingCalls, StatisticsReadingCalls, StatisticsWritingCalls, WritingCalls, LockCalls):
    """Answers the metastore's calls from a store. Safe for many threads."""

    def __init__(self, store: HiveStore, *, allow_writes: bool = False) -> None:
        LockCalls.__init__(self)
        self._store = store
        self._allow_writes = allow_writes

    def answer(self, call: Message, source: Input) -> bytearray:
        """The reply to a call whose arguments follow in `source`; they are read to their end in any case."""
        method = methods.get(call.name)
        reply = Message(name=call.name, kind=MessageKind.REPLY, sequence=call.sequence, is_framed=call.is_framed)
        if method is None or not hasattr(self, call.name):
            skip(source, STRUCT)
            return failure(call, f"Unknown method {call.name!r}.", code=_UNKNOWN_METHOD)
        arguments = method.arguments.read(source)
        answer = method.answer()
        try:
            if call.name in _WRITES and not self._allow_writes:
                raise api.MetaException(
                    message=f"Cannot {call.name}: this service only reads. Start it with writes allowed."
                )
            result = getattr(self, call.name)(arguments)
            if not method.is_void:
                answer.success = result
        except Exception as error:
            if not isinstance(error, SkipstoneError | Struct):
                _log.exception("call %s failed", call.name)
            declared = declared_exception(method, error)
            if declared is None:
                return failure(call, str(getattr(error, "message", None) or error), code=_INTERNAL_ERROR)
            setattr(answer, *declared)
        return write_message(reply, answer.write)


def failure(call: Message, message: str, *, code: int = _PROTOCOL_ERROR) -> bytearray:
    """An application exception as the answer to a call."""
    reply = Message(name=call.name, kind=MessageKind.EXCEPTION, sequence=call.sequence, is_framed=call.is_framed)
    return write_message(reply, api.TApplicationException(message=message, type=code).write)
