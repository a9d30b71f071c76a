"""A standalone Spark cluster on loopback: a master and a worker, each a process of its own, as on other machines."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyspark

LOOPBACK = "127.0.0.1"
_STOP_SECONDS = 20
_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Successfully registered with master (spark://\S+)")


@contextmanager
def standalone_cluster(home: Path, *, cores: int = 2) -> Iterator[str]:
    """The master's address while the block runs. Logs and executors' directories are under `home`."""
    master = ["master.Master", "--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
    with _daemon(home, "master", master, _STARTED) as address:
        size = ["--cores", str(cores), "--memory", "1g", "--host", LOOPBACK, "--webui-port", "0"]
        worker = ["worker.Worker", *size, "--work-dir", str(home / "work"), address]
        with _daemon(home, "worker", worker, _REGISTERED):
            yield address


@contextmanager
def _daemon(home: Path, name: str, arguments: list[str], ready: re.Pattern[str]) -> Iterator[str]:
    """What the process says about itself when it is ready."""
    spark_home = Path(pyspark.__file__).parent
    class_name, *rest = arguments
    command = [str(spark_home / "bin" / "spark-class"), f"org.apache.spark.deploy.{class_name}", *rest]
    directory = home / name
    directory.mkdir(parents=True)
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=_environment(spark_home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    assert process.stderr is not None
    try:
        yield _said(process.stderr, home / f"{name}.log", ready)
    finally:
        _stop(process)


def _said(output: IO[str], log: Path, ready: re.Pattern[str]) -> str:
    lines: list[str] = []
    for line in output:
        lines.append(line)
        found = ready.search(line)
        if found is not None:
            threading.Thread(target=_drain, args=(output, log, "".join(lines)), daemon=True).start()
            return found[1]
    raise AssertionError(f"Cannot start {log.stem}:\n{''.join(lines)}")


def _drain(output: IO[str], log: Path, beginning: str) -> None:
    """Keep reading, so that the process is never stopped by a full pipe."""
    with log.open("w") as file:
        file.write(beginning)
        file.writelines(output)


def _environment(spark_home: Path) -> dict[str, str]:
    """What a worker on another machine has: Java and Spark, but none of the driver's paths to Python code."""
    of_the_driver = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT")
    kept = {k: v for k, v in os.environ.items() if k not in of_the_driver}
    return {**kept, "SPARK_HOME": str(spark_home), "SPARK_LOCAL_IP": LOOPBACK, "SPARK_DAEMON_MEMORY": "256m"}


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
