"""Branches and tags: names for snapshots, with their retention.

Laws: a tag has no rules about the snapshots behind it; every retention number is positive; `main` is a branch.

Spec: "Snapshot References", "Snapshot Retention Policy".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from skipstone.errors import FormatViolation, InvalidInput
from skipstone.metadata.json_reader import JsonObject

MAIN: Final = "main"


class RefType(StrEnum):
    BRANCH = "branch"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """None in a retention rule means: the table's property decides."""

    snapshot_id: int
    type: RefType
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None
    max_ref_age_ms: int | None = None

    def __post_init__(self) -> None:
        rules = {
            "min-snapshots-to-keep": self.min_snapshots_to_keep,
            "max-snapshot-age-ms": self.max_snapshot_age_ms,
            "max-ref-age-ms": self.max_ref_age_ms,
        }
        for name, value in rules.items():
            if value is not None and value <= 0:
                raise InvalidInput(f"Invalid {self.type} of snapshot {self.snapshot_id}: expected a positive {name}, "
                                   f"got {value}.")  # fmt: skip
            if value is not None and self.type is RefType.TAG and name != "max-ref-age-ms":
                raise InvalidInput(f"Invalid tag of snapshot {self.snapshot_id}: expected no {name}, which is for "
                                   f"branches, got {value}.")  # fmt: skip

    @property
    def is_branch(self) -> bool:
        return self.type is RefType.BRANCH


def branch(snapshot_id: int) -> SnapshotRef:
    """A branch without retention rules of its own."""
    return SnapshotRef(snapshot_id=snapshot_id, type=RefType.BRANCH)


def tag(snapshot_id: int, *, max_ref_age_ms: int | None = None) -> SnapshotRef:
    return SnapshotRef(snapshot_id=snapshot_id, type=RefType.TAG, max_ref_age_ms=max_ref_age_ms)


def check_ref_name(name: str, ref: SnapshotRef) -> None:
    """Refuse a name a table cannot hold."""
    if not name:
        raise InvalidInput("Invalid ref name: expected text, got an empty string.")
    if name == MAIN and not ref.is_branch:
        raise InvalidInput(f"Invalid ref '{MAIN}': expected a branch, got a tag. Choose another name for the tag.")


def read_refs(json: JsonObject) -> dict[str, SnapshotRef]:
    """The refs of a `refs` object, by name."""
    return {name: _read_ref(name, json.object(name)) for name in json.members}


def _read_ref(name: str, json: JsonObject) -> SnapshotRef:
    text = json.text("type")
    if text.lower() not in tuple(RefType):
        json.fail("type", "'branch' or 'tag'", text)
    ref = json.guard(
        lambda: SnapshotRef(
            snapshot_id=json.long("snapshot-id"),
            type=RefType(text.lower()),
            min_snapshots_to_keep=json.optional_int("min-snapshots-to-keep"),
            max_snapshot_age_ms=json.optional_long("max-snapshot-age-ms"),
            max_ref_age_ms=json.optional_long("max-ref-age-ms"),
        )
    )
    try:
        check_ref_name(name, ref)
    except InvalidInput as error:
        raise FormatViolation(f"Invalid {json.label}: {json.place}: {error}") from error
    return ref


def ref_to_json(ref: SnapshotRef) -> dict[str, Any]:
    written: dict[str, Any] = {"snapshot-id": ref.snapshot_id, "type": ref.type.value}
    if ref.min_snapshots_to_keep is not None:
        written["min-snapshots-to-keep"] = ref.min_snapshots_to_keep
    if ref.max_snapshot_age_ms is not None:
        written["max-snapshot-age-ms"] = ref.max_snapshot_age_ms
    if ref.max_ref_age_ms is not None:
        written["max-ref-age-ms"] = ref.max_ref_age_ms
    return written
