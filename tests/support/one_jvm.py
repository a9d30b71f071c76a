"""Which worker runs which test: tests that need a JVM in two groups, everything else wherever there is room.

A JVM and its warm-up cost more than most tests, so all tests of a file share one, and there are two in all. xdist
groups tests by the mark `xdist_group`, which it carries to the scheduler in the test's id. pytest 9.2 no longer lets it
change the id, so the scheduler here looks at the test's file: a file that asks for the JVM goes to its group whole.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadGroupScheduling

JVM_GROUPS = 2
_ASKS_FOR_JVM = re.compile(r"\biceberg_java\b|\bmark\.spark\b")


class OneJvmScheduling(LoadGroupScheduling):
    def _split_scope(self, nodeid: str) -> str:
        path = Path(str(self.config.rootpath)) / nodeid.partition("::")[0]
        group = jvm_group(path)
        return f"jvm {group}" if group is not None else str(super()._split_scope(nodeid))


@cache
def jvm_group(path: Path) -> int | None:
    """The group of a file that asks for the JVM; such files take turns, in the order of their names."""
    if not asks_for_jvm(path):
        return None
    files = sorted(p for p in path.parents[1].glob("*/test_*.py") if asks_for_jvm(p))
    return files.index(path) % JVM_GROUPS if path in files else 0


@cache
def asks_for_jvm(path: Path) -> bool:
    return path.is_file() and _ASKS_FOR_JVM.search(path.read_text("utf-8")) is not None
