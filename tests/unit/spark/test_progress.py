from __future__ import annotations

from collections import namedtuple
from typing import Any, ClassVar

import pytest

pytest.importorskip("pyspark")

from skipstone.spark import progress as module
from skipstone.spark.progress import is_shown, tasks_of

Job = namedtuple("Job", "stageIds")
Stage = namedtuple("Stage", "numTasks numCompletedTasks")


class Tracker:
    """Three jobs; two share a stage, and one stage is forgotten already."""

    jobs: ClassVar = {1: Job([10]), 2: Job([11, 12]), 3: Job([12, 13])}
    stages: ClassVar = {10: Stage(5, 5), 11: Stage(4, 4), 12: Stage(8, 3)}

    def getJobIdsForGroup(self, group: str) -> list[int]:
        return [*self.jobs, 99]

    def getJobInfo(self, job: int) -> Any:
        return self.jobs.get(job)

    def getStageInfo(self, stage: int) -> Any:
        return self.stages.get(stage)


class Conf:
    def __init__(self, value: str | None) -> None:
        self.value = value

    def get(self, key: str, default: Any = None) -> Any:
        return self.value if self.value is not None else default


class Session:
    def __init__(self, value: str | None = None) -> None:
        self.conf = Conf(value)


def test_tasks_are_counted_once_a_stage_and_without_earlier_jobs() -> None:
    assert tasks_of(Tracker(), "g") == (12, 17)
    assert tasks_of(Tracker(), "g", earlier=frozenset({1})) == (7, 12)


@pytest.mark.parametrize(
    ("environment", "setting", "is_terminal", "expected"),
    [
        ("", None, True, True),
        ("", None, False, False),
        ("", "false", True, False),
        ("off", None, True, False),
        ("on", "false", False, True),
    ],
)
def test_nothing_is_shown_unless_a_person_looks(
    environment: str, setting: str | None, is_terminal: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(module.ENVIRONMENT, environment)
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: is_terminal, raising=False)
    session: Any = Session(setting)
    assert is_shown(session) is expected
