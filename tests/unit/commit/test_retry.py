"""Back-off: doubled, bounded, jittered, and ended by count or by time."""

from __future__ import annotations

from skipstone.commit.retry import Retries, RetryPolicy, Timing, commit_policy

POLICY = RetryPolicy(num_retries=4, min_wait_ms=100, max_wait_ms=300, total_timeout_ms=1_000)


def test_waits_double_up_to_the_greatest_and_chance_takes_up_to_half() -> None:
    assert [POLICY.wait_ms(n, 1.0) for n in (1, 2, 3, 4)] == [100, 200, 300, 300]
    assert [POLICY.wait_ms(n, 0.0) for n in (1, 2, 3, 4)] == [50, 100, 150, 150]
    assert POLICY.wait_ms(10_000, 1.0) == 300


def test_defaults_are_icebergs() -> None:
    policy = commit_policy({})
    assert policy == RetryPolicy(num_retries=4, min_wait_ms=100, max_wait_ms=60_000, total_timeout_ms=1_800_000)
    assert commit_policy({"commit.retry.num-retries": "9"}).num_retries == 9


def test_retries_end_by_count() -> None:
    slept: list[float] = []
    retries = Retries(POLICY, Timing(sleep=slept.append, monotonic=lambda: 0.0, chance=lambda: 1.0))
    assert [retries.wait() for _ in range(6)] == [True] * 4 + [False] * 2
    assert slept == [0.1, 0.2, 0.3, 0.3]


def test_retries_end_by_time() -> None:
    now = [0.0]
    timing = Timing(sleep=lambda s: now.__setitem__(0, now[0] + s + 0.4), monotonic=lambda: now[0], chance=lambda: 1.0)
    retries = Retries(POLICY, timing)
    # 0.1 + 0.4 passed, then 0.7 + 0.4 = 1.1 s: the third wait would end after the timeout.
    assert [retries.wait() for _ in range(3)] == [True, True, False]
