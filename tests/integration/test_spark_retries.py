"""Tasks that fail and are tried again: each row is there once, and what was left behind is found.

Spark tries a task again only where its master says so, so this runs in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("jvm")]

SCRIPT = """
import json, os, sys
from datetime import datetime, timedelta, timezone
import skipstone, skipstone.spark
from pyspark import TaskContext
from pyspark.sql import functions as F

place, later = sys.argv[1], datetime.now(timezone.utc) + timedelta(days=1)
spark = skipstone.spark.session("local[2, 3]", **{"spark.speculation": "true", "spark.driver.memory": "1g"})
catalog = skipstone.catalog(f"sqlite:///{place}/c.db", warehouse=f"{place}/lake")

@F.udf("long")
def fails_once(value):
    # The first attempt of a task dies after it has written rows.
    if TaskContext.get().attemptNumber() == 0 and value % 1000 == 999:
        raise RuntimeError("lost")
    return value

found = {}
for name, properties in (("native", {}), ("tasks", {"write.format.default": "avro"})):
    table = catalog.create_table(f"db.{name}", [("id", "long"), ("p", "long")], partition_by=["p"],
                                 properties={**properties, "write.distribution-mode": "none"})
    frame = spark.range(0, 2000, 1, 2).select(fails_once("id").alias("id"), (F.col("id") % 3).alias("p"))
    table.append(frame)
    ids = table.scan().to_arrow()["id"].to_pylist()
    known = set(table.inspect.files()["file_path"].to_pylist())
    disk = {os.path.join(r, f) for r, _, fs in os.walk(f"{table.location}/data") for f in fs}
    orphans = {f.path for f in table.remove_orphan_files(older_than=later, dry_run=True)}
    found[name] = [len(ids), len(set(ids)), sorted(disk - known - orphans)]
print("FOUND", json.dumps(found), flush=True)
spark.stop()
os._exit(0)  # nothing that still waits for the JVM may hold the test
"""


def test_tasks_that_are_tried_again_add_each_row_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, env=environment, timeout=300
    )
    line = next((text for text in done.stdout.splitlines() if text.startswith("FOUND")), None)
    assert line is not None, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(line.removeprefix("FOUND"))
    assert found == {"native": [2000, 2000, []], "tasks": [2000, 2000, []]}
