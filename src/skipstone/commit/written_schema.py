"""Whether files still fit the table: its schema may have changed while their rows were written.

Laws: a column may have come, or have got a wider type, or another name: the files are read as older files are. A column
that went took its values with it, and one that must have a value now may have none in the files: both are refused.

Spec: "Schema Evolution", "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

from skipstone.errors import CommitRejected
from skipstone.metadata.schema import Schema


def check_written_with(written: Schema, current: Schema, operation: str) -> None:
    """Refuse to add files that were written with a schema the table no longer agrees with."""
    if written.schema_id == current.schema_id or written.same_as(current):
        return
    for field_id, f in written.fields_by_id.items():
        now = current.fields_by_id.get(field_id)
        if now is None:
            raise _changed(operation, f"column '{written.name_of(field_id)}' was dropped")
        if now.required and f.optional:
            raise _changed(operation, f"column '{current.name_of(field_id)}' became required")
    for field_id, f in current.fields_by_id.items():
        if field_id not in written.fields_by_id and f.required and f.initial_default is None:
            raise _changed(operation, f"the required column '{current.name_of(field_id)}' was added")


def _changed(operation: str, what: str) -> CommitRejected:
    return CommitRejected(
        f"Cannot commit {operation}: expected the schema that the rows were written with, got another: {what} "
        "meanwhile. Nothing was published. Load the table again and write the rows once more."
    )
