"""Column definitions as SQL writes them: `name TYPE [NOT NULL] [DEFAULT x] [COMMENT 'text'] [FIRST | AFTER name]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyspark.errors import ParseException
from pyspark.sql import types as T

from skipstone.errors import InvalidInput
from skipstone.metadata.schemas.fresh_ids import NO_ID
from skipstone.metadata.types import Type
from skipstone.spark.types import from_spark_type
from skipstone.statements.tokens import Tokens

_AFTER_A_TYPE: Final = ("NOT NULL", "COMMENT", "DEFAULT", "FIRST", "AFTER", ",", ")")
_AFTER_A_DEFAULT: Final = ("NOT NULL", "COMMENT", "FIRST", "AFTER", ",", ")")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDefinition:
    path: tuple[str, ...]
    type: Type
    required: bool = False
    doc: str | None = None
    default: str | None = None  # an expression's text
    first: bool = False
    after: str | None = None

    @property
    def name(self) -> str:
        return self.path[-1]


def parse_columns(tokens: Tokens) -> list[ColumnDefinition]:
    """Definitions in parentheses."""
    return tokens.listed(parse_column)


def parse_column(tokens: Tokens) -> ColumnDefinition:
    path = tokens.names("a column name")
    type_ = parse_type(tokens)
    required, doc, default, first, after = False, None, None, False, None
    while True:
        if tokens.accept("NOT", "NULL"):
            required = True
        elif tokens.accept("COMMENT"):
            doc = tokens.string("a comment in quotes")
        elif tokens.accept("DEFAULT"):
            default = tokens.until(*_AFTER_A_DEFAULT)
        elif tokens.accept("FIRST"):
            first = True
        elif tokens.accept("AFTER"):
            after = tokens.name("a column name")
        else:
            break
    return ColumnDefinition(
        path=path, type=type_, required=required, doc=doc, default=default, first=first, after=after
    )


def parse_type(tokens: Tokens) -> Type:
    """A type, as Spark writes it."""
    place = tokens.at
    text = tokens.until(*_AFTER_A_TYPE, in_types=True)
    if not text:
        tokens.fail("a type")
    try:
        return from_spark_type(spark_type(text), lambda: NO_ID)
    except ParseException:
        tokens.at = place
        tokens.fail("a type such as BIGINT, STRING, DECIMAL(9, 2) or ARRAY<INT>")


def spark_type(text: str) -> Any:
    return T._parse_datatype_string(text)


def constant(spark: Any, text: str, type_: Any, *, what: str) -> Any:
    """The value of an expression without columns, cast to a Spark type."""
    try:
        return spark.sql(f"SELECT CAST({text} AS {type_.simpleString()})").first()[0]
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise InvalidInput(f"Invalid {what} {text}: expected a constant {type_.simpleString()}. {reason}") from None
