"""Which catalogs the names in a session's SQL are looked up in.

    skipstone.spark.attach(spark, lake)                  # shop.orders
    skipstone.spark.attach(spark, other, name="archive") # archive.shop.orders

Catalogs belong to a session, so that two sessions of one process do not see each other's names. Copies of a session
have its catalogs: Spark runs each micro-batch in one, where `foreachBatch` finds its temporary views.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from skipstone.errors import InvalidInput, NotFound, what_exists
from skipstone.lake import Lake, open_catalog

DEFAULT_NAME: Final = "lake"


@dataclass(slots=True)
class Attached:
    """The catalogs of one session by name, the one that plain names mean, and the namespace that bare names mean."""

    lakes: dict[str, Lake] = field(default_factory=dict)
    default: str = DEFAULT_NAME
    namespace: tuple[str, ...] = ()
    views: dict[str, str] = field(default_factory=dict)

    def lake(self, name: str | None = None) -> Lake:
        wanted = name or self.default
        if wanted not in self.lakes:
            raise NotFound(
                f"Cannot find catalog {wanted!r} in this session. {what_exists('Catalogs', wanted, self.lakes)} "
                "Attach one: skipstone.spark.attach(spark, catalog)."
            )
        return self.lakes[wanted]


# A setting that copies of a session have and new sessions do not: which one the catalogs were attached to.
_ATTACHED_TO: Final = "spark.skipstone.attached"
_SESSIONS: Final[dict[str, Attached]] = {}


def attach(spark: Any, catalog: Lake | str, *, name: str = DEFAULT_NAME, warehouse: str | None = None) -> Lake:
    """Let SQL in a session find the tables of a catalog. The first one attached is where plain names are looked up."""
    if not name.replace("_", "a").isalnum():
        raise InvalidInput(f"Invalid catalog name {name!r}: expected letters, digits and underscores.")
    lake = open_catalog(catalog, warehouse=warehouse) if isinstance(catalog, str) else catalog
    attached = attached_to(spark)
    if not attached.lakes:
        attached.default = name
    attached.lakes[name] = lake
    spark.conf.set(_ATTACHED_TO, _id(spark))
    return lake


def attached_to(spark: Any) -> Attached:
    """What is attached to a session. A copy of one, such as a stream runs its batches in, begins with what that has."""
    found = _SESSIONS.get(_id(spark))
    if found is None:
        copied = _SESSIONS.get(spark.conf.get(_ATTACHED_TO, ""))
        made = Attached() if copied is None else replace(copied, views=dict(copied.views))
        found = _SESSIONS.setdefault(_id(spark), made)
    return found


def _id(spark: Any) -> str:
    return str(spark._jsparkSession.sessionUUID())
