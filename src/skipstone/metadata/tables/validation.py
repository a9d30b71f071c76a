"""The cross-references of table metadata, one rule a function.

A rule yields a text for each fault: the JSON place, what is expected, what was found. Rules are lenient where tables
that other engines keep alive are odd but readable: expired parents, statistics of expired snapshots, old specs over
dropped columns, clocks that differ by up to a minute.

Spec: "Table Metadata Fields", "Snapshots", "Snapshot References", "Partition Statistics", "Row Lineage",
"Encryption Keys".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from skipstone.errors import FormatViolation, SkipstoneError
from skipstone.metadata.tables.refs import MAIN
from skipstone.metadata.tables.table_metadata import FORMAT_VERSION_MAX, TableMetadata

Rule: TypeAlias = Callable[[TableMetadata], Iterator[str]]

# Writers' clocks differ; the reference implementation tolerates as much.
CLOCK_SKEW_MS_MAX: Final = 60_000


def validate_table_metadata(metadata: TableMetadata, *, source: str) -> None:
    """Raise at the first fault."""
    for fault in faults_of(metadata):
        raise FormatViolation(f"Invalid table metadata {source}: {fault}")


def faults_of(metadata: TableMetadata) -> Iterator[str]:
    """Every fault, in the order of the rules."""
    for rule in RULES:
        yield from rule(metadata)


def _version(m: TableMetadata) -> Iterator[str]:
    if not 1 <= m.format_version <= FORMAT_VERSION_MAX:
        yield f"$.format-version: expected 1 to {FORMAT_VERSION_MAX}, got {m.format_version}."
    if m.format_version > 1 and m.table_uuid is None:
        yield f"$.table-uuid: expected a UUID in a v{m.format_version} table, got nothing."
    if m.format_version == 1 and m.last_sequence_number != 0:
        yield f"$.last-sequence-number: expected 0 in a v1 table, got {m.last_sequence_number}."


def _schemas(m: TableMetadata) -> Iterator[str]:
    yield from _repeated("$.schemas", "schema-id", [s.schema_id for s in m.schemas])
    if m.current_schema_id not in m.schemas_by_id:
        yield _dangling("$.current-schema-id", "schemas", m.schemas_by_id, m.current_schema_id)
    for i, schema in enumerate(m.schemas):
        if schema.highest_field_id > m.last_column_id:
            yield (
                f"$.last-column-id: expected at least {schema.highest_field_id}, the highest id in $.schemas[{i}], "
                f"got {m.last_column_id}."
            )
        yield from _refused(f"$.schemas[{i}]", partial(schema.check_format_version, m.format_version))


def _specs(m: TableMetadata) -> Iterator[str]:
    yield from _repeated("$.partition-specs", "spec-id", [s.spec_id for s in m.partition_specs])
    for i, spec in enumerate(m.partition_specs):
        place = f"$.partition-specs[{i}].fields"
        yield from _refused(f"$.partition-specs[{i}]", partial(spec.check_format_version, m.format_version))
        for j, field in enumerate(spec.fields):
            if field.field_id > m.last_partition_id:
                yield (
                    f"$.last-partition-id: expected at least {field.field_id}, the id of {place}[{j}], "
                    f"got {m.last_partition_id}."
                )
    if m.default_spec_id not in m.specs_by_id:
        yield _dangling("$.default-spec-id", "partition specs", m.specs_by_id, m.default_spec_id)


def _default_spec_sources(m: TableMetadata) -> Iterator[str]:
    """Only the default spec is held to the current schema: columns of older ones may have been dropped since."""
    spec, schema = m.specs_by_id.get(m.default_spec_id), m.schemas_by_id.get(m.current_schema_id)
    if spec is not None and schema is not None:
        place = f"$.partition-specs[{m.partition_specs.index(spec)}]"
        yield from _refused(place, partial(spec.check, schema))


def _sort_orders(m: TableMetadata) -> Iterator[str]:
    yield from _repeated("$.sort-orders", "order-id", [o.order_id for o in m.sort_orders])
    for i, order in enumerate(m.sort_orders):
        yield from _refused(f"$.sort-orders[{i}]", partial(order.check_format_version, m.format_version))
    default, schema = m.sort_orders_by_id.get(m.default_sort_order_id), m.schemas_by_id.get(m.current_schema_id)
    if default is None:
        yield _dangling("$.default-sort-order-id", "sort orders", m.sort_orders_by_id, m.default_sort_order_id)
    elif schema is not None:
        place = f"$.sort-orders[{m.sort_orders.index(default)}]"
        yield from _refused(place, partial(default.check, schema))


def _snapshots(m: TableMetadata) -> Iterator[str]:
    yield from _repeated("$.snapshots", "snapshot-id", [s.snapshot_id for s in m.snapshots])
    keys = {k.key_id for k in m.encryption_keys}
    for i, s in enumerate(m.snapshots):
        place = f"$.snapshots[{i}]"
        if s.sequence_number > m.last_sequence_number:
            yield (
                f"{place}.sequence-number: expected at most the table's last-sequence-number "
                f"{m.last_sequence_number}, got {s.sequence_number}."
            )
        if s.schema_id is not None and s.schema_id not in m.schemas_by_id:
            yield _dangling(f"{place}.schema-id", "schemas", m.schemas_by_id, s.schema_id)
        if s.key_id is not None and s.key_id not in keys:
            yield _dangling(f"{place}.key-id", "encryption keys", keys, s.key_id)
        if m.format_version >= 3 and s.first_row_id is not None:
            end = s.first_row_id + (s.added_rows or 0)
            if end > m.next_row_id:
                yield (
                    f"$.next-row-id: expected at least {end}, which {place} has assigned ids up to, "
                    f"got {m.next_row_id}."
                )


def _lineage(m: TableMetadata) -> Iterator[str]:
    """Parents may have expired, but never lead back to the snapshot."""
    yield from _cycles(
        "$.snapshots",
        "parent-snapshot-id",
        {s.snapshot_id: s.parent_snapshot_id for s in m.snapshots},
    )


def _refs(m: TableMetadata) -> Iterator[str]:
    current = m.current_snapshot_id
    if current is not None and current not in m.snapshots_by_id:
        yield _dangling("$.current-snapshot-id", "snapshots", m.snapshots_by_id, current)
    for name, ref in m.refs.items():
        if ref.snapshot_id not in m.snapshots_by_id:
            yield _dangling(f"$.refs.{name}.snapshot-id", "snapshots", m.snapshots_by_id, ref.snapshot_id)
    main = m.refs.get(MAIN)
    if (None if main is None else main.snapshot_id) != current:
        yield (
            f"$.refs.{MAIN}: expected the current snapshot {'(none)' if current is None else current}, "
            f"got {'no such ref' if main is None else main.snapshot_id}."
        )
    elif main is not None and not main.is_branch:
        yield f"$.refs.{MAIN}.type: expected 'branch', got '{main.type}'."


def _statistics(m: TableMetadata) -> Iterator[str]:
    yield from _repeated("$.partition-statistics", "snapshot-id", [s.snapshot_id for s in m.partition_statistics])


def _logs(m: TableMetadata) -> Iterator[str]:
    yield from _in_order("$.snapshot-log", [e.timestamp_ms for e in m.snapshot_log], m.last_updated_ms)
    yield from _in_order("$.metadata-log", [e.timestamp_ms for e in m.metadata_log], m.last_updated_ms)


def _encryption_keys(m: TableMetadata) -> Iterator[str]:
    yield from _repeated("$.encryption-keys", "key-id", [k.key_id for k in m.encryption_keys])
    yield from _cycles("$.encryption-keys", "encrypted-by-id", {k.key_id: k.encrypted_by_id for k in m.encryption_keys})


RULES: Final[tuple[Rule, ...]] = (
    _version,
    _schemas,
    _specs,
    _default_spec_sources,
    _sort_orders,
    _snapshots,
    _lineage,
    _refs,
    _statistics,
    _logs,
    _encryption_keys,
)


def _refused(place: str, check: Callable[[], None]) -> Iterator[str]:
    """A check that raises for callers, as a fault of the file."""
    try:
        check()
    except SkipstoneError as error:
        yield f"{place}: {error}"


def _dangling(place: str, things: str, known: Iterable[object], got: object) -> str:
    listed = list(known)
    shown = ", ".join(str(k) for k in listed[:10]) + (", …" if len(listed) > 10 else "")
    return f"{place}: expected one of the {things} ({shown or 'there are none'}), got {got}."


def _repeated(place: str, key: str, ids: Iterable[Hashable]) -> Iterator[str]:
    first: dict[Hashable, int] = {}
    for i, id_ in enumerate(ids):
        if id_ in first:
            yield f"{place}[{i}].{key}: expected unique ids, got {id_} as in {place}[{first[id_]}]."
        first.setdefault(id_, i)


def _cycles(place: str, key: str, links: Mapping[Any, Hashable]) -> Iterator[str]:
    clear: set[Hashable] = set()
    for start in links:
        path: dict[Hashable, None] = {}
        at: Hashable = start
        while at in links and at not in clear:
            if at in path:
                yield f"{place}: expected {key} without a cycle, got one through {at}."
                break
            path[at] = None
            at = links[at]
        clear.update(path)


def _in_order(place: str, times_ms: list[int], last_updated_ms: int) -> Iterator[str]:
    for i in range(1, len(times_ms)):
        if times_ms[i] < times_ms[i - 1] - CLOCK_SKEW_MS_MAX:
            yield (
                f"{place}[{i}].timestamp-ms: expected entries in order of time (to a minute), got {times_ms[i]} "
                f"after {times_ms[i - 1]}."
            )
    if times_ms and times_ms[-1] > last_updated_ms + CLOCK_SKEW_MS_MAX:
        yield (
            f"$.last-updated-ms: expected at least the last time in {place}, {times_ms[-1]} (to a minute), "
            f"got {last_updated_ms}."
        )
