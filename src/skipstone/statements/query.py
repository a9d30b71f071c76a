"""A query over our tables, run by Spark over the files that are left.

    names -> tables -> plan over no files -> what Catalyst pushed to each table -> prune -> run the user's text

Law: the answer is Spark's, over the same rows. A table is pruned only by conditions that Catalyst put next to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from pyspark.errors import ParseException
from pyspark.sql import DataFrame
from sqlglot import TokenType

from skipstone.errors import InvalidInput
from skipstone.hosts import is_spark_frame
from skipstone.metadata.reserved import METADATA_COLUMNS, PARTITION_NAME
from skipstone.predicate import FloatOrder
from skipstone.predicate.nodes import TRUE
from skipstone.scan import Scan
from skipstone.spark.copies import active_in_jvm
from skipstone.spark.empty_relation import empty_relations
from skipstone.spark.java import java_static
from skipstone.spark.named_frames import named
from skipstone.spark.pushed_filters import PushedFilter, pushed_filters
from skipstone.spark.scan import read_scan
from skipstone.spark.types import to_spark_struct
from skipstone.statements.moments import MOVING, fixed_moments
from skipstone.statements.names import Found, Names
from skipstone.statements.references import Reference, find_references, rewrite
from skipstone.statements.tokens import Tokens
from skipstone.statements.views import expand_views

_NOT_PRUNED: Final = (
    f"any filter, because the query asks for {MOVING.lower()}, which moves between planning and running"
)
_PATTERNS: Final = "org.apache.spark.sql.catalyst.trees.TreePattern"
_ASKS_INSIDE: Final = "any filter, because a view or function of the query asks for the present, which moves"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableUse:
    """One table of a query, as it is scanned: the scan is pruned by what Catalyst pushed; `unused` could not help."""

    reference: Reference
    scan: Scan
    pushed: PushedFilter

    @property
    def is_pruned_by_more(self) -> bool:
        """Whether the scan's filter says more than the query, which looks at every row itself."""
        return self.scan.filter is not None and self.scan.filter is not self.pushed.predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """A query ready to run."""

    text: str
    given: str  # the same before the present became literals: what columns without a name are called comes from here
    uses: tuple[TableUse, ...]
    others: Mapping[Reference, Any]  # inspection tables and frames, which are read whole
    hidden: Mapping[Reference, tuple[str, ...]]  # metadata columns that tables show because the query names them

    def replacing(self, use: TableUse, scan: Scan) -> QueryPlan:
        """The same query with one of its tables read by another scan."""
        uses = tuple(replace(u, scan=scan) if u is use else u for u in self.uses)
        return replace(self, uses=uses)

    def given_rows(self, use: TableUse, frame: Any) -> QueryPlan:
        """The same query over a frame in place of one of its tables."""
        uses = tuple(u for u in self.uses if u is not use)
        return replace(self, uses=uses, others={**self.others, use.reference: frame})


def plan_query(spark: Any, names: Names, text: str) -> QueryPlan:
    """Find the tables of a query and what each can be pruned by."""
    given = expand_views(names, text)
    whole, can_prune = fixed_moments(spark, given)
    references = find_references(whole)
    found = [(r, f) for r in references if (f := names.find(r.parts)) is not None]
    inspected = {r: getattr(f.table.inspect, f.inspection)() for r, f in found if f.inspection is not None}
    inspected |= {r: names.frames[r.parts[0]] for r in references if len(r.parts) == 1 and r.parts[0] in names.frames}
    extra = metadata_columns_in(whole)
    scans = {r: _scan(spark, r, f, extra) for r, f in found if f.inspection is None}
    hidden = {r: _beyond_its_own(scans[r]) for r, f in found if r in scans and f.columns is None}
    pushed = _pushed(spark, whole, scans, inspected, hidden) if can_prune and scans else {}
    nothing = PushedFilter() if can_prune else PushedFilter(unused=(_NOT_PRUNED,))
    if pushed is None:
        pushed, nothing = {}, PushedFilter(unused=(_ASKS_INSIDE,))
    uses = tuple(_use(r, scan, pushed.get(r, nothing)) for r, scan in scans.items())
    return QueryPlan(text=whole, given=given, uses=uses, others=inspected, hidden=hidden)


def run_query(spark: Any, plan: QueryPlan, numbered: Mapping[Reference, Sequence[str]] = MappingProxyType({})) -> Any:
    """The query's DataFrame. In `_file` of the tables that are named in `numbered`, files may stand by number."""
    frames = {
        use.reference: read_scan(
            use.scan, spark, is_filtered=use.is_pruned_by_more, numbered=numbered.get(use.reference, ())
        )
        for use in plan.uses
    }
    frames |= {r: as_frame(spark, t) for r, t in plan.others.items()}
    answer = _over(spark, plan.text, frames, plan.hidden)
    return answer if plan.given == plan.text else answer.toDF(*_names_of_columns(spark, plan, frames))


def _names_of_columns(spark: Any, plan: QueryPlan, frames: Mapping[Reference, Any]) -> list[str]:
    """What Spark calls the columns of the query as it was given."""
    by_place = sorted(frames, key=lambda r: r.start)
    again = [r for r in find_references(plan.given) if r.parts in {p.parts for p in by_place}]
    told = dict(zip(by_place, again))
    hidden = {told[r]: columns for r, columns in plan.hidden.items()}
    names: list[str] = _over(spark, plan.given, {told[r]: frames[r] for r in told}, hidden).columns
    return names


def metadata_columns_in(text: str) -> tuple[str, ...]:
    """The metadata columns, such as `_file`, that a query names. Only then do tables show them."""
    words = {t.text.lower() for t in Tokens.of(text).items if t.token_type is not TokenType.STRING}
    return tuple(name for name in (*METADATA_COLUMNS, PARTITION_NAME) if name in words)


def _scan(spark: Any, reference: Reference, found: Found, extra: tuple[str, ...]) -> Scan:
    options = {**found.options(), **_moment(spark, reference, found)}
    scan = found.table.scan(columns=found.columns, float_order=FloatOrder.SPARK, **options)
    if found.columns is not None or not extra:
        return scan
    own = [f.name for f in scan.schema.fields]
    return replace(scan, columns=[*own, *(name for name in extra if name not in own)])


def _beyond_its_own(scan: Scan) -> tuple[str, ...]:
    """The columns that a scan shows besides those of its schema."""
    return tuple(f.name for f in scan.wanted.fields[len(scan.schema.fields) :])


def _moment(spark: Any, reference: Reference, found: Found) -> dict[str, Any]:
    if reference.version is None and reference.timestamp is None:
        return {}
    if found.options():
        raise InvalidInput(f"Cannot read {found.table.name}: expected one point in time, got a name and AS OF.")
    if reference.timestamp is not None:
        return {"as_of": _value(spark, f"unix_millis(CAST({reference.timestamp} AS TIMESTAMP))", reference.timestamp)}
    version = str(_value(spark, str(reference.version), str(reference.version)))
    return {"snapshot_id": int(version)} if version.lstrip("-").isdigit() else {"ref": version}


def _value(spark: Any, expression: str, shown: str) -> Any:
    value = spark_sql(spark, f"SELECT {expression}").first()[0]
    if value is None:
        raise InvalidInput(f"Invalid point in time {shown}: expected a version or a timestamp, got null.")
    return value


def _pushed(
    spark: Any,
    text: str,
    scans: Mapping[Reference, Scan],
    inspected: Mapping[Reference, Any],
    hidden: Mapping[Reference, tuple[str, ...]],
) -> dict[Reference, PushedFilter] | None:
    """None where what Catalyst pushed holds for this moment only."""
    relations = empty_relations(spark, [to_spark_struct(scan.wanted) for scan in scans.values()])
    frames = {r: frame for r, (frame, _) in zip(scans, relations)}
    frames |= {r: as_frame(spark, t) for r, t in inspected.items()}
    planned = _over(spark, text, frames, hidden)
    present = java_static(spark._jvm, _PATTERNS, "CURRENT_LIKE")()
    if planned._jdf.queryExecution().analyzed().containsPattern(present):
        return None  # of the text itself the present was made a literal: this is in a view or a function
    found = pushed_filters(spark, planned)
    return {r: found[root] for r, (_, root) in zip(scans, relations) if root in found}


def _use(reference: Reference, scan: Scan, pushed: PushedFilter) -> TableUse:
    if pushed.predicate == TRUE:
        return TableUse(reference=reference, scan=scan, pushed=pushed)
    pruned = replace(scan, filter=pushed.predicate, case_sensitive=False)
    return TableUse(reference=reference, scan=pruned, pushed=pushed)


def as_frame(spark: Any, rows: Any) -> Any:
    return rows if is_spark_frame(rows) else spark.createDataFrame(rows)


def _over(spark: Any, text: str, frames: Mapping[Reference, Any], hidden: Mapping[Reference, tuple[str, ...]]) -> Any:
    """The query's text over these frames, which have names only while Spark analyses it."""
    with named(spark, frames) as names:
        return spark_sql(spark, rewrite(text, names, hidden))


def spark_sql(spark: Any, text: str) -> Any:
    """Spark's answer; a syntax error is an error of the input, told by Spark, which points at the place."""
    try:
        # PySpark's own `sql` sends four messages more for the arguments that there are not.
        return DataFrame(spark._jsparkSession.sql(text), spark)
    except ParseException as error:
        raise InvalidInput(f"Invalid statement: {str(error).strip()}") from None


def check_syntax(spark: Any, text: str) -> None:
    """Refuse what Spark cannot parse, before parts of it are put into other text. The error points into this text."""
    try:
        with active_in_jvm(spark):
            spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except ParseException as error:
        raise InvalidInput(f"Invalid statement: {str(error).strip()}") from None
