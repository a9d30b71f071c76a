"""Which worker runs which test: all tests that need a JVM in one, everything else wherever there is room.

xdist does this by the mark `xdist_group`, which it carries to the scheduler in the test's id. pytest 9.2 no longer
lets it change the id, so the scheduler here looks at the test's file instead: a file that asks for the JVM goes to that
worker whole.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadGroupScheduling

JVM_GROUP = "jvm"
_ASKS_FOR_JVM = re.compile(r"\biceberg_java\b|\bmark\.spark\b")


class OneJvmScheduling(LoadGroupScheduling):
    def _split_scope(self, nodeid: str) -> str:
        path = Path(str(self.config.rootpath)) / nodeid.partition("::")[0]
        return JVM_GROUP if asks_for_jvm(path) else str(super()._split_scope(nodeid))


@cache
def asks_for_jvm(path: Path) -> bool:
    return path.is_file() and _ASKS_FOR_JVM.search(path.read_text("utf-8")) is not None
