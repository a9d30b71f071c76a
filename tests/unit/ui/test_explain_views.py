"""Explanations as people see them: in the terminal and as a picture."""

from __future__ import annotations

import io
from dataclasses import replace
from xml.etree import ElementTree

from rich.console import Console

from skipstone.plan.explanation import Explanation, LevelExplanation, PartReport
from skipstone.plan.levels import LevelReport
from skipstone.ui.explain_picture import explanation_svg
from skipstone.ui.explain_table import explanation_table

PART = PartReport(
    predicate="zip_code = '<10001>'",
    columns=("zip_code",),
    skipped=380_000,
    skipped_alone=379_000,
    proven=0,
    facts={"lower bound": 200_000, "upper bound": 180_000},
    reasons={"overlap: the value lies between the bounds": 13_360},
)
EXPLANATION = Explanation(
    filter="state = 'NY' AND zip_code = '<10001>'",
    snapshot_id=1,
    files=13_360,
    rows=13_360_000,
    bytes=1_336_000_000,
    delete_files=3,
    levels=(
        LevelExplanation(report=LevelReport(name="manifests", zones_in=51, skipped=50, proven=0)),
        LevelExplanation(report=LevelReport(name="files", zones_in=393_360, skipped=380_000, proven=1), parts=(PART,)),
    ),
    notes=("a note [bold]not markup[/bold]",),
)
SVG = "{http://www.w3.org/2000/svg}"


def shown(width: int = 200) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(explanation_table(EXPLANATION))
    return out.getvalue()


def test_the_table_shows_levels_parts_facts_and_reasons() -> None:
    text = shown()
    for word in ("393,360", "380,000", "lower bound (200,000)", "overlap", "379,000 alone", "zip_code = '<10001>'"):
        assert word in text
    assert "note: a note [bold]not markup[/bold]" in text


def test_a_narrow_terminal_shows_it_too() -> None:
    assert "manifests" in shown(width=60)


def test_the_picture_is_well_formed_and_shows_every_outcome() -> None:
    picture = ElementTree.fromstring(explanation_svg(EXPLANATION))
    texts = [t.text for t in picture.iter(f"{SVG}text")]
    assert any(t == "   by lower bound: 200,000" for t in texts)
    cells = [r for r in picture.iter(f"{SVG}rect") if r.get("y") not in (None, "42")]
    by_colour = {c: sum(r.get("fill") == c for r in cells) for c in ("#d9d9d9", "#f58518", "#54a24b")}
    # 51 manifests are a cell each; of the files one that is proven has a cell of its own.
    assert by_colour["#54a24b"] == 1
    assert by_colour["#d9d9d9"] == 50 + round(380_000 / (393_360 / 198))
    assert by_colour["#f58518"] == 1 + round(13_359 / (393_360 / 198))


def test_a_long_filter_hides_neither_what_its_parts_skip_nor_what_is_below_it() -> None:
    long = " AND ".join(f"COLUMN_{i} = 'SOME VALUE'" for i in range(9))
    (manifests, files) = EXPLANATION.levels
    parts = (replace(PART, predicate=long),)
    told = replace(EXPLANATION, filter=long * 3, levels=(manifests, replace(files, parts=parts)))
    texts = list(ElementTree.fromstring(explanation_svg(told)).iter(f"{SVG}text"))
    skips = [t.text or "" for t in texts if ": skips 380,000" in (t.text or "")]
    assert len(skips) == 1 and skips[0].startswith("COLUMN_0 = ") and len(skips[0]) < 60
    filter_lines = [t for t in texts if t.get("font-size") == "15"]
    assert len(filter_lines) == 4 and (filter_lines[-1].text or "").endswith(" …")
    others = [int(t.get("y", 0)) for t in texts if t not in filter_lines]
    assert min(others) > max(int(t.get("y", 0)) for t in filter_lines)


def test_lines_of_a_long_part_are_indented_alike() -> None:
    lines = shown(width=80).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  zip_code"))
    assert lines[at + 1].startswith("  '<10001>'")


def test_a_picture_of_nothing_is_drawn() -> None:
    empty = Explanation(filter="true", snapshot_id=None, files=0, rows=0, bytes=0, delete_files=0, levels=())
    ElementTree.fromstring(explanation_svg(empty))
