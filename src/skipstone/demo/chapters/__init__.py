"""The chapters of the demo, in the order they are told. Each takes the story and tells its part of it."""

from collections.abc import Callable
from typing import Final

from skipstone.demo.chapters import analysis, explaining, hive, load, skipping, statistics
from skipstone.demo.story import Story

CHAPTERS: Final[tuple[Callable[[Story], None], ...]] = (
    load.tell,
    statistics.tell,
    analysis.tell,
    skipping.tell,
    explaining.tell,
    hive.tell,
)
