"""Branches and tags: what they may hold, and their JSON."""

from __future__ import annotations

from typing import Any

import pytest

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.json_reader import JsonObject
from skipstone.metadata.tables.refs import RefType, SnapshotRef, branch, check_ref_name, read_refs, ref_to_json, tag


def _read(**refs: Any) -> dict[str, SnapshotRef]:
    return read_refs(JsonObject.of(refs, label="x", place="$.refs"))


@pytest.mark.parametrize(
    "stored",
    [
        {"snapshot-id": 1, "type": "branch"},
        {"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5},
        {
            "snapshot-id": 1,
            "type": "branch",
            "min-snapshots-to-keep": 2,
            "max-snapshot-age-ms": 3,
            "max-ref-age-ms": 4,
        },
    ],
)
def test_a_ref_is_written_as_it_was_read(stored: dict[str, Any]) -> None:
    assert ref_to_json(_read(name=stored)["name"]) == stored


def test_the_type_is_read_in_any_case() -> None:
    assert _read(a={"snapshot-id": 1, "type": "BRANCH"})["a"].type is RefType.BRANCH


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"type": "branch"}, r"\$\.refs\.a\.snapshot-id: expected a value"),
        ({"snapshot-id": 1}, r"\$\.refs\.a\.type: expected a value"),
        ({"snapshot-id": 1, "type": "label"}, r"\$\.refs\.a\.type: expected 'branch' or 'tag', got 'label'"),
        ({"snapshot-id": 1, "type": "tag", "min-snapshots-to-keep": 1}, "which is for branches"),
        ({"snapshot-id": 1, "type": "tag", "max-snapshot-age-ms": 1}, "which is for branches"),
        ({"snapshot-id": 1, "type": "branch", "min-snapshots-to-keep": 0}, "positive min-snapshots-to-keep, got 0"),
        ({"snapshot-id": 1, "type": "branch", "max-ref-age-ms": -5}, "positive max-ref-age-ms, got -5"),
        (7, r"\$\.refs\.a: expected an object, got 7"),
    ],
)
def test_a_fault_is_a_violation_with_its_place(stored: Any, message: str) -> None:
    with pytest.raises(FormatViolation, match=message):
        _read(a=stored)


def test_a_tag_cannot_be_called_main() -> None:
    with pytest.raises(FormatViolation, match="Invalid ref 'main': expected a branch, got a tag"):
        _read(main={"snapshot-id": 1, "type": "tag"})
    with pytest.raises(InvalidInput, match="Choose another name"):
        check_ref_name("main", tag(1))


def test_a_name_is_not_empty() -> None:
    with pytest.raises(InvalidInput, match="expected text"):
        check_ref_name("", branch(1))


def test_bad_retention_from_a_caller_is_invalid_input() -> None:
    with pytest.raises(InvalidInput, match="positive max-ref-age-ms"):
        tag(1, max_ref_age_ms=0)
