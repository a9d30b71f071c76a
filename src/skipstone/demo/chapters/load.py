"""The table, made and loaded: partitioned by state, sorted by zip code, with statistics born in the same commit."""

from __future__ import annotations

import time
from typing import Final

from skipstone.demo.addresses import COLUMNS, addresses
from skipstone.demo.story import TABLE, Story
from skipstone.ui.numbers import in_bytes

# A scale model: many small files, as a table of a real size has many large ones.
FILE_SIZE_BYTES: Final = 24 * 1024
LAYOUT: Final = {
    "skipstone.index.columns": "zip_code",
    "write.distribution-mode": "range",
    "write.target-file-size-bytes": str(FILE_SIZE_BYTES),
}


def tell(story: Story) -> None:
    story.begin_chapter("Load")
    story.console.print(
        f"CREATE TABLE {TABLE} ({', '.join(name for name, _ in COLUMNS)})\n"
        "PARTITIONED BY (state), sorted by zip_code, zip_code indexed\n",
        highlight=False,
    )
    story.loaded = story.lake.create_table(
        TABLE,
        list(COLUMNS),
        partition_by=["state"],
        sort_by=["zip_code"],
        format_version=3,
        properties=LAYOUT,
    )
    started = time.perf_counter()
    story.loaded.append(addresses(story.spark, story.rows, story.seed))
    seconds = time.perf_counter() - started
    files = story.loaded.scan().plan().files
    size = sum(files.column("file_size_in_bytes").to_pylist())
    story.findings["load"] = {"seconds": seconds, "files": files.num_rows, "bytes": size}
    story.console.print(
        f"{story.rows:,} rows in {files.num_rows:,} files, {in_bytes(size)}, written and committed by Spark "
        f"in {seconds:.1f} s ({story.rows / seconds:,.0f} rows a second)\n",
        highlight=False,
    )
