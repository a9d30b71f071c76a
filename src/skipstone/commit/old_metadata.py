"""Metadata files that fall out of a table's log are deleted after a commit, if the table says so.

Table property `write.metadata.delete-after-commit.enabled`; how many versions the log remembers says
`write.metadata.previous-versions-max`.

Spec: "Table Metadata Fields" (`metadata-log`).
"""

from __future__ import annotations

from skipstone.errors import SkipstoneError
from skipstone.metadata.tables.properties import METADATA_DELETE_AFTER_COMMIT_ENABLED, property_value
from skipstone.metadata.tables.table_metadata import TableMetadata
from skipstone.storage.protocol import Storage


def delete_forgotten_metadata(before: TableMetadata, after: TableMetadata, storage: Storage) -> None:
    """Delete what the log named before a commit and does not name after it. A failure leaves an orphan, no more."""
    try:
        if not property_value(after.properties, METADATA_DELETE_AFTER_COMMIT_ENABLED):
            return
        remembered = {e.metadata_file for e in after.metadata_log}
        storage.delete_many([e.metadata_file for e in before.metadata_log if e.metadata_file not in remembered])
    except (SkipstoneError, OSError):
        # The commit has happened: whatever is wrong here, it must not look as if it had not.
        return
