"""The audit as a Spark job: tasks read the data files and hold what manifests say about them against it."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa

from skipstone.analysis.audit import AuditedFile, FileAudit
from skipstone.spark.analyze import over, travelling
from skipstone.spark.file_tasks import over_files
from skipstone.spark.session import active
from skipstone.zones.zone_map import ZoneMap

_AUDITED: Final = "audited"


def audit_files(audit: FileAudit, spark: Any = None, *, table: str) -> list[AuditedFile]:
    """All files of a planned audit, in their order."""
    files = audit.analysis.plan.files

    def portion_of(rows: Any) -> Any:
        chosen = pa.array(rows)
        places = tuple(audit.places[row] for row in rows.tolist())
        return rows.tolist(), files.take(chosen).combine_chunks(), audit.zones.take(chosen), places

    rest = replace(audit, analysis=travelling(audit.analysis), zones=ZoneMap(num_zones=0), places=())
    tables = over_files(
        active(spark),
        files.column("file_size_in_bytes").to_numpy(),
        portion_of,
        partial(_audit, rest),
        what=f"auditing {table}",
    )
    found: list[AuditedFile] = [pickle.loads(value.as_py()) for t in tables for value in t.column(_AUDITED)]
    return sorted(found, key=lambda audited: audited.row)


def _audit(rest: FileAudit, portion: Any) -> Any:
    rows, files, zones, places = portion
    own = replace(rest, analysis=over(rest.analysis, files), zones=zones, places=places)
    audited = [replace(own.audit(place), row=row) for place, row in enumerate(rows)]
    return pa.table({_AUDITED: pa.array([pickle.dumps(a) for a in audited], pa.binary())})
