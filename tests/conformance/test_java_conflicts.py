"""Of two operations that began together, Iceberg Java and we refuse the same second ones."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RACES = 15
STRICTER = (
    # Rows of a file that others have deleted are gone either way; we leave no delete file that names no file.
    "which new deletes point to, was removed meanwhile",
    # Java looks at deletes of the files that are replaced. We look at the filter: new rows may be copies of others.
    "was added meanwhile and may delete rows where",
)


@pytest.mark.parametrize("version", [2, 3])
def test_what_java_refuses_after_another_commit_is_refused(
    iceberg_java: SparkSession, tmp_path: Path, version: int
) -> None:
    # Late, because starting pyspark costs a second that most runs do not need.
    from tests.support.java_conflicts import Race, operations

    race, count = Race(iceberg_java, tmp_path, version), len(operations(version, ""))
    pairs = [(first, second) for first in range(count) for second in range(count)]
    for first, second in Random(version).sample(pairs, RACES):
        story, ((ours, live), (java, their_live)) = race.run(first, second)
        if java is None and any(reason in (ours or "") for reason in STRICTER):
            continue
        assert (ours is None) == (java is None), f"{story}: ours {ours}, Java {java}"
        assert live == their_live, story
