"""A progress bar for the Spark jobs of one piece of work.

The jobs started inside the block get a job group (the user's own, if the thread has one, so that cancelling it still
works); a thread asks Spark how many of their tasks are done.
Nothing is shown unless a person is looking: standard error is a terminal, and neither the environment
(`SKIPSTONE_PROGRESS=off`) nor the session (`spark.skipstone.progress=false`) says otherwise.
"""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from skipstone.spark.session import is_remote

ENVIRONMENT: Final = "SKIPSTONE_PROGRESS"
SETTING: Final = "spark.skipstone.progress"
_OFF: Final = frozenset({"off", "false", "0", "no"})
_ON: Final = frozenset({"on", "true", "1", "yes"})
_POLL_SECONDS: Final = 0.2
_GROUP: Final = "spark.jobGroup.id"
_GROUP_KEYS: Final = (_GROUP, "spark.job.description", "spark.job.interruptOnCancel")


@contextmanager
def progress(spark: SparkSession, what: str, *, console: Console | None = None) -> Iterator[None]:
    """Show how far the jobs started in this block are: `with progress(spark, "writing shop.orders"): …`."""
    if not is_shown(spark):
        yield
        return
    context = spark.sparkContext
    with _job_group(context, what) as group, _bar(console) as bar:
        task = bar.add_task(what, total=None)
        over = threading.Event()
        earlier = frozenset(context.statusTracker().getJobIdsForGroup(group))
        watcher = threading.Thread(target=_watch, args=(context, group, earlier, bar, task, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def is_shown(spark: SparkSession) -> bool:
    """Whether a person is looking and has not asked for quiet. The environment has the last word."""
    if is_remote(spark):
        return False
    said = os.environ.get(ENVIRONMENT, "").lower()
    if said in _OFF or said in _ON:
        return said in _ON
    setting = (spark.conf.get(SETTING, None) or "").lower()
    return setting not in _OFF and sys.stderr.isatty()


def tasks_of(tracker: Any, group: str, *, earlier: frozenset[int] = frozenset()) -> tuple[int, int]:
    """How many tasks of a job group's later jobs are done, and of how many that Spark knows by now."""
    done = total = 0
    jobs = set(tracker.getJobIdsForGroup(group)) - earlier
    stages = {s for job in jobs for s in _stages(tracker, job)}
    for stage in stages:
        info = tracker.getStageInfo(stage)
        if info is not None:
            done += info.numCompletedTasks
            total += info.numTasks
    return done, total


def _stages(tracker: Any, job: int) -> list[int]:
    info = tracker.getJobInfo(job)
    return [] if info is None else list(info.stageIds)


def _watch(context: Any, group: str, earlier: frozenset[int], bar: Progress, task: Any, over: threading.Event) -> None:
    tracker = context.statusTracker()
    most = 0
    while not over.wait(_POLL_SECONDS):
        done, total = tasks_of(tracker, group, earlier=earlier)
        # Spark forgets old stages: what was seen once stays counted.
        most = max(most, total)
        bar.update(task, completed=max(done, most - (total - done)), total=most or None)
    bar.update(task, completed=most, total=most or None)


@contextmanager
def _job_group(context: Any, what: str) -> Iterator[str]:
    """The job group of this thread, or one for the time being."""
    before = {key: context.getLocalProperty(key) for key in _GROUP_KEYS}
    if before[_GROUP] is not None:
        yield before[_GROUP]
        return
    group = f"skipstone-{uuid.uuid4()}"
    context.setJobGroup(group, what)
    try:
        yield group
    finally:
        for key, value in before.items():
            context.setLocalProperty(key, value)


@contextmanager
def _bar(console: Console | None) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("tasks"))
    with Progress(*columns, TimeElapsedColumn(), console=console or Console(stderr=True), transient=True) as bar:
        yield bar
