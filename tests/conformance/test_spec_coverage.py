"""The map from spec clauses to tests is complete and true: every section is there, every test it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "spec-coverage.md"
SECTION_LIST = "## Sections of the spec"
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:::(\w+))?`")
NO_CLAUSE = re.compile(r"^no requirement: \w")


def _lines() -> list[str]:
    return MAP.read_text("utf-8").splitlines()


def _listed_sections() -> list[str]:
    lines = _lines()
    start = lines.index(SECTION_LIST) + 1
    end = next(i for i in range(start, len(lines)) if lines[i].startswith("## "))
    return [line[2:].strip() for line in lines[start:end] if line.startswith("- ")]


def _rows() -> list[tuple[str, str, str]]:
    """(section, clause, evidence) of every table row of the map."""
    rows, section = [], ""
    for line in _lines():
        if line.startswith("### "):
            section = line[4:].strip()
        elif line.startswith("|") and section and not line.startswith(("| clause |", "|---")):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            assert len(cells) == 2, f"expected two cells: {line}"
            rows.append((section, cells[0], cells[1]))
    return rows


@cache
def _tests_in(path: str) -> frozenset[tuple[str, ...]]:
    """Names of the tests in a file: (function,) or (class, method)."""
    found: set[tuple[str, ...]] = set()
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add((node.name,))
        elif isinstance(node, ast.ClassDef):
            found.add((node.name,))
            found.update((node.name, m.name) for m in node.body if isinstance(m, ast.FunctionDef))
    return frozenset(found)


def test_the_list_of_sections_names_each_once() -> None:
    sections = _listed_sections()
    assert len(sections) > 70
    assert len(set(sections)) == len(sections)


def test_every_listed_section_has_rows_and_no_other_section_has() -> None:
    with_rows = {section for section, _, _ in _rows()}
    assert with_rows == set(_listed_sections())


@pytest.mark.parametrize("section", _listed_sections())
def test_every_clause_of_a_section_names_tests_that_exist(section: str) -> None:
    for _, clause, evidence in (row for row in _rows() if row[0] == section):
        assert clause, f"a row of {section!r} has no clause"
        assert evidence, f"{section!r}: {clause!r} has no test"
        references = REFERENCE.findall(evidence)
        assert references or NO_CLAUSE.match(evidence), f"{clause!r}: {evidence!r}"
        for path, *names in references:
            assert (ROOT / path).is_file(), f"{clause!r} names {path}, which does not exist"
            wanted = tuple(n for n in names if n)
            assert wanted in _tests_in(path), f"{clause!r} names {'::'.join(wanted)}, which is not in {path}"
            assert wanted[-1].startswith(("test_", "Test")), f"{clause!r} names {wanted[-1]}, which pytest does not run"


def test_every_backquoted_path_in_evidence_is_a_full_test_id() -> None:
    """A path without a test name would not be checked, so none may stand there."""
    for section, clause, evidence in _rows():
        for quoted in re.findall(r"`(tests/[^`]*)`", evidence):
            assert REFERENCE.fullmatch(f"`{quoted}`"), f"{section!r}, {clause!r}: {quoted!r}"
