"""A job for a cluster, run as a driver of its own: `python cluster_job.py MASTER DIRECTORY`. Prints JSON.

It stands alone on purpose: executors must get along with what the session ships to them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import skipstone
from skipstone.spark import session

ROWS = 2_000


def seen_by_an_executor(_: Any) -> Iterator[dict[str, Any]]:
    import os
    import sys

    import pyarrow as pa

    import skipstone
    from skipstone.metadata.partitions.hashing import hash_array
    from skipstone.metadata.types import STRING

    # Hashing many strings takes the compiled path, whose cache must find a place beside the shipped code.
    hashes = hash_array(STRING, pa.array([str(n) for n in range(5_000)]))
    yield {
        "pid": os.getpid(),
        "executor_pid": os.getppid(),
        "package": skipstone.__file__,
        "python": sys.executable,
        "hash": hashes[0].as_py(),
    }


def main(master: str, directory: str) -> None:
    loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    spark = session(
        master,
        **loopback,
        **{"spark.executor.memory": "512m", "spark.executor.cores": 1, "spark.sql.shuffle.partitions": 2},
    )
    workers = spark.sparkContext.parallelize(range(4), 4).mapPartitions(seen_by_an_executor).collect()
    lake = skipstone.catalog(f"sqlite:///{directory}/catalog.db", warehouse=directory)
    columns = [("id", "long"), ("state", "string"), ("zip_code", "string")]
    table = lake.create_table(
        "db.t", columns, partition_by=["bucket(2, state)"], sort_by=["zip_code"], format_version=3
    )
    frame = spark.range(ROWS).selectExpr("id", "concat('s', id % 7) AS state", "lpad(id, 5, '0') AS zip_code")
    table.append(frame)
    story = {
        "driver_pid": os.getpid(),
        "driver_package": skipstone.__file__,
        "workers": workers,
        "executors": spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos().__len__() - 1,
        "rows": table.scan().to_spark(spark).count(),
        "found": [r.asDict() for r in table.scan("zip_code = '00017'").to_spark(spark).collect()],
        "files": table.scan().plan().files.num_rows,
    }
    spark.stop()
    print(json.dumps(story))


if __name__ == "__main__":
    main(*sys.argv[1:])
