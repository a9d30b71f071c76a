"""Explanations: exact numbers for each level, part, fact and reason."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from tests.support.indexed import index_files_of, make_table
from tests.support.indexed import rows as indexed_rows

import skipstone
from skipstone.index.loading import forget_opened
from skipstone.metadata.types import DOUBLE, LONG, STRING
from skipstone.plan import reasons
from skipstone.plan.explain import NOT_PARTITIONED, PARTITION_VALUE, explain_plan
from skipstone.plan.reasons import facts_used, why_kept
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Column, Compare, IsNull, Like, NotNull, Op, and_, or_
from skipstone.zones.zone_map import ColumnFacts, ZoneMap

pa: Any = pyarrow

NAME = Column(field_id=1, type=STRING, name="name")
NUMBER = Column(field_id=2, type=LONG, name="number")
SIZE = Column(field_id=3, type=DOUBLE, name="size")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home: Path = tmp_path_factory.mktemp("explain")
    lake = skipstone.catalog(f"sqlite:///{home}/catalog.db", warehouse=str(home))
    lake.create_namespace("t")
    made = lake.create_table("t.t", [("p", "string"), ("n", "long"), ("s", "string")], partition_by=["p"])
    for part in ("x", "y"):
        for i in range(5):
            made.append([{"p": part, "n": i * 10 + j, "s": f"{j}"} for j in range(10)])
    return made


def test_each_part_of_the_filter_tells_what_it_skipped(table: Any) -> None:
    found = table.scan("p = 'x' AND n >= 30 AND s = '5'").explanation()
    by_partition = found.level("partitions")
    # Every file is in a manifest of its own, so manifests of the other partition went before.
    assert (by_partition.report.zones_in, by_partition.report.skipped) == (1, 0)
    assert (found.level("manifests").report.zones_in, found.level("manifests").report.skipped) == (10, 5)
    of_p = found.level("manifests").parts[0]
    assert (of_p.predicate, of_p.skipped, of_p.skipped_alone) == ("p = 'x'", 5, 5)
    of_n, of_s = found.level("files").parts[1:]
    assert (of_n.predicate, of_n.skipped, of_n.skipped_alone, of_n.proven) == ("n >= 30", 3, 3, 2)
    assert of_n.facts == {"upper bound": 3}
    assert (of_s.skipped, of_s.reasons) == (0, {reasons.OVERLAP: 5})


def test_a_column_that_no_partition_is_made_of_says_so(table: Any) -> None:
    found = table.scan("n = 3").explanation()
    assert found.level("manifests").parts[0].reasons == {NOT_PARTITIONED: 10}
    assert found.level("partitions").parts[0].reasons == {reasons.OVERLAP: 2}
    assert PARTITION_VALUE not in found.level("partitions").parts[0].facts


def test_partitions_are_skipped_by_the_bounds_of_their_files(tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    made = lake.create_table("t.zips", [("state", "string"), ("zip", "string")], partition_by=["state"])
    made.append([{"state": f"s{i % 5}", "zip": f"{i % 5}{i:03}"} for i in range(100)])
    scan = made.scan("zip = '3003'")
    found = scan.explanation()
    assert found.files == len(scan.plan()) == 1
    partitions = found.level("partitions")
    assert (partitions.report.zones_in, partitions.report.skipped) == (5, 4)
    assert partitions.parts[0].facts == {"lower bound": 1, "upper bound": 3}
    assert found.level("files").report.zones_in == 1


def test_a_scan_of_everything_has_no_parts(table: Any) -> None:
    found = table.scan().explanation()
    assert all(level.parts == () for level in found.levels)
    assert (found.files, found.rows) == (10, 100)


def test_an_empty_table_is_explained(table: Any, tmp_path: Path) -> None:
    lake = skipstone.catalog(f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    lake.create_namespace("t")
    empty = lake.create_table("t.empty", [("n", "long")])
    assert empty.scan("n = 1").explanation().files == 0


def test_json_has_the_documented_keys(table: Any) -> None:
    found = json.loads(table.scan("p = 'x' AND n >= 30").explanation().to_json_text())
    assert sorted(found) == ["bytes", "delete-files", "files", "filter", "levels", "notes", "rows", "snapshot-id"]
    level = found["levels"][-1]
    assert sorted(level) == ["kept", "loosened", "name", "parts", "proven", "skipped", "zones-in"]
    assert sorted(level["parts"][0]) == [
        "columns", "facts", "predicate", "proven", "reasons", "skipped", "skipped-alone"
    ]  # fmt: skip


def test_text_names_levels_facts_and_reasons(table: Any) -> None:
    text = str(table.scan("n >= 30 AND s = '5'").explanation())
    assert "files: 10 in, 6 skipped, 0 proven, 4 kept" in text
    assert "by upper bound: 6" in text
    assert f"kept, {reasons.OVERLAP}: 10" in text


def test_a_column_outside_the_index_is_noted(table: Any) -> None:
    scan = table.scan("n = 3 AND s = '5'")
    n_id = table.schema.field("n").id
    notes = explain_plan(scan.plan(), table.storage, indexed_ids=[n_id]).notes
    assert notes[0] == "s is not indexed: its metrics are read from the manifests"


def zones(num_zones: int, **columns: ColumnFacts) -> ZoneMap:
    ids = {"name": 1, "number": 2, "size": 3}
    rows = pa.array([10] * num_zones, pa.int64())
    return ZoneMap(num_zones=num_zones, row_count=rows, columns={ids[n]: f for n, f in columns.items()})


def kept(predicate: Any, zone_map: ZoneMap, **options: Any) -> dict[str, int]:
    return why_kept(predicate, zone_map, np.ones(zone_map.num_zones, bool), FloatOrder.SPARK, **options)


def ints(*values: int | None) -> Any:
    return pa.array(values, pa.int64())


def test_reasons_of_single_columns() -> None:
    numbers = ColumnFacts(type=LONG, lower=ints(0, None, None), upper=ints(9, None, None), null_count=ints(0, 1, None))
    assert kept(Compare(Op.EQ, NUMBER, 5), zones(3, number=numbers)) == {
        reasons.OVERLAP: 1,
        reasons.NO_BOUNDS: 1,
        reasons.NO_STATISTICS: 1,
    }
    assert kept(Compare(Op.EQ, NUMBER, 5), zones(2)) == {reasons.NO_STATISTICS: 2}
    assert kept(IsNull(NUMBER), zones(3, number=numbers)) == {reasons.HAS_NULLS: 1, reasons.NO_STATISTICS: 1}


def test_an_unknown_nan_count_is_the_reason_where_zero_would_have_skipped() -> None:
    sizes = ColumnFacts(
        type=DOUBLE,
        lower=pa.array([0.0, 0.0, 0.0]),
        upper=pa.array([1.0, 1.0, 9.0]),
        null_count=ints(0, 0, 0),
        nan_count=ints(None, 2, None),
    )
    found = kept(Compare(Op.GT, SIZE, 5.0), zones(3, size=sizes))
    assert found == {reasons.NAN_UNKNOWN: 1, reasons.HAS_NAN: 1, reasons.OVERLAP: 1}


def test_cut_bounds_and_patterns_are_told_from_overlap() -> None:
    names = ColumnFacts(
        type=STRING,
        lower=pa.array(["warehouse-number", "a"]),
        upper=pa.array(["warehouse-numbes", "z"]),
        null_count=ints(0, 0),
    )
    zone_map = zones(2, name=names)
    assert kept(Compare(Op.EQ, NAME, "warehouse-number-17"), zone_map) == {reasons.TRUNCATED: 1, reasons.OVERLAP: 1}
    assert kept(Like(NAME, "%17"), zone_map) == {reasons.PATTERN: 2}


def test_bounds_that_are_not_cut_are_not_called_so() -> None:
    names = ColumnFacts(
        type=STRING,
        lower=pa.array(["warehouse-number-1", "ab", "warehouse-number"]),
        upper=pa.array(["warehouse-number-3", "ac", "x"]),
        null_count=ints(0, 0, 0),
    )
    zone_map = zones(3, name=names)
    wanted = Compare(Op.EQ, NAME, "warehouse-number-2")
    kept_zones = np.array([True, False, True])
    found = why_kept(wanted, zone_map, kept_zones, FloatOrder.SPARK)
    assert found == {reasons.OVERLAP: 1, reasons.TRUNCATED: 1}
    assert kept(Compare(Op.EQ, NAME, "abb"), zones(1, name=only(names, 1)), cut_widths={1: 2}) == {reasons.TRUNCATED: 1}
    whole = why_kept(wanted, zone_map, kept_zones, FloatOrder.SPARK, cut_widths={1: None})
    assert whole == {reasons.OVERLAP: 2}


def only(facts: ColumnFacts, place: int) -> ColumnFacts:
    lower, upper, nulls = (a.slice(place, 1) for a in (facts.lower, facts.upper, facts.null_count))
    return ColumnFacts(type=facts.type, lower=lower, upper=upper, null_count=nulls)


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        (or_(IsNull(NUMBER), Compare(Op.GT, NUMBER, 5)), reasons.OVERLAP),
        (or_(IsNull(NUMBER), Compare(Op.GT, NUMBER, 50)), reasons.HAS_NULLS),
        (Compare(Op.GT, NUMBER, -5), reasons.HAS_NULLS),
        (NotNull(NUMBER), reasons.HAS_NULLS),
        (IsNull(NUMBER), reasons.HAS_NULLS),
    ],
)
def test_nulls_are_the_reason_where_the_zone_were_decided_without_them(predicate: Any, reason: str) -> None:
    numbers = ColumnFacts(type=LONG, lower=ints(0), upper=ints(9), null_count=ints(2), value_count=ints(10))
    assert kept(predicate, zones(1, number=numbers)) == {reason: 1}
    unknown = replace(numbers, null_count=None)
    expected = reasons.NULLS_UNKNOWN if reason == reasons.HAS_NULLS else reason
    assert kept(predicate, zones(1, number=unknown)) == {expected: 1}


def test_one_known_bound_is_not_called_two() -> None:
    numbers = ColumnFacts(type=LONG, lower=ints(0), upper=ints(None), null_count=ints(0))
    assert kept(Compare(Op.EQ, NUMBER, 5), zones(1, number=numbers)) == {reasons.ONE_BOUND: 1}


def test_a_term_that_is_decided_is_no_reason() -> None:
    numbers = ColumnFacts(type=LONG, lower=ints(1), upper=ints(9), null_count=ints(0), value_count=ints(10))
    names = ColumnFacts(type=STRING, lower=pa.array(["a"]), upper=pa.array(["z"]), null_count=ints(0))
    either = or_(and_(Compare(Op.GT, NUMBER, 0), Compare(Op.EQ, NAME, "m")), Compare(Op.EQ, SIZE, 1.0))
    found = kept(either, zones(1, number=numbers, name=names))
    assert found == {f"name: {reasons.OVERLAP}": 1, f"size: {reasons.NO_STATISTICS}": 1}


def test_what_could_not_be_used_of_the_index_is_noted(tmp_path: Path) -> None:
    table = make_table(tmp_path)
    table.append(indexed_rows(0))
    next(p for p in index_files_of(table) if p.name.endswith(".zones.parquet")).write_bytes(b"damaged")
    forget_opened()
    assert any("Invalid sidecar" in note for note in table.scan("id = 1").explanation().notes)


def test_remapped_columns_and_alternatives_are_named() -> None:
    numbers = ColumnFacts(type=LONG, lower=ints(0), upper=ints(9), null_count=ints(0))
    either = or_(Compare(Op.EQ, NUMBER, 5), Compare(Op.EQ, NAME, "a"))
    assert kept(either, zones(1, number=numbers)) == {
        f"number: {reasons.OVERLAP}": 1,
        f"name: {reasons.NO_STATISTICS}": 1,
    }
    assert kept(Compare(Op.EQ, NUMBER, 5), zones(1), remapped={2}) == {reasons.RENAMED: 1}


def test_facts_are_those_without_which_the_zone_is_kept() -> None:
    numbers = ColumnFacts(type=LONG, lower=ints(6, 0), upper=ints(9, 4), null_count=ints(0, 0))
    found = facts_used(Compare(Op.EQ, NUMBER, 5), zones(2, number=numbers), np.ones(2, bool), FloatOrder.SPARK)
    assert found == {"lower bound": 1, "upper bound": 1}
