"""Branches, tags, roll-backs, cherry-picks, staged writes and expiry have the effect that they have in Iceberg Java."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = 40


@pytest.mark.parametrize("seed", range(4))
def test_a_story_of_a_timeline_is_the_same_for_both(iceberg_java: SparkSession, tmp_path: Path, seed: int) -> None:
    # Late, because starting pyspark costs a second that most runs do not need.
    from tests.support.java_timeline import Timelines

    timelines = Timelines(iceberg_java, tmp_path, seed)
    for _ in range(STEPS):
        timelines.step()
        if timelines.is_over:
            break
