"""What every test may ask for, and the loud count of tests that could not run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.golden import golden_root
from tests.support.postgres import MISSING as NO_POSTGRES
from tests.support.postgres import Postgres, PostgresUnavailable
from tests.support.quick import is_quick, try_fewer_examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_RUNTIME = "Maven Central unreachable"


@pytest.fixture(scope="session")
def golden() -> Path:
    """The directory of the unpacked golden tables. Read only."""
    return golden_root()


@pytest.fixture(scope="session")
def iceberg_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the catalog `java` of the Spark session keeps its tables: `<warehouse>/<namespace>/<table>`."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def iceberg_java(iceberg_warehouse: Path) -> Iterator[SparkSession]:
    """A Spark session with Iceberg's own runtime; skips when the runtime cannot be had."""
    # Late, because starting pyspark costs a second that most runs do not need.
    from tests.support.spark import RuntimeUnavailable, iceberg_session

    try:
        session = iceberg_session(iceberg_warehouse)
    except RuntimeUnavailable as e:
        pytest.skip(str(e))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL server; skips when none is installed."""
    try:
        server = Postgres()
    except PostgresUnavailable as e:
        pytest.skip(str(e))
    yield server
    server.stop()


@pytest.fixture
def postgres_uri(postgres: Postgres) -> str:
    """The URI of a new empty schema in PostgreSQL."""
    return postgres.create_schema()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever asks for the session with Iceberg's runtime has the mark, so that `-m` can leave it out.

    The fast gate tries fewer examples of each property.
    """
    for item in items:
        if "iceberg_java" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.iceberg_java)
    if is_quick():
        try_fewer_examples(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """All tests with a JVM run in one worker: one session serves them all."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from tests.support.one_jvm import OneJvmScheduling  # late: without xdist there is nothing to schedule

    return OneJvmScheduling(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """After all other summaries, so that it cannot be overlooked."""
    yield
    for kind, reason in (("conformance", NO_RUNTIME), ("database", NO_POSTGRES)):
        skipped = [r for r in terminalreporter.stats.get("skipped", []) if reason in str(r.longrepr)]
        if skipped:
            text = f"{len(skipped)} {kind} tests skipped: {reason}"
            terminalreporter.write_sep("!", text, red=True, bold=True)
