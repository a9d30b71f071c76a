"""Our errors as the exceptions that a method declares."""

from __future__ import annotations

from skipstone.errors import (
    AlreadyExists,
    CommitRejected,
    FormatViolation,
    InvalidInput,
    NotFound,
    SkipstoneError,
)
from skipstone.hive.thrift import Method, Struct, api

# For each kind of error the exceptions that say it, the best first.
_CHOICES: tuple[tuple[type[SkipstoneError], tuple[str, ...]], ...] = (
    (
        NotFound,
        (
            "NoSuchObjectException",
            "UnknownTableException",
            "UnknownDBException",
            "NoSuchLockException",
            "InvalidOperationException",
        ),
    ),
    (AlreadyExists, ("AlreadyExistsException", "InvalidOperationException")),
    (InvalidInput, ("InvalidObjectException", "InvalidInputException", "InvalidOperationException")),
    (FormatViolation, ("InvalidObjectException", "InvalidInputException")),
    (CommitRejected, ("MetaException",)),
)


def declared_exception(method: Method, error: Exception) -> tuple[str, Struct] | None:
    """The field of a method's answer for an error, and the exception in it; None if the method declares none."""
    if isinstance(error, Struct) and type(error) in method.throws:
        return method.throws[type(error)], error
    message = str(error)
    wanted = next((names for kind, names in _CHOICES if isinstance(error, kind)), ())
    for name in (*wanted, "MetaException"):
        made = getattr(api, name)
        if made in method.throws:
            return method.throws[made], made(message=message)
    return None
