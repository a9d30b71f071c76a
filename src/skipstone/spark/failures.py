"""Errors that happen inside Spark, as ours: raised by an expression of ours, or by our code in a Python task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import functions as F

from skipstone import errors
from skipstone.errors import InvalidInput, SkipstoneError

_START: Final = "<skipstone:"
_END: Final = ":skipstone>"
_RAISED_BY_SPARK: Final = re.compile(f"{_START}(.*?){_END}", re.DOTALL)
_RAISED_IN_TASK: Final = re.compile(r"skipstone\.errors\.(\w+): ([^\n]*)")


def refuse(*parts: Any) -> Any:
    """An expression that ends the job with InvalidInput; parts are text or columns."""
    texts = [F.lit(p) if isinstance(p, str) else F.coalesce(p.cast("string"), F.lit("null")) for p in parts]
    return F.raise_error(F.concat(F.lit(_START), *texts, F.lit(_END)))


@contextmanager
def told_as_ours() -> Iterator[None]:
    """What our expressions and tasks raised inside Spark comes out as it was raised."""
    try:
        yield
    except PySparkException as error:
        found = ours_in(str(error))
        if found is None:
            raise
        raise found from error


@contextmanager
def told_in_a_line() -> Iterator[None]:
    """What Spark refuses, such as an unknown column, is InvalidInput: its own words without the plan it adds below."""
    log = PySparkLogger.getLogger("SQLQueryContextLogger")  # says the same again, as JSON
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    except PySparkException as error:
        if error.getCondition() is None:
            raise
        raise InvalidInput(str(error).partition("\n")[0]) from error
    finally:
        log.disabled = was_disabled


def ours_in(text: str) -> SkipstoneError | None:
    """The error of ours that a message of Spark's carries, if any."""
    if raised := _RAISED_BY_SPARK.search(text):
        return InvalidInput(raised[1])
    if raised := _RAISED_IN_TASK.search(text):
        kind: Any = getattr(errors, raised[1], None)
        if isinstance(kind, type) and issubclass(kind, SkipstoneError):
            made: SkipstoneError = kind(raised[2])
            return made
    return None
