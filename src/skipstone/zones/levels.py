"""The levels of skipping: what each of them proves about the zones of a table.

    manifests -> partitions -> files -> row groups -> pages

Each level's proofs stand on their own, so all of them are used: a zone is skipped if any level proves that no row
matches, and needs no filter if any level proves that all rows do.

Spec: "Scan Planning".
"""

from __future__ import annotations

from skipstone.errors import InvalidInput
from skipstone.metadata.partitioning import PartitionSpec
from skipstone.metadata.schema import Schema
from skipstone.predicate.float_order import FloatOrder
from skipstone.predicate.nodes import Predicate
from skipstone.predicate.project import project_inclusive, project_strict
from skipstone.zones.judge import prove
from skipstone.zones.verdict import Proofs, intersected
from skipstone.zones.zone_map import ZoneMap


def prove_partitions(
    predicate: Predicate,
    spec: PartitionSpec,
    schema: Schema,
    zones: ZoneMap,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Proofs:
    """What partition values prove about rows, for zones of one spec: tuples, or manifests by their summaries.

    A tuple that the inclusive projection cannot match holds no matching row; one that the strict projection matches
    holds only matching rows. A zone of many tuples inherits what is proven for all of them.
    """
    none = prove(project_inclusive(predicate, spec, schema), zones, float_order).none
    every = prove(project_strict(predicate, spec, schema), zones, float_order).every
    return Proofs(none, every)


def prove_files(
    predicate: Predicate,
    *,
    metrics: ZoneMap | None = None,
    partitions: ZoneMap | None = None,
    spec: PartitionSpec | None = None,
    schema: Schema | None = None,
    float_order: FloatOrder = FloatOrder.SPARK,
) -> Proofs:
    """What the metrics of files and their partition tuples prove together, file by file, for files of one spec."""
    parts: list[Proofs] = []
    if metrics is not None:
        parts.append(prove(predicate, metrics, float_order))
    if partitions is not None:
        if spec is None or schema is None:
            raise InvalidInput("Cannot judge partition tuples: expected their spec and the schema, got none.")
        parts.append(prove_partitions(predicate, spec, schema, partitions, float_order))
    if not parts:
        raise InvalidInput("Cannot judge files: expected zones from their metrics or partition tuples, got none.")
    return intersected(parts)
