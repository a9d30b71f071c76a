"""One query with skipping off, at one level, and at all of them: what was read, and how long it took."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from skipstone.demo.story import QUERY, TABLE, Story
from skipstone.demo.ways import WAYS, Way, partitions_of, row_groups_of
from skipstone.spark.session import temporarily
from skipstone.ui.levels import LevelRow, blocks_of, svg_of, table_of
from skipstone.ui.numbers import in_percent

PICTURE: Final = "skipping.svg"
_PUSH_DOWN: Final = "spark.sql.parquet.filterPushdown"


def tell(story: Story) -> None:
    story.begin_chapter("Skip")
    text = f"SELECT count(*) FROM {TABLE} WHERE {QUERY}"
    story.console.print(f"{text}\n", highlight=False)
    rows = measured(story)
    story.findings["skipping"] = rows
    if len({r.count for r in rows}) != 1:
        raise AssertionError(f"Skipping must not change the answer: got {[(r.name, r.count) for r in rows]}.")
    picture = story.directory / PICTURE
    picture.write_text(svg_of(text, rows))
    holding = files_holding_a_match(story)
    story.findings["files_holding_a_match"] = holding
    off, best = rows[0], rows[-1]
    story.console.print(table_of(rows))
    story.console.print()
    story.console.print(blocks_of(rows))
    story.console.print(
        f"\n{best.files:,} of {off.files:,} files read; {holding:,} hold a match. "
        f"{in_percent(off.seconds - best.seconds, off.seconds)} less time than without skipping. Picture: {picture}\n",
        highlight=False,
    )


def measured(story: Story) -> list[LevelRow]:
    """Every way, run in turn so that a slow moment of the machine hits all of them."""
    seconds: dict[str, list[float]] = {way.name: [] for way in WAYS}
    counts: dict[str, int] = {}
    run(story, WAYS[-1])  # what is loaded once per process is loaded before the clock starts
    for _ in range(story.passes):
        for way in WAYS:
            took, counts[way.name] = run(story, way)
            seconds[way.name].append(took)
    return [_row(story, way, statistics.median(seconds[way.name]), counts[way.name]) for way in WAYS]


def run(story: Story, way: Way) -> tuple[float, int]:
    """Plan and count, as a user who has just loaded the table would."""
    with reading(story, way):
        table: Any = story.lake.load_table(TABLE)
        started = time.perf_counter()
        count = way.scan_of(table, QUERY).to_spark(story.spark).count()
        return time.perf_counter() - started, int(count)


@contextmanager
def reading(story: Story, way: Way) -> Iterator[None]:
    """Frames made in here skip row groups only if the way may: Spark's reader is bound when a frame is made."""
    with temporarily(story.spark, {_PUSH_DOWN: str(way.skips_row_groups).lower()}):
        yield


def files_holding_a_match(story: Story) -> int:
    """How many files a perfect index would read."""
    found = story.table.scan(QUERY, columns=["_file"]).to_arrow()
    return len(found.column("_file").unique())


def _row(story: Story, way: Way, seconds: float, count: int) -> LevelRow:
    scan = way.scan_of(story.table, QUERY)
    plan = scan.plan()
    groups, size = row_groups_of(scan, skips=way.skips_row_groups)
    return LevelRow(
        name=way.name,
        partitions=partitions_of(plan),
        files=len(plan),
        row_groups=groups,
        bytes=size,
        seconds=seconds,
        count=count,
    )
