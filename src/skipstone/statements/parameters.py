"""Arguments of a statement, put into its text as literals before anything else looks at it.

    skipstone.sql(spark, "DELETE FROM shop.orders WHERE id = :id", {"id": 7})
    skipstone.sql(spark, "SELECT * FROM IDENTIFIER(?) WHERE id = ?", ["shop.orders", 7])
    skipstone.sql(spark, "INSERT INTO shop.orders SELECT * FROM {news}", news=frame)

Law: what an argument may be, and which literal it is, Spark says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import functions as F
from pyspark.sql.sql_formatter import SQLStringFormatter

from skipstone.errors import InvalidInput
from skipstone.spark.copies import active_in_jvm
from skipstone.spark.java import java_class, java_static

_PARSER: Final = "org.apache.spark.sql.catalyst.parser."
Arguments = Mapping[str, Any] | Sequence[Any] | None


@contextmanager
def with_frames(spark: Any, text: str, frames: Mapping[str, Any]) -> Iterator[str]:
    """The text with `{name}` as something that Spark finds while the statement runs: frames, columns and values."""
    if not frames:
        yield text
        return
    formatter = SQLStringFormatter(spark)
    try:
        yield formatter.format(text, **frames)
    finally:
        formatter.clear()


def with_arguments(spark: Any, text: str, args: Arguments) -> str:
    """The text with literals for `:name` or `?`."""
    if not args:
        return text
    if isinstance(args, str) or not isinstance(args, Mapping | Sequence):
        raise InvalidInput(
            f"Invalid arguments: expected a dict for :name or a list for ?, got {type(args).__name__} {args!r}."
        )
    named = args if isinstance(args, Mapping) else {f"p{i}": value for i, value in enumerate(args)}
    java, to_scala = spark._jsparkSession, spark._jvm.PythonUtils
    given = {name: java.expression(F.lit(value)._jc) for name, value in named.items()}
    literals = java.resolveAndValidateParameters(to_scala.toScalaMap(given))
    if isinstance(args, Mapping):
        context = java_class(spark._jvm, f"{_PARSER}NamedParameterContext")(literals)
    else:
        ordered = to_scala.toSeq([literals.apply(name) for name in named])
        context = java_class(spark._jvm, f"{_PARSER}PositionalParameterContext")(ordered)
    with active_in_jvm(spark):  # moments are written in its time zone, in which they will be read
        return str(java_static(spark._jvm, f"{_PARSER}ParameterHandler", "substituteParameters")(text, context)._1())


def with_expressions(spark: Any, text: str, named: Mapping[str, str], positional: Sequence[str]) -> str:
    """The text with other text for `:name` or `?`, as USING of EXECUTE IMMEDIATE gives it."""
    parser = java_class(spark._jvm, f"{_PARSER}SubstituteParamsParser")()
    to_scala = spark._jvm.PythonUtils
    expected = getattr(parser, "substitute$default$4")()
    found = parser.substitute(
        text, to_scala.toScalaMap(dict(named)), to_scala.toSeq(list(positional)).toList(), expected, False,
        to_scala.toSeq([]), to_scala.toSeq([]),
    )  # fmt: skip
    return str(found._1())
