"""One SQL statement: what kind it is, and who carries it out.

What we do not know is Spark's: it is passed on as it is, unless it names one of our tables.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from skipstone.errors import Unsupported
from skipstone.lake import Lake
from skipstone.spark.catalogs import Attached, attached_to
from skipstone.spark.session import active, prepared
from skipstone.statements.alter import alter
from skipstone.statements.create import create, replace_table
from skipstone.statements.describe import describe
from skipstone.statements.drop import drop
from skipstone.statements.explain import explain
from skipstone.statements.identifiers import with_plain_names
from skipstone.statements.insert import insert, insert_many
from skipstone.statements.merging import merge
from skipstone.statements.names import Names
from skipstone.statements.parameters import Arguments, with_arguments, with_frames
from skipstone.statements.query import check_syntax, plan_query, run_query, spark_sql
from skipstone.statements.references import find_references
from skipstone.statements.results import nothing
from skipstone.statements.row_changes import delete, truncate, update
from skipstone.statements.show import show
from skipstone.statements.tokens import Tokens
from skipstone.statements.variables import execute_immediate, set_variables

_QUERIES: Final = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
_CHANGES: Final = {"INSERT": insert, "DELETE": delete, "UPDATE": update, "MERGE": merge}
_AFTER_DEFINITIONS: Final = (*_CHANGES, "SELECT", "VALUES", "FROM", "TABLE")


def sql(spark: Any, text: str, args: Arguments = None, *, catalog: Lake | None = None, **frames: Any) -> Any:
    """Run a statement over our tables on Spark and return its answer as a DataFrame.

    Names are looked up in `catalog`, or in the catalogs attached to the session. `args` are values for `:name` (a dict)
    or `?` (a list); DataFrames and other `frames` stand in the text as `{name}`.
    """
    session = prepared(active(spark))
    own = attached = attached_to(session)
    before = own.namespace
    if catalog is not None:
        attached = Attached(lakes={**own.lakes, "": catalog}, default="", namespace=before, views=own.views)
    names = Names(attached, is_view=partial(_is_temporary_view, session))
    with with_frames(session, text, frames) as whole:
        answer = _run(session, names, with_arguments(session, whole, args))
    if attached.namespace != before:
        own.namespace = attached.namespace  # USE is for the session, whichever catalog a statement is for
    return nothing(session) if answer is None else answer


def _run(spark: Any, names: Names, text: str) -> Any:
    return _answer(spark, names, Tokens.of(with_plain_names(spark, text)))


def _is_temporary_view(spark: Any, name: str) -> bool:
    return bool(spark._jsparkSession.sessionState().catalog().getRawTempView(name).isDefined())


def _answer(spark: Any, names: Names, tokens: Tokens) -> Any:
    definitions, verb = _definitions_before_a_change(tokens)
    if verb is not None:
        return _CHANGES[verb](spark, names, tokens, definitions)
    if tokens.looks_at_any(*_QUERIES):
        check_syntax(spark, tokens.text)
        _refuse_where_at_the_end(tokens)
        hidden = _verb_after(tokens)
        if hidden is not None:
            return _hidden_change(spark, names, tokens, hidden)
        return run_query(spark, plan_query(spark, names, tokens.rest()))
    if tokens.accept("EXECUTE", "IMMEDIATE"):
        return execute_immediate(spark, tokens, partial(_run, spark, names))
    if tokens.accept("SET", "VARIABLE") or tokens.accept("SET", "VAR"):
        return set_variables(spark, names, tokens)
    if _is_about_functions(tokens):
        return _passed_on(spark, names, tokens)
    word = tokens.accept_any(
        "EXPLAIN", "INSERT", "DELETE", "UPDATE", "MERGE", "TRUNCATE", "CREATE", "REPLACE", "ALTER", "DROP", "SHOW",
        "DESCRIBE", "DESC", "USE",
    )  # fmt: skip
    match word:
        case "EXPLAIN":
            return explain(spark, names, tokens)
        case "INSERT":
            return insert(spark, names, tokens)
        case "DELETE":
            return delete(spark, names, tokens)
        case "UPDATE":
            return update(spark, names, tokens)
        case "MERGE":
            return merge(spark, names, tokens)
        case "TRUNCATE":
            return truncate(names, tokens)
        case "CREATE":
            return create(spark, names, tokens)
        case "REPLACE":
            return replace_table(spark, names, tokens)
        case "ALTER":
            return alter(spark, names, tokens)
        case "DROP":
            return drop(names, tokens)
        case "SHOW":
            return show(spark, names, tokens)
        case "DESCRIBE" | "DESC":
            return describe(spark, names, tokens)
        case "USE":
            return _use(names, tokens)
    return _passed_on(spark, names, tokens)


def _is_about_functions(tokens: Tokens) -> bool:
    """Whether a statement is about functions or variables, which are Spark's alone."""
    ahead = Tokens(tokens.text, tokens.items, tokens.at)
    if ahead.accept_any("CREATE", "DROP", "SHOW", "DESCRIBE", "DESC") is None:
        return False
    ahead.accept("OR", "REPLACE")
    ahead.accept_any("TEMPORARY", "TEMP", "USER", "SYSTEM", "ALL")
    return ahead.looks_at_any("FUNCTION", "FUNCTIONS", "VARIABLE")


def _definitions_before_a_change(tokens: Tokens) -> tuple[str, str | None]:
    """The WITH clause of `WITH … INSERT …` and the verb, which are passed; no verb if this is no such statement."""
    first = tokens.at
    if not tokens.looks_at("WITH"):
        return "", None
    tokens.at += 1
    tokens.until(*_AFTER_DEFINITIONS)
    while not tokens.is_done and tokens.items[tokens.at - 1].text != ")":
        tokens.at += 1  # the word is a name that the clause defines
        tokens.until(*_AFTER_DEFINITIONS)
    found = tokens.slice(first, tokens.at)
    verb = tokens.accept_any(*_CHANGES)
    if verb is None:
        tokens.at, found = first, ""
    return found, verb


def _refuse_where_at_the_end(tokens: Tokens) -> None:
    """Spark's parser takes the word for the alias of the table before it, and all rows for those that are wanted."""
    ahead = Tokens(tokens.text, tokens.items, len(tokens.items) - 1)
    if ahead.accept("WHERE"):
        ahead.fail("a condition")


def _verb_after(tokens: Tokens) -> str | None:
    """What begins like a query may be a statement: `FROM a INSERT INTO b …`, after a WITH maybe."""
    if not tokens.looks_at_any("FROM", "WITH"):
        return None
    ahead = Tokens(tokens.text, tokens.items, tokens.at)
    words = ("INSERT INTO", "INSERT OVERWRITE")
    ahead.until(*words, "SELECT")
    return next((w.split()[0] for w in words if ahead.looks_at(*w.split())), None)


def _hidden_change(spark: Any, names: Names, tokens: Tokens, verb: str) -> None:
    if verb == "INSERT" and tokens.looks_at("FROM"):
        return insert_many(spark, names, tokens)
    raise Unsupported(
        f"Cannot run {verb} after {tokens.items[tokens.at].text.upper()}: expected the statement to begin with {verb}. "
        "Put what comes before it into a subquery."
    )


def _use(names: Names, tokens: Tokens) -> None:
    tokens.accept_any("NAMESPACE", "DATABASE", "SCHEMA")
    parts = tokens.names("a namespace")
    tokens.end()
    attached = names.attached
    if parts[0] in attached.lakes:
        attached.default, parts = parts[0], parts[1:]
    attached.namespace = parts


def _passed_on(spark: Any, names: Names, tokens: Tokens) -> Any:
    check_syntax(spark, tokens.text)
    ours = [r for r in find_references(tokens.text) if names.find(r.parts) is not None]
    if ours:
        raise Unsupported(
            f"Cannot run {tokens.items[0].text.upper()} on table {'.'.join(ours[0].parts)}: it is not among the "
            "statements known here: SELECT, EXPLAIN, INSERT, DELETE, UPDATE, MERGE, TRUNCATE, CREATE, REPLACE, ALTER, "
            "DROP, SHOW, DESCRIBE, USE."
        )
    return spark_sql(spark, tokens.text)
