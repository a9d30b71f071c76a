"""A standalone cluster of separate executor processes: the package travels to them, and tables work through it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import cluster_job
from tests.support.spark_cluster import standalone_cluster

pytestmark = pytest.mark.spark

_JOB_SECONDS = 500


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = tmp_path_factory.mktemp("cluster")
    lake = tmp_path_factory.mktemp("lake")
    with standalone_cluster(home) as master:
        command = [sys.executable, cluster_job.__file__, master, str(lake)]
        # A driver of its own: this process may have a local session already.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYSPARK_")}
        done = subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, timeout=_JOB_SECONDS, check=False
        )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_tasks_run_in_processes_that_the_driver_did_not_start(story: Any) -> None:
    pids = {w["executor_pid"] for w in story["workers"]} | {w["pid"] for w in story["workers"]}
    assert pids
    assert story["driver_pid"] not in pids
    assert story["executors"] >= 1


def test_executors_import_the_shipped_package_and_not_the_drivers(story: Any) -> None:
    packages = {w["package"] for w in story["workers"]}
    assert len(packages) == 1
    (package,) = packages
    assert package != story["driver_package"]
    assert "skipstone-unpacked" in package
    assert Path(package).read_bytes() == Path(story["driver_package"]).read_bytes()


def test_executors_run_the_drivers_interpreter_and_its_compiled_code(story: Any) -> None:
    assert {Path(w["python"]).resolve() for w in story["workers"]} == {Path(sys.executable).resolve()}
    assert len({w["hash"] for w in story["workers"]}) == 1


def test_a_table_is_written_and_read_through_the_cluster(story: Any) -> None:
    assert story["rows"] == cluster_job.ROWS
    assert story["found"] == [{"id": 17, "state": "s3", "zip_code": "00017"}]
    assert story["files"] >= 2
