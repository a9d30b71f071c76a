"""What a plan skipped, level by level, by which part of the filter and which fact, and why the rest was kept.

The JSON form is stable: keys are only added, never renamed or given another meaning.

    {"filter", "snapshot-id", "files", "rows", "bytes", "delete-files",
     "levels": [{"name", "zones-in", "skipped", "proven", "kept", "loosened",
                 "parts": [{"predicate", "columns", "skipped", "skipped-alone", "proven",
                            "facts": {fact: zones}, "reasons": {reason: zones}}]}],
     "notes": [text]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skipstone.plan.levels import LevelReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PartReport:
    """One part of a filter (all parts must match) against the zones that a level was given.

    `skipped` zones it rules out by itself, `skipped_alone` of them no other part does. `facts` counts, for each kind of
    fact, the skipped zones that would be kept without it. `reasons` counts the zones it could not decide.
    """

    predicate: str
    columns: tuple[str, ...]
    skipped: int
    skipped_alone: int
    proven: int
    facts: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "predicate": self.predicate,
            "columns": list(self.columns),
            "skipped": self.skipped,
            "skipped-alone": self.skipped_alone,
            "proven": self.proven,
            "facts": dict(self.facts),
            "reasons": dict(self.reasons),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelExplanation:
    """A level of the plan with what each part of the filter did there; levels beyond filters have no parts.

    `loosened` zones are kept ones whose bounds enclose rows that delete files take away.
    """

    report: LevelReport
    parts: tuple[PartReport, ...] = ()
    loosened: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.report.name,
            "zones-in": self.report.zones_in,
            "skipped": self.report.skipped,
            "proven": self.report.proven,
            "kept": self.report.kept,
            "loosened": self.loosened,
            "parts": [part.to_json() for part in self.parts],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    filter: str
    snapshot_id: int | None
    files: int
    rows: int
    bytes: int
    delete_files: int
    levels: tuple[LevelExplanation, ...]
    notes: tuple[str, ...] = ()

    def level(self, name: str) -> LevelExplanation:
        return next(level for level in self.levels if level.report.name == name)

    def to_json(self) -> dict[str, Any]:
        return {
            "filter": self.filter,
            "snapshot-id": self.snapshot_id,
            "files": self.files,
            "rows": self.rows,
            "bytes": self.bytes,
            "delete-files": self.delete_files,
            "levels": [level.to_json() for level in self.levels],
            "notes": list(self.notes),
        }

    def to_json_text(self) -> str:
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        lines = [f"filter: {self.filter}"]
        for level in self.levels:
            r = level.report
            loosened = f", {level.loosened:,} of them loosened by deletes" if level.loosened else ""
            numbers = f"{r.zones_in:,} in, {r.skipped:,} skipped, {r.proven:,} proven, {r.kept:,} kept"
            lines.append(f"{r.name}: {numbers}{loosened}")
            for part in level.parts:
                lines.append(f"  {part.predicate}: skips {part.skipped:,} ({part.skipped_alone:,} alone)")
                lines += [f"    by {fact}: {zones:,}" for fact, zones in part.facts.items()]
                lines += [f"    kept, {reason}: {zones:,}" for reason, zones in part.reasons.items()]
        lines.append(f"to read: {self.files:,} files, {self.rows:,} rows, {self.bytes:,} bytes")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)
