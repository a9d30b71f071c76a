"""The metastore's exclusive lock on one table, with which writers of all engines take turns."""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from skipstone.catalog.identifiers import Identifier, display
from skipstone.errors import CommitRejected, NotFound, SkipstoneError
from skipstone.hive.client import HiveClient
from skipstone.hive.errors import MetastoreError
from skipstone.hive.thrift import api

_EXCLUSIVE: Final = 3
_TABLE_LEVEL: Final = 2
_NO_TRANSACTION: Final = 6
_ACQUIRED: Final = 1
_WAITING: Final = 2
_LOCK_SECONDS_MAX: Final = 180.0
_WAIT_SECONDS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@contextmanager
def locked(client: HiveClient, identifier: Identifier) -> Iterator[None]:
    """Hold the lock on a table; CommitRejected if it is not to be had."""
    number = _acquire(client, identifier)
    try:
        yield
    finally:
        # A lock that is not given back expires by itself.
        with suppress(SkipstoneError, OSError):
            client.call("unlock", rqst=api.UnlockRequest(lockid=number))


def rejected(identifier: Identifier, problem: str) -> CommitRejected:
    return CommitRejected(f"Cannot commit to {display(identifier)}: {problem}. Nothing was published. Retry is safe.")


def _acquire(client: HiveClient, identifier: Identifier) -> int:
    component = api.LockComponent(
        type=_EXCLUSIVE,
        level=_TABLE_LEVEL,
        dbname=identifier[0],
        tablename=identifier[1],
        operationType=_NO_TRANSACTION,
    )
    request = api.LockRequest(component=[component], user=_user(), hostname=socket.gethostname(), agentInfo="skipstone")
    try:
        answer = client.call("lock", rqst=request)
        until, attempt = time.monotonic() + _LOCK_SECONDS_MAX, 0
        while answer.state == _WAITING and time.monotonic() < until:
            time.sleep(_WAIT_SECONDS[min(attempt, len(_WAIT_SECONDS) - 1)])
            attempt += 1
            answer = client.call("check_lock", rqst=api.CheckLockRequest(lockid=answer.lockid))
    except (MetastoreError, NotFound, ConnectionError) as error:
        raise rejected(identifier, f"no lock on the table: {error}") from error
    if answer.state != _ACQUIRED:
        with suppress(SkipstoneError, OSError):
            client.call("unlock", rqst=api.UnlockRequest(lockid=answer.lockid))
        raise rejected(identifier, f"expected a lock within {_LOCK_SECONDS_MAX:.0f} s, got state {answer.state}")
    return int(answer.lockid)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "skipstone"
