"""The same statistics as Hive asks for them: HiveQL on the table, kept in the metastore's own tables."""

from __future__ import annotations

from typing import Final

from skipstone.demo.story import TABLE, Story
from skipstone.hive.analyzer import LakeAnalyzer
from skipstone.hive.describe import render
from skipstone.hive.session import HiveSession
from skipstone.hive.store import HiveStore

STORE: Final = "hive.db"
STATEMENTS: Final = (
    f"ANALYZE TABLE {TABLE} COMPUTE STATISTICS FOR COLUMNS zip_code, amount",
    f"DESCRIBE FORMATTED {TABLE} amount",
)


def tell(story: Story) -> None:
    story.begin_chapter("Hive")
    store = HiveStore(f"sqlite:///{story.directory}/{STORE}")
    session = HiveSession(store, analyzer=LakeAnalyzer(story.lake, store))
    for statement in STATEMENTS:
        rows = session.run(statement)
        story.findings[statement] = rows
        story.console.print(f"hive> {statement};", highlight=False, markup=False)
        story.console.print(render(rows).expandtabs(), highlight=False, markup=False, soft_wrap=True)
