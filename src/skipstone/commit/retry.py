"""How long to wait before the next attempt: exponential back-off with jitter, bounded by count and by time.

Another engine may have set what nobody here can read. It holds as if it were not set: in the middle of a commit whose
answer was lost there must be no error about patience.

Waits double from the least to the greatest. Each is cut by a random part, so that writers who collided once do not
collide again. Time and chance are passed in, and so can be told in tests.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from skipstone.metadata.tables.properties import (
    COMMIT_MAX_RETRY_WAIT_MS,
    COMMIT_MIN_RETRY_WAIT_MS,
    COMMIT_NUM_RETRIES,
    COMMIT_NUM_STATUS_CHECKS,
    COMMIT_STATUS_CHECKS_MAX_WAIT_MS,
    COMMIT_STATUS_CHECKS_MIN_WAIT_MS,
    COMMIT_STATUS_CHECKS_TOTAL_WAIT_MS,
    COMMIT_TOTAL_RETRY_TIME_MS,
    hint_value,
)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The world's time and chance. `clock` is in milliseconds since the epoch, `sleep` takes seconds."""

    clock: Callable[[], int] = now_ms
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = field(default=random.random)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    num_retries: int
    min_wait_ms: int
    max_wait_ms: int
    total_timeout_ms: int

    def wait_ms(self, retry: int, chance: float) -> float:
        """How long to wait before a retry, counted from 1: between half and all of the doubled wait."""
        # Beyond this many doublings any wait is the greatest.
        doubled = self.min_wait_ms * 2 ** min(retry - 1, 40)
        return float(min(doubled, self.max_wait_ms)) * (0.5 + chance / 2)


def commit_policy(properties: Mapping[str, str]) -> RetryPolicy:
    """How often a commit that lost a race is tried again."""
    return RetryPolicy(
        num_retries=hint_value(properties, COMMIT_NUM_RETRIES),
        min_wait_ms=hint_value(properties, COMMIT_MIN_RETRY_WAIT_MS),
        max_wait_ms=hint_value(properties, COMMIT_MAX_RETRY_WAIT_MS),
        total_timeout_ms=hint_value(properties, COMMIT_TOTAL_RETRY_TIME_MS),
    )


def status_check_policy(properties: Mapping[str, str]) -> RetryPolicy:
    """How often the table is looked at after the catalog did not answer."""
    return RetryPolicy(
        num_retries=hint_value(properties, COMMIT_NUM_STATUS_CHECKS),
        min_wait_ms=hint_value(properties, COMMIT_STATUS_CHECKS_MIN_WAIT_MS),
        max_wait_ms=hint_value(properties, COMMIT_STATUS_CHECKS_MAX_WAIT_MS),
        total_timeout_ms=hint_value(properties, COMMIT_STATUS_CHECKS_TOTAL_WAIT_MS),
    )


class Retries:
    """Counts the retries of one commit."""

    def __init__(self, policy: RetryPolicy, timing: Timing) -> None:
        self._policy = policy
        self._timing = timing
        self._started = timing.monotonic()
        self._done = 0

    def wait(self) -> bool:
        """Sleep before the next attempt; False, without sleeping, when there shall be none."""
        if self._done >= self._policy.num_retries:
            return False
        wait_ms = self._policy.wait_ms(self._done + 1, self._timing.chance())
        passed_ms = (self._timing.monotonic() - self._started) * 1000
        if passed_ms + wait_ms > self._policy.total_timeout_ms:
            return False
        self._done += 1
        self._timing.sleep(wait_ms / 1000)
        return True
