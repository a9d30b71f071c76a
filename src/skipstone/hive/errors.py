"""What goes wrong in HiveQL, with Hive's own numbers where Hive has one."""

from __future__ import annotations

from typing import Final

from skipstone.errors import InvalidInput, NotFound, SkipstoneError

TABLE_NOT_FOUND: Final = 10001
COLUMN_NOT_FOUND: Final = 10002
DATABASE_NOT_FOUND: Final = 10072
PARTITION_NOT_FOUND: Final = 30007
NO_PRIMITIVE_COLUMN: Final = 30009
PARTITION_COLUMN: Final = 30012
PARSE_ERROR: Final = 40000


class HiveError:
    """Carries Hive's error number."""

    code: int = 0


class HiveInvalid(HiveError, InvalidInput):
    def __init__(self, message: str, *, code: int = PARSE_ERROR) -> None:
        super().__init__(message)
        self.code = code


class HiveNotFound(HiveError, NotFound):
    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


class MetastoreError(SkipstoneError):
    """The metastore could not do what it was asked, for a reason of its own."""
