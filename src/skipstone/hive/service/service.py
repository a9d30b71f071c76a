"""The service: one call in, its answer out.

What a method declares it may throw is thrown as that; anything else becomes a Thrift application exception. Without
`allow_writes` every call that changes something is refused before it is looked at.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from skipstone.errors import InvalidInput, SkipstoneError
from skipstone.hive.service.faults import declared_exception
from skipstone.hive.service.reading import ReadingCalls
from skipstone.hive.service.remembered import Remembered
from skipstone.hive.service.requests import RequestReadingCalls, RequestWritingCalls
from skipstone.hive.service.statistics import StatisticsReadingCalls, StatisticsWritingCalls
from skipstone.hive.service.writing import LockCalls, WritingCalls
from skipstone.hive.store import HiveStore
from skipstone.hive.thrift import Message, MessageKind, Method, Struct, api, methods
from skipstone.hive.thrift.binary import Input, skip
from skipstone.hive.thrift.idl import STRUCT
from skipstone.hive.thrift.messages import write_message

_UNKNOWN_METHOD: Final = 1
_INTERNAL_ERROR: Final = 6
_PROTOCOL_ERROR: Final = 7
_log = logging.getLogger(__name__)

_WRITES: Final = frozenset(
    name
    for part in (WritingCalls, RequestWritingCalls, StatisticsWritingCalls, LockCalls)
    for name in vars(part)
    if name in methods
)

# Questions that planners repeat, and whose answers are small.
_REPEATED: Final = frozenset({"get_aggr_stats_for"})

# Arguments without which a call says nothing; Thrift itself has no way to ask for them.
_NEEDED: Final = frozenset(
    {"db_name", "dbname", "tbl_name", "table_name", "stats_obj", "request", "req", "rqst", "ids", "tbl", "new_tbl",
     "new_part", "database", "db", "dropTableReq", "partitionReq", "createDatabaseRequest", "alterDbReq",
     "appendPartitionsReq", "dropPartitionReq"}
)  # fmt: skip


class HiveService(
    ReadingCalls,
    RequestReadingCalls,
    StatisticsReadingCalls,
    StatisticsWritingCalls,
    WritingCalls,
    RequestWritingCalls,
    LockCalls,
):
    """Answers the metastore's calls from a store. Safe for many threads.

    Clients older than Hive 3 do not know statistics of timestamps: they get whole numbers, as from the metastores of
    their time, wherever a request tells their age. `for_hive_2` gives them to everybody.
    """

    def __init__(self, store: HiveStore, *, allow_writes: bool = False, for_hive_2: bool = False) -> None:
        LockCalls.__init__(self)
        self._for_hive_2 = for_hive_2
        self._store = store
        self._allow_writes = allow_writes
        self._remembered = Remembered(store)
        # The server gives each client a thread of its own, so what is known of a client is known to its thread.
        self._client = threading.local()

    def answer(self, call: Message, source: Input) -> bytearray:
        """The reply to a call whose arguments follow in `source`; they are read to their end in any case."""
        method = methods.get(call.name)
        reply = Message(name=call.name, kind=MessageKind.REPLY, sequence=call.sequence, is_framed=call.is_framed)
        if method is None or not hasattr(self, call.name):
            skip(source, STRUCT)
            source.end_frame()
            return failure(call, f"Unknown method {call.name!r}.", code=_UNKNOWN_METHOD)
        began = source.at
        arguments = method.arguments.read(source)
        source.end_frame()
        try:
            if call.name in _REPEATED:
                form = b"2" if self._has_named_user() else b"4"
                question = form + call.name.encode("utf-8") + source.data[began : source.at]
                answer = self._remembered.answer(question, lambda: self._answered(method, arguments))
            else:
                answer = self._answered(method, arguments)
            if isinstance(answer, api.TApplicationException):
                return failure(call, answer.message, code=answer.type)
            return write_message(reply, answer.write)
        except Exception as error:
            # A value that the protocol cannot hold: the client is told, and asks its next question.
            _log.exception("the answer to %s could not be written", call.name)
            return failure(call, f"Cannot answer {call.name}: {error}", code=_INTERNAL_ERROR)

    def _name_user(self) -> None:
        self._client.has_named_user = True

    def _has_named_user(self) -> bool:
        return bool(getattr(self._client, "has_named_user", False))

    def _answered(self, method: Method, arguments: Struct) -> Struct:
        answer: Struct = method.answer()
        try:
            if method.name in _WRITES and not self._allow_writes:
                raise api.MetaException(
                    message=f"Cannot {method.name}: this service only reads. Start it with writes allowed."
                )
            _check_given(method, arguments)
            result = getattr(self, method.name)(arguments)
            if not method.is_void:
                answer.success = result
        except Exception as error:
            if not isinstance(error, SkipstoneError | Struct):
                _log.exception("call %s failed", method.name)
            declared = declared_exception(method, error)
            if declared is None:
                return api.TApplicationException(  # type: ignore[no-any-return]
                    message=str(getattr(error, "message", None) or error), type=_INTERNAL_ERROR
                )
            setattr(answer, *declared)
        return answer


def _check_given(method: Method, arguments: Struct) -> None:
    missing = [name for name in method.arguments._names if name in _NEEDED and getattr(arguments, name) is None]
    if missing:
        raise InvalidInput(f"Invalid call of {method.name}: expected the argument {', '.join(missing)}, got none.")


def failure(call: Message, message: str, *, code: int = _PROTOCOL_ERROR) -> bytearray:
    """An application exception as the answer to a call."""
    reply = Message(name=call.name, kind=MessageKind.EXCEPTION, sequence=call.sequence, is_framed=call.is_framed)
    return write_message(reply, api.TApplicationException(message=message, type=code).write)
